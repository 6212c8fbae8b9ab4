//! The line protocol.
//!
//! `newgame COLOR OPPONENT FEN` begins a game. A turn is `oppmove SQUARE|-`, `gosense MS`, answered by
//! `sense SQUARE`, `senseresult SQUARE=PIECE ..`, `gomove MS`, answered by `move REQUEST|0000`, and
//! `moveresult REQUESTED TAKEN CAPTURE|-`. `gameover WINNER REASON` ends the game. A line that cannot be
//! obeyed is answered by `info error ..`, which quotes it, and changes nothing.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use menagerie::rbc::Player;
use menagerie::rules::Color;

use crate::message::{MessageError, TurnMessage, format_request, parse_start};
use crate::players::Players;
use menagerie::protocol::lines::{InputLine, LineWriter, one_line, read_line};

/// The number of input lines that are read ahead.
const MAX_LINES_AHEAD: usize = 16;
/// The maximum time left.
const MAX_CLOCK_MILLISECONDS: u64 = 1 << 40;

/// Runs the line protocol until `quit` or the end of `input`. While no line arrives the player prepares for
/// the other side's move.
///
/// # Errors
/// If no thread can be started.
pub fn run_line_protocol(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    players: &Players,
) -> io::Result<()> {
    let output = LineWriter::new(output);
    let (sender, lines) = sync_channel(MAX_LINES_AHEAD);
    // The thread is not joined: it may be blocked in a read.
    thread::Builder::new().name("input".to_owned()).spawn(move || send_lines(input, &sender))?;
    let mut conversation = Conversation::new(players, &output);
    while !output.is_closed() {
        match conversation.next_line(&lines) {
            Some(InputLine::Text(line)) if is_quit(&line) => break,
            Some(InputLine::Text(line)) => conversation.execute(&line),
            Some(InputLine::TooLong) => output.print("info error line too long"),
            None => break,
        }
    }
    Ok(())
}

/// An input that cannot be read has ended.
fn send_lines(mut input: impl BufRead, sender: &SyncSender<InputLine>) {
    while let Ok(Some(line)) = read_line(&mut input) {
        if sender.send(line).is_err() {
            return;
        }
    }
}

fn is_quit(line: &str) -> bool {
    line.split_whitespace().next() == Some("quit")
}

/// The state of the protocol.
struct Conversation<'a> {
    players: &'a Players,
    output: &'a LineWriter,
    player: Option<Player>,
    has_shown_notes: bool,
}

/// Why a line was not obeyed.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error("unknown command \"{0}\"")]
    Unknown(String),
    #[error("no game for \"{0}\", begin one with newgame COLOR OPPONENT FEN")]
    NoGame(String),
    #[error("wrong number of arguments in \"{line}\", expected: {usage}")]
    Arguments { line: String, usage: &'static str },
    #[error("invalid color \"{0}\", expected white or black")]
    Color(String),
    #[error("invalid number of milliseconds \"{0}\"")]
    Milliseconds(String),
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl<'a> Conversation<'a> {
    fn new(players: &'a Players, output: &'a LineWriter) -> Conversation<'a> {
        Conversation { players, output, player: None, has_shown_notes: false }
    }

    /// Returns the next line, or `None` at the end of the input. Works ahead until a line arrives.
    fn next_line(&mut self, lines: &Receiver<InputLine>) -> Option<InputLine> {
        loop {
            match lines.try_recv() {
                Ok(line) => return Some(line),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let has_more_work = self.player.as_mut().is_some_and(Player::anticipate);
                    if !has_more_work {
                        return lines.recv().ok();
                    }
                }
            }
        }
    }

    /// Executes a line. An error is answered.
    fn execute(&mut self, line: &str) {
        log::debug!(">> {line}");
        if let Err(error) = self.try_execute(line) {
            let message = one_line(&error.to_string());
            self.output.print(&format!("info error {message}"));
        }
    }

    fn try_execute(&mut self, line: &str) -> Result<(), CommandError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["rbc", ..] => {
                self.output.print(concat!("id name Menagerie ", env!("CARGO_PKG_VERSION")));
                self.output.print("rbcok");
            }
            ["isready", ..] => {
                self.show_notes();
                self.output.print("readyok");
            }
            ["newgame", ..] => self.begin_game(&words)?,
            [command @ ("oppmove" | "senseresult" | "moveresult"), ..] => {
                let message: TurnMessage = line.parse()?;
                message.send_to(self.player(command)?)?;
            }
            ["gosense", ..] => self.sense(&words)?,
            ["gomove", ..] => self.request(&words)?,
            ["gameover", ..] => self.player = None,
            [command, ..] => return Err(CommandError::Unknown(command.to_owned())),
        }
        Ok(())
    }

    /// Writes the messages about the network, once.
    fn show_notes(&mut self) {
        if self.has_shown_notes {
            return;
        }
        self.has_shown_notes = true;
        for note in self.players.notes() {
            self.output.print(&format!("info {note}"));
        }
    }

    /// Returns the player of the game for a command.
    fn player(&mut self, command: &str) -> Result<&mut Player, CommandError> {
        self.player.as_mut().ok_or_else(|| CommandError::NoGame(command.to_owned()))
    }

    fn begin_game(&mut self, words: &[&str]) -> Result<(), CommandError> {
        let [_, color, _opponent, fen @ ..] = words else {
            return Err(wrong_arguments(words, "newgame COLOR OPPONENT FEN"));
        };
        let color = match *color {
            "white" => Color::White,
            "black" => Color::Black,
            other => return Err(CommandError::Color(other.to_owned())),
        };
        let start = parse_start(&fen.join(" "))?;
        self.show_notes();
        self.player = Some(self.players.create_player(&start, color, rand::random()));
        Ok(())
    }

    fn sense(&mut self, words: &[&str]) -> Result<(), CommandError> {
        let time_left = parse_milliseconds(words, "gosense MILLISECONDS")?;
        let player = self.player("gosense")?;
        let summary = player.summary();
        let square = player.sense(time_left);
        self.output.print(&format!("info {summary}"));
        self.output.print(&format!("sense {square}"));
        Ok(())
    }

    fn request(&mut self, words: &[&str]) -> Result<(), CommandError> {
        let time_left = parse_milliseconds(words, "gomove MILLISECONDS")?;
        let player = self.player("gomove")?;
        let summary = player.summary();
        let request = player.request(time_left);
        self.output.print(&format!("info {summary}"));
        self.output.print(&format!("move {}", format_request(request)));
        Ok(())
    }
}

fn wrong_arguments(words: &[&str], usage: &'static str) -> CommandError {
    CommandError::Arguments { line: words.join(" "), usage }
}

/// Parses the time left after a command; a negative time is none.
fn parse_milliseconds(words: &[&str], usage: &'static str) -> Result<Duration, CommandError> {
    let [_, word] = words else { return Err(wrong_arguments(words, usage)) };
    let left: i64 = word.parse().map_err(|_| CommandError::Milliseconds((*word).to_owned()))?;
    Ok(Duration::from_millis(left.max(0).unsigned_abs().min(MAX_CLOCK_MILLISECONDS)))
}

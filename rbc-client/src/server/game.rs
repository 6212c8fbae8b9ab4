//! One game on a server, from the end of its journal to the end of the game.

use std::thread;
use std::time::{Duration, Instant};

use menagerie::protocol::lines::LineWriter;
use menagerie::rbc::Player;
use menagerie::rules::rbc::Request;
use menagerie::rules::{Color, Square};
use menagerie_rbc::{Players, TurnMessage, parse_start};

use super::api::{GameApi, GameStatus, ServerError};
use super::journal::{Entry, Folder, Journal};

/// The maximum number of moves in a row whose answers are lost.
const MAX_LOST_MOVES: u32 = 8;
/// The maximum time left; the server may send any number.
const MAX_CLOCK_SECONDS: f64 = 1e6;

/// The next step of a turn.
#[derive(Clone, Copy, Debug)]
enum TurnStep {
    /// Wait for our turn.
    Wait,
    /// Choose a square to sense.
    ChooseSense,
    /// Sense this square.
    Sense(Square),
    /// Choose a move.
    ChooseMove,
    /// Request this move.
    Move(Option<Request>),
    /// End the turn.
    EndTurn,
}

/// A game in progress.
struct Game<'a> {
    api: GameApi<'a>,
    journal: Journal,
    player: Player,
    output: &'a LineWriter,
    /// Whether our side moves first; there is no message about the other side before our first turn.
    moves_first: bool,
    turns: u32,
    lost_moves: u32,
    thinking_time: Duration,
    time_left: Duration,
}

/// Plays a game to its end, which is reported in a line. Then the history replaces the journal.
///
/// # Errors
/// If the game cannot be continued. The journal is kept.
pub(super) fn play_game(
    api: GameApi<'_>,
    mut journal: Journal,
    folder: &Folder,
    players: &Players,
    output: &LineWriter,
) -> Result<(), ServerError> {
    let number = api.game;
    let known_start = find_start(&journal.entries);
    let is_resumed = known_start.is_some();
    let (color, fen) = match known_start {
        Some(start) => start,
        None => {
            let color = api.color()?;
            let fen = api.start()?;
            write_entry(&mut journal, &Entry::NewGame(color, fen.clone()), output);
            (color, fen)
        }
    };
    let start = parse_start(&fen).map_err(|error| ServerError::Contradiction(error.to_string()))?;
    let opponent = api.opponent()?;
    match api.set_ready() {
        // Status 400: the game was ready before.
        Ok(()) | Err(ServerError::Refused { status: 400, .. }) => {}
        Err(error) => return Err(error),
    }
    let entries = std::mem::take(&mut journal.entries);
    let mut game = Game {
        api,
        journal,
        player: players.create_player(&start, color, rand::random()),
        output,
        moves_first: start.turn() == color,
        turns: 0,
        lost_moves: 0,
        thinking_time: Duration::ZERO,
        time_left: Duration::ZERO,
    };
    let mut step = game.replay(&entries)?;
    let title = format!("game {number} against {opponent} as {color}");
    if is_resumed {
        output.print_message(&format!("{title} continues in turn {}", game.turns + 1));
    } else {
        output.print_message(&format!("{title} begins"));
    }
    while let Some(next) = game.advance(step)? {
        step = next;
    }
    game.finish(&title, color, folder)
}

fn find_start(entries: &[Entry]) -> Option<(Color, String)> {
    entries.iter().find_map(|entry| match entry {
        Entry::NewGame(color, fen) => Some((*color, fen.clone())),
        _ => None,
    })
}

fn write_entry(journal: &mut Journal, entry: &Entry, output: &LineWriter) {
    if let Err(error) = journal.add(entry) {
        output.print_message(&format!("the journal is no longer written: {error}"));
    }
}

impl Game<'_> {
    fn report(&self, message: &str) {
        self.output.print_message(&format!("game {}: {message}", self.api.game));
    }

    fn write(&mut self, entry: Entry) {
        write_entry(&mut self.journal, &entry, self.output);
    }

    /// Replays the entries of an earlier client. Returns the next step.
    fn replay(&mut self, entries: &[Entry]) -> Result<TurnStep, ServerError> {
        let mut step = TurnStep::Wait;
        for (index, entry) in entries.iter().enumerate() {
            step = match entry {
                Entry::Invitation(_) | Entry::NewGame(..) => step,
                Entry::Requests(requests) => {
                    // The capture is in the next line.
                    if let Some(Entry::Message(TurnMessage::OpponentMove(capture))) =
                        entries.get(index + 1)
                    {
                        self.recover_lost_move(*capture, requests);
                    }
                    step
                }
                Entry::Message(message) => {
                    if self.player.has_lost_result() {
                        let reason = "the journal has no result of the last move".to_owned();
                        return Err(ServerError::Contradiction(reason));
                    }
                    self.inform_player(message)?;
                    match message {
                        TurnMessage::OpponentMove(_) => TurnStep::ChooseSense,
                        TurnMessage::SenseResult(_) => TurnStep::ChooseMove,
                        TurnMessage::MoveResult(_) => TurnStep::EndTurn,
                    }
                }
                &Entry::Sense(square) => TurnStep::Sense(square),
                &Entry::Move(request) => TurnStep::Move(request),
                Entry::Lost => match step {
                    TurnStep::Move(request) => {
                        self.player.lost_result(request);
                        TurnStep::EndTurn
                    }
                    _ => TurnStep::ChooseMove,
                },
                Entry::EndTurn => {
                    self.turns += 1;
                    TurnStep::Wait
                }
            };
        }
        Ok(step)
    }

    /// Executes a step. Returns the next one, or `None` if the game is over.
    fn advance(&mut self, step: TurnStep) -> Result<Option<TurnStep>, ServerError> {
        match step {
            TurnStep::Wait => self.wait_for_turn(),
            TurnStep::ChooseSense => self.choose_sense(),
            TurnStep::Sense(square) => self.sense(square),
            TurnStep::ChooseMove => self.choose_move(),
            TurnStep::Move(request) => self.request_move(request),
            TurnStep::EndTurn => {
                match self.api.end_turn() {
                    // A turn that is over cannot be ended again.
                    Ok(()) | Err(ServerError::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
                self.write_end_of_turn();
                Ok(Some(TurnStep::Wait))
            }
        }
    }

    fn wait_for_turn(&mut self) -> Result<Option<TurnStep>, ServerError> {
        if self.poll_status()?.is_over {
            return Ok(None);
        }
        if self.turns > 0 || !self.moves_first {
            self.request_opponent_move()?;
        }
        Ok(Some(TurnStep::ChooseSense))
    }

    fn choose_sense(&mut self) -> Result<Option<TurnStep>, ServerError> {
        let Some(time_left) = self.request_time()? else { return Ok(None) };
        let begin = Instant::now();
        let square = self.player.sense(time_left);
        self.thinking_time += begin.elapsed();
        self.write(Entry::Sense(square));
        Ok(Some(TurnStep::Sense(square)))
    }

    fn sense(&mut self, square: Square) -> Result<Option<TurnStep>, ServerError> {
        match self.api.sense(square) {
            Ok(seen) => self.receive(TurnMessage::SenseResult(seen))?,
            Err(error) if !error.was_received() => return Err(error),
            Err(_) if self.api.status()?.is_over => return Ok(None),
            Err(error) => {
                self.report(&format!("{error}; continuing without the sense result"));
                self.write(Entry::Lost);
            }
        }
        Ok(Some(TurnStep::ChooseMove))
    }

    fn choose_move(&mut self) -> Result<Option<TurnStep>, ServerError> {
        let Some(time_left) = self.request_time()? else { return Ok(None) };
        let begin = Instant::now();
        let request = self.player.request(time_left);
        self.thinking_time += begin.elapsed();
        self.write(Entry::Move(request));
        Ok(Some(TurnStep::Move(request)))
    }

    fn request_move(&mut self, request: Option<Request>) -> Result<Option<TurnStep>, ServerError> {
        match self.api.play(request) {
            Ok(played) => {
                self.lost_moves = 0;
                self.receive(TurnMessage::MoveResult(played))?;
                Ok(Some(TurnStep::EndTurn))
            }
            Err(error) if !error.was_received() => Err(error),
            Err(_) if self.api.status()?.is_over => Ok(None),
            Err(error) => {
                self.lost_moves += 1;
                if self.lost_moves > MAX_LOST_MOVES {
                    return Err(error);
                }
                self.report(&error.to_string());
                self.handle_lost_move(request).map(Some)
            }
        }
    }

    /// Handles a move that was refused: its result was lost before, or it is not possible.
    fn handle_lost_move(&mut self, request: Option<Request>) -> Result<TurnStep, ServerError> {
        let is_turn_over = match self.api.end_turn() {
            Ok(()) => true,
            Err(ServerError::Refused { .. }) => !self.api.status()?.is_my_turn,
            Err(error) => return Err(error),
        };
        if !is_turn_over {
            // Either no move was executed in this turn, or this is the next turn: then the server refuses a
            // move before a sense.
            match self.api.play(None) {
                Ok(played) => {
                    self.receive(TurnMessage::MoveResult(played))?;
                    return Ok(TurnStep::EndTurn);
                }
                Err(ServerError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.write(Entry::Lost);
        self.player.lost_result(request);
        self.write_end_of_turn();
        Ok(TurnStep::Wait)
    }

    fn write_end_of_turn(&mut self) {
        self.turns += 1;
        self.write(Entry::EndTurn);
    }

    /// Waits for our turn or the end of the game, and works ahead.
    fn poll_status(&mut self) -> Result<GameStatus, ServerError> {
        loop {
            let status = self.api.status()?;
            if status.is_over || status.is_my_turn {
                return Ok(status);
            }
            let next_poll = Instant::now() + self.api.connection.poll();
            while Instant::now() < next_poll && self.player.anticipate() {}
            thread::sleep(next_poll.saturating_duration_since(Instant::now()));
        }
    }

    /// Returns the time left, or `None` if the game is over.
    fn request_time(&mut self) -> Result<Option<Duration>, ServerError> {
        match self.api.seconds_left() {
            Ok(seconds) => {
                let seconds =
                    if seconds.is_finite() { seconds.clamp(0.0, MAX_CLOCK_SECONDS) } else { 0.0 };
                self.time_left = Duration::from_secs_f64(seconds);
                Ok(Some(self.time_left))
            }
            Err(error @ ServerError::Refused { .. }) => {
                if self.api.status()?.is_over {
                    Ok(None)
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }

    fn request_opponent_move(&mut self) -> Result<(), ServerError> {
        let requests =
            if self.player.has_lost_result() { Some(self.api.possible_moves()?) } else { None };
        let capture = self.api.opponent_capture()?;
        if let Some(requests) = requests {
            self.recover_lost_move(capture, &requests);
            self.write(Entry::Requests(requests));
        }
        self.receive(TurnMessage::OpponentMove(capture))
    }

    /// Finds out what became of our last move from what we can request now.
    fn recover_lost_move(&mut self, capture: Option<Square>, requests: &[Request]) {
        if !self.player.recover_lost_result(capture, requests) {
            self.report("the result of our last move can only be guessed");
        }
    }

    /// Writes a message to the journal and informs the player.
    fn receive(&mut self, message: TurnMessage) -> Result<(), ServerError> {
        self.write(Entry::Message(message.clone()));
        self.inform_player(&message)
    }

    /// Informs the player. An impossible message is skipped if the game can continue without it.
    fn inform_player(&mut self, message: &TurnMessage) -> Result<(), ServerError> {
        let Err(error) = message.send_to(&mut self.player) else { return Ok(()) };
        match message {
            TurnMessage::OpponentMove(_) => {
                return Err(ServerError::Contradiction(error.to_string()));
            }
            TurnMessage::SenseResult(_) => {}
            TurnMessage::MoveResult(played) => self.player.lost_result(played.requested),
        }
        self.report(&format!("impossible answer: {error}"));
        Ok(())
    }

    /// Reports the result, and replaces the journal by the history.
    fn finish(self, title: &str, color: Color, folder: &Folder) -> Result<(), ServerError> {
        let result = match self.api.winner()? {
            Some(winner) if winner == color => "won",
            Some(_) => "lost",
            None => "drawn",
        };
        let reason = self.api.win_reason()?.map_or("no reason", |reason| reason.name());
        let history = self.api.history().ok();
        if let Err(error) = folder.finish_game(self.api.game, history.as_ref()) {
            self.report(&format!("the history is not saved: {error}"));
        }
        self.output.print_message(&format!(
            "{title}: {result} ({reason}) after {} turns, {:.1} s of thinking, {:.0} s left",
            self.turns,
            self.thinking_time.as_secs_f64(),
            self.time_left.as_secs_f64()
        ));
        Ok(())
    }
}

//! One game on a server, from where its journal ends to its end.

use std::thread;
use std::time::{Duration, Instant};

use super::api::{Status, Table};
use super::http::Failure;
use super::journal::{Entry, Folder, Journal};
use crate::protocol::output::{Output, one_line};
use crate::protocol::rbc::players::Players;
use crate::protocol::rbc::told::{Told, start};
use crate::recon::Player;
use crate::rules::Square;
use crate::rules::blind::Request;

/// How often it is asked whether the other side has moved.
const POLL: Duration = Duration::from_millis(500);

/// So many requests in a row may have no answer.
const ASTRAY: u32 = 8;

/// Where a turn stands.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It is not yet ours, as far as is known.
    Wait,
    /// A sense is to be chosen.
    Look,
    /// It is to be asked for.
    Sense(Square),
    /// A request is to be chosen.
    Think,
    /// It is to be made.
    Request(Option<Request>),
    /// The turn is to be ended.
    End,
}

/// A game at play.
struct Game<'a> {
    table: Table<'a>,
    journal: Journal,
    player: Player,
    output: &'a Output,
    /// Whether the side to move first is ours, which is told of no reply before its first turn.
    first: bool,
    turns: u32,
    /// How many requests in a row had no answer.
    astray: u32,
    /// How long it has thought.
    thought: Duration,
    /// What was left of our time when it was last told.
    left: Duration,
}

/// Plays a game to its end, which is told in a line; its journal then gives way to its history.
///
/// # Errors
/// If it cannot be played on. Its journal is kept.
pub(super) fn play(
    table: Table<'_>,
    mut journal: Journal,
    folder: &Folder,
    players: &Players,
    output: &Output,
) -> Result<(), Failure> {
    let number = table.game;
    let known = journal.entries.iter().find_map(|entry| match entry {
        Entry::New(color, fen) => Some((*color, fen.clone())),
        _ => None,
    });
    let goes_on = known.is_some();
    let (color, fen) = match known {
        Some(known) => known,
        None => {
            let (color, fen) = (table.color()?, table.start()?);
            write(&mut journal, &Entry::New(color, fen.clone()), output);
            (color, fen)
        }
    };
    let truth = start(&fen).map_err(Failure::Contradiction)?;
    let opponent = table.opponent()?;
    match table.ready() {
        // It was already.
        Ok(()) | Err(Failure::Refused { status: 400, .. }) => {}
        Err(failure) => return Err(failure),
    }
    let entries = std::mem::take(&mut journal.entries);
    let mut game = Game {
        table,
        journal,
        player: players.player(&truth, color, rand::random()),
        output,
        first: truth.turn() == color,
        turns: 0,
        astray: 0,
        thought: Duration::ZERO,
        left: Duration::ZERO,
    };
    let mut step = game.replay(&entries)?;
    let name = format!("game {number} against {opponent} as {color}");
    match goes_on {
        true => game.say(&format!("{name} goes on, in turn {}", game.turns + 1)),
        false => game.say(&format!("{name} begins")),
    }
    while let Some(next) = game.step(step)? {
        step = next;
    }
    let (winner, reason) = (game.table.winner()?, game.table.reason()?);
    let result = match winner {
        Some(winner) if winner == color => "won",
        Some(_) => "lost",
        None => "drawn",
    };
    let reason = reason.map_or("for no reason that is told", |reason| reason.name());
    let history = game.table.history().ok();
    if let Err(error) = folder.finish(number, history.as_ref()) {
        game.say(&format!("game {number}: its history is not kept: {error}"));
    }
    game.say(&format!(
        "{name}: {result} ({reason}) after {} turns, {:.1} s of thought, {:.0} s left",
        game.turns,
        game.thought.as_secs_f64(),
        game.left.as_secs_f64()
    ));
    Ok(())
}

fn write(journal: &mut Journal, entry: &Entry, output: &Output) {
    if let Err(error) = journal.add(entry) {
        output.say(&one_line(&format!("the journal is no longer kept: {error}")));
    }
}

impl Game<'_> {
    fn say(&self, line: &str) {
        self.output.say(&one_line(line));
    }

    fn note(&mut self, entry: Entry) {
        write(&mut self.journal, &entry, self.output);
    }

    /// Goes through what an earlier client wrote; says what comes next.
    fn replay(&mut self, entries: &[Entry]) -> Result<Step, Failure> {
        let mut step = Step::Wait;
        for entry in entries {
            step = match entry {
                Entry::Invitation(_) | Entry::New(..) => step,
                Entry::Requests(requests) => {
                    // The line that is next says where a man was taken.
                    let mut rest = entries.iter().skip_while(|other| !std::ptr::eq(*other, entry));
                    if let Some(Entry::Told(Told::Heard(capture))) = rest.nth(1) {
                        self.probe(*capture, requests);
                    }
                    step
                }
                Entry::Told(told) => {
                    if self.player.is_unsure() {
                        let what = "the journal does not say what our last request became";
                        return Err(Failure::Contradiction(what.to_owned()));
                    }
                    self.tell(told)?;
                    match told {
                        Told::Heard(_) => Step::Look,
                        Told::Seen(_) => Step::Think,
                        Told::Moved(_) => Step::End,
                    }
                }
                &Entry::Sense(center) => Step::Sense(center),
                &Entry::Request(request) => Step::Request(request),
                Entry::Lost => match step {
                    Step::Request(request) => {
                        self.player.unheard(request);
                        Step::End
                    }
                    _ => Step::Think,
                },
                Entry::EndTurn => {
                    self.turns += 1;
                    Step::Wait
                }
            };
        }
        Ok(step)
    }

    /// Takes a step of the turn; gives the next, or none if the game is over.
    fn step(&mut self, step: Step) -> Result<Option<Step>, Failure> {
        Ok(Some(match step {
            Step::Wait => {
                if self.wait()?.over {
                    return Ok(None);
                }
                if self.turns > 0 || !self.first {
                    self.hear()?;
                }
                Step::Look
            }
            Step::Look => {
                let Some(left) = self.time()? else { return Ok(None) };
                let begun = Instant::now();
                let center = self.player.sense(left);
                self.thought += begun.elapsed();
                self.note(Entry::Sense(center));
                Step::Sense(center)
            }
            Step::Sense(center) => {
                match self.table.sense(center) {
                    Ok(seen) => self.told(Told::Seen(seen))?,
                    Err(failure) if !failure.answered() => return Err(failure),
                    Err(_) if self.table.status()?.over => return Ok(None),
                    Err(failure) => {
                        self.say(&format!("game {}: {failure}; on without it", self.table.game));
                        self.note(Entry::Lost);
                    }
                }
                Step::Think
            }
            Step::Think => {
                let Some(left) = self.time()? else { return Ok(None) };
                let begun = Instant::now();
                let request = self.player.request(left);
                self.thought += begun.elapsed();
                self.note(Entry::Request(request));
                Step::Request(request)
            }
            Step::Request(request) => match self.table.request(request) {
                Ok(played) => {
                    self.astray = 0;
                    self.told(Told::Moved(played))?;
                    Step::End
                }
                Err(failure) if !failure.answered() => return Err(failure),
                Err(_) if self.table.status()?.over => return Ok(None),
                Err(failure) => {
                    self.astray += 1;
                    if self.astray > ASTRAY {
                        return Err(failure);
                    }
                    self.say(&format!("game {}: {failure}", self.table.game));
                    self.unanswered(request)?
                }
            },
            Step::End => {
                match self.table.end_turn() {
                    // A turn that has ended cannot be ended again.
                    Ok(()) | Err(Failure::Refused { .. }) => {}
                    Err(failure) => return Err(failure),
                }
                self.end_turn();
                Step::Wait
            }
        }))
    }

    fn end_turn(&mut self) {
        self.turns += 1;
        self.note(Entry::EndTurn);
    }

    /// Waits for our turn or the end, and works ahead.
    fn wait(&mut self) -> Result<Status, Failure> {
        loop {
            let status = self.table.status()?;
            if status.over || status.mine {
                return Ok(status);
            }
            let until = Instant::now() + POLL;
            while Instant::now() < until && self.player.anticipate() {}
            thread::sleep(until.saturating_duration_since(Instant::now()));
        }
    }

    /// How long is left; none if the game is over.
    fn time(&mut self) -> Result<Option<Duration>, Failure> {
        match self.table.seconds_left() {
            Ok(seconds) => {
                let seconds = if seconds.is_finite() { seconds.clamp(0.0, 1e6) } else { 0.0 };
                self.left = Duration::from_secs_f64(seconds);
                Ok(Some(self.left))
            }
            Err(failure @ Failure::Refused { .. }) => match self.table.status()?.over {
                true => Ok(None),
                false => Err(failure),
            },
            Err(failure) => Err(failure),
        }
    }

    /// Asks what the other side's turn has done.
    fn hear(&mut self) -> Result<(), Failure> {
        let requests = if self.player.is_unsure() { Some(self.table.requests()?) } else { None };
        let capture = self.table.on_line()?;
        if let Some(requests) = requests {
            self.probe(capture, &requests);
            self.note(Entry::Requests(requests));
        }
        self.told(Told::Heard(capture))
    }

    fn probe(&mut self, capture: Option<Square>, requests: &[Request]) {
        if !self.player.probe(capture, requests) {
            let what = "what became of our last request can only be guessed";
            self.say(&format!("game {}: {what}", self.table.game));
        }
    }

    fn told(&mut self, told: Told) -> Result<(), Failure> {
        self.note(Entry::Told(told.clone()));
        self.tell(&told)
    }

    /// Tells the player. What cannot be is left out where the game can go on without it.
    fn tell(&mut self, told: &Told) -> Result<(), Failure> {
        let Err(error) = told.tell(&mut self.player) else { return Ok(()) };
        match told {
            Told::Heard(_) => return Err(Failure::Contradiction(error)),
            Told::Seen(_) => {}
            Told::Moved(played) => self.player.unheard(played.requested),
        }
        self.say(&format!("game {}: what the server says cannot be: {error}", self.table.game));
        Ok(())
    }

    /// A request was refused: it was made before and its answer was lost, or it may not be made.
    fn unanswered(&mut self, request: Option<Request>) -> Result<Step, Failure> {
        let ended = match self.table.end_turn() {
            Ok(()) => true,
            Err(Failure::Refused { .. }) => !self.table.status()?.mine,
            Err(failure) => return Err(failure),
        };
        if !ended {
            // Either nothing was requested in this turn, or it has ended and this is the next: then
            // a move is refused before a sense.
            match self.table.request(None) {
                Ok(played) => {
                    self.told(Told::Moved(played))?;
                    return Ok(Step::End);
                }
                Err(Failure::Refused { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.note(Entry::Lost);
        self.player.unheard(request);
        self.end_turn();
        Ok(Step::Wait)
    }
}

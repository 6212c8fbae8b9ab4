//! The engine session of a connection, on a thread of its own.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use menagerie::engine::{GameError, Limits, OptionError, SeatClocks, Session};
use menagerie::nn::EvalError;
use menagerie::rules::{Move, PerSide, Position, Side};
use menagerie::search::Clock;
use menagerie::variant::Catalogue;
use serde::Serialize;
use serde_json::{Number, Value};
use tokio::sync::mpsc::Sender;

use crate::game::{GameText, GameTextError, clamp_milliseconds};
use crate::limits::{
    DEFAULT_HASH_MB, EVAL_HASH_MB, MAX_ANALYSIS_TIME, MAX_DEPTH, MAX_HASH_MB, MAX_LINES,
    MAX_MOVE_TIME, MAX_NODES, MAX_TURN_BYTES, MAX_WAITING_COMMANDS, quote,
};
use crate::messages::{EmptyBody, GoRequest, SearchLimits, error_message, message};
use crate::search_event::{note, search_sink};

/// The options that a page may set.
const PAGE_OPTIONS: [&str; 4] = ["Hash", "Threads", "Clear Hash", "Mode"];
/// The range of `UCI_Elo`.
const ELO_RANGE: (f64, f64) = (500.0, 2850.0);

/// A command to the engine.
#[derive(Debug)]
pub(crate) enum Command {
    Go(GoRequest),
    Stop,
    Eval(GameText),
    SetOption { name: String, value: Value },
}

/// Why a command was refused. The messages quote the input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("too many commands wait for the engine")]
    Busy,
    #[error("the engine has failed, reconnect")]
    Failed,
    #[error(transparent)]
    GameText(#[from] GameTextError),
    #[error(transparent)]
    Game(#[from] GameError),
    #[error("illegal ply \"{0}\"")]
    Ply(String),
    #[error("plies must be empty for eval, not \"{0}\"")]
    EvalPlies(String),
    #[error("limits must have infinite, movetime, nodes, depth, wtime or btime")]
    NoLimit,
    #[error("team must be 0 or 1, not {0}")]
    Team(usize),
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("option \"{0}\" cannot be set by a page, only {known}", known = PAGE_OPTIONS.join(", "))]
    RefusedOption(String),
    #[error("value of an option must be a text or a number, not \"{0}\"")]
    OptionValue(String),
    #[error("cannot start the search: {0}")]
    Thread(#[from] io::Error),
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// The engine session of a connection. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Analysis {
    commands: SyncSender<(Number, Command)>,
}

impl Analysis {
    /// Starts a session, which writes replies and events to `replies`.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        catalogue: &'static Catalogue,
        replies: Sender<String>,
    ) -> io::Result<Analysis> {
        let (commands, receiver) = sync_channel(MAX_WAITING_COMMANDS);
        thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || Worker::new(catalogue, replies).run(&receiver))?;
        Ok(Analysis { commands })
    }

    /// Sends a command. Its reply goes to the client.
    ///
    /// # Errors
    /// If too many commands wait, or the thread has ended.
    pub(crate) fn send(&self, id: Number, command: Command) -> Result<(), CommandError> {
        self.commands.try_send((id, command)).map_err(|error| match error {
            TrySendError::Full(_) => CommandError::Busy,
            TrySendError::Disconnected(_) => CommandError::Failed,
        })
    }
}

/// The thread of a session.
struct Worker {
    catalogue: &'static Catalogue,
    session: Session,
    /// Evaluates and checks positions during a search.
    second_session: Option<Session>,
    replies: Sender<String>,
    /// When the search in progress must end.
    deadline: Option<Instant>,
}

/// The reply to `eval`.
#[derive(Debug, Serialize)]
struct EvalBody {
    /// Win, draw and loss of the side to move in permille; `null` if the game is over.
    wdl: Option<[u32; 3]>,
    policy: Vec<PolicyBody>,
}

#[derive(Debug, Serialize)]
struct PolicyBody {
    ply: String,
    p: f32,
}

/// The reply to `option`: the value that was set, within its limits.
#[derive(Debug, Serialize)]
struct OptionBody {
    name: String,
    value: String,
}

impl Worker {
    fn new(catalogue: &'static Catalogue, replies: Sender<String>) -> Worker {
        let session = open_session(catalogue, DEFAULT_HASH_MB);
        Worker { catalogue, session, second_session: None, replies, deadline: None }
    }

    /// Executes commands until there are no more.
    fn run(mut self, commands: &Receiver<(Number, Command)>) {
        loop {
            let received = match self.deadline {
                Some(deadline) => {
                    commands.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok((id, command)) => self.execute(&id, command),
                Err(RecvTimeoutError::Timeout) => {
                    self.session.stop();
                    self.deadline = None;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sends a reply. There is nothing to do if the client has left.
    fn reply(&self, text: String) {
        let _ = self.replies.blocking_send(text);
    }

    fn execute(&mut self, id: &Number, command: Command) {
        let result = match command {
            Command::Go(request) => self.go(id, &request),
            Command::Stop => {
                self.session.stop();
                self.reply(message("stop", id, EmptyBody {}));
                Ok(())
            }
            Command::Eval(game) => self.eval(id, &game),
            Command::SetOption { name, value } => self.set_option(id, &name, &value),
        };
        if let Err(error) = result {
            self.reply(error_message(Some(id), &error));
        }
    }

    fn go(&mut self, id: &Number, request: &GoRequest) -> Result<(), CommandError> {
        let begun = Instant::now();
        let mut limits = parse_limits(&request.limits)?;
        let team = team_name(request.team)?;
        // A request that is refused leaves the search in progress and the options as they are.
        limits.moves = self.check_position(&request.position, team)?;
        self.session.stop();
        let lines = request.multipv.map_or(1, |lines| clamp(lines, 1, MAX_LINES as u64));
        self.session.set_option("MultiPV", &lines.to_string())?;
        let is_limited = request.elo.is_some() && !limits.infinite;
        self.session.set_option("UCI_LimitStrength", &is_limited.to_string())?;
        if let Some(elo) = request.elo {
            let elo = elo.clamp(ELO_RANGE.0, ELO_RANGE.1).round();
            self.session.set_option("UCI_Elo", &elo.to_string())?;
        }
        set_position(&mut self.session, &request.position, team)?;
        if let Some(clocks) = seat_clocks(&request.position) {
            self.session.set_seat_clocks(clocks);
        }
        let most = if limits.infinite { MAX_ANALYSIS_TIME } else { MAX_MOVE_TIME };
        self.deadline = Some(begun + most);
        self.reply(message("go", id, EmptyBody {}));
        let mut root = self.session.position().clone();
        // The turns of a line depend on who may sit.
        if let Some(clocks) = request.position.position_clocks() {
            root.set_clocks(clocks);
        }
        if let Some(team) = request.team {
            root.set_side_to_move(Side::new(team));
        }
        let sink = search_sink(id.clone(), root, self.replies.clone());
        Ok(self.session.go(limits, begun, sink)?)
    }

    /// Returns the session that evaluates and checks positions during a search.
    fn second_session(&mut self) -> &mut Session {
        let catalogue = self.catalogue;
        self.second_session.get_or_insert_with(|| open_session(catalogue, EVAL_HASH_MB))
    }

    /// Checks the position of a search without disturbing the one in progress. Returns the moves to which the
    /// search is restricted: the first of the plies that were played of a turn, or none.
    fn check_position(&mut self, game: &GameText, team: &str) -> Result<Vec<Move>, CommandError> {
        game.variant(self.catalogue)?;
        let session = self.second_session();
        set_position(session, game, team)?;
        if session.variant().has_two_boards() {
            return Ok(Vec::new());
        }
        first_ply(session.position(), game)
    }

    /// Evaluates a position, in a session of its own so that a search goes on.
    fn eval(&mut self, id: &Number, game: &GameText) -> Result<(), CommandError> {
        game.variant(self.catalogue)?;
        let session = self.second_session();
        set_position(session, game, "auto")?;
        if !session.variant().has_two_boards()
            && let Some(ply) = game.plies.first()
        {
            return Err(CommandError::EvalPlies(quote(ply)));
        }
        let mut notes = Vec::new();
        let output = session.eval(&mut notes)?;
        for text in notes {
            self.reply(note(id, text));
        }
        let body = if output.outcome.is_some() {
            EvalBody { wdl: None, policy: Vec::new() }
        } else {
            let policy = output.policy.into_iter().map(|(ply, p)| PolicyBody { ply, p }).collect();
            EvalBody { wdl: Some(output.wdl.permille()), policy }
        };
        self.reply(message("eval", id, body));
        Ok(())
    }

    fn set_option(&mut self, id: &Number, name: &str, value: &Value) -> Result<(), CommandError> {
        let known = PAGE_OPTIONS.iter().find(|known| known.eq_ignore_ascii_case(name));
        let Some(&name) = known else { return Err(CommandError::RefusedOption(quote(name))) };
        let value = match value {
            Value::String(text) => quote(text),
            Value::Number(number) => number.to_string(),
            Value::Null if name == "Clear Hash" => String::new(),
            other => return Err(CommandError::OptionValue(quote(&other.to_string()))),
        };
        let value = cap_option(name, value);
        // A value that is refused leaves the search in progress.
        self.session.check_option(name, &value)?;
        self.session.stop();
        let notes = self.session.set_option(name, &value)?;
        for text in notes {
            self.reply(note(id, text));
        }
        self.reply(message("option", id, OptionBody { name: name.to_owned(), value }));
        Ok(())
    }
}

/// Returns a session with the given memory. Its threads are one: many pages share the machine.
fn open_session(catalogue: &'static Catalogue, hash_mb: i64) -> Session {
    let mut session = Session::new(catalogue);
    if let Err(error) = session.set_option("Hash", &hash_mb.to_string()) {
        log::error!("{error}");
    }
    session
}

/// Sets up a game in a session. With two boards the plies are turns.
fn set_position(session: &mut Session, game: &GameText, team: &str) -> Result<(), CommandError> {
    game.check_size()?;
    if let Some(long) = game.moves.iter().find(|text| text.len() > MAX_TURN_BYTES) {
        return Err(CommandError::Ply(quote(long)));
    }
    // A team would select the game on two boards.
    session.set_option("Team", "auto")?;
    session.set_option("UCI_Variant", &game.variant)?;
    session.set_option("UCI_Chess960", &game.chess960.to_string())?;
    let mut turns: Vec<&str> = game.moves.iter().map(String::as_str).collect();
    if session.variant().has_two_boards() {
        session.set_option("Team", team)?;
        turns.extend(game.plies.iter().map(String::as_str));
    }
    session.set_position(game.fen.as_deref(), &turns)?;
    Ok(())
}

/// Returns the first of the plies that were played of a turn; none if none was played.
fn first_ply(position: &Position, game: &GameText) -> Result<Vec<Move>, CommandError> {
    let Some(text) = game.plies.first() else { return Ok(Vec::new()) };
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    let found = legal.into_iter().find(|&ply| position.move_text(ply) == *text);
    Ok(vec![found.ok_or_else(|| CommandError::Ply(quote(text)))?])
}

fn team_name(team: Option<usize>) -> Result<&'static str, CommandError> {
    match team {
        None => Ok("auto"),
        Some(0) => Ok("white"),
        Some(1) => Ok("black"),
        Some(other) => Err(CommandError::Team(other)),
    }
}

/// Returns the clocks of the four players; `None` if all are 0, which means that they are not known.
fn seat_clocks(game: &GameText) -> Option<SeatClocks> {
    let times = game.clocks?.map(clamp_milliseconds);
    if times == [0; 4] {
        return None;
    }
    let clock = |remaining: i64| Some(Clock { remaining, increment: 0, turns_to_go: None });
    let on_board = |white: i64, black: i64| {
        let mut clocks = PerSide::all(None);
        clocks[Side::WHITE] = clock(white);
        clocks[Side::BLACK] = clock(black);
        clocks
    };
    Some(SeatClocks([on_board(times[0], times[1]), on_board(times[2], times[3])]))
}

/// Returns the limits of a search within those of the server.
fn parse_limits(request: &SearchLimits) -> Result<Limits, CommandError> {
    let mut limits = Limits { infinite: request.infinite, ..Limits::default() };
    limits.time = request.movetime.map(|time| {
        Duration::from_millis(clamp_milliseconds(time).unsigned_abs()).min(MAX_MOVE_TIME)
    });
    limits.nodes = request.nodes.map(|nodes| clamp(nodes, 1, MAX_NODES));
    limits.depth = request.depth.map(|depth| clamp(depth, 1, MAX_DEPTH));
    let turns_to_go = request.movestogo.map(|turns| clamp(turns, 1, 1000) as u32);
    let clock = |time: Option<f64>, increment: Option<f64>| {
        let remaining = clamp_milliseconds(time?);
        let increment = clamp_milliseconds(increment.unwrap_or(0.0));
        Some(Clock { remaining, increment, turns_to_go })
    };
    limits.clocks[Side::WHITE] = clock(request.wtime, request.winc);
    limits.clocks[Side::BLACK] = clock(request.btime, request.binc);
    let has_clock = request.wtime.or(request.btime).is_some();
    let has_end = limits.time.is_some() || limits.nodes.or(limits.depth).is_some() || has_clock;
    if limits.infinite || has_end { Ok(limits) } else { Err(CommandError::NoLimit) }
}

/// Returns a number of a page, which may be negative or have a fraction, within limits.
fn clamp(number: f64, min: u64, max: u64) -> u64 {
    (number.round() as u64).clamp(min, max)
}

/// Returns the value of an option within the limits of the server. A text that is no number is left as it is,
/// and refused by the engine.
fn cap_option(name: &str, value: String) -> String {
    let max = match name {
        "Hash" => MAX_HASH_MB,
        "Threads" => thread::available_parallelism().map_or(1, |cores| cores.get() as i64),
        _ => return value,
    };
    value.parse::<i64>().map_or(value, |number| number.min(max).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_capped() {
        let request = SearchLimits {
            movetime: Some(1e300),
            nodes: Some(-5.0),
            depth: Some(1e9),
            ..SearchLimits::default()
        };
        let limits = parse_limits(&request).expect("limits");
        assert_eq!(limits.time, Some(MAX_MOVE_TIME));
        assert_eq!((limits.nodes, limits.depth), (Some(1), Some(MAX_DEPTH)));
        assert!(parse_limits(&SearchLimits::default()).is_err());
        let clock = SearchLimits { btime: Some(1000.4), ..SearchLimits::default() };
        let limits = parse_limits(&clock).expect("limits");
        assert_eq!(limits.clocks[Side::BLACK].map(|clock| clock.remaining), Some(1000));
    }

    #[test]
    fn options_are_capped() {
        assert_eq!(cap_option("Hash", "999999".to_owned()), MAX_HASH_MB.to_string());
        assert_eq!(cap_option("Hash", "16".to_owned()), "16");
        assert_eq!(cap_option("Hash", "many".to_owned()), "many");
    }
}

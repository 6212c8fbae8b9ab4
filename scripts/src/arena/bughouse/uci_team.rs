//! A team in one process, which speaks UCI of two boards as hivemind does.

use std::path::Path;
use std::time::{Duration, Instant};

use menagerie::rules::{BoardId, Color, Side};

use super::team::{BughouseGame, PlayedPly, Team, TeamEvent};
use super::{WakeSender, crash};
use crate::arena::spec::PlayerSpec;
use crate::engine_process::{EngineError, EngineProcess, REPLY_TIMEOUT};
use crate::readers::bpgn::Seat;
use crate::uci_engine::UciEngine;

/// Time after which a sitting team searches again, although nothing has happened.
const SIT_RETRY: Duration = Duration::from_secs(2);

/// A team in one process.
pub(super) struct UciTeam {
    variant: String,
    spec: PlayerSpec,
    wake: WakeSender,
    engine: Option<UciEngine>,
    side: Side,
    search: Option<TeamSearch>,
    /// The last answer left a board without a move.
    passed: bool,
    /// The number of plies at which the team sat, and the time of the next search.
    sitting: Option<(usize, Instant)>,
    failure: Option<EngineError>,
}

/// A search of the engine.
struct TeamSearch {
    /// The number of plies of the game when it was started.
    plies: usize,
    /// A later ply made its answer useless.
    is_obsolete: bool,
}

impl UciTeam {
    pub(super) fn new(variant: &str, spec: &PlayerSpec, wake: WakeSender) -> UciTeam {
        UciTeam {
            variant: variant.to_owned(),
            spec: spec.clone(),
            wake,
            engine: None,
            side: Side::WHITE,
            search: None,
            passed: false,
            sitting: None,
            failure: None,
        }
    }

    fn start(&self) -> anyhow::Result<UciEngine> {
        let spec = &self.spec;
        let path = spec.file.as_deref().unwrap_or(Path::new(""));
        let arguments = spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start_with_callback(path, arguments, self.wake.callback())?;
        let mut engine = UciEngine::connect(process, REPLY_TIMEOUT)?;
        for (option, value) in &spec.options {
            engine.set_option(option, value)?;
        }
        if !spec.options.is_empty() {
            // Options such as a file of variants change the values of other options.
            engine.read_options()?;
        }
        // hivemind plays one variant only and has no option for it.
        if engine.has_option("UCI_Variant") {
            engine.set_option("UCI_Variant", &self.variant)?;
        }
        Ok(engine)
    }

    /// Returns the arguments of `position` and `go`.
    fn search_arguments(&self, game: &BughouseGame, now: Instant) -> (String, String) {
        let mut position = format!("fen {}", game.start);
        if !game.plies.is_empty() {
            position.push_str(" moves ");
            position.push_str(&game.plies.join(" "));
        }
        let mut limits = Vec::new();
        for (board, number) in [(BoardId::A, ""), (BoardId::B, "2")] {
            for (color, letter) in [(Color::White, 'w'), (Color::Black, 'b')] {
                let seat = Seat { board, color };
                let left = game.clocks.left(seat, now);
                limits.push(format!("{letter}time{number} {left}"));
                let increment = game.clocks.increment(seat);
                if increment > 0 {
                    limits.push(format!("{letter}inc{number} {increment}"));
                }
            }
        }
        let PlayerSpec { movetime, visits, depth, .. } = self.spec;
        limits.extend(movetime.map(|milliseconds| format!("movetime {milliseconds}")));
        limits.extend(visits.map(|nodes| format!("nodes {nodes}")));
        limits.extend(depth.map(|depth| format!("depth {depth}")));
        (position, limits.join(" "))
    }

    fn start_search(&mut self, game: &BughouseGame, now: Instant) -> Result<(), EngineError> {
        let (position, limits) = self.search_arguments(game, now);
        let may_sit = game.clocks.team_ahead(now) == self.side;
        let Some(engine) = &mut self.engine else { return Ok(()) };
        // An engine that does not read four clocks gets the permission to sit as an option.
        if engine.has_option("Mode") && !engine.accepts("Mode", "clock") {
            let mode = if may_sit { "sit" } else { "go" };
            engine.send(&format!("setoption name Mode value {mode}"))?;
        }
        engine.start_search(&position, &limits)?;
        self.search = Some(TeamSearch { plies: game.plies.len(), is_obsolete: false });
        Ok(())
    }

    /// Notes the first failure of the engine.
    fn note_failure(&mut self, result: Result<(), EngineError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// Returns the event of a line of the engine, if it is one.
    fn parse_line(&mut self, line: &str) -> Option<TeamEvent> {
        if line.split_whitespace().next() != Some("bestmove") {
            return None;
        }
        let search = self.search.take()?;
        if search.is_obsolete {
            return None;
        }
        let Some(moves) = line.split_whitespace().nth(1).and_then(parse_moves) else {
            return Some(TeamEvent::Fault("illegal move", format!("\"{line}\""), None));
        };
        self.passed = moves.len() < 2;
        if moves.is_empty() { None } else { Some(TeamEvent::Moves(moves)) }
    }
}

/// Returns the moves of `(e2e4,pass)` or `1e2e4,2d7d5`; `None` for other texts.
fn parse_moves(text: &str) -> Option<Vec<(BoardId, String)>> {
    if matches!(text, "(none)" | "pass" | "0000") {
        return Some(Vec::new());
    }
    let mut moves = Vec::new();
    if let Some(text) = text.strip_prefix('(') {
        let (a, b) = text.strip_suffix(')')?.split_once(',')?;
        moves.extend([(BoardId::A, a), (BoardId::B, b)]);
        moves.retain(|(_, text)| *text != "pass");
    } else {
        for text in text.split(',').filter(|text| *text != "pass") {
            let numbered = |board, number| Some((board, text.strip_prefix(number)?));
            let (board, text) = numbered(BoardId::A, '1').or_else(|| numbered(BoardId::B, '2'))?;
            if text == "pass" {
                return None;
            }
            moves.push((board, text));
        }
    }
    Some(moves.into_iter().map(|(board, text)| (board, text.to_owned())).collect())
}

impl Team for UciTeam {
    fn begin(&mut self, side: Side, _game: &BughouseGame) -> anyhow::Result<()> {
        self.side = side;
        self.passed = false;
        self.sitting = None;
        let team = if side == Side::WHITE { "white" } else { "black" };
        let mut just_started = false;
        loop {
            let mut running = self.engine.take();
            if self.failure.is_some() {
                running = None;
            }
            let mut engine = match running {
                Some(engine) => engine,
                None => {
                    just_started = true;
                    self.failure = None;
                    self.search = None;
                    self.start()?
                }
            };
            let is_searching = self.search.take().is_some();
            match begin_game(&mut engine, is_searching, team) {
                Ok(()) => {
                    self.engine = Some(engine);
                    return Ok(());
                }
                // An engine that ended since its last game, or does not respond, is started again.
                Err(_) if !just_started => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn on_ply(&mut self, _ply: PlayedPly<'_>, _game: &BughouseGame, _now: Instant) {}

    fn update(&mut self, game: &BughouseGame, now: Instant) {
        let plies = game.plies.len();
        if std::mem::take(&mut self.passed) {
            self.sitting = Some((plies, now + SIT_RETRY));
        }
        self.sitting = self.sitting.filter(|&(then, until)| then == plies && now < until);
        let result = match (&mut self.search, &mut self.engine) {
            (_, None) => Ok(()),
            (Some(search), Some(engine)) if search.plies != plies && !search.is_obsolete => {
                search.is_obsolete = true;
                engine.send("stop")
            }
            (Some(_), _) => Ok(()),
            (None, _) => {
                let may_move = BoardId::ALL.iter().any(|&board| game.may_move(self.side, board));
                if may_move && self.sitting.is_none() {
                    self.start_search(game, now)
                } else {
                    Ok(())
                }
            }
        };
        self.note_failure(result);
    }

    fn next_update(&self) -> Option<Instant> {
        match self.search {
            None => self.sitting.map(|(_, until)| until),
            Some(_) => None,
        }
    }

    fn events(&mut self) -> Vec<(Instant, TeamEvent)> {
        let mut events = Vec::new();
        while let Some(engine) = &mut self.engine {
            match engine.poll() {
                Ok(Some((at, line))) => {
                    events.extend(self.parse_line(&line).map(|event| (at, event)));
                }
                Ok(None) => break,
                Err(error) => {
                    self.note_failure(Err(error));
                    break;
                }
            }
        }
        if let Some(error) = &self.failure {
            events.push((Instant::now(), crash(error, None)));
        }
        events
    }

    fn end(&mut self, _results: [&str; 2], _reason: &str) {
        if self.search.is_none() {
            return;
        }
        let Some(engine) = &mut self.engine else { return };
        let result = engine.send("stop");
        self.note_failure(result);
    }
}

/// Prepares an engine for a game. If it is searching, waits for the end of that search.
fn begin_game(engine: &mut UciEngine, is_searching: bool, team: &str) -> Result<(), EngineError> {
    if is_searching {
        engine.send("stop")?;
        engine.read_until("bestmove")?;
    }
    engine.new_game()?;
    engine.set_option("Team", team)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uci_team_turns_have_two_forms() {
        let a = (BoardId::A, "e2e4".to_owned());
        let b = (BoardId::B, "N@f3".to_owned());
        assert_eq!(parse_moves("(e2e4,N@f3)"), Some(vec![a.clone(), b.clone()]));
        assert_eq!(parse_moves("(pass,N@f3)"), Some(vec![b.clone()]));
        assert_eq!(parse_moves("2N@f3,1e2e4"), Some(vec![b, a]));
        for sitting in ["(pass,pass)", "(none)", "pass"] {
            assert_eq!(parse_moves(sitting), Some(vec![]), "{sitting}");
        }
        for nonsense in ["e2e4", "(e2e4)", "(e2e4,pass", "", "3e2e4"] {
            assert_eq!(parse_moves(nonsense), None, "{nonsense}");
        }
    }
}

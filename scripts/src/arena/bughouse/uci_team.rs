//! A team in one process, which speaks UCI of two boards as hivemind does.

use std::path::Path;
use std::time::{Duration, Instant};

use menagerie::rules::{Color, Side, Table};

use super::team::{Ply, Said, Situation, Team};
use super::{Wake, broken};
use crate::arena::spec::PlayerSpec;
use crate::engine_process::{EngineError, EngineProcess, PATIENCE};
use crate::readers::bpgn::Seat;
use crate::uci_engine::UciEngine;

/// A team that sits is asked again after so long, though nothing has happened.
const PERSISTENCE: Duration = Duration::from_secs(2);

/// The process and what it was asked.
pub(super) struct UciTeam {
    variant: String,
    spec: PlayerSpec,
    wake: Wake,
    engine: Option<UciEngine>,
    side: Side,
    /// It thinks, since so many plies of the game; nothing comes of it if the flag is set.
    searcher: Option<(usize, bool)>,
    /// It has answered, and left a table to its clock.
    passed: bool,
    /// It sat when so many plies had been played, and is not asked again until then.
    sits: Option<(usize, Instant)>,
    failure: Option<EngineError>,
}

impl UciTeam {
    pub(super) fn new(variant: &str, spec: &PlayerSpec, wake: Wake) -> UciTeam {
        UciTeam {
            variant: variant.to_owned(),
            spec: spec.clone(),
            wake,
            engine: None,
            side: Side::WHITE,
            searcher: None,
            passed: false,
            sits: None,
            failure: None,
        }
    }

    fn start(&self) -> anyhow::Result<UciEngine> {
        let spec = &self.spec;
        let path = spec.file.as_deref().unwrap_or(Path::new(""));
        let arguments = spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start_heard(path, arguments, self.wake.caller())?;
        let mut engine = UciEngine::shaken(process, PATIENCE)?;
        for (option, value) in &spec.options {
            engine.set(option, value)?;
        }
        if !spec.options.is_empty() {
            // Options such as a file of games change what other options take.
            engine.shake_hands()?;
        }
        // hivemind plays one game only, and has no name for it.
        if engine.has("UCI_Variant") {
            engine.set("UCI_Variant", &self.variant)?;
        }
        Ok(engine)
    }

    /// The game and the limits of a search, after `position` and `go`.
    fn question(&self, game: &Situation, now: Instant) -> (String, String) {
        let mut position = format!("fen {}", game.start);
        if !game.plies.is_empty() {
            position.push_str(" moves ");
            position.push_str(&game.plies.join(" "));
        }
        let mut limits = Vec::new();
        for (board, number) in [(Table::A, ""), (Table::B, "2")] {
            for (color, letter) in [(Color::White, 'w'), (Color::Black, 'b')] {
                let seat = Seat { board, color };
                let left = game.watch.left(seat, now);
                limits.push(format!("{letter}time{number} {left}"));
                let increment = game.watch.increment(seat);
                if increment > 0 {
                    limits.push(format!("{letter}inc{number} {increment}"));
                }
            }
        }
        let said = |word: &str, number: Option<u64>| number.map(|n| format!("{word} {n}"));
        limits.extend(said("movetime", self.spec.movetime));
        limits.extend(said("nodes", self.spec.visits.map(u64::from)));
        limits.extend(said("depth", self.spec.depth.map(u64::from)));
        (position, limits.join(" "))
    }

    fn go(&mut self, game: &Situation, now: Instant) -> Result<(), EngineError> {
        let (position, limits) = self.question(game, now);
        let leads = game.watch.leader(now) == self.side;
        let Some(engine) = &mut self.engine else { return Ok(()) };
        // Whoever cannot read four clocks is told who may sit.
        if engine.has("Mode") && !engine.takes("Mode", "clock") {
            let mode = if leads { "sit" } else { "go" };
            engine.say(&format!("setoption name Mode value {mode}"))?;
        }
        engine.begin(&position, &limits)?;
        self.searcher = Some((game.plies.len(), false));
        Ok(())
    }

    fn keep(&mut self, done: Result<(), EngineError>) {
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
    }

    /// What came of a line; `None` if nothing did.
    fn understand(&mut self, line: &str) -> Option<Said> {
        if line.split_whitespace().next() != Some("bestmove") {
            return None;
        }
        let (_, in_vain) = self.searcher.take()?;
        if in_vain {
            return None;
        }
        let Some(moves) = line.split_whitespace().nth(1).and_then(moves) else {
            return Some(Said::Fails("illegal move", format!("\"{line}\""), None));
        };
        self.passed = moves.len() < 2;
        (!moves.is_empty()).then_some(Said::Moves(moves))
    }
}

/// The moves of `(e2e4,pass)` or of `1e2e4,2d7d5`; `None` if it is neither.
fn moves(text: &str) -> Option<Vec<(Table, String)>> {
    let at = |table, text: &str| (text != "pass").then(|| (table, text.to_owned()));
    if matches!(text, "(none)" | "pass" | "0000") {
        return Some(Vec::new());
    }
    if let Some(text) = text.strip_prefix('(') {
        let (a, b) = text.strip_suffix(')')?.split_once(',')?;
        return Some([at(Table::A, a), at(Table::B, b)].into_iter().flatten().collect());
    }
    let plies = text.split(',').filter(|text| *text != "pass").map(|text| {
        let numbered = |table, number| text.strip_prefix(number).map(|text| (table, text));
        let (table, text) = numbered(Table::A, '1').or_else(|| numbered(Table::B, '2'))?;
        at(table, text)
    });
    plies.collect()
}

impl Team for UciTeam {
    fn begin(&mut self, side: Side, _game: &Situation) -> anyhow::Result<()> {
        (self.side, self.passed, self.sits) = (side, false, None);
        let team = if side == Side::WHITE { "white" } else { "black" };
        let mut fresh = false;
        loop {
            let mut engine = match self.engine.take().filter(|_| self.failure.is_none()) {
                Some(engine) => engine,
                None => {
                    (fresh, self.failure, self.searcher) = (true, None, None);
                    self.start()?
                }
            };
            let mut begin = || {
                if self.searcher.take().is_some() {
                    engine.say("stop")?;
                    engine.answer("bestmove")?;
                }
                engine.new_game()?;
                engine.set("Team", team)
            };
            match begin() {
                Ok(()) => {
                    self.engine = Some(engine);
                    return Ok(());
                }
                // One that died since its last game, or hears no more, is started again.
                Err(_) if !fresh => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn played(&mut self, _ply: Ply<'_>, _game: &Situation, _now: Instant) {}

    fn ask(&mut self, game: &Situation, now: Instant) {
        let count = game.plies.len();
        if std::mem::take(&mut self.passed) {
            self.sits = Some((count, now + PERSISTENCE));
        }
        self.sits = self.sits.filter(|&(then, until)| then == count && now < until);
        let done = match (&mut self.searcher, &mut self.engine) {
            (_, None) => Ok(()),
            // It thinks about what is the case no more.
            (Some((about, in_vain @ false)), Some(engine)) if *about != count => {
                *in_vain = true;
                engine.say("stop")
            }
            (Some(_), _) => Ok(()),
            (None, _) => {
                let able = Table::ALL.iter().any(|&table| game.may_move(self.side, table));
                if able && self.sits.is_none() { self.go(game, now) } else { Ok(()) }
            }
        };
        self.keep(done);
    }

    fn wake(&self) -> Option<Instant> {
        self.sits.filter(|_| self.searcher.is_none()).map(|(_, until)| until)
    }

    fn hear(&mut self) -> Vec<(Instant, Said)> {
        let mut said = Vec::new();
        while let Some(engine) = &mut self.engine {
            match engine.poll() {
                Ok(Some((at, line))) => {
                    said.extend(self.understand(&line).map(|said| (at, said)));
                }
                Ok(None) => break,
                Err(error) => {
                    self.keep(Err(error));
                    break;
                }
            }
        }
        if let Some(error) = &self.failure {
            said.push((Instant::now(), broken(error, None)));
        }
        said
    }

    fn end(&mut self, _results: [&str; 2], _why: &str) {
        // What it thinks about now is of no use.
        let Some(engine) = self.engine.as_mut().filter(|_| self.searcher.is_some()) else { return };
        let done = engine.say("stop");
        self.keep(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_read_in_either_form() {
        let (a, b) = ((Table::A, "e2e4".to_owned()), (Table::B, "N@f3".to_owned()));
        assert_eq!(moves("(e2e4,N@f3)"), Some(vec![a.clone(), b.clone()]));
        assert_eq!(moves("(pass,N@f3)"), Some(vec![b.clone()]));
        assert_eq!(moves("2N@f3,1e2e4"), Some(vec![b, a]));
        for sitting in ["(pass,pass)", "(none)", "pass"] {
            assert_eq!(moves(sitting), Some(vec![]), "{sitting}");
        }
        for nonsense in ["e2e4", "(e2e4)", "(e2e4,pass", "", "3e2e4"] {
            assert_eq!(moves(nonsense), None, "{nonsense}");
        }
    }
}

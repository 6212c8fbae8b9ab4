//! Players that are executables: engines of UCI and XBoard, and their clocks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menagerie::rules::{Move, Position, Side};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;

use super::player::{Fault, NoTurn, Player, Situation};
use super::spec::{Kind, PlayerSpec};
use crate::engine_process::{EngineError, EngineProcess, PATIENCE};
use crate::uci_engine::UciEngine;
use crate::xboard_engine::{Beginning, Reply, XboardEngine};

/// A player that is an executable. It is started for its first game, and again after it has failed.
///
/// # Errors
/// If such an engine cannot play this game.
pub fn outside(
    variant: &Arc<Variant>,
    chess960: bool,
    spec: &PlayerSpec,
) -> anyhow::Result<Box<dyn Player>> {
    spec.check().map_err(anyhow::Error::msg)?;
    let two = variant.start().game_spec().sides == 2;
    anyhow::ensure!(
        two || spec.kind == Kind::Uci && spec.tc.is_none(),
        "XBoard's protocol and UCI's clocks are for two sides: {spec}"
    );
    Ok(Box::new(Outside {
        variant: Arc::clone(variant),
        chess960,
        spec: spec.clone(),
        engine: None,
        left: 0,
    }))
}

struct Outside {
    variant: Arc<Variant>,
    chess960: bool,
    spec: PlayerSpec,
    engine: Option<Engine>,
    /// Milliseconds on its clock.
    left: i64,
}

enum Engine {
    Uci(UciEngine),
    Xboard {
        engine: XboardEngine,
        /// The position that it knows, and how many turns led there.
        known: Box<(Position, usize)>,
    },
}

impl Outside {
    fn start(&self) -> anyhow::Result<Engine> {
        let spec = &self.spec;
        let path = spec.file.as_deref().unwrap_or(Path::new(""));
        let arguments = spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start(path, arguments)?;
        let name = process.executable().to_owned();
        if spec.kind == Kind::Xboard {
            let mut engine = XboardEngine::shaken(process, PATIENCE)?;
            for (option, value) in &spec.options {
                engine.set(option, value)?;
            }
            let variant = self.xboard_name();
            anyhow::ensure!(engine.plays(variant), "{name} does not say that it plays {variant}");
            return Ok(Engine::Xboard { engine, known: Box::new((self.variant.start(), 0)) });
        }
        let mut engine = UciEngine::shaken(process, PATIENCE)?;
        for (option, value) in &spec.options {
            engine.set(option, value)?;
        }
        if !spec.options.is_empty() {
            // Options such as a file of games change what other options take.
            engine.shake_hands()?;
        }
        let variant = self.variant.name();
        if variant != "chess" || engine.takes("UCI_Variant", variant) {
            engine.set("UCI_Variant", variant)?;
        }
        if self.chess960 {
            engine.set("UCI_Chess960", "true")?;
        }
        Ok(Engine::Uci(engine))
    }

    fn xboard_name(&self) -> &str {
        match (self.variant.name(), self.chess960) {
            ("chess", false) => "normal",
            ("chess", true) => "fischerandom",
            (name, _) => name,
        }
    }

    /// What limits the search of a UCI engine, after `go`.
    fn uci_limits(&self, mover: Side, clocks: (u64, u64)) -> String {
        let spec = &self.spec;
        let clock = spec.tc.map(|time| {
            let (own, other) = clocks;
            let (white, black) = if mover == Side::WHITE { (own, other) } else { (other, own) };
            let increment = time.increment;
            format!("wtime {white} btime {black} winc {increment} binc {increment}")
        });
        let parts = [
            clock,
            spec.visits.map(|nodes| format!("nodes {nodes}")),
            spec.movetime.map(|time| format!("movetime {time}")),
            spec.depth.map(|depth| format!("depth {depth}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// How long the next turn may take by the rules of the match, and how long it is waited for.
    fn time(&self) -> (Option<u64>, Duration) {
        // What was overstepped before is overstepped still.
        let margin = i64::try_from(self.spec.margin()).unwrap_or(i64::MAX);
        let clock = self.spec.tc.map(|_| self.left.saturating_add(margin).max(0).unsigned_abs());
        let turn = self.spec.movetime.map(|time| time.saturating_add(self.spec.margin()));
        let allowed = [clock, turn].into_iter().flatten().min();
        (allowed, Duration::from_millis(allowed.unwrap_or_else(|| self.spec.patience())))
    }

    /// Asks the engine, and gives what it says and after how many milliseconds.
    fn ask(&mut self, game: &Situation<'_>) -> Result<(String, u64), NoTurn> {
        let (_, patience) = self.time();
        let mover = game.position.turn();
        let other = game.clocks.iter().enumerate().find(|(side, _)| *side != mover.index());
        let left = self.left.max(0).unsigned_abs();
        let clocks = (left, other.and_then(|(_, clock)| *clock).unwrap_or(left));
        let limits = self.uci_limits(mover, clocks);
        let Some(engine) = &mut self.engine else {
            return Err(NoTurn::Fatal(anyhow::anyhow!("no game has begun")));
        };
        let (text, begun) = match engine {
            Engine::Uci(engine) => {
                let mut position = format!("fen {}", game.start.fen());
                if !game.turns.is_empty() {
                    position.push_str(" moves ");
                    position.push_str(&game.turns.join(" "));
                }
                let begun = Instant::now();
                (engine.go(&position, &limits, patience).map(|answer| answer.best), begun)
            }
            Engine::Xboard { engine, known } => {
                let turns = news(known, game, self.chess960);
                let begun = Instant::now();
                let clocks = self.spec.tc.map(|_| clocks);
                let said = match engine.go(&turns, clocks, patience) {
                    Ok(Reply::Move(text)) => Ok(text),
                    Ok(Reply::Resigns) => return Err(NoTurn::Fault(Fault::Resigned)),
                    Ok(Reply::Claims(result)) if lost(&result, mover) => {
                        return Err(NoTurn::Fault(Fault::Resigned));
                    }
                    Ok(Reply::Claims(line) | Reply::Protests(line)) => {
                        return Err(NoTurn::Fault(Fault::Illegal(line)));
                    }
                    Err(error) => Err(error),
                };
                (said, begun)
            }
        };
        let spent = begun.elapsed().as_millis() as u64;
        match text {
            Ok(text) => Ok((text, spent)),
            Err(error) => {
                // Whatever it says now would be taken for an answer to the next question.
                self.engine = None;
                Err(NoTurn::Fault(match error {
                    EngineError::Silent { .. } => Fault::Slow(spent),
                    error => Fault::Broken(error.to_string()),
                }))
            }
        }
    }
}

fn lost(result: &str, side: Side) -> bool {
    result == if side == Side::WHITE { "0-1" } else { "1-0" }
}

/// The turns that an XBoard engine does not know, which ends at its own last one.
fn news(
    (position, count): &mut (Position, usize),
    game: &Situation<'_>,
    chess960: bool,
) -> Vec<String> {
    let mut turns = Vec::new();
    for plies in &game.plies[*count..] {
        turns.push(match chess960 {
            true => position.turn_text_with_castling(plies),
            false => position.turn_text(plies),
        });
        plies.iter().for_each(|&m| position.play_unchecked(m));
    }
    *count = game.plies.len();
    turns
}

impl Player for Outside {
    fn begin(&mut self, start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        let limits = self.spec.xboard_limits();
        let variant = self.xboard_name().to_owned();
        let base = self.spec.tc.map_or(0, |time| time.base);
        self.left = i64::try_from(base).unwrap_or(i64::MAX);
        let mut fresh = false;
        loop {
            let mut engine = match self.engine.take() {
                Some(engine) => engine,
                None => {
                    fresh = true;
                    self.start()?
                }
            };
            let begun = match &mut engine {
                Engine::Uci(engine) => engine.new_game(),
                Engine::Xboard { engine, known } => {
                    **known = (start.clone(), 0);
                    let fen = start.fen();
                    engine.begin(&Beginning { variant: &variant, fen: &fen, limits: &limits })
                }
            };
            match begun {
                Ok(()) => {
                    self.engine = Some(engine);
                    return Ok(());
                }
                // One that died since its last game is started again.
                Err(_) if !fresh => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn> {
        let (allowed, _) = self.time();
        let (text, spent) = self.ask(game)?;
        if allowed.is_some_and(|allowed| spent > allowed) {
            return Err(NoTurn::Fault(Fault::Slow(spent)));
        }
        if let Some(time) = self.spec.tc {
            let [spent, increment] =
                [spent, time.increment].map(|time| i64::try_from(time).unwrap_or(i64::MAX));
            self.left = self.left.saturating_sub(spent).saturating_add(increment);
        }
        let plies = game.position.parse_turn(&text);
        let plies = plies.ok_or(NoTurn::Fault(Fault::Illegal(text)))?;
        if let Some(Engine::Xboard { known, .. }) = &mut self.engine {
            let (position, count) = &mut **known;
            plies.iter().for_each(|&m| position.play_unchecked(m));
            *count += 1;
        }
        Ok(plies)
    }

    fn clock(&self) -> Option<u64> {
        self.spec.tc.map(|_| self.left.max(0).unsigned_abs())
    }

    fn end(&mut self, result: &str, why: &str) {
        let Some(Engine::Xboard { engine, .. }) = &mut self.engine else { return };
        // One that has no use for more than one game, or does not hear, is started anew.
        if engine.end(result, why).is_err() || engine.feature("reuse") == "0" {
            self.engine = None;
        }
    }
}

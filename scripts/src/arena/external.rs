//! Players that are executables: engines that speak UCI or XBoard's protocol, and their clocks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menagerie::rules::{Move, Position, Side};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;

use super::player::{Player, PlayerFault, Situation, TurnError};
use super::spec::{PlayerKind, PlayerSpec};
use crate::engine_process::{EngineError, EngineProcess, REPLY_TIMEOUT};
use crate::uci_engine::UciEngine;
use crate::xboard_engine::{NewGame, Reply, XboardEngine};

/// Returns a player that is an executable. The engine is started for its first game, and again after a
/// failure.
///
/// # Errors
/// If the settings are invalid, or such an engine cannot play this variant.
pub fn open_engine(
    variant: &Arc<Variant>,
    chess960: bool,
    spec: &PlayerSpec,
) -> anyhow::Result<Box<dyn Player>> {
    spec.check()?;
    let two_sides = variant.start().game_spec().sides == 2;
    anyhow::ensure!(
        two_sides || spec.kind == PlayerKind::Uci && spec.tc.is_none(),
        "XBoard's protocol and UCI's clocks are for two sides: {spec}"
    );
    Ok(Box::new(ExternalPlayer {
        variant: Arc::clone(variant),
        chess960,
        spec: spec.clone(),
        engine: None,
        clock_ms: 0,
    }))
}

struct ExternalPlayer {
    variant: Arc<Variant>,
    chess960: bool,
    spec: PlayerSpec,
    engine: Option<Engine>,
    /// The milliseconds on the clock.
    clock_ms: i64,
}

enum Engine {
    Uci(UciEngine),
    Xboard {
        engine: XboardEngine,
        /// The position that the engine has, and the number of turns that led to it.
        synced: Box<(Position, usize)>,
    },
}

impl ExternalPlayer {
    fn start(&self) -> anyhow::Result<Engine> {
        let spec = &self.spec;
        let path = spec.file.as_deref().unwrap_or(Path::new(""));
        let arguments = spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start(path, arguments)?;
        let name = process.executable().to_owned();
        if spec.kind == PlayerKind::Xboard {
            let mut engine = XboardEngine::connect(process, REPLY_TIMEOUT)?;
            for (option, value) in &spec.options {
                engine.set_option(option, value)?;
            }
            let variant = self.xboard_name();
            anyhow::ensure!(engine.plays(variant), "the engine {name} does not play {variant}");
            return Ok(Engine::Xboard { engine, synced: Box::new((self.variant.start(), 0)) });
        }
        let mut engine = UciEngine::connect(process, REPLY_TIMEOUT)?;
        for (option, value) in &spec.options {
            engine.set_option(option, value)?;
        }
        if !spec.options.is_empty() {
            // Options such as a file of variants change the values of other options.
            engine.read_options()?;
        }
        let variant = self.variant.name();
        if variant != "chess" || engine.accepts("UCI_Variant", variant) {
            engine.set_option("UCI_Variant", variant)?;
        }
        if self.chess960 {
            engine.set_option("UCI_Chess960", "true")?;
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

    /// Returns the arguments of `go` that limit a search of a UCI engine.
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

    /// Returns the milliseconds that the next turn may take by the rules of the match, and the time to wait for
    /// it.
    fn time_limits(&self) -> (Option<u64>, Duration) {
        // Time overstepped in earlier turns remains overstepped.
        let margin = i64::try_from(self.spec.margin()).unwrap_or(i64::MAX);
        let clock =
            self.spec.tc.map(|_| self.clock_ms.saturating_add(margin).max(0).unsigned_abs());
        let turn = self.spec.movetime.map(|time| time.saturating_add(self.spec.margin()));
        let allowed = [clock, turn].into_iter().flatten().min();
        (allowed, Duration::from_millis(allowed.unwrap_or_else(|| self.spec.patience())))
    }

    /// Lets the engine search, and returns its answer and the milliseconds that it took.
    fn search(&mut self, game: &Situation<'_>) -> Result<(String, u64), TurnError> {
        let (_, timeout) = self.time_limits();
        let mover = game.position.turn();
        let other = game.clocks.iter().enumerate().find(|(side, _)| *side != mover.index());
        let left = self.clock_ms.max(0).unsigned_abs();
        let clocks = (left, other.and_then(|(_, clock)| *clock).unwrap_or(left));
        let limits = self.uci_limits(mover, clocks);
        let Some(engine) = &mut self.engine else {
            return Err(TurnError::Fatal(anyhow::anyhow!("no game has been started")));
        };
        let (text, begun) = match engine {
            Engine::Uci(engine) => {
                let mut position = format!("fen {}", game.start.fen());
                if !game.turns.is_empty() {
                    position.push_str(" moves ");
                    position.push_str(&game.turns.join(" "));
                }
                let begun = Instant::now();
                (engine.go(&position, &limits, timeout).map(|answer| answer.best), begun)
            }
            Engine::Xboard { engine, synced } => {
                let turns = new_turns(synced, game, self.chess960);
                let begun = Instant::now();
                let clocks = self.spec.tc.map(|_| clocks);
                let text = match engine.go(&turns, clocks, timeout) {
                    Ok(Reply::Move(text)) => Ok(text),
                    Ok(Reply::Resigns) => return Err(TurnError::Fault(PlayerFault::Resignation)),
                    Ok(Reply::Claims(result)) if is_lost(&result, mover) => {
                        return Err(TurnError::Fault(PlayerFault::Resignation));
                    }
                    Ok(Reply::Claims(line) | Reply::Protests(line)) => {
                        return Err(TurnError::Fault(PlayerFault::IllegalTurn(line)));
                    }
                    Err(error) => Err(error),
                };
                (text, begun)
            }
        };
        let spent = begun.elapsed().as_millis() as u64;
        match text {
            Ok(text) => Ok((text, spent)),
            Err(error) => {
                // A late answer would be taken for the answer to the next request.
                self.engine = None;
                Err(TurnError::Fault(match error {
                    EngineError::Timeout { .. } => PlayerFault::Timeout(spent),
                    error => PlayerFault::EngineFailure(error.to_string()),
                }))
            }
        }
    }
}

/// Returns `true` if `side` has lost by a result in the form of PGN.
fn is_lost(result: &str, side: Side) -> bool {
    result == if side == Side::WHITE { "0-1" } else { "1-0" }
}

/// Returns the turns that an XBoard engine has not received, and plays them in its position.
fn new_turns(
    (position, count): &mut (Position, usize),
    game: &Situation<'_>,
    chess960: bool,
) -> Vec<String> {
    let mut turns = Vec::new();
    for plies in &game.plies[*count..] {
        turns.push(if chess960 {
            position.turn_text_with_castling(plies)
        } else {
            position.turn_text(plies)
        });
        for &m in plies {
            position.play_unchecked(m);
        }
    }
    *count = game.plies.len();
    turns
}

impl Player for ExternalPlayer {
    fn begin(&mut self, start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        let limits = self.spec.xboard_limits();
        let variant = self.xboard_name().to_owned();
        let base = self.spec.tc.map_or(0, |time| time.base);
        self.clock_ms = i64::try_from(base).unwrap_or(i64::MAX);
        let mut just_started = false;
        loop {
            let mut engine = match self.engine.take() {
                Some(engine) => engine,
                None => {
                    just_started = true;
                    self.start()?
                }
            };
            let begun = match &mut engine {
                Engine::Uci(engine) => engine.new_game(),
                Engine::Xboard { engine, synced } => {
                    **synced = (start.clone(), 0);
                    let fen = start.fen();
                    engine.new_game(&NewGame { variant: &variant, fen: &fen, limits: &limits })
                }
            };
            match begun {
                Ok(()) => {
                    self.engine = Some(engine);
                    return Ok(());
                }
                // An engine that ended since its last game is started again.
                Err(_) if !just_started => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let (allowed, _) = self.time_limits();
        let (text, spent) = self.search(game)?;
        if allowed.is_some_and(|allowed| spent > allowed) {
            return Err(TurnError::Fault(PlayerFault::Timeout(spent)));
        }
        if let Some(time) = self.spec.tc {
            let [spent, increment] =
                [spent, time.increment].map(|time| i64::try_from(time).unwrap_or(i64::MAX));
            self.clock_ms = self.clock_ms.saturating_sub(spent).saturating_add(increment);
        }
        let plies = game.position.parse_turn(&text);
        let plies = plies.ok_or(TurnError::Fault(PlayerFault::IllegalTurn(text)))?;
        if let Some(Engine::Xboard { synced, .. }) = &mut self.engine {
            let (position, count) = &mut **synced;
            for &m in &plies {
                position.play_unchecked(m);
            }
            *count += 1;
        }
        Ok(plies)
    }

    fn clock(&self) -> Option<u64> {
        self.spec.tc.map(|_| self.clock_ms.max(0).unsigned_abs())
    }

    fn end(&mut self, result: &str, reason: &str) {
        let Some(Engine::Xboard { engine, .. }) = &mut self.engine else { return };
        // An engine that plays one game per process, or does not respond, is started again for the next game.
        if engine.end_game(result, reason).is_err() || engine.feature("reuse") == "0" {
            self.engine = None;
        }
    }
}

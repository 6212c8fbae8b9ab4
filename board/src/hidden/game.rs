//! One game of RBC: the referee's board, the turns of the client and of the engine, and the clocks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menagerie::rbc::Player;
use menagerie::rules::rbc::{NotRequestable, Played, RbcClocks, Request, Truth};
use menagerie::rules::{ByColor, Color, Piece, Square};
use tokio::sync::mpsc::Sender;

use super::{HiddenError, SharedGame, lock};
use crate::limits::{HIDDEN_INCREMENT, MAX_HIDDEN_CLOCK_SECONDS};

/// The time on the clock of the engine in a game without clocks.
const UNTIMED_CLOCK: Duration = Duration::from_secs(900);

/// A command that is not possible in the phase of the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum WrongPhase {
    #[error("the game is over")]
    Over,
    #[error("the engine is to move")]
    EngineToMove,
    #[error("a sense is due before the move")]
    SenseFirst,
    #[error("this turn's sense has been made")]
    HasSensed,
}

/// What the client is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Sense,
    Move,
    Wait,
    Over,
}

/// One turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TurnRecord {
    pub(super) color: Color,
    pub(super) sense: Option<Square>,
    pub(super) played: Played,
}

/// What was seen on a square, and in which turn of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sighting {
    pub(super) piece: Option<Piece>,
    pub(super) turn: u32,
}

/// The clocks at the start of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GameClocks(pub(super) RbcClocks);

impl GameClocks {
    /// Returns clocks with a number of seconds, which may have a fraction.
    pub(super) fn new(seconds: f64) -> GameClocks {
        let milliseconds = 1e3 * seconds.clamp(1.0, MAX_HIDDEN_CLOCK_SECONDS);
        let left = milliseconds.round() as i64;
        GameClocks(RbcClocks {
            left: ByColor { white: left, black: left },
            increment: HIDDEN_INCREMENT.as_millis() as i64,
        })
    }
}

/// A game between a client and the engine.
#[derive(Debug)]
pub(crate) struct HiddenGame {
    pub(super) token: String,
    pub(super) truth: Truth,
    /// The color of the client.
    pub(super) color: Color,
    /// The engine's player, unless it is thinking.
    player: Option<Player>,
    has_sensed: bool,
    /// The sense of the client in this turn.
    sensed: Option<Square>,
    /// The number of turns that the client has begun.
    pub(super) turn: u32,
    pub(super) seen: BTreeMap<Square, Sighting>,
    pub(super) turns: Vec<TurnRecord>,
    /// The true position before each turn, and after the last.
    pub(super) fens: Vec<String>,
    turn_began: Instant,
    pub(super) last_message: Instant,
    /// The connections that have sent a command. They receive the event at the end of the engine's turn.
    listeners: Vec<Sender<String>>,
}

impl HiddenGame {
    /// Begins a game in which the client plays `color`.
    pub(super) fn new(
        token: String,
        truth: Truth,
        color: Color,
        player: Player,
        listener: Sender<String>,
    ) -> HiddenGame {
        let now = Instant::now();
        HiddenGame {
            token,
            fens: vec![truth.fen()],
            turn: u32::from(truth.turn() == color),
            truth,
            color,
            player: Some(player),
            has_sensed: false,
            sensed: None,
            seen: BTreeMap::new(),
            turns: Vec::new(),
            turn_began: now,
            last_message: now,
            listeners: vec![listener],
        }
    }

    /// Returns the connections that are still open.
    pub(super) fn open_listeners(&mut self) -> Vec<Sender<String>> {
        self.listeners.retain(|listener| !listener.is_closed());
        self.listeners.clone()
    }

    /// Adds a connection, unless it is known.
    pub(super) fn add_listener(&mut self, listener: Sender<String>) {
        self.listeners.retain(|other| !other.is_closed() && !other.same_channel(&listener));
        self.listeners.push(listener);
    }

    /// Returns `true` if the game has ended.
    pub(super) fn is_over(&self) -> bool {
        self.truth.end().is_some()
    }

    /// Returns `true` if the engine is to move and its player does not think yet.
    pub(super) fn begins_thinking(&self) -> bool {
        !self.is_over() && self.truth.turn() != self.color && self.player.is_some()
    }

    /// Returns what the client is to do.
    pub(super) fn phase(&self) -> Phase {
        if self.is_over() {
            Phase::Over
        } else if self.truth.turn() != self.color {
            Phase::Wait
        } else if self.has_sensed {
            Phase::Move
        } else {
            Phase::Sense
        }
    }

    /// Returns the time left of a side in milliseconds; `None` without clocks.
    pub(super) fn time_left(&self, color: Color) -> Option<i64> {
        let left = self.truth.clocks()?.left[color];
        let is_running = !self.is_over() && self.truth.turn() == color;
        Some(if is_running { left - self.turn_time() } else { left })
    }

    /// Returns the milliseconds since the turn began.
    fn turn_time(&self) -> i64 {
        self.turn_began.elapsed().as_millis() as i64
    }

    /// Ends the game if the side to move has no time left.
    pub(super) fn check_clock(&mut self) {
        let mover = self.truth.turn();
        if self.time_left(mover).is_some_and(|left| left <= 0)
            && let Some(clocks) = self.truth.clocks()
        {
            // A turn that is not completed has no increment.
            self.truth.spend(mover, self.turn_time() + clocks.increment);
        }
    }

    fn check_phase(&mut self, due: Phase) -> Result<(), WrongPhase> {
        self.check_clock();
        match self.phase() {
            phase if phase == due => Ok(()),
            Phase::Over => Err(WrongPhase::Over),
            Phase::Wait => Err(WrongPhase::EngineToMove),
            Phase::Sense => Err(WrongPhase::SenseFirst),
            Phase::Move => Err(WrongPhase::HasSensed),
        }
    }

    /// Senses the squares around `center` for the client; `None` senses nothing.
    pub(super) fn sense(&mut self, center: Option<Square>) -> Result<(), WrongPhase> {
        self.check_phase(Phase::Sense)?;
        for (square, piece) in self.truth.sense(center) {
            self.seen.insert(square, Sighting { piece, turn: self.turn });
        }
        self.has_sensed = true;
        self.sensed = center;
        Ok(())
    }

    /// Plays a request of the client; `None` is a pass.
    pub(super) fn request(&mut self, request: Option<Request>) -> Result<(), HiddenError> {
        self.check_phase(Phase::Move)?;
        let sense = self.sensed;
        let played = self.play(request, sense)?;
        if let Some(step) = played.taken {
            // Nothing else stands there now.
            for square in path(step.from, step.to) {
                self.seen.remove(&square);
            }
        }
        if let Some(square) = played.capture {
            self.seen.remove(&square);
        }
        self.has_sensed = false;
        self.sensed = None;
        Ok(())
    }

    /// Plays a request of the side to move, and begins the next turn.
    fn play(
        &mut self,
        request: Option<Request>,
        sense: Option<Square>,
    ) -> Result<Played, NotRequestable> {
        let color = self.truth.turn();
        let played = self.truth.play(request)?;
        self.truth.spend(color, self.turn_time());
        self.turns.push(TurnRecord { color, sense, played });
        self.fens.push(self.truth.fen());
        self.turn_began = Instant::now();
        self.turn += u32::from(self.truth.turn() == self.color);
        Ok(played)
    }

    /// Lets the client resign.
    pub(super) fn resign(&mut self) {
        self.check_clock();
        if !self.is_over() {
            self.truth.resign(self.color);
        }
    }

    /// Lets the engine resign, because its player failed.
    pub(super) fn resign_engine(&mut self) {
        if !self.is_over() {
            self.truth.resign(!self.color);
        }
    }

    /// Returns the time that the engine has for its turn.
    fn engine_time(&self) -> Duration {
        self.time_left(!self.color)
            .map_or(UNTIMED_CLOCK, |left| Duration::from_millis(left.max(0).unsigned_abs()))
    }
}

/// Plays the turn of the engine. The game is locked only for the referee's steps, so that the client can
/// resume or resign. Returns `false` if the engine is not to move, or another thread plays its turn.
pub(super) fn play_engine_turn(shared: &SharedGame) -> bool {
    let (mut player, captured, time) = {
        let mut game = lock(shared);
        if !game.begins_thinking() {
            return false;
        }
        let Some(player) = game.player.take() else { return false };
        (player, game.turns.last().map(|last| last.played.capture), game.engine_time())
    };
    if let Some(capture) = captured {
        player.opponent_moved(capture);
    }
    let square = player.sense(time);
    let (seen, time) = {
        let game = lock(shared);
        (game.truth.sense(Some(square)), game.engine_time())
    };
    player.sensed(&seen);
    let request = player.request(time);
    let mut game = lock(shared);
    game.check_clock();
    if !game.is_over() {
        match game.play(request, Some(square)) {
            Ok(played) => player.moved(played.requested, played.taken, played.capture),
            Err(error) => {
                log::error!("the player of RBC resigns: {error}");
                game.resign_engine();
            }
        }
    }
    game.player = Some(player);
    true
}

/// Returns the squares from one to another, both included; of a knight only these two.
fn path(from: Square, to: Square) -> Vec<Square> {
    let files = to.file() as i32 - from.file() as i32;
    let ranks = to.rank() as i32 - from.rank() as i32;
    let steps = files.abs().max(ranks.abs());
    if steps == 0 || (files != 0 && ranks != 0 && files.abs() != ranks.abs()) {
        return vec![from, to];
    }
    let offset = files / steps + 8 * (ranks / steps);
    (0..=steps).filter_map(|step| from.offset(step * offset)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_has_all_squares_of_a_slider() {
        assert_eq!(path(Square::A1, Square::C3), [Square::A1, Square::B2, Square::C3]);
        assert_eq!(path(Square::H8, Square::H6), [Square::H8, Square::H7, Square::H6]);
        assert_eq!(path(Square::B1, Square::C3), [Square::B1, Square::C3]);
    }
}

//! The time control of XBoard, and the limits of one turn.

use std::time::Duration;

use crate::engine::Limits;
use crate::rules::{PerSide, Side};
use crate::search::Clock;

/// The time for a turn if no time control was set.
const DEFAULT_TURN_TIME: Duration = Duration::from_secs(5);
/// The longest valid time.
const MAX_SECONDS: f64 = 1e9;

/// The time control.
#[derive(Clone, Copy, PartialEq, Debug)]
enum TimeControl {
    /// None was set.
    Unset,
    /// `st`: the time for each turn.
    Turn(Duration),
    /// `level`: a clock, in milliseconds.
    Level {
        /// The number of own turns after which `base` is added; 0 for never.
        turns: u32,
        base: i64,
        increment: i64,
    },
}

/// The clocks of the engine and of its opponent, and the other limits.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct EngineClocks {
    control: TimeControl,
    /// Milliseconds left.
    own: i64,
    opponent: i64,
    /// Turns of both sides since `level`, including those of a book.
    turns: u32,
    depth: Option<u64>,
    /// `nps`: the number of nodes that counts as a second.
    nps: Option<u64>,
}

impl EngineClocks {
    pub(super) fn new() -> EngineClocks {
        let control = TimeControl::Unset;
        EngineClocks { control, own: 0, opponent: 0, turns: 0, depth: None, nps: None }
    }

    /// Starts a new game with the same time control, in real time and without a depth limit.
    pub(super) fn reset(&mut self) {
        self.depth = None;
        self.nps = None;
        self.turns = 0;
        if let TimeControl::Level { base, .. } = self.control {
            self.own = base;
            self.opponent = base;
        }
    }

    /// `level TURNS BASE INCREMENT`. BASE is in minutes, or minutes and seconds, INCREMENT in seconds. In the
    /// middle of a game, BASE is the remaining time.
    pub(super) fn set_level(&mut self, words: &[&str]) -> Result<(), &'static str> {
        const FORM: &str = "level must be TURNS MINUTES:SECONDS INCREMENT";
        let &[turns, base, increment] = words else { return Err(FORM) };
        let turns = turns.parse().map_err(|_| FORM)?;
        let (minutes, seconds) = base.split_once(':').unwrap_or((base, "0"));
        let base = 60.0 * parse_time(minutes).ok_or(FORM)? + parse_time(seconds).ok_or(FORM)?;
        let increment = milliseconds(parse_time(increment).ok_or(FORM)?);
        let base = milliseconds(base);
        self.control = TimeControl::Level { turns, base, increment };
        self.own = base;
        self.opponent = base;
        self.turns = 0;
        Ok(())
    }

    /// `st SECONDS`
    pub(super) fn set_turn_time(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let time = one(words).and_then(parse_time).ok_or("st must be SECONDS")?;
        self.control = TimeControl::Turn(Duration::from_secs_f64(time));
        Ok(())
    }

    /// `sd DEPTH`
    pub(super) fn set_depth(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let depth = one(words).and_then(|word| word.parse().ok()).filter(|&depth| depth > 0);
        self.depth = Some(depth.ok_or("sd must be a DEPTH of at least 1")?);
        Ok(())
    }

    /// `nps NODES`: the number of nodes that counts as a second; 0 or less for real time.
    pub(super) fn set_nps(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let nps = one(words).and_then(|word| word.parse::<i64>().ok());
        let nps = nps.ok_or("nps must be NODES per second")?;
        self.nps = u64::try_from(nps).ok().filter(|&nps| nps > 0);
        Ok(())
    }

    /// `time CENTISECONDS` of the engine, or `otim` of its opponent.
    pub(super) fn set_remaining(&mut self, own: bool, words: &[&str]) -> Result<(), &'static str> {
        let remaining = one(words).and_then(|word| word.parse::<i64>().ok());
        let remaining = remaining.ok_or("time and otim must be CENTISECONDS")?.saturating_mul(10);
        *if own { &mut self.own } else { &mut self.opponent } = remaining;
        Ok(())
    }

    /// Counts a turn that was not searched: the opponent's, or any turn in force mode.
    pub(super) fn count_turn(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// Takes back the count of `turns` turns.
    pub(super) fn take_back(&mut self, turns: usize) {
        self.turns = self.turns.saturating_sub(u32::try_from(turns).unwrap_or(u32::MAX));
    }

    /// Starts to count turns from another position.
    pub(super) fn restart_count(&mut self) {
        self.turns = 0;
    }

    /// Counts a turn of the engine that took the time `elapsed`.
    pub(super) fn end_turn(&mut self, elapsed: Duration) {
        self.count_turn();
        let TimeControl::Level { turns, base, increment } = self.control else { return };
        let elapsed = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        self.own = self.own.saturating_sub(elapsed).saturating_add(increment);
        // The side that moved first has half of the turns, rounded up.
        if turns > 0 && self.turns.div_ceil(2).is_multiple_of(turns) {
            self.own = self.own.saturating_add(base);
        }
    }

    /// Subtracts time from the engine's clock.
    pub(super) fn spend(&mut self, time: Duration) {
        if let TimeControl::Level { .. } = self.control {
            self.own = self.own.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        }
    }

    /// Returns the clocks of the engine and of its opponent in milliseconds, as they were set; `None` without clocks.
    pub(super) fn both(&self) -> Option<(i64, i64)> {
        matches!(self.control, TimeControl::Level { .. }).then_some((self.own, self.opponent))
    }

    /// Divides the engine's remaining time.
    pub(super) fn hurry(&mut self, divisor: u32) {
        self.own /= i64::from(divisor.max(1));
    }

    /// Reduces the engine's remaining time to `milliseconds`, if it has more.
    pub(super) fn limit_remaining(&mut self, milliseconds: i64) {
        self.own = self.own.min(milliseconds);
    }

    /// Returns the limits of the next turn of `mover`, the engine's side.
    pub(super) fn limits(&self, mover: Side, overhead: Duration) -> Limits {
        let mut limits = Limits { depth: self.depth, ..Limits::default() };
        let time = match self.control {
            TimeControl::Unset => self.depth.is_none().then_some(DEFAULT_TURN_TIME),
            TimeControl::Turn(time) => Some(time),
            TimeControl::Level { turns, increment, .. } => {
                let turns_to_go = (turns > 0).then(|| turns - (self.turns / 2) % turns);
                let clock = |remaining| Clock { remaining, increment, turns_to_go };
                if self.nps.is_some() {
                    Some(clock(self.own).budget(overhead, None).soft)
                } else {
                    limits.clocks = PerSide::from_fn(|side| {
                        Some(clock(if side == mover { self.own } else { self.opponent }))
                    });
                    None
                }
            }
        };
        match (time, self.nps) {
            (Some(time), Some(nps)) => {
                limits.nodes = Some(((time.as_secs_f64() * nps as f64) as u64).max(1));
            }
            (time, _) => limits.time = time,
        }
        limits
    }
}

/// Returns the only word; `None` if there are none or several.
fn one<'a>(words: &[&'a str]) -> Option<&'a str> {
    let &[word] = words else { return None };
    Some(word)
}

/// Parses a time, which is not negative and at most [`MAX_SECONDS`].
fn parse_time(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| (0.0..=MAX_SECONDS).contains(number))
}

fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Duration = Duration::from_millis(100);

    fn own(clocks: &EngineClocks) -> Clock {
        clocks.limits(Side::BLACK, OVERHEAD).clocks[Side::BLACK].expect("a clock")
    }

    #[test]
    fn level_is_minutes_and_seconds() {
        let mut clocks = EngineClocks::new();
        for (words, turns_to_go, remaining, increment) in [
            (["40", "5", "0"], Some(40), 300_000, 0),
            (["0", "0:30", "2"], None, 30_000, 2_000),
            (["0", "0:04", "0.05"], None, 4_000, 50),
            (["1", "1:02.5", "0.125"], Some(1), 62_500, 125),
        ] {
            assert_eq!(clocks.set_level(&words), Ok(()));
            assert_eq!(own(&clocks), Clock { remaining, increment, turns_to_go });
            let limits = clocks.limits(Side::BLACK, OVERHEAD);
            assert_eq!((limits.time, limits.nodes, limits.depth), (None, None, None));
        }
        for bad in [
            &["40", "5"][..],
            &["x", "5", "0"],
            &["40", "5:x", "0"],
            &["40", "-5", "0"],
            &["0", "inf", "0"],
            &["0", "5", "NaN"],
            &["-1", "5", "0"],
            &[],
        ] {
            let before = clocks.clone();
            assert!(clocks.set_level(bad).is_err(), "{bad:?}");
            assert_eq!(clocks, before);
        }
    }

    #[test]
    fn time_and_otim_are_centiseconds_of_engine_and_opponent() {
        let mut clocks = EngineClocks::new();
        assert_eq!(clocks.set_level(&["0", "5", "3"]), Ok(()));
        assert_eq!(clocks.set_remaining(true, &["1234"]), Ok(()));
        assert_eq!(clocks.set_remaining(false, &["-5"]), Ok(()));
        let limits = clocks.limits(Side::WHITE, OVERHEAD);
        let remaining = |side| limits.clocks[side].map(|clock: Clock| clock.remaining);
        assert_eq!(remaining(Side::WHITE), Some(12_340));
        assert_eq!(remaining(Side::BLACK), Some(-50));
        assert!(
            clocks.set_remaining(true, &["soon"]).is_err()
                && clocks.set_remaining(true, &[]).is_err()
        );
        // In the middle of a game, a level sets the remaining time.
        assert_eq!(clocks.set_level(&["0", "1", "3"]), Ok(()));
        assert_eq!(own(&clocks).remaining, 60_000);
    }

    #[test]
    fn clock_runs_without_time_commands() {
        let mut clocks = EngineClocks::new();
        // The engine moves first, then second.
        for first in [true, false] {
            assert_eq!(clocks.set_level(&["2", "1", "1"]), Ok(()));
            if !first {
                clocks.count_turn();
            }
            clocks.end_turn(Duration::from_secs(10));
            clocks.count_turn();
            assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (51_000, Some(1)));
            clocks.end_turn(Duration::from_secs(1));
            clocks.count_turn();
            assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (111_000, Some(2)));
            clocks.take_back(2);
            assert_eq!(own(&clocks).turns_to_go, Some(1));
        }
        clocks.reset();
        assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (60_000, Some(2)));
    }

    #[test]
    fn turns_of_a_book_count_for_the_session() {
        let mut clocks = EngineClocks::new();
        assert_eq!(clocks.set_level(&["40", "1", "0"]), Ok(()));
        for _ in 0..16 {
            clocks.count_turn();
        }
        assert_eq!(own(&clocks).turns_to_go, Some(32));
        for _ in 8..40 {
            clocks.end_turn(Duration::ZERO);
            clocks.count_turn();
        }
        assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (120_000, Some(40)));
        clocks.restart_count();
        clocks.take_back(1);
        assert_eq!(own(&clocks).turns_to_go, Some(40));
    }

    #[test]
    fn turn_time_depth_and_nps_combine() {
        let mut clocks = EngineClocks::new();
        let limits = |clocks: &EngineClocks| clocks.limits(Side::WHITE, OVERHEAD);
        assert_eq!(limits(&clocks).time, Some(DEFAULT_TURN_TIME));
        assert_eq!(clocks.set_depth(&["7"]), Ok(()));
        assert_eq!((limits(&clocks).time, limits(&clocks).depth), (None, Some(7)));
        assert_eq!(clocks.set_turn_time(&["0.5"]), Ok(()));
        assert_eq!(limits(&clocks).time, Some(Duration::from_millis(500)));
        assert_eq!(clocks.set_nps(&["1000"]), Ok(()));
        assert_eq!((limits(&clocks).time, limits(&clocks).nodes), (None, Some(500)));
        assert_eq!(clocks.set_level(&["0", "1", "0"]), Ok(()));
        assert_eq!(limits(&clocks).clocks[Side::WHITE], None);
        assert!(limits(&clocks).nodes.is_some_and(|nodes| (3200..3334).contains(&nodes)));
        clocks.reset();
        assert_eq!((limits(&clocks).nodes, limits(&clocks).depth), (None, None));
        assert!(clocks.set_turn_time(&["-1"]).is_err() && clocks.set_depth(&["0"]).is_err());
        assert!(clocks.set_nps(&["fast"]).is_err());
    }
}

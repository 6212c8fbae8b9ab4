//! Time as XBoard tells it, and what it leaves for one turn.

use std::time::Duration;

use crate::engine::Limits;
use crate::rules::{PerSide, Side};
use crate::search::Clock;

/// Nobody who has said nothing of time waits longer for a turn.
const UNTOLD: Duration = Duration::from_secs(5);
/// No time is longer, in seconds.
const LONGEST: f64 = 1e9;

/// How time is given.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Control {
    /// Nothing was said of it.
    Untold,
    /// `st`: so much for each turn.
    Turn(Duration),
    /// `level`: a clock, in milliseconds.
    Level {
        /// After so many own turns `base` is added; never if 0.
        turns: u32,
        base: i64,
        increment: i64,
    },
}

/// The engine's clock and its opponent's, and the limits beside them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Clocks {
    control: Control,
    /// Milliseconds left.
    own: i64,
    opponent: i64,
    /// Turns of both sides since `level`, whoever played them: those of a book count, too.
    turns: u32,
    depth: Option<u64>,
    /// Nodes that count for a second.
    rate: Option<u64>,
}

impl Clocks {
    pub(super) fn new() -> Clocks {
        let control = Control::Untold;
        Clocks { control, own: 0, opponent: 0, turns: 0, depth: None, rate: None }
    }

    /// A new game by the same control, by the wall clock and to any depth.
    pub(super) fn reset(&mut self) {
        (self.depth, self.rate, self.turns) = (None, None, 0);
        if let Control::Level { base, .. } = self.control {
            (self.own, self.opponent) = (base, base);
        }
    }

    /// `level TURNS BASE INCREMENT`: minutes, or minutes and seconds, and seconds; in the middle
    /// of a game BASE is what is left now.
    pub(super) fn level(&mut self, words: &[&str]) -> Result<(), &'static str> {
        const FORM: &str = "level takes TURNS MINUTES:SECONDS INCREMENT";
        let &[turns, base, increment] = words else { return Err(FORM) };
        let turns = turns.parse().map_err(|_| FORM)?;
        let (minutes, seconds) = base.split_once(':').unwrap_or((base, "0"));
        let base = 60.0 * number(minutes).ok_or(FORM)? + number(seconds).ok_or(FORM)?;
        let increment = milliseconds(number(increment).ok_or(FORM)?);
        let base = milliseconds(base);
        self.control = Control::Level { turns, base, increment };
        (self.own, self.opponent, self.turns) = (base, base, 0);
        Ok(())
    }

    /// `st SECONDS`
    pub(super) fn turn(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let time = one(words).and_then(number).ok_or("st takes SECONDS")?;
        self.control = Control::Turn(Duration::from_secs_f64(time));
        Ok(())
    }

    /// `sd DEPTH`
    pub(super) fn depth(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let depth = one(words).and_then(|word| word.parse().ok()).filter(|&depth| depth > 0);
        self.depth = Some(depth.ok_or("sd takes a DEPTH from 1 on")?);
        Ok(())
    }

    /// `nps NODES`: so many count for a second; 0 and less for the clock on the wall.
    pub(super) fn rate(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let rate = one(words).and_then(|word| word.parse::<i64>().ok());
        let rate = rate.ok_or("nps takes NODES a second")?;
        self.rate = u64::try_from(rate).ok().filter(|&rate| rate > 0);
        Ok(())
    }

    /// `time CENTISECONDS` of the engine, or `otim` of its opponent.
    pub(super) fn left(&mut self, own: bool, words: &[&str]) -> Result<(), &'static str> {
        let left = one(words).and_then(|word| word.parse::<i64>().ok());
        let left = left.ok_or("time and otim take CENTISECONDS")?.saturating_mul(10);
        *if own { &mut self.own } else { &mut self.opponent } = left;
        Ok(())
    }

    /// A turn was played that is not the engine's thought: the opponent's, or anybody's in force mode.
    pub(super) fn turned(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// So many turns were taken back.
    pub(super) fn taken_back(&mut self, turns: usize) {
        self.turns = self.turns.saturating_sub(u32::try_from(turns).unwrap_or(u32::MAX));
    }

    /// The game goes on from another position.
    pub(super) fn set_up(&mut self) {
        self.turns = 0;
    }

    /// The engine has played a turn that took so long.
    pub(super) fn played(&mut self, took: Duration) {
        self.turned();
        let Control::Level { turns, base, increment } = self.control else { return };
        let took = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        self.own = self.own.saturating_sub(took).saturating_add(increment);
        // Whoever moved first has half of the turns, rounded up; the other one just half.
        if turns > 0 && self.turns.div_ceil(2).is_multiple_of(turns) {
            self.own = self.own.saturating_add(base);
        }
    }

    /// Time has passed in the engine's turn.
    pub(super) fn spent(&mut self, time: Duration) {
        if let Control::Level { .. } = self.control {
            self.own = self.own.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        }
    }

    /// Milliseconds left to the engine and to its opponent, as they were told, if it has a clock.
    pub(super) fn both(&self) -> Option<(i64, i64)> {
        matches!(self.control, Control::Level { .. }).then_some((self.own, self.opponent))
    }

    /// Takes the own time for so much less.
    pub(super) fn hurry(&mut self, divisor: u32) {
        self.own /= i64::from(divisor.max(1));
    }

    /// The limits for the next turn of `mover`, the engine's side.
    pub(super) fn limits(&self, mover: Side, overhead: Duration) -> Limits {
        let mut limits = Limits { depth: self.depth, ..Limits::default() };
        let time = match self.control {
            Control::Untold => self.depth.is_none().then_some(UNTOLD),
            Control::Turn(time) => Some(time),
            Control::Level { turns, increment, .. } => {
                let turns_to_go = (turns > 0).then(|| turns - (self.turns / 2) % turns);
                let clock = |remaining| Clock { remaining, increment, turns_to_go };
                if self.rate.is_some() {
                    Some(clock(self.own).budget(overhead, None).soft)
                } else {
                    limits.clocks = PerSide::from_fn(|side| {
                        Some(clock(if side == mover { self.own } else { self.opponent }))
                    });
                    None
                }
            }
        };
        match (time, self.rate) {
            (Some(time), Some(rate)) => {
                limits.nodes = Some(((time.as_secs_f64() * rate as f64) as u64).max(1));
            }
            (time, _) => limits.time = time,
        }
        limits
    }
}

fn one<'a>(words: &[&'a str]) -> Option<&'a str> {
    let &[word] = words else { return None };
    Some(word)
}

/// A number that is not below zero, and within what a time may be.
fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| (0.0..=LONGEST).contains(number))
}

fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Duration = Duration::from_millis(100);

    fn own(clocks: &Clocks) -> Clock {
        clocks.limits(Side::BLACK, OVERHEAD).clocks[Side::BLACK].expect("a clock")
    }

    #[test]
    fn a_level_is_minutes_and_seconds() {
        let mut clocks = Clocks::new();
        for (words, turns_to_go, remaining, increment) in [
            (["40", "5", "0"], Some(40), 300_000, 0),
            (["0", "0:30", "2"], None, 30_000, 2_000),
            (["0", "0:04", "0.05"], None, 4_000, 50),
            (["1", "1:02.5", "0.125"], Some(1), 62_500, 125),
        ] {
            assert_eq!(clocks.level(&words), Ok(()));
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
            assert!(clocks.level(bad).is_err(), "{bad:?}");
            assert_eq!(clocks, before);
        }
    }

    #[test]
    fn time_and_otim_are_centiseconds_of_engine_and_opponent() {
        let mut clocks = Clocks::new();
        assert_eq!(clocks.level(&["0", "5", "3"]), Ok(()));
        assert_eq!(clocks.left(true, &["1234"]), Ok(()));
        assert_eq!(clocks.left(false, &["-5"]), Ok(()));
        let limits = clocks.limits(Side::WHITE, OVERHEAD);
        let remaining = |side| limits.clocks[side].map(|clock: Clock| clock.remaining);
        assert_eq!(remaining(Side::WHITE), Some(12_340));
        assert_eq!(remaining(Side::BLACK), Some(-50));
        assert!(clocks.left(true, &["soon"]).is_err() && clocks.left(true, &[]).is_err());
        // In the middle of a game, a level tells what is left now.
        assert_eq!(clocks.level(&["0", "1", "3"]), Ok(()));
        assert_eq!(own(&clocks).remaining, 60_000);
    }

    #[test]
    fn the_clock_runs_without_being_told() {
        let mut clocks = Clocks::new();
        // The engine moves first, then second.
        for first in [true, false] {
            assert_eq!(clocks.level(&["2", "1", "1"]), Ok(()));
            if !first {
                clocks.turned();
            }
            clocks.played(Duration::from_secs(10));
            clocks.turned();
            assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (51_000, Some(1)));
            clocks.played(Duration::from_secs(1));
            clocks.turned();
            assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (111_000, Some(2)));
            clocks.taken_back(2);
            assert_eq!(own(&clocks).turns_to_go, Some(1));
        }
        clocks.reset();
        assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (60_000, Some(2)));
    }

    #[test]
    fn turns_of_a_book_count_for_a_session() {
        let mut clocks = Clocks::new();
        assert_eq!(clocks.level(&["40", "1", "0"]), Ok(()));
        (0..16).for_each(|_| clocks.turned());
        assert_eq!(own(&clocks).turns_to_go, Some(32));
        for _ in 8..40 {
            clocks.played(Duration::ZERO);
            clocks.turned();
        }
        assert_eq!((own(&clocks).remaining, own(&clocks).turns_to_go), (120_000, Some(40)));
        clocks.set_up();
        clocks.taken_back(1);
        assert_eq!(own(&clocks).turns_to_go, Some(40));
    }

    #[test]
    fn turns_depths_and_rates_combine() {
        let mut clocks = Clocks::new();
        let limits = |clocks: &Clocks| clocks.limits(Side::WHITE, OVERHEAD);
        assert_eq!(limits(&clocks).time, Some(UNTOLD));
        assert_eq!(clocks.depth(&["7"]), Ok(()));
        assert_eq!((limits(&clocks).time, limits(&clocks).depth), (None, Some(7)));
        assert_eq!(clocks.turn(&["0.5"]), Ok(()));
        assert_eq!(limits(&clocks).time, Some(Duration::from_millis(500)));
        assert_eq!(clocks.rate(&["1000"]), Ok(()));
        assert_eq!((limits(&clocks).time, limits(&clocks).nodes), (None, Some(500)));
        assert_eq!(clocks.level(&["0", "1", "0"]), Ok(()));
        assert_eq!(limits(&clocks).clocks[Side::WHITE], None);
        assert!(limits(&clocks).nodes.is_some_and(|nodes| (3200..3334).contains(&nodes)));
        clocks.reset();
        assert_eq!((limits(&clocks).nodes, limits(&clocks).depth), (None, None));
        assert!(clocks.turn(&["-1"]).is_err() && clocks.depth(&["0"]).is_err());
        assert!(clocks.rate(&["fast"]).is_err());
    }
}

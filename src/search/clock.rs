//! How long one turn may take, from what the clock says. Pure arithmetic: nothing is timed here.

use std::time::Duration;

/// What a player's clock says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// Milliseconds left. Some GUIs send what is below zero.
    pub remaining: i64,
    /// Milliseconds that each turn adds once it has been played.
    pub increment: i64,
    /// Turns until the clock is set anew, this one included; `None` if it never is.
    pub turns_to_go: Option<u32>,
}

/// The time for one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Time to play if the choice is clear.
    pub soft: Duration,
    /// Time to play whatever the choice looks like.
    pub hard: Duration,
}

/// As many turns are still to come, as far as anybody knows.
const HORIZON: u32 = 30;
/// The part of an increment that is spent at once.
const OF_INCREMENT: f64 = 0.75;
/// The part of the clock that one turn of several may take.
const OF_CLOCK: f64 = 0.5;
/// How much longer than usual a turn may take that is not clear.
const EXTENSION: f64 = 2.5;

impl Clock {
    /// The time for the next turn, if so much of the clock as `overhead` is lost on the way to
    /// the player and back. Never more than what remains less the overhead.
    pub fn budget(self, overhead: Duration) -> Budget {
        let usable = (self.remaining.max(0) as f64 - 1e3 * overhead.as_secs_f64()).max(0.0);
        let turns = self.turns_to_go.unwrap_or(HORIZON).max(1);
        let most = if turns == 1 { usable } else { usable * OF_CLOCK };
        let share = usable / f64::from(turns) + self.increment.max(0) as f64 * OF_INCREMENT;
        let milliseconds = |number: f64| Duration::from_micros((number * 1e3) as u64);
        Budget {
            soft: milliseconds(share.min(most)),
            hard: milliseconds((share * EXTENSION).min(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(remaining: i64, increment: i64, turns_to_go: Option<u32>, overhead: u64) -> Budget {
        Clock { remaining, increment, turns_to_go }.budget(Duration::from_millis(overhead))
    }

    #[test]
    fn no_budget_exceeds_the_clock() {
        let numbers = [i64::MIN, -5000, -1, 0, 1, 50, 99, 100, 101, 1000, 60_000, i64::MAX];
        for remaining in numbers {
            for increment in numbers {
                for turns_to_go in [None, Some(0), Some(1), Some(2), Some(40), Some(u32::MAX)] {
                    for overhead in [0, 100, 5000] {
                        let found = budget(remaining, increment, turns_to_go, overhead);
                        let left = remaining.max(0).saturating_sub(overhead as i64).max(0) as u64;
                        assert!(found.soft <= found.hard);
                        assert!(found.hard <= Duration::from_millis(left), "{remaining} {found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_empty_clock_leaves_nothing() {
        let nothing = Budget { soft: Duration::ZERO, hard: Duration::ZERO };
        for remaining in [-5000, 0, 1, 100] {
            assert_eq!(budget(remaining, 2000, None, 100), nothing);
        }
    }

    #[test]
    fn shares_are_sensible() {
        let minute = budget(60_000, 0, None, 0);
        assert_eq!(minute.soft, Duration::from_secs(2));
        assert_eq!(minute.hard, Duration::from_secs(5));
        assert_eq!(budget(60_000, 0, Some(1), 100).soft, Duration::from_millis(59_900));
        assert_eq!(budget(60_000, 0, Some(60), 0).soft, Duration::from_secs(1));
        assert!(budget(3000, 2000, None, 100).soft > Duration::from_secs(1));
        assert!(budget(300, 2000, None, 100).hard <= Duration::from_millis(100));
    }
}

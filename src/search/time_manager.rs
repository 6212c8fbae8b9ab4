//! Time management: the time for a turn, from the clock and the expected length of the game. Does not measure
//! time.

use std::time::Duration;

/// The clock of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// Milliseconds left. Some GUIs send negative numbers.
    pub remaining: i64,
    /// Milliseconds that are added after each turn.
    pub increment: i64,
    /// The number of turns until the next time control, this one included. `None` in sudden death.
    pub turns_to_go: Option<u32>,
}

/// The time for one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The time after which a clear choice is played.
    pub soft: Duration,
    /// The time after which any choice is played.
    pub hard: Duration,
}

/// The clock is divided by this number of turns if the length of the game is not known.
const DEFAULT_TURNS: f64 = 18.0;
/// The clock is divided by this part of the turns that are expected. It is below 1 because the time of the
/// turns near the end, which are often decided, is worth less.
const TURNS_FACTOR: f64 = 0.6;
/// The clock is divided by no fewer turns than this, as the expectation may be wrong.
const MIN_TURNS: f64 = 14.0;
/// The clock is divided by no more turns than this.
const MAX_TURNS: f64 = 28.0;
/// The part of the increment that each turn may use.
const INCREMENT_FACTOR: f64 = 0.95;
/// The part of the clock that one turn of several may use.
const MAX_CLOCK_FACTOR: f64 = 0.5;
/// The hard limit as a multiple of the soft limit.
const HARD_FACTOR: f64 = 2.5;

impl Clock {
    /// Returns the time for the next turn. `overhead` is lost between the clock and the engine in each turn;
    /// `game_turns` is the number of turns that the player is expected to have until the game ends, this
    /// one included. The result never exceeds what remains less the overhead.
    pub fn budget(self, overhead: Duration, game_turns: Option<f32>) -> Budget {
        let usable = (self.remaining.max(0) as f64 - 1e3 * overhead.as_secs_f64()).max(0.0);
        let turns = match (self.turns_to_go, game_turns) {
            (Some(turns), _) => f64::from(turns.max(1)),
            (None, Some(turns)) => (TURNS_FACTOR * f64::from(turns)).clamp(MIN_TURNS, MAX_TURNS),
            (None, None) => DEFAULT_TURNS,
        };
        let most = if self.turns_to_go == Some(1) { usable } else { usable * MAX_CLOCK_FACTOR };
        let share = usable / turns + self.increment.max(0) as f64 * INCREMENT_FACTOR;
        Budget {
            soft: from_milliseconds(share.min(most)),
            hard: from_milliseconds((share * HARD_FACTOR).min(most)),
        }
    }
}

fn from_milliseconds(milliseconds: f64) -> Duration {
    Duration::from_micros((milliseconds * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(remaining: i64, increment: i64, turns_to_go: Option<u32>, overhead: u64) -> Budget {
        let clock = Clock { remaining, increment, turns_to_go };
        clock.budget(Duration::from_millis(overhead), None)
    }

    #[test]
    fn budget_never_exceeds_the_clock() {
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
    fn budget_of_an_empty_clock_is_zero() {
        let nothing = Budget { soft: Duration::ZERO, hard: Duration::ZERO };
        for remaining in [-5000, 0, 1, 100] {
            assert_eq!(budget(remaining, 2000, None, 100), nothing);
        }
    }

    #[test]
    fn budget_of_common_clocks() {
        let minute = budget(60_000, 0, None, 0);
        assert_eq!(minute.soft.as_millis(), 3333);
        assert_eq!(minute.hard.as_millis(), 8333);
        assert_eq!(budget(60_000, 0, Some(1), 100).soft, Duration::from_millis(59_900));
        assert_eq!(budget(60_000, 0, Some(60), 0).soft, Duration::from_secs(1));
        assert!(budget(3000, 2000, None, 100).soft > Duration::from_secs(1));
        assert!(budget(300, 2000, None, 100).hard <= Duration::from_millis(100));
    }

    #[test]
    fn budget_depends_on_expected_turns() {
        let clock = Clock { remaining: 28_000, increment: 0, turns_to_go: None };
        let soft = |turns| clock.budget(Duration::ZERO, Some(turns)).soft.as_millis();
        assert_eq!([soft(1.0), soft(80.0)], [2000, 1000]);
        assert!((1000..2000).contains(&soft(35.0)));
        for turns in [0.0, f32::NAN, f32::INFINITY, -5.0] {
            assert!(soft(turns) <= 14_000, "{turns}");
        }
        let until_control = Clock { turns_to_go: Some(2), ..clock };
        assert_eq!(until_control.budget(Duration::ZERO, Some(80.0)).soft.as_millis(), 14_000);
    }
}

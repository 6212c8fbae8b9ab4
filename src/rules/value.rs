//! What perfect play makes of a position.

use super::Move;

/// The result of perfect play for the side to move, in games of two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// It wins in so many plies; 0 if the game has ended so.
    Win(u32),
    /// Nobody can win.
    Draw,
    /// It loses in so many plies; 0 if it is mated.
    Loss(u32),
}

impl Value {
    /// 1 for a win of the side to move, 0 for a draw, -1 for a loss.
    pub fn score(self) -> i8 {
        match self {
            Value::Win(_) => 1,
            Value::Draw => 0,
            Value::Loss(_) => -1,
        }
    }

    /// The plies until the end, if somebody wins.
    pub fn length(self) -> Option<u32> {
        match self {
            Value::Win(plies) | Value::Loss(plies) => Some(plies),
            Value::Draw => None,
        }
    }

    /// The value of a position from which a move leads to a position of this value, if the other
    /// side is to move there.
    pub fn before(self) -> Value {
        match self {
            Value::Win(plies) => Value::Loss(plies + 1),
            Value::Draw => Value::Draw,
            Value::Loss(plies) => Value::Win(plies + 1),
        }
    }

    /// How good it is to have: a sooner win is better, a later loss is, too.
    pub fn rank(self) -> i64 {
        match self {
            Value::Win(plies) => i64::from(u32::MAX) - i64::from(plies),
            Value::Draw => 0,
            Value::Loss(plies) => i64::from(plies) - i64::from(u32::MAX),
        }
    }
}

/// A mate that the side to move can give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mate {
    /// Its first move.
    pub m: Move,
    /// In so many of the mover's turns, or fewer.
    pub turns: u8,
}

/// What is known for certain of a position of two sides, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProvenValue {
    /// 1 for a win, 0 for a draw, -1 for a loss.
    pub score: i8,
    /// The plies until the end, if somebody wins and it is known when.
    pub plies: Option<u32>,
}

impl From<Value> for ProvenValue {
    fn from(value: Value) -> ProvenValue {
        ProvenValue { score: value.score(), plies: value.length() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sooner_wins_and_later_losses_are_better() {
        let worst_first = [
            Value::Loss(0),
            Value::Loss(2),
            Value::Loss(u32::MAX - 1),
            Value::Draw,
            Value::Win(u32::MAX - 1),
            Value::Win(3),
            Value::Win(1),
        ];
        assert!(worst_first.is_sorted_by_key(|value| value.rank()));
        assert_eq!(Value::Loss(2).before(), Value::Win(3));
        assert_eq!(Value::Win(3).before(), Value::Loss(4));
    }
}

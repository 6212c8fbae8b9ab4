//! What engines say a position is worth, and what share of the points that stands for.

/// A score as engines tell it, from the mover's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Score {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// The mover mates in so many moves; below zero, or zero, it is mated.
    Mate(i32),
}

/// The steepness of the logistic from centipawns to expected scores: the one that Lichess fitted to
/// the games of its players (<https://lichess.org/page/accuracy>).
const STEEPNESS: f32 = 0.003_682_08;

impl Score {
    /// The score that the mover may expect, -1 to 1: `2 / (1 + exp(-0.00368208 cp)) - 1` as on
    /// Lichess, so that +100 stands for 0.18 and +500 for 0.73; +-1 for a mate.
    pub fn expected(self) -> f32 {
        match self {
            // The same curve, and exactly odd.
            Score::Centipawns(cp) => (STEEPNESS * cp as f32 / 2.0).tanh(),
            Score::Mate(moves) => {
                if moves > 0 {
                    1.0
                } else {
                    -1.0
                }
            }
        }
    }

    /// The same score seen by the other side of two.
    pub fn turned(self) -> Score {
        match self {
            Score::Centipawns(cp) => Score::Centipawns(cp.saturating_neg()),
            // Being mated already (0) is told by the one who is, so nobody sees it the other way.
            Score::Mate(moves) => Score::Mate(moves.saturating_neg()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_shares_of_the_points() {
        assert_eq!(Score::Centipawns(0).expected(), 0.0);
        assert!((Score::Centipawns(100).expected() - 0.182).abs() < 1e-3);
        assert_eq!(Score::Mate(3).expected(), 1.0);
        assert_eq!(Score::Mate(-3).expected(), -1.0);
        assert_eq!(Score::Mate(0).expected(), -1.0);
        for score in [Score::Centipawns(37), Score::Centipawns(-2000), Score::Mate(2)] {
            assert_eq!(score.turned().expected(), -score.expected());
        }
        assert_eq!(Score::Centipawns(i32::MIN).expected(), -1.0);
    }
}

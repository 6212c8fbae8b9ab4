//! Scores: log odds of the expected score in whole numbers, and mates.

/// A score for the side to move. Up to 4,000 in absolute value it is 440 times the log odds of the
/// expected score; above 29,000 it is a forced mate; between them a win of unknown length.
pub type Score = i32;

/// The score of a mate on the board is this, less the plies from the root.
pub(super) const MATE: Score = 30_000;
/// Scores above are mates.
pub(super) const MATE_BOUND: Score = 29_000;
/// The score of a win that tables prove, less the plies from the root.
pub(super) const TABLE_WIN: Score = 20_000;
/// Above all scores.
pub(super) const INFINITE: Score = 31_000;
/// The greatest static evaluation.
pub(super) const MAX_EVAL: Score = 4_000;
/// Units for a factor of e in the odds: about 300 for a pawn in chess. The margins of the search are in these units.
const UNITS: f32 = 440.0;

/// Returns the static evaluation for the probabilities of win, loss and draw.
pub(super) fn score_of([win, loss, draw]: [f32; 3]) -> Score {
    let odds = (win + 0.5 * draw).max(1e-9) / (loss + 0.5 * draw).max(1e-9);
    // Not the logarithm of the standard library, which differs between systems.
    ((UNITS * libm::logf(odds)) as Score).clamp(-MAX_EVAL, MAX_EVAL)
}

/// Returns the expected score, from -1 to 1, of a score that is not a mate.
pub fn expected_score(score: Score) -> f32 {
    libm::tanhf(score as f32 / (2.0 * UNITS))
}

/// Returns the number of plies to the mate that a score stands for, seen from the root: positive for the side that
/// mates. `None` if it is not a mate.
pub(super) fn mate_plies(score: Score) -> Option<i32> {
    if score.abs() <= MATE_BOUND {
        return None;
    }
    Some((MATE - score.abs()) * score.signum())
}

/// Returns a score of the node `ply` plies from the root as it is stored: mates count from the node.
pub(super) fn to_table(score: Score, ply: usize) -> Score {
    if score > MAX_EVAL {
        score + ply as Score
    } else if score < -MAX_EVAL {
        score - ply as Score
    } else {
        score
    }
}

/// The inverse of [`to_table`].
pub(super) fn from_table(score: Score, ply: usize) -> Score {
    if score > MAX_EVAL {
        score - ply as Score
    } else if score < -MAX_EVAL {
        score + ply as Score
    } else {
        score
    }
}

/// Returns the score of an outcome, 1, 0 or -1 for the side to move, reached `ply` plies from the root.
pub(super) fn decided(outcome: i8, ply: usize) -> Score {
    Score::from(outcome) * (MATE - ply as Score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_odds() {
        assert_eq!(score_of([0.5, 0.5, 0.0]), 0);
        assert_eq!(score_of([0.0, 0.0, 1.0]), 0);
        assert_eq!(score_of([1.0, 0.0, 0.0]), -score_of([0.0, 1.0, 0.0]));
        for win in [0.1, 0.3, 0.5, 0.9] {
            let score = score_of([win, 1.0 - win, 0.0]);
            assert!((expected_score(score) - (2.0 * win - 1.0)).abs() < 0.01, "{win} {score}");
        }
    }

    #[test]
    fn stored_mates_count_from_their_node() {
        for score in [0, 50, -MAX_EVAL, MATE - 7, 7 - MATE, TABLE_WIN - 3, 3 - TABLE_WIN] {
            assert_eq!(from_table(to_table(score, 5), 5), score);
        }
        assert_eq!(to_table(decided(-1, 9), 4), 5 - MATE);
        assert_eq!(mate_plies(decided(1, 3)), Some(3));
        assert_eq!(mate_plies(decided(-1, 4)), Some(-4));
        assert_eq!(mate_plies(decided(0, 4)), None);
        assert_eq!(mate_plies(TABLE_WIN), None);
    }
}

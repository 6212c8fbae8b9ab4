//! Scores of engines, and their conversion to expected scores.

/// The score of an engine, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineScore {
    /// Centipawns.
    Centipawns(i32),
    /// The side to move mates in this number of moves; if zero or negative, it is mated.
    Mate(i32),
}

/// The steepness of the logistic curve from centipawns to expected scores, which Lichess fitted to the games of
/// its players (<https://lichess.org/page/accuracy>).
const STEEPNESS: f32 = 0.003_682_08;

impl EngineScore {
    /// Parses a score as labelled games have it: `31` are centipawns, `m3` and `m-3` are mates. `None` for other texts.
    pub fn parse(text: &str) -> Option<EngineScore> {
        let (kind, number): (fn(i32) -> EngineScore, _) = match text.strip_prefix('m') {
            Some(number) => (EngineScore::Mate, number),
            None => (EngineScore::Centipawns, text),
        };
        number.parse().ok().map(kind)
    }

    /// Returns the expected score of the side to move, from -1 to 1: `2 / (1 + exp(-0.00368208 cp)) - 1` as on
    /// Lichess, so that +100 is 0.18 and +500 is 0.73; ±1 for a mate.
    pub fn expected(self) -> f32 {
        match self {
            // The same curve, but an exactly odd function.
            EngineScore::Centipawns(cp) => (STEEPNESS * cp as f32 / 2.0).tanh(),
            EngineScore::Mate(moves) => {
                if moves > 0 {
                    1.0
                } else {
                    -1.0
                }
            }
        }
    }

    /// Returns the score for the other one of two sides.
    pub fn negated(self) -> EngineScore {
        match self {
            EngineScore::Centipawns(cp) => EngineScore::Centipawns(cp.saturating_neg()),
            // Mate 0 (mated) is only reported for the side that is mated.
            EngineScore::Mate(moves) => EngineScore::Mate(moves.saturating_neg()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_scores_are_parsed() {
        assert_eq!(EngineScore::parse("-31"), Some(EngineScore::Centipawns(-31)));
        assert_eq!(EngineScore::parse("m-3"), Some(EngineScore::Mate(-3)));
        for text in ["", "m", "-", "3.5", "mate 3", "99999999999", "cp 31"] {
            assert_eq!(EngineScore::parse(text), None, "{text}");
        }
    }

    #[test]
    fn engine_scores_convert_to_expected_scores() {
        assert_eq!(EngineScore::Centipawns(0).expected(), 0.0);
        assert!((EngineScore::Centipawns(100).expected() - 0.182).abs() < 1e-3);
        assert_eq!(EngineScore::Mate(3).expected(), 1.0);
        assert_eq!(EngineScore::Mate(-3).expected(), -1.0);
        assert_eq!(EngineScore::Mate(0).expected(), -1.0);
        for score in
            [EngineScore::Centipawns(37), EngineScore::Centipawns(-2000), EngineScore::Mate(2)]
        {
            assert_eq!(score.negated().expected(), -score.expected());
        }
        assert_eq!(EngineScore::Centipawns(i32::MIN).expected(), -1.0);
    }
}

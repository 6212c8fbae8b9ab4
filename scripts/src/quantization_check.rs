//! The difference between two networks of a variant: the loss by quantization.

use menagerie::encoding::Encoding;
use menagerie::nn::{EvalError, Evaluator, Query};
use menagerie::rules::{MoveList, Position};

/// The agreement of two evaluators.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// The number of positions.
    pub positions: usize,
    /// The share of positions in which both have the same likeliest move.
    pub same_move: f64,
    /// The mean difference of the expected scores, from 0 to 2.
    pub mean_gap: f64,
    /// The greatest difference of the expected scores.
    pub greatest_gap: f64,
}

/// Positions in a batch.
const BATCH: usize = 64;

impl Agreement {
    /// Compares two evaluators on all positions.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn of(
        one: &mut dyn Evaluator,
        other: &mut dyn Evaluator,
        encoding: &Encoding,
        positions: &[Position],
    ) -> Result<Agreement, EvalError> {
        let mut all = Agreement { positions: positions.len(), ..Agreement::default() };
        for positions in positions.chunks(BATCH) {
            let answers = evaluate(one, encoding, positions)?;
            let others = evaluate(other, encoding, positions)?;
            for ((best, score), (other_best, other_score)) in answers.into_iter().zip(others) {
                let gap = f64::from((score - other_score).abs());
                all.same_move += f64::from(u8::from(best == other_best));
                all.mean_gap += gap;
                all.greatest_gap = all.greatest_gap.max(gap);
            }
        }
        let count = positions.len().max(1) as f64;
        Ok(Agreement { same_move: all.same_move / count, mean_gap: all.mean_gap / count, ..all })
    }
}

/// Returns the index of the likeliest legal move, and the score for the side to move, of each position.
fn evaluate(
    evaluator: &mut dyn Evaluator,
    encoding: &Encoding,
    positions: &[Position],
) -> Result<Vec<(Option<usize>, f32)>, EvalError> {
    let mut batch = evaluator.new_batch();
    let mut legal = MoveList::new();
    for position in positions {
        position.legal_moves(&mut legal);
        batch.push(Query { encoding, position, legal: &legal });
    }
    evaluator.evaluate(&mut batch)?;
    let answer = |(row, position): (usize, &Position)| {
        let evaluation = batch.evaluation(row);
        let logits = evaluation.logits.iter().enumerate();
        let best = logits.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(nth, _)| nth);
        (best, evaluation.score(position.turn(), position.turn()))
    };
    Ok(positions.iter().enumerate().map(answer).collect())
}

#[cfg(test)]
mod tests {
    use menagerie::encoding::Shape;
    use menagerie::nn::{Batch, Uniform};
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::calibration::from_random_play;

    /// Prefers the first move, and expects a win for the side to move.
    struct OptimisticEvaluator(Uniform);

    impl Evaluator for OptimisticEvaluator {
        fn shape(&self) -> Shape {
            self.0.shape()
        }

        fn preferred_batch(&self) -> usize {
            1
        }

        fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
            for row in 0..batch.len() {
                batch.fill(row, &[1.0, 0.0, 0.0], 1.0, |nth| -(nth as f32));
            }
            Ok(())
        }
    }

    #[test]
    fn agreement_is_full_for_equal_evaluators_only() {
        let variant = Catalogue::shipped().require("connect4").expect("it is shipped");
        let encoding = Encoding::of(&variant.start());
        let mut positions = from_random_play(&variant, 150, 1);
        // Positions with a choice: Uniform prefers the last of equal moves.
        let mut legal = MoveList::new();
        positions.retain(|position| {
            position.legal_moves(&mut legal);
            legal.len() > 1
        });
        let uniform = Uniform::new(encoding.shape());
        let of = |other: &mut dyn Evaluator| {
            Agreement::of(&mut uniform.clone(), other, &encoding, &positions).expect("no failure")
        };
        let count = positions.len();
        let alike = Agreement { positions: count, same_move: 1.0, ..Agreement::default() };
        assert_eq!(of(&mut uniform.clone()), alike);
        let apart =
            Agreement { positions: count, same_move: 0.0, mean_gap: 1.0, greatest_gap: 1.0 };
        assert_eq!(of(&mut OptimisticEvaluator(uniform.clone())), apart);
    }
}

//! How much two networks of a game agree: what quantising cost.

use menagerie::encoding::Encoding;
use menagerie::nn::{EvalError, Evaluator, Query};
use menagerie::rules::{MoveList, Position};

/// How much two evaluators agree over some positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Positions that both were asked.
    pub positions: usize,
    /// The share of them in which both have the same likeliest move.
    pub same_move: f64,
    /// The mean distance of the mover's expected scores, 0 to 2.
    pub mean_gap: f64,
    /// The greatest.
    pub greatest_gap: f64,
}

/// Positions in a batch.
const BATCH: usize = 64;

impl Agreement {
    /// Asks both about all positions.
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
            let answers = answers(one, encoding, positions)?;
            let others = self::answers(other, encoding, positions)?;
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

/// The place of the likeliest move among the legal ones, and the mover's score, of each position.
fn answers(
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

    /// Likes the first move best, and sees a win for the mover where the other sees a draw.
    struct Hopeful(Uniform);

    impl Evaluator for Hopeful {
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
    fn what_is_alike_agrees_and_what_is_not_does_not() {
        let variant = Catalogue::shipped().require("connect4").expect("it is shipped");
        let encoding = Encoding::of(&variant.start());
        let mut positions = from_random_play(&variant, 150, 1);
        // Where there is a choice: the last of equal moves is the best to Uniform.
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
        assert_eq!(of(&mut Hopeful(uniform.clone())), apart);
    }
}

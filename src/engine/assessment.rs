//! What the evaluator alone says of a position, and what it is shown.

use super::report::Chances;
use crate::encoding::Encoding;
use crate::evaluation::{Batch, EvalError, Evaluator, Query};
use crate::rules::{MoveList, Outcome, PerSide, Position};

/// What the evaluator alone says of a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// How the game ended, if it did by force; there is nothing else to tell then.
    pub outcome: Option<Outcome>,
    /// The expected score of each side, from -1 to 1.
    pub values: PerSide<f32>,
    /// How many sides there are.
    pub sides: usize,
    /// Chances of the side to move.
    pub chances: Chances,
    /// Turns until the game ends.
    pub moves_left: f32,
    /// Each legal ply and its probability, the likeliest first.
    pub policy: Vec<(String, f32)>,
    /// The planes that the network is shown: the name of each, and its squares, rank by rank from
    /// the mover's first.
    pub planes: Vec<(String, Vec<f32>)>,
    /// Files of a plane.
    pub width: usize,
}

/// Asks `evaluator` about `position`.
///
/// # Errors
/// If it fails.
pub(super) fn assess(
    position: &Position,
    evaluator: &mut dyn Evaluator,
) -> Result<Assessment, EvalError> {
    let sides = position.anatomy().sides;
    let mover = position.turn();
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let outcome = position.outcome_given(&legal);
    let mut batch = Batch::new(evaluator.shape());
    let encoding = Encoding::of(position);
    let row = batch.push(Query { encoding: &encoding, position, legal: &legal });
    evaluator.evaluate(&mut batch)?;
    let evaluation = batch.evaluation(row);
    let moves = legal.iter().map(|&m| position.move_text(m));
    let mut policy: Vec<_> = moves.zip(evaluation.policy()).collect();
    policy.sort_by(|a, b| b.1.total_cmp(&a.1));
    let draw = evaluation.outcome.last().copied().unwrap_or(0.0);
    let squares = encoding.shape().squares();
    let planes = batch.planes_of(row).chunks(squares).map(<[f32]>::to_vec);
    Ok(Assessment {
        planes: encoding.plane_names().into_iter().zip(planes).collect(),
        width: encoding.shape().width,
        outcome,
        values: PerSide::from_fn(|side| match side.index() < sides {
            true => evaluation.score(side, mover),
            false => 0.0,
        }),
        sides,
        chances: Chances::new(evaluation.score(mover, mover), draw),
        moves_left: evaluation.moves_left,
        policy,
    })
}

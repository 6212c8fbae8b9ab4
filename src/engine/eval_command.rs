//! What the evaluator alone says of a position, and what it is shown.

use super::search_info::Wdl;
use crate::encoding::{Encoding, SparseEncoding};
use crate::nn::{EvalError, Evaluator, Query};
use crate::rules::{MoveList, Outcome, PerSide, Position};

/// What the evaluator alone says of a position.
#[derive(Clone, PartialEq, Debug)]
pub struct EvalOutput {
    /// How the game ended, if it did by force; there is nothing else to tell then.
    pub outcome: Option<Outcome>,
    /// The expected score of each side, from -1 to 1.
    pub values: PerSide<f32>,
    /// How many sides there are.
    pub sides: usize,
    /// Wdl of the side to move.
    pub chances: Wdl,
    /// Turns until the game ends.
    pub moves_left: f32,
    /// Each legal ply and its probability, the likeliest first.
    pub policy: Vec<(String, f32)>,
    /// What the network is shown.
    pub shown: Shown,
}

/// The input of a network for one position.
#[derive(Clone, PartialEq, Debug)]
pub enum Shown {
    /// Planes: the name of each, and its squares, rank by rank from the mover's first.
    Planes {
        /// The planes.
        planes: Vec<(String, Vec<f32>)>,
        /// Files of a plane.
        width: usize,
    },
    /// The names of the active inputs of a sparse network: a block, and the index in it.
    ActiveInputs(Vec<String>),
}

/// Asks `evaluator` about `position`.
///
/// # Errors
/// If it fails.
pub(super) fn assess(
    position: &Position,
    evaluator: &mut dyn Evaluator,
) -> Result<EvalOutput, EvalError> {
    let sides = position.game_spec().sides;
    let mover = position.turn();
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let outcome = position.outcome_given(&legal);
    let mut batch = evaluator.new_batch();
    let encoding = Encoding::of(position);
    let row = batch.push(Query { encoding: &encoding, position, legal: &legal });
    evaluator.evaluate(&mut batch)?;
    let evaluation = batch.evaluation(row);
    let moves = legal.iter().map(|&m| position.move_text(m));
    let mut policy: Vec<_> = moves.zip(evaluation.policy()).collect();
    policy.sort_by(|a, b| b.1.total_cmp(&a.1));
    let draw = evaluation.outcome.last().copied().unwrap_or(0.0);
    let shown = match batch.active_inputs(row) {
        Some((encoding, inputs)) => Shown::ActiveInputs(input_names(encoding, inputs)),
        None => shown_planes(&encoding, batch.planes_of(row).unwrap_or_default()),
    };
    Ok(EvalOutput {
        shown,
        outcome,
        values: PerSide::from_fn(|side| match side.index() < sides {
            true => evaluation.score(side, mover),
            false => 0.0,
        }),
        sides,
        chances: Wdl::new(evaluation.score(mover, mover), draw),
        moves_left: evaluation.moves_left,
        policy,
    })
}

fn shown_planes(encoding: &Encoding, planes: &[f32]) -> Shown {
    let squares = planes.chunks(encoding.shape().squares()).map(<[f32]>::to_vec);
    Shown::Planes {
        planes: encoding.plane_names().into_iter().zip(squares).collect(),
        width: encoding.shape().width,
    }
}

/// Returns the names of active inputs, in order: `BLOCK` if the block is of one input, else
/// `BLOCK[INDEX]`.
fn input_names(encoding: &SparseEncoding, inputs: &[u16]) -> Vec<String> {
    let mut inputs = inputs.to_vec();
    inputs.sort_unstable();
    let name = |&input: &u16| {
        let index = usize::from(input);
        let mut blocks = encoding.input_blocks().iter();
        let block =
            blocks.find(|block| (block.first..block.first + block.size).contains(&index))?;
        Some(match block.size {
            1 => block.name.clone(),
            _ => format!("{}[{}]", block.name, index - block.first),
        })
    };
    inputs.iter().filter_map(name).collect()
}

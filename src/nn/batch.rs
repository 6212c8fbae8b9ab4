//! Batches of encoded positions and their evaluations.

mod lists;

use std::sync::Arc;

use self::lists::SparseLists;
use super::Query;
use super::network::sparse::SparseRequest;
use crate::encoding::sparse::IndexMap;
use crate::encoding::{PolicyIndex, Shape, SparseEncoding};
use crate::rules::{Key, Position, Side};

/// Positions as planes or as sparse lists, with evaluations that an evaluator fills in.
#[derive(Clone, Debug)]
pub struct Batch {
    rows: Vec<Row>,
    inputs: Inputs,
    outcomes: usize,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
    logits: Vec<f32>,
    /// The positions, if the evaluator needs them.
    positions: Option<Vec<Position>>,
}

/// The encoded positions of a batch, in the form that its evaluator reads.
#[derive(Clone, Debug)]
enum Inputs {
    Planes(PlaneInputs),
    Sparse(SparseLists),
}

#[derive(Clone, Debug)]
struct PlaneInputs {
    shape: Shape,
    planes: Vec<f32>,
    /// The policy indices of the legal moves of all rows.
    legal: Vec<PolicyIndex>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    key: Key,
    first_legal: usize,
    legal: usize,
}

/// The evaluation of one position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evaluation<'a> {
    /// The probabilities of the outcomes: a win of the side to move, a win of the next side in turn order,
    /// and so on, and last a draw.
    pub outcome: &'a [f32],
    /// The expected number of turns until the game ends.
    pub moves_left: f32,
    /// The policy: a logit for each legal move, in the order of the legal moves.
    pub logits: &'a [f32],
}

impl Evaluation<'_> {
    /// Returns the policy as probabilities, in the order of the legal moves.
    pub fn policy(&self) -> Vec<f32> {
        let mut policy = self.logits.to_vec();
        softmax(&mut policy);
        policy
    }

    /// Returns the expected score of `side` when `mover` is to move, from -1 to 1: a win counts 1, a draw 0,
    /// another side's win -1.
    pub fn score(&self, side: Side, mover: Side) -> f32 {
        let Some((draw, wins)) = self.outcome.split_last() else { return 0.0 };
        let win = wins.get(side.seat_from(mover, wins.len())).copied().unwrap_or(0.0);
        2.0 * win + draw - 1.0
    }
}

/// Turns logits into probabilities.
pub(super) fn softmax(logits: &mut [f32]) {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for logit in &mut *logits {
        *logit = libm::expf(*logit - highest);
    }
    let total: f32 = logits.iter().sum();
    for weight in logits {
        *weight /= total;
    }
}

impl Batch {
    /// Returns an empty batch of positions encoded as planes in `shape`.
    pub fn new(shape: Shape) -> Batch {
        let inputs = PlaneInputs { shape, planes: Vec::new(), legal: Vec::new() };
        Batch::with_inputs(Inputs::Planes(inputs), shape.outcomes)
    }

    /// Returns an empty batch of positions in a sparse encoding. With `map`, indices of the
    /// encoding are mapped to those of the network.
    pub fn sparse(encoding: &SparseEncoding, map: Option<Arc<IndexMap>>) -> Batch {
        let outcomes = encoding.shape().outcomes;
        Batch::with_inputs(Inputs::Sparse(SparseLists::new(encoding, map)), outcomes)
    }

    fn with_inputs(inputs: Inputs, outcomes: usize) -> Batch {
        Batch {
            rows: Vec::new(),
            inputs,
            outcomes,
            outcome: Vec::new(),
            moves_left: Vec::new(),
            logits: Vec::new(),
            positions: None,
        }
    }

    /// Returns the batch, which also stores the positions from now on.
    pub(super) fn keeping_positions(self) -> Batch {
        Batch { positions: Some(Vec::new()), ..self }
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if there is no position.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Removes all positions.
    pub fn clear(&mut self) {
        self.rows.clear();
        if let Some(positions) = &mut self.positions {
            positions.clear();
        }
        match &mut self.inputs {
            Inputs::Planes(inputs) => {
                inputs.planes.clear();
                inputs.legal.clear();
            }
            Inputs::Sparse(lists) => lists.clear(),
        }
        self.outcome.clear();
        self.moves_left.clear();
        self.logits.clear();
    }

    /// Adds a position. Returns its row.
    ///
    /// # Panics
    /// If the encoding has another shape than the batch.
    pub fn push(&mut self, query: Query<'_>) -> usize {
        let Query { encoding, position, legal } = query;
        match &mut self.inputs {
            Inputs::Planes(inputs) => inputs.push(query),
            Inputs::Sparse(lists) => lists.push(position, legal),
        }
        let key = encoding.input_key(position);
        if let Some(positions) = &mut self.positions {
            positions.push(position.clone());
        }
        let first_legal = self.logits.len();
        let legal = legal.len();
        self.rows.push(Row { key, first_legal, legal });
        self.outcome.resize(self.rows.len() * self.outcomes, 0.0);
        self.moves_left.resize(self.rows.len(), 0.0);
        self.logits.resize(first_legal + legal, 0.0);
        self.rows.len() - 1
    }

    /// Returns the planes of all rows, `[rows, planes, height, width]`; empty for a sparse encoding.
    pub fn planes(&self) -> &[f32] {
        match &self.inputs {
            Inputs::Planes(inputs) => &inputs.planes,
            Inputs::Sparse(_) => &[],
        }
    }

    /// Returns the planes of one row, `[planes, height, width]`, or `None` for a sparse encoding.
    pub fn planes_of(&self, row: usize) -> Option<&[f32]> {
        match &self.inputs {
            Inputs::Planes(PlaneInputs { shape, planes, .. }) => {
                Some(&planes[row * shape.input()..][..shape.input()])
            }
            Inputs::Sparse(_) => None,
        }
    }

    /// Returns the sparse encoding and the active inputs of a row, or `None` if the batch holds planes.
    pub fn active_inputs(&self, row: usize) -> Option<(&SparseEncoding, &[u16])> {
        match &self.inputs {
            Inputs::Planes(_) => None,
            Inputs::Sparse(lists) => Some((lists.encoding(), lists.active_inputs(row))),
        }
    }

    /// Returns all rows as a request to a sparse network, and the buffers of its outputs: the logits of all
    /// legal moves, the outcomes and the moves left of all rows. `None` if the batch holds planes.
    pub(super) fn sparse_request(&mut self) -> Option<(SparseRequest<'_>, [&mut [f32]; 3])> {
        match &mut self.inputs {
            Inputs::Planes(_) => None,
            Inputs::Sparse(lists) => {
                let outputs = [&mut self.logits, &mut self.outcome, &mut self.moves_left];
                Some((lists.request(), outputs.map(|buffer| &mut buffer[..])))
            }
        }
    }

    /// Returns the input key of a row's position.
    pub fn key(&self, row: usize) -> Key {
        self.rows[row].key
    }

    /// Returns the position of a row, if the batch stores positions.
    pub(super) fn position(&self, row: usize) -> Option<&Position> {
        self.positions.as_ref()?.get(row)
    }

    /// Returns the policy indices of the legal moves of a row. Empty for a sparse encoding.
    pub fn legal(&self, row: usize) -> &[PolicyIndex] {
        let Row { first_legal, legal, .. } = self.rows[row];
        match &self.inputs {
            Inputs::Planes(inputs) => &inputs.legal[first_legal..][..legal],
            Inputs::Sparse(_) => &[],
        }
    }

    /// Fills in the evaluation of a row: `outcome` and `moves_left` as in [`Evaluation`], and for each legal
    /// move `logit` of its index in the list.
    pub fn fill(
        &mut self,
        row: usize,
        outcome: &[f32],
        moves_left: f32,
        logit: impl FnMut(usize) -> f32,
    ) {
        let Row { first_legal, legal, .. } = self.rows[row];
        self.fill_values(row, outcome, moves_left);
        for (out, logit) in
            self.logits[first_legal..][..legal].iter_mut().zip((0..legal).map(logit))
        {
            *out = logit;
        }
    }

    /// Like [`Batch::fill`], but `logit` takes the policy index of each legal move. Only for a batch of
    /// planes: a sparse encoding has no policy indices, and the logits stay zero.
    pub fn fill_indexed(
        &mut self,
        row: usize,
        outcome: &[f32],
        moves_left: f32,
        mut logit: impl FnMut(PolicyIndex) -> f32,
    ) {
        let Row { first_legal, legal, .. } = self.rows[row];
        self.fill_values(row, outcome, moves_left);
        if let Inputs::Planes(inputs) = &self.inputs {
            let indices = &inputs.legal[first_legal..][..legal];
            for (out, &index) in self.logits[first_legal..][..legal].iter_mut().zip(indices) {
                *out = logit(index);
            }
        }
    }

    fn fill_values(&mut self, row: usize, outcome: &[f32], moves_left: f32) {
        self.outcome[row * self.outcomes..][..self.outcomes].copy_from_slice(outcome);
        self.moves_left[row] = moves_left;
    }

    /// Returns the evaluation of a row.
    pub fn evaluation(&self, row: usize) -> Evaluation<'_> {
        let Row { first_legal, legal, .. } = self.rows[row];
        Evaluation {
            outcome: &self.outcome[row * self.outcomes..][..self.outcomes],
            moves_left: self.moves_left[row],
            logits: &self.logits[first_legal..][..legal],
        }
    }
}

impl PlaneInputs {
    fn push(&mut self, query: Query<'_>) {
        let Query { encoding, position, legal } = query;
        assert_eq!(self.shape, encoding.shape());
        let start = self.planes.len();
        self.planes.resize(start + self.shape.input(), 0.0);
        encoding.write_planes(&position.view(), &mut self.planes[start..]);
        self.legal.extend(legal.iter().map(|&m| encoding.index(position, m)));
    }
}

//! Positions on their way through a network, and what came out.

use super::Query;
use crate::encoding::{PolicyIndex, Shape};
use crate::rules::{Key, Position, Side};

/// Some positions as planes, and their evaluations once an evaluator has filled them in.
#[derive(Clone, Debug)]
pub struct Batch {
    shape: Shape,
    rows: Vec<Row>,
    planes: Vec<f32>,
    legal: Vec<PolicyIndex>,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
    logits: Vec<f32>,
    /// The positions themselves, if they are kept.
    positions: Option<Vec<Position>>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    key: Key,
    tables: [Key; 2],
    first_legal: usize,
    legal: usize,
}

/// The evaluation of one position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evaluation<'a> {
    /// Probabilities of the ways the game may end: that the mover wins, that the side after it
    /// wins, and so on in turn order, and last that nobody does.
    pub outcome: &'a [f32],
    /// How many turns the game is expected to last.
    pub moves_left: f32,
    /// The policy: a logit for each legal move, in the order of the legal moves.
    pub logits: &'a [f32],
}

impl Evaluation<'_> {
    /// The policy as probabilities, in the order of the legal moves.
    pub fn policy(&self) -> Vec<f32> {
        let mut policy = self.logits.to_vec();
        softmax(&mut policy);
        policy
    }

    /// The expected score of `side` when `mover` is to move, from -1 to 1: a win counts 1, a draw
    /// 0, another side's win -1.
    pub fn score(&self, side: Side, mover: Side) -> f32 {
        let Some((draw, wins)) = self.outcome.split_last() else { return 0.0 };
        let win = wins.get(side.seat_from(mover, wins.len())).copied().unwrap_or(0.0);
        2.0 * win + draw - 1.0
    }
}

/// Turns logits into probabilities.
pub(super) fn softmax(logits: &mut [f32]) {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits.iter_mut().for_each(|logit| *logit = (*logit - highest).exp());
    let total: f32 = logits.iter().sum();
    logits.iter_mut().for_each(|part| *part /= total);
}

impl Batch {
    /// An empty batch of positions encoded in `shape`.
    pub fn new(shape: Shape) -> Batch {
        let (rows, legal) = (Vec::new(), Vec::new());
        let (planes, outcome, moves_left, logits) = Default::default();
        let positions = None;
        Batch { shape, rows, planes, legal, outcome, moves_left, logits, positions }
    }

    /// The same, but it keeps the positions for its evaluator.
    pub(super) fn keeping_positions(self) -> Batch {
        Batch { positions: Some(Vec::new()), ..self }
    }

    /// The tensor sizes of a position.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many positions it holds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it holds no position.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.positions.iter_mut().for_each(Vec::clear);
        self.planes.clear();
        self.legal.clear();
        self.outcome.clear();
        self.moves_left.clear();
        self.logits.clear();
    }

    /// Adds a position; says in which row it stands.
    ///
    /// # Panics
    /// If the encoding is not of the batch's shape.
    pub fn push(&mut self, query: Query<'_>) -> usize {
        let Query { encoding, position, legal } = query;
        assert_eq!(self.shape, encoding.shape());
        let start = self.planes.len();
        self.planes.resize(start + self.shape.input(), 0.0);
        encoding.write_planes(position.view(), &mut self.planes[start..]);
        let first_legal = self.legal.len();
        self.legal.extend(legal.iter().map(|&m| encoding.index(position, m)));
        let key = encoding.input_key(position);
        let tables = encoding.table_keys(position);
        self.positions.iter_mut().for_each(|kept| kept.push(position.clone()));
        let (tables, legal) = (tables.unwrap_or([key; 2]), legal.len());
        self.rows.push(Row { key, tables, first_legal, legal });
        self.outcome.resize(self.rows.len() * self.shape.outcomes, 0.0);
        self.moves_left.resize(self.rows.len(), 0.0);
        self.logits.resize(self.legal.len(), 0.0);
        self.rows.len() - 1
    }

    /// The planes of all rows, `[rows, planes, height, width]`.
    pub fn planes(&self) -> &[f32] {
        &self.planes
    }

    /// The planes of one row, `[planes, height, width]`.
    pub fn planes_of(&self, row: usize) -> &[f32] {
        &self.planes[row * self.shape.input()..][..self.shape.input()]
    }

    /// The input key of a row's position.
    pub fn key(&self, row: usize) -> Key {
        self.rows[row].key
    }

    /// The keys of its two tables, in the order of their planes ([`Encoding::table_keys`]).
    pub(super) fn tables(&self, row: usize) -> [Key; 2] {
        self.rows[row].tables
    }

    /// The position of a row, if positions are kept.
    pub(super) fn position(&self, row: usize) -> Option<&Position> {
        self.positions.as_ref()?.get(row)
    }

    /// Where the policy has the legal moves of a row's position.
    pub fn legal(&self, row: usize) -> &[PolicyIndex] {
        let Row { first_legal, legal, .. } = self.rows[row];
        &self.legal[first_legal..][..legal]
    }

    /// Fills in the evaluation of a row: `outcome` and `moves_left` as in [`Evaluation`], and the
    /// logit that `logit` gives for each legal move, by its place among them and its index.
    pub fn fill(
        &mut self,
        row: usize,
        outcome: &[f32],
        moves_left: f32,
        mut logit: impl FnMut(usize, PolicyIndex) -> f32,
    ) {
        let Row { first_legal, legal, .. } = self.rows[row];
        let own = &mut self.outcome[row * self.shape.outcomes..][..self.shape.outcomes];
        own.copy_from_slice(outcome);
        self.moves_left[row] = moves_left;
        let indices = &self.legal[first_legal..][..legal];
        let logits = &mut self.logits[first_legal..][..legal];
        for (nth, (out, &index)) in logits.iter_mut().zip(indices).enumerate() {
            *out = logit(nth, index);
        }
    }

    /// The evaluation of a row, once filled in.
    pub fn evaluation(&self, row: usize) -> Evaluation<'_> {
        let Row { first_legal, legal, .. } = self.rows[row];
        Evaluation {
            outcome: &self.outcome[row * self.shape.outcomes..][..self.shape.outcomes],
            moves_left: self.moves_left[row],
            logits: &self.logits[first_legal..][..legal],
        }
    }
}

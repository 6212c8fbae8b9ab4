//! Positions on their way through a network, and what came out.

use super::Query;
use crate::encoding::{PolicyIndex, Shape};
use crate::rules::{Key, Mate, Move, Position, Side};

/// Mates are looked for in so many turns of the mover, and so many positions.
const MATES: (u8, u32) = (3, 100);
/// The chance that who is found to mate wins: all but sure, as a proof is the search's affair.
const SURE: f32 = 0.99;
/// How much likelier a mating move is than the likeliest of a policy, as a logit.
const LIKELIER: f32 = 5.0;

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
    /// Whether mates are looked for.
    seeking: bool,
    /// The positions, where there are two tables at which mates may be looked for.
    positions: Vec<Position>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    key: Key,
    tables: [Key; 2],
    mate: Option<Found>,
    first_legal: usize,
    legal: usize,
}

/// A mate of the mover: its first move among the legal ones, and the turns that it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Found {
    pub(super) nth: usize,
    pub(super) turns: u8,
}

impl Found {
    /// Where its first move stands; `None` if that is nowhere.
    pub(super) fn among(legal: &[Move], mate: Mate) -> Option<Found> {
        let nth = legal.iter().position(|&other| other == mate.m)?;
        Some(Found { nth, turns: mate.turns })
    }

    /// Puts it before all else that a policy has.
    pub(super) fn prefer(self, logits: &mut [f32]) {
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        logits[self.nth] = highest + LIKELIER;
    }
}

/// The mate that a short look at `position` finds.
pub(super) fn mate_soon(position: &Position) -> Option<Mate> {
    position.mate_by_checks(MATES.0, MATES.1)
}

/// Makes the outcome what it is for whoever mates, by the seat from the mover's on.
pub(super) fn decide(outcome: &mut [f32], seat: usize) {
    let others = (outcome.len() - 1).max(1) as f32;
    outcome.fill((1.0 - SURE) / others);
    outcome[seat] = SURE;
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
    /// An empty batch of positions encoded in `shape`. What comes out is the evaluator's own word, as it is
    /// wanted where networks are shown and compared; nobody looks for mates.
    pub fn new(shape: Shape) -> Batch {
        let (rows, legal) = (Vec::new(), Vec::new());
        let (planes, outcome, moves_left, logits) = Default::default();
        let (seeking, positions) = (false, Vec::new());
        Batch { shape, rows, planes, legal, outcome, moves_left, logits, seeking, positions }
    }

    /// The same, but whoever mates soon by checks alone wins, whatever an evaluator says
    /// ([`Position::mate_by_checks`]).
    pub fn seeking_mates(self) -> Batch {
        Batch { seeking: true, ..self }
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
        self.positions.clear();
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
        let alone = self.seeking && tables.is_none();
        let mate = alone.then(|| mate_soon(position)).flatten();
        let mate = mate.and_then(|mate| Found::among(legal, mate));
        if self.seeking && tables.is_some() {
            self.positions.push(position.clone());
        }
        let (tables, legal) = (tables.unwrap_or([key; 2]), legal.len());
        self.rows.push(Row { key, tables, mate, first_legal, legal });
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

    /// The position of a row at two tables, if mates are looked for there.
    pub(super) fn position(&self, row: usize) -> Option<&Position> {
        self.positions.get(row)
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
        let Row { first_legal, legal, mate, .. } = self.rows[row];
        let own = &mut self.outcome[row * self.shape.outcomes..][..self.shape.outcomes];
        own.copy_from_slice(outcome);
        self.moves_left[row] = moves_left;
        let indices = &self.legal[first_legal..][..legal];
        let logits = &mut self.logits[first_legal..][..legal];
        for (nth, (out, &index)) in logits.iter_mut().zip(indices).enumerate() {
            *out = logit(nth, index);
        }
        if let Some(mate) = mate {
            decide(own, 0);
            mate.prefer(logits);
            self.moves_left[row] = mate.turns.into();
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

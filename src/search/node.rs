//! The tree's records: nodes of 60 bytes, and 4 bytes for each of their moves.

use super::proof_bounds::ProofBounds;
use super::proof_number::ProofNumbers;
use crate::rules::{MAX_SIDES, PackedMove, PerSide, Side};

/// A node's place in the node_pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeId(pub(super) u32);

impl NodeId {
    /// No node: the end of a list.
    pub(super) const NONE: NodeId = NodeId(u32::MAX);
}

/// A probability in 16 bits: a float without its sign, five bits of exponent, eleven of mantissa.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Prior(u16);

impl Prior {
    /// The nearest there is; what is below 2^-31 becomes 0.
    pub(super) fn new(probability: f32) -> Prior {
        const LEAST: u32 = (127 - 31) << 23;
        let bits = probability.clamp(0.0, 1.0).to_bits() + (1 << 11);
        Prior((bits.saturating_sub(LEAST) >> 12).min(u32::from(u16::MAX)) as u16)
    }

    pub(super) fn get(self) -> f32 {
        const LEAST: u32 = (127 - 31) << 23;
        if self.0 == 0 { 0.0 } else { f32::from_bits((u32::from(self.0) << 12) + LEAST) }
    }

    /// Returns the bits, which are ordered as the probabilities are.
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    /// It in 65535ths, as [`Node::visited_policy`] counts.
    pub(super) fn of_all(self) -> u16 {
        (self.get() * f32::from(u16::MAX)) as u16
    }
}

/// A legal move and its prior.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Edge {
    pub(super) m: PackedMove,
    pub(super) prior: Prior,
}

/// What an expanded node has for each of its moves, in 32 bits: the child that the move leads to,
/// or the move itself as long as there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot(pub(super) u32);

impl Slot {
    pub(super) fn child(self) -> NodeId {
        NodeId(self.0)
    }

    pub(super) fn edge(self) -> Edge {
        Edge { m: PackedMove((self.0 >> 16) as u16), prior: Prior(self.0 as u16) }
    }
}

impl From<NodeId> for Slot {
    fn from(id: NodeId) -> Slot {
        Slot(id.0)
    }
}

impl From<Edge> for Slot {
    fn from(edge: Edge) -> Slot {
        Slot(u32::from(edge.m.0) << 16 | u32::from(edge.prior.0))
    }
}

/// A position in the tree, which holds no board: it is reached by playing the moves to it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The mean score of each side but a fourth, absolute; see [`Node::value`].
    values: [f32; MAX_SIDES - 1],
    /// The mean probability of a draw.
    pub(super) draw: f32,
    /// The mean of the turns until the game ends.
    pub(super) moves_left: f32,
    /// How often the search came through here and found something.
    pub(super) visits: u32,
    pub(super) first_slot: u32,
    /// What children that are no candidates are worth at most; see `puct.rs`.
    pub(super) rest: Bound,
    /// The moves, of which the first so many `children` have a node; the others are sorted by
    /// prior, the likeliest first.
    pub(super) edges: u16,
    pub(super) children: u16,
    /// Visits on their way.
    pub(super) in_flight: u16,
    /// The sum of the priors of visited children, in 65535ths.
    pub(super) visited_policy: u16,
    /// The move that leads here, and its prior.
    pub(super) edge: Edge,
    pub(super) bounds: ProofBounds,
    pub(super) proof_number: ProofNumbers,
    /// Side to move, whether a turn has ended, and state: see [`Tags`].
    tags: Tags,
    /// How many of the first children are candidates; 0 if it is not known who is.
    pub(super) candidates: u8,
}

/// The side to move in two bits, whether the move that leads here ended a turn in one, the state in
/// three, and whether the side to move may wait.
#[derive(Clone, Copy, Debug)]
struct Tags(u8);

/// A bound that grows with the weight of exploration: `level + weight * slope`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bound {
    pub(super) level: f32,
    pub(super) slope: f32,
}

const TURN: u8 = 3;
const TURN_ENDED: u8 = 4;
const STATE: u32 = 3;
const STATES: u8 = 7;
const WAITS: u8 = 1 << 6;

/// The visits that a mean is of, if it is of as many.
const LONG: u32 = 1 << 20;
/// The most visits that are counted: those on their way are added to them.
const MOST_VISITS: u32 = u32::MAX - 2 * u16::MAX as u32;

/// How far a node has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Its moves are not known: nobody has looked at it, or they were given up for want of memory.
    Fresh,
    /// Its moves are known.
    Expanded,
    /// The game ends in it, whatever came before; or how it will end is known for certain.
    Ended,
    /// It counts as drawn because the position stood before, in the search whose number its
    /// [`Node::first_slot`] is.
    Repeated,
    /// It is no part of the tree any more.
    Gone,
}

impl Node {
    pub(super) fn new(edge: Edge, sides: usize) -> Node {
        Node {
            values: [0.0; MAX_SIDES - 1],
            draw: 0.0,
            moves_left: 0.0,
            visits: 0,
            first_slot: 0,
            rest: Bound { level: f32::NEG_INFINITY, slope: 0.0 },
            edges: 0,
            children: 0,
            in_flight: 0,
            visited_policy: 0,
            edge,
            bounds: ProofBounds::unknown(sides),
            proof_number: ProofNumbers::UNSEEN,
            tags: Tags(TURN_ENDED),
            candidates: 0,
        }
    }

    /// The side to move.
    #[inline]
    pub(super) fn turn(&self) -> Side {
        Side::new(usize::from(self.tags.0 & TURN))
    }

    /// Says who is to move, and whether the move that leads here ended a turn.
    pub(super) fn set_turn(&mut self, turn: Side, ended: bool) {
        let ended = if ended { TURN_ENDED } else { 0 };
        self.tags.0 = self.tags.0 & !(TURN | TURN_ENDED) | turn.index() as u8 | ended;
    }

    /// The turns that the move to this node takes.
    #[inline]
    pub(super) fn turns(&self) -> u8 {
        u8::from(self.tags.0 & TURN_ENDED != 0)
    }

    /// Says whether the side to move has another way out than its moves.
    pub(super) fn set_waits(&mut self, waits: bool) {
        self.tags.0 = self.tags.0 & !WAITS | if waits { WAITS } else { 0 };
    }

    /// Whether the bounds may rest on the node's moves alone only as far as they are good for the
    /// side to move: nobody has looked at some of them, or it could do something else.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.children < self.edges || self.tags.0 & WAITS != 0
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        match self.tags.0 >> STATE & STATES {
            0 => State::Fresh,
            1 => State::Expanded,
            2 => State::Ended,
            3 => State::Repeated,
            _ => State::Gone,
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.tags.0 = self.tags.0 & !(STATES << STATE) | (state as u8) << STATE;
    }

    /// The mean score of `side`. The scores of a won game add up to 2 - n, those of a drawn one to
    /// 0: so the last side's, where there are so many, follows from the others' and the chance of
    /// a draw.
    #[inline]
    fn value(&self, side: Side) -> f32 {
        const LAST: usize = MAX_SIDES - 1;
        match self.values.get(side.index()) {
            Some(&value) => value,
            None => (1.0 - LAST as f32) * (1.0 - self.draw) - self.values.iter().sum::<f32>(),
        }
    }

    /// The mean score of `side`, within what is proven.
    #[inline]
    pub(super) fn score(&self, side: Side) -> f32 {
        let (least, most) = (self.bounds.least(side), self.bounds.most(side));
        self.value(side).clamp(f32::from(least), f32::from(most))
    }

    /// The mean scores of `sides` sides, within what is proven.
    pub(super) fn scores(&self, sides: usize) -> PerSide<f32> {
        PerSide::from_fn(|side| if side.index() < sides { self.score(side) } else { 0.0 })
    }

    /// Takes one more evaluation into the means. After [`LONG`] visits they are of the last ones above
    /// all: a float would take no notice of smaller parts.
    pub(super) fn add(&mut self, value: &PerSide<f32>, draw: f32, moves_left: f32) {
        self.visits = (self.visits + 1).min(MOST_VISITS);
        let weight = 1.0 / self.visits.min(LONG) as f32;
        for (nth, mean) in self.values.iter_mut().enumerate() {
            *mean += (value[Side::new(nth)] - *mean) * weight;
        }
        self.draw += (draw - self.draw) * weight;
        self.moves_left += (moves_left - self.moves_left) * weight;
    }

    /// Puts what is certain in the place of the means.
    pub(super) fn set(&mut self, value: &PerSide<f32>, draw: f32, moves_left: f32) {
        self.values = std::array::from_fn(|nth| value[Side::new(nth)]);
        (self.draw, self.moves_left) = (draw, moves_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_fits_a_cache_line_and_a_move_has_4_bytes() {
        assert_eq!((size_of::<Node>(), size_of::<Slot>()), (60, 4));
    }

    #[test]
    fn means_follow_what_is_found_late_and_visits_do_not_overflow() {
        let edge = Edge { m: PackedMove(0), prior: Prior::new(1.0) };
        let mut node = Node::new(edge, 2);
        node.visits = MOST_VISITS - 1;
        let score = |score: f32| PerSide::from_fn(|side| [score, -score, 0.0, 0.0][side.index()]);
        node.set(&score(0.3), 0.0, 40.0);
        for _ in 0..2 * LONG {
            node.add(&score(0.2), 0.1, 30.0);
        }
        assert_eq!(node.visits, MOST_VISITS);
        assert!((0.2..0.22).contains(&node.value(Side::WHITE)), "{}", node.value(Side::WHITE));
        assert!((30.0..33.0).contains(&node.moves_left) && (0.08..0.11).contains(&node.draw));
    }

    #[test]
    fn priors_survive_to_a_two_thousandth() {
        assert_eq!(Prior::new(0.0).get(), 0.0);
        assert_eq!(Prior::new(1.0).get(), 1.0);
        for n in 1..1000 {
            let prior = n as f32 / 1000.0;
            assert!((Prior::new(prior).get() / prior - 1.0).abs() < 0.0005);
        }
    }
}

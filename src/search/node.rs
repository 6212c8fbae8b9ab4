//! The nodes of the tree, of 64 bytes each, and their moves, of 4 bytes each.

use super::proof_bounds::ProofBounds;
use super::proof_number::ProofNumbers;
use crate::rules::{MAX_SIDES, PackedMove, PerSide, Side};

/// The index of a node in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeId(pub(super) u32);

impl NodeId {
    /// No node, as the end of a list.
    pub(super) const NONE: NodeId = NodeId(u32::MAX);
}

/// A probability in 16 bits: a float without a sign, with 5 bits of exponent and 11 bits of mantissa.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Prior(u16);

impl Prior {
    /// The bits of 2^-31 as an `f32`, the least probability above 0.
    const MIN_BITS: u32 = (127 - 31) << 23;

    /// Returns the nearest value. A probability below 2^-31 becomes 0.
    pub(super) fn new(probability: f32) -> Prior {
        let bits = probability.clamp(0.0, 1.0).to_bits() + (1 << 11);
        Prior((bits.saturating_sub(Prior::MIN_BITS) >> 12).min(u32::from(u16::MAX)) as u16)
    }

    pub(super) fn get(self) -> f32 {
        if self.0 == 0 {
            return 0.0;
        }
        f32::from_bits((u32::from(self.0) << 12) + Prior::MIN_BITS)
    }

    /// Returns the bits, which are ordered as the probabilities are.
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    /// Returns the probability in 65535ths, the unit of [`Node::visited_policy`].
    pub(super) fn to_65535ths(self) -> u16 {
        (self.get() * f32::from(u16::MAX)) as u16
    }
}

/// A legal move and its prior.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Edge {
    pub(super) m: PackedMove,
    pub(super) prior: Prior,
}

/// A move of an expanded node in 32 bits: the child that it leads to, or the edge if it has no child yet.
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

/// A position in the tree. It holds no board; a descent plays the moves that lead to it. A node is a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    /// The mean scores of the first three sides. See [`Node::value`] for a fourth.
    values: [f32; MAX_SIDES - 1],
    /// The mean square of the score of the side to move.
    pub(super) square: f32,
    /// The mean probability of a draw.
    pub(super) draw: f32,
    /// The mean number of turns until the game ends.
    pub(super) moves_left: f32,
    /// The number of backups through the node.
    pub(super) visits: u32,
    /// The index of the first move in the pool. In [`State::Repeated`], the number of the search.
    pub(super) first_slot: u32,
    /// A bound on the scores of children that are not candidates. See `puct.rs`.
    pub(super) rest: Bound,
    /// The number of moves. The first `children` of them have a node; the others are sorted by descending
    /// prior.
    pub(super) edges: u16,
    /// The number of moves that have a node.
    pub(super) children: u16,
    /// Visits in flight (virtual visits).
    pub(super) in_flight: u16,
    /// The sum of the priors of visited children, in 65535ths.
    pub(super) visited_policy: u16,
    /// The move that leads here, and its prior.
    pub(super) edge: Edge,
    pub(super) bounds: ProofBounds,
    pub(super) proof_numbers: ProofNumbers,
    tags: Tags,
    /// The number of children, from the first on, that are candidates. 0 if the candidates are unknown.
    pub(super) candidates: u8,
}

/// Bit fields of a node: the side to move (2 bits), whether the move to the node ended a turn (1 bit), the
/// state (3 bits), and whether the side to move can pass (1 bit).
#[derive(Clone, Copy, Debug)]
struct Tags(u8);

/// A bound on scores that grow with the exploration weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bound {
    /// The greatest score at the weight `weight`.
    score: f32,
    /// The greatest growth of a score with the weight.
    slope: Prior,
    /// The upper half of the bits of an `f32`.
    weight: u16,
}

impl Bound {
    /// The bound on no scores.
    pub(super) const NONE: Bound = Bound { score: f32::NEG_INFINITY, slope: Prior(0), weight: 0 };

    /// Returns the bound on scores that are at most `score` at `weight` and grow with it by at most `slope`, 0 to 1.
    pub(super) fn new(score: f32, slope: f32, weight: f32) -> Bound {
        // Rounded up, and the weight down, so that the bound holds.
        let slope = Prior(Prior::new(slope).0.saturating_add(1));
        Bound { score, slope, weight: (weight.to_bits() >> 16) as u16 }
    }

    /// Returns the bound at another weight. The scores at a lower one are not greater.
    pub(super) fn at(self, weight: f32) -> f32 {
        let known = f32::from_bits(u32::from(self.weight) << 16);
        self.score + (weight - known).max(0.0) * self.slope.get()
    }
}

const TURN_MASK: u8 = 3;
const TURN_ENDED: u8 = 4;
const STATE_SHIFT: u32 = 3;
const STATE_MASK: u8 = 7;
const CAN_PASS: u8 = 1 << 6;

/// The number of visits after which a mean forgets the first ones.
const MEAN_WINDOW_VISITS: u32 = 1 << 20;
/// The greatest number of visits that is counted. Visits in flight are added to it.
const MAX_VISITS: u32 = u32::MAX - 2 * u16::MAX as u32;

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The node has no moves: it was not evaluated, or its moves were reclaimed.
    Fresh,
    /// The node has been evaluated and has moves.
    Expanded,
    /// The game has ended, or its outcome was proven by the evaluator.
    Ended,
    /// The position repeats one of its path. Valid in the search whose number is [`Node::first_slot`].
    Repeated,
    /// The node is no longer part of the tree.
    Gone,
}

impl Node {
    pub(super) fn new(edge: Edge, sides: usize) -> Node {
        Node {
            values: [0.0; MAX_SIDES - 1],
            square: 0.0,
            draw: 0.0,
            moves_left: 0.0,
            visits: 0,
            first_slot: 0,
            rest: Bound::NONE,
            edges: 0,
            children: 0,
            in_flight: 0,
            visited_policy: 0,
            edge,
            bounds: ProofBounds::unknown(sides),
            proof_numbers: ProofNumbers::UNVISITED,
            tags: Tags(TURN_ENDED),
            candidates: 0,
        }
    }

    /// Returns the side to move.
    #[inline]
    pub(super) fn turn(&self) -> Side {
        Side::new(usize::from(self.tags.0 & TURN_MASK))
    }

    /// Sets the side to move, and whether the move to this node ended a turn.
    pub(super) fn set_turn(&mut self, turn: Side, ended: bool) {
        let ended = if ended { TURN_ENDED } else { 0 };
        self.tags.0 = self.tags.0 & !(TURN_MASK | TURN_ENDED) | turn.index() as u8 | ended;
    }

    /// Returns the number of turns that the move to this node ends: 0 or 1.
    #[inline]
    pub(super) fn turns(&self) -> u8 {
        u8::from(self.tags.0 & TURN_ENDED != 0)
    }

    /// Sets whether the side to move can do something else than play one of its moves.
    pub(super) fn set_can_pass(&mut self, can_pass: bool) {
        self.tags.0 = self.tags.0 & !CAN_PASS | if can_pass { CAN_PASS } else { 0 };
    }

    /// Returns `true` if the side to move has other options than the children: unvisited moves, or a pass.
    #[inline]
    pub(super) fn has_unvisited_options(&self) -> bool {
        self.children < self.edges || self.tags.0 & CAN_PASS != 0
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        match self.tags.0 >> STATE_SHIFT & STATE_MASK {
            0 => State::Fresh,
            1 => State::Expanded,
            2 => State::Ended,
            3 => State::Repeated,
            _ => State::Gone,
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.tags.0 = self.tags.0 & !(STATE_MASK << STATE_SHIFT) | (state as u8) << STATE_SHIFT;
    }

    /// Returns the visits, those in flight included.
    #[inline]
    pub(super) fn visits_with_in_flight(&self) -> u32 {
        self.visits + u32::from(self.in_flight)
    }

    /// Returns the mean score of `side`. With n sides, the scores of a won game add up to 2 - n and those of
    /// a drawn game to 0, so the score of a fourth side follows from the others and the draw probability.
    #[inline]
    fn value(&self, side: Side) -> f32 {
        const LAST: usize = MAX_SIDES - 1;
        match self.values.get(side.index()) {
            Some(&value) => value,
            None => (1.0 - LAST as f32) * (1.0 - self.draw) - self.values.iter().sum::<f32>(),
        }
    }

    /// Returns the mean score of `side`, clamped to its proven bounds.
    #[inline]
    pub(super) fn score(&self, side: Side) -> f32 {
        let least = f32::from(self.bounds.least(side));
        let most = f32::from(self.bounds.most(side));
        self.value(side).clamp(least, most)
    }

    /// Returns the mean scores of `sides` sides, clamped to their proven bounds.
    pub(super) fn scores(&self, sides: usize) -> PerSide<f32> {
        PerSide::from_fn(|side| if side.index() < sides { self.score(side) } else { 0.0 })
    }

    /// Adds an evaluation to the means. After [`MEAN_WINDOW_VISITS`] visits these become exponential means,
    /// as an `f32` cannot add smaller parts.
    pub(super) fn add(&mut self, value: &PerSide<f32>, draw: f32, moves_left: f32) {
        self.visits = (self.visits + 1).min(MAX_VISITS);
        let weight = 1.0 / self.visits.min(MEAN_WINDOW_VISITS) as f32;
        for (nth, mean) in self.values.iter_mut().enumerate() {
            *mean += (value[Side::new(nth)] - *mean) * weight;
        }
        let score = value[self.turn()];
        self.square += (score * score - self.square) * weight;
        self.draw += (draw - self.draw) * weight;
        self.moves_left += (moves_left - self.moves_left) * weight;
    }

    /// Replaces the means.
    pub(super) fn set(&mut self, value: &PerSide<f32>, draw: f32, moves_left: f32) {
        self.values = std::array::from_fn(|nth| value[Side::new(nth)]);
        let score = value[self.turn()];
        self.square = score * score;
        self.draw = draw;
        self.moves_left = moves_left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_nodes_and_moves() {
        assert_eq!((size_of::<Node>(), size_of::<Slot>()), (64, 4));
    }

    #[test]
    fn means_follow_late_values_and_visits_saturate() {
        let edge = Edge { m: PackedMove(0), prior: Prior::new(1.0) };
        let mut node = Node::new(edge, 2);
        node.visits = MAX_VISITS - 1;
        let score = |score: f32| PerSide::from_fn(|side| [score, -score, 0.0, 0.0][side.index()]);
        node.set(&score(0.3), 0.0, 40.0);
        for _ in 0..2 * MEAN_WINDOW_VISITS {
            node.add(&score(0.2), 0.1, 30.0);
        }
        assert_eq!(node.visits, MAX_VISITS);
        assert!((0.2..0.22).contains(&node.value(Side::WHITE)), "{}", node.value(Side::WHITE));
        assert!((30.0..33.0).contains(&node.moves_left) && (0.08..0.11).contains(&node.draw));
    }

    #[test]
    fn priors_are_rounded_by_at_most_a_two_thousandth() {
        assert_eq!(Prior::new(0.0).get(), 0.0);
        assert_eq!(Prior::new(1.0).get(), 1.0);
        for n in 1..1000 {
            let prior = n as f32 / 1000.0;
            assert!((Prior::new(prior).get() / prior - 1.0).abs() < 0.0005);
        }
    }
}

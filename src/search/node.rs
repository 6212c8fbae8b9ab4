//! The tree's records: nodes of 60 bytes, edges of 4.

use super::bounds::Bounds;
use crate::rules::{PackedMove, PerSide, Side};

/// A node's place in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeId(pub(super) u32);

impl NodeId {
    pub(super) const ROOT: NodeId = NodeId(0);
    pub(super) const NONE: NodeId = NodeId(u32::MAX);

    pub(super) fn get(self) -> Option<NodeId> {
        (self != NodeId::NONE).then_some(self)
    }
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
}

/// A legal move that may have no node yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Edge {
    pub(super) m: PackedMove,
    pub(super) prior: Prior,
}

/// A position in the tree, which holds no board: it is reached by playing the moves to it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The mean score of each side, absolute.
    pub(super) value: PerSide<f32>,
    /// The mean probability of a draw.
    pub(super) draw: f32,
    /// The mean of the turns until the game ends.
    pub(super) moves_left: f32,
    /// How often the search came through here and found something.
    pub(super) visits: u32,
    pub(super) first_edge: u32,
    /// The newest child; the others follow through `next_sibling`.
    pub(super) first_child: NodeId,
    pub(super) next_sibling: NodeId,
    /// Edges, sorted by prior, the likeliest first.
    pub(super) edges: u16,
    /// How many of them have a child: always the first.
    pub(super) children: u16,
    /// Visits on their way.
    pub(super) in_flight: u16,
    /// The move that leads here, and its prior.
    pub(super) edge: Edge,
    pub(super) bounds: Bounds,
    pub(super) turn: Side,
    pub(super) state: State,
    /// Whether the move that leads here ended a turn.
    pub(super) turn_ended: bool,
}

/// How far a node has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nobody has looked at it.
    Fresh,
    /// Its moves are known.
    Expanded,
    /// The game ends in it, whatever came before; or how it will end is known for certain.
    Ended,
    /// It is drawn because the position stood before: true only in this search.
    Repeated,
}

impl Node {
    pub(super) fn new(edge: Edge, sides: usize) -> Node {
        Node {
            value: PerSide::all(0.0),
            draw: 0.0,
            moves_left: 0.0,
            visits: 0,
            first_edge: 0,
            first_child: NodeId::NONE,
            next_sibling: NodeId::NONE,
            edges: 0,
            children: 0,
            in_flight: 0,
            edge,
            bounds: Bounds::unknown(sides),
            turn: Side::WHITE,
            state: State::Fresh,
            turn_ended: true,
        }
    }

    /// The turns that the move to this node takes.
    pub(super) fn turns(&self) -> u8 {
        u8::from(self.turn_ended)
    }

    /// The mean score of `side`, within what is proven.
    pub(super) fn score(&self, side: Side) -> f32 {
        let (least, most) = (self.bounds.least(side), self.bounds.most(side));
        self.value[side].clamp(f32::from(least), f32::from(most))
    }

    /// Takes one more evaluation into the means.
    pub(super) fn add(&mut self, value: &PerSide<f32>, draw: f32, moves_left: f32, sides: usize) {
        self.visits += 1;
        let weight = 1.0 / self.visits as f32;
        for side in Side::all(sides) {
            self.value[side] += (value[side] - self.value[side]) * weight;
        }
        self.draw += (draw - self.draw) * weight;
        self.moves_left += (moves_left - self.moves_left) * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_fits_a_cache_line_and_an_edge_has_4_bytes() {
        assert_eq!((size_of::<Node>(), size_of::<Edge>()), (60, 4));
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

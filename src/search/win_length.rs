//! Search for the exact length of a proven win.
//!
//! When the root is proven to be won, descents follow the proof instead of PUCT until the shortest and the
//! longest length that is proven agree ([`ProofBounds::is_solved`](super::proof_bounds::ProofBounds)).

use super::node::{Node, NodeId, State};
use super::puct::NextNode;
use super::tree::Tree;
use crate::rules::Side;

/// The most nodes for which lengths are computed in one pass, which takes a tenth of a second without a look
/// at the clock. In a larger tree a won game is searched to the limits.
const MAX_NODES: usize = 200_000;

impl Tree {
    /// Returns the side that is proven to win at the root, if the length of its win is to be searched.
    pub(super) fn begin_length_search(&mut self) -> Option<Side> {
        let winner = self.root_node().bounds.winner()?;
        if !self.tracks_lengths && self.node_pool.len() <= MAX_NODES {
            self.compute_lengths();
        }
        if self.tracks_lengths { Some(winner) } else { None }
    }

    /// Returns the child through which more is learned of how soon `winner` wins. Where the winner moves:
    /// by PUCT among those that may win sooner than the shortest win known. Where the other side moves: the
    /// child with the longest resistance.
    pub(super) fn length_search_child(&self, id: NodeId, winner: Side) -> NextNode {
        let node = self.node(id);
        if node.turn() == winner {
            self.quicker_child(node, winner)
        } else {
            self.slowest_child(id)
        }
    }

    fn slowest_child(&self, id: NodeId) -> NextNode {
        let open = self.children_of(id).filter(|&child| !self.node(child).bounds.is_solved());
        let slowest = open.max_by_key(|&child| {
            let child = self.node(child);
            u16::from(child.bounds.longest().unwrap_or(u8::MAX)) + u16::from(child.turns())
        });
        slowest.map_or(NextNode::Nothing, NextNode::Child)
    }

    fn quicker_child(&self, node: &Node, winner: Side) -> NextNode {
        let known = u16::from(node.bounds.longest().unwrap_or(u8::MAX));
        let may_be_quicker = |child: &Node| {
            let shortest = child.bounds.shortest(winner).map(u16::from);
            shortest.is_some_and(|turns| turns + u16::from(child.turns()) < known)
        };
        let visits = node.visits_with_in_flight();
        let exploration = self.params.c_puct_at(visits) * (visits.max(1) as f32).sqrt();
        let mut best_score = f32::NEG_INFINITY;
        let mut best = NextNode::Nothing;
        for child_id in self.node_pool.children(node) {
            let child = self.node(child_id);
            if !may_be_quicker(child) || child.bounds.is_solved() {
                continue;
            }
            let value = if child.visits == 0 { 0.0 } else { child.score(winner) };
            let visits = child.visits_with_in_flight();
            let score = value + exploration * child.edge.prior.get() / (1 + visits) as f32;
            if score > best_score {
                best_score = score;
                best = NextNode::Child(child_id);
            }
        }
        let next_move = self.node_pool.slots(node).get(usize::from(node.children));
        if known > 1
            && let Some(slot) = next_move
            && exploration * slot.edge().prior.get() > best_score
        {
            return NextNode::NewChild;
        }
        best
    }

    /// Computes the shortest possible win of each side for every node, children first.
    ///
    /// Backups leave this undone until the root is decided: few nodes need it, and it would be most of the
    /// work. Lengths of an earlier search are dropped, because other positions were on its path.
    fn compute_lengths(&mut self) {
        self.tracks_lengths = true;
        let mut stack = vec![(self.root, false)];
        while let Some((id, children_done)) = stack.pop() {
            match self.node(id).state() {
                State::Expanded if children_done => {
                    let bounds = self.node(id).bounds.without_lengths();
                    self.node_mut(id).bounds = self.bounds_from_children(id).and(bounds);
                }
                State::Expanded => {
                    stack.push((id, true));
                    stack.extend(self.children_of(id).map(|child| (child, false)));
                }
                // A node whose moves were reclaimed.
                State::Fresh => {
                    let node = self.node_mut(id);
                    node.bounds = node.bounds.without_lengths();
                }
                State::Ended | State::Repeated | State::Gone => {}
            }
        }
    }
}

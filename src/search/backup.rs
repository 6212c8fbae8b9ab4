//! Backup: expansion of a leaf, and the update of means and proofs from the leaf to the root.

use super::node::{Edge, NodeId, Prior, Slot, State};
use super::proof_bounds::ProofBounds;
use super::proof_number::ProofNumbers;
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::nn::Evaluation;
use crate::rules::{PerSide, ProvenValue};

impl Tree {
    /// Backs up the evaluation of a leaf for which [`Tree::select`] returned
    /// [`Selection::NeedsEvaluation`].
    ///
    /// # Panics
    /// If the evaluation does not have a logit for each legal move of the leaf.
    pub fn backup(&mut self, leaf: &Leaf, evaluation: Evaluation<'_>) {
        assert_eq!(evaluation.logits.len(), leaf.legal.len());
        self.remove_virtual_visits(leaf);
        let Some(&id) = leaf.path.last() else { return };
        self.expand(id, leaf, evaluation);
        let mover = self.node(id).turn();
        let value = PerSide::from_fn(|side| {
            if side.index() < self.sides { evaluation.score(side, mover) } else { 0.0 }
        });
        let draw = evaluation.outcome.last().copied().unwrap_or(0.0);
        let moves_left = evaluation.moves_left.max(0.0);
        let bounds_changed = self.tracks_lengths;
        self.propagate(&leaf.path, value, draw, moves_left, bounds_changed);
        if id == self.root {
            self.open_root();
        }
    }

    /// Backs up a proven value in place of the evaluation of a leaf. The leaf becomes terminal.
    ///
    /// # Panics
    /// If the leaf is the root, which needs an evaluation to have moves to choose from.
    pub fn prove(&mut self, leaf: &Leaf, known: ProvenValue) {
        assert!(!leaf.is_root());
        self.cancel(leaf);
        let [.., parent, id] = leaf.path[..] else { return };
        // Without a proven length, the game is expected to last as long as before.
        let moves_left = self.node(parent).moves_left;
        let node = self.node_mut(id);
        node.bounds = ProofBounds::from_value(known, node.turn());
        node.set_state(State::Ended);
        node.moves_left = moves_left;
        node.draw = f32::from(u8::from(known.score == 0));
        self.terminal_backup(leaf, true);
    }

    /// Drops a leaf that is in flight.
    pub fn cancel(&mut self, leaf: &Leaf) {
        self.remove_virtual_visits(leaf);
    }

    /// Stores the moves of a node, those with the greatest priors first, if there is room for them.
    fn expand(&mut self, id: NodeId, leaf: &Leaf, evaluation: Evaluation<'_>) {
        let logits = evaluation.logits;
        // Rarely, other leaves in flight have taken the room.
        if !self.node_pool.make_room(logits.len()) {
            return;
        }
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = 1.0 / self.params.policy_temperature;
        let weight = |&logit: &f32| {
            if logit == highest { 1.0 } else { libm::expf((logit - highest) * scale) }
        };
        self.weights.clear();
        self.weights.extend(logits.iter().map(weight));
        let normalization = 1.0 / self.weights.iter().sum::<f32>();
        let moves = leaf.legal.iter().zip(&self.weights).enumerate();
        self.sort_keys.clear();
        self.sort_keys.extend(moves.map(|(nth, (m, weight))| {
            sort_key(nth, Edge { m: m.pack(), prior: Prior::new(weight * normalization) })
        }));
        self.sort_keys.sort_unstable();
        self.node_pool.set_slots(id, self.sort_keys.iter().map(|&key| Slot(key as u32)));
        let node = self.node_mut(id);
        node.set_state(State::Expanded);
        let bounds = node.bounds;
        self.node_mut(id).bounds = self.bounds_from_children(id).and(bounds);
    }

    /// Backs up a descent that ended in a position with a known outcome. `bounds_changed` is whether the
    /// outcome is new.
    pub(super) fn terminal_backup(&mut self, leaf: &Leaf, bounds_changed: bool) -> Selection {
        if let Some(&id) = leaf.path.last() {
            let node = self.node(id);
            let value = PerSide::from_fn(|side| {
                if node.bounds.is_decided() {
                    f32::from(node.bounds.least(side))
                } else if side.index() < self.sides {
                    node.score(side)
                } else {
                    0.0
                }
            });
            let length = node.bounds.longest().map_or(node.moves_left, f32::from);
            let draw = node.draw;
            self.propagate(&leaf.path, value, draw, length, bounds_changed);
        }
        Selection::Terminal
    }

    /// Adds a value at the end of `path` to the means of all its nodes, and updates bounds and proof numbers
    /// as far as they change. `bounds_changed` is whether the bounds of the last node changed.
    fn propagate(
        &mut self,
        path: &[NodeId],
        mut value: PerSide<f32>,
        mut draw: f32,
        mut moves_left: f32,
        mut bounds_changed: bool,
    ) {
        // The former proof numbers of the child, if they changed.
        let mut child_before = None;
        for (depth, &id) in path.iter().enumerate().rev() {
            if let Some(&child) = path.get(depth + 1) {
                bounds_changed = bounds_changed && self.update_bounds(id, child);
                self.refresh_candidates(id, child);
            }
            if self.sides == 2 && self.params.uses_proof_numbers() {
                let before = self.node(id).proof_numbers;
                let changed = match (path.get(depth + 1), child_before) {
                    (None, _) => self.recompute_proof_numbers(id),
                    (Some(&child), Some(before)) => self.update_proof_numbers(id, child, before),
                    (Some(_), None) => false,
                };
                child_before = changed.then_some(before);
            }
            let sides = self.sides;
            let bounds = self.node(id).bounds;
            if bounds.is_decided() {
                value = PerSide::from_fn(|side| {
                    if side.index() < sides { f32::from(bounds.least(side)) } else { 0.0 }
                });
                draw = f32::from(u8::from(bounds.winner().is_none()));
                moves_left = bounds.longest().map_or(moves_left, f32::from);
            }
            let node = self.node_mut(id);
            if bounds.is_decided() {
                // A proven value replaces the mean of earlier estimates.
                node.set(&value, draw, moves_left);
            }
            let is_first_visit = node.visits == 0;
            node.add(&value, draw, moves_left);
            let prior = node.edge.prior;
            moves_left += f32::from(node.turns());
            if is_first_visit && depth > 0 {
                let policy = &mut self.node_mut(path[depth - 1]).visited_policy;
                *policy = policy.saturating_add(prior.to_65535ths());
            }
        }
    }

    /// Recomputes the proof numbers of a node. Returns `true` if they changed.
    fn recompute_proof_numbers(&mut self, id: NodeId) -> bool {
        let new = self.proof_numbers_from_children(id);
        let old = std::mem::replace(&mut self.node_mut(id).proof_numbers, new);
        old != new
    }

    /// Updates the proof numbers of a node after those of `child` changed from `before`. Returns `true` if
    /// they changed.
    fn update_proof_numbers(&mut self, id: NodeId, child: NodeId, before: ProofNumbers) -> bool {
        let node = self.node(id);
        if node.bounds.is_decided() {
            return self.recompute_proof_numbers(id);
        }
        let now = self.node(child).proof_numbers;
        let has_unvisited = node.children < node.edges;
        let updated =
            node.proof_numbers.after_child_change(node.turn(), has_unvisited, before, now);
        let Some(new) = updated else { return self.recompute_proof_numbers(id) };
        let new = new.within(node.bounds);
        let old = std::mem::replace(&mut self.node_mut(id).proof_numbers, new);
        old != new
    }

    /// Returns the proof numbers of a node by those of its children.
    fn proof_numbers_from_children(&self, id: NodeId) -> ProofNumbers {
        let node = self.node(id);
        if node.state() != State::Expanded {
            return node.proof_numbers.within(node.bounds);
        }
        let children = self.children_of(id).map(|child| self.node(child).proof_numbers);
        ProofNumbers::of_parent(node.turn(), node.edges - node.children, children)
            .within(node.bounds)
    }

    /// Updates the bounds of a node after those of `child` changed. Returns `true` if the parent of the node
    /// must be updated, too.
    fn update_bounds(&mut self, id: NodeId, child: NodeId) -> bool {
        let node = self.node(id);
        let old = node.bounds;
        let mover = node.turn();
        // With unvisited moves left, only a better proven score for the mover changes anything.
        let open = node.children < node.edges && !old.is_decided() && !self.tracks_lengths;
        if open && self.node(child).bounds.least(mover) <= old.least(mover) {
            return false;
        }
        let new = self.bounds_from_children(id).and(old);
        let changed = if self.tracks_lengths { new != old } else { !new.same_outcomes(old) };
        let node = self.node_mut(id);
        node.bounds = new;
        if changed {
            node.candidates = 0;
        }
        changed
    }
}

/// Returns a key that sorts the moves of a node by descending prior and keeps the order of moves of equal
/// prior, so that the order is the same on every machine. Its low half is the slot. Sorting integers takes
/// half of the time of a stable sort of slots by prior.
fn sort_key(nth: usize, edge: Edge) -> u64 {
    let rank = u64::from(!edge.prior.bits()) << 48;
    rank | (nth as u64) << 32 | u64::from(Slot::from(edge).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use crate::nn::Uniform;
    use crate::rules::{Position, Side};
    use crate::search::{Params, Searcher};
    use crate::variant::Catalogue;

    #[test]
    fn proof_numbers_updated_stepwise_match_those_of_children() {
        for (game, fen, batch) in [
            ("chess", "r1b1kb1r/pppp1ppp/5q2/4n3/3KP3/2N3PN/PPP4P/R1BQ1B1R b kq - 0 1", 1),
            (
                "crazyhouse",
                "r3kb1r/ppp2ppp/2n1bn2/3qp3/8/2NPBN2/PPP1BPPP/R2QK2R[Pp] w KQkq - 0 9",
                4,
            ),
            ("duck", "rnbqkb1r/pppp1ppp/5n2/4p3/4P3/2*5/PPPP1PPP/RNBQKBNR w KQkq - 0 3", 2),
        ] {
            let variant = Catalogue::shipped().get(game).expect("shipped");
            let position = variant.position(fen, false).expect("a position");
            let mut evaluator = Uniform::new(Encoding::of(&position).shape());
            // So little memory that some is reclaimed.
            let mut tree = Tree::new(position, Params::without_network(), 1 << 18);
            let mut searcher = Searcher::new(&mut tree, &mut evaluator, batch);
            for _ in 0..3000 {
                searcher.step(8).expect("Uniform never fails");
            }
            let mut stack = vec![tree.root];
            let mut nodes = 0;
            while let Some(id) = stack.pop() {
                let node = tree.node(id);
                assert_eq!(node.proof_numbers, tree.proof_numbers_from_children(id), "{game}");
                stack.extend(tree.children_of(id));
                nodes += 1;
            }
            assert!(nodes > 500, "{game}: {nodes}");
        }
    }

    #[test]
    fn proof_numbers_of_small_trees() {
        let numbers = |text: &str, visits: u32| {
            let position = Position::test_tree(text, 2).expect("a game tree");
            let mut evaluator = Uniform::new(Encoding::of(&position).shape());
            let mut tree = Tree::new(position, Params::without_network(), 1 << 18);
            let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
            for _ in 0..visits {
                searcher.step(1).expect("Uniform never fails");
            }
            [0, 1].map(|side| tree.root_node().proof_numbers.get(Side::new(side)))
        };
        // The mover needs one of three moves, the other side all three.
        assert_eq!(numbers("a(b(ab=)b(a)b(a(b(ab))))", 1), [Some(1), Some(3)]);
        assert_eq!(numbers("a(b(=)b(=))", 50), [None, None]);
        assert_eq!(numbers("a(b(b)b(b))", 50), [None, Some(1)]);
    }
}

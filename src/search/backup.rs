//! The way back up: means and proofs from a leaf to the root.

use super::node::{Edge, NodeId, Prior, Slot, State};
use super::proof_bounds::ProofBounds;
use super::proof_number::ProofNumbers;
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::nn::Evaluation;
use crate::rules::{PerSide, ProvenValue};

impl Tree {
    /// Takes the evaluation of a leaf that [`Tree::select`] asked for.
    ///
    /// # Panics
    /// If the evaluation is of another position: it must have a logit for each legal move.
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
        self.climb(&leaf.path, value, draw, evaluation.moves_left.max(0.0), self.lengths);
        if id == self.root {
            self.open_root();
        }
    }

    /// Takes what is known for certain of a leaf that [`Tree::select`] asked an evaluation for, in
    /// its place. The leaf is not searched on.
    ///
    /// # Panics
    /// If the leaf is the root, which must be evaluated to have moves to choose from.
    pub fn prove(&mut self, leaf: &Leaf, known: ProvenValue) {
        assert!(!leaf.is_root());
        self.cancel(leaf);
        let [.., parent, id] = leaf.path[..] else { return };
        // If it is not known how long the game still takes, as long as was expected before.
        let moves_left = self.node(parent).moves_left;
        let node = self.node_mut(id);
        node.bounds = ProofBounds::known(known, node.turn());
        node.set_state(State::Ended);
        node.moves_left = moves_left;
        node.draw = f32::from(u8::from(known.score == 0));
        self.settle(leaf, true);
    }

    /// Gives up a leaf that [`Tree::select`] asked an evaluation for.
    pub fn cancel(&mut self, leaf: &Leaf) {
        self.remove_virtual_visits(leaf);
    }

    /// Writes the moves of a node, the likeliest first, if there is room for them.
    fn expand(&mut self, id: NodeId, leaf: &Leaf, evaluation: Evaluation<'_>) {
        let logits = evaluation.logits;
        // Leaves that waited at the same time have taken the room, which is rare.
        if !self.node_pool.make_room(logits.len()) {
            return;
        }
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = 1.0 / self.params.policy_temperature;
        let weight = |logit: f32| match logit == highest {
            true => 1.0,
            false => libm::expf((logit - highest) * scale),
        };
        self.weights.clear();
        self.weights.extend(logits.iter().map(|&logit| weight(logit)));
        let total = 1.0 / self.weights.iter().sum::<f32>();
        let edges = leaf.legal.iter().zip(&self.weights);
        let edges =
            edges.map(|(m, &weight)| Edge { m: m.pack(), prior: Prior::new(weight * total) });
        self.order.clear();
        self.order.extend(edges.enumerate().map(|(nth, edge)| sort_key(nth, edge)));
        self.order.sort_unstable();
        self.node_pool.set_slots(id, self.order.iter().map(|&key| Slot(key as u32)));
        let node = self.node_mut(id);
        node.set_state(State::Expanded);
        let bounds = node.bounds;
        self.node_mut(id).bounds = self.bounds_of(id).and(bounds);
    }

    /// Counts a descent that ended where the end is known; that it has just been found out is
    /// `news`.
    pub(super) fn settle(&mut self, leaf: &Leaf, news: bool) -> Selection {
        if let Some(&id) = leaf.path.last() {
            let node = self.node(id);
            let value = PerSide::from_fn(|side| match node.bounds.decided() {
                true => f32::from(node.bounds.least(side)),
                false if side.index() < self.sides => node.score(side),
                false => 0.0,
            });
            let length = node.bounds.longest().map_or(node.moves_left, f32::from);
            let draw = node.draw;
            self.climb(&leaf.path, value, draw, length, news);
        }
        Selection::Settled
    }

    /// Takes a value from the end of `path` into all its nodes, and proofs as far as they change;
    /// `news` says whether the bounds of the last node have changed.
    fn climb(
        &mut self,
        path: &[NodeId],
        value: PerSide<f32>,
        draw: f32,
        moves_left: f32,
        news: bool,
    ) {
        let (mut value, mut draw, mut moves_left) = (value, draw, moves_left);
        // What the child's proof_number was, as long as it changes.
        let mut proof_number = None;
        let mut news = news;
        for (depth, &id) in path.iter().enumerate().rev() {
            if let Some(&child) = path.get(depth + 1) {
                news = news && self.learn(id, child);
                self.notice(id, child);
            }
            if self.sides == 2 && self.params.weighs_effort() {
                let before = self.node(id).proof_number;
                let changed = match (path.get(depth + 1), proof_number) {
                    (None, _) => self.count_effort(id),
                    (Some(&child), Some(was)) => self.take_effort(id, child, was),
                    (Some(_), None) => false,
                };
                proof_number = changed.then_some(before);
            }
            let (sides, bounds) = (self.sides, self.node(id).bounds);
            let decided = bounds.decided();
            if decided {
                value = PerSide::from_fn(|side| {
                    if side.index() < sides { f32::from(bounds.least(side)) } else { 0.0 }
                });
                draw = f32::from(u8::from(bounds.winner().is_none()));
                moves_left = bounds.longest().map_or(moves_left, f32::from);
            }
            let node = self.node_mut(id);
            if decided {
                // What is proven is no mean: the earlier guesses count no more.
                node.set(&value, draw, moves_left);
            }
            let first = node.visits == 0;
            node.add(&value, draw, moves_left);
            let prior = node.edge.prior;
            moves_left += f32::from(node.turns());
            if let Some(&parent) = depth.checked_sub(1).filter(|_| first).and_then(|d| path.get(d))
            {
                let policy = &mut self.node_mut(parent).visited_policy;
                *policy = policy.saturating_add(prior.of_all());
            }
        }
    }

    /// Sets a node's proof_number anew; says whether it changed.
    fn count_effort(&mut self, id: NodeId) -> bool {
        let new = self.effort_of(id);
        let old = std::mem::replace(&mut self.node_mut(id).proof_number, new);
        old != new
    }

    /// Takes over that a child's proof_number was `before`; says whether its parent's changed.
    fn take_effort(&mut self, id: NodeId, child: NodeId, before: ProofNumbers) -> bool {
        let (node, now) = (self.node(id), self.node(child).proof_number);
        let unseen = node.children < node.edges;
        let stepped = node.proof_number.step(node.turn(), unseen, before, now);
        let Some(new) = stepped.filter(|_| !node.bounds.decided()) else {
            return self.count_effort(id);
        };
        let new = new.within(node.bounds);
        let old = std::mem::replace(&mut self.node_mut(id).proof_number, new);
        old != new
    }

    /// The proof_number of a node as its children have it.
    fn effort_of(&self, id: NodeId) -> ProofNumbers {
        let node = self.node(id);
        if node.state() != State::Expanded {
            return node.proof_number.within(node.bounds);
        }
        let children = self.children_of(id).map(|child| self.node(child).proof_number);
        ProofNumbers::of_parent(node.turn(), node.edges - node.children, children)
            .within(node.bounds)
    }

    /// Takes over what has become known of a child; says whether that is news for the parent.
    fn learn(&mut self, id: NodeId, child: NodeId) -> bool {
        let (node, child) = (self.node(id), self.node(child));
        let (old, mover) = (node.bounds, node.turn());
        // As long as there are moves that nobody has seen, all that counts is what is sure.
        let open = node.children < node.edges && !old.decided() && !self.lengths;
        if open && child.bounds.least(mover) <= old.least(mover) {
            return false;
        }
        let new = self.bounds_of(id).and(old);
        let node = self.node_mut(id);
        node.bounds = new;
        let news = if self.lengths { new != old } else { !new.ends_as(old) };
        if news {
            self.node_mut(id).candidates = 0;
        }
        news
    }

    /// Finds out how soon each side may win in every position, which climbing leaves undone as
    /// long as the root is not decided: few positions need it, and it would be most of the work.
    /// What an earlier search found of that is forgotten: other positions were on the way.
    pub(super) fn measure(&mut self) {
        self.lengths = true;
        let mut stack = vec![(self.root, false)];
        while let Some((id, done)) = stack.pop() {
            match self.node(id).state() {
                State::Expanded if done => {
                    let bounds = self.node(id).bounds.unmeasured();
                    self.node_mut(id).bounds = self.bounds_of(id).and(bounds);
                }
                State::Expanded => {
                    stack.push((id, true));
                    stack.extend(self.children_of(id).map(|child| (child, false)));
                }
                // Its moves were given up.
                State::Fresh => {
                    let node = self.node_mut(id);
                    node.bounds = node.bounds.unmeasured();
                }
                State::Ended | State::Repeated | State::Gone => {}
            }
        }
    }
}

/// Returns a number that sorts the moves of a node by falling prior, moves of equal prior as they were, so
/// that the order is the same on every machine. Its low half is the slot. Sorting whole numbers takes half
/// of the time of a stable sort of slots by prior.
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
    fn what_is_counted_step_by_step_is_what_the_children_have() {
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
            // Little memory, so that some is reclaimed.
            let mut tree = Tree::new(position, Params::blind(), 1 << 18);
            let mut searcher = Searcher::new(&mut tree, &mut evaluator, batch);
            for _ in 0..3000 {
                searcher.step(8).expect("Uniform never fails");
            }
            let mut stack = vec![tree.root];
            let mut seen = 0;
            while let Some(id) = stack.pop() {
                assert_eq!(tree.node(id).proof_number, tree.effort_of(id), "{game}");
                stack.extend(tree.children_of(id));
                seen += 1;
            }
            assert!(seen > 500, "{game}: {seen}");
        }
    }

    #[test]
    fn one_move_is_enough_for_the_mover_and_no_move_for_a_draw() {
        let left = |text: &str, visits: u32| {
            let position = Position::test_tree(text, 2).expect("a game tree");
            let mut evaluator = Uniform::new(Encoding::of(&position).shape());
            let mut tree = Tree::new(position, Params::blind(), 1 << 18);
            let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
            (0..visits).for_each(|_| _ = searcher.step(1).expect("Uniform never fails"));
            [0, 1].map(|side| tree.root_node().proof_number.left(Side::new(side)))
        };
        // One of three moves would do for a, and all three for b.
        assert_eq!(left("a(b(ab=)b(a)b(a(b(ab))))", 1), [Some(1), Some(3)]);
        assert_eq!(left("a(b(=)b(=))", 50), [None, None]);
        assert_eq!(left("a(b(b)b(b))", 50), [None, Some(1)]);
    }
}

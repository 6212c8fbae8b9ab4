//! The way back up: means and proofs from a leaf to the root.

use std::cmp::Reverse;

use super::bounds::Bounds;
use super::node::{Edge, NodeId, Prior, Slot, State};
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::evaluation::Evaluation;
use crate::rules::{PerSide, Value};

impl Tree {
    /// Takes the evaluation of a leaf that [`Tree::select`] asked for.
    ///
    /// # Panics
    /// If the evaluation is of another position: it must have a logit for each legal move.
    pub fn backup(&mut self, leaf: &Leaf, evaluation: Evaluation<'_>) {
        assert_eq!(evaluation.logits.len(), leaf.legal.len());
        self.arrive(leaf);
        let Some(&id) = leaf.path.last() else { return };
        self.expand(id, leaf, evaluation);
        let mover = self.node(id).turn;
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
    pub fn prove(&mut self, leaf: &Leaf, value: Value) {
        assert!(!leaf.is_root());
        self.cancel(leaf);
        let Some(&id) = leaf.path.last() else { return };
        let node = self.node_mut(id);
        node.bounds = Bounds::known(value, node.turn);
        node.state = State::Ended;
        node.draw = f32::from(u8::from(value == Value::Draw));
        self.settle(leaf, true);
    }

    /// Gives up a leaf that [`Tree::select`] asked an evaluation for.
    pub fn cancel(&mut self, leaf: &Leaf) {
        self.arrive(leaf);
    }

    /// Writes the moves of a node, the likeliest first, if there is room for them.
    fn expand(&mut self, id: NodeId, leaf: &Leaf, evaluation: Evaluation<'_>) {
        let logits = evaluation.logits;
        // Leaves that waited at the same time have taken the room, which is rare.
        if !self.arena.make_room(logits.len()) {
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
        self.arena.set_slots(id, edges.map(Slot::from));
        // Stable, so that equal priors keep the order of the moves on every machine.
        self.arena.slots_mut(id).sort_by_key(|slot| Reverse(slot.edge().prior));
        let node = self.node_mut(id);
        node.state = State::Expanded;
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
        let mut news = news;
        for (depth, &id) in path.iter().enumerate().rev() {
            if let Some(&child) = path.get(depth + 1) {
                news = news && self.learn(id, child);
                self.notice(id, child);
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
            let prior = node.edge.prior.get();
            moves_left += f32::from(node.turns());
            if let Some(&parent) = depth.checked_sub(1).filter(|_| first).and_then(|d| path.get(d))
            {
                let policy = &mut self.node_mut(parent).visited_policy;
                *policy = policy.saturating_add((prior * f32::from(u16::MAX)) as u16);
            }
        }
    }

    /// Takes over what has become known of a child; says whether that is news for the parent.
    fn learn(&mut self, id: NodeId, child: NodeId) -> bool {
        let (node, child) = (self.node(id), self.node(child));
        let (old, mover) = (node.bounds, node.turn);
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
    pub(super) fn measure(&mut self) {
        self.lengths = true;
        let mut stack = vec![(self.root, false)];
        while let Some((id, done)) = stack.pop() {
            if self.node(id).state != State::Expanded {
                continue;
            }
            if done {
                self.node_mut(id).bounds = self.bounds_of(id).and(self.node(id).bounds);
            } else {
                stack.push((id, true));
                stack.extend(self.children_of(id).map(|child| (child, false)));
            }
        }
    }
}

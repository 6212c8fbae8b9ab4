//! The way back up: means and proofs from a leaf to the root.

use std::cmp::Reverse;

use super::bounds::Bounds;
use super::node::{Edge, NodeId, Prior, State};
use super::select::{Leaf, Selection};
use super::tree::Tree;
use crate::evaluation::Evaluation;
use crate::rules::{PerSide, Side, Value};

impl Tree {
    /// Takes the evaluation of a leaf that [`Tree::select`] asked for.
    ///
    /// # Panics
    /// If the evaluation is of another position: it must have a logit for each legal move.
    pub fn backup(&mut self, leaf: &Leaf, evaluation: Evaluation<'_>) {
        assert_eq!(evaluation.logits.len(), leaf.legal.len());
        for &id in &leaf.path {
            self.nodes[id.0 as usize].in_flight -= 1;
        }
        let Some(&id) = leaf.path.last() else { return };
        self.expand(id, leaf, evaluation);
        let mover = self.node(id).turn;
        let value = PerSide::from_fn(|side| {
            if side.index() < self.sides { evaluation.score(side, mover) } else { 0.0 }
        });
        let draw = evaluation.outcome.last().copied().unwrap_or(0.0);
        self.climb(&leaf.path, value, draw, evaluation.moves_left.max(0.0));
        if id == NodeId::ROOT {
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
        self.settle(leaf);
    }

    /// Gives up a leaf that [`Tree::select`] asked an evaluation for.
    pub fn cancel(&mut self, leaf: &Leaf) {
        for &id in &leaf.path {
            self.nodes[id.0 as usize].in_flight -= 1;
        }
    }

    /// Writes the edges of a node, the likeliest first.
    fn expand(&mut self, id: NodeId, leaf: &Leaf, evaluation: Evaluation<'_>) {
        let first_edge = self.edges.len();
        let logits = evaluation.logits;
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = 1.0 / self.params.policy_temperature;
        let weight = |logit: f32| libm::expf((logit - highest) * scale);
        let total: f32 = logits.iter().map(|&logit| weight(logit)).sum();
        self.edges.extend(leaf.legal.iter().zip(logits).map(|(m, &logit)| {
            let prior = Prior::new(weight(logit) / total);
            Edge { m: m.pack(), prior }
        }));
        // Stable, so that equal priors keep the order of the moves on every machine.
        self.edges[first_edge..].sort_by_key(|edge| Reverse(edge.prior));
        let node = self.node_mut(id);
        node.first_edge = first_edge as u32;
        node.edges = leaf.legal.len() as u16;
        node.state = State::Expanded;
        self.node_mut(id).bounds = self.bounds_of(id);
    }

    /// Counts a descent that ended where the end is known.
    pub(super) fn settle(&mut self, leaf: &Leaf) -> Selection {
        if let Some(&id) = leaf.path.last() {
            let node = self.node(id);
            let value = PerSide::from_fn(|side| match node.bounds.decided() {
                true => f32::from(node.bounds.least(side)),
                false => node.value[side],
            });
            let length = node.bounds.longest().map_or(node.moves_left, f32::from);
            let draw = node.draw;
            self.climb(&leaf.path, value, draw, length);
        }
        Selection::Settled
    }

    /// Takes a value from the end of `path` into all its nodes, and proofs as far as they change.
    fn climb(&mut self, path: &[NodeId], value: PerSide<f32>, draw: f32, moves_left: f32) {
        let (mut value, mut draw, mut moves_left) = (value, draw, moves_left);
        // The last node's own bounds are up to date, and new if this is its first visit.
        let mut changed = path.last().is_some_and(|&id| self.node(id).visits == 0);
        for (steps, &id) in path.iter().rev().enumerate() {
            if steps > 0 && changed {
                let bounds = self.bounds_of(id);
                changed = bounds != self.node(id).bounds;
                self.node_mut(id).bounds = bounds;
            }
            let bounds = self.node(id).bounds;
            if bounds.decided() {
                value = PerSide::from_fn(|side| {
                    if side.index() < self.sides { f32::from(bounds.least(side)) } else { 0.0 }
                });
                draw = f32::from(u8::from(bounds.winner().is_none()));
                moves_left = bounds.longest().map_or(moves_left, f32::from);
            }
            let sides = self.sides;
            let node = self.node_mut(id);
            if bounds.decided() {
                // What is proven is no mean: the earlier guesses count no more.
                for side in Side::all(sides) {
                    node.value[side] = value[side];
                }
                (node.draw, node.moves_left) = (draw, moves_left);
            }
            node.add(&value, draw, moves_left, sides);
            moves_left += f32::from(node.turns());
        }
    }
}

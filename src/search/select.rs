//! Selection: the descent from the root to a position that needs an evaluation.

use super::node::{Edge, Node, NodeId, Prior, State};
use super::proof_bounds::ProofBounds;
use super::puct::NextNode;
use super::tree::Tree;
use crate::rules::{Move, MoveList, Outcome, PerSide, Position, Reason, Side};

/// A position that a descent reached, with its path. Reusing a leaf reuses its memory.
#[derive(Debug)]
pub struct Leaf {
    /// The position.
    pub position: Position,
    /// Its legal moves.
    pub legal: MoveList,
    /// The nodes from the root to the position.
    pub(super) path: Vec<NodeId>,
}

/// The result of a descent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection {
    /// The leaf needs an evaluation: pass it to [`Tree::backup`], or drop it with [`Tree::cancel`].
    NeedsEvaluation,
    /// The outcome of the leaf is known, and has been backed up.
    Terminal,
    /// The evaluation of the leaf is in flight for another descent.
    Collision,
    /// The tree has no room for another node: see [`Tree::reclaim`].
    Full,
}

impl Leaf {
    /// Returns a leaf for use with `tree`.
    pub fn new(tree: &Tree) -> Leaf {
        Leaf { position: tree.position.clone(), legal: MoveList::new(), path: Vec::new() }
    }

    /// Returns `true` if the leaf is the root of the search.
    pub fn is_root(&self) -> bool {
        self.path.len() == 1
    }
}

impl Tree {
    /// Descends from the root by PUCT.
    pub fn select(&mut self, leaf: &mut Leaf) -> Selection {
        self.select_from(leaf, None)
    }

    /// Descends from the root through `m`, then by PUCT. The root must have been evaluated.
    pub fn select_through(&mut self, leaf: &mut Leaf, m: Move) -> Selection {
        match self.child_by(m) {
            Some(child) => self.select_from(leaf, Some(child)),
            None => Selection::Collision,
        }
    }

    fn select_from(&mut self, leaf: &mut Leaf, mut forced: Option<NodeId>) -> Selection {
        leaf.position.clone_from(&self.position);
        leaf.path.clear();
        leaf.path.push(self.root);
        let mut turns = 0;
        let mut only_moves = self.params.only_moves as u32;
        let mut id = self.root;
        let mut winner = self.begin_length_search();
        loop {
            let bounds = self.node(id).bounds;
            if !bounds.is_decided() || !self.allowed.is_empty() {
                winner = None;
            }
            let open_length = if bounds.is_solved() { None } else { winner };
            // The root is searched even if its outcome is proven, to compare its moves.
            if bounds.is_decided() && open_length.is_none() && id != self.root {
                return self.terminal_backup(leaf, false);
            }
            let node = self.node(id);
            match node.state() {
                State::Expanded => {}
                State::Repeated if node.first_slot != self.search_number => {
                    self.reset_repetition(&leaf.path);
                }
                State::Ended | State::Repeated | State::Gone => {
                    return self.terminal_backup(leaf, false);
                }
                State::Fresh if node.in_flight > 0 => return Selection::Collision,
                State::Fresh => {}
            }
            if self.node(id).state() == State::Fresh {
                self.deepest = self.deepest.max(turns);
                if let Some(selection) = self.enter_leaf(leaf, id) {
                    return selection;
                }
                if only_moves == 0 || !self.expand_only_move(leaf, id) {
                    self.add_virtual_visits(leaf);
                    return Selection::NeedsEvaluation;
                }
                only_moves -= 1;
            }
            let next = match (forced.take(), open_length) {
                (Some(child), _) => NextNode::Child(child),
                (None, Some(winner)) => self.length_search_child(id, winner),
                (None, None) if id == self.root => {
                    self.halving_child().unwrap_or_else(|| self.puct(id))
                }
                (None, None) => self.puct(id),
            };
            let child = match next {
                NextNode::Child(child) => child,
                NextNode::NewChild => match self.add_child(id) {
                    Some(child) => child,
                    None => return Selection::Full,
                },
                NextNode::Nothing => return self.terminal_backup(leaf, false),
            };
            let node = self.node(child);
            self.node_pool.prefetch_slots(node);
            let Some(m) = node.edge.m.unpack() else { return self.terminal_backup(leaf, false) };
            leaf.position.play_unchecked(m);
            turns += usize::from(!leaf.position.mid_turn());
            leaf.path.push(child);
            id = child;
        }
    }

    /// Records the side to move of a new leaf, and its outcome if the game has ended. Returns `None` if there is room
    /// for its moves.
    fn enter_leaf(&mut self, leaf: &mut Leaf, id: NodeId) -> Option<Selection> {
        let position = &leaf.position;
        position.legal_moves(&mut leaf.legal);
        let mut outcome = position.outcome_given(&leaf.legal);
        if outcome.is_none() && id != self.root {
            outcome = position.claimable_outcome_in_search();
        }
        let turn = position.turn();
        let turn_ended = !position.mid_turn() || outcome.is_some();
        let can_pass = position.can_pass();
        let sides = self.sides;
        let search_number = self.search_number;
        let node = self.node_mut(id);
        node.set_turn(turn, turn_ended);
        node.set_can_pass(can_pass);
        if let Some(outcome) = outcome {
            set_outcome(node, outcome, sides, search_number);
            return Some(self.terminal_backup(leaf, true));
        }
        if !self.node_pool.make_room(leaf.legal.len()) {
            return Some(Selection::Full);
        }
        None
    }

    /// Expands a leaf without an evaluation if its side to move has a single option. The position after it has the
    /// same value and is closer to the end of an exchange. Returns `false` if there are more options, or if the leaf
    /// is the root, which is always evaluated.
    fn expand_only_move(&mut self, leaf: &Leaf, id: NodeId) -> bool {
        let &[m] = &leaf.legal[..] else { return false };
        if id == self.root || self.node(id).has_unvisited_options() {
            return false;
        }
        let edge = Edge { m: m.pack(), prior: Prior::new(1.0) };
        self.node_pool.set_slots(id, std::iter::once(edge.into()));
        self.node_mut(id).set_state(State::Expanded);
        true
    }

    /// Counts a visit in flight on each node of the path to `leaf`.
    pub(super) fn add_virtual_visits(&mut self, leaf: &Leaf) {
        for &id in &leaf.path {
            self.node_mut(id).in_flight += 1;
        }
    }

    /// Undoes [`Tree::add_virtual_visits`].
    pub(super) fn remove_virtual_visits(&mut self, leaf: &Leaf) {
        for &id in &leaf.path {
            self.node_mut(id).in_flight -= 1;
        }
        for pair in leaf.path.windows(2) {
            self.refresh_candidates(pair[0], pair[1]);
        }
    }

    /// Makes the last node of a path, a repetition in an earlier search, a fresh node again.
    fn reset_repetition(&mut self, path: &[NodeId]) {
        let Some((&id, ancestors)) = path.split_last() else { return };
        let node = self.node(id);
        let edge = node.edge;
        let visited = node.visits > 0;
        *self.node_mut(id) = Node::new(edge, self.sides);
        if visited && let Some(&parent) = ancestors.last() {
            let policy = &mut self.node_mut(parent).visited_policy;
            *policy = policy.saturating_sub(edge.prior.to_65535ths());
        }
    }
}

/// Makes a node terminal. A repetition depends on the path, so it counts in its search only and proves
/// nothing.
fn set_outcome(node: &mut Node, outcome: Outcome, sides: usize, search_number: u32) {
    if outcome.reason == Reason::Repetition {
        node.set_state(State::Repeated);
        node.first_slot = search_number;
    } else {
        node.set_state(State::Ended);
        node.bounds = ProofBounds::ended(outcome);
    }
    let score =
        |side: Side| if side.index() < sides { f32::from(outcome.score(side)) } else { 0.0 };
    node.set(&PerSide::from_fn(score), f32::from(u8::from(outcome.winner.is_none())), 0.0);
}

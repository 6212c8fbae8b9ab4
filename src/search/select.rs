//! The way down: from the root to a position that needs an evaluation.

use super::node::{Node, NodeId, State};
use super::proof_bounds::ProofBounds;
use super::puct::Next;
use super::tree::Tree;
use crate::rules::{Key, Move, MoveList, Outcome, PerSide, Position, Reason, Side};

/// A position the search has come to, with the way to it. Reused, it keeps its memory.
#[derive(Debug)]
pub struct Leaf {
    /// The position.
    pub position: Position,
    /// Its legal moves.
    pub legal: MoveList,
    /// The nodes from the root to it.
    pub(super) path: Vec<NodeId>,
}

/// What a descent ended in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection {
    /// The leaf needs an evaluation: give it to [`Tree::backup`], or give it up by
    /// [`Tree::cancel`].
    NeedsEvaluation,
    /// The game ends there, or its end is proven: taken into the tree already.
    Settled,
    /// Another descent is waiting for that leaf's evaluation.
    Collision,
    /// The tree has no room for another node: see [`Tree::reclaim`].
    Full,
}

/// The most nodes that are gone through at once to find out how soon sides win: a tenth of a second, in
/// which nobody looks at the clock. In a larger tree a won game is searched to the limits.
const MEASURED: usize = 200_000;

impl Leaf {
    /// A leaf for use with `tree`.
    pub fn new(tree: &Tree) -> Leaf {
        Leaf { position: tree.position.clone(), legal: MoveList::new(), path: Vec::new() }
    }

    /// Whether it is the position from which the search starts.
    pub fn is_root(&self) -> bool {
        self.path.len() == 1
    }

    /// The identity of the leaf's place in its tree: no two leaves that wait for an evaluation
    /// share one.
    pub fn id(&self) -> Key {
        Key(self.path.last().map_or(0, |id| u64::from(id.0)))
    }
}

impl Tree {
    /// Goes down from the root by PUCT.
    pub fn select(&mut self, leaf: &mut Leaf) -> Selection {
        self.select_from(leaf, None)
    }

    /// Goes down from the root through `m`, then by PUCT. The root must have been evaluated.
    pub fn select_through(&mut self, leaf: &mut Leaf, m: Move) -> Selection {
        match self.child_by(m) {
            Some(child) => self.select_from(leaf, Some(child)),
            None => Selection::Collision,
        }
    }

    fn select_from(&mut self, leaf: &mut Leaf, forced: Option<NodeId>) -> Selection {
        leaf.position.clone_from(&self.position);
        leaf.path.clear();
        leaf.path.push(self.root);
        let mut turns = 0;
        let mut id = self.root;
        let mut forced = forced;
        // A win that is proven at the root is searched on along its proof until its length is too.
        let winner = self.root_node().bounds.winner();
        if winner.is_some() && !self.lengths && self.node_pool.len() <= MEASURED {
            self.measure();
        }
        let mut settling = winner.filter(|_| self.lengths);
        loop {
            let (top, node) = (id == self.root, self.node(id));
            settling = settling.filter(|_| node.bounds.decided() && self.allowed.is_empty());
            let settles = settling.is_some() && !node.bounds.settled();
            // The root is searched though its end is known: its moves still differ.
            if node.bounds.decided() && !settles && !top {
                return self.settle(leaf, false);
            }
            match node.state() {
                State::Expanded => {}
                State::Repeated if node.first_slot != self.era => self.look_again(&leaf.path),
                State::Ended | State::Repeated | State::Gone => return self.settle(leaf, false),
                State::Fresh if node.in_flight > 0 => return Selection::Collision,
                State::Fresh => {}
            }
            if self.node(id).state() == State::Fresh {
                break;
            }
            let next = match (forced.take(), settling) {
                (Some(child), _) => Next::Child(child),
                (None, Some(winner)) if settles => self.settling_child(id, winner),
                _ if top => self.planned_child().unwrap_or_else(|| self.puct(id)),
                _ => self.puct(id),
            };
            let child = match next {
                Next::Child(child) => child,
                Next::NewChild => match self.add_child(id) {
                    Some(child) => child,
                    None => return Selection::Full,
                },
                Next::Nothing => return self.settle(leaf, false),
            };
            let node = self.node(child);
            self.node_pool.fetch_slots(node);
            let Some(m) = node.edge.m.unpack() else { return self.settle(leaf, false) };
            leaf.position.play_unchecked(m);
            turns += usize::from(!leaf.position.mid_turn());
            leaf.path.push(child);
            id = child;
        }
        self.deepest = self.deepest.max(turns);
        leaf.position.legal_moves(&mut leaf.legal);
        let ended = leaf.position.outcome_given(&leaf.legal);
        let ended = ended.or_else(|| leaf.position.claim_in_search().filter(|_| id != self.root));
        let (turn, turn_ended) = (leaf.position.turn(), !leaf.position.mid_turn());
        let waits = leaf.position.may_wait();
        let (sides, era) = (self.sides, self.era);
        let node = self.node_mut(id);
        node.set_turn(turn, turn_ended || ended.is_some());
        node.set_waits(waits);
        if let Some(outcome) = ended {
            end(node, outcome, sides, era);
            return self.settle(leaf, true);
        }
        if !self.node_pool.make_room(leaf.legal.len()) {
            return Selection::Full;
        }
        self.add_virtual_visits(leaf);
        Selection::NeedsEvaluation
    }

    /// Counts a visit that is on its way to `leaf`.
    pub(super) fn add_virtual_visits(&mut self, leaf: &Leaf) {
        for &id in &leaf.path {
            self.node_mut(id).in_flight += 1;
        }
    }

    /// Counts it no more.
    pub(super) fn remove_virtual_visits(&mut self, leaf: &Leaf) {
        for &id in &leaf.path {
            self.node_mut(id).in_flight -= 1;
        }
        for pair in leaf.path.windows(2) {
            self.notice(pair[0], pair[1]);
        }
    }

    /// Forgets that the position at the end of a path repeated another in an earlier search.
    fn look_again(&mut self, path: &[NodeId]) {
        let Some((&id, before)) = path.split_last() else { return };
        let node = self.node(id);
        let (edge, visited) = (node.edge, node.visits > 0);
        *self.node_mut(id) = Node::new(edge, self.sides);
        if let Some(&parent) = before.last().filter(|_| visited) {
            let policy = &mut self.node_mut(parent).visited_policy;
            *policy = policy.saturating_sub(edge.prior.of_all());
        }
    }

    /// The child through which more is learned of how soon `winner` wins: where it moves itself,
    /// one that may be sooner than the soonest known; where it does not, the one that holds out
    /// the longest.
    fn settling_child(&self, id: NodeId, winner: Side) -> Next {
        let node = self.node(id);
        if node.turn() != winner {
            let open = self.children_of(id).filter(|&child| !self.node(child).bounds.settled());
            let slowest = open.max_by_key(|&child| {
                let child = self.node(child);
                u16::from(child.bounds.longest().unwrap_or(u8::MAX)) + u16::from(child.turns())
            });
            return slowest.map_or(Next::Nothing, Next::Child);
        }
        let known = u16::from(node.bounds.longest().unwrap_or(u8::MAX));
        let may_be_sooner = |child: &Node| {
            let soonest = child.bounds.shortest(winner).map(u16::from);
            soonest.is_some_and(|turns| turns + u16::from(child.turns()) < known)
        };
        let visits = node.visits + u32::from(node.in_flight);
        let exploration = self.params.c_puct_at(visits) * (visits.max(1) as f32).sqrt();
        let mut best = (f32::NEG_INFINITY, Next::Nothing);
        for child_id in self.children_of(id) {
            let child = self.node(child_id);
            if !may_be_sooner(child) || child.bounds.settled() {
                continue;
            }
            let score = if child.visits == 0 { 0.0 } else { child.score(winner) };
            let waiting = child.visits + u32::from(child.in_flight);
            let total = score + exploration * child.edge.prior.get() / (1 + waiting) as f32;
            if total > best.0 {
                best = (total, Next::Child(child_id));
            }
        }
        let unborn = self.node_pool.slots(node).get(usize::from(node.children));
        if let Some(slot) = unborn.filter(|_| known > 1)
            && exploration * slot.edge().prior.get() > best.0
        {
            return Next::NewChild;
        }
        best.1
    }
}

fn end(node: &mut Node, outcome: Outcome, sides: usize, era: u32) {
    // That a position stood before is true of one way to it: it proves nothing.
    if outcome.reason == Reason::Repetition {
        node.set_state(State::Repeated);
        node.first_slot = era;
    } else {
        node.set_state(State::Ended);
        node.bounds = ProofBounds::ended(outcome);
    }
    let score =
        |side: Side| if side.index() < sides { f32::from(outcome.score(side)) } else { 0.0 };
    node.set(&PerSide::from_fn(score), f32::from(u8::from(outcome.winner.is_none())), 0.0);
}

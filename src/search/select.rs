//! The way down: from the root to a position that needs an evaluation.

use super::bounds::Bounds;
use super::node::{Node, NodeId, State};
use super::tree::Tree;
use crate::rules::{Key, Move, MoveList, Outcome, Position, Reason, Side};

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
    /// The tree has no room for another node.
    Full,
}

impl Leaf {
    /// A leaf for use with `tree`.
    pub fn new(tree: &Tree) -> Leaf {
        Leaf { position: tree.root.clone(), legal: MoveList::new(), path: Vec::new() }
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
        let m = m.pack();
        let child = self.children_of(NodeId::ROOT).find(|&id| self.node(id).edge.m == m);
        match child {
            Some(child) => self.select_from(leaf, Some(child)),
            None => Selection::Collision,
        }
    }

    fn select_from(&mut self, leaf: &mut Leaf, forced: Option<NodeId>) -> Selection {
        leaf.position.clone_from(&self.root);
        leaf.path.clear();
        leaf.path.push(NodeId::ROOT);
        let mut turns = 0;
        let mut id = NodeId::ROOT;
        let mut forced = forced;
        // A win that is proven at the root is searched on along its proof until its length is too.
        let mut settling = self.nodes[0].bounds.winner();
        loop {
            let node = self.node(id);
            match node.state {
                State::Expanded => {}
                State::Ended | State::Repeated => return self.settle(leaf),
                State::Fresh if node.in_flight > 0 => return Selection::Collision,
                State::Fresh => break,
            }
            settling = settling.filter(|_| node.bounds.decided());
            let next = match forced.take() {
                Some(child) => Next::Child(child),
                None if id == NodeId::ROOT && !self.allowed.is_empty() => self.puct(id),
                None => match settling {
                    Some(winner) if !node.bounds.settled() => self.settling_child(id, winner),
                    // The root is searched though its end is known: its moves still differ.
                    _ if node.bounds.decided() && id != NodeId::ROOT => return self.settle(leaf),
                    _ => self.puct(id),
                },
            };
            let child = match next {
                Next::Child(child) => child,
                Next::NewChild => {
                    if self.nodes.len() >= self.limit.0 {
                        return Selection::Full;
                    }
                    self.add_child(id)
                }
                Next::Nothing => return self.settle(leaf),
            };
            let Some(m) = self.node(child).edge.m.unpack() else { return self.settle(leaf) };
            leaf.position.play_unchecked(m);
            turns += usize::from(!leaf.position.mid_turn());
            leaf.path.push(child);
            id = child;
        }
        self.deepest = self.deepest.max(turns);
        leaf.position.legal_moves(&mut leaf.legal);
        if self.edges.len() + leaf.legal.len() > self.limit.1 && id != NodeId::ROOT {
            return Selection::Full;
        }
        let ended = leaf.position.outcome_given(&leaf.legal);
        let ended =
            ended.or_else(|| leaf.position.claim_in_search().filter(|_| id != NodeId::ROOT));
        let (turn, turn_ended) = (leaf.position.turn(), !leaf.position.mid_turn());
        let sides = self.sides;
        let node = self.node_mut(id);
        node.turn = turn;
        node.turn_ended = turn_ended || ended.is_some();
        if let Some(outcome) = ended {
            end(node, outcome, sides);
            return self.settle(leaf);
        }
        for &id in &leaf.path {
            self.nodes[id.0 as usize].in_flight += 1;
        }
        Selection::NeedsEvaluation
    }

    /// The child with the greatest PUCT score that can still matter.
    fn puct(&self, id: NodeId) -> Next {
        let node = self.node(id);
        let mover = node.turn;
        let visits = node.visits + u32::from(node.in_flight);
        let exploration = self.params.c_puct_at(visits) * (visits.max(1) as f32).sqrt();
        let restricted = id == NodeId::ROOT && !self.allowed.is_empty();
        // What is proven worse than another move is left out, unless the choice is restricted.
        let (sure, hopeless) = match (node.bounds.least(mover), node.bounds.most(mover)) {
            _ if restricted => (-1, -2),
            (sure, -1) => (sure, -2),
            (sure, _) => (sure, -1),
        };
        let mut best = (f32::NEG_INFINITY, Next::Nothing);
        let mut visited_policy = 0.0;
        // All unvisited moves are worth the same, so the likeliest stands for all of them; those
        // whose evaluation is awaited share their prior with it.
        let (mut unvisited, mut awaited) = ((-1.0, Next::Nothing), (-1.0, Next::Nothing));
        for child_id in self.children_of(id) {
            let child = self.node(child_id);
            let prior = child.edge.prior.get();
            if restricted && child.edge.m.unpack().is_none_or(|m| !self.allowed.contains(&m)) {
                continue;
            }
            let most = child.bounds.most(mover);
            if most < sure || most <= hopeless {
                visited_policy += prior;
                continue;
            }
            if child.visits == 0 {
                // Children come newest first, and the likelier ones are the older.
                let (group, weight) = match child.in_flight {
                    0 => (&mut unvisited, prior),
                    n => (&mut awaited, prior / (1 + n) as f32),
                };
                if weight >= group.0 {
                    *group = (weight, Next::Child(child_id));
                }
                continue;
            }
            visited_policy += prior;
            let score = child.score(mover);
            let longer = child.moves_left + f32::from(child.turns()) - node.moves_left;
            let waiting = child.visits + u32::from(child.in_flight);
            let total = score
                + self.params.length_utility(score, longer)
                + exploration * prior / (1 + waiting) as f32;
            if total > best.0 {
                best = (total, Next::Child(child_id));
            }
        }
        if node.children < node.edges {
            let edge = self.edges[node.first_edge as usize + usize::from(node.children)];
            if edge.prior.get() > unvisited.0 {
                unvisited = (edge.prior.get(), Next::NewChild);
            }
        }
        let reduction = self.params.fpu_reduction * visited_policy.max(0.0).sqrt();
        let worth = (node.score(mover) - reduction).max(f32::from(sure));
        for (weight, next) in [unvisited, awaited] {
            let total = worth + exploration * weight;
            if next != Next::Nothing && total > best.0 {
                best = (total, next);
            }
        }
        best.1
    }

    /// The child through which more is learned of how soon `winner` wins: where it moves itself,
    /// one that may be sooner than the soonest known; where it does not, the one that holds out
    /// the longest.
    fn settling_child(&self, id: NodeId, winner: Side) -> Next {
        let node = self.node(id);
        if node.turn != winner {
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
        if node.children < node.edges && known > 1 {
            let edge = self.edges[node.first_edge as usize + usize::from(node.children)];
            if exploration * edge.prior.get() > best.0 {
                return Next::NewChild;
            }
        }
        best.1
    }
}

/// Where a descent goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Child(NodeId),
    NewChild,
    Nothing,
}

fn end(node: &mut Node, outcome: Outcome, sides: usize) {
    node.bounds = Bounds::ended(outcome);
    node.state = match outcome.reason {
        Reason::Repetition => State::Repeated,
        _ => State::Ended,
    };
    for side in Side::all(sides) {
        node.value[side] = f32::from(outcome.score(side));
    }
    node.draw = f32::from(u8::from(outcome.winner.is_none()));
}

//! The results of a search: root moves in order of preference, and their principal variations.

use std::cmp::Ordering;

use super::node::{Node, NodeId, State};
use super::proof_bounds::ProofBounds;
use super::tree::{RootHalving, Tree};
use crate::rules::{Move, PerSide, Side};

/// The proven result of a position for one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// Nothing is proven.
    Open,
    /// A win in at most this number of turns.
    Won(u8),
    /// A draw.
    Drawn,
    /// A loss, in at most this number of turns if the winner is known.
    Lost(Option<u8>),
}

/// A root move with its search results.
#[derive(Clone, PartialEq, Debug)]
pub struct RootMove {
    /// The move.
    pub m: Move,
    /// Its prior, after noise and temperature.
    pub prior: f32,
    /// The number of its visits.
    pub visits: u32,
    /// The expected score of each side after it, or at the root if it has no visits.
    pub value: PerSide<f32>,
    /// The probability of a draw after it.
    pub draw: f32,
    /// The expected number of turns until the end of the game, that of the move included.
    pub moves_left: f32,
    /// The proven result for the side to move at the root.
    pub proof: Proof,
}

/// A principal variation.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its first move.
    pub choice: RootMove,
    /// All its plies.
    pub moves: Vec<Move>,
}

impl Tree {
    /// Returns the root moves that may be played, the best first.
    pub fn root_moves(&self) -> Vec<RootMove> {
        let root = self.root_node();
        let children = self.ranked(self.root).into_iter().filter_map(|id| {
            let child = self.node(id);
            let visited = child.visits > 0;
            let m = child.edge.m.unpack()?;
            let source = if visited { child } else { root };
            Some(RootMove {
                m,
                prior: child.edge.prior.get(),
                visits: child.visits,
                value: source.scores(self.sides),
                draw: source.draw,
                moves_left: source.moves_left
                    + if visited { f32::from(child.turns()) } else { 0.0 },
                proof: proof(child.bounds, self.mover(), child.turns()),
            })
        });
        children
            .filter(|root_move| self.allowed.is_empty() || self.allowed.contains(&root_move.m))
            .collect()
    }

    /// Returns the children of the root that may be played, with their moves, in the order of their nodes.
    pub(super) fn root_children(&self) -> impl Iterator<Item = (NodeId, Move)> + '_ {
        self.children_of(self.root).filter_map(|id| {
            let m = self.node(id).edge.m.unpack()?;
            (self.allowed.is_empty() || self.allowed.contains(&m)).then_some((id, m))
        })
    }

    /// Returns the proven result of the root for its side to move.
    pub fn proof(&self) -> Proof {
        proof(self.root_node().bounds, self.mover(), 0)
    }

    /// Returns the expected score of each side at the root.
    pub fn value(&self) -> PerSide<f32> {
        self.root_node().scores(self.sides)
    }

    /// Returns the expected number of turns until the end of the game, at the root.
    pub fn moves_left(&self) -> f32 {
        self.root_node().moves_left
    }

    /// Returns the `count` best lines, the best first.
    pub fn lines(&self, count: usize) -> Vec<Line> {
        self.root_moves().into_iter().take(count).map(|choice| self.line(choice)).collect()
    }

    fn line(&self, choice: RootMove) -> Line {
        let mut moves = vec![choice.m];
        let mut next = self.child_by(choice.m);
        while let Some(id) = next {
            next = self.best_child(id);
            moves.extend(next.and_then(|id| self.node(id).edge.m.unpack()));
        }
        Line { choice, moves }
    }

    /// Returns the best child of a node, if it has visits.
    fn best_child(&self, id: NodeId) -> Option<NodeId> {
        if self.node(id).state() != State::Expanded {
            return None;
        }
        self.ranked(id).first().copied().filter(|&id| self.node(id).visits > 0)
    }

    /// Returns the children of a node, the best first: proven wins by length, then open moves by visits or
    /// lower confidence bound, then proven losses, the longest first. A proven draw precedes a first move
    /// that scores less or cannot do better.
    fn ranked(&self, id: NodeId) -> Vec<NodeId> {
        let mover = self.node(id).turn();
        let visits = self.children_of(id).map(|id| self.node(id).visits);
        let ranking = Ranking {
            tree: self,
            halving: if id == self.root { self.root_halving.as_ref() } else { None },
            mover,
            draw: self.draw_value(mover),
            lcb: self.params.lcb,
            min_visits: visits.max().unwrap_or(0) / MIN_VISITS_DIVISOR,
        };
        let mut children: Vec<_> = self.children_of(id).collect();
        children.sort_by(|&a, &b| ranking.compare(b, a));
        if let Some(&first) = children.first() {
            let first = self.node(first);
            let most = first.bounds.most(mover);
            let may_lose = first.bounds.least(mover) < 0;
            let is_worse_than_draw = most == 0 || ranking.value(first) < ranking.draw;
            if may_lose
                && is_worse_than_draw
                && most > -1
                && first.visits > 0
                && let Some(draw) = children.iter().position(|&id| self.node(id).bounds.is_draw())
            {
                children[..=draw].rotate_right(1);
            }
        }
        children
    }
}

/// A move can be chosen by its lower confidence bound if it has more than the greatest number of visits
/// divided by this.
const MIN_VISITS_DIVISOR: u32 = 8;

/// The order of the children of a node.
struct Ranking<'a> {
    tree: &'a Tree,
    /// The sequential halving of the root, if the node is the root and its visits were planned.
    halving: Option<&'a RootHalving>,
    mover: Side,
    /// The value of a draw for the mover.
    draw: f32,
    lcb: f32,
    /// A child needs more visits than this to be chosen by its bound.
    min_visits: u32,
}

impl Ranking<'_> {
    fn value(&self, child: &Node) -> f32 {
        child.score(self.mover) + self.draw * child.draw
    }

    /// Returns the lower confidence bound of a child's score, if it has enough visits: the mean minus `lcb`
    /// standard deviations. The variance is that of a game result with the same WDL.
    fn bound(&self, child: &Node) -> Option<f32> {
        let score = child.score(self.mover);
        let variance = (1.0 - child.draw - score * score).max(0.0);
        let deviation = (variance / child.visits as f32).sqrt();
        (child.visits > self.min_visits).then(|| self.value(child) - self.lcb * deviation)
    }

    /// Compares two children. The better one is the greater.
    fn compare(&self, a: NodeId, b: NodeId) -> Ordering {
        let mover = self.mover;
        // A move that was considered longer by sequential halving is better.
        let rank = |id| self.halving.and_then(|halving| halving.rank(id)).unwrap_or(usize::MAX);
        let by_halving = rank(b).cmp(&rank(a));
        let a = self.tree.node(a);
        let b = self.tree.node(b);
        let by_bound = || match (self.bound(a), self.bound(b)) {
            _ if self.lcb == 0.0 => Ordering::Equal,
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        let class = ProofClass::of(a, mover);
        class
            .cmp(&ProofClass::of(b, mover))
            .then_with(|| match class {
                ProofClass::Won => proven_length(b).cmp(&proven_length(a)),
                ProofClass::Lost => proven_length(a).cmp(&proven_length(b)),
                ProofClass::Open => by_halving.then_with(by_bound),
            })
            .then_with(|| a.visits.cmp(&b.visits))
            .then_with(|| self.value(a).total_cmp(&self.value(b)))
            .then_with(|| a.edge.prior.cmp(&b.edge.prior))
            .then_with(|| b.edge.m.0.cmp(&a.edge.m.0))
    }
}

/// The proven result of a child for the mover, the worst first. A draw counts as open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ProofClass {
    Lost,
    Open,
    Won,
}

impl ProofClass {
    fn of(child: &Node, mover: Side) -> ProofClass {
        if child.bounds.least(mover) == 1 {
            ProofClass::Won
        } else if child.bounds.most(mover) == -1 {
            ProofClass::Lost
        } else {
            ProofClass::Open
        }
    }
}

/// Returns the greatest number of turns to the proven win, that of the move to `child` included.
fn proven_length(child: &Node) -> u16 {
    u16::from(child.bounds.longest().unwrap_or(u8::MAX)) + u16::from(child.turns())
}

/// Returns the proven result for `mover` of a position after `turns` turns.
fn proof(bounds: ProofBounds, mover: Side, turns: u8) -> Proof {
    let longest = bounds.longest().map(|longest| longest.saturating_add(turns));
    if bounds.least(mover) == 1 {
        longest.map_or(Proof::Open, Proof::Won)
    } else if bounds.most(mover) == -1 {
        Proof::Lost(longest)
    } else if bounds.is_decided() {
        Proof::Drawn
    } else {
        Proof::Open
    }
}

//! What the search would play, and what it thinks of it.

use std::cmp::Ordering;

use super::node::{Node, NodeId, State};
use super::plan::Plan;
use super::proof_bounds::ProofBounds;
use super::tree::Tree;
use crate::rules::{Move, MoveList, PerSide, Position, Side};

/// What is proven of a position, for one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// Nothing.
    Open,
    /// It is won in at most so many turns.
    Won(u8),
    /// Nobody wins.
    Drawn,
    /// It is lost in at most so many turns, if against one winner.
    Lost(Option<u8>),
}

/// One move of the root and what the search knows of it.
#[derive(Clone, PartialEq, Debug)]
pub struct RootMove {
    /// The move.
    pub m: Move,
    /// Its prior, after noise and temperature.
    pub prior: f32,
    /// How often it was searched.
    pub visits: u32,
    /// The expected score of each side after it; of the root itself where it was never searched.
    pub value: PerSide<f32>,
    /// The probability of a draw after it.
    pub draw: f32,
    /// The turns until the end of the game, that of the move included.
    pub moves_left: f32,
    /// What is proven for the mover.
    pub proof: Proof,
}

/// A line of play from the root: its first move's choice, and the moves that follow.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// What is known of its first move.
    pub choice: RootMove,
    /// All its moves, ply by ply.
    pub moves: Vec<Move>,
}

impl Tree {
    /// The moves of the root that may be chosen, the best first.
    pub fn root_moves(&self) -> Vec<RootMove> {
        let root = self.root_node();
        let children = self.ranked(self.root).into_iter().filter_map(|id| {
            let child = self.node(id);
            let searched = child.visits > 0;
            let m = child.edge.m.unpack()?;
            let source = if searched { child } else { root };
            Some(RootMove {
                m,
                prior: child.edge.prior.get(),
                visits: child.visits,
                value: source.scores(self.sides),
                draw: source.draw,
                moves_left: source.moves_left
                    + if searched { f32::from(child.turns()) } else { 0.0 },
                proof: proof(child.bounds, self.mover(), child.turns()),
            })
        });
        let allowed =
            |choice: &RootMove| self.allowed.is_empty() || self.allowed.contains(&choice.m);
        children.filter(allowed).collect()
    }

    /// What is proven of the root, for the side to move there.
    pub fn proof(&self) -> Proof {
        proof(self.root_node().bounds, self.mover(), 0)
    }

    /// The expected score of each side at the root.
    pub fn value(&self) -> PerSide<f32> {
        self.root_node().scores(self.sides)
    }

    /// The turns until the end of the game, as expected at the root.
    pub fn moves_left(&self) -> f32 {
        self.root_node().moves_left
    }

    /// The `count` best lines, the best first.
    pub fn lines(&self, count: usize) -> Vec<Line> {
        let choices = self.root_moves().into_iter().take(count);
        choices
            .map(|choice| {
                let mut moves = vec![choice.m];
                let mut next = self.child_by(choice.m);
                while let Some(id) = next {
                    next = self.best_child(id);
                    moves.extend(next.and_then(|id| self.node(id).edge.m.unpack()));
                }
                Line { choice, moves }
            })
            .collect()
    }

    /// The best child of a node that has been searched.
    fn best_child(&self, id: NodeId) -> Option<NodeId> {
        let expanded = self.node(id).state() == State::Expanded;
        let first = expanded.then(|| self.ranked(id)).and_then(|ranked| ranked.first().copied());
        first.filter(|&id| self.node(id).visits > 0)
    }

    /// The children of a node, the best first: proven wins by length, then by visits or bound,
    /// proven losses last, the longest first. A proven draw goes before a favourite that scores
    /// less or can do no better.
    fn ranked(&self, id: NodeId) -> Vec<NodeId> {
        let mover = self.node(id).turn();
        let visits = self.children_of(id).map(|id| self.node(id).visits);
        let ranking = Ranking {
            tree: self,
            planned: self.plan.as_ref().filter(|_| id == self.root),
            mover,
            draw: self.draw_value(mover),
            lcb: self.params.lcb,
            enough: visits.max().unwrap_or(0) / ENOUGH,
        };
        let mut children: Vec<_> = self.children_of(id).collect();
        children.sort_by(|&a, &b| ranking.compare(b, a));
        let drawn = |child: &Node| child.bounds.decided() && child.bounds.winner().is_none();
        if let Some(&first) = children.first() {
            let first = self.node(first);
            let (least, most) = (first.bounds.least(mover), first.bounds.most(mover));
            // It cannot win, or does not look like it, and is not sure to be drawn either.
            let behind = least < 0 && (most == 0 || ranking.worth(first) < ranking.draw);
            let draw = children.iter().position(|&id| drawn(self.node(id)));
            if let Some(draw) = draw.filter(|_| behind && most > -1 && first.visits > 0) {
                children[..=draw].rotate_right(1);
            }
        }
        children
    }
}

/// A move's mean is believed enough to choose by if it has this part of the most visits.
const ENOUGH: u32 = 8;

/// How the children of a node are compared.
struct Ranking<'a> {
    tree: &'a Tree,
    /// How the root's visits were spread, if not by PUCT.
    planned: Option<&'a Plan>,
    mover: Side,
    /// What a draw is worth to the mover.
    draw: f32,
    lcb: f32,
    /// Visits that a child must have to be chosen by its bound.
    enough: u32,
}

impl Ranking<'_> {
    fn worth(&self, child: &Node) -> f32 {
        child.score(self.mover) + self.draw * child.draw
    }

    /// The lower confidence bound of a child's score, if it has visits enough: the mean less so
    /// many of its deviations, as those of a game's result with the same chances are.
    fn bound(&self, child: &Node) -> Option<f32> {
        let score = child.score(self.mover);
        let variance = (1.0 - child.draw - score * score).max(0.0);
        let deviation = (variance / child.visits as f32).sqrt();
        (child.visits > self.enough).then(|| self.worth(child) - self.lcb * deviation)
    }

    /// Which of two children is better, the greater being the better.
    fn compare(&self, a: NodeId, b: NodeId) -> Ordering {
        let mover = self.mover;
        // Whoever has come further in the plan is better; whoever has come as far, by its order.
        let place = |id| self.planned.and_then(|plan| plan.rank(id)).unwrap_or(usize::MAX);
        let by_plan = place(b).cmp(&place(a));
        let (a, b) = (self.tree.node(a), self.tree.node(b));
        let class = |child: &Node| match (child.bounds.least(mover), child.bounds.most(mover)) {
            (1, _) => 2,
            (_, -1) => 0,
            _ => 1,
        };
        let length = |child: &Node| {
            let longest = child.bounds.longest().unwrap_or(u8::MAX);
            i16::from(longest) + i16::from(child.turns())
        };
        let by_bound = || match (self.bound(a), self.bound(b)) {
            _ if self.lcb == 0.0 => Ordering::Equal,
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        class(a)
            .cmp(&class(b))
            .then_with(|| match class(a) {
                2 => length(b).cmp(&length(a)),
                0 => length(a).cmp(&length(b)),
                _ => by_plan.then_with(by_bound),
            })
            .then_with(|| a.visits.cmp(&b.visits))
            .then_with(|| self.worth(a).total_cmp(&self.worth(b)))
            .then_with(|| a.edge.prior.cmp(&b.edge.prior))
            .then_with(|| b.edge.m.0.cmp(&a.edge.m.0))
    }
}

fn proof(bounds: ProofBounds, mover: Side, turns: u8) -> Proof {
    let longest = bounds.longest().map(|longest| longest.saturating_add(turns));
    if bounds.least(mover) == 1 {
        longest.map_or(Proof::Open, Proof::Won)
    } else if bounds.most(mover) == -1 {
        Proof::Lost(longest)
    } else if bounds.decided() {
        Proof::Drawn
    } else {
        Proof::Open
    }
}

impl Line {
    /// Splits the line into whole turns, from `root` on; a last turn that is not whole is left out.
    pub fn turns(&self, root: &Position) -> Vec<MoveList> {
        let mut position = root.clone();
        let (mut turns, mut turn) = (Vec::new(), MoveList::new());
        for &m in &self.moves {
            turn.push(m);
            position.play_unchecked(m);
            if !position.mid_turn() {
                turns.push(std::mem::take(&mut turn));
            }
        }
        turns
    }
}

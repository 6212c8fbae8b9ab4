//! PUCT: selects the child with which a descent continues.
//!
//! Scoring all children at every visit would take most of the time of a search. A visit changes the value of
//! one child only, and the scores of the others only through the exploration weight. So a node keeps a few
//! candidates and a bound on the scores of all other children. While the best candidate is not below the
//! bound, only the candidates are scored. The choice is that of plain PUCT, except for ties and for the game
//! length, which has the value of the last full pass.

use super::node::{Bound, Node, NodeId, Slot};
use super::params::Params;
use super::tree::Tree;
use crate::rules::Side;

/// The continuation of a descent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextNode {
    Child(NodeId),
    /// The next move without a node.
    NewChild,
    /// There is no move that can still matter.
    Nothing,
}

/// The greatest number of candidates of a node, new children included.
const MAX_CANDIDATES: u8 = 12;
/// The number of candidates after a pass over all children.
const BEST_CHILDREN: usize = 8;

/// The greatest difference of equal scores by rounding.
const TIE: f32 = 1e-5;

impl Node {
    /// Makes the newest child a candidate. The caller has moved it behind the others.
    pub(super) fn add_candidate(&mut self) {
        if self.candidates == 0 && self.children > 1 {
            return;
        }
        if self.children == 1 {
            self.rest = Bound::NONE;
        }
        // Above the limit, the next visit scores all children again.
        self.candidates = if self.candidates < MAX_CANDIDATES { self.candidates + 1 } else { 0 };
    }
}

/// The part of the PUCT formula that is the same for all children of a node.
struct Chooser<'a> {
    params: &'a Params,
    mover: Side,
    /// The value of a draw for the mover.
    draw: f32,
    moves_left: f32,
    /// The exploration weight.
    weight: f32,
    /// The value of an unvisited child (FPU).
    first_play: f32,
    /// The proven least score of the mover. Children that are proven worse are skipped.
    proven_least: i8,
    /// Children whose proven greatest score is this are skipped.
    hopeless: i8,
}

/// The score of the `nth` child, and its slope: the factor of the exploration weight in it.
#[derive(Clone, Copy)]
struct Scored {
    score: f32,
    slope: f32,
    nth: usize,
}

impl Chooser<'_> {
    /// Returns the score of a child, or `None` if it is proven worse than another move. Inlined because a
    /// call would cost as much as the computation.
    #[inline(always)]
    fn score(&self, child: &Node, nth: usize) -> Option<Scored> {
        let most = child.bounds.most(self.mover);
        if most < self.proven_least || most <= self.hopeless {
            return None;
        }
        let visits = child.visits_with_in_flight();
        let mut prior = child.edge.prior.get();
        let mut value = if child.visits == 0 {
            self.first_play
        } else {
            let score = child.score(self.mover);
            let longer = child.moves_left + f32::from(child.turns()) - self.moves_left;
            score + self.draw * child.draw + self.params.length_utility(score, longer)
        };
        if self.params.uses_proof_numbers()
            && let Some(number) = child.proof_numbers.get(self.mover)
        {
            prior += self.params.proof_prior / f32::from(number);
            value += self.params.proof_bonus / (1 + number.ilog2()) as f32;
        }
        let slope = prior / (1 + visits) as f32;
        Some(Scored { score: value + self.weight * slope, slope, nth })
    }
}

impl Tree {
    fn chooser(&self, node: &Node, restricted: bool) -> Chooser<'_> {
        let mover = node.turn();
        let visits = node.visits_with_in_flight();
        // Moves that are proven worse than another one are skipped, unless the root moves are restricted.
        let proven_least = if restricted { -1 } else { node.bounds.least(mover) };
        let hopeless = if restricted || node.bounds.most(mover) == -1 { -2 } else { -1 };
        let visited_policy = f32::from(node.visited_policy) / f32::from(u16::MAX);
        let reduction = self.params.fpu_reduction * visited_policy.sqrt();
        let draw = self.draw_value(mover);
        let value = node.score(mover) + draw * node.draw;
        let mut weight = self.params.c_puct_at(visits) * (visits.max(1) as f32).sqrt();
        if self.params.c_puct_deviation > 0.0 {
            weight *= self.params.deviation_factor(node.visits, node.score(mover), node.square);
        }
        Chooser {
            params: &self.params,
            mover,
            draw,
            moves_left: node.moves_left,
            weight,
            first_play: (value - reduction).max(f32::from(proven_least)),
            proven_least,
            hopeless,
        }
    }

    /// Returns the child with the greatest score.
    pub(super) fn puct(&mut self, id: NodeId) -> NextNode {
        let node = self.node(id);
        let restricted = id == self.root && !self.allowed.is_empty();
        let slots = self.node_pool.slots(node);
        let children = usize::from(node.children);
        let candidates = usize::from(node.candidates);
        let scored_children = if candidates > 0 { candidates } else { children };
        // Children are scattered in memory: load them while the chooser is computed.
        self.node_pool.prefetch_children(&slots[..scored_children]);
        let chooser = self.chooser(node, restricted);
        // All moves without a node have the same value, so the first, with the greatest prior, is the best.
        let new_child_score = slots.get(children).map_or(f32::NEG_INFINITY, |slot| {
            chooser.first_play + chooser.weight * slot.edge().prior.get()
        });
        let scored = |nth: usize| chooser.score(self.node(slots[nth].child()), nth);

        if candidates > 0 && !restricted {
            let best = (0..candidates).filter_map(scored).reduce(better);
            let score = best.map_or(f32::NEG_INFINITY, |best| best.score);
            if score.max(new_child_score) + TIE >= node.rest.at(chooser.weight) {
                return next_of(best, new_child_score, slots);
            }
        }

        let mut top = BestChildren::default();
        let mut all_visited = true;
        for (nth, slot) in slots[..children].iter().enumerate() {
            let child = self.node(slot.child());
            let forbidden = || child.edge.m.unpack().is_none_or(|m| !self.allowed.contains(&m));
            if restricted && forbidden() {
                continue;
            }
            all_visited &= child.visits > 0;
            if let Some(scored) = chooser.score(child, nth) {
                top.add(scored);
            }
        }
        let weight = chooser.weight;
        let next = next_of(top.first(), new_child_score, slots);
        // The value of an unvisited child changes with that of its parent, which the bound does not cover;
        // and restrictions of the root change between searches.
        if all_visited && !restricted {
            self.set_candidates(id, &top, weight);
        }
        next
    }

    /// Moves the best children to the front of a node's slots, and sets the bound on the others.
    fn set_candidates(&mut self, id: NodeId, top: &BestChildren, weight: f32) {
        let mut best = top.best;
        let best = &mut best[..top.len];
        best.sort_unstable_by_key(|scored| scored.nth);
        let slots = self.node_pool.slots_mut(id);
        for (to, scored) in best.iter().enumerate() {
            slots.swap(to, scored.nth);
        }
        let node = self.node_mut(id);
        node.candidates = best.len() as u8;
        node.rest = top.rest(weight);
    }

    /// Drops the candidates of `parent` if `child`, which changed, is not one of them.
    pub(super) fn refresh_candidates(&mut self, parent: NodeId, child: NodeId) {
        let node = self.node(parent);
        let candidates = usize::from(node.candidates);
        if candidates > 0 && candidates < usize::from(node.children) {
            let candidates = &self.node_pool.slots(node)[..candidates];
            if !candidates.iter().any(|slot| slot.child() == child) {
                self.node_mut(parent).candidates = 0;
            }
        }
    }
}

/// Returns the continuation, given the best child and the score of the next move without a node.
fn next_of(best: Option<Scored>, new_child_score: f32, slots: &[Slot]) -> NextNode {
    match best {
        Some(best) if best.score >= new_child_score => NextNode::Child(slots[best.nth].child()),
        _ if new_child_score > f32::NEG_INFINITY => NextNode::NewChild,
        _ => NextNode::Nothing,
    }
}

/// Returns the child with the greater score, the first of equals.
fn better(a: Scored, b: Scored) -> Scored {
    if b.score > a.score { b } else { a }
}

/// The best children by descending score, and bounds on all others.
struct BestChildren {
    best: [Scored; BEST_CHILDREN],
    len: usize,
    /// The greatest score and the greatest slope of all others.
    others: Option<Scored>,
}

impl Default for BestChildren {
    fn default() -> BestChildren {
        let none = Scored { score: 0.0, slope: 0.0, nth: 0 };
        BestChildren { best: [none; BEST_CHILDREN], len: 0, others: None }
    }
}

impl BestChildren {
    fn add(&mut self, new: Scored) {
        let place = self.best[..self.len].iter().rposition(|old| old.score >= new.score);
        let place = place.map_or(0, |nth| nth + 1);
        if self.len == BEST_CHILDREN {
            let out = if place == BEST_CHILDREN { new } else { self.best[BEST_CHILDREN - 1] };
            let others = self.others.get_or_insert(out);
            others.score = others.score.max(out.score);
            others.slope = others.slope.max(out.slope);
            if place == BEST_CHILDREN {
                return;
            }
        }
        self.len = (self.len + 1).min(BEST_CHILDREN);
        self.best.copy_within(place..self.len - 1, place + 1);
        self.best[place] = new;
    }

    fn first(&self) -> Option<Scored> {
        self.best[..self.len].first().copied()
    }

    /// Returns the bound on all other children: a greater weight adds at most the greatest slope.
    fn rest(&self, weight: f32) -> Bound {
        self.others.map_or(Bound::NONE, |others| Bound::new(others.score, others.slope, weight))
    }
}

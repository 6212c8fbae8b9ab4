//! PUCT: which child a descent goes on to.
//!
//! To look at every child at every visit is what a search would spend most of its time on. A visit
//! changes the value of one child only, and moves the others' scores by the weight of exploration
//! alone, so that a node remembers a few candidates, and a bound on what all others are worth. As
//! long as the best candidate is not below it, nobody else needs to be looked at. The choice is
//! the same but for ties, and for the length of the game, which counts as it was when all were
//! looked at last.

use super::node::{Bound, Node, NodeId};
use super::params::Params;
use super::tree::Tree;
use crate::rules::Side;

/// Where a descent goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Child(NodeId),
    NewChild,
    Nothing,
}

/// The most candidates of a node, new children included.
const MOST: u8 = 12;
/// As many are taken when all children are looked at.
const TAKEN: usize = 8;

/// What rounding may make of equal scores.
const TIE: f32 = 1e-5;

impl Bound {
    const NONE: Bound = Bound { level: f32::NEG_INFINITY, slope: 0.0 };

    fn at(self, weight: f32) -> f32 {
        self.level + weight * self.slope
    }
}

impl Node {
    /// Counts the newest child among the candidates, where it stands now.
    pub(super) fn admit(&mut self) {
        if self.candidates == 0 && self.children > 1 {
            return;
        }
        if self.children == 1 {
            self.rest = Bound::NONE;
        }
        // With too many, it is not known any more who the best are.
        self.candidates = if self.candidates < MOST { self.candidates + 1 } else { 0 };
    }
}

/// What is the same for all children of a node.
struct Chooser<'a> {
    params: &'a Params,
    mover: Side,
    /// What a draw is worth to the mover.
    draw: f32,
    moves_left: f32,
    /// What the prior weighs.
    weight: f32,
    /// What a child without visits is worth.
    first_play: f32,
    /// What the mover is sure of.
    sure: i8,
    /// What no child that matters is confined to.
    hopeless: i8,
}

/// A child's score, and the part of it that is multiplied by the weight of the prior.
#[derive(Clone, Copy)]
struct Scored {
    score: f32,
    slope: f32,
    nth: usize,
}

impl Chooser<'_> {
    /// The score of a child; `None` if it is proven worse than another move. A call for each would
    /// cost as much as the score.
    #[inline(always)]
    fn score(&self, child: &Node, nth: usize) -> Option<Scored> {
        let most = child.bounds.most(self.mover);
        if most < self.sure || most <= self.hopeless {
            return None;
        }
        let waiting = child.visits + u32::from(child.in_flight);
        let mut prior = child.edge.prior.get();
        let mut value = if child.visits == 0 {
            self.first_play
        } else {
            let score = child.score(self.mover);
            let longer = child.moves_left + f32::from(child.turns()) - self.moves_left;
            score + self.draw * child.draw + self.params.length_utility(score, longer)
        };
        if self.params.weighs_effort()
            && let Some(left) = child.proof_number.left(self.mover)
        {
            prior += self.params.proof_prior / f32::from(left);
            value += self.params.proof_bonus / (1 + left.ilog2()) as f32;
        }
        let slope = prior / (1 + waiting) as f32;
        Some(Scored { score: value + self.weight * slope, slope, nth })
    }
}

impl Tree {
    fn chooser(&self, node: &Node, restricted: bool) -> Chooser<'_> {
        let mover = node.turn();
        let visits = node.visits + u32::from(node.in_flight);
        // What is proven worse than another move is left out, unless the choice is restricted.
        let (sure, hopeless) = match (node.bounds.least(mover), node.bounds.most(mover)) {
            _ if restricted => (-1, -2),
            (sure, -1) => (sure, -2),
            (sure, _) => (sure, -1),
        };
        let visited_policy = f32::from(node.visited_policy) / f32::from(u16::MAX);
        let reduction = self.params.fpu_reduction * visited_policy.sqrt();
        let draw = self.draw_value(mover);
        let worth = node.score(mover) + draw * node.draw;
        Chooser {
            params: &self.params,
            mover,
            draw,
            moves_left: node.moves_left,
            weight: self.params.c_puct_at(visits) * (visits.max(1) as f32).sqrt(),
            first_play: (worth - reduction).max(f32::from(sure)),
            sure,
            hopeless,
        }
    }

    /// The child with the greatest score that can still matter.
    pub(super) fn puct(&mut self, id: NodeId) -> Next {
        let node = self.node(id);
        let restricted = id == self.root && !self.allowed.is_empty();
        let slots = self.node_pool.slots(node);
        let children = usize::from(node.children);
        let looked_at = if node.candidates > 0 { usize::from(node.candidates) } else { children };
        // They lie anywhere in memory, and are on their way while the chooser is made.
        self.node_pool.fetch_children(&slots[..looked_at]);
        let chooser = self.chooser(node, restricted);
        // All moves without a child are worth the same, so the likeliest stands for all of them.
        let unborn = slots.get(children).map_or(f32::NEG_INFINITY, |slot| {
            chooser.first_play + chooser.weight * slot.edge().prior.get()
        });
        let scored = |nth: usize| chooser.score(self.node(slots[nth].child()), nth);

        let candidates = usize::from(node.candidates);
        if candidates > 0 && !restricted {
            let best = (0..candidates).filter_map(scored).reduce(better);
            let score = best.map_or(f32::NEG_INFINITY, |best| best.score);
            if score.max(unborn) + TIE >= node.rest.at(chooser.weight) {
                return match best {
                    Some(best) if best.score >= unborn => Next::Child(slots[best.nth].child()),
                    _ if unborn > f32::NEG_INFINITY => Next::NewChild,
                    _ => Next::Nothing,
                };
            }
        }

        let mut top = Top::default();
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
        let next = match top.best() {
            Some(best) if best.score >= unborn => Next::Child(slots[best.nth].child()),
            _ if unborn > f32::NEG_INFINITY => Next::NewChild,
            _ => Next::Nothing,
        };
        // What a child without visits is worth changes with its parent's value, which no bound
        // foresees; and what the root may choose from changes from one search to the next.
        if all_visited && !restricted {
            self.take_candidates(id, &top, weight);
        }
        next
    }

    fn take_candidates(&mut self, id: NodeId, top: &Top, weight: f32) {
        let mut taken = top.taken;
        let taken = &mut taken[..top.len];
        taken.sort_unstable_by_key(|scored| scored.nth);
        let slots = self.node_pool.slots_mut(id);
        for (place, scored) in taken.iter().enumerate() {
            slots.swap(place, scored.nth);
        }
        let node = self.node_mut(id);
        node.candidates = taken.len() as u8;
        node.rest = top.rest(weight);
    }

    /// Sees to it that a change in `child` is noticed when its parent is next gone through.
    pub(super) fn notice(&mut self, parent: NodeId, child: NodeId) {
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

/// Of two children the one with the greater score; of equals the first.
fn better(a: Scored, b: Scored) -> Scored {
    if b.score > a.score { b } else { a }
}

/// The best children, the best first, and what all others are worth at most.
struct Top {
    taken: [Scored; TAKEN],
    len: usize,
    others: Option<Scored>,
}

impl Default for Top {
    fn default() -> Top {
        Top { taken: [Scored { score: 0.0, slope: 0.0, nth: 0 }; TAKEN], len: 0, others: None }
    }
}

impl Top {
    fn add(&mut self, new: Scored) {
        let place = self.taken[..self.len].iter().rposition(|old| old.score >= new.score);
        let place = place.map_or(0, |nth| nth + 1);
        if self.len == TAKEN {
            let out = if place == TAKEN { new } else { self.taken[TAKEN - 1] };
            let others = self.others.get_or_insert(out);
            others.score = others.score.max(out.score);
            others.slope = others.slope.max(out.slope);
            if place == TAKEN {
                return;
            }
        }
        self.len = (self.len + 1).min(TAKEN);
        self.taken.copy_within(place..self.len - 1, place + 1);
        self.taken[place] = new;
    }

    fn best(&self) -> Option<Scored> {
        self.taken[..self.len].first().copied()
    }

    /// The bound on all that was not taken: none of them gains more by a greater weight than the
    /// one with the steepest slope.
    fn rest(&self, weight: f32) -> Bound {
        self.others.map_or(Bound::NONE, |others| Bound {
            level: others.score - weight * others.slope,
            slope: others.slope,
        })
    }
}

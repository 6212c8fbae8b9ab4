//! Gumbel planning at the root: sequential halving, and the policy that follows from its scores.
//!
//! Source: Danihelka et al. 2022, "Policy improvement by planning with Gumbel". [`Gumbel`] is the search of
//! self-play, with noise and a fixed number of visits; its schedule is that of DeepMind's mctx.
//! [`Tree::begin_halving`] and [`Tree::continue_halving`] are sequential halving in play, without noise, for a search of unknown
//! length.

use rand::{Rng, RngExt};

use super::node::{Node, NodeId};
use super::params::GumbelParams;
use super::puct::NextNode;
use super::tree::{RootHalving, Tree};
use crate::rules::{Move, Side};

/// Sequential halving over the root moves with Gumbel noise, for a given number of visits.
///
/// It is created after the root has been evaluated and gives the root move of each next visit.
#[derive(Clone, Debug)]
pub struct Gumbel {
    params: GumbelParams,
    moves: Vec<Candidate>,
    /// For each visit, the number of visits that its move must have had before.
    schedule: Vec<usize>,
    /// The number of visits given out.
    spent: usize,
    /// The moves, by their index, that had as many visits as the next one must have had when they were last ranked,
    /// the best last. A round visits each of them once, or the best of them if a phase begins; so they are ranked
    /// once a round, which would take a tenth of the time of self-play if it were done for each visit.
    ranked: Vec<usize>,
    /// The number of visits that the ranked moves had.
    ranked_visits: usize,
    /// The score of the root for the side to move, before the search.
    root_score: f32,
}

/// A root move in self-play.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    m: Move,
    /// The child of the root; the search does not drop these nodes.
    child: NodeId,
    /// The logit of the policy plus Gumbel noise.
    logit: f32,
    /// The number of visits given out to the move.
    visits: usize,
}

impl Gumbel {
    /// Returns a search of `tree`'s root, which must have been evaluated.
    pub fn new(tree: &Tree, params: GumbelParams, rng: &mut impl Rng) -> Gumbel {
        let moves: Vec<_> = tree
            .root_children()
            .map(|(child, m)| {
                let logit = logit(tree.node(child).edge.prior.get()) + noise(rng);
                Candidate { m, child, logit, visits: 0 }
            })
            .collect();
        let schedule = schedule(considered(params, moves.len()), params.visits);
        let root_score = tree.value()[tree.mover()];
        let ranked = Vec::new();
        Gumbel { params, moves, schedule, spent: 0, ranked, ranked_visits: 0, root_score }
    }

    /// Returns the move to search next, or `None` if all visits are given out.
    pub fn next(&mut self, tree: &Tree) -> Option<Move> {
        let visits = *self.schedule.get(self.spent)?;
        if self.ranked.is_empty() || self.ranked_visits != visits {
            self.rank(tree, visits);
        }
        let nth = self.ranked.pop()?;
        self.spent += 1;
        self.moves[nth].visits += 1;
        Some(self.moves[nth].m)
    }

    /// Returns the move to play: the best of those with the most visits.
    pub fn chosen(&self, tree: &Tree) -> Option<Move> {
        let most = self.moves.iter().map(|candidate| candidate.visits).max()?;
        let best = self.with_visits(tree, most).max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(self.moves[best.0].m)
    }

    /// Ranks the moves that were given `visits` visits by the sum of logit and score.
    fn rank(&mut self, tree: &Tree, visits: usize) {
        let mut ranked: Vec<_> = self.with_visits(tree, visits).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        self.ranked.clear();
        self.ranked.extend(ranked.iter().map(|&(nth, _)| nth));
        self.ranked_visits = visits;
    }

    /// Returns the moves that were given `visits` visits, by their index, with the sums of logit and score.
    fn with_visits(&self, tree: &Tree, visits: usize) -> impl Iterator<Item = (usize, f32)> {
        let scores = WeightedScores::new(tree, self.root_score, self.params);
        let moves = self.moves.iter().enumerate();
        moves
            .filter(move |(_, candidate)| candidate.visits == visits)
            .map(move |(nth, candidate)| (nth, candidate.logit + scores.of(candidate.child)))
    }
}

impl Tree {
    /// Distributes the root's visits by sequential halving until the next search begins: see
    /// [`Tree::continue_halving`].
    pub fn begin_halving(&mut self, params: GumbelParams) {
        self.root_halving =
            Some(RootHalving { params, considered: Vec::new(), initially_considered: 0 });
    }

    /// Drops root moves from sequential halving when its next phase begins. `fraction`, from 0 to 1, is the
    /// part of the search that is over.
    ///
    /// A search of n root moves has log2(n) phases of equal length, with half as many moves in each; the
    /// last phase has two moves. At the end one is left. Does nothing without [`Tree::begin_halving`].
    pub fn continue_halving(&mut self, fraction: f32) {
        if self.is_empty() {
            return;
        }
        let Some(mut halving) = self.root_halving.take() else { return };
        let begins = halving.initially_considered == 0;
        if begins {
            halving.initially_considered = considered(halving.params, self.root_moves().len());
        }
        let phases = phase_count(halving.initially_considered);
        let phase = (fraction.clamp(0.0, 1.0) * phases as f32) as u32;
        let wanted = (halving.initially_considered >> phase.min(phases)).max(1);
        if begins || halving.considered.len() > wanted {
            let mut logits = improved_logits(self, halving.params);
            // A stable sort keeps the order of equal logits on every machine.
            logits.sort_by(|a, b| b.1.total_cmp(&a.1));
            halving.considered = logits
                .iter()
                .filter_map(|&(m, _)| self.child_by(m))
                .filter(|id| begins || halving.considered.contains(id))
                .take(wanted)
                .collect();
        }
        self.root_halving = Some(halving);
    }

    /// Returns the considered move with the fewest visits whose outcome is not proven. `None` without
    /// sequential halving.
    pub(super) fn halving_child(&self) -> Option<NextNode> {
        let considered = &self.root_halving.as_ref()?.considered;
        let open = considered.iter().filter(|&&id| !self.node(id).bounds.is_decided());
        open.min_by_key(|&&id| self.node(id).visits_with_in_flight()).map(|&id| NextNode::Child(id))
    }
}

impl RootHalving {
    /// Returns the rank of a root move among those considered, 0 for the best.
    pub(super) fn rank(&self, id: NodeId) -> Option<usize> {
        self.considered.iter().position(|&considered| considered == id)
    }
}

/// Returns the policy improved by the search: each root move with its probability, a softmax of the sums of
/// logits and weighted scores. Unvisited moves get the mixed value of the paper. Sums to 1.
pub fn improved_policy(tree: &Tree, params: GumbelParams) -> Vec<(Move, f32)> {
    let mut policy = improved_logits(tree, params);
    let highest = policy.iter().map(|&(_, logit)| logit).fold(f32::NEG_INFINITY, f32::max);
    for (_, logit) in &mut policy {
        *logit = libm::expf(*logit - highest);
    }
    let total: f32 = policy.iter().map(|&(_, weight)| weight).sum();
    for (_, weight) in &mut policy {
        *weight /= total;
    }
    policy
}

/// Returns the logits of [`improved_policy`].
fn improved_logits(tree: &Tree, params: GumbelParams) -> Vec<(Move, f32)> {
    let scores = WeightedScores::new(tree, tree.value()[tree.mover()], params);
    tree.root_children()
        .map(|(child, m)| (m, logit(tree.node(child).edge.prior.get()) + scores.of(child)))
        .collect()
}

fn logit(prior: f32) -> f32 {
    libm::logf(prior.max(1e-9))
}

/// Returns a sample of the standard Gumbel distribution.
fn noise(rng: &mut impl Rng) -> f32 {
    -(-rng.random::<f32>().max(1e-20).ln()).max(1e-20).ln()
}

/// The scores of root moves for the side to move, game length included, in logits. A move without visits gets
/// the mixed value (equation 33 of the paper).
struct WeightedScores<'a> {
    tree: &'a Tree,
    mover: Side,
    /// The number of turns left at the root.
    moves_left: f32,
    /// The value of moves without visits.
    mixed: f32,
    /// The factor of a score between 0 and 1.
    weight: f32,
}

impl<'a> WeightedScores<'a> {
    /// Returns the scores of `tree`'s root moves. `root_score` is the score of the root before the search.
    fn new(tree: &'a Tree, root_score: f32, params: GumbelParams) -> WeightedScores<'a> {
        let mut scores = WeightedScores {
            tree,
            mover: tree.mover(),
            moves_left: tree.moves_left(),
            mixed: root_score,
            weight: 0.0,
        };
        let [mut visits, mut policy, mut sum] = [0.0f32; 3];
        let mut most = 0;
        for (child, _) in tree.root_children() {
            let child = tree.node(child);
            if child.visits > 0 {
                visits += child.visits as f32;
                policy += child.edge.prior.get();
                sum += child.edge.prior.get() * scores.of_visited(child);
                most = most.max(child.visits);
            }
        }
        let mean = if policy > 0.0 { sum / policy } else { root_score };
        scores.mixed = (root_score + visits * mean) / (1.0 + visits);
        scores.weight = (params.c_visit + most as f32) * params.c_scale;
        scores
    }

    /// Returns the weighted score of a child of the root.
    fn of(&self, child: NodeId) -> f32 {
        let child = self.tree.node(child);
        let score = if child.visits > 0 { self.of_visited(child) } else { self.mixed };
        self.weight * (score + 1.0) / 2.0
    }

    /// Returns the score of a visited child, -1 to 1 without the utility of length.
    fn of_visited(&self, child: &Node) -> f32 {
        let value = child.scores(self.tree.sides)[self.mover];
        let moves_left = child.moves_left + f32::from(child.turns());
        value + self.tree.params.length_utility(value, moves_left - self.moves_left)
    }
}

/// Returns the number of moves that sequential halving starts with.
fn considered(params: GumbelParams, moves: usize) -> usize {
    params.considered.clamp(1, moves.max(1))
}

/// Returns the number of phases of sequential halving over `considered` moves: log2, rounded up.
fn phase_count(considered: usize) -> u32 {
    considered.next_power_of_two().trailing_zeros().max(1)
}

/// Returns, for each of `visits` visits, the number of visits that its move must have had before. The moves
/// of a phase share its visits evenly, and half of them go on to the next phase (mctx's `seq_halving.py`).
fn schedule(considered: usize, visits: usize) -> Vec<usize> {
    let phases = phase_count(considered) as usize;
    let mut visits_of = vec![0; considered];
    let mut left = considered;
    let mut schedule = Vec::with_capacity(visits);
    while schedule.len() < visits {
        let rounds = (visits / (phases * left)).max(1);
        for _ in 0..rounds {
            schedule.extend_from_slice(&visits_of[..left]);
            for visits in &mut visits_of[..left] {
                *visits += 1;
            }
        }
        left = (left / 2).max(2.min(considered));
    }
    schedule.truncate(visits);
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_spends_all_visits_and_ends_with_two_moves() {
        for considered in 1..20 {
            for visits in 1..200 {
                let schedule = schedule(considered, visits);
                assert_eq!(schedule.len(), visits);
                let first = visits.min(considered);
                assert!(
                    schedule[..first].iter().all(|&before| before == 0),
                    "{considered} {visits}"
                );
            }
        }
        assert_eq!(schedule(4, 8), [0, 0, 0, 0, 1, 1, 2, 2]);
    }
}

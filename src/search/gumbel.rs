//! Planning with Gumbel: which moves of the root to search when visits are few, and the policy
//! that follows (Danihelka et al. 2022, "Policy improvement by planning with Gumbel"; the
//! schedule is that of DeepMind's mctx).

use rand::{Rng, RngExt};

use super::params::GumbelParams;
use super::root_move::RootMove;
use super::tree::Tree;
use crate::rules::{Move, Side};

/// A search of the root by sequential halving.
///
/// Made once the root has been evaluated, it says move by move where the next visit goes.
#[derive(Clone, Debug)]
pub struct Gumbel {
    params: GumbelParams,
    /// Move, logit with noise, visits given out.
    moves: Vec<(Move, f32, usize)>,
    /// For each visit: how many its move must have had.
    schedule: Vec<usize>,
    spent: usize,
    root_score: f32,
}

impl Gumbel {
    /// A search of `tree`'s root, which must have been evaluated.
    pub fn new(tree: &Tree, params: GumbelParams, rng: &mut impl Rng) -> Gumbel {
        let mut noise = || -(-rng.random::<f32>().max(1e-20).ln()).max(1e-20).ln();
        let priors = tree.root_priors().into_iter();
        let moves: Vec<_> = priors.map(|(m, prior)| (m, logit(prior) + noise(), 0)).collect();
        let considered = params.considered.clamp(1, moves.len().max(1));
        let schedule = schedule(considered, params.visits);
        let root_score = tree.value()[tree.mover()];
        Gumbel { params, moves, schedule, spent: 0, root_score }
    }

    /// The move to search next; `None` once all visits are given out.
    pub fn next(&mut self, tree: &Tree) -> Option<Move> {
        let visits = *self.schedule.get(self.spent)?;
        let nth = self.best_of(tree, visits)?;
        self.spent += 1;
        self.moves[nth].2 += 1;
        Some(self.moves[nth].0)
    }

    /// The move to play: the best of those searched most.
    pub fn chosen(&self, tree: &Tree) -> Option<Move> {
        let most = self.moves.iter().map(|(.., visits)| *visits).max()?;
        self.best_of(tree, most).map(|nth| self.moves[nth].0)
    }

    /// The best move, by noise, logit and score, of those that were given `visits`.
    fn best_of(&self, tree: &Tree, visits: usize) -> Option<usize> {
        let choices = tree.root_moves();
        let scores = weighed_scores(tree, &choices, self.root_score, self.params);
        let value = |m: Move| {
            let nth = choices.iter().position(|choice| choice.m == m);
            nth.map_or(f32::NEG_INFINITY, |nth| scores[nth])
        };
        let those = self.moves.iter().enumerate().filter(|(_, (.., given))| *given == visits);
        those
            .map(|(nth, &(m, logit, _))| (nth, logit + value(m)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(nth, _)| nth)
    }
}

/// The policy that the search found: each move of the root with its probability, a softmax of
/// the logits and of the scores, those of moves that were not searched completed by the mean of
/// the others. Sums to 1.
pub fn improved_policy(tree: &Tree, params: GumbelParams) -> Vec<(Move, f32)> {
    let logits = improved_logits(tree, params);
    let highest = logits.iter().map(|&(_, logit)| logit).fold(f32::NEG_INFINITY, f32::max);
    let mut policy = logits;
    policy.iter_mut().for_each(|(_, logit)| *logit = libm::expf(*logit - highest));
    let total: f32 = policy.iter().map(|&(_, part)| part).sum();
    policy.iter_mut().for_each(|(_, part)| *part /= total);
    policy
}

/// The logits of [`improved_policy`].
pub(super) fn improved_logits(tree: &Tree, params: GumbelParams) -> Vec<(Move, f32)> {
    let choices = tree.root_moves();
    let scores = weighed_scores(tree, &choices, tree.value()[tree.mover()], params);
    choices.iter().zip(scores).map(|(c, score)| (c.m, logit(c.prior) + score)).collect()
}

fn logit(prior: f32) -> f32 {
    libm::logf(prior.max(1e-9))
}

/// The score of each move for the mover, length of the game included, in logits: as searched, or
/// else the mixed value of the paper's equation 33.
fn weighed_scores(
    tree: &Tree,
    choices: &[RootMove],
    root_score: f32,
    params: GumbelParams,
) -> Vec<f32> {
    let mover: Side = tree.mover();
    let score = |choice: &RootMove| {
        let value = choice.value[mover];
        value + tree.params.length_utility(value, choice.moves_left - tree.moves_left())
    };
    let searched = || choices.iter().filter(|choice| choice.visits > 0);
    let visits: f32 = searched().map(|choice| choice.visits as f32).sum();
    let policy: f32 = searched().map(|choice| choice.prior).sum();
    let mean: f32 = searched().map(|choice| choice.prior * score(choice)).sum();
    let mean = if policy > 0.0 { mean / policy } else { root_score };
    let mixed = (root_score + visits * mean) / (1.0 + visits);
    let scores = choices.iter().map(|c| if c.visits > 0 { score(c) } else { mixed });
    let most = choices.iter().map(|choice| choice.visits).max().unwrap_or(0);
    let weight = (params.c_visit + most as f32) * params.c_scale;
    scores.map(|score| weight * (score + 1.0) / 2.0).collect()
}

/// For each of `visits` visits: how many visits its move must have had before, when `considered`
/// moves share each phase evenly and half of them go on to the next (mctx's `seq_halving.py`).
fn schedule(considered: usize, visits: usize) -> Vec<usize> {
    let phases = considered.next_power_of_two().trailing_zeros().max(1) as usize;
    let mut given = vec![0; considered];
    let mut left = considered;
    let mut schedule = Vec::with_capacity(visits);
    while schedule.len() < visits {
        let rounds = (visits / (phases * left)).max(1);
        for _ in 0..rounds {
            schedule.extend_from_slice(&given[..left]);
            given[..left].iter_mut().for_each(|visits| *visits += 1);
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
    fn halving_spends_every_visit_and_ends_with_two() {
        for considered in 1..20 {
            for visits in 1..200 {
                let schedule = schedule(considered, visits);
                assert_eq!(schedule.len(), visits);
                let first = visits.min(considered);
                assert!(schedule[..first].iter().all(|&had| had == 0), "{considered} {visits}");
            }
        }
        assert_eq!(schedule(4, 8), [0, 0, 0, 0, 1, 1, 2, 2]);
    }
}

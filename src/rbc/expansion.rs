//! The boards after a move of the opponent, from those before it.

use std::thread;

use super::board_pool::BoardPool;
use super::opponent::{Observation, OpponentModel, Replies};
use crate::rules::rbc::{Army, RbcStep, generate_steps};
use crate::rules::{Bitboard, Role};

/// The minimum number of boards of a thread.
const MIN_BOARDS_PER_THREAD: usize = 4096;
/// The typical number of moves on a board.
const MOVES_PER_BOARD: usize = 32;
/// The maximum number of entries with duplicates, in addition to twice the capacity.
const MAX_DUPLICATES: usize = 1 << 22;

/// An unfinished set, which can be expanded in slices.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    observation: Observation,
    /// The number of boards that have been expanded.
    done: usize,
    pool: BoardPool,
    capacity: usize,
    is_sample: bool,
}

impl Expansion {
    /// Prepares to expand `boards` boards.
    pub(super) fn new(observation: Observation, boards: usize, capacity: usize) -> Expansion {
        let moves = if observation.capture.is_none() { MOVES_PER_BOARD } else { 1 };
        let pool = BoardPool::new(boards.saturating_mul(moves));
        Expansion { observation, done: 0, pool, capacity, is_sample: false }
    }

    /// Expands at most `boards` more boards. `armies` and `weights` must be the same in each call. Returns
    /// `true` if there are more boards to expand.
    pub(super) fn advance<M: OpponentModel>(
        &mut self,
        armies: &[Army],
        weights: &[f32],
        boards: usize,
        threads: usize,
        model: &M,
    ) -> bool {
        let end = self.done.saturating_add(boards).min(armies.len());
        let max_entries = self.capacity.saturating_mul(2).saturating_add(MAX_DUPLICATES);
        while self.done < end {
            let next = end.min(self.done + MAX_DUPLICATES / MOVES_PER_BOARD);
            self.expand(&armies[self.done..next], &weights[self.done..next], threads, model);
            self.done = next;
            if self.pool.len() > max_entries {
                self.pool.remove_duplicates(threads);
                if self.pool.len() > self.capacity.saturating_mul(2) {
                    self.pool.reduce(self.capacity, next as u64);
                    self.is_sample = true;
                }
            }
        }
        end < armies.len()
    }

    fn expand<M: OpponentModel>(
        &mut self,
        armies: &[Army],
        weights: &[f32],
        threads: usize,
        model: &M,
    ) {
        let share = armies.len().div_ceil(threads.max(1)).max(MIN_BOARDS_PER_THREAD);
        if armies.len() <= share {
            return expand_boards(&self.observation, armies, weights, model, &mut self.pool);
        }
        let observation = &self.observation;
        let pool = &self.pool;
        let mut pools = Vec::with_capacity(threads);
        thread::scope(|scope| {
            let mut workers = Vec::with_capacity(threads);
            for (armies, weights) in armies.chunks(share).zip(weights.chunks(share)) {
                workers.push(scope.spawn(move || {
                    let mut pool = pool.new_with_same_buckets();
                    expand_boards(observation, armies, weights, model, &mut pool);
                    pool
                }));
            }
            for worker in workers {
                match worker.join() {
                    Ok(pool) => pools.push(pool),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        self.pool.append(pools);
    }

    /// Returns the boards after the move with their weights, and whether they are a sample.
    pub(super) fn finish(mut self, threads: usize) -> (Vec<Army>, Vec<f32>, bool) {
        self.pool.remove_duplicates(threads);
        if self.pool.len() > self.capacity {
            self.pool.reduce(self.capacity, self.done as u64);
            self.is_sample = true;
        }
        let (armies, weights) = self.pool.into_boards(threads);
        (armies, weights, self.is_sample)
    }
}

/// Adds the boards after all moves that agree with the observation to `pool`.
fn expand_boards<M: OpponentModel>(
    observation: &Observation,
    armies: &[Army],
    weights: &[f32],
    model: &M,
    pool: &mut BoardPool,
) {
    let &Observation { color, occupied, en_passant, capture, .. } = observation;
    let mut steps: Vec<RbcStep> = Vec::with_capacity(256);
    // One for each step, then the pass; empty if all are equal.
    let mut step_weights: Vec<f32> = Vec::with_capacity(256);
    for (army, &weight) in armies.iter().zip(weights) {
        if !observation.is_possible(army) {
            continue;
        }
        steps.clear();
        generate_steps(army, color, occupied, en_passant, Bitboard::FULL, &mut steps);
        let even_weight = weight / (steps.len() + 1) as f32;
        step_weights.clear();
        if M::EVEN_SHARE < 1.0 {
            let replies = Replies { observation, army, steps: &steps };
            model.likelihoods(replies, &mut step_weights);
            let sum: f32 = step_weights.iter().sum();
            let scale = if sum > 0.0 { weight * (1.0 - M::EVEN_SHARE) / sum } else { 0.0 };
            let minimum = even_weight * M::EVEN_SHARE;
            for step_weight in &mut step_weights {
                *step_weight = *step_weight * scale + minimum;
            }
        }
        for (i, step) in steps.iter().enumerate() {
            if step.capture == capture {
                let mut after = step.after(army, color);
                if step.role == Role::Pawn {
                    let square = after.en_passant(color);
                    if !square.is_some_and(|it| observation.relevant_en_passant.contains(it)) {
                        after = after.without_en_passant();
                    }
                }
                pool.add(after, step_weights.get(i).copied().unwrap_or(even_weight));
            }
        }
        if capture.is_none() {
            let pass_weight = step_weights.last().copied().unwrap_or(even_weight);
            pool.add(army.without_en_passant(), pass_weight);
        }
    }
}

//! From the boards before the other side's move to those after it.

use std::thread;

use super::model::{OpponentModel, Replies};
use super::pool::Pool;
use super::scene::Scene;
use crate::rules::blind::{Army, Step, steps};
use crate::rules::{Bitboard, Role};

/// Fewer boards are not worth a second thread.
const WORTH_A_THREAD: usize = 4096;
/// So many replies has a board, about.
const REPLIES: usize = 32;
/// So many entries may wait for their doubles to be removed, beside twice the capacity.
const FULL: usize = 1 << 22;

/// A set on its way, which can be taken further in slices.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    scene: Scene,
    /// So many of the boards before have been followed.
    done: usize,
    pool: Pool,
    capacity: usize,
    sampled: bool,
}

impl Expansion {
    /// The replies of a `scene` to so many `boards`.
    pub(super) fn new(scene: Scene, boards: usize, capacity: usize) -> Expansion {
        let expected = boards.saturating_mul(if scene.capture.is_none() { REPLIES } else { 1 });
        Expansion { scene, done: 0, pool: Pool::new(expected), capacity, sampled: false }
    }

    /// Follows at most `boards` more of the boards before; says whether there are more. It must be
    /// given the same boards each time.
    pub(super) fn advance<M: OpponentModel>(
        &mut self,
        armies: &[Army],
        weights: &[f32],
        boards: usize,
        threads: usize,
        model: &M,
    ) -> bool {
        let end = self.done.saturating_add(boards).min(armies.len());
        // Doubles are removed before there are more entries than memory should hold.
        let most = self.capacity.saturating_mul(2).saturating_add(FULL);
        while self.done < end {
            let next = end.min(self.done + FULL / REPLIES);
            self.follow(&armies[self.done..next], &weights[self.done..next], threads, model);
            self.done = next;
            if self.pool.len() > most {
                self.pool.compact(threads);
                if self.pool.len() > self.capacity.saturating_mul(2) {
                    self.pool.thin(self.capacity, next as u64);
                    self.sampled = true;
                }
            }
        }
        end < armies.len()
    }

    fn follow<M: OpponentModel>(
        &mut self,
        armies: &[Army],
        weights: &[f32],
        threads: usize,
        model: &M,
    ) {
        let share = armies.len().div_ceil(threads.max(1)).max(WORTH_A_THREAD);
        if armies.len() <= share {
            return follow(&self.scene, armies, weights, model, &mut self.pool);
        }
        let (scene, pool) = (&self.scene, &self.pool);
        let mut pools = Vec::with_capacity(threads);
        thread::scope(|scope| {
            let parts = armies.chunks(share).zip(weights.chunks(share));
            let work = |(armies, weights)| {
                scope.spawn(move || {
                    let mut pool = pool.alike();
                    follow(scene, armies, weights, model, &mut pool);
                    pool
                })
            };
            let workers: Vec<_> = parts.map(work).collect();
            for worker in workers {
                match worker.join() {
                    Ok(pool) => pools.push(pool),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        self.pool.append(pools);
    }

    /// The boards afterwards with their weights, and whether they are a sample.
    pub(super) fn finish(mut self, threads: usize) -> (Vec<Army>, Vec<f32>, bool) {
        self.pool.compact(threads);
        if self.pool.len() > self.capacity {
            self.pool.thin(self.capacity, self.done as u64);
            self.sampled = true;
        }
        let (armies, weights) = self.pool.into_boards(threads);
        (armies, weights, self.sampled)
    }
}

/// Follows boards by all replies that fit the scene.
fn follow<M: OpponentModel>(
    scene: &Scene,
    armies: &[Army],
    weights: &[f32],
    model: &M,
    pool: &mut Pool,
) {
    let mut all: Vec<Step> = Vec::with_capacity(256);
    let mut chances: Vec<f32> = Vec::with_capacity(256);
    for (army, &weight) in armies.iter().zip(weights) {
        if !scene.possible(army) {
            continue;
        }
        all.clear();
        steps(army, scene.color, scene.occupied, scene.passed, Bitboard::FULL, &mut all);
        // Passing counts.
        let even = weight / (all.len() + 1) as f32;
        chances.clear();
        if M::MIX < 1.0 {
            model.chances(Replies { scene, army, steps: &all }, &mut chances);
            let sum: f32 = chances.iter().sum();
            let scale = if sum > 0.0 { weight * (1.0 - M::MIX) / sum } else { 0.0 };
            let mixed = even * M::MIX;
            chances.iter_mut().for_each(|chance| *chance = *chance * scale + mixed);
        }
        for (i, step) in all.iter().enumerate() {
            if step.capture == scene.capture {
                let mut after = step.after(army, scene.color);
                if step.role == Role::Pawn {
                    let matters = |passed| scene.matters.contains(passed);
                    if !after.passed(scene.color).is_some_and(matters) {
                        after = after.rested();
                    }
                }
                pool.add(after, chances.get(i).copied().unwrap_or(even));
            }
        }
        if scene.capture.is_none() {
            pool.add(army.rested(), chances.last().copied().unwrap_or(even));
        }
    }
}

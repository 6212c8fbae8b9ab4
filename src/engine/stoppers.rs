//! When a search is over: its limits, and the clock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::search_info::Score;
use super::search_job::{Progress, Search};
use crate::search::{Budget, Clock, Proof, Step, Tree};

/// Between two looks at the state of a search for a report or for the clock.
const LOOK: Duration = Duration::from_millis(10);
/// Between two looks at the clock alone, which costs as much as part of a visit.
const CHECK: Duration = Duration::from_micros(50);
/// The visits after which a search for a mate ends without one, for each turn of the mate, if
/// commands wait for its end or no one can stop it any more.
const MATE_VISITS_PER_TURN: u64 = 1 << 18;
/// How much better than the favourite another move must be to cost more time.
const DOUBT: f32 = 0.01;
/// A search whose favourite cannot be overtaken may stop at this part of its soft limit, not before: the
/// time saved in such turns is often left over at the end of the game.
const EARLY_STOP_DIVISOR: u32 = 2;

/// A search's limits beside how far it has come.
pub(super) struct Stoppers<'a> {
    search: &'a Search,
    progress: Progress,
    /// Whether the tree can grow no more.
    full: bool,
    /// The visits after which the clock is looked at again.
    next_check: u64,
    next_look: Duration,
    /// The visits after which the proof of a restricted root is looked at again.
    next_proof: u64,
}

impl<'a> Stoppers<'a> {
    pub(super) fn new(search: &'a Search) -> Stoppers<'a> {
        let progress = Progress::default();
        let (next_look, next_check, next_proof) = (Duration::ZERO, 0, 0);
        Stoppers { search, progress, full: false, next_check, next_look, next_proof }
    }

    /// How far the search has come.
    pub(super) fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    /// Counts what a round has done.
    pub(super) fn count(&mut self, step: Step) {
        self.progress.visits += u64::from(step.visits);
        self.progress.asked.positions += u64::from(step.evaluations);
        self.progress.asked.batches += u64::from(step.evaluations > 0);
        if step.full && !self.full {
            self.full = true;
            self.search.note("the memory is too small to search on: option Hash gives it more");
        }
    }

    /// The most leaves that a thread has evaluated at once, if the user has an opinion.
    pub(super) fn batch(&self) -> Option<usize> {
        Some(self.search.batch).filter(|&batch| batch > 0)
    }

    /// How many more visits are asked for.
    pub(super) fn left(&self) -> u32 {
        let nodes = self.search.limits.nodes.unwrap_or(u64::MAX);
        nodes.saturating_sub(self.progress.visits).try_into().unwrap_or(u32::MAX)
    }

    /// How much of a planned search is over, from 0 to 1; `None` if there is no plan, or its end is
    /// not known.
    pub(super) fn part(&self, tree: &Tree) -> Option<f32> {
        let (search, visits) = (self.search, self.progress.visits);
        if !search.gumbel || search.limits.infinite || search.pondering() {
            return None;
        }
        let by_visits = search.limits.nodes.map(|nodes| visits as f32 / nodes.max(1) as f32);
        let time = search.limits.time.map(|time| time - search.overhead.min(time / 2));
        let clock = search.limits.clocks[tree.root().turn()];
        let time = time.or(clock.map(|clock| self.budget(clock, tree).soft));
        let by_time =
            time.map(|time| search.elapsed().as_secs_f32() / time.as_secs_f32().max(1e-3));
        by_visits.into_iter().chain(by_time).reduce(f32::max)
    }

    /// Whether the search has come to an end. Reports on the way.
    pub(super) fn is_over(&mut self, tree: &Tree) -> bool {
        if tree.is_empty() {
            return false;
        }
        let ended = self.left() == 0 || self.full || tree.settled();
        if ended || self.search.is_stopped() || self.goal(tree) {
            return true;
        }
        if self.progress.visits < self.next_check {
            return false;
        }
        let elapsed = self.search.begun.elapsed();
        let speed = self.progress.visits as f64 / elapsed.as_secs_f64().max(1e-3);
        self.next_check = self.progress.visits + (speed * CHECK.as_secs_f64()) as u64;
        if elapsed < self.next_look {
            return self.out_of_time(tree, false);
        }
        self.next_look = elapsed + LOOK;
        self.search.report(tree, &mut self.progress, false);
        self.out_of_time(tree, true)
    }

    /// Whether there is nothing left to find: the mate that was asked for, or the result of the
    /// moves that the search is restricted to.
    fn goal(&mut self, tree: &Tree) -> bool {
        let limits = &self.search.limits;
        if let Some(mate) = limits.mate {
            let score = Score::new(tree.proof(), 0.0, tree.root().game_spec().sides);
            if matches!(score, Score::Won(turns) if u64::from(turns) <= mate) {
                return true;
            }
            let unattended = self.search.control.unattended.load(Ordering::Relaxed);
            if unattended && self.progress.visits >= mate.saturating_mul(MATE_VISITS_PER_TURN) {
                return true;
            }
        }
        // The proof of a root whose moves are restricted is never complete.
        let restricted = !limits.moves.is_empty() && limits.depth.or(limits.mate).is_some();
        if !restricted || self.progress.visits < self.next_proof {
            return false;
        }
        self.next_proof = self.progress.visits + 1 + self.progress.visits / 16;
        tree.lines(1).pop().is_none_or(|line| line.choice.proof != Proof::Open)
    }

    /// Returns the time for the turn at the root of `tree`, by the length of the game that the network
    /// expects there.
    fn budget(&self, clock: Clock, tree: &Tree) -> Budget {
        let sides = tree.root().game_spec().sides as f32;
        let game_turns = Some(tree.moves_left() / sides).filter(|&turns| turns > 0.0);
        clock.budget(self.search.overhead, game_turns)
    }

    /// Whether the time is up; with `closely`, also whether the rest of it would be wasted.
    fn out_of_time(&self, tree: &Tree, closely: bool) -> bool {
        let search = self.search;
        if search.limits.infinite || search.pondering() {
            return false;
        }
        let elapsed = search.elapsed();
        if let Some(time) = search.limits.time
            && elapsed + search.overhead.min(time / 2) >= time
        {
            return true;
        }
        let Some(clock) = search.limits.clocks[tree.root().turn()] else { return false };
        let Budget { soft, hard } = self.budget(clock, tree);
        if elapsed >= hard || search.gumbel && elapsed >= soft {
            return true;
        }
        // A plan is gone through to its end: visits say little of which move is best.
        if !closely || search.gumbel {
            return false;
        }
        let choices = tree.root_moves();
        let Some((first, others)) = choices.split_first() else { return true };
        if others.is_empty() {
            return true;
        }
        let mover = tree.root().turn();
        let better = first.value[mover] + DOUBT;
        if others.iter().any(|other| other.visits > 0 && other.value[mover] > better) {
            return false;
        }
        if elapsed >= soft {
            return true;
        }
        // The others cannot catch up in the time that is left, and none is thought better already.
        let second = others.iter().map(|other| other.visits).max().unwrap_or(0);
        let speed = self.progress.visits as f64 / search.begun.elapsed().as_secs_f64().max(1e-3);
        let coming = speed * (soft - elapsed).as_secs_f64();
        first.proof == Proof::Open
            && elapsed > soft / EARLY_STOP_DIVISOR
            && f64::from(first.visits) - f64::from(second) > coming
    }
}

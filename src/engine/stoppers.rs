//! Stop conditions of a search: visits, time, mate, proof, memory and commands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::limits::Limits;
use super::search_info::Score;
use crate::search::{Budget, Clock, Proof, Tree};

/// Time between two checks whether the choice is clear enough to stop early, and between two reports.
const FULL_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Time between two checks of the clock alone, each of which costs as much as part of a visit.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_micros(50);
/// The visits after which a search for a mate ends without one, for each turn of the mate, if
/// commands wait for its end or no one can stop it any more.
const MATE_VISITS_PER_TURN: u64 = 1 << 18;
/// The difference of expected scores by which another move must be better than the best move to cost
/// more time.
const VALUE_MARGIN: f32 = 0.01;
/// A search whose best move cannot be overtaken may stop at this part of its soft limit, not before: the
/// time saved in such turns is often left over at the end of the game.
const EARLY_STOP_DIVISOR: u32 = 2;
/// The visits from one check of a proof to the next grow by this part of the visits.
const PROOF_CHECK_DIVISOR: u64 = 16;

/// What a session sends to a search in progress.
#[derive(Debug, Default)]
pub(super) struct SearchControl {
    /// Whether the search must end at once.
    pub(super) stop: AtomicBool,
    /// Whether commands wait for the end of the search, or no more will come.
    pub(super) unattended: AtomicBool,
    /// When the opponent played the expected move.
    pub(super) ponder_hit: OnceLock<Instant>,
}

/// The limits of a search, and when it began.
pub(super) struct StopConditions {
    pub(super) limits: Limits,
    /// Time that is lost in each turn between the clock and the engine.
    pub(super) overhead: Duration,
    /// Whether visits to the root are distributed by sequential halving.
    pub(super) gumbel: bool,
    pub(super) begun: Instant,
    pub(super) control: Arc<SearchControl>,
}

impl StopConditions {
    /// Returns `true` if the search was stopped by a command.
    pub(super) fn is_stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Returns `true` as long as the opponent has not played the expected move.
    pub(super) fn is_pondering(&self) -> bool {
        self.limits.ponder && self.control.ponder_hit.get().is_none()
    }

    /// Returns `true` if the best move must not be printed yet.
    pub(super) fn holds_best_move(&self) -> bool {
        !self.is_stopped() && (self.limits.infinite || self.is_pondering())
    }

    /// Returns the time that counts: since the search began, or since the opponent played the expected
    /// move.
    pub(super) fn elapsed(&self) -> Duration {
        let ponder_hit = self.control.ponder_hit.get().filter(|_| self.limits.ponder);
        ponder_hit.unwrap_or(&self.begun).elapsed()
    }

    /// Returns `true` if the time of `go movetime` is used up.
    pub(super) fn is_move_time_up(&self, elapsed: Duration) -> bool {
        let time = self.limits.time;
        time.is_some_and(|time| elapsed + self.overhead.min(time / 2) >= time)
    }

    /// Returns the time for the turn at the root of `tree`, by the length of the game that the network
    /// expects there.
    fn budget(&self, clock: Clock, tree: &Tree) -> Budget {
        let sides = tree.root().game_spec().sides as f32;
        let game_turns = tree.moves_left() / sides;
        clock.budget(self.overhead, if game_turns > 0.0 { Some(game_turns) } else { None })
    }
}

/// Decides whether a search is over.
pub(super) struct Stoppers<'a> {
    conditions: &'a StopConditions,
    /// Whether the tree has no room to grow.
    hash_full: bool,
    /// The number of visits at which the clock is checked again.
    next_clock_check: u64,
    /// The time of the next full check.
    next_full_check: Duration,
    /// The number of visits at which the proof of a restricted root is checked again.
    next_proof_check: u64,
    report_due: bool,
}

impl<'a> Stoppers<'a> {
    pub(super) fn new(conditions: &'a StopConditions) -> Stoppers<'a> {
        Stoppers {
            conditions,
            hash_full: false,
            next_clock_check: 0,
            next_full_check: Duration::ZERO,
            next_proof_check: 0,
            report_due: false,
        }
    }

    /// Stops the search because the tree has no room to grow. Returns `true` the first time.
    pub(super) fn set_hash_full(&mut self) -> bool {
        !std::mem::replace(&mut self.hash_full, true)
    }

    /// Returns `true` once for each full check that did not end the search.
    pub(super) fn take_report_due(&mut self) -> bool {
        std::mem::take(&mut self.report_due)
    }

    /// Returns the number of visits until the node limit, after `visits` visits.
    pub(super) fn remaining_visits(&self, visits: u64) -> u32 {
        let nodes = self.conditions.limits.nodes.unwrap_or(u64::MAX);
        nodes.saturating_sub(visits).try_into().unwrap_or(u32::MAX)
    }

    /// Returns how much of a search by sequential halving is over, from 0 to 1; `None` if the search
    /// does not halve or its end is not known.
    pub(super) fn fraction_done(&self, tree: &Tree, visits: u64) -> Option<f32> {
        let conditions = self.conditions;
        let limits = &conditions.limits;
        if !conditions.gumbel || limits.infinite || conditions.is_pondering() {
            return None;
        }
        let by_visits = limits.nodes.map(|nodes| visits as f32 / nodes.max(1) as f32);
        let move_time = limits.time.map(|time| time - conditions.overhead.min(time / 2));
        let clock = limits.clocks[tree.root().turn()];
        let time = move_time.or(clock.map(|clock| conditions.budget(clock, tree).soft));
        let by_time =
            time.map(|time| conditions.elapsed().as_secs_f32() / time.as_secs_f32().max(1e-3));
        by_visits.into_iter().chain(by_time).reduce(f32::max)
    }

    /// Returns `true` if the search is over after `visits` visits.
    pub(super) fn should_stop(&mut self, tree: &Tree, visits: u64) -> bool {
        if tree.is_empty() {
            return false;
        }
        if self.remaining_visits(visits) == 0
            || self.hash_full
            || tree.is_proven()
            || self.conditions.is_stopped()
            || self.mate_stop(tree, visits)
            || self.proof_stop(tree, visits)
        {
            return true;
        }
        if visits < self.next_clock_check {
            return false;
        }
        let elapsed = self.conditions.begun.elapsed();
        let visits_per_second = visits as f64 / elapsed.as_secs_f64().max(1e-3);
        self.next_clock_check =
            visits + (visits_per_second * CLOCK_CHECK_INTERVAL.as_secs_f64()) as u64;
        if elapsed < self.next_full_check {
            return self.time_stop(tree);
        }
        self.next_full_check = elapsed + FULL_CHECK_INTERVAL;
        let stop = self.time_stop(tree) || self.early_stop(tree, visits);
        self.report_due = !stop;
        stop
    }

    /// The mate that `go mate` asks for is found, or given up.
    fn mate_stop(&self, tree: &Tree, visits: u64) -> bool {
        let Some(mate) = self.conditions.limits.mate else { return false };
        let score = Score::new(tree.proof(), 0.0, tree.root().game_spec().sides);
        if matches!(score, Score::Won(turns) if u64::from(turns) <= mate) {
            return true;
        }
        let unattended = self.conditions.control.unattended.load(Ordering::Relaxed);
        unattended && visits >= mate.saturating_mul(MATE_VISITS_PER_TURN)
    }

    /// The best of the moves that the search is restricted to is proven, in a search by depth or for a mate, or wins, in one
    /// by time. The proof of a restricted root is never complete.
    fn proof_stop(&mut self, tree: &Tree, visits: u64) -> bool {
        let limits = &self.conditions.limits;
        let by_proof = limits.depth.or(limits.mate).is_some();
        let by_time = limits.time.is_some() || self.clock_budget(tree).is_some();
        if limits.moves.is_empty() || !(by_proof || by_time) || visits < self.next_proof_check {
            return false;
        }
        self.next_proof_check = visits + 1 + visits / PROOF_CHECK_DIVISOR;
        tree.lines(1).pop().is_none_or(|line| match line.choice.proof {
            Proof::Open => false,
            Proof::Won(_) => true,
            _ => by_proof,
        })
    }

    /// Returns the budget of the side to move; `None` if it has no clock or the clock does not count.
    fn clock_budget(&self, tree: &Tree) -> Option<Budget> {
        if self.conditions.limits.infinite || self.conditions.is_pondering() {
            return None;
        }
        let clock = self.conditions.limits.clocks[tree.root().turn()]?;
        Some(self.conditions.budget(clock, tree))
    }

    /// The time for the turn is used up.
    fn time_stop(&self, tree: &Tree) -> bool {
        let conditions = self.conditions;
        if conditions.limits.infinite || conditions.is_pondering() {
            return false;
        }
        let elapsed = conditions.elapsed();
        if conditions.is_move_time_up(elapsed) {
            return true;
        }
        let Some(Budget { soft, hard }) = self.clock_budget(tree) else { return false };
        elapsed >= hard || conditions.gumbel && elapsed >= soft
    }

    /// The best move is clear, so that the rest of the time on the clock would be wasted.
    fn early_stop(&self, tree: &Tree, visits: u64) -> bool {
        let Some(Budget { soft, .. }) = self.clock_budget(tree) else { return false };
        // Sequential halving goes through all of its phases: visits say little about the best move.
        if self.conditions.gumbel {
            return false;
        }
        let elapsed = self.conditions.elapsed();
        let root_moves = tree.root_moves();
        let Some((best, others)) = root_moves.split_first() else { return true };
        if others.is_empty() {
            return true;
        }
        let mover = tree.root().turn();
        let better = best.value[mover] + VALUE_MARGIN;
        if others.iter().any(|other| other.visits > 0 && other.value[mover] > better) {
            return false;
        }
        if elapsed >= soft {
            return true;
        }
        // The others cannot catch up in the remaining time, and none has a better value already.
        let second = others.iter().map(|other| other.visits).max().unwrap_or(0);
        let seconds = self.conditions.begun.elapsed().as_secs_f64().max(1e-3);
        let coming = visits as f64 / seconds * (soft - elapsed).as_secs_f64();
        best.proof == Proof::Open
            && elapsed > soft / EARLY_STOP_DIVISOR
            && f64::from(best.visits) - f64::from(second) > coming
    }
}

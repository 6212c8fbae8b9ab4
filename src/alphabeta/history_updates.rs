//! What the results of nodes add to the histories.

use arrayvec::ArrayVec;

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::score::Score;
use super::worker::Worker;
use crate::rules::PackedMove;

/// What a cutoff adds to the history of its move and takes from those of the moves before it, for each ply of depth and
/// at most.
const CUTOFF_BONUS: (i32, i32) = (150, 1600);
/// The greatest change of a quiet move's history by its change of the evaluation.
const EVALUATION_BONUS: Score = 600;
/// What a fail low adds to the history of the quiet move before it, for each ply of depth, and up to which depth.
const FAIL_LOW_BONUS: (i32, i32) = (40, 10);
/// Tried moves whose histories are lowered by a cutoff.
const TRIED: usize = 64;

/// The moves that were searched at a node before the one that refutes its predecessor. Of very many, the last ones are
/// left out.
#[derive(Default)]
pub(super) struct Tried {
    pub(super) quiet: ArrayVec<Candidate, TRIED>,
    captures: ArrayVec<PackedMove, TRIED>,
}

impl Tried {
    pub(super) fn push(&mut self, candidate: Candidate) {
        if candidate.is_tactical {
            let _ = self.captures.try_push(candidate.packed);
        } else {
            let _ = self.quiet.try_push(candidate);
        }
    }
}

impl<E: StaticEvaluator> Worker<E> {
    /// Learns from a move that refutes the one before it.
    pub(super) fn learn_from_cutoff(
        &mut self,
        ply: usize,
        depth: i32,
        best: Candidate,
        tried: &Tried,
    ) {
        let (per_ply, max_bonus) = CUTOFF_BONUS;
        let bonus = (per_ply * depth).min(max_bonus);
        let side = self.frames[ply].position.turn();
        let before = self.before(ply);
        let piece_before = before.map(|before| before.piece);
        if best.is_tactical {
            self.histories.add_capture(best.packed, bonus);
        } else {
            let killers = &mut self.frames[ply].killers;
            if killers[0] != best.packed {
                *killers = [best.packed, killers[0]];
            }
            if let Some(before) = before {
                self.histories.set_counter(before.packed, best.packed);
            }
            self.histories.add_quiet(side, best.packed, piece_before, best.piece, bonus);
            for other in &tried.quiet {
                self.histories.add_quiet(side, other.packed, piece_before, other.piece, -bonus);
            }
        }
        for &capture in &tried.captures {
            self.histories.add_capture(capture, -bonus);
        }
    }

    /// Returns the quiet move before `ply`, if the opponent made it.
    fn quiet_before(&self, ply: usize) -> Option<Candidate> {
        self.before(ply).filter(|before| !before.is_tactical && !self.continues(ply - 1))
    }

    /// Learns by how much the quiet move before `ply` changed the evaluation.
    pub(super) fn learn_from_evaluation(&mut self, ply: usize) {
        let Some(m) = self.quiet_before(ply) else { return };
        let frame = &self.frames[ply - 1];
        if frame.is_evaluated {
            let gain = -self.frames[ply].eval - frame.eval;
            let side = frame.position.turn();
            let bonus = gain.clamp(-EVALUATION_BONUS, EVALUATION_BONUS);
            self.histories.add_quiet_alone(side, m.packed, bonus);
        }
    }

    /// Learns from a fail low at `ply`: no move there refutes the quiet move before it.
    pub(super) fn learn_from_fail_low(&mut self, ply: usize, depth: i32) {
        let Some(m) = self.quiet_before(ply) else { return };
        let (per_ply, max_depth) = FAIL_LOW_BONUS;
        let side = self.frames[ply - 1].position.turn();
        let before = self.before(ply - 1).map(|before| before.piece);
        let bonus = per_ply * depth.min(max_depth);
        self.histories.add_quiet(side, m.packed, before, m.piece, bonus);
    }
}

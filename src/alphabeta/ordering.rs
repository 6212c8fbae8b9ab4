//! The order of moves: the best move of the table, then by policy, captures and histories.

use super::candidate::{Candidate, is_tactical};
use super::evaluation::StaticEvaluator;
use super::histories::PieceSquare;
use super::worker::Worker;
use crate::rules::{Move, MoveFacts, PackedMove, Role, Side};

/// The order value of the table's move.
const TABLE_MOVE: i32 = 100_000_000;
/// The order value of a logit. Histories are up to 16,384.
const LOGIT: f32 = 1650.0;
/// A logit that is so much below the greatest counts as this.
const MAX_LOGIT_GAP: f32 = 20.0;
/// What a killer is worth with a policy.
const POLICY_KILLER: i32 = 1500;
/// The weight of what a tactical move gains, with a policy.
const POLICY_GAIN: i32 = 2;
/// The divisors of the histories of tactical and of quiet moves, with a policy.
const POLICY_CAPTURE_HISTORY_DIVISOR: i32 = 8;
const POLICY_QUIET_HISTORY_DIVISOR: i32 = 4;
/// The order value of captures without a policy: they come before quiet moves, or after them if they lose an exchange.
const CAPTURE: i32 = 100_000;
/// The weight of what a tactical move gains, without a policy.
const GAIN: i32 = 16;
/// The divisor of the history of a tactical move, without a policy.
const CAPTURE_HISTORY_DIVISOR: i32 = 4;
/// The order values of the killers and of the refutation of the move before, without a policy. Histories are added.
const KILLERS: [i32; 2] = [60_000, 50_000];
const COUNTER: i32 = 20_000;
/// What a move gains that may win at once.
const WINNING_GAIN: i32 = 3000;

/// The rough values of pieces, in hundredths of a pawn. They order captures; the network knows the true ones.
pub(super) fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 300,
        Role::Bishop => 310,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 2000,
    }
}

/// Returns what a tactical move gains.
fn gain(facts: MoveFacts) -> i32 {
    let captured = facts.captured.map_or(0, piece_value);
    let promoted = facts.promotion.map_or(0, |role| piece_value(role) - piece_value(Role::Pawn));
    captured + promoted + if facts.may_win { WINNING_GAIN } else { 0 }
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the move number `index` of the legal ones at `ply`.
    pub(super) fn candidate(&self, ply: usize, m: Move) -> Candidate {
        Candidate::new(&self.frames[ply].position, m)
    }

    /// Returns the move that is searched as number `nth` at `ply`, once those before have been asked for.
    pub(super) fn next_candidate(&mut self, ply: usize, nth: usize) -> Candidate {
        let frame = &mut self.frames[ply];
        let m = frame.legal[frame.order.index(nth)];
        self.candidate(ply, m)
    }

    /// Returns the value of a quiet move by all histories.
    pub(super) fn history_of(&self, ply: usize, candidate: Candidate) -> i32 {
        let side = self.frames[ply].position.turn();
        let before = self.before(ply).map(|before| before.piece);
        self.quiet_history(side, before, candidate.packed, candidate.piece)
    }

    fn quiet_history(
        &self,
        side: Side,
        before: Option<PieceSquare>,
        packed: PackedMove,
        piece: PieceSquare,
    ) -> i32 {
        self.histories.quiet(side, packed) + self.histories.continuation(before, piece)
    }

    /// Orders all legal moves at `ply`, by the logits there unless there are none.
    pub(super) fn order_all(&mut self, ply: usize, table_move: Option<PackedMove>) {
        let mut order = std::mem::take(&mut self.frames[ply].order);
        order.clear();
        let frame = &self.frames[ply];
        let greatest = frame.logits.iter().copied().fold(f32::MIN, f32::max);
        let side = frame.position.turn();
        let before = self.before(ply);
        let counter = before.map(|before| self.histories.counter(before.packed));
        let piece_before = before.map(|before| before.piece);
        for (index, &m) in frame.legal.iter().enumerate() {
            let packed = m.pack();
            let facts = frame.position.move_facts(m);
            let logit = frame.logits.get(index);
            let value = if Some(packed) == table_move {
                TABLE_MOVE
            } else if is_tactical(facts) {
                let mover = facts.role.map_or(0, |role| role as i32);
                let history = self.histories.capture(packed);
                match logit {
                    Some(logit) => {
                        by_policy(logit - greatest)
                            + POLICY_GAIN * gain(facts)
                            + history / POLICY_CAPTURE_HISTORY_DIVISOR
                    }
                    None => {
                        let wins = frame.position.exchange_wins(m, 0, piece_value);
                        let first = if wins { CAPTURE } else { -CAPTURE };
                        first + GAIN * gain(facts) - mover + history / CAPTURE_HISTORY_DIVISOR
                    }
                }
            } else {
                let piece = PieceSquare::new(side, facts, m);
                let history = self.quiet_history(side, piece_before, packed, piece);
                match logit {
                    Some(logit) => {
                        let is_killer = frame.killers.contains(&packed);
                        by_policy(logit - greatest)
                            + history / POLICY_QUIET_HISTORY_DIVISOR
                            + if is_killer { POLICY_KILLER } else { 0 }
                    }
                    None if packed == frame.killers[0] => KILLERS[0] + history,
                    None if packed == frame.killers[1] => KILLERS[1] + history,
                    None if Some(packed) == counter => COUNTER + history,
                    None => history,
                }
            };
            order.push(value, index);
        }
        self.frames[ply].order = order;
    }

    /// Orders the tactical moves among the legal ones at `ply`, or `all` of them, the tactical ones first. Returns `true` if
    /// there are only tactical moves.
    pub(super) fn order_tactical(
        &mut self,
        ply: usize,
        table_move: Option<PackedMove>,
        all: bool,
    ) -> bool {
        let mut order = std::mem::take(&mut self.frames[ply].order);
        order.clear();
        let frame = &self.frames[ply];
        let side = frame.position.turn();
        let piece_before = self.before(ply).map(|before| before.piece);
        let mut only_tactical = true;
        for (index, &m) in frame.legal.iter().enumerate() {
            let facts = frame.position.move_facts(m);
            let is_tactical = is_tactical(facts);
            only_tactical &= is_tactical;
            if !is_tactical && !all {
                continue;
            }
            let packed = m.pack();
            let value = if Some(packed) == table_move {
                TABLE_MOVE
            } else if is_tactical {
                let mover = facts.role.map_or(0, |role| role as i32);
                let history = self.histories.capture(packed);
                CAPTURE + GAIN * gain(facts) - mover + history / CAPTURE_HISTORY_DIVISOR
            } else {
                let piece = PieceSquare::new(side, facts, m);
                self.quiet_history(side, piece_before, packed, piece)
            };
            order.push(value, index);
        }
        self.frames[ply].order = order;
        only_tactical
    }
}

/// The order value of a logit, given its difference to the greatest.
fn by_policy(gap: f32) -> i32 {
    (gap.max(-MAX_LOGIT_GAP) * LOGIT) as i32
}

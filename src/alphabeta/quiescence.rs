//! Quiescence search: tactical moves and evasions.

use super::candidate::is_tactical;
use super::evaluation::StaticEvaluator;
use super::ordering::piece_value;
use super::score::{INFINITE, MATE_BOUND, Score};
use super::table::{Bound, Entry};
use super::worker::{Frame, MAX_PLY, Shared, Worker};
use crate::rules::PackedMove;

/// Plies after which the static evaluation is final.
const MAX_DEPTH: i32 = 12;
/// Plies of which all evasions of a check are searched.
const EVASION_DEPTH: i32 = 5;
/// Plies of which all moves are searched if captures are compulsory.
const FORCED_DEPTH: i32 = 6;
/// Evasions that are searched once one is known that is not mated; captures always are.
const EVASIONS: usize = 4;

/// A node of the quiescence search whose moves are ordered.
#[derive(Clone, Copy)]
struct QuiescenceNode {
    ply: usize,
    depth: i32,
    alpha: Score,
    beta: Score,
    /// The score without a move; none where all moves are searched.
    stand_pat: Score,
    /// All moves are searched, since there are only tactical ones.
    is_forced: bool,
    /// All moves are searched, since they answer a check.
    evades: bool,
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the score of the position at `ply` once captures are played out. `depth` is 0 on the first ply, and
    /// less on the next ones.
    pub(super) fn quiescence(
        &mut self,
        shared: &Shared<'_>,
        ply: usize,
        depth: i32,
        mut alpha: Score,
        beta: Score,
    ) -> Score {
        if self.is_over(shared) {
            return 0;
        }
        if let Some(score) = self.known_score(shared, ply) {
            return score;
        }
        let key = self.frames[ply].key;
        let found = self.probe(shared, key, ply);
        if let Some((entry, score)) = found
            && entry.depth >= depth
            && entry.decides(score, alpha, beta)
        {
            return score;
        }
        let in_check = self.in_check(ply);
        // Half of the positions end here by their evaluation, for which no moves are needed.
        let may_stand_pat = !in_check && self.frames[ply].position.may_stand_pat();
        if !may_stand_pat && let Some(score) = self.generate(ply) {
            return score;
        }
        let table_move = found.and_then(|(entry, _)| entry.best);
        let evades = in_check && depth > -EVASION_DEPTH;
        let only_tactical = !may_stand_pat && self.order_tactical(ply, table_move, evades);
        let is_forced =
            only_tactical && (depth > -FORCED_DEPTH || self.frames[ply].legal.len() == 1);
        let is_last = ply >= MAX_PLY || depth < -MAX_DEPTH;
        let static_eval = match found {
            // Nothing depends on the evaluation of positions all of whose moves are searched.
            _ if (is_forced || evades) && !is_last => 0,
            Some((entry, _)) if !in_check && !only_tactical => entry.eval,
            _ => self.evaluate(ply),
        };
        let eval = if in_check { static_eval } else { self.corrected(ply, static_eval) };
        if is_last {
            return eval;
        }
        let entry = Entry {
            score: eval,
            eval: static_eval,
            best: None,
            depth,
            bound: Bound::Lower,
            was_principal: found.is_some_and(|(entry, _)| entry.was_principal),
        };
        let mut stand_pat = -INFINITE;
        if !is_forced && !evades {
            stand_pat = match found {
                Some((entry, score)) if entry.improves(score, eval) => score,
                _ => eval,
            };
            if stand_pat >= beta {
                if found.is_none() {
                    self.store(shared, key, ply, entry);
                }
                return stand_pat;
            }
            alpha = alpha.max(stand_pat);
            if may_stand_pat {
                let with_checks = depth == 0 && self.counts_checks;
                self.generate_tactical(ply, with_checks);
                self.order_tactical(ply, table_move, with_checks);
            }
        }
        let node = QuiescenceNode { ply, depth, alpha, beta, stand_pat, is_forced, evades };
        let (best, best_move) = self.search_quiescence_moves(shared, node);
        if self.stopped {
            return 0;
        }
        let bound = if best >= beta { Bound::Lower } else { Bound::Upper };
        // A score above alpha is exact only for the moves that were searched.
        if best > alpha || bound == Bound::Upper {
            self.store(shared, key, ply, Entry { score: best, best: best_move, bound, ..entry });
        }
        best
    }

    /// Searches the ordered moves of a node, and returns the best score and the best move, if one is above alpha. If the
    /// search is stopped the result means nothing.
    #[inline]
    fn search_quiescence_moves(
        &mut self,
        shared: &Shared<'_>,
        node: QuiescenceNode,
    ) -> (Score, Option<PackedMove>) {
        let QuiescenceNode { ply, depth, mut alpha, beta, is_forced, evades, .. } = node;
        let mut best = node.stand_pat;
        let mut best_move = None;
        for nth in 0..self.frames[ply].order.len() {
            let candidate = self.next_candidate(ply, nth);
            if evades && nth >= EVASIONS && best > -MATE_BOUND && !candidate.is_tactical {
                continue;
            }
            if !is_forced
                && !evades
                && !self.frames[ply].position.exchange_wins(candidate.m, 0, piece_value)
            {
                continue;
            }
            self.make(shared, ply, candidate);
            let score = if self.continues(ply) {
                self.quiescence(shared, ply + 1, depth, alpha, beta)
            } else {
                -self.quiescence(shared, ply + 1, depth - 1, -beta, -alpha)
            };
            if self.stopped {
                break;
            }
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    best_move = Some(candidate.packed);
                    if score >= beta {
                        break;
                    }
                }
            }
        }
        (best, best_move)
    }

    /// Generates the tactical moves at `ply`, and if asked for those that may give check.
    fn generate_tactical(&mut self, ply: usize, with_checks: bool) {
        let Frame { position, legal, .. } = &mut self.frames[ply];
        legal.clear();
        if with_checks {
            position.legal_moves(legal);
            legal.retain(|m| is_tactical(position.move_facts(*m)) || position.may_give_check(*m));
        } else {
            position.add_tactical_moves(legal);
        }
    }
}

//! What a player knows: the set of boards that agree with everything it has learned, with weights.
//!
//! A player knows its own pieces, so that a board of the set is an [`Army`] that the opponent may have.
//! The set is exact: each board is expanded by all moves of the opponent, boards that contradict a result
//! are removed, and boards that differ in nothing relevant are merged. Only the rules are assumed of the
//! opponent. An [`OpponentModel`] changes the weights, but never to zero.
//!
//! If a set exceeds the capacity, a weighted sample replaces it, and from then on [`Belief::certainty`] is
//! not [`Certainty::Exact`].

use super::board_pool::BoardPool;
use super::expansion::Expansion;
use super::opponent::{Observation, OpponentModel};
use crate::rules::rbc::{Army, Request, Sensed, Taken, Truth};
use crate::rules::{Bitboard, Color, Role, Square};

/// The default of the maximum number of boards.
pub const DEFAULT_CAPACITY: usize = 1_000_000;

/// How reliable a belief is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Certainty {
    /// The true board is in the set.
    Exact,
    /// The set is a weighted sample of a set that was too large.
    Sampled,
    /// No board of a sample agreed with a result, and the boards were changed to agree.
    Repaired,
}

/// The possible boards from the point of view of one side.
#[derive(Clone, Debug)]
pub struct Belief {
    color: Color,
    own: Army,
    armies: Vec<Army>,
    weights: Vec<f32>,
    certainty: Certainty,
    capacity: usize,
    threads: usize,
    /// The expansion for an opponent's move without a capture, if it has begun.
    pending: Option<Expansion>,
}

impl Belief {
    /// Returns what `color` knows at the start of a game, when both sides know the position. At most
    /// `capacity` boards are kept. Large sets are processed by `threads` threads.
    pub fn new(start: &Truth, color: Color, capacity: usize, threads: usize) -> Belief {
        Belief {
            color,
            own: *start.army(color),
            armies: vec![*start.army(!color)],
            weights: vec![1.0],
            certainty: Certainty::Exact,
            capacity: capacity.max(1),
            threads: threads.max(1),
            pending: None,
        }
    }

    /// Returns the side of the player.
    pub fn color(&self) -> Color {
        self.color
    }

    /// Returns the player's own pieces.
    pub fn own(&self) -> &Army {
        &self.own
    }

    /// Returns the armies that the opponent may have, at least one and without duplicates.
    pub fn armies(&self) -> &[Army] {
        &self.armies
    }

    /// Returns the probability of each army. Their sum is 1.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns how reliable the set is.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// Expands at most `boards` boards before the opponent's move is known, assuming that it captures
    /// nothing, which is mostly the case. Returns `true` if there are more boards to expand.
    pub fn anticipate(&mut self, boards: usize, model: &impl OpponentModel) -> bool {
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => self.new_expansion(None),
        };
        let has_more = pending.advance(&self.armies, &self.weights, boards, 1, model);
        self.pending = Some(pending);
        has_more
    }

    fn new_expansion(&self, capture: Option<Square>) -> Expansion {
        let observation = Observation::new(!self.color, self.own, capture);
        Expansion::new(observation, self.armies.len(), self.capacity)
    }

    /// Updates the set after a move of the opponent that captured a piece on `capture`, or nothing.
    pub fn opponent_moved(&mut self, capture: Option<Square>, model: &impl OpponentModel) {
        let mut expansion = match self.pending.take() {
            Some(pending) if capture.is_none() => pending,
            _ => self.new_expansion(capture),
        };
        expansion.advance(&self.armies, &self.weights, usize::MAX, self.threads, model);
        let (armies, weights, is_sample) = expansion.finish(self.threads);
        if is_sample {
            self.certainty = self.certainty.max(Certainty::Sampled);
        }
        if armies.is_empty() {
            self.repair(capture.map_or(Bitboard::EMPTY, Bitboard::from), |army, color| {
                if let Some(to) = capture {
                    move_any_piece(army, color, to);
                }
            });
        } else {
            self.armies = armies;
            self.weights = weights;
            self.normalize();
        }
        self.own = Observation::new(!self.color, self.own, capture).own_after();
    }

    /// Updates the set after a sense.
    pub fn sensed(&mut self, seen: &[Sensed]) {
        let theirs = !self.color;
        let mut window = Bitboard::EMPTY;
        let mut shown = Army::default();
        for &(square, piece) in seen {
            window = window.with(square);
            let role = match piece {
                Some(piece) if piece.color == theirs => Some(piece.role),
                _ => None,
            };
            shown.set(theirs, square, role);
        }
        let mask = window.0;
        let [a, b, c] = shown.planes();
        let agrees = |army: &Army| {
            let planes = army.planes();
            (planes[0] & mask ^ a) | (planes[1] & mask ^ b) | (planes[2] & mask ^ c) == 0
        };
        if self.armies.iter().any(agrees) {
            self.retain(agrees);
        } else {
            self.repair(window, |army, color| {
                for square in window {
                    army.set(color, square, shown.role_at(square));
                }
            });
        }
    }

    /// Updates the set after the player's own move. `request` and `taken` are `None` for a pass.
    pub fn moved(
        &mut self,
        request: Option<Request>,
        taken: Option<Request>,
        capture: Option<Square>,
    ) {
        let color = self.color;
        let own = self.own;
        let taken = taken.map(|step| Taken { step, capture });
        let agrees = |army: &Army| {
            let occupied = army.occupied();
            let en_passant = army.en_passant(!color);
            let result = request.and_then(|step| own.resolve(color, step, occupied, en_passant));
            // The game would be over if the king had been captured.
            result == taken && (capture.is_none() || army.king() != capture)
        };
        if self.armies.iter().any(agrees) {
            self.retain(agrees);
        } else {
            let target = taken.map(|taken| taken.step.to);
            let empty: Bitboard = target.into_iter().chain(capture).collect();
            self.repair(empty, |army, color| {
                for square in empty {
                    army.set(color, square, None);
                }
            });
        }
        let mut pool = BoardPool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let mut army = army.without_en_passant();
            if let Some(square) = capture {
                army.remove(!color, square);
            }
            pool.add(army, weight);
        }
        self.own.make_move(color, taken, &mut Army::default());
        self.replace_boards(pool);
    }

    /// Returns the own armies that are possible after a request whose result was lost, the most likely one
    /// first. Those that no board of the set leads to come last, as the set may lack the true one.
    pub fn possible_own_armies(&self, request: Option<Request>) -> Vec<Army> {
        let mut possible: Vec<(Army, f64)> = Vec::new();
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let (own, _) = self.own_after(request, army);
            match possible.iter_mut().find(|(known, _)| *known == own) {
                Some((_, sum)) => *sum += f64::from(weight),
                None => possible.push((own, f64::from(weight))),
            }
        }
        possible.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut armies: Vec<Army> = possible.into_iter().map(|(own, _)| own).collect();
        // At most one piece of the opponent decides where a piece stops, and whether it moves at all.
        let free = !self.own.occupied();
        for theirs in free.into_iter().map(Bitboard::from).chain([Bitboard::EMPTY]) {
            let (own, _) = self.own_after_among(request, theirs, None);
            if !armies.contains(&own) {
                armies.push(own);
            }
        }
        armies
    }

    /// Returns the own army and the square of a capture after a request, if the opponent has `theirs`.
    fn own_after(&self, request: Option<Request>, theirs: &Army) -> (Army, Option<Square>) {
        self.own_after_among(request, theirs.occupied(), theirs.en_passant(!self.color))
    }

    /// Returns the own army and the square of a capture after a request, if the opponent's pieces stand on `theirs`, with
    /// `en_passant` after a double step.
    fn own_after_among(
        &self,
        request: Option<Request>,
        theirs: Bitboard,
        en_passant: Option<Square>,
    ) -> (Army, Option<Square>) {
        let taken = request.and_then(|step| self.own.resolve(self.color, step, theirs, en_passant));
        let mut own = self.own;
        own.make_move(self.color, taken, &mut Army::default());
        (own, taken.and_then(|taken| taken.capture))
    }

    /// Updates the set after a request whose result was lost and after which the own army is `own`, which
    /// must be one of [`Belief::possible_own_armies`]. Each board decides whether a piece was captured.
    pub fn moved_to(&mut self, request: Option<Request>, own: Army) {
        let mut pool = BoardPool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let (own_after, capture) = self.own_after(request, army);
            // The game would be over if the king had been captured.
            if own_after != own || capture.is_some() && capture == army.king() {
                continue;
            }
            let mut army = army.without_en_passant();
            if let Some(square) = capture {
                army.remove(!self.color, square);
            }
            pool.add(army, weight);
        }
        self.own = own;
        if pool.len() > 0 {
            self.replace_boards(pool);
        } else {
            self.repair(Bitboard::EMPTY, |_, _| {});
        }
    }

    /// Returns at most `size` boards that represent the set: their indices and relative weights. They are
    /// drawn by their weights, or evenly if `even` is `true`. Each prefix is a fair sample, too, unless all
    /// boards fit: then the most likely ones come first.
    pub(super) fn sample(&self, size: usize, even: bool) -> (Vec<usize>, Vec<f32>) {
        let count = self.armies.len();
        if count <= size && even {
            let boards: Vec<(usize, f32)> = (0..count).map(|index| (index, 1.0)).collect();
            return spread(&boards);
        }
        if count <= size {
            let mut boards: Vec<usize> = (0..count).collect();
            boards.sort_by(|&a, &b| self.weights[b].total_cmp(&self.weights[a]));
            return boards.into_iter().map(|index| (index, self.weights[index])).unzip();
        }
        // Systematic sampling. A likely board is drawn several times, and weighted by their number.
        let mut drawn: Vec<(usize, f32)> = Vec::with_capacity(size);
        let mut sum = 0.0_f64;
        let mut next = 0.5_f64;
        for (index, &weight) in self.weights.iter().enumerate() {
            sum += if even { 1.0 / count as f64 } else { f64::from(weight) };
            let mut times = 0;
            while sum * size as f64 > next && times < size {
                next += 1.0;
                times += 1;
            }
            if times > 0 {
                drawn.push((index, times as f32));
            }
        }
        spread(&drawn)
    }

    fn retain(&mut self, keep: impl Fn(&Army) -> bool) {
        let mut kept = 0;
        for i in 0..self.armies.len() {
            if keep(&self.armies[i]) {
                self.armies[kept] = self.armies[i];
                self.weights[kept] = self.weights[i];
                kept += 1;
            }
        }
        self.armies.truncate(kept);
        self.weights.truncate(kept);
        self.normalize();
    }

    /// Changes every board by `change`, so that it agrees with what is known of the squares `known`.
    fn repair(&mut self, known: Bitboard, change: impl Fn(&mut Army, Color)) {
        self.certainty = Certainty::Repaired;
        let mut pool = BoardPool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let king = army.king();
            let mut army = *army;
            change(&mut army, !self.color);
            self.restore_king(&mut army, king, known);
            pool.add(army, weight);
        }
        self.replace_boards(pool);
    }

    /// Gives a changed army exactly one king: one on a `known` square, or any of its kings, or a new one on
    /// the free square next to the king's square `before`. The `known` squares do not change.
    fn restore_king(&self, army: &mut Army, before: Option<Square>, known: Bitboard) {
        let color = !self.color;
        let kings = army.by_role(Role::King);
        let kept = (kings & known).first().or(kings.first());
        for king in kings {
            if Some(king) != kept && !known.contains(king) {
                army.set(color, king, None);
            }
        }
        if let (None, Some(before)) = (kept, before) {
            let free = !(army.occupied() | self.own.occupied() | known);
            let nearest = free.into_iter().min_by_key(|&square| square.distance(before));
            if let Some(square) = nearest {
                army.set(color, square, Some(Role::King));
            }
        }
    }

    fn replace_boards(&mut self, pool: BoardPool) {
        (self.armies, self.weights) = pool.into_boards(self.threads);
        self.normalize();
    }

    fn normalize(&mut self) {
        let sum: f64 = self.weights.iter().copied().map(f64::from).sum();
        let scale = if sum > 0.0 { 1.0 / sum } else { 1.0 };
        for weight in &mut self.weights {
            // A board of weight 0 could not come back.
            *weight = (f64::from(*weight) * scale).max(f64::from(f32::MIN_POSITIVE)) as f32;
        }
    }
}

/// Moves the first piece that is not the king to `to`.
fn move_any_piece(army: &mut Army, color: Color, to: Square) {
    let king = army.king().map_or(Bitboard::EMPTY, Bitboard::from);
    if let Some(from) = army.occupied().without(king).first() {
        let role = army.role_at(from);
        army.set(color, from, None);
        army.set(color, to, role);
    }
}

/// Returns all boards in an order that separates neighbours, which are similar.
fn spread(boards: &[(usize, f32)]) -> (Vec<usize>, Vec<f32>) {
    let length = boards.len();
    let min_stride = (length * 5 / 8).max(1);
    // A stride that is coprime to the length visits every board.
    let stride = (min_stride..).find(|&stride| gcd(stride, length) == 1).unwrap_or(1);
    (0..length).map(|i| boards[i * stride % length]).unzip()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_prefix_has_boards_of_each_quarter() {
        for length in [0, 1, 2, 7, 21, 64, 512] {
            let boards: Vec<(usize, f32)> =
                (0..length).map(|index| (index, index as f32)).collect();
            let (order, weights) = spread(&boards);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..length), "{length}: {order:?}");
            assert!(order.iter().zip(&weights).all(|(&index, &weight)| weight == index as f32));
            let quarters: Vec<usize> =
                order.iter().take(8).map(|index| 4 * index / length).collect();
            assert!(length < 8 || (0..4).all(|quarter| quarters.contains(&quarter)), "{order:?}");
        }
    }
}

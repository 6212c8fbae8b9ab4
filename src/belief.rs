//! What a side of blind chess can know: the set of boards that all it was told allows, weighted.
//!
//! A side knows its own men for certain, so that a board of the set is an [`Army`] that the other
//! side may have. The set is exact: each board is followed by every reply, those are dropped that
//! contradict what was told (first of all where a man was taken), and boards that differ in nothing
//! that matters later are one. Nothing is assumed of the other side but the rules; what it is likely
//! to do ([`OpponentModel`]) enters the weights, and never makes one zero.
//!
//! A set may grow beyond what fits. Then a weighted sample stands for it, and [`Belief::certainty`]
//! says so from there on.

mod expansion;
mod model;
mod pool;
mod prediction;
mod scene;
mod sense;

pub use model::{Habits, OpponentModel, Replies, Uniform};
pub use prediction::Prediction;

pub use sense::{SensePolicy, Values};

use expansion::Expansion;
use pool::Pool;
use scene::Scene;

use crate::rules::blind::{Army, Request, Sensed, Taken, Truth};
use crate::rules::{Bitboard, Color, Role, Square};

/// So many boards are kept, unless told otherwise.
pub const CAPACITY: usize = 1_000_000;

/// How far a belief can be relied upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Certainty {
    /// The true board is in the set.
    Exact,
    /// The set is a weighted sample of one that was too large.
    Sampled,
    /// Nothing of the sample agreed with what was told, and boards were made to agree with it.
    Repaired,
}

/// The boards that may be, from one side's point of view.
#[derive(Clone, Debug)]
pub struct Belief {
    color: Color,
    own: Army,
    armies: Vec<Army>,
    weights: Vec<f32>,
    certainty: Certainty,
    capacity: usize,
    threads: usize,
    pending: Option<Expansion>,
}

impl Belief {
    /// What `color` knows when a game begins from a position that both sides are told. At most
    /// `capacity` boards are kept; large sets are worked on by so many `threads`.
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

    /// Whose belief it is.
    pub fn color(&self) -> Color {
        self.color
    }

    /// One's own men.
    pub fn own(&self) -> &Army {
        &self.own
    }

    /// What the other side may have, board by board; never empty, and no two are the same.
    pub fn armies(&self) -> &[Army] {
        &self.armies
    }

    /// How likely each of these is; they sum to 1.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// How far it can be relied upon.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// Works ahead while the other side thinks: takes at most `boards` boards further as if nothing
    /// will be captured, which is mostly so. Says whether there is more to do.
    pub fn anticipate(&mut self, boards: usize, model: &impl OpponentModel) -> bool {
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => self.expansion(None),
        };
        let more = pending.advance(&self.armies, &self.weights, boards, 1, model);
        self.pending = Some(pending);
        more
    }

    fn expansion(&self, capture: Option<Square>) -> Expansion {
        let scene = Scene::new(!self.color, self.own, capture);
        Expansion::new(scene, self.armies.len(), self.capacity)
    }

    /// The other side has moved, and took a man of ours on `capture`, or none.
    pub fn heard(&mut self, capture: Option<Square>, model: &impl OpponentModel) {
        let pending = self.pending.take().filter(|_| capture.is_none());
        let mut expansion = pending.unwrap_or_else(|| self.expansion(capture));
        expansion.advance(&self.armies, &self.weights, usize::MAX, self.threads, model);
        let (armies, weights, sampled) = expansion.finish(self.threads);
        if sampled {
            self.certainty = self.certainty.max(Certainty::Sampled);
        }
        let scene = Scene::new(!self.color, self.own, capture);
        if armies.is_empty() {
            self.repair(capture.map_or(Bitboard::EMPTY, Bitboard::from), |army, color| {
                // Some man must have gone there: the first that is not the king.
                let king = army.king().map_or(Bitboard::EMPTY, Bitboard::from);
                let from = army.occupied().without(king).first();
                if let (Some(from), Some(to)) = (from, capture) {
                    let role = army.role_at(from);
                    army.set(color, from, None);
                    army.set(color, to, role);
                }
            });
        } else {
            (self.armies, self.weights) = (armies, weights);
            self.normalise();
        }
        self.own = scene.own_after();
    }

    /// What a sense has shown.
    pub fn sensed(&mut self, seen: &[Sensed]) {
        let theirs = !self.color;
        let (mut mask, mut shown) = (0, Army::default());
        for &(square, piece) in seen {
            mask |= Bitboard::from(square).0;
            let role = piece.filter(|piece| piece.color == theirs).map(|piece| piece.role);
            shown.set(theirs, square, role);
        }
        let [a, b, c] = shown.planes();
        let agrees = |army: &Army| {
            let planes = army.planes();
            (planes[0] & mask ^ a) | (planes[1] & mask ^ b) | (planes[2] & mask ^ c) == 0
        };
        if self.armies.iter().any(agrees) {
            self.retain(agrees);
        } else {
            self.repair(Bitboard(mask), |army, color| {
                for square in Bitboard(mask) {
                    army.set(color, square, shown.role_at(square));
                }
            });
        }
    }

    /// What became of one's own request; `None` is a pass, or that nothing was done.
    pub fn moved(
        &mut self,
        request: Option<Request>,
        taken: Option<Request>,
        capture: Option<Square>,
    ) {
        let (color, own) = (self.color, self.own);
        let taken = taken.map(|step| Taken { step, capture });
        let agrees = |army: &Army| {
            let theirs = army.occupied();
            let made = request.and_then(|step| own.take(color, step, theirs, army.passed(!color)));
            // Had the king been taken, nothing would follow.
            made == taken && (capture.is_none() || army.king() != capture)
        };
        if self.armies.iter().any(agrees) {
            self.retain(agrees);
        } else {
            let step = taken.map(|taken| taken.step);
            let empty: Bitboard = step.map(|step| step.to).into_iter().chain(capture).collect();
            self.repair(empty, |army, color| {
                for square in empty {
                    army.set(color, square, None);
                }
            });
        }
        let mut pool = Pool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let mut army = army.rested();
            if let Some(square) = capture {
                army.remove(!color, square);
            }
            pool.add(army, weight);
        }
        self.own.make(color, taken, &mut Army::default());
        self.adopt(pool);
    }

    /// What one's own men may have become by a request whose answer was lost, the likeliest first.
    pub fn may_have_become(&self, request: Option<Request>) -> Vec<Army> {
        let mut all: Vec<(Army, f64)> = Vec::new();
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let (own, _) = self.made(request, army);
            match all.iter_mut().find(|(known, _)| *known == own) {
                Some((_, sum)) => *sum += f64::from(weight),
                None => all.push((own, f64::from(weight))),
            }
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.into_iter().map(|(own, _)| own).collect()
    }

    /// One's own men, and where a man was taken, after a request that met with these.
    fn made(&self, request: Option<Request>, theirs: &Army) -> (Army, Option<Square>) {
        let (occupied, passed) = (theirs.occupied(), theirs.passed(!self.color));
        let taken = request.and_then(|step| self.own.take(self.color, step, occupied, passed));
        let mut own = self.own;
        own.make(self.color, taken, &mut Army::default());
        (own, taken.and_then(|taken| taken.capture))
    }

    /// A request was made whose answer was lost, and one's own men have become these: whether it took
    /// anything is as each board has it. They must be among [`Belief::may_have_become`].
    pub fn moved_unheard(&mut self, request: Option<Request>, own: Army) {
        let mut pool = Pool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let (became, capture) = self.made(request, army);
            // Had the king been taken, nothing would follow.
            if became != own || capture.is_some() && capture == army.king() {
                continue;
            }
            let mut army = army.rested();
            if let Some(square) = capture {
                army.remove(!self.color, square);
            }
            pool.add(army, weight);
        }
        self.own = own;
        if pool.len() > 0 {
            self.adopt(pool);
        } else {
            self.repair(Bitboard::EMPTY, |_, _| {});
        }
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
        self.normalise();
    }

    /// Nothing agrees with what was told of some squares: makes every board agree with it by `mend`.
    fn repair(&mut self, told: Bitboard, mend: impl Fn(&mut Army, Color)) {
        self.certainty = Certainty::Repaired;
        let mut pool = Pool::new(self.armies.len());
        for (army, &weight) in self.armies.iter().zip(&self.weights) {
            let (mut army, king) = (*army, army.king());
            mend(&mut army, !self.color);
            self.crown(&mut army, king, told);
            pool.add(army, weight);
        }
        self.adopt(pool);
    }

    /// Gives an army that was mended one king again: as near as can be to where it stood, or the one that
    /// was seen. Nothing changes on squares of which something was told.
    fn crown(&self, army: &mut Army, before: Option<Square>, told: Bitboard) {
        let (color, kings) = (!self.color, army.by_role(Role::King));
        let seen = (kings & told).first().or(kings.first());
        for king in kings.into_iter().filter(|&king| Some(king) != seen && !told.contains(king)) {
            army.set(color, king, None);
        }
        if let (None, Some(before)) = (seen, before) {
            let free = !(army.occupied() | self.own.occupied() | told);
            let nearest = free.into_iter().min_by_key(|&square| square.distance(before));
            nearest.into_iter().for_each(|square| army.set(color, square, Some(Role::King)));
        }
    }

    fn adopt(&mut self, pool: Pool) {
        (self.armies, self.weights) = pool.into_boards(self.threads);
        self.normalise();
    }

    fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().copied().map(f64::from).sum();
        // A board of no weight at all would be lost; the least that can be is enough.
        let scale = if sum > 0.0 { 1.0 / sum } else { 1.0 };
        for weight in &mut self.weights {
            *weight = (f64::from(*weight) * scale).max(f64::from(f32::MIN_POSITIVE)) as f32;
        }
    }
}

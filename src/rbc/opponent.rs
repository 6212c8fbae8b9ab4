//! What a player knows of the opponent's move, and how likely its moves are.

use std::collections::HashMap;

use shakmaty::attacks::{bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};

use crate::rules::rbc::{Army, RbcStep, Request, attackers};
use crate::rules::{Bitboard, Color, Role, Square};

/// What a player knows of a move of the opponent. It is the same for all boards of a set.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// The opponent, whose move it is.
    pub(super) color: Color,
    /// The player's own pieces before the move.
    pub(super) own: Army,
    /// Their squares.
    pub(super) occupied: Bitboard,
    /// The en passant square of the player's own double step.
    pub(super) en_passant: Option<Square>,
    /// The square of the captured piece.
    pub(super) capture: Option<Square>,
    /// The en passant squares on which the player could capture after the move. Others are not stored.
    pub(super) relevant_en_passant: Bitboard,
    /// The squares that the player's pawns attack before the move.
    pawn_attacks: Bitboard,
}

impl Observation {
    /// Returns the observation of a move of `color` that captured a piece of the army `own` on `capture`, or
    /// nothing.
    pub(super) fn new(color: Color, own: Army, capture: Option<Square>) -> Observation {
        let mut observation = Observation {
            color,
            own,
            occupied: own.occupied(),
            en_passant: own.en_passant(!color),
            capture,
            relevant_en_passant: Bitboard::EMPTY,
            pawn_attacks: own.pawn_attacks(!color),
        };
        observation.relevant_en_passant = observation.own_after().pawn_attacks(!color);
        observation
    }

    /// Returns the player's own pieces after the move.
    pub(super) fn own_after(&self) -> Army {
        let mut own = self.own.without_en_passant();
        if let Some(square) = self.capture {
            own.remove(!self.color, square);
        }
        own
    }

    /// Returns `false` if no move of `army` can capture on the observed square.
    pub(super) fn is_possible(&self, army: &Army) -> bool {
        let Some(square) = self.capture else { return true };
        let is_en_passant = self
            .en_passant
            .is_some_and(|passed| passed.file() == square.file() && passed.distance(square) == 1);
        let occupied = self.occupied | army.occupied();
        is_en_passant || attackers(army, self.color, square, occupied).any()
    }
}

/// The moves of the opponent on one board. The pass is not among the steps.
#[derive(Clone, Copy, Debug)]
pub struct Replies<'a> {
    pub(super) observation: &'a Observation,
    /// The opponent's pieces.
    pub army: &'a Army,
    /// The opponent's steps.
    pub steps: &'a [RbcStep],
}

/// Estimates the likelihood of moves of the opponent.
pub trait OpponentModel: Sync {
    /// The share of the weight that is distributed evenly, in (0, 1], so that no move is excluded. If it is
    /// 1, [`OpponentModel::likelihoods`] is not called.
    const EVEN_SHARE: f32;

    /// Appends the likelihood of each step and then of the pass, in any unit, none of them negative.
    fn likelihoods(&self, replies: Replies<'_>, likelihoods: &mut Vec<f32>);
}

/// All moves are equally likely, as in the paper.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformOpponent;

impl OpponentModel for UniformOpponent {
    const EVEN_SHARE: f32 = 1.0;

    fn likelihoods(&self, _: Replies<'_>, _: &mut Vec<f32>) {}
}

/// Hand-made rules for players without a network (see [`Prediction`]): captures are likely, the more so the
/// higher the value of the piece; attacks on the king are likely; passes and moves to squares that pawns
/// attack are not. The rules are weak because the opponent sees little.
#[derive(Clone, Copy, Debug, Default)]
pub struct Habits;

/// The likelihood of a pass, where that of a quiet move is 1. A request that is impossible becomes a pass.
const PASS_HABIT: f32 = 0.7;

/// Returns the value of a captured piece in pawns.
fn capture_value(role: Role) -> f32 {
    match role {
        Role::Pawn => 1.0,
        Role::Knight | Role::Bishop => 3.0,
        Role::Rook => 5.0,
        Role::Queen => 9.0,
        Role::King => 40.0,
    }
}

/// The squares from which the player's king is attacked.
struct KingAttackers {
    king: Square,
    diagonal: Bitboard,
    straight: Bitboard,
}

impl KingAttackers {
    /// Returns `true` if a piece of `color` that makes the step attacks the king. Discovered attacks do not
    /// count.
    fn attacks(&self, step: &RbcStep, color: Color) -> bool {
        match step.becomes {
            Role::Pawn => pawn_attacks(!color, self.king).contains(step.to),
            Role::Knight => knight_attacks(self.king).contains(step.to),
            Role::Bishop => self.diagonal.contains(step.to),
            Role::Rook => self.straight.contains(step.to),
            Role::Queen => (self.diagonal | self.straight).contains(step.to),
            Role::King => false,
        }
    }
}

impl OpponentModel for Habits {
    const EVEN_SHARE: f32 = 0.2;

    fn likelihoods(&self, replies: Replies<'_>, likelihoods: &mut Vec<f32>) {
        let Replies { observation, army, steps } = replies;
        let occupied = observation.occupied | army.occupied();
        let king_attackers = observation.own.king().map(|king| KingAttackers {
            king,
            diagonal: bishop_attacks(king, occupied),
            straight: rook_attacks(king, occupied),
        });
        for step in steps {
            let captured = step.capture.and_then(|square| observation.own.role_at(square));
            let value = captured.map_or(0.0, capture_value);
            let is_attacked = step.role != Role::Pawn && observation.pawn_attacks.contains(step.to);
            let risk = if is_attacked { 0.5 } else { 1.0 };
            let promotion =
                if step.becomes == step.role { 1.0 } else { capture_value(step.becomes) / 3.0 };
            let attacks_king = king_attackers
                .as_ref()
                .is_some_and(|attackers| attackers.attacks(step, observation.color));
            let threat = if attacks_king { 3.0 } else { 1.0 };
            likelihoods.push((1.0 + 1.5 * value) * risk * promotion * threat);
        }
        likelihoods.push(PASS_HABIT);
    }
}

/// The number of kinds of a step: six roles, promotion to a queen, and another promotion.
const STEP_KINDS: usize = 8;
/// The probability of a step that was possible on none of the boards that the network saw.
const UNKNOWN_STEP: f32 = 0.01;
/// The probability of a pass: mostly a pawn's capture of a piece that was not there.
const PREDICTED_PASS: f32 = 0.1;
/// The share of a board's own policy in the probabilities of its steps. The rest is the average over the boards.
const OWN_SHARE: f32 = 0.5;

/// The policies of a network on some boards, applied to all boards. The probability of a step is its average over the
/// boards on which it is possible, mixed with that on the board itself if the network saw it. The player's own pieces
/// are the same on all boards, so that the captures and threats of a step are mostly the same, too.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The average probabilities by [`step_index`].
    averages: Vec<f32>,
    /// The policy of each board, by the hash of the mover's army: indices of steps in ascending order with their
    /// probabilities.
    policies: HashMap<u64, Vec<(u32, f32)>>,
}

fn step_index(role: Role, from: Square, to: Square, becomes: Role) -> usize {
    let kind =
        if becomes == role { role as usize - 1 } else { 6 + usize::from(becomes != Role::Queen) };
    kind << 12 | usize::from(from) << 6 | usize::from(to)
}

impl Prediction {
    /// Returns the prediction by policies, each given as the army of the mover, the weight of the board, and the
    /// probabilities of requests.
    pub fn new<'a>(
        boards: impl IntoIterator<Item = (Army, f32, &'a [(Request, f32)])>,
    ) -> Prediction {
        let mut averages = vec![0.0; STEP_KINDS << 12];
        let mut weights = vec![0.0; STEP_KINDS << 12];
        let mut policies = HashMap::new();
        for (army, weight, policy) in boards {
            let mut own = Vec::with_capacity(policy.len());
            for &(Request { from, to, promotion }, probability) in policy {
                let Some(role) = army.role_at(from) else { continue };
                let index = step_index(role, from, to, promotion.unwrap_or(role));
                averages[index] += weight * probability;
                weights[index] += weight;
                own.push((index as u32, probability));
            }
            own.sort_unstable_by_key(|&(index, _)| index);
            policies.insert(army.hash(), own);
        }
        for (average, weight) in averages.iter_mut().zip(weights) {
            *average = if weight > 0.0 { *average / weight } else { UNKNOWN_STEP };
        }
        Prediction { averages, policies }
    }
}

impl OpponentModel for Prediction {
    const EVEN_SHARE: f32 = 0.1;

    fn likelihoods(&self, replies: Replies<'_>, likelihoods: &mut Vec<f32>) {
        let own = self.policies.get(&replies.army.hash()).map_or(&[][..], Vec::as_slice);
        for step in replies.steps {
            let index = step_index(step.role, step.from, step.to, step.becomes);
            let average = self.averages[index];
            let place = own.binary_search_by_key(&(index as u32), |&(index, _)| index);
            let on_board = place.map_or(average, |place| own[place].1);
            likelihoods.push(average + OWN_SHARE * (on_board - average));
        }
        likelihoods.push(PREDICTED_PASS);
    }
}

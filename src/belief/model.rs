//! What the other side is likely to do.

use shakmaty::attacks::{bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};

use super::scene::Scene;
use crate::rules::Role;
use crate::rules::blind::{Army, Step};

/// The replies that the other side has on one board, passing beside them.
#[derive(Clone, Copy, Debug)]
pub struct Replies<'a> {
    pub(super) scene: &'a Scene,
    /// Its men.
    pub army: &'a Army,
    /// Its steps.
    pub steps: &'a [Step],
}

/// How likely replies are.
pub trait OpponentModel: Sync {
    /// How much of the weight is shared out evenly, so that nothing is ever held to be impossible:
    /// above 0; with 1 the model is not asked.
    const MIX: f32;

    /// Appends how likely each step is, and at last a pass; in any unit, none negative.
    fn chances(&self, replies: Replies<'_>, chances: &mut Vec<f32>);
}

/// Nothing is known of the other side: all replies are alike, as in the paper.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl OpponentModel for Uniform {
    const MIX: f32 = 1.0;

    fn chances(&self, _: Replies<'_>, _: &mut Vec<f32>) {}
}

/// What nearly everybody does who plays blind chess: takes what can be taken, the more it is worth,
/// likes to attack the king, seldom passes, and seldom puts a man where a pawn would take it. Hand-made,
/// for where there is no network ([`Prediction`](super::Prediction)); the other side sees little, and so
/// little is expected of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Habits;

/// What a man is worth to whoever takes it, in pawns.
fn worth(role: Role) -> f32 {
    match role {
        Role::Pawn => 1.0,
        Role::Knight | Role::Bishop => 3.0,
        Role::Rook => 5.0,
        Role::Queen => 9.0,
        Role::King => 40.0,
    }
}

impl OpponentModel for Habits {
    const MIX: f32 = 0.2;

    fn chances(&self, replies: Replies<'_>, chances: &mut Vec<f32>) {
        let Replies { scene, army, steps } = replies;
        let guarded = scene.guarded();
        let occupied = scene.occupied | army.occupied();
        let lines = scene
            .own
            .king()
            .map(|king| (king, bishop_attacks(king, occupied), rook_attacks(king, occupied)));
        // Whether the king is attacked from there, whatever else the step uncovers.
        let threatens = |step: &Step| {
            lines.is_some_and(|(king, diagonal, straight)| match step.becomes {
                Role::Pawn => pawn_attacks(!scene.color, king).contains(step.to),
                Role::Knight => knight_attacks(king).contains(step.to),
                Role::Bishop => diagonal.contains(step.to),
                Role::Rook => straight.contains(step.to),
                Role::Queen => (diagonal | straight).contains(step.to),
                Role::King => false,
            })
        };
        for step in steps {
            let prize =
                step.capture.and_then(|square| scene.own.role_at(square)).map_or(0.0, worth);
            let risk = if guarded.contains(step.to) && step.role != Role::Pawn { 0.5 } else { 1.0 };
            let change = if step.becomes == step.role { 1.0 } else { worth(step.becomes) / 3.0 };
            let threat = if threatens(step) { 3.0 } else { 1.0 };
            chances.push((1.0 + 1.5 * prize) * risk * change * threat);
        }
        // A request that cannot be is a pass, too.
        chances.push(0.7);
    }
}

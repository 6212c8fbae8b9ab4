//! What a policy expects of the other side.

use super::model::{OpponentModel, Replies};
use crate::rules::blind::{Army, Request, Step};
use crate::rules::{Role, Square};

/// Steps are told apart by what moves, and promotions by whether they are to a queen.
const KINDS: usize = 8;
/// How likely a step is that no board had which was asked about.
const UNSEEN: f32 = 0.01;
/// How likely a pass is.
const PASS: f32 = 0.05;

/// What a policy that sees both sides expects, learned from some of the boards that may be and used
/// for all: the probability of a step wherever it is possible. One's own men are the same on all of
/// them, so that what a step takes and where it leads is mostly the same, too.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The probability of each step where it is possible, by its [`place`].
    chances: Vec<f32>,
}

fn place(role: Role, from: Square, to: Square, becomes: Role) -> usize {
    let kind = match becomes == role {
        true => role as usize - 1,
        false => 6 + usize::from(becomes != Role::Queen),
    };
    kind << 12 | usize::from(from) << 6 | usize::from(to)
}

impl Prediction {
    /// Learns from boards: the mover's army on each, the board's weight, and what is likely there.
    pub fn new<'a>(
        boards: impl IntoIterator<Item = (Army, f32, &'a [(Request, f32)])>,
    ) -> Prediction {
        let places = KINDS << 12;
        let (mut chances, mut weights) = (vec![0.0; places], vec![0.0; places]);
        for (army, weight, likely) in boards {
            for &(Request { from, to, promotion }, chance) in likely {
                let Some(role) = army.role_at(from) else { continue };
                let place = place(role, from, to, promotion.unwrap_or(role));
                chances[place] += weight * chance;
                weights[place] += weight;
            }
        }
        for (chance, weight) in chances.iter_mut().zip(weights) {
            *chance = if weight > 0.0 { *chance / weight } else { UNSEEN };
        }
        Prediction { chances }
    }
}

impl OpponentModel for Prediction {
    const MIX: f32 = 0.1;

    fn chances(&self, replies: Replies<'_>, chances: &mut Vec<f32>) {
        let chance = |step: &Step| self.chances[place(step.role, step.from, step.to, step.becomes)];
        chances.extend(replies.steps.iter().map(chance));
        chances.push(PASS);
    }
}

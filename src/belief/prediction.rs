//! What a policy expects of the other side.

use super::model::{OpponentModel, Replies};
use crate::rules::Role;
use crate::rules::blind::{Army, Request, Step};

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
    /// Sums of probabilities, and of the weights of the boards that had the step.
    sums: Vec<[f32; 2]>,
}

impl Default for Prediction {
    fn default() -> Prediction {
        Prediction { sums: vec![[0.0; 2]; KINDS << 12] }
    }
}

fn place(step: &Step) -> usize {
    let kind = match step.becomes == step.role {
        true => step.role as usize - 1,
        false => 6 + usize::from(step.becomes != Role::Queen),
    };
    kind << 12 | usize::from(step.from) << 6 | usize::from(step.to)
}

impl Prediction {
    /// Learns what is likely on a board of this weight, where the mover has this army.
    pub fn learn(&mut self, army: &Army, weight: f32, likely: &[(Request, f32)]) {
        for &(request, chance) in likely {
            let Some(role) = army.role_at(request.from) else { continue };
            let becomes = request.promotion.unwrap_or(role);
            let step = Step { role, from: request.from, to: request.to, becomes, capture: None };
            let sum = &mut self.sums[place(&step)];
            sum[0] += weight * chance;
            sum[1] += weight;
        }
    }
}

impl OpponentModel for Prediction {
    const MIX: f32 = 0.1;

    fn chances(&self, replies: Replies<'_>, chances: &mut Vec<f32>) {
        chances.extend(replies.steps.iter().map(|step| match self.sums[place(step)] {
            [_, 0.0] => UNSEEN,
            [sum, weight] => sum / weight,
        }));
        chances.push(PASS);
    }
}

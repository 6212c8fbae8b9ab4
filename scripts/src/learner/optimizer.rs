//! What moves the weights against their gradient.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{adamw, muon};
use crate::network::plan::Plan;

/// How weights follow their gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// AdamW (Loshchilov and Hutter, 2019).
    #[default]
    #[serde(rename = "adamw")]
    AdamW,
    /// Muon (Jordan et al., 2024) for the matrices of hidden layers, AdamW for all else.
    Muon,
}

/// What an optimizer remembers, weight by weight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moments {
    /// Moving average of the gradient.
    pub(super) first: Vec<f32>,
    /// Moving average of the squared gradient; 0 where Muon is at work.
    pub(super) second: Vec<f32>,
}

impl Moments {
    /// Of so many weights that have seen no gradient.
    pub(super) fn new(len: usize) -> Self {
        Self { first: vec![0.0; len], second: vec![0.0; len] }
    }
}

/// Some weights that are moved together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    range: Range<usize>,
    /// Weight decay pulls at them.
    decays: bool,
    /// The length of a row, where they are a matrix for Muon.
    columns: Option<usize>,
}

impl Group {
    /// A network's weights, parameter by parameter.
    pub(super) fn all(plan: &Plan, optimizer: Optimizer) -> Vec<Group> {
        let hidden: Vec<Range<usize>> = match optimizer {
            Optimizer::AdamW => Vec::new(),
            Optimizer::Muon => plan.hidden().map(|layer| layer.weight()).collect(),
        };
        let group = |parameter: &crate::network::plan::Parameter| Group {
            range: parameter.range.clone(),
            decays: parameter.decays,
            columns: hidden
                .contains(&parameter.range)
                .then(|| parameter.shape[1..].iter().product()),
        };
        plan.parameters.iter().map(group).collect()
    }

    /// Moves the group's weights among all `weights`. `step` counts from 1.
    pub(super) fn step(
        &self,
        weights: &mut [f32],
        moments: &mut Moments,
        gradient: &[f32],
        step: u64,
        learning_rate: f32,
        weight_decay: f32,
    ) {
        let range = || self.range.clone();
        let (weights, gradient) = (&mut weights[range()], &gradient[range()]);
        let (first, second) = (&mut moments.first[range()], &mut moments.second[range()]);
        let decay = if self.decays { learning_rate * weight_decay } else { 0.0 };
        match self.columns {
            Some(columns) => muon::step(weights, first, gradient, columns, learning_rate, decay),
            None => adamw::step(weights, [first, second], gradient, step, learning_rate, decay),
        }
    }
}

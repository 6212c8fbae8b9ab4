//! What moves the weights against their gradient.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{adamw, muon};
use crate::network::graph_ir::{GraphIr, Parameter};

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
    pub(super) fn all(plan: &GraphIr, optimizer: Optimizer) -> Vec<Group> {
        let hidden: Vec<Range<usize>> = match optimizer {
            Optimizer::AdamW => Vec::new(),
            Optimizer::Muon => plan.hidden().map(|layer| layer.weight()).collect(),
        };
        let group = |parameter: &Parameter| Group {
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

#[cfg(test)]
mod tests {
    use menagerie::encoding::Shape;

    use super::*;
    use crate::network::Architecture;

    /// What reads the planes, and what makes the heads, is AdamW's, whatever lies between.
    #[test]
    fn muon_moves_the_matrices_of_hidden_layers() {
        let shape = Shape { planes: 6, height: 3, width: 3, policy_planes: 4, outcomes: 3 };
        let tower = [
            ("block0.first", 36),
            ("block0.second", 36),
            ("block0.squeeze", 4),
            ("block0.excite", 2),
            ("policy.hidden", 36),
            ("value.squares", 4),
            ("value.hidden", 64),
        ];
        for (architecture, wanted) in [
            (Architecture::Residual { blocks: 1, channels: 4, squeeze: 2 }, &tower[..]),
            (Architecture::Twin { blocks: 1, channels: 4, squeeze: 2 }, &tower[..]),
            (Architecture::Mlp { widths: vec![8, 5], policy_channels: 0 }, &[("hidden1", 5)][..]),
        ] {
            let plan = GraphIr::new(shape, &architecture).expect("a plan");
            let groups = Group::all(&plan, Optimizer::Muon);
            let named = plan.parameters.iter().map(|parameter| parameter.name.as_str());
            let moved = named.zip(&groups).filter_map(|(name, group)| Some((name, group.columns?)));
            let moved: Vec<_> =
                moved.map(|(name, it)| (name.trim_end_matches(".weight"), it)).collect();
            assert_eq!(moved, wanted);
            let plain = Group::all(&plan, Optimizer::AdamW);
            assert!(plain.iter().all(|group| group.columns.is_none()));
        }
    }
}

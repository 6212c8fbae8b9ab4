//! The optimizers and their state.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{adamw, muon};
use crate::network::graph_ir::{GraphIr, Parameter};

/// An optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// AdamW (Loshchilov and Hutter, 2019).
    #[default]
    #[serde(rename = "adamw")]
    AdamW,
    /// Muon (Jordan et al., 2024) for the matrices of hidden layers, AdamW for the other weights.
    Muon,
}

/// The state of an optimizer, weight by weight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moments {
    /// Moving average of the gradient.
    pub(super) first: Vec<f32>,
    /// Moving average of the squared gradient; 0 for weights of Muon.
    pub(super) second: Vec<f32>,
}

impl Moments {
    /// Returns the initial state of `len` weights.
    pub(super) fn new(len: usize) -> Self {
        Self { first: vec![0.0; len], second: vec![0.0; len] }
    }
}

/// A parameter and how it is optimized.
#[derive(Clone, Debug)]
pub(super) struct ParameterGroup {
    range: Range<usize>,
    /// Whether it has weight decay.
    decays: bool,
    /// The number of columns, if it is a matrix for Muon.
    columns: Option<usize>,
}

impl ParameterGroup {
    /// Returns a group for each parameter of a graph.
    pub(super) fn all(graph: &GraphIr, optimizer: Optimizer) -> Vec<ParameterGroup> {
        let hidden: Vec<Range<usize>> = match optimizer {
            Optimizer::AdamW => Vec::new(),
            Optimizer::Muon => graph.hidden_layers().map(|layer| layer.weight()).collect(),
        };
        let group = |parameter: &Parameter| ParameterGroup {
            range: parameter.range.clone(),
            decays: parameter.decays,
            columns: hidden
                .contains(&parameter.range)
                .then(|| parameter.shape[1..].iter().product()),
        };
        graph.parameters.iter().map(group).collect()
    }

    /// Takes a step of the weights of the group among all `weights`. `step` counts from 1.
    pub(super) fn step(
        &self,
        weights: &mut [f32],
        moments: &mut Moments,
        gradient: &[f32],
        step: u64,
        learning_rate: f32,
        weight_decay: f32,
    ) {
        let weights = &mut weights[self.range.clone()];
        let gradient = &gradient[self.range.clone()];
        let first = &mut moments.first[self.range.clone()];
        let second = &mut moments.second[self.range.clone()];
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

    /// The layers that read the planes and those that give the outputs are left to AdamW.
    #[test]
    fn muon_has_matrices_of_hidden_layers() {
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
            (Architecture::TwoBoards { blocks: 1, channels: 4, squeeze: 2 }, &tower[..]),
            (Architecture::Mlp { widths: vec![8, 5], policy_channels: 0 }, &[("hidden1", 5)][..]),
        ] {
            let graph = GraphIr::new(shape, &architecture).expect("a graph");
            let groups = ParameterGroup::all(&graph, Optimizer::Muon);
            let named = graph.parameters.iter().map(|parameter| parameter.name.as_str());
            let moved = named.zip(&groups).filter_map(|(name, group)| Some((name, group.columns?)));
            let moved: Vec<_> =
                moved.map(|(name, it)| (name.trim_end_matches(".weight"), it)).collect();
            assert_eq!(moved, wanted);
            let plain = ParameterGroup::all(&graph, Optimizer::AdamW);
            assert!(plain.iter().all(|group| group.columns.is_none()));
        }
    }
}

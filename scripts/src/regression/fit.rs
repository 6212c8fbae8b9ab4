//! Learns the paper's four regressions.
//!
//! Principal components do not vary together, so that linear regression and the elastic net have
//! their solutions written down: each weight by itself, from the component's variance and its
//! covariance with the value. What is linear in components is linear in the planes, and is kept so.
//! Trees are smartcore's, as deep as they grow and with all components to choose from at each
//! question, as those of scikit-learn that the paper took; each of a forest is learnt from as many
//! positions as there are, drawn with replacement.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::tree::decision_tree_regressor::{
    DecisionTreeRegressor, DecisionTreeRegressorParameters,
};

use super::model::{Model, Node, Tree};
use super::principal::{ActivationRanges, Principal};
use super::states::States;

/// The regressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Least squares.
    Linear,
    /// Least squares with the penalties of lasso and ridge.
    ElasticNet,
    /// One tree.
    Tree,
    /// The mean of trees.
    Forest,
}

impl Kind {
    /// All, as the paper has them.
    pub const ALL: [Kind; 4] = [Kind::Linear, Kind::ElasticNet, Kind::Tree, Kind::Forest];

    /// What its file is called, without the ending.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Linear => "linear",
            Kind::ElasticNet => "elastic",
            Kind::Tree => "tree",
            Kind::Forest => "forest",
        }
    }
}

/// How they are learnt.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Positions to learn from.
    pub states: usize,
    /// Principal components that are kept.
    pub components: usize,
    /// The weight of the elastic net's penalties, half of each kind (scikit-learn's `alpha`).
    pub penalty: f64,
    /// Trees of the forest.
    pub trees: usize,
    /// The seed of all that is random.
    pub seed: u64,
}

/// The share of the lasso's penalty in the elastic net's (scikit-learn's `l1_ratio`).
const LASSO: f64 = 0.5;

/// A model, and how good it is.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Which it is.
    pub kind: Kind,
    /// What it has learnt.
    pub model: Model,
    /// Its mark on what it learnt from.
    pub learnt: f64,
    /// Its mark on what was held back.
    pub held_back: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// Rows in principal components, and all that is asked of them.
#[derive(Debug)]
pub struct Learning<'a> {
    states: &'a States,
    settings: Settings,
    spread: ActivationRanges,
    /// The rows in the components, one after another.
    rows: Vec<f32>,
}

impl<'a> Learning<'a> {
    /// Finds the components of `states`, whose rows have `width` numbers: [`NUMBERS`](super::planes::NUMBERS) if a player is to
    /// go by them.
    ///
    /// # Errors
    /// In words, if there is nothing to learn from or the settings make no sense.
    pub fn new(
        states: &'a States,
        width: usize,
        settings: Settings,
    ) -> anyhow::Result<Learning<'a>> {
        let Settings { components, penalty, trees, .. } = settings;
        anyhow::ensure!(!states.rows.is_empty(), "no positions to learn from");
        anyhow::ensure!(
            (1..=width).contains(&components),
            "1 to {width} components, not {components}"
        );
        anyhow::ensure!(penalty >= 0.0 && penalty.is_finite(), "no penalty is {penalty}");
        anyhow::ensure!(trees > 0, "a forest without trees");
        let spread = ActivationRanges::of(&states.rows, width, components);
        let rows = states.rows.iter().flat_map(|row| spread.principal.project(row)).collect();
        Ok(Learning { states, settings, spread, rows })
    }

    /// How much of the variance the components explain, 0 to 1.
    pub fn explained(&self) -> f64 {
        self.spread.explained
    }

    /// Learns a regression and marks it.
    ///
    /// # Errors
    /// If smartcore cannot.
    pub fn fit(&self, kind: Kind, held_back: &States) -> anyhow::Result<Fitted> {
        let begun = Instant::now();
        let model = match kind {
            Kind::Linear => self.linear(0.0),
            Kind::ElasticNet => self.linear(self.settings.penalty),
            Kind::Tree => self.trees(false)?,
            Kind::Forest => self.trees(true)?,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let (learnt, held_back) = (mark(&model, self.states), mark(&model, held_back));
        Ok(Fitted { kind, model, learnt, held_back, seconds })
    }

    /// Least squares with penalties: half the mean square error, and `penalty` times the mean of
    /// the sum of the weights' sizes and half the sum of their squares.
    fn linear(&self, penalty: f64) -> Model {
        let Principal { components, axes, mean: center, .. } = &self.spread.principal;
        let values = &self.states.values;
        let mean = values.iter().map(|&it| f64::from(it)).sum::<f64>() / values.len() as f64;
        let mut with_value = vec![0.0; *components];
        for (row, &value) in self.rows.chunks_exact(*components).zip(values) {
            let more = f64::from(value) - mean;
            with_value.iter_mut().zip(row).for_each(|(sum, &it)| *sum += f64::from(it) * more);
        }
        let largest = self.spread.variances.first().copied().unwrap_or(0.0);
        let weights: Vec<f64> = with_value
            .iter()
            .zip(&self.spread.variances)
            .map(|(sum, &variance)| {
                let covariance = sum / values.len() as f64;
                let shrunk = (covariance.abs() - penalty * LASSO).max(0.0);
                // Where nothing varies, nothing is known.
                let known = variance > largest * 1e-9;
                let over = variance + penalty * (1.0 - LASSO);
                if known { covariance.signum() * shrunk / over } else { 0.0 }
            })
            .collect();
        let on = |parts: &[f32]| -> f64 {
            parts.iter().zip(&weights).map(|(&part, weight)| f64::from(part) * weight).sum()
        };
        Model::Linear {
            weights: axes.chunks_exact(*components).map(|parts| on(parts) as f32).collect(),
            bias: (mean - on(center)) as f32,
        }
    }

    fn trees(&self, forest: bool) -> anyhow::Result<Model> {
        let components = self.spread.principal.components;
        let count = self.states.rows.len();
        let rows = DenseMatrix::new(count, components, self.rows.clone(), false)?;
        let Settings { trees, seed, .. } = self.settings;
        let trees = if forest {
            let all = RandomForestRegressorParameters::default()
                .with_n_trees(trees)
                .with_m(components)
                .with_seed(seed);
            let forest = RandomForestRegressor::fit(&rows, &self.states.values, all)?;
            let written: WrittenForest = serde_json::from_slice(&serde_json::to_vec(&forest)?)?;
            written.forest_regressor.trees
        } else {
            let all = DecisionTreeRegressorParameters { seed: Some(seed), ..Default::default() };
            let tree = DecisionTreeRegressor::fit(&rows, &self.states.values, all)?;
            let written: WrittenTree = serde_json::from_slice(&serde_json::to_vec(&tree)?)?;
            vec![written.tree_regressor]
        };
        let trees = trees.into_iter().map(Written::tree).collect::<anyhow::Result<_>>()?;
        Ok(Model::Trees { principal: self.spread.principal.clone(), trees })
    }
}

/// The share of the variance of V that a model explains (R squared): 1 at best, 0 for the mean.
fn mark(model: &Model, states: &States) -> f64 {
    let count = states.values.len() as f64;
    let mean = states.values.iter().map(|&it| f64::from(it)).sum::<f64>() / count;
    let (mut wrong, mut all) = (0.0, 0.0);
    for (row, &value) in states.rows.iter().zip(&states.values) {
        wrong += f64::from(value - model.predict(row)).powi(2);
        all += (f64::from(value) - mean).powi(2);
    }
    1.0 - wrong / all
}

/// A tree as smartcore writes it.
#[derive(Deserialize)]
struct WrittenTree {
    tree_regressor: Written,
}

/// A forest as smartcore writes it.
#[derive(Deserialize)]
struct WrittenForest {
    forest_regressor: WrittenTrees,
}

#[derive(Deserialize)]
struct WrittenTrees {
    trees: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    nodes: Vec<WrittenNode>,
}

#[derive(Deserialize)]
struct WrittenNode {
    output: f64,
    split_feature: usize,
    split_value: Option<f64>,
    true_child: Option<usize>,
    false_child: Option<usize>,
}

impl Written {
    fn tree(self) -> anyhow::Result<Tree> {
        let node = |node: WrittenNode| {
            let children = (node.split_value, node.true_child, node.false_child);
            let (Some(at), Some(below), Some(above)) = children else {
                return Ok(Node::Leaf(node.output as f32));
            };
            Ok(Node::Split {
                component: node.split_feature.try_into()?,
                at: not_above(at),
                below: below.try_into()?,
                above: above.try_into()?,
            })
        };
        self.nodes.into_iter().map(node).collect::<anyhow::Result<_>>().map(Tree)
    }
}

/// The greatest number of four bytes that is not above `number`: to those it is the same threshold.
fn not_above(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) > number { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use smartcore::linalg::basic::arrays::Array;

    use super::*;

    #[test]
    fn a_tree_answers_as_smartcore_does() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let numbers: Vec<f32> = (0..3 * 400).map(|_| rng.random_range(-1.0..1.0)).collect();
        let values: Vec<f32> = numbers.chunks(3).map(|it| it[0] * it[1] - it[2]).collect();
        let rows = DenseMatrix::new(400, 3, numbers.clone(), false).unwrap();
        let tree = DecisionTreeRegressor::fit(&rows, &values, Default::default()).unwrap();
        let written: WrittenTree =
            serde_json::from_slice(&serde_json::to_vec(&tree).unwrap()).unwrap();
        let ours = written.tree_regressor.tree().unwrap();
        let unseen: Vec<f32> = (0..3 * 400).map(|_| rng.random_range(-1.0..1.0)).collect();
        for set in [numbers, unseen] {
            let rows = DenseMatrix::new(400, 3, set.clone(), false).unwrap();
            let theirs: Vec<f32> = tree.predict(&rows).unwrap();
            assert_eq!(rows.shape(), (400, 3));
            for (row, wanted) in set.chunks(3).zip(theirs) {
                assert_eq!(ours.answer(row), wanted);
            }
        }
    }

    #[test]
    fn thresholds_are_rounded_down() {
        for number in [0.1_f64, -0.1, 1.0, 1e-50, -1e-50, 16_777_217.0] {
            let rounded = not_above(number);
            assert!(f64::from(rounded) <= number && number < f64::from(rounded.next_up()));
        }
    }
}

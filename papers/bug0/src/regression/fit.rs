//! Fits the paper's four regressions.
//!
//! Principal components are uncorrelated, so linear regression and the elastic net have closed
//! solutions: each weight follows from the component's variance and its covariance with the value.
//! A linear function of components is stored as a linear function of the features.
//!
//! The trees are smartcore's, of unlimited depth and with all components as candidates at each
//! split, as the scikit-learn defaults that the paper used. Each tree of a forest is fitted from a
//! bootstrap sample of the size of the training set.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::tree::decision_tree_regressor::{
    DecisionTreeRegressor, DecisionTreeRegressorParameters,
};

use super::components::{ComponentAnalysis, PrincipalComponents};
use super::model::{Model, Tree};
use super::samples::Samples;
use super::smartcore_trees::{TreeError, read_forest, read_tree};

/// The paper's regressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegressionKind {
    /// Least squares.
    Linear,
    /// Least squares with lasso and ridge penalties.
    ElasticNet,
    /// A decision tree.
    Tree,
    /// A random forest.
    Forest,
}

impl RegressionKind {
    /// All kinds, in the order of the paper.
    pub const ALL: [RegressionKind; 4] = [
        RegressionKind::Linear,
        RegressionKind::ElasticNet,
        RegressionKind::Tree,
        RegressionKind::Forest,
    ];

    /// Returns the stem of the model's file name.
    pub fn name(self) -> &'static str {
        match self {
            RegressionKind::Linear => "linear",
            RegressionKind::ElasticNet => "elastic",
            RegressionKind::Tree => "tree",
            RegressionKind::Forest => "forest",
        }
    }
}

/// The settings of a fit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSettings {
    /// Positions of the training set. The alias is the key of earlier versions.
    #[serde(alias = "states")]
    pub positions: usize,
    /// Principal components.
    pub components: usize,
    /// The weight of the elastic net's penalties (scikit-learn's `alpha`).
    pub penalty: f64,
    /// Trees of the forest.
    pub trees: usize,
    /// The seed.
    pub seed: u64,
}

/// The share of the lasso penalty in the elastic net (scikit-learn's `l1_ratio`).
const LASSO_RATIO: f64 = 0.5;

/// Variances below this share of the greatest one are treated as 0.
const MIN_RELATIVE_VARIANCE: f64 = 1e-9;

/// Errors of [`Fitter`].
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The training set is empty.
    #[error("no positions in the training set")]
    NoPositions,
    /// The number of components is out of range.
    #[error("the number of components must be from 1 to {width}, not {components}")]
    Components {
        /// The number of components.
        components: usize,
        /// The number of features.
        width: usize,
    },
    /// The penalty is negative or not finite.
    #[error("invalid penalty {0}")]
    Penalty(f64),
    /// The forest has no trees.
    #[error("the number of trees must be at least 1")]
    NoTrees,
    /// smartcore cannot fit the trees.
    #[error(transparent)]
    Smartcore(#[from] smartcore::error::Failed),
    /// The trees of smartcore cannot be read.
    #[error(transparent)]
    Trees(#[from] TreeError),
}

/// A model and its quality.
#[derive(Clone, Debug)]
pub struct FittedModel {
    /// The kind of the regression.
    pub kind: RegressionKind,
    /// The model.
    pub model: Model,
    /// R squared on the training set.
    pub train_r_squared: f64,
    /// R squared on the test set.
    pub test_r_squared: f64,
    /// Seconds that the fit took.
    pub seconds: f64,
}

/// Fits regressions from a training set.
#[derive(Debug)]
pub struct Fitter<'a> {
    samples: &'a Samples,
    settings: FitSettings,
    analysis: ComponentAnalysis,
    /// The rows in components, end to end.
    projected: Vec<f32>,
}

impl<'a> Fitter<'a> {
    /// Computes the principal components of `samples`, which have `width` features. For models of the
    /// player it is [`FEATURE_COUNT`](super::features::FEATURE_COUNT).
    ///
    /// # Errors
    /// If there are no positions or the settings are not valid.
    pub fn new(
        samples: &'a Samples,
        width: usize,
        settings: FitSettings,
    ) -> Result<Fitter<'a>, FitError> {
        let FitSettings { components, penalty, trees, .. } = settings;
        if samples.is_empty() {
            return Err(FitError::NoPositions);
        }
        if !(1..=width).contains(&components) {
            return Err(FitError::Components { components, width });
        }
        if !(penalty >= 0.0 && penalty.is_finite()) {
            return Err(FitError::Penalty(penalty));
        }
        if trees == 0 {
            return Err(FitError::NoTrees);
        }
        let analysis = ComponentAnalysis::new(&samples.features, width, components);
        let projected =
            samples.features.iter().flat_map(|row| analysis.components.project(row)).collect();
        Ok(Fitter { samples, settings, analysis, projected })
    }

    /// Returns the share of the variance that the components explain, 0 to 1.
    pub fn explained_variance(&self) -> f64 {
        self.analysis.explained
    }

    /// Fits a regression and measures it on the training set and on `test`.
    ///
    /// # Errors
    /// If smartcore fails.
    pub fn fit(&self, kind: RegressionKind, test: &Samples) -> Result<FittedModel, FitError> {
        let start = Instant::now();
        let model = match kind {
            RegressionKind::Linear => self.fit_linear(0.0),
            RegressionKind::ElasticNet => self.fit_linear(self.settings.penalty),
            RegressionKind::Tree => self.model_of_trees(vec![self.fit_tree()?]),
            RegressionKind::Forest => self.model_of_trees(self.fit_forest()?),
        };
        let seconds = start.elapsed().as_secs_f64();
        let train_r_squared = r_squared(&model, self.samples);
        let test_r_squared = r_squared(&model, test);
        Ok(FittedModel { kind, model, train_r_squared, test_r_squared, seconds })
    }

    /// Minimizes half of the mean squared error plus `penalty` times the mean of the weights' L1 norm
    /// and half of their squared L2 norm.
    fn fit_linear(&self, penalty: f64) -> Model {
        let PrincipalComponents { count, axes, mean: component_means, .. } =
            &self.analysis.components;
        let mean = mean(&self.samples.values);
        let weights = self.component_weights(mean, penalty);
        Model::Linear {
            weights: axes
                .chunks_exact(*count)
                .map(|entries| dot(entries, &weights) as f32)
                .collect(),
            bias: (mean - dot(component_means, &weights)) as f32,
        }
    }

    /// The weight of each component. `mean` is the mean value of the positions.
    fn component_weights(&self, mean: f64, penalty: f64) -> Vec<f64> {
        let values = &self.samples.values;
        let mut products = vec![0.0; self.analysis.components.count];
        for (row, &value) in self.projected.chunks_exact(products.len()).zip(values) {
            let deviation = f64::from(value) - mean;
            for (sum, &component) in products.iter_mut().zip(row) {
                *sum += f64::from(component) * deviation;
            }
        }
        let largest = self.analysis.variances.first().copied().unwrap_or(0.0);
        let weight = |(sum, &variance): (&f64, &f64)| {
            if variance <= largest * MIN_RELATIVE_VARIANCE {
                return 0.0;
            }
            let covariance = sum / values.len() as f64;
            let shrunk = (covariance.abs() - penalty * LASSO_RATIO).max(0.0);
            covariance.signum() * shrunk / (variance + penalty * (1.0 - LASSO_RATIO))
        };
        products.iter().zip(&self.analysis.variances).map(weight).collect()
    }

    fn fit_tree(&self) -> Result<Tree, FitError> {
        let parameters = DecisionTreeRegressorParameters {
            seed: Some(self.settings.seed),
            ..Default::default()
        };
        let tree = DecisionTreeRegressor::fit(&self.matrix()?, &self.samples.values, parameters)?;
        Ok(read_tree(&tree)?)
    }

    fn fit_forest(&self) -> Result<Vec<Tree>, FitError> {
        let parameters = RandomForestRegressorParameters::default()
            .with_n_trees(self.settings.trees)
            .with_m(self.analysis.components.count)
            .with_seed(self.settings.seed);
        let forest = RandomForestRegressor::fit(&self.matrix()?, &self.samples.values, parameters)?;
        Ok(read_forest(&forest)?)
    }

    fn matrix(&self) -> Result<DenseMatrix<f32>, FitError> {
        let columns = self.analysis.components.count;
        Ok(DenseMatrix::new(self.samples.len(), columns, self.projected.clone(), false)?)
    }

    fn model_of_trees(&self, trees: Vec<Tree>) -> Model {
        Model::Trees { components: self.analysis.components.clone(), trees }
    }
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64
}

fn dot(entries: &[f32], weights: &[f64]) -> f64 {
    entries.iter().zip(weights).map(|(&entry, weight)| f64::from(entry) * weight).sum()
}

/// The share of the variance of the values that a model explains: at most 1, and 0 for the mean.
fn r_squared(model: &Model, samples: &Samples) -> f64 {
    let mean = mean(&samples.values);
    let mut residual = 0.0;
    let mut total = 0.0;
    for (features, &value) in samples.features.iter().zip(&samples.values) {
        residual += f64::from(value - model.predict(features)).powi(2);
        total += (f64::from(value) - mean).powi(2);
    }
    1.0 - residual / total
}

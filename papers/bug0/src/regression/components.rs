//! Principal components of sparse features, from their second moments.
//!
//! The dense rows are never built: their sum and the sum of their products are enough, and each row
//! adds the products of its few features. nalgebra computes the eigenvectors of the covariance.

use nalgebra::{DMatrix, SymmetricEigen};
use serde::{Deserialize, Serialize};

use super::features::Features;

/// A change of coordinates to the directions of greatest variance, in descending order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PrincipalComponents {
    /// The number of features.
    pub width: usize,
    /// The number of components.
    pub count: usize,
    /// The entries of each feature in all components: `width` times `count`.
    pub axes: Vec<f32>,
    /// The mean of the rows, in components.
    pub mean: Vec<f32>,
}

/// Principal components of rows, and the variance of the rows in them.
#[derive(Clone, Debug)]
pub struct ComponentAnalysis {
    /// The components.
    pub components: PrincipalComponents,
    /// The variance in each component.
    pub variances: Vec<f64>,
    /// The share of the whole variance that they explain, 0 to 1.
    pub explained: f64,
}

impl ComponentAnalysis {
    /// Computes the first `count` components of `rows`, which have `width` features.
    pub fn new(rows: &[Features], width: usize, count: usize) -> ComponentAnalysis {
        let (mean, covariance) = moments(rows, width);
        let eigen = SymmetricEigen::new(covariance);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        order.truncate(count);
        // Rounding errors may make an eigenvalue negative.
        let variances: Vec<f64> =
            order.iter().map(|&index| eigen.eigenvalues[index].max(0.0)).collect();
        let whole_variance: f64 = eigen.eigenvalues.iter().map(|value| value.max(0.0)).sum();
        let mut axes = Vec::with_capacity(width * order.len());
        let mut projected_mean = vec![0.0; order.len()];
        for (feature, feature_mean) in mean.into_iter().enumerate() {
            for (&index, sum) in order.iter().zip(&mut projected_mean) {
                let entry = eigen.eigenvectors[(feature, index)];
                axes.push(entry as f32);
                *sum += entry * feature_mean;
            }
        }
        let explained =
            if whole_variance > 0.0 { variances.iter().sum::<f64>() / whole_variance } else { 1.0 };
        let mean = projected_mean.into_iter().map(|sum| sum as f32).collect();
        let components = PrincipalComponents { width, count: order.len(), axes, mean };
        ComponentAnalysis { components, variances, explained }
    }
}

/// The mean and the covariance of the rows.
fn moments(rows: &[Features], width: usize) -> (Vec<f64>, DMatrix<f64>) {
    let mut mean = vec![0.0; width];
    let mut products = DMatrix::<f64>::zeros(width, width);
    for Features(row) in rows {
        for (start, &(a, x)) in row.iter().enumerate() {
            mean[usize::from(a)] += f64::from(x);
            for &(b, y) in &row[start..] {
                // Indices ascend, so this is below the diagonal.
                products[(usize::from(b), usize::from(a))] += f64::from(x) * f64::from(y);
            }
        }
    }
    let row_count = rows.len().max(1) as f64;
    for sum in &mut mean {
        *sum /= row_count;
    }
    for a in 0..width {
        for b in a..width {
            let covariance = products[(b, a)] / row_count - mean[a] * mean[b];
            products[(b, a)] = covariance;
            products[(a, b)] = covariance;
        }
    }
    (mean, products)
}

impl PrincipalComponents {
    /// Returns a row in components, relative to the mean.
    pub fn project(&self, row: &Features) -> Vec<f32> {
        let mut projected: Vec<f32> = self.mean.iter().map(|mean| -mean).collect();
        for &(feature, value) in &row.0 {
            let entries = &self.axes[usize::from(feature) * self.count..][..self.count];
            for (sum, entry) in projected.iter_mut().zip(entries) {
                *sum += value * entry;
            }
        }
        projected
    }

    /// Returns `true` if the lengths agree and all numbers are finite.
    pub(super) fn is_valid(&self) -> bool {
        self.width.checked_mul(self.count) == Some(self.axes.len())
            && self.mean.len() == self.count
            && self.axes.iter().chain(&self.mean).all(|number| number.is_finite())
    }
}

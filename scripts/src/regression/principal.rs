//! Principal components of many sparse rows, by their second moments.
//!
//! The rows themselves are never laid out: their sum and the sum of their products, of which each
//! row adds those of its few numbers, are all that is needed. The eigenvectors of the covariance are
//! nalgebra's.

use nalgebra::{DMatrix, SymmetricEigen};
use serde::{Deserialize, Serialize};

use super::planes::Numbers;

/// A change of coordinates: those of greatest spread first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Principal {
    /// How many numbers a row has.
    pub width: usize,
    /// How many components are kept.
    pub components: usize,
    /// For each number of a row its part in each component: `width` times `components`.
    pub axes: Vec<f32>,
    /// The mean row in the components.
    pub mean: Vec<f32>,
}

/// The components of some rows, and how the rows spread along them.
#[derive(Clone, Debug)]
pub struct ActivationRanges {
    /// The components.
    pub principal: Principal,
    /// The variance along each.
    pub variances: Vec<f64>,
    /// How much of all variance that is, 0 to 1.
    pub explained: f64,
}

impl ActivationRanges {
    /// The first `components` components of `rows` of `width` numbers.
    pub fn of(rows: &[Numbers], width: usize, components: usize) -> ActivationRanges {
        let (mean, covariance) = moments(rows, width);
        let eigen = SymmetricEigen::new(covariance);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        order.truncate(components);
        // Rounding may leave less than nothing.
        let variances: Vec<f64> = order.iter().map(|&at| eigen.eigenvalues[at].max(0.0)).collect();
        let all: f64 = eigen.eigenvalues.iter().map(|it| it.max(0.0)).sum();
        let mut axes = Vec::with_capacity(width * order.len());
        let mut center = vec![0.0; order.len()];
        for (number, mean) in mean.into_iter().enumerate() {
            for (&at, center) in order.iter().zip(&mut center) {
                let part = eigen.eigenvectors[(number, at)];
                axes.push(part as f32);
                *center += part * mean;
            }
        }
        let explained = if all > 0.0 { variances.iter().sum::<f64>() / all } else { 1.0 };
        let mean = center.into_iter().map(|it| it as f32).collect();
        let principal = Principal { width, components: order.len(), axes, mean };
        ActivationRanges { principal, variances, explained }
    }
}

/// The mean row and the covariance.
fn moments(rows: &[Numbers], width: usize) -> (Vec<f64>, DMatrix<f64>) {
    let mut mean = vec![0.0; width];
    let mut products = DMatrix::<f64>::zeros(width, width);
    for Numbers(row) in rows {
        for (nth, &(a, x)) in row.iter().enumerate() {
            mean[usize::from(a)] += f64::from(x);
            for &(b, y) in &row[nth..] {
                // Places rise, so this is below the diagonal.
                products[(usize::from(b), usize::from(a))] += f64::from(x) * f64::from(y);
            }
        }
    }
    let count = rows.len().max(1) as f64;
    mean.iter_mut().for_each(|it| *it /= count);
    for a in 0..width {
        for b in a..width {
            let covariance = products[(b, a)] / count - mean[a] * mean[b];
            (products[(b, a)], products[(a, b)]) = (covariance, covariance);
        }
    }
    (mean, products)
}

impl Principal {
    /// A row in the components, measured from the mean.
    pub fn project(&self, row: &Numbers) -> Vec<f32> {
        let mut out: Vec<f32> = self.mean.iter().map(|it| -it).collect();
        for &(place, number) in &row.0 {
            let parts = &self.axes[usize::from(place) * self.components..][..self.components];
            out.iter_mut().zip(parts).for_each(|(out, part)| *out += number * part);
        }
        out
    }

    /// Whether all of it fits together.
    pub(super) fn is_sound(&self) -> bool {
        let numbers = self.axes.iter().chain(&self.mean);
        self.width.checked_mul(self.components) == Some(self.axes.len())
            && self.mean.len() == self.components
            && numbers.into_iter().all(|it| it.is_finite())
    }
}

//! Muon (Jordan et al., 2024, "Muon: An optimizer for hidden layers in neural networks"): the step of a matrix
//! of weights has the same length in each singular direction.
//!
//! The moving average of the gradient, U S V^T, is replaced by approximately U V^T, by five Newton-Schulz
//! iterations instead of a decomposition. The step is scaled as by Liu et al. (2025, "Muon is scalable for LLM
//! training"): its mean square is that of a typical step of AdamW, so that both use the same learning rate
//! and weight decay.

use nalgebra::{DMatrix, DMatrixView};

/// Decay of the moving average of the gradient for each step.
const MOMENTUM: f32 = 0.95;
/// Coefficients of a x + b x^3 + c x^5, which maps x between 0 and 1 to values near 1 (Jordan et al.).
const POLYNOMIAL: [f32; 3] = [3.4445, -4.7750, 2.0315];
/// Number of Newton-Schulz iterations.
const ITERATIONS: usize = 5;
/// Root mean square of a typical step of AdamW at a learning rate of 1 (Liu et al.).
const STEP_RMS: f32 = 0.2;
/// Added to the norm of a gradient, by which is divided.
const EPSILON: f32 = 1e-7;

/// Takes a step of a matrix of `columns` columns, row by row, against its `gradient`, whose moving average is
/// `momentum`. The weights are first multiplied by 1 minus `decay`, the learning rate times weight decay.
pub(super) fn step(
    weights: &mut [f32],
    momentum: &mut [f32],
    gradient: &[f32],
    columns: usize,
    learning_rate: f32,
    decay: f32,
) {
    for (momentum, slope) in momentum.iter_mut().zip(gradient) {
        *momentum += (1.0 - MOMENTUM) * (slope - *momentum);
    }
    // Nesterov momentum: the average after another gradient like this one.
    let pairs = momentum.iter().zip(gradient);
    let nesterov: Vec<f32> =
        pairs.map(|(momentum, slope)| slope + MOMENTUM * (momentum - slope)).collect();
    let direction = orthogonalise(&nesterov, columns);
    let rows = weights.len() / columns.max(1);
    let rate = learning_rate * STEP_RMS * (rows.max(columns) as f32).sqrt();
    for (weight, part) in weights.iter_mut().zip(&direction) {
        *weight = *weight * (1.0 - decay) - rate * part;
    }
}

/// Returns approximately U V^T of a matrix U S V^T, with singular values between 0.7 and 1.2. Zero stays zero.
fn orthogonalise(matrix: &[f32], columns: usize) -> DMatrix<f32> {
    // nalgebra is column-major: this is the transposed matrix, and so is the result.
    let view = DMatrixView::from_slice(matrix, columns, matrix.len() / columns.max(1));
    let wide = view.nrows() <= view.ncols();
    let mut x = if wide { view.into_owned() } else { view.transpose() };
    x /= x.norm() + EPSILON;
    let [a, b, c] = POLYNOMIAL;
    for _ in 0..ITERATIONS {
        let square = &x * x.transpose();
        let fourth = &square * &square;
        let factor = square * b + fourth * c;
        x = &factor * &x + x * a;
    }
    if wide { x } else { x.transpose() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * 1.7).sin() + (i as f32 * 0.31).cos()).collect()
    }

    /// U V^T has the same singular vectors, and singular values near 1.
    #[test]
    fn orthogonalise_makes_singular_values_equal() {
        for (rows, columns) in [(3, 5), (5, 3), (4, 4), (1, 6), (6, 1)] {
            let matrix = wave(rows * columns);
            let found = orthogonalise(&matrix, columns);
            let singular = found.clone().svd(false, false).singular_values;
            assert!(singular.iter().all(|one| (0.6..1.3).contains(one)), "{singular}");
            // U V^T is the nearest orthogonal matrix: its product with the matrix is symmetric and
            // has no negative eigenvalue.
            let product = DMatrix::from_column_slice(columns, rows, &matrix) * found.transpose();
            let apart = (&product - product.transpose()).norm() / product.norm();
            assert!(apart < 1e-2, "{rows} by {columns}: {apart}");
            assert!(product.trace() > 0.0);
        }
    }

    #[test]
    fn step_has_length_of_adamw_step() {
        let mut weights = vec![0.0; 96];
        let mut momentum = vec![0.0; 96];
        step(&mut weights, &mut momentum, &wave(96), 12, 0.01, 0.0);
        let mean = weights.iter().map(|weight| weight * weight).sum::<f32>() / 96.0;
        assert!((0.0012..0.0026).contains(&mean.sqrt()), "{}", mean.sqrt());
    }

    #[test]
    fn weights_decay_without_gradient() {
        let mut weights = vec![1.0; 6];
        step(&mut weights, &mut [0.0; 6], &[0.0; 6], 3, 0.1, 0.05);
        assert!(weights.iter().all(|weight| (weight - 0.95).abs() < 1e-6), "{weights:?}");
    }

    #[test]
    fn quadratic_is_minimised() {
        let goal = wave(12);
        let mut weights = vec![0.0; 12];
        let mut momentum = vec![0.0; 12];
        for nth in 0..2000 {
            let gradient: Vec<f32> =
                weights.iter().zip(&goal).map(|(w, g)| 2.0 * (w - g)).collect();
            let rate = 0.1 * (1.0 - nth as f32 / 2000.0);
            step(&mut weights, &mut momentum, &gradient, 4, rate, 0.0);
        }
        let apart = weights.iter().zip(&goal).map(|(w, g)| (w - g).abs()).fold(0.0, f32::max);
        assert!(apart < 2e-2, "{apart}");
    }
}

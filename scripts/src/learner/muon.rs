//! Muon (Jordan et al., 2024, "Muon: An optimizer for hidden layers in neural networks"): a matrix of
//! weights moves by the same length in each of its directions, where the gradient says much of a few.
//!
//! The gradient's moving average, U S V^T, is replaced by about U V^T, by five rounds of a polynomial of
//! it (Newton and Schulz) that need no decomposition. The step is scaled as by Liu et al. (2025, "Muon is
//! scalable for LLM training"): its mean square is that of a usual step of AdamW, so that one learning
//! rate and weight decay serve both.

use nalgebra::{DMatrix, DMatrixView};

/// Decay of the gradient's moving average a step.
const MOMENTUM: f32 = 0.95;
/// The polynomial a x + b x^3 + c x^5 that takes any x from 0 to 1 near 1 (Jordan et al.).
const POLYNOMIAL: [f32; 3] = [3.4445, -4.7750, 2.0315];
/// Rounds of it.
const ROUNDS: usize = 5;
/// The root of a usual step's mean square, of AdamW and at a learning rate of 1 (Liu et al.).
const LENGTH: f32 = 0.2;
/// Keeps the division by a gradient's length from blowing up.
const EPSILON: f32 = 1e-7;

/// Moves the weights of a matrix, so many `columns` numbers end to end for each row, against its
/// `gradient`, whose moving average is `momentum`. Before, they shrink by `decay`, which is the learning
/// rate times weight decay.
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
    // Nesterov's look ahead: where the average will be when the next gradient is like this one.
    let ahead = momentum.iter().zip(gradient);
    let ahead: Vec<f32> =
        ahead.map(|(momentum, slope)| slope + MOMENTUM * (momentum - slope)).collect();
    let direction = orthogonal(&ahead, columns);
    let rows = weights.len() / columns.max(1);
    let rate = learning_rate * LENGTH * (rows.max(columns) as f32).sqrt();
    for (weight, part) in weights.iter_mut().zip(&direction) {
        *weight = *weight * (1.0 - decay) - rate * part;
    }
}

/// About U V^T of a matrix U S V^T, with singular values between 0.7 and 1.2; nought stays nought.
fn orthogonal(matrix: &[f32], columns: usize) -> DMatrix<f32> {
    // Column by column for nalgebra it is the transposed matrix, and so is what comes of it.
    let view = DMatrixView::from_slice(matrix, columns, matrix.len() / columns.max(1));
    let wide = view.nrows() <= view.ncols();
    let mut x = if wide { view.into_owned() } else { view.transpose() };
    x /= x.norm() + EPSILON;
    let [a, b, c] = POLYNOMIAL;
    for _ in 0..ROUNDS {
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
    fn all_directions_of_a_matrix_become_of_one_length() {
        for (rows, columns) in [(3, 5), (5, 3), (4, 4), (1, 6), (6, 1)] {
            let matrix = wave(rows * columns);
            let found = orthogonal(&matrix, columns);
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
    fn a_step_has_the_length_of_one_of_adamw() {
        let (mut weights, mut momentum) = (vec![0.0; 96], vec![0.0; 96]);
        step(&mut weights, &mut momentum, &wave(96), 12, 0.01, 0.0);
        let mean = weights.iter().map(|weight| weight * weight).sum::<f32>() / 96.0;
        assert!((0.0012..0.0026).contains(&mean.sqrt()), "{}", mean.sqrt());
    }

    #[test]
    fn no_gradient_moves_nothing_and_weights_decay() {
        let mut weights = vec![1.0; 6];
        step(&mut weights, &mut [0.0; 6], &[0.0; 6], 3, 0.1, 0.05);
        assert!(weights.iter().all(|weight| (weight - 0.95).abs() < 1e-6), "{weights:?}");
    }

    #[test]
    fn a_bowl_is_descended() {
        let goal = wave(12);
        let (mut weights, mut momentum) = (vec![0.0; 12], vec![0.0; 12]);
        for turn in 0..2000 {
            let gradient: Vec<f32> =
                weights.iter().zip(&goal).map(|(w, g)| 2.0 * (w - g)).collect();
            let rate = 0.1 * (1.0 - turn as f32 / 2000.0);
            step(&mut weights, &mut momentum, &gradient, 4, rate, 0.0);
        }
        let apart = weights.iter().zip(&goal).map(|(w, g)| (w - g).abs()).fold(0.0, f32::max);
        assert!(apart < 2e-2, "{apart}");
    }
}

//! The arithmetic of networks with 32-bit floats, written for the compiler to vectorise.
//!
//! The order of the additions is fixed, so that every instruction set gives the same bits.

use super::level::{Level, Set};

/// Sums that a dot product keeps apart: two vectors of AVX2.
const LANES: usize = 16;
/// Columns that are summed at once, so that the sums stay in registers.
const COLUMNS: usize = 32;

/// A matrix of floats, row by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    numbers: &'a [f32],
    columns: usize,
}

impl<'a> Matrix<'a> {
    /// Returns the matrix of `numbers`; `None` if they are not whole rows of `columns`.
    pub(super) fn new(numbers: &'a [f32], columns: usize) -> Option<Matrix<'a>> {
        let whole = columns > 0 && numbers.len().is_multiple_of(columns);
        if whole { Some(Matrix { numbers, columns }) } else { None }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.numbers.len() / self.columns
    }

    /// Returns the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns row `nth`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub(super) fn row(&self, nth: usize) -> &'a [f32] {
        &self.numbers[nth * self.columns..][..self.columns]
    }
}

/// Defines a function with a body for each instruction set.
macro_rules! for_each_level {
    ($(#[$doc:meta])* fn $name:ident / $avx2:ident = $body:ident($($arg:ident: $kind:ty),*)) => {
        $(#[$doc])*
        pub(super) fn $name(level: Level, $($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn $avx2($($arg: $kind),*) {
                $body($($arg),*);
            }
            match level.set() {
                Set::Portable => $body($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a level of these sets exists only where the CPU has AVX2.
                Set::Avx2 | Set::Avx512 => unsafe { $avx2($($arg),*) },
            }
        }
    };
}

for_each_level! {
    /// Writes the outputs of the first layer, of which there are half as many as columns: the sums of
    /// `rows` and the bias, clipped to 0 to 1, those of the first half multiplied by those of the
    /// second.
    ///
    /// # Panics
    /// If a row is not in the table, or `bias` or `outputs` is too short.
    fn features / features_avx2 = features_body(
        table: Matrix<'_>, bias: &[f32], rows: &[u16], outputs: &mut [f32]
    )
}

for_each_level! {
    /// Writes, for each `rows_per_move` rows of the table that `rows` names, the dot product of their
    /// sum and the first columns of `x`. `outputs` has a number for each.
    ///
    /// # Panics
    /// If `x` is shorter than a row, a row is not in the table, or `rows_per_move` is 0.
    fn score_moves / score_moves_avx2 = score_moves_body(
        table: Matrix<'_>, x: &[f32], rows: &[u16], rows_per_move: usize, outputs: &mut [f32]
    )
}

for_each_level! {
    /// Writes the dot product of `x` and each row of the matrix. `outputs` has a number for each.
    ///
    /// # Panics
    /// If `x` is shorter than a row, or `outputs` longer than the matrix.
    fn dot_all / dot_all_avx2 = dot_all_body(matrix: Matrix<'_>, x: &[f32], outputs: &mut [f32])
}

#[inline(always)]
fn features_body(table: Matrix<'_>, bias: &[f32], rows: &[u16], outputs: &mut [f32]) {
    let half = table.columns() / 2;
    let outputs = &mut outputs[..half];
    for (nth, outputs) in outputs.chunks_mut(COLUMNS).enumerate() {
        let at = nth * COLUMNS;
        if let Some(outputs) = outputs.as_mut_array::<COLUMNS>() {
            let first = sum::<COLUMNS>(table, bias, rows, at);
            let second = sum::<COLUMNS>(table, bias, rows, half + at);
            for nth in 0..COLUMNS {
                outputs[nth] = first[nth].clamp(0.0, 1.0) * second[nth].clamp(0.0, 1.0);
            }
        } else {
            for (nth, output) in outputs.iter_mut().enumerate() {
                let [first] = sum::<1>(table, bias, rows, at + nth);
                let [second] = sum::<1>(table, bias, rows, half + at + nth);
                *output = first.clamp(0.0, 1.0) * second.clamp(0.0, 1.0);
            }
        }
    }
}

/// The sums of `N` columns from `at` on.
#[inline(always)]
fn sum<const N: usize>(table: Matrix<'_>, bias: &[f32], rows: &[u16], at: usize) -> [f32; N] {
    let mut sums = [0.0; N];
    sums.copy_from_slice(&bias[at..][..N]);
    for &row in rows {
        let row = &table.row(row.into())[at..][..N];
        for nth in 0..N {
            sums[nth] += row[nth];
        }
    }
    sums
}

#[inline(always)]
fn score_moves_body(
    table: Matrix<'_>,
    x: &[f32],
    rows: &[u16],
    rows_per_move: usize,
    outputs: &mut [f32],
) {
    for (rows, output) in rows.chunks_exact(rows_per_move).zip(outputs) {
        *output = rows.iter().map(|&row| dot(x, table.row(row.into()))).sum();
    }
}

#[inline(always)]
fn dot_all_body(matrix: Matrix<'_>, x: &[f32], outputs: &mut [f32]) {
    for (nth, output) in outputs.iter_mut().enumerate() {
        *output = dot(x, matrix.row(nth));
    }
}

#[inline(always)]
fn dot(x: &[f32], row: &[f32]) -> f32 {
    let (x_blocks, x_rest) = x[..row.len()].as_chunks::<LANES>();
    let (row_blocks, row_rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, row) in x_blocks.iter().zip(row_blocks) {
        for nth in 0..LANES {
            sums[nth] += x[nth] * row[nth];
        }
    }
    let rest: f32 = x_rest.iter().zip(row_rest).map(|(x, weight)| x * weight).sum();
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for nth in 0..width {
            sums[nth] += sums[nth + width];
        }
    }
    sums[0] + rest
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn random(rng: &mut SmallRng, count: usize) -> Vec<f32> {
        (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    #[test]
    fn levels_agree_and_are_right() {
        let mut rng = SmallRng::seed_from_u64(3);
        for columns in [2, 30, 64, 128, 200] {
            let numbers = random(&mut rng, 20 * columns);
            let bias = random(&mut rng, columns);
            let table = Matrix::new(&numbers, columns).expect("whole rows");
            let rows: Vec<u16> = (0..12).map(|_| rng.random_range(0..20)).collect();
            let sum = |column: usize| {
                let weight = |&row: &u16| f64::from(numbers[usize::from(row) * columns + column]);
                let sum = f64::from(bias[column]) + rows.iter().map(weight).sum::<f64>();
                sum.clamp(0.0, 1.0)
            };
            let x: Vec<f64> =
                (0..columns / 2).map(|nth| sum(nth) * sum(columns / 2 + nth)).collect();
            let narrow: Vec<f32> = random(&mut rng, 20 * columns / 2);
            let moves = Matrix::new(&narrow, columns / 2).expect("whole rows");
            let dot = |row: u16| -> f64 {
                let weights = moves.row(row.into()).iter();
                weights.zip(&x).map(|(&weight, x)| f64::from(weight) * x).sum()
            };
            let scores: Vec<f64> =
                rows.chunks_exact(4).map(|rows| rows.iter().map(|&row| dot(row)).sum()).collect();
            let mut first_bits = None;
            for level in Level::available() {
                let mut outputs = vec![0.0; columns / 2];
                features(level, table, &bias, &rows, &mut outputs);
                let mut found = vec![0.0; scores.len()];
                score_moves(level, moves, &outputs, &rows, 4, &mut found);
                let mut all = vec![0.0; 20];
                dot_all(level, moves, &outputs, &mut all);
                let expected = x.iter().chain(&scores).copied().chain((0..20).map(dot));
                let found: Vec<f32> = outputs.into_iter().chain(found).chain(all).collect();
                for (found, expected) in found.iter().zip(expected) {
                    assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} {expected}");
                }
                let bits: Vec<u32> = found.iter().map(|number| number.to_bits()).collect();
                assert_eq!(first_bits.get_or_insert_with(|| bits.clone()), &bits, "{level:?}");
            }
        }
    }
}

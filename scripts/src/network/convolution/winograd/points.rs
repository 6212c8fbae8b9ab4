//! To the points and back: the matrices of F(4x4, 3x3), from either side.

use pulp::Simd;

use super::{POINTS, SPAN, TAPS, TILE};

/// From a kernel to the points (`G`).
const KERNEL: [[f32; TAPS]; SPAN] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// A matrix that lines of vectors are multiplied by.
pub(super) trait Lines<const FROM: usize, const TO: usize> {
    fn line<S: Simd>(simd: S, line: [S::f32s; FROM]) -> [S::f32s; TO];
}

/// From what a tile sees to the points (`B` transposed):
///
/// ```text
/// 4  0 -5  0  1  0
/// 0 -4 -4  1  1  0
/// 0  4 -4 -1  1  0
/// 0 -2 -1  2  1  0
/// 0  2 -1 -2  1  0
/// 0  4  0 -5  0  1
/// ```
pub(super) struct Seen;

impl Lines<SPAN, SPAN> for Seen {
    #[inline(always)]
    fn line<S: Simd>(simd: S, [a, b, c, d, e, f]: [S::f32s; SPAN]) -> [S::f32s; SPAN] {
        let [p, q] = [add(simd, e, -4.0, c), add(simd, d, -4.0, b)];
        let [r, t] = [simd.sub_f32s(e, c), simd.sub_f32s(d, b)];
        [
            add(simd, add(simd, e, -5.0, c), 4.0, a),
            simd.add_f32s(p, q),
            simd.sub_f32s(p, q),
            add(simd, r, 2.0, t),
            add(simd, r, -2.0, t),
            add(simd, add(simd, f, -5.0, d), 4.0, b),
        ]
    }
}

/// [`Seen`] turned.
pub(super) struct SeenTurned;

impl Lines<SPAN, SPAN> for SeenTurned {
    #[inline(always)]
    fn line<S: Simd>(simd: S, [a, b, c, d, e, f]: [S::f32s; SPAN]) -> [S::f32s; SPAN] {
        let four_a = simd.mul_f32s(simd.splat_f32s(4.0), a);
        let [plus, minus] = [simd.add_f32s(b, c), simd.sub_f32s(b, c)];
        let [plus_far, minus_far] = [simd.add_f32s(d, e), simd.sub_f32s(d, e)];
        let last = simd.sub_f32s(f, minus);
        [
            four_a,
            add(simd, simd.mul_f32s(simd.splat_f32s(4.0), last), -2.0, minus_far),
            add(
                simd,
                add(simd, simd.mul_f32s(simd.splat_f32s(-5.0), a), -4.0, plus),
                -1.0,
                plus_far,
            ),
            add(simd, add(simd, minus, 2.0, minus_far), -5.0, f),
            simd.add_f32s(simd.add_f32s(a, plus), plus_far),
            f,
        ]
    }
}

/// From the points to a tile (`A` transposed):
///
/// ```text
/// 1  1  1  1  1  0
/// 0  1 -1  2 -2  0
/// 0  1  1  4  4  0
/// 0  1 -1  8 -8  1
/// ```
pub(super) struct Made;

impl Lines<SPAN, TILE> for Made {
    #[inline(always)]
    fn line<S: Simd>(simd: S, [a, b, c, d, e, f]: [S::f32s; SPAN]) -> [S::f32s; TILE] {
        let [plus, minus] = [simd.add_f32s(b, c), simd.sub_f32s(b, c)];
        let [plus_far, minus_far] = [simd.add_f32s(d, e), simd.sub_f32s(d, e)];
        [
            simd.add_f32s(simd.add_f32s(a, plus), plus_far),
            add(simd, minus, 2.0, minus_far),
            add(simd, plus, 4.0, plus_far),
            add(simd, simd.add_f32s(minus, f), 8.0, minus_far),
        ]
    }
}

/// [`Made`] turned.
pub(super) struct MadeTurned;

impl Lines<TILE, SPAN> for MadeTurned {
    #[inline(always)]
    fn line<S: Simd>(simd: S, [a, b, c, d]: [S::f32s; TILE]) -> [S::f32s; SPAN] {
        let [even, odd] = [simd.add_f32s(a, c), simd.add_f32s(b, d)];
        let [even_far, odd_far] = [add(simd, a, 4.0, c), add(simd, b, 4.0, d)];
        [
            a,
            simd.add_f32s(even, odd),
            simd.sub_f32s(even, odd),
            add(simd, even_far, 2.0, odd_far),
            add(simd, even_far, -2.0, odd_far),
            d,
        ]
    }
}

/// A sum and a vector so many times.
#[inline(always)]
fn add<S: Simd>(simd: S, sum: S::f32s, factor: f32, vector: S::f32s) -> S::f32s {
    simd.mul_add_e_f32s(simd.splat_f32s(factor), vector, sum)
}

/// A matrix times a square times the matrix turned.
#[inline(always)]
pub(super) fn both<S: Simd, M: Lines<FROM, TO>, const FROM: usize, const TO: usize>(
    simd: S,
    square: Aligned<[[S::f32s; FROM]; FROM]>,
) -> Aligned<[[S::f32s; TO]; TO]> {
    let nought = simd.splat_f32s(0.0);
    let mut half = Aligned([[nought; TO]; FROM]);
    for (to, line) in half.0.iter_mut().zip(square.0) {
        *to = M::line(simd, line);
    }
    let mut whole = Aligned([[nought; TO]; TO]);
    for column in 0..TO {
        let mut line = [nought; FROM];
        for (to, half) in line.iter_mut().zip(&half.0) {
            *to = half[column];
        }
        for (to, made) in whole.0.iter_mut().zip(M::line(simd, line)) {
            to[column] = made;
        }
    }
    whole
}

/// Begins where a line of the cache does, so that no vector lies in two of them.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// A kernel at the points.
pub(super) fn kernel_at_points(kernel: &[f32; TAPS * TAPS]) -> [f32; POINTS] {
    let half = |y: usize, tap: usize| -> f32 {
        (0..TAPS).map(|down| KERNEL[y][down] * kernel[down * TAPS + tap]).sum()
    };
    std::array::from_fn(|point| {
        let (y, x) = (point / SPAN, point % SPAN);
        (0..TAPS).map(|right| half(y, right) * KERNEL[x][right]).sum()
    })
}

/// The gradient of a kernel by that at the points: the reverse of [`kernel_at_points`].
pub(super) fn kernel_of_points(points: &[f32; POINTS]) -> [f32; TAPS * TAPS] {
    std::array::from_fn(|tap| {
        let (down, right) = (tap / TAPS, tap % TAPS);
        let of = |(point, slope): (usize, &f32)| {
            KERNEL[point / SPAN][down] * slope * KERNEL[point % SPAN][right]
        };
        points.iter().enumerate().map(of).sum()
    })
}

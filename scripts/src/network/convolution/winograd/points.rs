//! The transforms of F(4x4, 3x3) to the points and back.

use pulp::Simd;

use super::{POINTS, SPAN, TAPS, TILE};

/// The transform of a kernel to the points (`G`).
const KERNEL: [[f32; TAPS]; SPAN] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// A matrix by which lines of vectors are multiplied.
pub(super) trait LineTransform<const FROM: usize, const TO: usize> {
    fn line<S: Simd>(simd: S, line: [S::f32s; FROM]) -> [S::f32s; TO];
}

/// The transform of the input of a tile to the points (`B` transposed):
///
/// ```text
/// 4  0 -5  0  1  0
/// 0 -4 -4  1  1  0
/// 0  4 -4 -1  1  0
/// 0 -2 -1  2  1  0
/// 0  2 -1 -2  1  0
/// 0  4  0 -5  0  1
/// ```
pub(super) struct InputTransform;

impl LineTransform<SPAN, SPAN> for InputTransform {
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

/// [`InputTransform`] transposed.
pub(super) struct InputTransposed;

impl LineTransform<SPAN, SPAN> for InputTransposed {
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

/// The transform of the points to the output of a tile (`A` transposed):
///
/// ```text
/// 1  1  1  1  1  0
/// 0  1 -1  2 -2  0
/// 0  1  1  4  4  0
/// 0  1 -1  8 -8  1
/// ```
pub(super) struct OutputTransform;

impl LineTransform<SPAN, TILE> for OutputTransform {
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

/// [`OutputTransform`] transposed.
pub(super) struct OutputTransposed;

impl LineTransform<TILE, SPAN> for OutputTransposed {
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

/// Returns `sum + factor * vector`.
#[inline(always)]
fn add<S: Simd>(simd: S, sum: S::f32s, factor: f32, vector: S::f32s) -> S::f32s {
    simd.mul_add_e_f32s(simd.splat_f32s(factor), vector, sum)
}

/// Returns M X M^T for a square X.
#[inline(always)]
pub(super) fn transform_square<
    S: Simd,
    M: LineTransform<FROM, TO>,
    const FROM: usize,
    const TO: usize,
>(
    simd: S,
    square: Aligned<[[S::f32s; FROM]; FROM]>,
) -> Aligned<[[S::f32s; TO]; TO]> {
    let zero = simd.splat_f32s(0.0);
    let mut half = Aligned([[zero; TO]; FROM]);
    for (to, line) in half.0.iter_mut().zip(square.0) {
        *to = M::line(simd, line);
    }
    let mut whole = Aligned([[zero; TO]; TO]);
    for column in 0..TO {
        let mut line = [zero; FROM];
        for (to, half) in line.iter_mut().zip(&half.0) {
            *to = half[column];
        }
        for (to, made) in whole.0.iter_mut().zip(M::line(simd, line)) {
            to[column] = made;
        }
    }
    whole
}

/// Aligned to a cache line, so that no vector lies in two of them.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// Returns a kernel at the points.
pub(super) fn kernel_at_points(kernel: &[f32; TAPS * TAPS]) -> [f32; POINTS] {
    let half = |y: usize, tap: usize| -> f32 {
        (0..TAPS).map(|down| KERNEL[y][down] * kernel[down * TAPS + tap]).sum()
    };
    std::array::from_fn(|point| {
        let y = point / SPAN;
        let x = point % SPAN;
        (0..TAPS).map(|right| half(y, right) * KERNEL[x][right]).sum()
    })
}

/// Returns the gradient of a kernel from the gradient at the points; the transpose of [`kernel_at_points`].
pub(super) fn kernel_gradient(points: &[f32; POINTS]) -> [f32; TAPS * TAPS] {
    std::array::from_fn(|tap| {
        let down = tap / TAPS;
        let right = tap % TAPS;
        let part = |(point, slope): (usize, &f32)| {
            KERNEL[point / SPAN][down] * slope * KERNEL[point % SPAN][right]
        };
        points.iter().enumerate().map(part).sum()
    })
}

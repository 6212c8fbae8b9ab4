//! Some boards of many that stand for all.

use crate::belief::Belief;

/// A fair sample of `size` boards by weight: indices and how likely each is, in an order of which
/// every beginning is a fair sample, too.
pub(super) fn sample(belief: &Belief, size: usize, even: bool) -> (Vec<usize>, Vec<f32>) {
    let count = belief.armies().len();
    if count <= size {
        let weight = |at: usize| if even { 1.0 } else { belief.weights()[at] };
        let mut boards: Vec<usize> = (0..count).collect();
        boards.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        let weights = boards.iter().map(|&at| weight(at)).collect();
        return (boards, weights);
    }
    // Systematic sampling; likely boards are drawn several times and count so much.
    let mut drawn: Vec<(usize, f32)> = Vec::with_capacity(size);
    let (mut sum, mut next) = (0.0_f64, 0.5_f64);
    for at in 0..count {
        sum += if even { 1.0 / count as f64 } else { f64::from(belief.weights()[at]) };
        let mut times = 0;
        while sum * size as f64 > next && times < size {
            next += 1.0;
            times += 1;
        }
        if times > 0 {
            drawn.push((at, times as f32));
        }
    }
    // Any stride that has no common factor with the length leaves none out.
    let length = drawn.len();
    let stride = (length * 5 / 8).max(1);
    let stride = (stride..).find(|&stride| gcd(stride, length) == 1).unwrap_or(1);
    (0..length).map(|i| drawn[i * stride % length]).unzip()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! Some boards of many that stand for all.

use crate::belief::Belief;

/// A fair sample of `size` boards by weight: indices and how likely each is, in an order of which
/// every beginning is a fair sample, too.
pub(super) fn sample(belief: &Belief, size: usize, even: bool) -> (Vec<usize>, Vec<f32>) {
    let count = belief.armies().len();
    if count <= size && even {
        return mixed(&(0..count).map(|at| (at, 1.0)).collect::<Vec<_>>());
    }
    if count <= size {
        let weights = belief.weights();
        let mut boards: Vec<usize> = (0..count).collect();
        boards.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        return boards.into_iter().map(|at| (at, weights[at])).unzip();
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
    mixed(&drawn)
}

/// All boards, in an order that does not keep together those that follow one another: these are alike.
fn mixed(boards: &[(usize, f32)]) -> (Vec<usize>, Vec<f32>) {
    // Any stride that has no common factor with the length leaves none out.
    let length = boards.len();
    let stride = (length * 5 / 8).max(1);
    let stride = (stride..).find(|&stride| gcd(stride, length) == 1).unwrap_or(1);
    (0..length).map(|i| boards[i * stride % length]).unzip()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_from_all_over() {
        for length in [0, 1, 2, 7, 21, 64, 512] {
            let boards: Vec<(usize, f32)> = (0..length).map(|at| (at, at as f32)).collect();
            let (order, weights) = mixed(&boards);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..length), "{length}: {order:?}");
            assert!(order.iter().zip(&weights).all(|(&at, &weight)| weight == at as f32));
            // Of each quarter there is one among the first eight.
            let quarter = |at: &usize| 4 * at / length;
            let begun: Vec<usize> = order.iter().take(8).map(quarter).collect();
            assert!(length < 8 || (0..4).all(|part| begun.contains(&part)), "{length}: {order:?}");
        }
    }
}

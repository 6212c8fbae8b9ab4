//! The choice of a sense: how much each window of nine squares is expected to show.

use super::belief::Belief;
use crate::rules::rbc::Army;
use crate::rules::{File, Rank, Square};

/// The criterion by which a sense is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SensePolicy {
    /// The smallest expected number of remaining boards, as in the paper.
    Reduction,
    /// The largest expected information about the weighted boards.
    Entropy,
    /// The largest expected gain in the value of the best request, plus a little for the expected information.
    Gain,
    /// Pseudorandom, for comparison.
    Naive,
}

impl SensePolicy {
    /// All policies with their names.
    pub const ALL: [(&'static str, SensePolicy); 4] = [
        ("reduction", SensePolicy::Reduction),
        ("entropy", SensePolicy::Entropy),
        ("gain", SensePolicy::Gain),
        ("naive", SensePolicy::Naive),
    ];
}

/// The values of some requests on some boards of a belief.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestValues {
    /// The indices of the boards in the belief.
    pub boards: Vec<usize>,
    /// The relative weight of each of these boards.
    pub weights: Vec<f32>,
    /// A row for each of these boards with a value for each request.
    pub values: Vec<Vec<f32>>,
}

/// Larger sets are represented by a sample of about this number of boards.
const MAX_SENSE_BOARDS: usize = 1 << 14;

/// Divides the information in nats that is added to the gain, because what is learned helps in later turns, too.
const INFORMATION_DIVISOR: f64 = 200.0;

/// Returns the centers of all windows of nine squares. The other windows show subsets of these.
fn window_centers() -> impl Iterator<Item = Square> {
    Square::ALL.into_iter().filter(|square| {
        !matches!(square.file(), File::A | File::H)
            && !matches!(square.rank(), Rank::First | Rank::Eighth)
    })
}

/// Returns the pieces on the nine squares around `center`, which is not on the edge, in 27 bits.
#[inline]
fn window_code(army: &Army, center: Square) -> u32 {
    let corner = u32::from(center) - 9;
    let nine_bits = |plane: u64| {
        let rows = plane >> corner;
        (rows & 7 | (rows >> 8 & 7) << 3 | (rows >> 16 & 7) << 6) as u32
    };
    let [a, b, c] = army.planes();
    nine_bits(a) | nine_bits(b) << 9 | nine_bits(c) << 18
}

/// Groups boards by what a window shows.
#[derive(Default)]
struct WindowGroups {
    /// A hash table of window codes plus one, with the number of the group.
    table: Vec<(u32, u32)>,
    /// The group of each board.
    group_of_board: Vec<u32>,
    /// The number of groups.
    count: usize,
}

impl WindowGroups {
    fn assign<'a>(&mut self, armies: impl ExactSizeIterator<Item = &'a Army>, center: Square) {
        let size = (armies.len() * 2).next_power_of_two().max(16);
        self.table.clear();
        self.table.resize(size, (0, 0));
        self.group_of_board.clear();
        self.count = 0;
        for army in armies {
            let key = window_code(army, center) + 1;
            let mut slot = key.wrapping_mul(0x9e37_79b1) as usize >> 4 & (size - 1);
            while self.table[slot].0 != 0 && self.table[slot].0 != key {
                slot = (slot + 1) & (size - 1);
            }
            if self.table[slot].0 == 0 {
                self.table[slot] = (key, self.count as u32);
                self.count += 1;
            }
            self.group_of_board.push(self.table[slot].1);
        }
    }
}

impl Belief {
    /// Returns the best center of a sense. Only [`SensePolicy::Gain`] uses `values`, and only
    /// [`SensePolicy::Naive`] uses `turn`, the number of the turn.
    pub fn best_sense(&self, policy: SensePolicy, values: &RequestValues, turn: u32) -> Square {
        if policy == SensePolicy::Naive {
            let centers: Vec<_> = window_centers().collect();
            let index = (turn.wrapping_mul(0x9e37_79b1) >> 8) as usize % centers.len();
            return centers[index];
        }
        // The boards are ordered by hash, so that every n-th one is a fair sample.
        let stride = self.armies().len().div_ceil(MAX_SENSE_BOARDS).max(1);
        let weights: Vec<f32> = self.weights().iter().copied().step_by(stride).collect();
        let valued_boards: Vec<&Army> =
            values.boards.iter().filter_map(|&index| self.armies().get(index)).collect();
        let mut groups = WindowGroups::default();
        let mut best_center = Square::E5;
        let mut best_score = f64::NEG_INFINITY;
        for center in window_centers() {
            groups.assign(self.armies().iter().step_by(stride), center);
            let information = information(&groups, &weights, policy);
            let score = if policy == SensePolicy::Gain {
                groups.assign(valued_boards.iter().copied(), center);
                expected_gain(&groups, values) + information / INFORMATION_DIVISOR
            } else {
                information
            };
            if score > best_score {
                best_center = center;
                best_score = score;
            }
        }
        best_center
    }
}

/// Returns the negative expected share of boards that remain for [`SensePolicy::Reduction`], and the entropy
/// of the groups in nats for the others.
fn information(groups: &WindowGroups, weights: &[f32], policy: SensePolicy) -> f64 {
    let mut group_weights = vec![0.0_f64; groups.count];
    let mut group_sizes = vec![0_u32; groups.count];
    for (&group, &weight) in groups.group_of_board.iter().zip(weights) {
        group_weights[group as usize] += f64::from(weight);
        group_sizes[group as usize] += 1;
    }
    let sum = positive_or_one(group_weights.iter().sum());
    let mut information = 0.0;
    for (&weight, &size) in group_weights.iter().zip(&group_sizes) {
        let probability = weight / sum;
        information += match policy {
            SensePolicy::Reduction => -probability * f64::from(size) / weights.len() as f64,
            _ if probability > 0.0 => -probability * libm::log(probability),
            _ => 0.0,
        };
    }
    information
}

/// Returns the expected gain in the value of the best request from knowing the group of the true board.
fn expected_gain(groups: &WindowGroups, values: &RequestValues) -> f64 {
    let requests = values.values.first().map_or(0, Vec::len);
    if requests == 0 {
        return 0.0;
    }
    let mut group_values = vec![0.0_f64; requests * groups.count];
    let mut total_values = vec![0.0_f64; requests];
    let mut sum = 0.0;
    let boards = groups.group_of_board.iter().zip(&values.weights).zip(&values.values);
    for ((&group, &weight), row) in boards {
        let weight = f64::from(weight);
        sum += weight;
        let group_values = &mut group_values[group as usize * requests..][..requests];
        for ((in_group, total), &value) in group_values.iter_mut().zip(&mut total_values).zip(row) {
            *in_group += weight * f64::from(value);
            *total += weight * f64::from(value);
        }
    }
    let informed: f64 = group_values.chunks(requests).map(maximum).sum();
    (informed - maximum(&total_values)) / positive_or_one(sum)
}

fn maximum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Returns a divisor for weights whose sum may be 0.
fn positive_or_one(sum: f64) -> f64 {
    if sum > 0.0 { sum } else { 1.0 }
}

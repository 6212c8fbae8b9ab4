//! Where to look: what each window is expected to tell of the set of boards.

use super::Belief;
use crate::rules::blind::Army;
use crate::rules::{File, Rank, Square};

/// By what a sense is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SensePolicy {
    /// As few boards as possible are expected to be left: the paper's.
    Reduction,
    /// As much as possible is expected to be learned, in bits, of what is likely.
    Entropy,
    /// The best request is expected to gain as much as possible in value from knowing what is seen;
    /// entropy decides where nothing is gained.
    Gain,
    /// Anywhere, in turn: for comparison.
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

/// What some requests are worth on some of the boards of a belief.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Values {
    /// The boards, by their index in the belief.
    pub boards: Vec<usize>,
    /// How likely each of these is.
    pub weights: Vec<f32>,
    /// For each of these boards a row of so many values, one for each request.
    pub values: Vec<Vec<f32>>,
}

/// Larger sets are looked at through so many of their boards.
const SAMPLE: usize = 1 << 14;

/// The centers of all windows that show nine squares; no other shows anything that these do not.
fn centers() -> impl Iterator<Item = Square> {
    let inner = |square: &Square| {
        let (file, rank) = (square.file(), square.rank());
        !matches!(file, File::A | File::H) && !matches!(rank, Rank::First | Rank::Eighth)
    };
    Square::ALL.into_iter().filter(inner)
}

/// The nine squares around an inner `center` in 27 bits.
#[inline]
fn seen(army: &Army, center: Square) -> u32 {
    let corner = u32::from(center) - 9;
    let nine = |plane: u64| {
        let rows = plane >> corner;
        (rows & 7 | (rows >> 8 & 7) << 3 | (rows >> 16 & 7) << 6) as u32
    };
    let [a, b, c] = army.planes();
    nine(a) | nine(b) << 9 | nine(c) << 18
}

/// Numbers what is seen on each board, from 0, the same for the same.
#[derive(Default)]
struct Groups {
    /// What is seen, plus one, and its number.
    table: Vec<(u32, u32)>,
    numbers: Vec<u32>,
    count: usize,
}

impl Groups {
    fn of<'a>(&mut self, armies: impl ExactSizeIterator<Item = &'a Army>, center: Square) {
        let size = (armies.len() * 2).next_power_of_two().max(16);
        self.table.clear();
        self.table.resize(size, (0, 0));
        self.numbers.clear();
        self.count = 0;
        for army in armies {
            let seen = seen(army, center) + 1;
            let mut at = seen.wrapping_mul(0x9e37_79b1) as usize >> 4 & (size - 1);
            while self.table[at].0 != 0 && self.table[at].0 != seen {
                at = (at + 1) & (size - 1);
            }
            if self.table[at].0 == 0 {
                self.table[at] = (seen, self.count as u32);
                self.count += 1;
            }
            self.numbers.push(self.table[at].1);
        }
    }
}

impl Belief {
    /// The best place to look by a policy. `values` are needed by [`SensePolicy::Gain`] alone; `turn`
    /// tells turns apart where a policy looks anywhere.
    pub fn best_sense(&self, policy: SensePolicy, values: &Values, turn: u32) -> Square {
        if policy == SensePolicy::Naive {
            let all: Vec<_> = centers().collect();
            let at = (turn.wrapping_mul(0x9e37_79b1) >> 8) as usize % all.len();
            return all[at];
        }
        // Buckets come in no order that means anything, so that every so many are a fair sample.
        let step = self.armies.len().div_ceil(SAMPLE).max(1);
        let weights: Vec<f32> = self.weights.iter().copied().step_by(step).collect();
        let mut groups = Groups::default();
        let (mut best, mut most) = (Square::E5, f64::NEG_INFINITY);
        for center in centers() {
            groups.of(self.armies.iter().step_by(step), center);
            let learned = score(&groups, &weights, policy);
            let gained = match policy {
                SensePolicy::Gain => {
                    let boards = values.boards.iter().filter_map(|&at| self.armies.get(at));
                    let boards: Vec<&Army> = boards.collect();
                    groups.of(boards.into_iter(), center);
                    gain(&groups, values) + learned / 1000.0
                }
                _ => learned,
            };
            if gained > most {
                (best, most) = (center, gained);
            }
        }
        best
    }
}

/// What is learned: of boards, how many fewer are expected, as a share; or of entropy, in nats.
fn score(groups: &Groups, weights: &[f32], policy: SensePolicy) -> f64 {
    let mut shares = vec![(0.0_f64, 0_u32); groups.count];
    for (&number, &weight) in groups.numbers.iter().zip(weights) {
        let share = &mut shares[number as usize];
        share.0 += f64::from(weight);
        share.1 += 1;
    }
    let whole: f64 = shares.iter().map(|share| share.0).sum();
    let whole = if whole > 0.0 { whole } else { 1.0 };
    let of = |&(weight, boards): &(f64, u32)| {
        let chance = weight / whole;
        match policy {
            SensePolicy::Reduction => -chance * f64::from(boards) / weights.len() as f64,
            _ if chance > 0.0 => -chance * libm::log(chance),
            _ => 0.0,
        }
    };
    shares.iter().map(of).sum()
}

/// By how much the best request is expected to be better for knowing the group.
fn gain(groups: &Groups, values: &Values) -> f64 {
    let requests = values.values.first().map_or(0, Vec::len);
    if requests == 0 {
        return 0.0;
    }
    let mut sums = vec![0.0_f64; requests * groups.count];
    let mut all = vec![0.0_f64; requests];
    let mut whole = 0.0;
    for ((&number, &weight), row) in groups.numbers.iter().zip(&values.weights).zip(&values.values)
    {
        let weight = f64::from(weight);
        whole += weight;
        let sums = &mut sums[number as usize * requests..][..requests];
        for ((sum, all), &value) in sums.iter_mut().zip(&mut all).zip(row) {
            *sum += weight * f64::from(value);
            *all += weight * f64::from(value);
        }
    }
    let most = |sums: &[f64]| sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let knowing: f64 = sums.chunks(requests).map(most).sum();
    (knowing - most(&all)) / if whole > 0.0 { whole } else { 1.0 }
}

//! Boards without doubles.

use std::thread;

use crate::rules::blind::Army;

/// A board with its weight, and the part of its hash that finds it among others.
#[derive(Clone, Copy, Debug)]
struct Entry {
    army: Army,
    mark: u32,
    weight: f32,
}

/// A set of armies with weights; the weights of those that are put into it twice are added up.
///
/// Entries are first put into buckets by their hash, one after another, and doubles are removed
/// bucket by bucket: as large sets do not fit into the processor's caches and buckets do, this is
/// several times as fast as one large table. Boards are compared, not their hashes: no two different
/// ones are ever taken for one.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// A power of two of them.
    buckets: Vec<Vec<Entry>>,
    len: usize,
}

/// So many entries make a bucket, about: they and their table fit into a core's own cache.
const BUCKET: usize = 1 << 13;
/// More buckets would be written to in too many places at once.
const MOST_BUCKETS: usize = 256;
/// Fewer entries are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 16;

impl Pool {
    /// An empty set for about so many entries, doubles counted.
    pub(super) fn new(expected: usize) -> Pool {
        let count = (expected / BUCKET).clamp(1, MOST_BUCKETS).next_power_of_two();
        let room = (expected / count).min(2 * BUCKET);
        Pool { buckets: (0..count).map(|_| Vec::with_capacity(room)).collect(), len: 0 }
    }

    /// An empty set in which boards find the same buckets as in this one.
    pub(super) fn alike(&self) -> Pool {
        Pool { buckets: vec![Vec::new(); self.buckets.len()], len: 0 }
    }

    /// How many entries there are, doubles counted.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a board.
    #[inline]
    pub(super) fn add(&mut self, army: Army, weight: f32) {
        let hash = army.hash();
        // The table of a bucket goes by the upper half.
        let bucket = hash as usize & (self.buckets.len() - 1);
        self.buckets[bucket].push(Entry { army, mark: (hash >> 32) as u32, weight });
        self.len += 1;
    }

    /// Adds the entries of sets that are [`Pool::alike`].
    pub(super) fn append(&mut self, others: impl IntoIterator<Item = Pool>) {
        for other in others {
            self.len += other.len;
            for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
                if bucket.is_empty() { *bucket = more } else { bucket.extend(more) }
            }
        }
    }

    /// Removes doubles, on so many threads.
    pub(super) fn compact(&mut self, threads: usize) {
        let threads = if self.len < WORTH_A_THREAD { 1 } else { threads.min(self.buckets.len()) };
        let share = self.buckets.len().div_ceil(threads);
        if threads == 1 {
            compact(&mut self.buckets);
        } else {
            thread::scope(|scope| {
                for buckets in self.buckets.chunks_mut(share) {
                    scope.spawn(|| compact(buckets));
                }
            });
        }
        self.len = self.buckets.iter().map(Vec::len).sum();
    }

    /// The boards and their weights, on so many threads.
    pub(super) fn into_boards(mut self, threads: usize) -> (Vec<Army>, Vec<f32>) {
        self.compact(threads);
        let (mut armies, mut weights) =
            (Vec::with_capacity(self.len), Vec::with_capacity(self.len));
        for bucket in self.buckets {
            armies.extend(bucket.iter().map(|entry| entry.army));
            weights.extend(bucket.iter().map(|entry| entry.weight));
        }
        (armies, weights)
    }

    /// Leaves a weighted sample of `size` of the boards, without doubles, in which every board
    /// stands with the weight that it has on average: priority sampling by exponential races
    /// (Efraimidis and Spirakis 2006), reweighted after Horvitz and Thompson. `salt` makes draws
    /// differ.
    pub(super) fn thin(&mut self, size: usize, salt: u64) {
        if self.len <= size {
            return;
        }
        let time = |entry: &Entry| {
            // Uniform in (0, 1], and the same for the same board on every machine.
            let bits = (entry.army.hash() ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let bits = (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11;
            let uniform = (bits + 1) as f64 / (1_u64 << 53) as f64;
            -libm::log(uniform) / f64::from(entry.weight.max(f32::MIN_POSITIVE))
        };
        let mut times: Vec<f64> = self.buckets.iter().flatten().map(time).collect();
        let (_, &mut last, _) = times.select_nth_unstable_by(size, f64::total_cmp);
        for bucket in &mut self.buckets {
            bucket.retain_mut(|entry| {
                let kept = time(entry) < last;
                let chance = -libm::expm1(-f64::from(entry.weight) * last);
                entry.weight = (f64::from(entry.weight) / chance) as f32;
                kept
            });
        }
        self.len = self.buckets.iter().map(Vec::len).sum();
    }
}

/// Removes the doubles of each bucket.
fn compact(buckets: &mut [Vec<Entry>]) {
    // Indices into the entries that are kept, plus one; 0 if free.
    let mut table: Vec<u32> = Vec::new();
    for bucket in buckets {
        table.clear();
        table.resize((bucket.len() * 2).next_power_of_two(), 0);
        let mask = table.len() - 1;
        let mut kept = 0;
        for i in 0..bucket.len() {
            let entry = bucket[i];
            let mut at = entry.mark as usize & mask;
            loop {
                let index = table[at] as usize;
                if index == 0 {
                    bucket[kept] = entry;
                    kept += 1;
                    table[at] = kept as u32;
                    break;
                }
                let known = &mut bucket[index - 1];
                if known.mark == entry.mark && known.army == entry.army {
                    known.weight += entry.weight;
                    break;
                }
                at = (at + 1) & mask;
            }
        }
        bucket.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::blind::Truth;
    use crate::rules::{Color, Role, Square};

    fn army(i: u32) -> Army {
        let mut army = *Truth::default().army(Color::White);
        for bit in 0..16 {
            let role = if i >> bit & 1 == 1 { Some(Role::Knight) } else { None };
            army.set(Color::White, Square::new(24 + bit), role);
        }
        army
    }

    #[test]
    fn doubles_are_added_up() {
        for (expected, threads) in [(0, 1), (1 << 20, 1), (1 << 20, 3)] {
            let mut pool = Pool::new(expected);
            for round in 0..3 {
                let mut more = pool.alike();
                (0..30_000).for_each(|i| more.add(army(i), (round + 1) as f32));
                (0..30_000).for_each(|i| more.add(army(i), 0.5));
                pool.append([more]);
            }
            assert_eq!(pool.len(), 180_000);
            pool.compact(threads);
            assert_eq!(pool.len(), 30_000);
            let (armies, weights) = pool.into_boards(threads);
            assert_eq!(weights, vec![7.5; 30_000]);
            let mut planes: Vec<_> = armies.iter().map(Army::planes).collect();
            planes.sort_unstable();
            planes.dedup();
            assert_eq!(planes.len(), 30_000);
        }
    }

    #[test]
    fn equal_marks_are_not_equal_boards() {
        let entry = |i| Entry { army: army(i), mark: 7, weight: 1.0 };
        let mut crowded = [(0..300).chain(0..300).map(entry).collect()];
        compact(&mut crowded);
        let armies: Vec<_> = crowded[0].iter().map(|entry| (entry.army, entry.weight)).collect();
        assert_eq!(armies, (0..300).map(|i| (army(i), 2.0)).collect::<Vec<_>>());
    }

    #[test]
    fn samples_keep_the_weights_on_average() {
        let mut rest = 0.0;
        for salt in 0..20 {
            let mut pool = Pool::new(0);
            (0..2000).for_each(|i| pool.add(army(i), if i < 10 { 100.0 } else { 1.0 }));
            pool.thin(500, salt);
            let (armies, weights) = pool.into_boards(1);
            assert_eq!(armies.len(), 500);
            assert!((0..10).all(|i| armies.contains(&army(i))), "the likely ones are kept");
            rest += weights.iter().sum::<f32>() - 1000.0;
        }
        assert!((rest / 20.0 - 1990.0).abs() < 40.0, "{}", rest / 20.0);
    }
}

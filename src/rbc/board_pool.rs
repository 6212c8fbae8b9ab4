//! Boards without duplicates, and weighted samples of them.

use std::thread;

use crate::rules::rbc::Army;

/// A board with its weight, and the part of its hash that finds it in a table.
#[derive(Clone, Copy, Debug)]
struct PoolEntry {
    army: Army,
    tag: u32,
    weight: f32,
}

/// A set of armies with weights. The weights of duplicates are added.
///
/// Entries are first appended to buckets by their hash. Duplicates are removed bucket by bucket: large sets
/// exceed the caches of the processor and buckets do not, so that this is several times as fast as one large
/// table. The table compares boards, not only hashes, so that different boards are never merged.
#[derive(Clone, Debug)]
pub(super) struct BoardPool {
    /// Their number is a power of two.
    buckets: Vec<Vec<PoolEntry>>,
    len: usize,
}

/// The typical number of entries of a bucket. They and their table fit into the cache of a core.
const BUCKET_ENTRIES: usize = 1 << 13;
/// More buckets would be written to in too many places at once.
const MAX_BUCKETS: usize = 256;
/// The minimum number of entries for a second thread.
const MIN_PARALLEL_ENTRIES: usize = 1 << 16;

impl BoardPool {
    /// Returns an empty set for about `expected` entries, including duplicates.
    pub(super) fn new(expected: usize) -> BoardPool {
        let count = (expected / BUCKET_ENTRIES).clamp(1, MAX_BUCKETS).next_power_of_two();
        let capacity = (expected / count).min(2 * BUCKET_ENTRIES);
        let buckets = (0..count).map(|_| Vec::with_capacity(capacity)).collect();
        BoardPool { buckets, len: 0 }
    }

    /// Returns an empty set with the same number of buckets, for [`BoardPool::append`].
    pub(super) fn new_with_same_buckets(&self) -> BoardPool {
        BoardPool { buckets: vec![Vec::new(); self.buckets.len()], len: 0 }
    }

    /// Returns the number of entries, including duplicates.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a board.
    #[inline]
    pub(super) fn add(&mut self, army: Army, weight: f32) {
        let hash = army.hash();
        // The lower half of the hash chooses the bucket, the upper half the place in its table.
        let bucket = hash as usize & (self.buckets.len() - 1);
        self.buckets[bucket].push(PoolEntry { army, tag: (hash >> 32) as u32, weight });
        self.len += 1;
    }

    /// Adds the entries of sets with the same number of buckets.
    pub(super) fn append(&mut self, others: impl IntoIterator<Item = BoardPool>) {
        for other in others {
            self.len += other.len;
            for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
                if bucket.is_empty() {
                    *bucket = more;
                } else {
                    bucket.extend(more);
                }
            }
        }
    }

    /// Removes duplicates with `threads` threads.
    pub(super) fn remove_duplicates(&mut self, threads: usize) {
        let threads =
            if self.len < MIN_PARALLEL_ENTRIES { 1 } else { threads.min(self.buckets.len()) };
        if threads == 1 {
            merge_duplicates(&mut self.buckets);
        } else {
            let share = self.buckets.len().div_ceil(threads);
            thread::scope(|scope| {
                for buckets in self.buckets.chunks_mut(share) {
                    scope.spawn(|| merge_duplicates(buckets));
                }
            });
        }
        self.len = self.buckets.iter().map(Vec::len).sum();
    }

    /// Returns the boards without duplicates, and their weights.
    pub(super) fn into_boards(mut self, threads: usize) -> (Vec<Army>, Vec<f32>) {
        self.remove_duplicates(threads);
        let mut armies = Vec::with_capacity(self.len);
        let mut weights = Vec::with_capacity(self.len);
        for bucket in self.buckets {
            armies.extend(bucket.iter().map(|entry| entry.army));
            weights.extend(bucket.iter().map(|entry| entry.weight));
        }
        (armies, weights)
    }

    /// Reduces a set without duplicates to a weighted sample of `size` boards, in which the expected weight
    /// of each board is its weight before: priority sampling by exponential races (Efraimidis and Spirakis
    /// 2006) with the weights of Horvitz and Thompson. Different `salt` draws different samples.
    pub(super) fn reduce(&mut self, size: usize, salt: u64) {
        if self.len <= size {
            return;
        }
        let entries = self.buckets.iter().flatten();
        let mut times: Vec<f64> = entries.map(|entry| entry.arrival_time(salt)).collect();
        let (_, &mut limit, _) = times.select_nth_unstable_by(size, f64::total_cmp);
        for bucket in &mut self.buckets {
            bucket.retain_mut(|entry| {
                let is_kept = entry.arrival_time(salt) < limit;
                let probability = -libm::expm1(-f64::from(entry.weight) * limit);
                entry.weight = (f64::from(entry.weight) / probability) as f32;
                is_kept
            });
        }
        self.len = self.buckets.iter().map(Vec::len).sum();
    }
}

impl PoolEntry {
    /// Returns a sample of the exponential distribution whose rate is the weight. It depends on the board
    /// and the salt only, and is the same on every machine.
    fn arrival_time(&self, salt: u64) -> f64 {
        let mut bits = (self.army.hash() ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11;
        // Uniform in (0, 1].
        let uniform = (bits + 1) as f64 / (1_u64 << 53) as f64;
        -libm::log(uniform) / f64::from(self.weight.max(f32::MIN_POSITIVE))
    }
}

/// Merges the duplicates of each bucket.
fn merge_duplicates(buckets: &mut [Vec<PoolEntry>]) {
    // The index of a kept entry plus one, or 0 for a free slot.
    let mut table: Vec<u32> = Vec::new();
    for bucket in buckets {
        table.clear();
        table.resize((bucket.len() * 2).next_power_of_two(), 0);
        let mask = table.len() - 1;
        let mut kept = 0;
        for i in 0..bucket.len() {
            let entry = bucket[i];
            let mut slot = entry.tag as usize & mask;
            loop {
                let index = table[slot] as usize;
                if index == 0 {
                    bucket[kept] = entry;
                    kept += 1;
                    table[slot] = kept as u32;
                    break;
                }
                let known = &mut bucket[index - 1];
                if known.tag == entry.tag && known.army == entry.army {
                    known.weight += entry.weight;
                    break;
                }
                slot = (slot + 1) & mask;
            }
        }
        bucket.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rbc::Truth;
    use crate::rules::{Color, Role, Square};

    /// Returns a different army for each `i` below 65,536.
    fn numbered_army(i: u32) -> Army {
        let mut army = *Truth::default().army(Color::White);
        for bit in 0..16 {
            let role = if i >> bit & 1 == 1 { Some(Role::Knight) } else { None };
            army.set(Color::White, Square::new(24 + bit), role);
        }
        army
    }

    #[test]
    fn pool_adds_the_weights_of_duplicates() {
        for (expected, threads) in [(0, 1), (1 << 20, 1), (1 << 20, 3)] {
            let mut pool = BoardPool::new(expected);
            for round in 0..3 {
                let mut more = pool.new_with_same_buckets();
                for weight in [(round + 1) as f32, 0.5] {
                    for i in 0..30_000 {
                        more.add(numbered_army(i), weight);
                    }
                }
                pool.append([more]);
            }
            assert_eq!(pool.len(), 180_000);
            pool.remove_duplicates(threads);
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
    fn pool_keeps_different_boards_with_equal_tags() {
        let entry = |i| PoolEntry { army: numbered_army(i), tag: 7, weight: 1.0 };
        let mut buckets = [(0..300).chain(0..300).map(entry).collect()];
        merge_duplicates(&mut buckets);
        let merged: Vec<_> = buckets[0].iter().map(|entry| (entry.army, entry.weight)).collect();
        let expected: Vec<_> = (0..300).map(|i| (numbered_army(i), 2.0)).collect();
        assert_eq!(merged, expected);
    }

    #[test]
    fn pool_sample_keeps_weights_on_average() {
        let mut sum = 0.0;
        for salt in 0..20 {
            let mut pool = BoardPool::new(0);
            for i in 0..2000 {
                pool.add(numbered_army(i), if i < 10 { 100.0 } else { 1.0 });
            }
            pool.reduce(500, salt);
            let (armies, weights) = pool.into_boards(1);
            assert_eq!(armies.len(), 500);
            assert!((0..10).all(|i| armies.contains(&numbered_army(i))), "likely boards are kept");
            sum += weights.iter().sum::<f32>() - 1000.0;
        }
        assert!((sum / 20.0 - 1990.0).abs() < 40.0, "{}", sum / 20.0);
    }
}

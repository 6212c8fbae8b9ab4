//! The transposition table, which all threads share without locks.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use super::score::{MATE_BOUND, Score};
use crate::memory::{SharedLine, prefetch, zeroed_lines};
use crate::rules::{Key, PackedMove};

/// What a stored score says about the true one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// At most.
    Upper,
    /// At least.
    Lower,
    /// The same.
    Exact,
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The score, with mates that count from the position.
    pub(super) score: Score,
    /// The static evaluation.
    pub(super) eval: Score,
    /// The best move, if one is known.
    pub(super) best: Option<PackedMove>,
    /// The depth of the search; 0 and less in the quiescence search.
    pub(super) depth: i32,
    pub(super) bound: Bound,
    /// The position was on a principal variation before.
    pub(super) was_principal: bool,
}

impl Entry {
    /// Returns `true` if the score decides a node of this window.
    pub(super) fn decides(&self, score: Score, alpha: Score, beta: Score) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => score >= beta,
            Bound::Upper => score <= alpha,
        }
    }

    /// Returns `true` if the score is a better evaluation than the static one.
    pub(super) fn improves(&self, score: Score, eval: Score) -> bool {
        let is_bound = match self.bound {
            Bound::Exact => true,
            Bound::Lower => score > eval,
            Bound::Upper => score < eval,
        };
        is_bound && score.abs() < MATE_BOUND
    }
}

/// Searches that are distinguished.
const AGES: u8 = 32;
/// A result of the current search is replaced like one of an earlier search that is this much deeper.
const AGE_DEPTH: i32 = 8;
/// An entry of the current search that is deeper by more than this stays, unless the new one of its position is exact.
const MUCH_DEEPER: i32 = 3;
/// The buckets with which a table begins: 4 MiB, as much as the TLB and the caches of a core cover.
const FIRST_BUCKETS: usize = (4 << 20) / size_of::<Bucket>();
/// The share of entries of the current search, in permille, above which more buckets are taken into use.
const CROWDED: usize = 250;

/// An entry and its key: the key, XORed with the second word, and the entry. A reader that sees one word of each of two
/// writers finds no key that fits (Hyatt and Mann 2002, "A lock-less transposition table implementation").
type Slot = [AtomicU64; 2];

/// The entries of a cache line.
type Bucket = SharedLine;

/// Results of searched positions, by their keys.
///
/// It uses no more of its memory than the search fills, since the fewer pages and cache lines there are, the less does a
/// random access cost.
#[derive(Debug)]
pub(super) struct TranspositionTable {
    buckets: Vec<Bucket>,
    /// The buckets in use, which are the first ones.
    in_use: AtomicUsize,
    age: AtomicU8,
}

impl TranspositionTable {
    /// Returns an empty table of at most `bytes` bytes, and at least one bucket. Its memory is provided when it is first used.
    pub(super) fn new(bytes: usize) -> TranspositionTable {
        let mut count = (bytes / size_of::<Bucket>()).max(1);
        loop {
            // The buckets in use double until they are all.
            let doublings = (count / FIRST_BUCKETS).checked_ilog2().unwrap_or(0);
            let first = count >> doublings;
            let in_use = AtomicUsize::new(first);
            if let Some(buckets) = zeroed_lines(first << doublings) {
                return TranspositionTable { buckets, in_use, age: AtomicU8::new(0) };
            }
            if count == 1 {
                let buckets = vec![Bucket::default()];
                return TranspositionTable { buckets, in_use, age: AtomicU8::new(0) };
            }
            // Without enough memory, a smaller table does.
            count /= 2;
        }
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        let in_use = self.in_use.get_mut();
        self.buckets[..*in_use].fill_with(Bucket::default);
        while *in_use >= 2 * FIRST_BUCKETS {
            *in_use /= 2;
        }
    }

    /// Takes twice as many buckets into use if the current search has filled those there are. One thread may call this
    /// while others search: they at most lose a few entries.
    pub(super) fn grow_if_crowded(&self) {
        let in_use = self.in_use.load(Ordering::Relaxed);
        if in_use == self.buckets.len() || self.permille_in_use() <= CROWDED {
            return;
        }
        // The entries of a bucket belong to two of the new ones, which are not before it: from the last one on, none
        // meets an entry that has not moved yet.
        for old in self.buckets[..in_use].iter().rev() {
            for [key, data] in &old.0 {
                let data = data.swap(0, Ordering::Relaxed);
                let key = key.swap(0, Ordering::Relaxed) ^ data;
                let new = &self.buckets[index(Key(key), 2 * in_use)];
                let free = new.0.iter().find(|[_, data]| data.load(Ordering::Relaxed) == 0);
                if let Some([free_key, free_data]) = free
                    && data != 0
                {
                    free_key.store(key ^ data, Ordering::Relaxed);
                    free_data.store(data, Ordering::Relaxed);
                }
            }
        }
        self.in_use.store(2 * in_use, Ordering::Relaxed);
    }

    /// Begins another search: the entries of earlier ones are replaced first.
    pub(super) fn begin_search(&self) {
        self.age.store((self.age.load(Ordering::Relaxed) + 1) % AGES, Ordering::Relaxed);
    }

    fn bucket(&self, key: Key) -> &[Slot; 4] {
        &self.buckets[index(key, self.in_use.load(Ordering::Relaxed))].0
    }

    /// Loads the bucket of a position into the cache ahead of its use.
    pub(super) fn prefetch(&self, key: Key) {
        prefetch(self.bucket(key));
    }

    /// Returns the entry of a position.
    pub(super) fn probe(&self, key: Key) -> Option<Entry> {
        self.bucket(key).iter().find_map(|[found, data]| {
            let data = data.load(Ordering::Relaxed);
            let found = found.load(Ordering::Relaxed) ^ data;
            if found == key.0 { unpack(data).map(|(entry, _)| entry) } else { None }
        })
    }

    /// Stores an entry, unless a much deeper one of the same position and search is there. If it has no move, that of
    /// the old entry stays.
    pub(super) fn store(&self, key: Key, mut entry: Entry) {
        let age = self.age.load(Ordering::Relaxed);
        let mut target: Option<(i32, &Slot)> = None;
        for slot in self.bucket(key) {
            let [old_key, data] = slot;
            let data = data.load(Ordering::Relaxed);
            let old = unpack(data);
            if let Some((old, old_age)) = old
                && old_key.load(Ordering::Relaxed) ^ data == key.0
            {
                let is_much_deeper = old.depth > entry.depth + MUCH_DEEPER && old_age == age;
                if is_much_deeper && entry.bound != Bound::Exact {
                    return;
                }
                entry.best = entry.best.or(old.best);
                target = Some((i32::MIN, slot));
                break;
            }
            let worth = old.map_or(i32::MIN + 1, |(old, old_age)| {
                let ages = i32::from((age + AGES - old_age) % AGES);
                old.depth - AGE_DEPTH * ages
            });
            if target.is_none_or(|(least, _)| worth < least) {
                target = Some((worth, slot));
            }
        }
        if let Some((_, [slot_key, slot_data])) = target {
            let data = pack(&entry, age);
            slot_key.store(key.0 ^ data, Ordering::Relaxed);
            slot_data.store(data, Ordering::Relaxed);
        }
    }

    /// Returns the part of the table's memory with entries of the current search, in permille.
    pub(super) fn permille(&self) -> usize {
        self.permille_in_use() * self.in_use.load(Ordering::Relaxed) / self.buckets.len()
    }

    /// Returns the part of the buckets in use with entries of the current search, in permille, by the first thousand
    /// entries.
    fn permille_in_use(&self) -> usize {
        let age = self.age.load(Ordering::Relaxed);
        let sample = self.buckets.iter().take(250).flat_map(|bucket| &bucket.0);
        let (used, all) = sample.fold((0, 0), |(used, all), [_, data]| {
            let entry = unpack(data.load(Ordering::Relaxed));
            let is_used = entry.is_some_and(|(_, its_age)| its_age == age);
            (used + usize::from(is_used), all + 1)
        });
        used * 1000 / all
    }
}

/// Returns the bucket of a key among `count`. The high half of the product spreads keys evenly over any number.
fn index(key: Key, count: usize) -> usize {
    ((u128::from(key.0) * count as u128) >> 64) as usize
}

/// An entry in a word, which is never 0: score, evaluation, move (16 bits each), depth (8), age (5), whether it was on a
/// principal variation (1), bound (2).
fn pack(entry: &Entry, age: u8) -> u64 {
    let bound: u64 = match entry.bound {
        Bound::Upper => 1,
        Bound::Lower => 2,
        Bound::Exact => 3,
    };
    let word = |number: i32| u64::from(number as i16 as u16);
    let best = entry.best.map_or(NO_MOVE, |m| m.0);
    word(entry.score)
        | word(entry.eval) << 16
        | u64::from(best) << 32
        | u64::from(entry.depth.clamp(-128, 127) as i8 as u8) << 48
        | u64::from(age) << 56
        | u64::from(entry.was_principal) << 61
        | bound << 62
}

/// No move has these bits: a step from a1 to a1.
const NO_MOVE: u16 = 0;

fn unpack(data: u64) -> Option<(Entry, u8)> {
    let bound = match data >> 62 {
        1 => Bound::Upper,
        2 => Bound::Lower,
        3 => Bound::Exact,
        _ => return None,
    };
    let number = |shift: u32| i32::from((data >> shift) as u16 as i16);
    let best = (data >> 32) as u16;
    let entry = Entry {
        score: number(0),
        eval: number(16),
        best: (best != NO_MOVE).then_some(PackedMove(best)),
        depth: i32::from((data >> 48) as u8 as i8),
        bound,
        was_principal: data >> 61 & 1 != 0,
    };
    Some((entry, (data >> 56) as u8 % AGES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: i32) -> Entry {
        let best = Some(PackedMove(0x0301));
        let was_principal = depth % 2 != 0;
        Entry { score: -29_998, eval: -17, best, depth, bound: Bound::Upper, was_principal }
    }

    #[test]
    fn entries_round_trip() {
        for bound in [Bound::Upper, Bound::Lower, Bound::Exact] {
            for depth in [-12, 0, 1, 100] {
                for best in [None, Some(PackedMove(0xf123))] {
                    let entry = Entry { bound, best, ..entry(depth) };
                    assert_eq!(unpack(pack(&entry, AGES - 1)), Some((entry, AGES - 1)));
                }
            }
        }
        assert_eq!(unpack(0), None);
    }

    #[test]
    fn a_crowded_table_grows_and_keeps_its_entries() {
        let mut table = TranspositionTable::new((9 << 20) + 100);
        let all = table.buckets.len();
        let first = table.in_use.load(Ordering::Relaxed);
        assert_eq!(all, 2 * first);
        // Spread like hashed keys.
        let key = |number: u64| Key(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let count = (2 * first) as u64;
        for number in 0..count / 4 {
            table.store(key(number), entry(3));
        }
        table.grow_if_crowded();
        assert_eq!(table.in_use.load(Ordering::Relaxed), first);
        for number in count / 4..count {
            table.store(key(number), entry(number as i32 % 50));
        }
        let before: Vec<_> = (0..count).map(|number| table.probe(key(number))).collect();
        let permille = table.permille();
        assert!(before.iter().flatten().count() as u64 > count * 9 / 10, "too few entries");
        table.grow_if_crowded();
        assert_eq!(table.in_use.load(Ordering::Relaxed), all);
        let after: Vec<_> = (0..count).map(|number| table.probe(key(number))).collect();
        assert!(before == after, "an entry is lost or changed");
        assert!(table.permille().abs_diff(permille) < 25, "{} after {permille}", table.permille());
        // It is as large as it may be.
        (count..4 * count).for_each(|number| table.store(key(number), entry(1)));
        table.grow_if_crowded();
        assert_eq!(table.in_use.load(Ordering::Relaxed), all);
        table.clear();
        assert_eq!(table.in_use.load(Ordering::Relaxed), first);
        assert!((0..count).all(|number| table.probe(key(number)).is_none()));
    }

    #[test]
    fn deeper_entries_of_the_search_stay() {
        let table = TranspositionTable::new(1);
        let key = |number: u64| Key(number);
        assert_eq!(table.probe(key(1)), None);
        for number in 0..4 {
            table.store(key(number), entry(10 + number as i32));
        }
        // The shallowest makes room.
        table.store(key(9), entry(1));
        assert_eq!(table.probe(key(0)), None);
        assert_eq!(table.probe(key(9)), Some(entry(1)));
        // In another search the old ones do, whatever their depth.
        table.begin_search();
        table.begin_search();
        for number in 20..24 {
            table.store(key(number), entry(0));
        }
        let found = (20..24).filter(|&number| table.probe(key(number)).is_some());
        assert_eq!(found.count(), 4);
    }

    #[test]
    fn moves_and_deep_results_are_kept() {
        let table = TranspositionTable::new(1 << 12);
        table.store(Key(5), entry(10));
        let shallow = Entry { best: None, ..entry(2) };
        table.store(Key(5), shallow);
        assert_eq!(table.probe(Key(5)), Some(entry(10)));
        table.store(Key(5), Entry { bound: Bound::Exact, ..shallow });
        let found = table.probe(Key(5)).expect("an entry");
        assert_eq!((found.depth, found.best), (2, entry(0).best));
    }
}

//! What differs between two positions whose inputs have places.

use super::level::{Level, Set};

/// Places that are compared at once.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = 64;

/// Returns the number of places at which the inputs differ.
///
/// # Panics
/// If there are more than 65,535 places.
pub(super) fn differences(level: Level, one: &[u16], other: &[u16]) -> usize {
    assert!(one.len() <= usize::from(u16::MAX));
    match level.set() {
        Set::Portable => count(one, other),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: levels of these sets exist only where the CPU has AVX2.
        Set::Avx2 | Set::Avx512 => unsafe { avx2::differences(one, other) },
    }
}

#[inline(always)]
fn count(one: &[u16], other: &[u16]) -> usize {
    usize::from(one.iter().zip(other).map(|(one, other)| u16::from(one != other)).sum::<u16>())
}

/// Inputs that one position has at a place and another one has not.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    added: Vec<u16>,
    removed: Vec<u16>,
    added_count: usize,
    removed_count: usize,
}

impl Changes {
    /// Returns the inputs that the position has and the one before has not.
    pub(super) fn added(&self) -> &[u16] {
        &self.added[..self.added_count]
    }

    /// Returns the inputs that the position before has and this one has not.
    pub(super) fn removed(&self) -> &[u16] {
        &self.removed[..self.removed_count]
    }

    /// Compares a position with the one before, place by place. A place without an input has `padding`.
    pub(super) fn compare(&mut self, level: Level, before: &[u16], after: &[u16], padding: u16) {
        let places = before.len().min(after.len());
        if self.added.len() <= places {
            self.added.resize(places + 1, 0);
            self.removed.resize(places + 1, 0);
        }
        (self.added_count, self.removed_count) = (0, 0);
        match level.set() {
            Set::Portable => self.add(before, after, padding),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 => {
                let (before_blocks, before_rest) = before.as_chunks::<BLOCK>();
                let (after_blocks, after_rest) = after.as_chunks::<BLOCK>();
                for (before, after) in before_blocks.iter().zip(after_blocks) {
                    // SAFETY: levels of these sets exist only where the CPU has AVX2.
                    let mut places = unsafe { avx2::unequal(before, after) };
                    while places != 0 {
                        let place = places.trailing_zeros() as usize % BLOCK;
                        self.push(before[place], after[place], padding);
                        places &= places - 1;
                    }
                }
                self.add(before_rest, after_rest, padding);
            }
        }
    }

    fn add(&mut self, before: &[u16], after: &[u16], padding: u16) {
        for (&before, &after) in before.iter().zip(after) {
            if before != after {
                self.push(before, after, padding);
            }
        }
    }

    /// Adds a place where the positions differ. Which of the two has an input is hard to predict, so this is without
    /// branches.
    #[inline(always)]
    fn push(&mut self, before: u16, after: u16, padding: u16) {
        self.removed[self.removed_count] = before;
        self.removed_count += usize::from(before != padding);
        self.added[self.added_count] = after;
        self.added_count += usize::from(after != padding);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{BLOCK, count};

    #[target_feature(enable = "avx2")]
    pub(super) fn differences(one: &[u16], other: &[u16]) -> usize {
        count(one, other)
    }

    /// Returns a bit for each place, which is set if the inputs there are not the same.
    #[target_feature(enable = "avx2")]
    pub(super) fn unequal(one: &[u16; BLOCK], other: &[u16; BLOCK]) -> u64 {
        let vector = |numbers: &[u16; BLOCK], nth: usize| {
            assert!(nth < 4);
            // SAFETY: the array has four times 32 bytes, and an unaligned load has no other condition.
            unsafe { _mm256_loadu_si256(numbers.as_ptr().cast::<__m256i>().add(nth)) }
        };
        let half = |first: usize| {
            let [low, high] = [first, first + 1]
                .map(|nth| _mm256_cmpeq_epi16(vector(one, nth), vector(other, nth)));
            // Packing works on 128-bit lanes, whose order the permutation mends.
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
            _mm256_movemask_epi8(packed) as u32
        };
        !(u64::from(half(0)) | u64::from(half(2)) << 32)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn levels_agree_on_changes() {
        let mut rng = SmallRng::seed_from_u64(1);
        for places in [0, 1, 63, 64, 110, 128, 321] {
            let padding = 5;
            let mut inputs = || (0..places).map(|_| rng.random_range(0..=9)).collect::<Vec<u16>>();
            let (before, after) = (inputs(), inputs());
            let unequal: Vec<(u16, u16)> =
                before.iter().copied().zip(after.iter().copied()).filter(|(a, b)| a != b).collect();
            let removed = unequal.iter().map(|pair| pair.0).filter(|&input| input != padding);
            let added = unequal.iter().map(|pair| pair.1).filter(|&input| input != padding);
            let expected = (added.collect::<Vec<_>>(), removed.collect::<Vec<_>>());
            for level in Level::available() {
                let mut changes = Changes::default();
                changes.compare(level, &before, &after, padding);
                assert_eq!(
                    (changes.added(), changes.removed()),
                    (&expected.0[..], &expected.1[..])
                );
                assert_eq!(differences(level, &before, &after), unequal.len());
                changes.compare(level, &after, &after, padding);
                assert_eq!((changes.added().len(), changes.removed().len()), (0, 0));
            }
        }
    }
}

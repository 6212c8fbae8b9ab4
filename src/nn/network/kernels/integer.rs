//! The arithmetic of int8 networks, once for each instruction set.
//!
//! A sum of features is an i16 in units of `1 / one`; the caller sees to it that it cannot overflow
//! ([`most_inputs`]). An output is the product of two clipped sums in units of 1 / 128, from 0 to 128,
//! in a byte. It is multiplied by int8 weights that are never -128: two such products fit an i16
//! (2 * 128 * 127 = 32,512), as AVX2 needs.

use super::level::{Level, Set};
use super::table::{ByteTable, LINE};

/// What an output of 1 is.
pub(super) const UNIT: u32 = 128;

/// A cache line of i16 numbers holds half as many.
pub(super) type Wide = [i16; LINE];

/// Returns the number of table rows that may be added to the bias before a sum could leave 16 bits,
/// whichever rows they are.
pub(super) fn most_inputs(table: &ByteTable, bias: &[i16]) -> usize {
    let weight = table.numbers().map(i8::unsigned_abs).max().unwrap_or(0);
    let bias = bias.iter().map(|number| number.unsigned_abs()).max().unwrap_or(0);
    let room = usize::from(i16::MAX.unsigned_abs().saturating_sub(bias));
    room / usize::from(weight.max(1))
}

/// The first layer: a table row for each input and a bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    /// The rows, of twice as many numbers as there are outputs.
    pub(super) table: &'a ByteTable,
    /// The bias, as wide as a row.
    pub(super) bias: &'a [Wide],
    /// The binary logarithm of what 1 is in a sum: 4 to 7.
    pub(super) log_one: u32,
}

impl Layer<'_> {
    /// Writes the outputs, of which there are half as many as columns: the sums of `rows` and the
    /// bias, clipped to 0 to 1, those of the first half multiplied by those of the second.
    ///
    /// The number of rows must not be above [`most_inputs`].
    ///
    /// # Panics
    /// If a row is not in the table, or `outputs` is too short.
    pub(super) fn run(&self, level: Level, rows: &[u16], outputs: &mut [u8]) {
        match level.set() {
            Set::Portable => portable::features(self, rows, outputs),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level of this set exists only where the CPU has AVX2.
            Set::Avx2 => unsafe { avx2::features(self, rows, outputs) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level of this set exists only where the CPU has AVX-512 BW and VNNI.
            Set::Avx512 => unsafe { avx512::features(self, rows, outputs) },
        }
    }

    /// Adds the rows `added` to sums and subtracts the rows `removed`, and writes the outputs of [`Layer::run`] for
    /// the result. The sums are those of `from` before, or their own if there is none; the result replaces `sums`.
    ///
    /// The sum of all rows that were added and not removed since the bias must not be of more than [`most_inputs`].
    ///
    /// # Panics
    /// If a row is not in the table, or `from`, `sums` or `outputs` are too short.
    pub(super) fn update(
        &self,
        level: Level,
        from: Option<&[Wide]>,
        added: &[u16],
        removed: &[u16],
        sums: &mut [Wide],
        outputs: &mut [u8],
    ) {
        match level.set() {
            Set::Portable => portable::update(self, from, added, removed, sums, outputs),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level of this set exists only where the CPU has AVX2.
            Set::Avx2 => unsafe { avx2::update(self, from, added, removed, sums, outputs) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level of this set exists only where the CPU has AVX-512 BW and VNNI.
            Set::Avx512 => unsafe { avx512::update(self, from, added, removed, sums, outputs) },
        }
    }

    /// The cache lines of half a row.
    fn half(&self) -> usize {
        self.table.lines_per_row() / 2
    }

    /// Checks rows once, so that their lines need no check: they are a few of a few lines each, and to check every index
    /// would take as long as the sums.
    ///
    /// # Panics
    /// If a row is not in the table.
    #[cfg(target_arch = "x86_64")]
    fn check_rows(&self, added: &[u16], removed: &[u16]) {
        let lines = self.table.lines().len();
        for &row in added.iter().chain(removed) {
            assert!((usize::from(row) + 1) * self.table.lines_per_row() <= lines);
        }
    }

    /// What a product of sums is shifted by to the right, to be in units of 1 / [`UNIT`].
    fn shift(&self) -> u32 {
        2 * self.log_one - UNIT.ilog2()
    }
}

/// Writes `dot(x, row)` for each row of `table`: `outputs` must be as long as the table.
///
/// # Panics
/// If `x` is shorter than a row.
pub(super) fn dot_all(level: Level, table: &ByteTable, x: &[u8], outputs: &mut [i32]) {
    let (x, _) = x.as_chunks::<LINE>();
    match level.set() {
        Set::Portable => portable::dot_all(table, x, outputs),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this set exists only where the CPU has AVX2.
        Set::Avx2 => unsafe { avx2::dot_all(table, x, outputs) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this set exists only where the CPU has AVX-512 BW and VNNI.
        Set::Avx512 => unsafe { avx512::dot_all(table, x, outputs) },
    }
}

/// Writes, for each `rows_per_move` rows of the table that `rows` names, the dot product of their sum
/// and the first columns of `x`. `outputs` has a number for each.
///
/// # Panics
/// If `x` is shorter than a row, a row is not in the table, or `rows_per_move` is 0.
pub(super) fn score_moves(
    level: Level,
    table: &ByteTable,
    x: &[u8],
    rows: &[u16],
    rows_per_move: usize,
    outputs: &mut [i32],
) {
    let (x, _) = x.as_chunks::<LINE>();
    match level.set() {
        Set::Portable => portable::score_moves(table, x, rows, rows_per_move, outputs),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this set exists only where the CPU has AVX2.
        Set::Avx2 => unsafe { avx2::score_moves(table, x, rows, rows_per_move, outputs) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this set exists only where the CPU has AVX-512 BW and VNNI.
        Set::Avx512 => unsafe { avx512::score_moves(table, x, rows, rows_per_move, outputs) },
    }
}

/// Plain Rust, which the compiler turns into vectors of whatever width the target has.
mod portable {
    use super::super::table::{ByteTable, CacheLine, LINE};
    use super::{Layer, Wide};

    pub(super) fn features(layer: &Layer<'_>, rows: &[u16], outputs: &mut [u8]) {
        let half = layer.half();
        for (at, outputs) in outputs.as_chunks_mut::<LINE>().0.iter_mut().take(half).enumerate() {
            let first = sum(layer, layer.bias[at], rows, &[], at);
            let second = sum(layer, layer.bias[half + at], rows, &[], half + at);
            write_outputs(layer, first, second, outputs);
        }
    }

    pub(super) fn update(
        layer: &Layer<'_>,
        from: Option<&[Wide]>,
        added: &[u16],
        removed: &[u16],
        sums: &mut [Wide],
        outputs: &mut [u8],
    ) {
        let half = layer.half();
        for (at, outputs) in outputs.as_chunks_mut::<LINE>().0.iter_mut().take(half).enumerate() {
            for at in [at, half + at] {
                let before = from.map_or(sums[at], |from| from[at]);
                sums[at] = sum(layer, before, added, removed, at);
            }
            write_outputs(layer, sums[at], sums[half + at], outputs);
        }
    }

    /// The sums of the columns in cache line `at` of a row.
    fn sum(layer: &Layer<'_>, mut sums: Wide, added: &[u16], removed: &[u16], at: usize) -> Wide {
        for &row in added {
            let CacheLine(line) = layer.table.row(row.into())[at];
            for (sum, weight) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(i16::from(weight));
            }
        }
        for &row in removed {
            let CacheLine(line) = layer.table.row(row.into())[at];
            for (sum, weight) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_sub(i16::from(weight));
            }
        }
        sums
    }

    /// Writes the outputs of a cache line of sums of each half.
    fn write_outputs(layer: &Layer<'_>, first: Wide, second: Wide, outputs: &mut [u8; LINE]) {
        let one = 1 << layer.log_one;
        let shift = layer.shift();
        for ((output, first), second) in outputs.iter_mut().zip(first).zip(second) {
            let product = first.clamp(0, one) * second.clamp(0, one);
            *output = ((product + (1 << (shift - 1))) >> shift) as u8;
        }
    }

    pub(super) fn dot_all(table: &ByteTable, x: &[[u8; LINE]], outputs: &mut [i32]) {
        let x = &x[..table.lines_per_row()];
        for (nth, output) in outputs.iter_mut().enumerate() {
            *output = dot(x, table.row(nth));
        }
    }

    pub(super) fn score_moves(
        table: &ByteTable,
        x: &[[u8; LINE]],
        rows: &[u16],
        rows_per_move: usize,
        outputs: &mut [i32],
    ) {
        let x = &x[..table.lines_per_row()];
        for (rows, output) in rows.chunks_exact(rows_per_move).zip(outputs) {
            *output = rows.iter().map(|&row| dot(x, table.row(row.into()))).sum();
        }
    }

    fn dot(x: &[[u8; LINE]], row: &[CacheLine]) -> i32 {
        let products = |(x, line): (&[u8; LINE], &CacheLine)| -> i32 {
            x.iter().zip(line.0).map(|(&x, weight)| i32::from(x) * i32::from(weight)).sum()
        };
        x.iter().zip(row).map(products).sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::super::table::{ByteTable, CacheLine, LINE};
    use super::{Layer, Wide};
    use crate::memory::prefetch;

    /// The 32-byte vectors of a cache line.
    const HALVES: usize = 2;
    /// The vectors of as many i16.
    const QUARTERS: usize = 4;

    /// Vector `nth` of an array.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load<T: Copy, const N: usize>(numbers: &[T; N], nth: usize) -> __m256i {
        assert!((nth + 1) * 32 <= size_of::<[T; N]>());
        // SAFETY: the assertion ensures that the 32 bytes are within the array, and an unaligned load of
        // numbers has no other condition.
        unsafe { _mm256_loadu_si256(numbers.as_ptr().cast::<__m256i>().add(nth)) }
    }

    /// Sixteen int8 of a line as i16.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_wide(line: &CacheLine, nth: usize) -> __m256i {
        assert!(nth < QUARTERS);
        // SAFETY: the assertion ensures that the 16 bytes are within the line, and an unaligned load has
        // no other condition.
        let bytes = unsafe { _mm_loadu_si128(line.0.as_ptr().cast::<__m128i>().add(nth)) };
        _mm256_cvtepi8_epi16(bytes)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn features(layer: &Layer<'_>, rows: &[u16], outputs: &mut [u8]) {
        let half = layer.half();
        for (at, outputs) in outputs.as_chunks_mut::<LINE>().0.iter_mut().take(half).enumerate() {
            let mut first = load_sums(&layer.bias[at]);
            let mut second = load_sums(&layer.bias[half + at]);
            for &row in rows {
                let row = layer.table.row(row.into());
                // The table is greater than the nearer caches, and the rows of a position lie anywhere in it.
                if at + 1 < half {
                    prefetch(&row[at + 1]);
                    prefetch(&row[half + at + 1]);
                }
                for nth in 0..QUARTERS {
                    first[nth] = _mm256_add_epi16(first[nth], load_wide(&row[at], nth));
                    second[nth] = _mm256_add_epi16(second[nth], load_wide(&row[half + at], nth));
                }
            }
            write_outputs(layer, first, second, outputs);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn update(
        layer: &Layer<'_>,
        from: Option<&[Wide]>,
        added: &[u16],
        removed: &[u16],
        sums: &mut [Wide],
        outputs: &mut [u8],
    ) {
        let half = layer.half();
        let lines = layer.table.lines();
        layer.check_rows(added, removed);
        let (first_sums, second_sums) = sums.split_at_mut(half);
        let sums = first_sums.iter_mut().zip(second_sums);
        let outputs = outputs.as_chunks_mut::<LINE>().0.iter_mut();
        for (at, (outputs, (first_sums, second_sums))) in outputs.zip(sums).enumerate() {
            let mut first = load_sums(from.map_or(&*first_sums, |from| &from[at]));
            let mut second = load_sums(from.map_or(&*second_sums, |from| &from[half + at]));
            macro_rules! sum {
                ($rows:expr, $change:ident) => {
                    for &row in $rows {
                        let start = usize::from(row) * 2 * half + at;
                        // SAFETY: `at` is below `half` by the split above, so that both lines are of the row, which is
                        // in the table by `check_rows`.
                        let [ours, theirs] = unsafe {
                            [lines.get_unchecked(start), lines.get_unchecked(start + half)]
                        };
                        prefetch_next(ours);
                        prefetch_next(theirs);
                        for nth in 0..QUARTERS {
                            first[nth] = $change(first[nth], load_wide(ours, nth));
                            second[nth] = $change(second[nth], load_wide(theirs, nth));
                        }
                    }
                };
            }
            sum!(added, _mm256_add_epi16);
            sum!(removed, _mm256_sub_epi16);
            store_sums(first_sums, first);
            store_sums(second_sums, second);
            write_outputs(layer, first, second, outputs);
        }
    }

    /// Prefetches the cache line after this one, if there is one.
    #[inline(always)]
    fn prefetch_next(line: &CacheLine) {
        // SAFETY: a prefetch has no effect that a program can observe, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).wrapping_add(1).cast()) };
    }

    /// Writes the outputs of a cache line of sums of each half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn write_outputs(
        layer: &Layer<'_>,
        first: [__m256i; QUARTERS],
        second: [__m256i; QUARTERS],
        outputs: &mut [u8; LINE],
    ) {
        let one = _mm256_set1_epi16(1 << layer.log_one);
        let rounding = _mm256_set1_epi16(1 << (layer.shift() - 1));
        let shift = _mm_cvtsi32_si128(layer.shift() as i32);
        let zero = _mm256_setzero_si256();
        let products: [__m256i; QUARTERS] = std::array::from_fn(|nth| {
            let a = _mm256_min_epi16(_mm256_max_epi16(first[nth], zero), one);
            let b = _mm256_min_epi16(_mm256_max_epi16(second[nth], zero), one);
            _mm256_srl_epi16(_mm256_add_epi16(_mm256_mullo_epi16(a, b), rounding), shift)
        });
        for (nth, outputs) in outputs.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            // Packing works on 128-bit lanes, whose order the permutation mends.
            let packed = _mm256_packus_epi16(products[2 * nth], products[2 * nth + 1]);
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
            // SAFETY: `outputs` has 32 bytes, and an unaligned store has no other condition.
            unsafe { _mm256_storeu_si256(outputs.as_mut_ptr().cast(), packed) };
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_sums(sums: &Wide) -> [__m256i; QUARTERS] {
        std::array::from_fn(|nth| load(sums, nth))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_sums(to: &mut Wide, sums: [__m256i; QUARTERS]) {
        for (to, sums) in to.as_chunks_mut::<16>().0.iter_mut().zip(sums) {
            // SAFETY: `to` has 32 bytes, and an unaligned store has no other condition.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), sums) };
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dot_all(table: &ByteTable, x: &[[u8; LINE]], outputs: &mut [i32]) {
        let x = &x[..table.lines_per_row()];
        for (nth, output) in outputs.iter_mut().enumerate() {
            *output = total(add_dot(_mm256_setzero_si256(), x, table.row(nth)));
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn score_moves(
        table: &ByteTable,
        x: &[[u8; LINE]],
        rows: &[u16],
        rows_per_move: usize,
        outputs: &mut [i32],
    ) {
        let x = &x[..table.lines_per_row()];
        for (rows, output) in rows.chunks_exact(rows_per_move).zip(outputs) {
            let mut sums = _mm256_setzero_si256();
            for &row in rows {
                sums = add_dot(sums, x, table.row(row.into()));
            }
            *output = total(sums);
        }
    }

    /// Adds the products of two rows to eight sums.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_dot(mut sums: __m256i, x: &[[u8; LINE]], row: &[CacheLine]) -> __m256i {
        let ones = _mm256_set1_epi16(1);
        for (x, line) in x.iter().zip(row) {
            for nth in 0..HALVES {
                let pairs = _mm256_maddubs_epi16(load(x, nth), load(&line.0, nth));
                sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, ones));
            }
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(sums: __m256i) -> i32 {
        let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums));
        _mm_cvtsi128_si32(sums)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::super::table::{ByteTable, CacheLine, LINE};
    use super::{Layer, Wide};

    /// Cache lines of each half whose sums are in registers at once: 16 vectors of 32.
    const AT_ONCE: usize = 4;
    /// The same for updates, whose few rows are not worth as many.
    const UPDATED_AT_ONCE: usize = 2;

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; LINE]) -> __m512i {
        // SAFETY: the array has 64 bytes, and an unaligned load has no other condition.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_line(line: &CacheLine) -> __m512i {
        // SAFETY: a line has 64 bytes and is aligned to as many.
        unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
    }

    /// Half a line of int8 as i16.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load_wide<const HALF: usize>(line: &CacheLine) -> __m512i {
        const { assert!(HALF < 2) };
        // SAFETY: a line has 64 bytes, of which these are the first or the last 32.
        let bytes = unsafe { _mm256_loadu_si256(line.0.as_ptr().add(32 * HALF).cast()) };
        _mm512_cvtepi8_epi16(bytes)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_sums(sums: &Wide) -> [__m512i; 2] {
        let start = sums.as_ptr();
        // SAFETY: the array has 64 numbers of two bytes, 32 in each vector.
        unsafe { [0, 32].map(|at| _mm512_loadu_si512(start.add(at).cast())) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn features(layer: &Layer<'_>, rows: &[u16], outputs: &mut [u8]) {
        let outputs = &mut outputs.as_chunks_mut::<LINE>().0[..layer.half()];
        let (blocks, rest) = outputs.as_chunks_mut::<AT_ONCE>();
        let whole = blocks.len() * AT_ONCE;
        for (nth, block) in blocks.iter_mut().enumerate() {
            some_features(layer, rows, nth * AT_ONCE, block);
        }
        for (nth, line) in rest.iter_mut().enumerate() {
            some_features(layer, rows, whole + nth, std::array::from_mut(line));
        }
    }

    /// The outputs of `N` cache lines from line `at` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn some_features<const N: usize>(
        layer: &Layer<'_>,
        rows: &[u16],
        at: usize,
        outputs: &mut [[u8; LINE]; N],
    ) {
        let half = layer.half();
        let first_bias = &layer.bias[at..][..N];
        let second_bias = &layer.bias[half + at..][..N];
        let mut first: [[__m512i; 2]; N] = std::array::from_fn(|nth| load_sums(&first_bias[nth]));
        let mut second: [[__m512i; 2]; N] = std::array::from_fn(|nth| load_sums(&second_bias[nth]));
        for &row in rows {
            let row = layer.table.row(row.into());
            let ours = &row[at..][..N];
            let theirs = &row[half + at..][..N];
            for nth in 0..N {
                first[nth][0] = _mm512_add_epi16(first[nth][0], load_wide::<0>(&ours[nth]));
                first[nth][1] = _mm512_add_epi16(first[nth][1], load_wide::<1>(&ours[nth]));
                second[nth][0] = _mm512_add_epi16(second[nth][0], load_wide::<0>(&theirs[nth]));
                second[nth][1] = _mm512_add_epi16(second[nth][1], load_wide::<1>(&theirs[nth]));
            }
        }
        for (nth, outputs) in outputs.iter_mut().enumerate() {
            write_outputs(layer, first[nth], second[nth], outputs);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn update(
        layer: &Layer<'_>,
        from: Option<&[Wide]>,
        added: &[u16],
        removed: &[u16],
        sums: &mut [Wide],
        outputs: &mut [u8],
    ) {
        let half = layer.half();
        layer.check_rows(added, removed);
        let outputs = &mut outputs.as_chunks_mut::<LINE>().0[..half];
        let (blocks, rest) = outputs.as_chunks_mut::<UPDATED_AT_ONCE>();
        let whole = blocks.len() * UPDATED_AT_ONCE;
        for (nth, block) in blocks.iter_mut().enumerate() {
            let at = nth * UPDATED_AT_ONCE;
            // SAFETY: all rows are in the table by `check_rows`, and `outputs` has `half` lines.
            unsafe { update_some(layer, from, added, removed, sums, at, block) };
        }
        for (nth, line) in rest.iter_mut().enumerate() {
            let block = std::array::from_mut(line);
            // SAFETY: as above.
            unsafe { update_some(layer, from, added, removed, sums, whole + nth, block) };
        }
    }

    /// The sums and outputs of `N` cache lines of each half from line `at` on.
    ///
    /// # Safety
    /// All rows must be in the table, and `at + N` must not be above the lines of half a row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn update_some<const N: usize>(
        layer: &Layer<'_>,
        from: Option<&[Wide]>,
        added: &[u16],
        removed: &[u16],
        sums: &mut [Wide],
        at: usize,
        outputs: &mut [[u8; LINE]; N],
    ) {
        let half = layer.half();
        let lines = layer.table.lines();
        let before = from.unwrap_or(sums);
        let first_before = &before[at..][..N];
        let second_before = &before[half + at..][..N];
        let mut first: [[__m512i; 2]; N] = std::array::from_fn(|nth| load_sums(&first_before[nth]));
        let mut second: [[__m512i; 2]; N] =
            std::array::from_fn(|nth| load_sums(&second_before[nth]));
        macro_rules! sum {
            ($rows:expr, $change:ident) => {
                for &row in $rows {
                    let start = usize::from(row) * 2 * half + at;
                    // SAFETY: the caller sees to it that these lines are of the row, which is in the table.
                    let [ours, theirs] = unsafe {
                        [lines.get_unchecked(start..start + N), lines.get_unchecked(start + half..start + half + N)]
                    };
                    for nth in 0..N {
                        first[nth][0] = $change(first[nth][0], load_wide::<0>(&ours[nth]));
                        first[nth][1] = $change(first[nth][1], load_wide::<1>(&ours[nth]));
                        second[nth][0] = $change(second[nth][0], load_wide::<0>(&theirs[nth]));
                        second[nth][1] = $change(second[nth][1], load_wide::<1>(&theirs[nth]));
                    }
                }
            };
        }
        sum!(added, _mm512_add_epi16);
        sum!(removed, _mm512_sub_epi16);
        for (nth, outputs) in outputs.iter_mut().enumerate() {
            store_sums(&mut sums[at + nth], first[nth]);
            store_sums(&mut sums[half + at + nth], second[nth]);
            write_outputs(layer, first[nth], second[nth], outputs);
        }
    }

    /// Writes the outputs of a cache line of sums of each half.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn write_outputs(
        layer: &Layer<'_>,
        first: [__m512i; 2],
        second: [__m512i; 2],
        outputs: &mut [u8; LINE],
    ) {
        let zero = _mm512_setzero_si512();
        let one = _mm512_set1_epi16(1 << layer.log_one);
        let rounding = _mm512_set1_epi16(1 << (layer.shift() - 1));
        let shift = _mm_cvtsi32_si128(layer.shift() as i32);
        for (part, outputs) in outputs.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let a = _mm512_min_epi16(_mm512_max_epi16(first[part], zero), one);
            let b = _mm512_min_epi16(_mm512_max_epi16(second[part], zero), one);
            let product = _mm512_add_epi16(_mm512_mullo_epi16(a, b), rounding);
            let bytes = _mm512_cvtepi16_epi8(_mm512_srl_epi16(product, shift));
            // SAFETY: `outputs` has 32 bytes, and an unaligned store has no other condition.
            unsafe { _mm256_storeu_si256(outputs.as_mut_ptr().cast(), bytes) };
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_sums(to: &mut Wide, sums: [__m512i; 2]) {
        for (to, sums) in to.as_chunks_mut::<32>().0.iter_mut().zip(sums) {
            // SAFETY: `to` has 64 bytes, and an unaligned store has no other condition.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), sums) };
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dot_all(table: &ByteTable, x: &[[u8; LINE]], outputs: &mut [i32]) {
        let x = &x[..table.lines_per_row()];
        for (nth, output) in outputs.iter_mut().enumerate() {
            *output = total(add_dot([_mm512_setzero_si512(); 4], x, table.row(nth)));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn score_moves(
        table: &ByteTable,
        x: &[[u8; LINE]],
        rows: &[u16],
        rows_per_move: usize,
        outputs: &mut [i32],
    ) {
        let x = &x[..table.lines_per_row()];
        for (rows, output) in rows.chunks_exact(rows_per_move).zip(outputs) {
            let mut sums = [_mm512_setzero_si512(); 4];
            for &row in rows {
                sums = add_dot(sums, x, table.row(row.into()));
            }
            *output = total(sums);
        }
    }

    /// Adds the products of two rows to four times 16 sums, which do not wait for one another.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn add_dot(mut sums: [__m512i; 4], x: &[[u8; LINE]], row: &[CacheLine]) -> [__m512i; 4] {
        let (x4, x) = x.as_chunks::<4>();
        let (row4, row) = row.as_chunks::<4>();
        for (x, row) in x4.iter().zip(row4) {
            for nth in 0..4 {
                sums[nth] = _mm512_dpbusd_epi32(sums[nth], load(&x[nth]), load_line(&row[nth]));
            }
        }
        for (x, line) in x.iter().zip(row) {
            sums[0] = _mm512_dpbusd_epi32(sums[0], load(x), load_line(line));
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total([a, b, c, d]: [__m512i; 4]) -> i32 {
        let left = _mm512_add_epi32(a, b);
        let right = _mm512_add_epi32(c, d);
        _mm512_reduce_add_epi32(_mm512_add_epi32(left, right))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn random_table(rng: &mut SmallRng, rows: usize, columns: usize) -> Arc<ByteTable> {
        let numbers: Vec<i8> = (0..rows * columns).map(|_| rng.random_range(-127..=127)).collect();
        ByteTable::shared(&numbers, columns).expect("whole rows")
    }

    /// The sums that `Layer` describes, one number after another.
    fn expected(layer: &Layer<'_>, rows: &[u16]) -> Vec<u8> {
        let half = layer.table.columns() / 2;
        let sum = |column: usize| {
            let weight =
                |&row: &u16| i32::from(layer.table.row(row.into())[column / LINE].0[column % LINE]);
            let bias = i32::from(layer.bias[column / LINE][column % LINE]);
            (bias + rows.iter().map(weight).sum::<i32>()).clamp(0, 1 << layer.log_one)
        };
        let output = |column: usize| {
            let product = f64::from(sum(column) * sum(half + column));
            (product * 128.0 / f64::from(1 << (2 * layer.log_one)) + 0.5).floor() as u8
        };
        (0..half).map(output).collect()
    }

    #[test]
    fn levels_agree_on_features() {
        let mut rng = SmallRng::seed_from_u64(1);
        for columns in [128, 256, 640, 1024, 1152] {
            let table = random_table(&mut rng, 50, columns);
            let bias: Vec<Wide> = (0..columns / LINE)
                .map(|_| std::array::from_fn(|_| rng.random_range(-100..=300)))
                .collect();
            for log_one in 4..=7 {
                let layer = Layer { table: &table, bias: &bias, log_one };
                for count in [0, 1, 30, 75] {
                    let rows: Vec<u16> = (0..count).map(|_| rng.random_range(0..50)).collect();
                    let expected = expected(&layer, &rows);
                    for level in Level::available() {
                        let mut outputs = vec![0; columns / 2];
                        layer.run(level, &rows, &mut outputs);
                        assert_eq!(outputs, expected, "{level:?} {columns} {log_one} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn levels_agree_on_updates() {
        let mut rng = SmallRng::seed_from_u64(3);
        for columns in [128, 256, 384, 640, 1152, 1280] {
            let table = random_table(&mut rng, 50, columns);
            let bias: Vec<Wide> = (0..columns / LINE)
                .map(|_| std::array::from_fn(|_| rng.random_range(-100..=300)))
                .collect();
            let layer = Layer { table: &table, bias: &bias, log_one: 6 };
            for (kept, removed, added) in [(20, 0, 0), (20, 3, 4), (0, 12, 1), (30, 1, 0)] {
                let mut rows =
                    |count| (0..count).map(|_| rng.random_range(0..50)).collect::<Vec<u16>>();
                let [kept, removed, added] = [kept, removed, added].map(&mut rows);
                let expected = expected(&layer, &[&kept[..], &added].concat());
                for level in Level::available() {
                    let mut before = bias.clone();
                    let mut outputs = vec![0; columns / 2];
                    let rows = [&kept[..], &removed].concat();
                    layer.update(level, None, &rows, &[], &mut before, &mut outputs);
                    let mut after = vec![[7; LINE]; bias.len()];
                    layer.update(level, Some(&before), &added, &removed, &mut after, &mut outputs);
                    assert_eq!(outputs, expected, "{level:?} {columns}");
                    outputs.fill(0);
                    layer.update(level, None, &added, &removed, &mut before, &mut outputs);
                    assert_eq!((&outputs, &before), (&expected, &after), "{level:?} {columns}");
                }
            }
        }
    }

    #[test]
    fn levels_agree_on_scores() {
        let mut rng = SmallRng::seed_from_u64(2);
        for columns in [64, 128, 192, 256, 320, 512] {
            let table = random_table(&mut rng, 40, columns);
            let x: Vec<u8> = (0..columns + 64).map(|_| rng.random_range(0..=128)).collect();
            let dot = |row: usize| -> i32 {
                let weights = table.row(row).iter().flat_map(|line| line.0);
                weights.zip(&x).map(|(weight, &x)| i32::from(weight) * i32::from(x)).sum()
            };
            let rows: Vec<u16> = (0..37 * 4).map(|_| rng.random_range(0..40)).collect();
            let moves = rows.chunks_exact(4);
            let expected: Vec<i32> =
                moves.map(|rows| rows.iter().map(|&row| dot(row.into())).sum()).collect();
            for level in Level::available() {
                let mut outputs = vec![0; 37];
                score_moves(level, &table, &x, &rows, 4, &mut outputs);
                assert_eq!(outputs, expected, "{level:?} {columns}");
                let mut outputs = vec![0; 40];
                dot_all(level, &table, &x, &mut outputs);
                assert_eq!(outputs, (0..40).map(dot).collect::<Vec<_>>(), "{level:?} {columns}");
            }
        }
    }

    #[test]
    fn extreme_weights_do_not_overflow() {
        for (weight, other) in [(127, 127), (-127, 127), (-127, -127)] {
            let numbers: Vec<i8> = [vec![weight; 64], vec![other; 64]].concat();
            let table = ByteTable::shared(&numbers, 128).expect("whole rows");
            for bias in [0, 600, -600] {
                let bias_lines = [[bias; LINE]; 2];
                let most = most_inputs(&table, bias_lines.as_flattened());
                let reach = most as i32 * 127 + i32::from(bias).abs();
                // As many as possible, and no more.
                assert!(reach <= 32_767 && reach + 127 > 32_767, "{reach}");
                let layer = Layer { table: &table, bias: &bias_lines, log_one: 6 };
                let rows = vec![0; most];
                for level in Level::available() {
                    let mut outputs = [0; 64];
                    layer.run(level, &rows, &mut outputs);
                    assert_eq!(outputs.to_vec(), expected(&layer, &rows), "{level:?}");
                }
            }
            let x = [128; 128];
            let product = 64 * 128 * (i32::from(weight) + i32::from(other));
            for level in Level::available() {
                let mut outputs = [0];
                score_moves(level, &table, &x, &[0; 4], 4, &mut outputs);
                assert_eq!(outputs, [4 * product], "{level:?}");
            }
        }
    }
}

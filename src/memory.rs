//! Memory hints to the system and the processor: huge pages, release of pages, prefetch.

use std::alloc::{Layout, alloc_zeroed};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

/// The size of a page.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;
/// The size of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Less than this is not worth a huge page.
const LEAST_HUGE_BYTES: usize = 1 << 20;

/// Items that begin at a huge page, if they are large enough for that, so that random access has fewer TLB misses.
#[derive(Debug)]
pub(crate) struct HugePages<T> {
    /// The items, after copies of one of them up to the first huge page.
    storage: Vec<T>,
    start: usize,
}

impl<T: Copy> HugePages<T> {
    /// Returns a copy of `items`.
    pub(crate) fn copy_of(items: &[T]) -> HugePages<T> {
        let Some(&any) = items.first().filter(|_| size_of_val(items) >= LEAST_HUGE_BYTES) else {
            return HugePages { storage: items.to_vec(), start: 0 };
        };
        // The items end within a huge page, which must belong to the allocation as a whole.
        let mut storage = Vec::with_capacity(items.len() + 2 * HUGE_PAGE_BYTES / size_of::<T>());
        prefer_huge_pages(&mut storage);
        let address = storage.as_ptr() as usize;
        let start = (address.next_multiple_of(HUGE_PAGE_BYTES) - address) / size_of::<T>();
        storage.resize(start, any);
        storage.extend_from_slice(items);
        HugePages { storage, start }
    }
}

impl<T> Deref for HugePages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.storage[self.start..]
    }
}

impl<T> DerefMut for HugePages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.storage[self.start..]
    }
}

impl<T: PartialEq> PartialEq for HugePages<T> {
    fn eq(&self, other: &HugePages<T>) -> bool {
        **self == **other
    }
}

/// A cache line of words that threads share, in pairs.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct SharedLine(pub(crate) [[AtomicU64; 2]; 4]);

/// Returns `count` lines of zeros, or `None` without enough memory for them. The system provides the pages when they are
/// first used, so that the time this takes does not depend on their number.
pub(crate) fn zeroed_lines(count: usize) -> Option<Vec<SharedLine>> {
    let layout = Layout::array::<SharedLine>(count).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the size is not 0. If the memory is not null, it has the layout of a vector of this capacity, and all of its
    // bytes are 0, which are valid lines.
    let mut lines = unsafe {
        let memory = alloc_zeroed(layout).cast::<SharedLine>();
        if memory.is_null() {
            return None;
        }
        Vec::from_raw_parts(memory, count, count)
    };
    prefer_huge_pages(&mut lines);
    Some(lines)
}

/// Asks the system to back the capacity of `reserved` by huge pages, which saves TLB misses in random access.
/// Does nothing below 4 MiB, or on systems without such a call.
pub(crate) fn prefer_huge_pages<T>(reserved: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const MIN_BYTES: usize = 4 << 20;
        let bytes = reserved.capacity() * size_of::<T>();
        if bytes < MIN_BYTES {
            return;
        }
        let begin = (reserved.as_mut_ptr() as usize).next_multiple_of(PAGE_BYTES);
        let end = reserved.as_mut_ptr() as usize + bytes;
        let start = begin as *mut libc::c_void;
        // The result is ignored, because a refusal only costs speed. SAFETY: the range is within one
        // allocation, which `reserved` owns, and the advice does not change the content of the memory.
        unsafe { libc::madvise(start, end - begin, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = reserved;
}

/// Returns the spare capacity of `used` to the system, which provides it again on the next write. Returns
/// `false` if the system did not take it.
pub(crate) fn release_spare<T>(used: &mut Vec<T>) -> bool {
    #[cfg(target_os = "linux")]
    {
        let spare = used.spare_capacity_mut();
        let begin = (spare.as_mut_ptr() as usize).next_multiple_of(PAGE_BYTES);
        let end = (spare.as_mut_ptr() as usize + size_of_val(spare)) / PAGE_BYTES * PAGE_BYTES;
        let start = begin as *mut libc::c_void;
        // SAFETY: the range holds whole pages of the spare capacity only, which is not read before it is
        // written.
        begin >= end || unsafe { libc::madvise(start, end - begin, libc::MADV_DONTNEED) } == 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = used;
        false
    }
}

/// Prefetches the cache line at the beginning of `one`. Does nothing on processors other than x86-64.
#[inline]
pub(crate) fn prefetch<T>(one: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can observe.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(one).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = one;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn lines_are_zeros() {
        assert!(zeroed_lines(0).is_none());
        assert!(zeroed_lines(usize::MAX / 64).is_none(), "more than there is");
        // Of these 2 GiB two pages are used.
        let lines = zeroed_lines((2 << 30) / size_of::<SharedLine>()).expect("addresses");
        for line in [&lines[0], &lines[lines.len() - 1]] {
            assert!(line.0.iter().flatten().all(|word| word.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn large_tables_begin_at_a_huge_page() {
        for count in [0, 1, 1000, LEAST_HUGE_BYTES / 8, LEAST_HUGE_BYTES] {
            let items: Vec<u64> = (0..count as u64).collect();
            let mut table = HugePages::copy_of(&items);
            assert_eq!(*table, *items);
            assert!(table == HugePages::copy_of(&items), "the place of a table matters");
            if count * 8 >= LEAST_HUGE_BYTES {
                assert!((table.as_ptr() as usize).is_multiple_of(HUGE_PAGE_BYTES));
                table[count - 1] = 7;
                assert_eq!((table[count - 2], table[count - 1]), (count as u64 - 2, 7));
            }
        }
    }
}

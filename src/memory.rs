//! Memory hints to the system and the processor: huge pages, release of pages, prefetch.

/// The size of a page.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;

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

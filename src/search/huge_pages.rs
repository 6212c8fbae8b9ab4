//! What the system and the processor are told about the memory of arenas.

/// The bytes of a page.
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 12;

/// Asks the system to back the memory that `reserved` has room for by large pages: a search jumps
/// about in its tree, and would wait for the translation of addresses at every jump. Does nothing
/// for what is small beside a page, or where the system cannot.
pub(super) fn prefer_large<T>(reserved: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const LEAST: usize = 64 << 20;
        let bytes = reserved.capacity() * size_of::<T>();
        if bytes < LEAST {
            return;
        }
        let begin = (reserved.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = reserved.as_mut_ptr() as usize + bytes;
        let start = begin as *mut libc::c_void;
        // It may be refused, which costs nothing but speed.
        // SAFETY: the range is part of one allocation that is ours alone, and the advice changes
        // nothing of what the memory holds, only what pages are behind it.
        unsafe { libc::madvise(start, end - begin, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = reserved;
}

/// Gives the memory behind the end of `used` back to the system, which gives it again when it is
/// written to; says whether that was done.
pub(super) fn give_back<T>(used: &mut Vec<T>) -> bool {
    #[cfg(target_os = "linux")]
    {
        let spare = used.spare_capacity_mut();
        let begin = (spare.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = (spare.as_mut_ptr() as usize + size_of_val(spare)) / PAGE * PAGE;
        let start = begin as *mut libc::c_void;
        // SAFETY: the range holds whole pages of the spare capacity alone, which nobody reads
        // before it is written.
        begin >= end || unsafe { libc::madvise(start, end - begin, libc::MADV_DONTNEED) } == 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = used;
        false
    }
}

/// Asks for the cache line that `one` begins in, before it is read: what a search reads next is
/// seldom where it was reading. Does nothing where there is no such request.
#[inline]
pub(super) fn fetch<T>(one: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads and changes nothing that a program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(one).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = one;
}

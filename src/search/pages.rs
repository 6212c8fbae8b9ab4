//! Large pages for large arenas.

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
        // Advice is for whole pages.
        let begin = (reserved.as_mut_ptr() as usize).next_multiple_of(1 << 12);
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

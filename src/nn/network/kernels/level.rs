//! The instruction set that kernels use.

/// An instruction set that this CPU has.
///
/// A value is the proof of that: only [`Level::best`] and [`Level::available`] make one, after they
/// have asked the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Level(Set);

/// The instruction sets that kernels are written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    /// Whatever the compiler may assume.
    Portable,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with BW and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Returns the fastest level of this CPU.
    pub(super) fn best() -> Level {
        Level::available().next_back().unwrap_or(Level(Set::Portable))
    }

    /// Returns every level of this CPU, the fastest last.
    pub(super) fn available() -> impl DoubleEndedIterator<Item = Level> {
        #[cfg(target_arch = "x86_64")]
        let vectors = {
            let avx2 = is_x86_feature_detected!("avx2");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni");
            [(Set::Avx2, avx2), (Set::Avx512, avx512)]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = [];
        let sets = std::iter::once((Set::Portable, true)).chain(vectors);
        sets.filter_map(|(set, detected)| if detected { Some(Level(set)) } else { None })
    }

    /// Returns the instruction set.
    pub(super) fn set(self) -> Set {
        self.0
    }
}

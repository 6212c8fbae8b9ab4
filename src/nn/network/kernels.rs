//! Kernels of sparse networks: what ONNX Runtime runs on a CPU in place of the functions that the
//! file of a sparse network defines.
//!
//! A sparse network has three operators (see [`super::sparse`] for the file): `Features`
//! sums the table rows of the active inputs, clips and multiplies the halves; `ValueHead` is a small
//! dense network; `MoveScores` is one dot product a legal move. Each has a form with 32-bit floats
//! and one with int8 tables (names that end in `Int8`), whose arithmetic is integral up to the last
//! scale, so that every instruction set gives the same bits.
//!
//! Files and requests come from outside. A kernel checks its tables when the network is opened and
//! the indices of a request when it runs, and reports what is wrong as an error of ONNX Runtime.

mod accumulators;
mod changes;
mod direct;
mod float;
mod integer;
mod level;
mod operators;
mod table;

pub(super) use direct::DirectKernels;
use level::{Level, Set};
pub(super) use operators::{KernelSlot, operators};

/// Returns the name of the instruction set that the kernels of sparse networks use on this CPU.
pub fn kernel_instructions() -> &'static str {
    match Level::best().set() {
        Set::Portable => "any CPU",
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => "AVX2",
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => "AVX-512 VNNI",
    }
}

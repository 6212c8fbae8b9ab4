//! What the fuzz targets do with the bytes that they are given; each target is one call.
//!
//! Whatever does not hold is a panic, in whatever thread: libFuzzer takes it for a crash.

#[path = "../../tests/it/support/laws.rs"]
mod laws;

pub mod games;
pub mod network;
pub mod rbc;
mod talk;
pub mod uci;
pub mod xboard;

/// Sees to it that no network is ever found: what is looked for is the engine's own mistakes, and
/// ONNX Runtime is slow to load and not instrumented.
pub fn without_networks() {
    // SAFETY: called before libFuzzer runs the first input, while there is one thread.
    unsafe { std::env::set_var("ORT_DYLIB_PATH", "no-library-while-fuzzing") };
}

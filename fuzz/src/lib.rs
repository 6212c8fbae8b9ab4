//! The fuzz targets, each of which is one function of the input bytes.
//!
//! A failed check panics. libFuzzer reports a panic in any thread as a crash.

#[path = "../../tests/it/support/laws.rs"]
mod laws;

pub mod games;
pub mod network;
pub mod rbc;
mod talk;
pub mod uci;
pub mod xboard;

/// Disables networks: the targets test the engine, and ONNX Runtime is slow to load and not instrumented.
pub fn without_networks() {
    // SAFETY: called before libFuzzer runs the first input, while there is one thread.
    unsafe { std::env::set_var("ORT_DYLIB_PATH", "no-library-while-fuzzing") };
}

//! The trainer of Menagerie: self-play, learning and export, over the library's public API only.
//!
//! - [`network`]: what a network is made of, its named weights, and its forward pass.
//! - [`learner`]: samples in, gradient steps and checkpoints out.
//! - [`onnx`]: weights to ONNX bytes and back.

pub mod learner;
pub mod network;
pub mod onnx;

//! The trainer of Menagerie: self-play, learning and export, over the library's public API only.
//!
//! - [`network`]: what a network is made of, its named weights, and its forward pass.
//! - [`learner`]: samples in, gradient steps and checkpoints out.
//! - [`onnx`]: weights to ONNX bytes and back.
//! - [`starts`]: where self-play games begin.
//! - [`retrograde`]: small games solved exactly.

pub mod learner;
pub mod network;
pub mod onnx;
pub mod record;
pub mod retrograde;
pub mod selfplay;
pub mod starts;

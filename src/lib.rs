//! Menagerie, an engine for many chess variants.
//!
//! The modules are listed from the lowest layer to the highest. Each uses lower layers only, which
//! `tests/it/tidy.rs` checks. docs/architecture.md explains the layers.

mod files;

mod memory;

pub mod rules;

pub mod rbc;

pub mod variant;

pub mod tablebase;

pub mod encoding;

pub mod nn;

pub mod search;

pub mod alphabeta;

pub mod engine;

pub mod protocol;

//! Menagerie: one engine for the whole family of chess variants.
//!
//! The modules, lowest first; each uses only those above it (`tests/it/tidy.rs` holds it so).
//! docs/ARCHITECTURE.md tells why.

pub mod rules;

pub mod belief;

pub mod recon;

pub mod variant;

pub mod tablebase;

pub mod encoding;

pub mod nn;

pub mod search;

pub mod engine;

pub mod protocol;

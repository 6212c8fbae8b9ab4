//! The integration tests, a module a topic: `cargo test --test it search` runs one topic.

#[macro_use]
mod support;

mod agreement;
mod belief;
mod blind;
mod bughouse;
mod castling;
mod chess;
mod contract;
mod damage;
mod documents;
mod encoding;
mod endings;
mod games;
mod lines;
mod mates;
mod network;
mod nn;
mod perft;
mod proofs;
mod runtime;
mod search;
mod sparse_encoding;
mod sparse_layout;
mod tablebase;
mod tidy;
mod uci;
mod walls;
mod xboard;

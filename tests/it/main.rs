//! The integration tests, a module a topic: `cargo test --test it search` runs one topic.

#[macro_use]
mod support;

mod agreement;
mod alphabeta;
mod bughouse;
mod castling;
mod chess;
mod connect_n;
mod contract;
mod damage;
mod documents;
mod encoding;
mod games;
mod mates;
mod network;
mod nn;
mod perft;
mod proofs;
mod rbc_belief;
mod rbc_rules;
mod runtime;
mod san;
mod search;
mod sparse_encoding;
mod sparse_layout;
mod syzygy;
mod tablebase;
mod tidy;
mod uci;
mod version;
mod walls;
mod xboard;

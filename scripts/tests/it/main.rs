//! The integration tests of the trainer, a module a topic.

mod support;

mod arena;
mod bpgn;
mod campaign;
mod cluster;
mod configuration;
mod datagen;
mod datagen_job;
mod distributed_run;
mod four_seats;
mod help;
mod learning;
mod onnx_runtime;
mod own_variants;
mod pgn;
mod plot;
mod readers;
mod rescore;
mod retrograde;
mod run;
mod selfplay;
mod shared_match;
mod sparse_base;
mod sparse_evaluator;
mod sparse_network;
mod sparse_run;
mod store;
mod supervised;
mod uci_engine;
mod warm_start;

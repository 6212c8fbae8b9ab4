//! The integration tests of the reproduction, a module per topic.

mod minimax;
mod models;
mod paper;
mod players;
mod regression;
mod tables;
mod tournament;

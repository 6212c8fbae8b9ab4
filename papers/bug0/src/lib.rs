//! Reproduction of the paper "Bug0" (Ardeshna, Selwyn and Singhal): its opponents, and its Tables III
//! and IV played again in `bughouse2fixed`, the variant with the paper's order of moves.
//!
//! - [`minimax`]: the alpha-beta player.
//! - [`regression`]: the four regressions of position values, and the greedy player that uses them.
//! - [`models`]: fits the regressions from recorded games and stores them in a folder.
//! - [`players`]: both players as custom players of the trainer's arena.
//! - [`participants`]: who plays in the tournament.
//! - [`tournament`]: plays every pair and writes the tables.
//! - [`tables`], [`score`]: Tables III and IV in Markdown, and the result of one cell.
//! - [`paper`]: the figures that the paper printed.

pub mod minimax;
pub mod models;
pub mod paper;
pub mod participants;
pub mod players;
pub mod regression;
pub mod score;
pub mod tables;
pub mod tournament;

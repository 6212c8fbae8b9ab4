//! Runs and matches as tables and pictures.

mod chart;
pub mod matches;
pub mod run;
pub mod solved;

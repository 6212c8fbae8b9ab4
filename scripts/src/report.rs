//! What came of runs and matches, in tables and pictures.

mod chart;
pub mod curves;
pub mod ladders;
pub mod matches;
pub mod run;
pub mod solved;

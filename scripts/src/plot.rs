//! Tables and pictures of runs and matches.

mod chart;
pub mod matches;
pub mod run;
pub mod solved;

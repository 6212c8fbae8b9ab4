//! Reconnaissance blind chess, as the world around it writes it down.

mod check;
mod history;

pub use check::{Checked, check, check_text};
pub use history::{BadHistory, GameHistory, SideHistory};

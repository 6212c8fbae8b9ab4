//! Reconnaissance blind chess, as the world around it speaks of it and writes it down.

mod check;
mod history;
mod settings;
mod talk;

pub use check::{Checked, check, check_text};
pub use history::{BadHistory, GameHistory, SideHistory};
pub use settings::settings;
pub(super) use talk::Talk;

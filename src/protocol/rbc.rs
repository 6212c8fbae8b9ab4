//! Reconnaissance blind chess, as the world around it speaks of it and writes it down.

mod check;
mod history;
mod server;
mod settings;
mod talk;
mod told;

pub use check::{Checked, check, check_text};
pub use history::{BadHistory, GameHistory, SideHistory};
pub use server::{is_flag, serve};
pub use settings::settings;
pub(super) use talk::Talk;

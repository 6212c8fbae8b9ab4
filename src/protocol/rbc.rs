//! Reconnaissance blind chess, as the world around it speaks of it and writes it down.

mod check;
mod history;
mod players;
mod server;
mod settings;
mod talk;
mod told;

pub use check::{Checked, check, check_text};
pub use history::{BadHistory, GameHistory, SideHistory};
pub use players::Players;
pub use server::{is_flag, serve};
pub(super) use talk::Talk;

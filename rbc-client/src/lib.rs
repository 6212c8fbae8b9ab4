//! Reconnaissance blind chess (RBC) with the player of Menagerie: the line protocol, histories of games in
//! the JSON of reconchess, and their replay.
//!
//! The rules, the set of possible boards and the player itself are in `menagerie`. The executable
//! `menagerie-rbc` adds the client of a game server. docs/rbc.md describes all of it for users.

mod board_network;
mod check;
mod history;
pub mod json;
mod line_protocol;
mod message;
mod options;
mod players;

pub use check::{CheckReport, check_files, check_text};
pub use history::{GameHistory, HistoryError, SideHistory};
pub use line_protocol::run_line_protocol;
pub use message::{MessageError, TurnMessage, format_request, parse_request, parse_start};
pub use options::{OptionsError, PlayerOptions};
pub use players::Players;

//! A web board for every game of Menagerie: the server of the page in `board/web`.
//!
//! The server listens on the local machine, serves the files of the page and a WebSocket. It knows the rules,
//! the engine and the games of reconnaissance blind chess (RBC); the page keeps the game tree, the clocks and
//! the settings. Each message is a JSON object in a text frame; `messages` describes the requests.
//!
//! - `server`: routes, headers, and which hosts and origins are served.
//! - `files`: the files of the page.
//! - `socket`: one connection: reads requests and writes replies and events.
//! - `context`: what all connections share.
//! - `messages`: requests, replies and errors.
//! - `variants`: the list of variants.
//! - `game`: a game from its texts.
//! - `state`: what the page displays of a position.
//! - `notation`: algebraic notation, also on two boards.
//! - `analysis`: the engine session of a connection.
//! - `search_event`: the events of a search.
//! - `hidden`: games of RBC.
//! - `limits`: what a message may ask for.

mod analysis;
mod context;
mod files;
mod game;
mod hidden;
mod limits;
mod messages;
mod notation;
mod search_event;
mod server;
mod socket;
mod state;
mod variants;

pub use files::{MissingPage, locate_page};
pub use server::{Server, ServerOptions, ServerOptionsError};

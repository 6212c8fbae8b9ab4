//! The integration tests, a module a topic: `cargo test -p menagerie-rbc server` runs one topic.

mod check;
mod line_protocol;
mod players;
mod server;

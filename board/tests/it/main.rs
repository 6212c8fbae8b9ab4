//! The integration tests, a module a topic: a client drives the real server on a free port.

mod client;
mod fuzz;
mod hidden;
mod http;
mod search;
mod socket;
mod state;

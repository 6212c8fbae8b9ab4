//! What the line loop needs of a handler.

use super::line::Line;
use crate::engine::Session;

/// What follows from a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next line.
    Line,
    /// The end of the engine.
    Quit,
}

/// A conversation in some handler.
pub(super) trait ProtocolHandler {
    /// What it is about.
    fn session(&mut self) -> &mut Session;

    /// How many searches have begun.
    fn searches(&self) -> u64;

    /// A line has come in; it may have to wait before it is obeyed.
    fn on_line(&mut self, line: &Line);

    /// Whether a line needs the search in progress to be over.
    fn blocks_on_search(&self, line: &Line) -> bool;

    /// Whether a line starts a search. A `stop` that comes after such a line is meant for that
    /// search, not for the one in progress.
    fn starts_search(&self, _line: &Line) -> bool {
        false
    }

    /// Does what a line says.
    fn handle(&mut self, line: &Line) -> Next;

    /// Time passes while a search is in progress; called a few times a second.
    fn tick(&mut self) {}

    /// Waits for the search in progress, and does what follows from its end.
    fn finish(&mut self);
}

/// Calls back with the number of a search when it has ended.
pub(super) type Ended = std::sync::Arc<dyn Fn(u64) + Send + Sync>;

//! Where a match keeps its games: a folder of one process ([`super::folder`]), or a store that any number of processes
//! share ([`super::shared`]).

use std::fmt;

use super::game::Played;

/// The storage of a match: hands out the numbers of games, and keeps the finished ones.
pub(super) trait MatchStorage: fmt::Debug + Send + Sync {
    /// Begins to hand out the games below `games`. Those that were handed out before and not finished were abandoned.
    fn begin(&self, games: u64);

    /// Returns the number of a game for this process; `None` if it has nothing to play.
    fn next_game(&self) -> anyhow::Result<Option<u64>>;

    /// Stores a finished game and its history. Returns the game that counts: another process may have finished the
    /// same game earlier.
    fn add(&self, game: Played, history: Option<&str>) -> anyhow::Result<Played>;

    /// Returns games of other processes that were not returned before.
    fn new_games(&self) -> anyhow::Result<Vec<Played>>;

    /// Writes a text, or replaces it.
    fn write(&self, name: &str, text: &str) -> anyhow::Result<()>;
}

/// The name of the history of a game.
pub(super) fn history_name(number: u64) -> String {
    format!("histories/{:04}.json", number + 1)
}

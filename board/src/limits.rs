//! What a message may ask for.

use std::time::Duration;

/// The maximum size of a message of a client.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// A larger message ends the connection instead of being answered.
pub(crate) const MAX_READ_BYTES: usize = 1 << 20;
/// The maximum number of turns of a game.
pub(crate) const MAX_TURNS: usize = 2000;
/// The maximum number of plies of a turn that is not complete.
pub(crate) const MAX_PLIES: usize = 4;
/// The maximum length of a FEN.
pub(crate) const MAX_FEN_BYTES: usize = 1024;
/// The maximum length of the text of a turn.
pub(crate) const MAX_TURN_BYTES: usize = 64;
/// The maximum length of a quotation in an error message.
pub(crate) const MAX_QUOTE_CHARS: usize = 80;
/// The maximum length of an error message.
pub(crate) const MAX_ERROR_CHARS: usize = 600;

/// The memory of the search tree and the cache of a session.
pub(crate) const DEFAULT_HASH_MB: i64 = 64;
/// The maximum of the option `Hash`.
pub(crate) const MAX_HASH_MB: i64 = 1024;
/// The memory of the session that evaluates positions without a search.
pub(crate) const EVAL_HASH_MB: i64 = 4;

/// The maximum time of a search that ends by itself.
pub(crate) const MAX_MOVE_TIME: Duration = Duration::from_secs(600);
/// The maximum time of a search without limits.
pub(crate) const MAX_ANALYSIS_TIME: Duration = Duration::from_secs(3600);
/// The maximum time of a clock.
pub(crate) const MAX_CLOCK_MILLISECONDS: i64 = 24 * 3_600_000;
/// The maximum number of nodes of a search.
pub(crate) const MAX_NODES: u64 = 10_000_000_000;
/// The maximum depth of a search.
pub(crate) const MAX_DEPTH: u64 = 40;
/// The maximum number of lines of a search.
pub(crate) const MAX_LINES: usize = 10;
/// The maximum number of root moves in an event.
pub(crate) const MAX_ROOT_MOVES: usize = 100;
/// The maximum number of turns of a line that are also written in algebraic notation.
pub(crate) const MAX_SAN_TURNS: usize = 20;

/// The maximum number of commands to the engine that wait.
pub(crate) const MAX_WAITING_COMMANDS: usize = 16;
/// The maximum number of replies and events that wait for the client to read them.
pub(crate) const MAX_WAITING_REPLIES: usize = 256;
/// Reports of a search are left out while there is room for fewer replies than this.
pub(crate) const RESERVED_REPLIES: usize = 64;
/// A connection that accepts no reply for this time is closed.
pub(crate) const MAX_WRITE_TIME: Duration = Duration::from_secs(60);

/// A connection without messages is checked after this time.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);

/// The maximum number of games of RBC.
pub(crate) const MAX_HIDDEN_GAMES: usize = 32;
/// A game of RBC is removed this time after its last message.
pub(crate) const HIDDEN_GAME_TIME: Duration = Duration::from_secs(3600);
/// A game of RBC may be removed this time after its last message if there are too many games.
pub(crate) const MAX_HIDDEN_IDLE_TIME: Duration = Duration::from_secs(300);
/// The maximum time on a clock of RBC.
pub(crate) const MAX_HIDDEN_CLOCK_SECONDS: f64 = 10_800.0;
/// The increment of a turn of RBC on the public server.
pub(crate) const HIDDEN_INCREMENT: Duration = Duration::from_secs(5);
/// The number of players of RBC that think at the same time.
pub(crate) const MAX_THINKING_PLAYERS: usize = 4;

/// The maximum size of a file of the page.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;
/// The maximum length of the path of a file.
pub(crate) const MAX_PATH_BYTES: usize = 200;

/// Returns a text, shortened to `chars` characters.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the quotation of an input in an error message.
pub(crate) fn quote(text: &str) -> String {
    shorten(text, MAX_QUOTE_CHARS)
}

//! A client of the public RBC server, or of one with the same API.
//!
//! - [`credentials`]: user and password.
//! - [`api`]: the endpoints, and requests that are repeated until they are answered.
//! - [`journal`]: what survives a client that is killed.
//! - [`game`]: one game.
//!
//! This file accepts and makes invitations. Each game runs in a thread of its own.

mod api;
mod credentials;
mod game;
mod journal;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use menagerie::protocol::lines::LineWriter;
use menagerie::rules::Color;
use menagerie_rbc::Players;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use api::{Connection, GameApi, Server, ServerError, sleep_unless_stopped};
use credentials::Credentials;
use game::play_game;
use journal::{Entry, Folder, Journal, JournalError};

/// The version of reconchess that this client was written for.
const RECONCHESS_VERSION: &str = "1.6.9";
/// The pause between requests for invitations, as a multiple of the pause between other requests.
const INVITATIONS_POLL_FACTOR: u32 = 10;
/// The interval in which ends of games and signals are noticed.
const GAMES_CHECK: Duration = Duration::from_millis(100);
/// The exit code after a second signal.
const INTERRUPTED_EXIT_CODE: i32 = 130;
const MAX_GAMES: u64 = 64;
const MAX_TOTAL_GAMES: u64 = 1_000_000;
const MAX_POLL_MILLISECONDS: u64 = 60_000;

/// What the client does on the server.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerOptions {
    /// Address of the server, as https://rbc.jhuapl.edu
    url: String,
    /// User name, if not that of the environment or the file
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// File with user and password, a line each
    #[arg(long, value_name = "FILE")]
    credentials: Option<String>,
    /// Maximum number of simultaneous games
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u64).range(1..=MAX_GAMES)
    )]
    games: u64,
    /// Users to invite in turn, with alternating colors
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    invite: Vec<String>,
    /// Leave after this number of games
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=MAX_TOTAL_GAMES)
    )]
    total: Option<u64>,
    /// Leave when there is nothing left to do; each of --invite is invited once
    #[arg(long)]
    once: bool,
    /// Play ranked games
    #[arg(long)]
    ranked: bool,
    /// Announce a new version of the player
    #[arg(long, requires = "ranked")]
    new_version: bool,
    /// Folder of journals and histories
    #[arg(long, value_name = "FOLDER", default_value = "rbc-games")]
    state: String,
    /// Pause between requests for the state of a game; that for invitations is ten times as long
    #[arg(
        long,
        value_name = "MILLISECONDS",
        default_value_t = 500,
        value_parser = clap::value_parser!(u64).range(1..=MAX_POLL_MILLISECONDS)
    )]
    poll: u64,
}

/// Plays on a server until the options or a signal end it. The first SIGINT or SIGTERM lets the games in
/// progress end, the second exits at once; a later client continues the games.
///
/// # Errors
/// If the credentials or the address are invalid, or the server refuses them.
pub(crate) fn run_server(
    options: &ServerOptions,
    players: &Players,
    output: impl Write + Send + 'static,
) -> anyhow::Result<()> {
    let credentials = Credentials::find(options.user.as_deref(), options.credentials.as_deref())?;
    let stop = stop_on_signals()?;
    let output = LineWriter::new(output);
    let poll = Duration::from_millis(options.poll);
    let connection = Connection::new(&options.url, credentials.header()?, poll, &output)?;
    let folder = Folder::open(&options.state, &options.url, &credentials.user)?;
    for note in players.notes() {
        output.print_message(note);
    }
    let server = Server { connection, stop: &stop };
    let client = Client { options, players, server: &server, folder: &folder, output: &output };
    match client.sign_in(&credentials.user) {
        Ok(()) => {}
        Err(ServerError::Stopped) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    thread::scope(|scope| Lobby::new(client, scope).run())?;
    Ok(())
}

/// Returns a flag that is set by the first signal.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag not yet set.
        flag::register_conditional_shutdown(signal, INTERRUPTED_EXIT_CODE, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// What all games share.
#[derive(Clone, Copy)]
struct Client<'a> {
    options: &'a ServerOptions,
    players: &'a Players,
    server: &'a Server<'a>,
    folder: &'a Folder,
    output: &'a LineWriter,
}

/// Where a game comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GameOrigin {
    /// An earlier client.
    Journal,
    /// An invitation that we accepted.
    Accepted(u64),
    /// An invitation of ours.
    Invited,
}

impl Client<'_> {
    fn report(&self, message: &str) {
        self.output.print_message(message);
    }

    fn is_stopping(&self) -> bool {
        self.server.stop.load(Ordering::Relaxed)
    }

    /// Checks the server's version and announces what the user wants to play.
    fn sign_in(&self, user: &str) -> Result<(), ServerError> {
        let version = self.server.version()?;
        self.report(&format!("the server runs reconchess {version}, the user is {user}"));
        if version != RECONCHESS_VERSION {
            self.report(&format!("this client was written for version {RECONCHESS_VERSION}"));
        }
        match self.server.announce() {
            Ok(()) | Err(ServerError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
        self.server.set_max_games(self.options.games as usize)?;
        if self.options.ranked {
            let mut player_version = self.server.player_version()?;
            // Ranked games need a version.
            if self.options.new_version || player_version == 0 {
                self.server.increment_player_version()?;
                player_version = player_version.saturating_add(1);
            }
            self.report(&format!("ranked games are played as version {player_version}"));
        }
        self.server.set_ranked(self.options.ranked)
    }

    /// Plays a game. Returns `true` if it came to its end.
    fn run_game(&self, game: u64, origin: GameOrigin) -> bool {
        let Some(mut journal) = self.open_journal(game, origin) else { return false };
        let is_resumed = !journal.entries.is_empty();
        let invitation = match origin {
            GameOrigin::Accepted(number) => self.record_invitation(&mut journal, game, number),
            GameOrigin::Journal | GameOrigin::Invited => find_invitation(&journal.entries),
        };
        let result = play_game(self.api(game), journal, self.folder, self.players, self.output);
        match &result {
            Ok(()) => {}
            Err(error) if error.is_permanent() => {
                self.report(&format!("game {game} is interrupted: {error}"));
                return false;
            }
            Err(error) => {
                self.report(&format!("game {game} cannot be continued, resigning: {error}"));
                // What contradicts the messages of the game may stand in the journal.
                if is_resumed && matches!(error, ServerError::Contradiction(_)) {
                    self.resign_damaged(game);
                } else {
                    self.resign(game);
                }
            }
        }
        if let Some(number) = invitation {
            // The server may know already.
            let _ = self.server.finish_invitation(number);
        }
        result.is_ok()
    }

    /// Opens the journal of a game. While an existing one cannot be opened this is tried again, since the game
    /// cannot be continued without it. Returns `None` if the game cannot be played by this client.
    fn open_journal(&self, game: u64, origin: GameOrigin) -> Option<Journal> {
        let mut is_reported = false;
        loop {
            let result = if origin == GameOrigin::Journal {
                self.folder.open_journal(game)
            } else {
                self.folder.open_or_create_journal(game)
            };
            match result {
                Ok(journal) => return Some(journal),
                Err(error @ JournalError::Line { .. }) => {
                    self.report(&format!("game {game} cannot be continued, resigning: {error}"));
                    self.resign_damaged(game);
                    return None;
                }
                Err(error @ JournalError::Io { .. })
                    if origin != GameOrigin::Journal && !self.folder.has_journal(game) =>
                {
                    self.report(&format!("game {game}: no journal is written: {error}"));
                    return Some(Journal::unsaved());
                }
                Err(error @ JournalError::Io { .. }) => {
                    if !is_reported {
                        is_reported = true;
                        self.report(&format!(
                            "game {game} cannot be continued yet, trying again until it is over: {error}"
                        ));
                    }
                }
            }
            let is_in_progress = self.api(game).status().is_ok_and(|status| !status.is_over);
            let pause = self.server.connection.poll() * INVITATIONS_POLL_FACTOR;
            if !is_in_progress || sleep_unless_stopped(pause, Some(self.server.stop)).is_err() {
                return None;
            }
        }
    }

    fn api(&self, game: u64) -> GameApi<'_> {
        GameApi { connection: &self.server.connection, game }
    }

    /// Writes the invitation to the journal, unless the journal has one. Returns the invitation of the game.
    fn record_invitation(&self, journal: &mut Journal, game: u64, number: u64) -> Option<u64> {
        let known = find_invitation(&journal.entries);
        if known.is_some() {
            return known;
        }
        if let Err(error) = journal.add(&Entry::Invitation(number)) {
            self.report(&format!("game {game}: no journal is written: {error}"));
        }
        Some(number)
    }

    /// Resigns a game and removes its journal.
    fn resign(&self, game: u64) {
        if self.request_resignation(game) {
            let _ = self.folder.finish_game(game, None);
        }
    }

    /// Resigns a game whose journal is damaged, and keeps the journal under another name.
    fn resign_damaged(&self, game: u64) {
        if !self.request_resignation(game) {
            return;
        }
        match self.folder.set_journal_aside(game) {
            Ok(path) => {
                self.report(&format!("game {game}: the journal is kept as {}", path.display()));
            }
            Err(error) => self.report(&format!("game {game}: the journal is not renamed: {error}")),
        }
    }

    /// Requests to resign a game. Returns `true` if the server has answered.
    fn request_resignation(&self, game: u64) -> bool {
        // A server that does not know the game refuses.
        matches!(self.api(game).resign(), Ok(()) | Err(ServerError::Refused { .. }))
    }
}

fn find_invitation(entries: &[Entry]) -> Option<u64> {
    entries.iter().find_map(|entry| match entry {
        Entry::Invitation(number) => Some(*number),
        _ => None,
    })
}

/// The games in progress and those to come.
struct Lobby<'scope, 'env> {
    client: Client<'env>,
    scope: &'scope Scope<'scope, 'env>,
    /// Game numbers and threads, which return whether the game came to its end.
    running: Vec<(u64, ScopedJoinHandle<'scope, bool>)>,
    /// Accepted invitations: the server may list them until their games are over.
    accepted: BTreeSet<u64>,
    /// Invitations to accept first.
    pending: Vec<u64>,
    games_started: u64,
    /// The number of invitations sent, including refused ones.
    invitations_sent: usize,
    /// Whether the server expects us to play ranked games.
    is_ranked: bool,
}

impl<'scope, 'env> Lobby<'scope, 'env> {
    fn new(client: Client<'env>, scope: &'scope Scope<'scope, 'env>) -> Lobby<'scope, 'env> {
        Lobby {
            client,
            scope,
            running: Vec::new(),
            accepted: BTreeSet::new(),
            // An earlier client may have been killed before it knew the number of the game.
            pending: client.folder.pending_invitations(),
            games_started: 0,
            invitations_sent: 0,
            is_ranked: client.options.ranked,
        }
    }

    /// Plays until there are no more games to play.
    fn run(mut self) -> Result<(), ServerError> {
        let result = self.play_games();
        if self.is_ranked && self.client.server.set_ranked(false).is_err() {
            self.client.report("the server still expects ranked games");
        }
        result
    }

    fn play_games(&mut self) -> Result<(), ServerError> {
        for game in self.client.folder.games() {
            self.start_game(game, GameOrigin::Journal);
        }
        loop {
            let result = self.take_games();
            let is_complete = result.is_ok();
            match result {
                Err(error) if error.is_permanent() => {
                    self.client.server.stop.store(true, Ordering::Relaxed);
                    self.wait_for_all();
                    return Err(error);
                }
                Err(error) if !self.client.is_stopping() => self.client.report(&error.to_string()),
                _ => {}
            }
            let is_ending = self.client.is_stopping() || self.has_started_all();
            // The server must not match us when we start no more games.
            if self.is_ranked && is_ending {
                self.is_ranked = self.client.server.set_ranked(false).is_err();
            }
            let is_done =
                is_ending || (self.client.options.once && is_complete && self.has_invited_all());
            if self.running.is_empty() && is_done {
                return Ok(());
            }
            self.wait();
        }
    }

    /// Waits until the next request for invitations, or until a game or the client ends.
    fn wait(&mut self) {
        let pause = self.client.server.connection.poll() * INVITATIONS_POLL_FACTOR;
        let end = Instant::now() + pause;
        let was_stopping = self.client.is_stopping();
        while Instant::now() < end {
            if self.join_finished_games() || self.client.is_stopping() != was_stopping {
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            thread::sleep(left.min(GAMES_CHECK));
        }
    }

    fn wait_for_all(&mut self) {
        while !self.running.is_empty() {
            self.join_finished_games();
            thread::sleep(GAMES_CHECK);
        }
    }

    /// Returns `true` if a game came to its end. One that failed is no reason to start the next at once.
    fn join_finished_games(&mut self) -> bool {
        let mut has_completed = false;
        for (_, game) in self.running.extract_if(.., |(_, game)| game.is_finished()) {
            match game.join() {
                Ok(completed) => has_completed |= completed,
                Err(_) => self.client.report("a game was interrupted: its thread has panicked"),
            }
        }
        has_completed
    }

    /// Accepts and sends invitations while there is room.
    fn take_games(&mut self) -> Result<(), ServerError> {
        let mut waiting = std::mem::take(&mut self.pending);
        if self.has_room() {
            waiting.extend(self.client.server.invitations()?);
            waiting.sort_unstable();
            waiting.dedup();
            waiting.retain(|invitation| !self.accepted.contains(invitation));
        }
        for invitation in waiting {
            if self.has_room() {
                self.accept(invitation)?;
            }
        }
        let names = &self.client.options.invite;
        while self.has_room()
            && !names.is_empty()
            && !(self.client.options.once && self.has_invited_all())
        {
            let (opponent, color) = nth_invitation(names, self.invitations_sent);
            self.invitations_sent += 1;
            let game = self.client.server.invite(opponent, color)?;
            self.start_game(game, GameOrigin::Invited);
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        !self.has_started_all()
            && (self.running.len() as u64) < self.client.options.games
            && !self.client.is_stopping()
    }

    fn has_started_all(&self) -> bool {
        self.client.options.total.is_some_and(|total| self.games_started >= total)
    }

    fn has_invited_all(&self) -> bool {
        self.invitations_sent >= self.client.options.invite.len()
    }

    fn accept(&mut self, invitation: u64) -> Result<(), ServerError> {
        // If it cannot be recorded, the game is played all the same.
        let _ = self.client.folder.add_pending_invitation(invitation);
        match self.client.server.accept(invitation) {
            Ok(game) => {
                self.accepted.insert(invitation);
                self.start_game(game, GameOrigin::Accepted(invitation));
            }
            Err(error @ (ServerError::Stopped | ServerError::Unauthorized)) => return Err(error),
            Err(error) => self.client.report(&error.to_string()),
        }
        let _ = self.client.folder.remove_pending_invitation(invitation);
        Ok(())
    }

    /// Starts or continues a game, unless it is running.
    fn start_game(&mut self, game: u64, origin: GameOrigin) {
        if self.running.iter().any(|(number, _)| *number == game) {
            return;
        }
        self.games_started += 1;
        let client = self.client;
        self.running.push((game, self.scope.spawn(move || client.run_game(game, origin))));
    }
}

/// Returns the name and our color of the nth invitation. Every name gets both colors in turn, and so do we.
fn nth_invitation(names: &[String], nth: usize) -> (&str, Color) {
    let round = nth / names.len();
    let index = nth % names.len();
    (&names[index], Color::from_white((round + index).is_multiple_of(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitations_alternate_colors_for_each_name() {
        for count in 1..5 {
            let names: Vec<String> = (0..count).map(|nth| nth.to_string()).collect();
            let games: Vec<_> = (0..4 * count).map(|nth| nth_invitation(&names, nth)).collect();
            for name in &names {
                let own: Vec<_> = games.iter().filter(|(invited, _)| invited == name).collect();
                assert_eq!(own.len(), 4);
                assert!(own.windows(2).all(|pair| pair[0].1 != pair[1].1));
            }
        }
    }
}

//! A client of the public server of blind chess, or of one like it.
//!
//! - [`options`], [`credentials`]: what to do, and who does it.
//! - [`http`]: requests that are made again until they are answered.
//! - [`api`]: the endpoints, with types.
//! - [`journal`]: what survives a client that is killed.
//! - [`game`]: one game, in a thread of its own.

mod api;
mod credentials;
mod game;
mod http;
mod journal;
mod options;

pub use options::is_flag;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use api::{Server, Table};
use credentials::Credentials;
use http::{Failure, Http};
use journal::{Entry, Folder, Journal};
use options::Service;

use crate::protocol::output::{Output, one_line};
use crate::protocol::rbc::players::Players;
use crate::rules::Color;

/// The version of the server that this is written for.
const VERSION: &str = "1.6.9";
/// How often it is asked for invitations.
const POLL: Duration = Duration::from_secs(5);
/// How soon the end of a game is noticed.
const GLANCE: Duration = Duration::from_millis(100);
/// The exit code of a program that was interrupted twice.
const INTERRUPTED: i32 = 130;

/// Plays on the server that the options name until it is interrupted or has done what they say. The
/// first SIGINT or SIGTERM lets it end the games that it has begun, the second ends it at once; then
/// the games go on when it is started again.
///
/// # Errors
/// In words, if an option makes no sense or the server does not want it.
pub fn serve(
    options: &[(String, String)],
    output: impl Write + Send + 'static,
) -> Result<(), String> {
    let (service, players) = Service::read(options)?;
    let credentials = Credentials::find(service.user.as_deref(), service.credentials.as_deref())?;
    let leaving = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&leaving))
            .and_then(|_| flag::register(signal, Arc::clone(&leaving)))
            .map_err(|error| error.to_string())?;
    }
    let output = Output::new(output);
    let http = Http::new(&service.url, credentials.header()?, &output)?;
    let folder = Folder::open(&service.state, &service.url, &credentials.user)?;
    let server = Server { http, leaving: &leaving };
    players.notes().iter().for_each(|note| output.say(&one_line(note)));
    let lobby = Lobby {
        service: &service,
        players: &players,
        server: &server,
        folder: &folder,
        output: &output,
    };
    match lobby.enter(&credentials.user) {
        Ok(()) => {}
        Err(Failure::GivenUp) => return Ok(()),
        Err(failure) => return Err(failure.to_string()),
    }
    let mut ranked = service.ranked;
    let played = thread::scope(|scope| lobby.play(scope, &mut ranked));
    if ranked && server.set_ranked(false).is_err() {
        output.say("the server was not told that no more ranked games are wanted");
    }
    played.map_err(|failure| failure.to_string())
}

/// What all games have in common.
#[derive(Clone, Copy)]
struct Lobby<'a> {
    service: &'a Service,
    players: &'a Players,
    server: &'a Server<'a>,
    folder: &'a Folder,
    output: &'a Output,
}

/// Where a game comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An earlier client has begun it.
    Before,
    /// Somebody else has invited us.
    Invitation(u64),
    /// We have invited somebody else.
    Own,
}

/// What is going on.
#[derive(Default)]
struct Tables<'scope> {
    /// Games and who plays them, who tells at last whether the game came to its end.
    running: Vec<(u64, ScopedJoinHandle<'scope, bool>)>,
    /// Invitations that this client has accepted: the server may list them until they are finished.
    accepted: BTreeSet<u64>,
    /// How many games have been begun.
    begun: usize,
    /// How many others were invited, or refused it.
    invited: usize,
}

impl<'a> Lobby<'a> {
    fn say(self, line: &str) {
        self.output.say(&one_line(line));
    }

    fn leaving(self) -> bool {
        self.server.leaving.load(Ordering::Relaxed)
    }

    /// Says who is there and what is wanted.
    fn enter(self, user: &str) -> Result<(), Failure> {
        let version = self.server.version()?;
        self.say(&format!("the server is reconchess {version}, {user} plays"));
        if version != VERSION {
            self.say(&format!("this client was made for version {VERSION}"));
        }
        match self.server.greet() {
            Err(Failure::Refused { .. }) | Ok(()) => {}
            Err(failure) => return Err(failure),
        }
        self.server.set_games(self.service.games)?;
        if self.service.ranked {
            let version = self.server.player_version()?;
            // Ranked games need a version.
            if self.service.new_version || version == 0 {
                self.server.new_player_version()?;
                self.say(&format!("ranked games are of version {}", version.saturating_add(1)));
            } else {
                self.say(&format!("ranked games are of version {version}"));
            }
        }
        self.server.set_ranked(self.service.ranked)
    }

    /// Plays games until there are to be no more. `ranked` is whether the server takes this player for one
    /// that plays ranked games.
    fn play<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        ranked: &mut bool,
    ) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        let mut tables = Tables::default();
        for game in self.folder.games() {
            self.begin(scope, &mut tables, game, Origin::Before);
        }
        // Some may have been accepted just before the end of an earlier client.
        let mut accepting = self.folder.accepting();
        loop {
            let round = self.round(scope, &mut tables, &mut accepting);
            let all = round.is_ok();
            match round {
                Err(failure @ (Failure::Unauthorized | Failure::Impossible(_))) => {
                    self.server.leaving.store(true, Ordering::Relaxed);
                    self.wait(&mut tables, None);
                    return Err(failure);
                }
                Err(failure) if !self.leaving() => self.say(&failure.to_string()),
                _ => {}
            }
            let idle = tables.running.is_empty();
            let enough = self.service.total.is_some_and(|total| tables.begun >= total);
            // Nobody is to be matched with a player that takes no more games.
            if *ranked && (self.leaving() || enough) {
                *ranked = self.server.set_ranked(false).is_err();
            }
            let nothing = self.service.once && all && tables.invited >= self.service.invite.len();
            if idle && (self.leaving() || enough || nothing) {
                return Ok(());
            }
            self.wait(&mut tables, Some(POLL));
        }
    }

    /// Waits for so long, or until a game ends; without a limit until all of them have ended.
    fn wait(self, tables: &mut Tables<'_>, limit: Option<Duration>) {
        let until = limit.map(|limit| Instant::now() + limit);
        let (mut ended, leaving) = (false, self.leaving());
        while until.is_none_or(|until| Instant::now() < until) {
            let (over, left): (Vec<_>, Vec<_>) =
                tables.running.drain(..).partition(|(_, game)| game.is_finished());
            tables.running = left;
            for (_, game) in over {
                match game.join() {
                    // One that broke off is no reason to hurry to the next, which might do so, too.
                    Ok(well) => ended |= well,
                    Err(_) => self.say("a game has broken off: its thread has panicked"),
                }
            }
            let news = ended || self.leaving() != leaving;
            if limit.is_some() && news || tables.running.is_empty() && limit.is_none() {
                return;
            }
            thread::sleep(GLANCE);
        }
    }

    /// Takes the games that are to be had.
    fn round<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        tables: &mut Tables<'scope>,
        accepting: &mut Vec<u64>,
    ) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        let mut waiting = std::mem::take(accepting);
        if self.room(tables) {
            let new = self.server.invitations()?;
            waiting.extend(new);
            waiting.sort_unstable();
            waiting.dedup();
            waiting.retain(|invitation| !tables.accepted.contains(invitation));
        }
        for invitation in waiting {
            if self.room(tables) {
                self.accept(scope, tables, invitation)?;
            }
        }
        while self.room(tables)
            && !self.service.invite.is_empty()
            && (!self.service.once || tables.invited < self.service.invite.len())
        {
            let (opponent, color) = next_invited(&self.service.invite, tables.invited);
            tables.invited += 1;
            let game = self.server.invite(opponent, color)?;
            self.begin(scope, tables, game, Origin::Own);
        }
        Ok(())
    }

    fn room(self, tables: &Tables<'_>) -> bool {
        let more = self.service.total.is_none_or(|total| tables.begun < total);
        more && tables.running.len() < self.service.games && !self.leaving()
    }

    fn accept<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        tables: &mut Tables<'scope>,
        invitation: u64,
    ) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        // Without the note the game would be lost to a client that is killed now; it plays all the same.
        let _ = self.folder.note_accepting(invitation, false);
        let accepted = self.server.accept(invitation);
        match accepted {
            Ok(game) => {
                tables.accepted.insert(invitation);
                self.begin(scope, tables, game, Origin::Invitation(invitation));
            }
            Err(Failure::GivenUp) => return Err(Failure::GivenUp),
            Err(Failure::Unauthorized) => return Err(Failure::Unauthorized),
            Err(failure) => self.say(&failure.to_string()),
        }
        let _ = self.folder.note_accepting(invitation, true);
        Ok(())
    }

    /// Begins a game, or goes on with it, unless it is being played.
    fn begin<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        tables: &mut Tables<'scope>,
        game: u64,
        origin: Origin,
    ) where
        'a: 'scope,
    {
        if tables.running.iter().any(|&(number, _)| number == game) {
            return;
        }
        tables.begun += 1;
        tables.running.push((game, scope.spawn(move || self.game(game, origin))));
    }

    /// Plays a game; says whether it came to its end.
    fn game(self, game: u64, origin: Origin) -> bool {
        let table = || Table { http: &self.server.http, game };
        let mut journal = match self.folder.journal(game) {
            Ok(journal) => journal,
            Err(error) if origin == Origin::Before => {
                self.say(&format!("game {game} cannot go on, it is given up: {error}"));
                self.give_up(&table());
                return false;
            }
            // It is played all the same.
            Err(error) => {
                self.say(&format!("game {game}: no journal is kept: {error}"));
                Journal::none()
            }
        };
        let invitation = match origin {
            Origin::Invitation(number) => Some(number),
            Origin::Before | Origin::Own => None,
        };
        let known = journal.entries.iter().find_map(|entry| match entry {
            Entry::Invitation(number) => Some(*number),
            _ => None,
        });
        if let (None, Some(number)) = (known, invitation)
            && let Err(error) = journal.add(&Entry::Invitation(number))
        {
            self.say(&format!("game {game}: no journal is kept: {error}"));
        }
        let played = game::play(table(), journal, self.folder, self.players, self.output);
        match &played {
            Ok(()) => {}
            Err(failure @ (Failure::Unauthorized | Failure::Impossible(_))) => {
                self.say(&format!("game {game} is broken off: {failure}"));
                return false;
            }
            Err(failure) => {
                self.say(&format!("game {game} is given up: {failure}"));
                self.give_up(&table());
            }
        }
        if let Some(number) = known.or(invitation) {
            // The server may have noticed by itself.
            let _ = self.server.finish(number);
        }
        played.is_ok()
    }

    fn give_up(self, table: &Table<'_>) {
        // A server that does not know the game cannot be told.
        if matches!(table.give_up(), Ok(()) | Err(Failure::Refused { .. })) {
            let _ = self.folder.finish(table.game, None);
        }
    }
}

/// Whose turn it is to be invited after so many, and the colour that we have then: everybody gets either
/// colour in turns, and so do we.
fn next_invited(names: &[String], invited: usize) -> (&str, Color) {
    let (round, place) = (invited / names.len(), invited % names.len());
    (&names[place], Color::from_white((round + place).is_multiple_of(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_are_invited_have_either_colour_in_turns() {
        for count in 1..5 {
            let names: Vec<String> = (0..count).map(|nth| nth.to_string()).collect();
            let games: Vec<_> = (0..4 * count).map(|nth| next_invited(&names, nth)).collect();
            for name in &names {
                let own: Vec<_> = games.iter().filter(|(who, _)| who == name).collect();
                assert!(own.len() == 4 && own.windows(2).all(|two| two[0].1 != two[1].1));
            }
        }
    }
}

//! Matches between players of this process and external engines, in any game, for two sides or more.
//!
//! - [`spec`]: players as data; [`config`]: a match as data.
//! - [`opening`], [`schedule`]: the positions that games begin with, and which player has which side.
//! - [`player`], [`plain_mcts`], [`external`]: the players.
//! - [`game`]: one game; [`rbc`]: one game of reconnaissance blind chess.
//! - [`bughouse`]: bughouse with four running clocks.
//! - [`folder`]: the files of a match, from which it continues after it was stopped.
//! - [`statistics`], [`table`], [`pgn`]: the results.

pub mod bughouse;
pub mod config;
pub mod external;
pub mod folder;
pub mod game;
pub mod opening;
pub mod pgn;
pub mod plain_mcts;
pub mod player;
pub mod rbc;
pub mod schedule;
pub mod spec;
pub mod statistics;
pub mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use menagerie::variant::Variant;

use bughouse::Referee;
use config::MatchConfig;
use folder::Folder;
use game::Played;
use opening::Openings;
use player::{CreatePlayer, Player};
use schedule::MatchSchedule;
use spec::{PlayerKind, PlayerSpec};

/// The game of a match.
#[derive(Debug)]
enum MatchGame {
    /// A variant of the catalogue, and the openings.
    Variant(Arc<Variant>, Openings),
    /// Reconnaissance blind chess: the number of random requests at the start, and the players.
    Rbc(u32, Vec<rbc::Entrant>),
}

/// A match, with the games that have been played.
#[derive(Debug)]
pub struct Arena {
    config: MatchConfig,
    game: MatchGame,
    schedule: MatchSchedule,
    folder: Folder,
    /// The finished games, in the order of their numbers.
    games: Vec<Played>,
    create_custom: CreatePlayer,
}

impl Arena {
    /// Opens a match in its folder: a new one, or one that continues.
    ///
    /// # Errors
    /// If the configuration is invalid, one of its files cannot be read, or the folder belongs to another
    /// match.
    pub fn open(folder: &Path, config: MatchConfig) -> anyhow::Result<Arena> {
        let game = if config.is_rbc() {
            config.check_rbc()?;
            let entrants = config.players.iter().map(rbc::Entrant::new);
            MatchGame::Rbc(
                config.plies.unwrap_or(rbc::DEFAULT_RANDOM_PLIES),
                entrants.collect::<Result<_, _>>()?,
            )
        } else {
            let variant = config.catalogue()?.require(&config.variant)?;
            config.check(&variant)?;
            bughouse::check(&variant, &config.players)?;
            let openings = config.openings(&variant)?;
            MatchGame::Variant(variant, openings)
        };
        let schedule = MatchSchedule::new(&config);
        let (folder, games) = Folder::open(folder, &config)?;
        Ok(Arena { config, game, schedule, folder, games, create_custom: no_custom_player })
    }

    /// Sets the function that creates players of [`PlayerKind::Custom`]. Without it such players are
    /// errors of [`Arena::play`].
    pub fn with_custom_players(self, create_custom: CreatePlayer) -> Arena {
        Arena { create_custom, ..self }
    }

    /// Returns the players, their seatings and the number of games.
    pub fn schedule(&self) -> &MatchSchedule {
        &self.schedule
    }

    /// Returns the number of openings of the book; `None` without a book.
    pub fn openings(&self) -> Option<u64> {
        match &self.game {
            MatchGame::Variant(_, openings) => openings.count(),
            MatchGame::Rbc(..) => None,
        }
    }

    /// Returns the number of finished games.
    pub fn done(&self) -> usize {
        self.games.len()
    }

    /// Plays the remaining games, `threads` at a time, and calls `progress` after each of them. The match ends
    /// early if its sequential test is decided.
    ///
    /// # Errors
    /// If a player of this process fails, an external engine cannot be started, or the folder cannot be
    /// written. The games that were finished before are kept.
    pub fn play(
        &mut self,
        threads: usize,
        progress: &mut dyn FnMut(&Played),
    ) -> anyhow::Result<()> {
        self.play_until(threads, &AtomicBool::new(false), progress)
    }

    /// Does what [`Arena::play`] does until `stop_requested` is set: the games in progress are then abandoned.
    ///
    /// # Errors
    /// As for [`Arena::play`].
    pub fn play_until(
        &mut self,
        threads: usize,
        stop_requested: &AtomicBool,
        progress: &mut dyn FnMut(&Played),
    ) -> anyhow::Result<()> {
        let done: BTreeSet<u64> = self.games.iter().map(|game| game.number).collect();
        let mut remaining = (0..self.schedule.games).filter(|number| !done.contains(number));
        if is_decided(&self.config, &self.games) {
            return Ok(());
        }
        let threads = threads.clamp(1, self.schedule.games as usize);
        let next: Mutex<&mut Remaining<'_>> = Mutex::new(&mut remaining);
        let stop = AtomicBool::new(false);
        let context = MatchContext {
            config: &self.config,
            game: &self.game,
            schedule: &self.schedule,
            create_custom: self.create_custom,
        };
        let folder = &mut self.folder;
        let games = &mut self.games;
        std::thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let next = &next;
                let stop = &stop;
                scope.spawn(move || context.work(next, stop, &sender));
            }
            drop(sender);
            let mut failure = Ok(());
            loop {
                stop.fetch_or(stop_requested.load(Ordering::Relaxed), Ordering::Relaxed);
                let result = match results.recv_timeout(STOP_POLL) {
                    Ok(result) => result,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return failure,
                };
                let stored = result.and_then(|(game, history)| {
                    if let Some(history) = history {
                        let name = format!("histories/{:04}.json", game.number + 1);
                        folder.write(&name, &history)?;
                    }
                    folder.add(&game).map(|()| game)
                });
                match stored {
                    Ok(game) => {
                        progress(&game);
                        let index = games.partition_point(|other| other.number < game.number);
                        games.insert(index, game);
                        let decided = is_decided(context.config, games);
                        stop.fetch_or(decided, Ordering::Relaxed);
                    }
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        failure = failure.and(Err(error));
                    }
                }
            }
        })
    }

    /// Returns the games that count: all of them, or those up to the decision of the sequential test.
    pub fn games(&self) -> &[Played] {
        let sprt = self.config.sprt.as_ref();
        let end = sprt.and_then(|sprt| table::decision(sprt, &self.games));
        let count = end.map_or(self.games.len(), |(count, _)| count as usize);
        let scheduled = self.games.partition_point(|game| game.number < self.schedule.games);
        &self.games[..count.min(scheduled)]
    }

    /// Returns `true` if bughouse is played with running clocks, so that more than one engine thinks in each
    /// game.
    pub fn timed(&self) -> bool {
        match &self.game {
            MatchGame::Variant(variant, _) => bughouse::timed(variant, &self.config.players),
            MatchGame::Rbc(..) => false,
        }
    }

    /// Writes the results to `table.txt` and the games to `games.pgn` (`games.bpgn` for bughouse with clocks), and
    /// returns the results. The games of rbc have no PGN.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn report(&self) -> anyhow::Result<String> {
        let games = self.games();
        if let MatchGame::Variant(variant, _) = &self.game {
            if self.timed() {
                let players = &self.config.players;
                let text = bughouse::bpgn::games(variant, &self.schedule, players, games);
                self.folder.write("games.bpgn", &text)?;
            } else {
                self.folder.write("games.pgn", &pgn::games(variant, &self.schedule, games))?;
            }
        }
        let table = table::table(&self.schedule, self.config.sprt.as_ref(), games);
        self.folder.write("table.txt", &table)?;
        Ok(table)
    }
}

fn no_custom_player(_variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    anyhow::bail!("this program has no custom player {}", spec.name())
}

fn is_decided(config: &MatchConfig, games: &[Played]) -> bool {
    config.sprt.is_some_and(|sprt| table::decision(&sprt, games).is_some())
}

/// Interval at which a match checks whether it has to stop, while no game ends.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The numbers of the games that have not been started.
type Remaining<'a> = dyn Iterator<Item = u64> + Send + 'a;

/// A finished game, and its history if histories are kept.
type FinishedGame = (Played, Option<String>);

/// The players of one thread.
enum ThreadPlayers {
    /// Players that move in turn.
    Players(Vec<Box<dyn Player>>),
    /// Bughouse teams with running clocks.
    Teams(Referee),
}

/// What all threads of a match share.
#[derive(Clone, Copy)]
struct MatchContext<'a> {
    config: &'a MatchConfig,
    game: &'a MatchGame,
    schedule: &'a MatchSchedule,
    create_custom: CreatePlayer,
}

impl MatchContext<'_> {
    /// Plays games with the players of this thread until no game is left.
    fn work(
        self,
        next: &Mutex<&mut Remaining<'_>>,
        stop: &AtomicBool,
        results: &mpsc::Sender<anyhow::Result<FinishedGame>>,
    ) {
        let mut players: Option<ThreadPlayers> = None;
        while !stop.load(Ordering::Relaxed) {
            // A thread that panicked while it held the lock left the iterator intact.
            let number = next.lock().unwrap_or_else(|broken| broken.into_inner()).next();
            let Some(number) = number else { return };
            let result = self.play_game(&mut players, number, stop).transpose();
            let Some(result) = result else { return };
            if results.send(result).is_err() {
                return;
            }
        }
    }

    fn play_game(
        self,
        players: &mut Option<ThreadPlayers>,
        number: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<FinishedGame>> {
        let (opening, seats) = self.schedule.game(number);
        let MatchConfig { seed, max_turns, .. } = *self.config;
        let (variant, openings) = match self.game {
            MatchGame::Variant(variant, openings) => (variant, openings),
            &MatchGame::Rbc(plies, ref entrants) => {
                let names = seats.iter().map(|&seat| self.schedule.names[seat].clone()).collect();
                let start = rbc::GameStart { number, opening, plies, seed };
                let played = rbc::play_game(entrants, seats, names, start, stop)?;
                let Some((game, history)) = played else { return Ok(None) };
                let history = self.config.histories.then(|| history.to_json().to_string());
                return Ok(Some((game, history)));
            }
        };
        let players = match players {
            Some(players) => players,
            None => players.insert(self.create_players(variant)?),
        };
        let start = openings.get(opening, variant)?;
        let played = match players {
            ThreadPlayers::Players(players) => {
                game::play(players, seats, &start, number, seed, max_turns, stop)
            }
            ThreadPlayers::Teams(referee) => referee.play(seats, &start, number, stop),
        };
        Ok(played?.map(|game| (game, None)))
    }

    fn create_players(self, variant: &Arc<Variant>) -> anyhow::Result<ThreadPlayers> {
        if bughouse::timed(variant, &self.config.players) {
            return Ok(ThreadPlayers::Teams(Referee::new(variant, &self.config.players)));
        }
        let specs = self.config.players.iter();
        let players: anyhow::Result<_> = specs
            .map(|spec| match spec.kind {
                PlayerKind::Uci | PlayerKind::Xboard => {
                    external::open_engine(variant, self.config.chess960, spec)
                }
                PlayerKind::Custom => (self.create_custom)(variant, spec),
                _ => player::create_player(variant, spec),
            })
            .collect();
        players.map(ThreadPlayers::Players)
    }
}

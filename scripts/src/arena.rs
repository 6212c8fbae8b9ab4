//! Matches: players of this process and engines outside against one another, in any game, for two
//! sides or more.
//!
//! - [`spec`]: players as data; [`config`]: a match as data.
//! - [`opening`], [`schedule`]: where games begin, and who sits where.
//! - [`player`], [`plain_mcts`], [`outside`]: players at work.
//! - [`game`]: one game, from its opening to its end; [`blind`]: one of blind chess.
//! - [`bughouse`]: games at two tables by real clocks.
//! - [`folder`]: what is kept of a match, so that it goes on after a kill.
//! - [`statistics`], [`table`], [`pgn`]: what came of it.

pub mod blind;
pub mod bughouse;
pub mod config;
pub mod external;
pub mod folder;
pub mod game;
pub mod opening;
pub mod pgn;
pub mod plain_mcts;
pub mod player;
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
use menagerie_rbc::GameHistory;

use bughouse::Referee;
use config::MatchConfig;
use folder::Folder;
use game::Played;
use opening::Openings;
use player::{CreatePlayer, Player};
use schedule::Schedule;
use spec::{Kind, PlayerSpec};

/// What is played.
#[derive(Debug)]
enum Rules {
    /// A game in which everything is seen, and where it begins.
    Seen(Arc<Variant>, Openings),
    /// Blind chess, after so many random requests.
    Blind(u32, Vec<blind::Entrant>),
}

/// A match: the part that has been played, and all it takes to go on.
#[derive(Debug)]
pub struct Arena {
    config: MatchConfig,
    rules: Rules,
    schedule: Schedule,
    folder: Folder,
    /// The games that are over, in the order of their numbers.
    games: Vec<Played>,
    create_custom: CreatePlayer,
}

impl Arena {
    /// Opens a match in its folder, to begin it or to go on.
    ///
    /// # Errors
    /// If the configuration makes no sense, a file of it cannot be read, or the folder is that of
    /// another match.
    pub fn open(folder: &Path, config: MatchConfig) -> anyhow::Result<Arena> {
        let rules = if config.is_blind() {
            config.check_blind()?;
            let entrants = config.players.iter().map(blind::Entrant::new);
            Rules::Blind(config.plies.unwrap_or(blind::PLIES), entrants.collect::<Result<_, _>>()?)
        } else {
            let variant = config.catalogue()?.require(&config.variant)?;
            config.check(&variant)?;
            bughouse::check(&variant, &config.players)?;
            let openings = config.openings(&variant)?;
            Rules::Seen(variant, openings)
        };
        let schedule = Schedule::new(&config);
        let (folder, games) = Folder::open(folder, &config)?;
        Ok(Arena { config, rules, schedule, folder, games, create_custom: no_custom_player })
    }

    /// Sets the function that creates players of [`Kind::Custom`]. Without it such players are
    /// errors of [`Arena::play`].
    pub fn with_custom_players(self, create_custom: CreatePlayer) -> Arena {
        Arena { create_custom, ..self }
    }

    /// Who plays, and how many games.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How many openings there are before they begin again, if they do.
    pub fn openings(&self) -> Option<u64> {
        match &self.rules {
            Rules::Seen(_, openings) => openings.count(),
            Rules::Blind(..) => None,
        }
    }

    /// How many games are over.
    pub fn done(&self) -> usize {
        self.games.len()
    }

    /// Plays the games that are missing, so many at a time, and calls `seen` after each with its
    /// result. A sequential test that is decided ends the match.
    ///
    /// # Errors
    /// If a player of this process fails, one outside cannot be started, or the folder cannot be
    /// written. What was played until then is kept.
    pub fn play(&mut self, threads: usize, seen: &mut dyn FnMut(&Played)) -> anyhow::Result<()> {
        self.play_until(threads, &AtomicBool::new(false), seen)
    }

    /// Does what [`Arena::play`] does until `asked_to_stop` is set: the games in flight are then abandoned.
    ///
    /// # Errors
    /// Those of [`Arena::play`].
    pub fn play_until(
        &mut self,
        threads: usize,
        asked_to_stop: &AtomicBool,
        seen: &mut dyn FnMut(&Played),
    ) -> anyhow::Result<()> {
        let done: BTreeSet<u64> = self.games.iter().map(|game| game.number).collect();
        let mut missing = (0..self.schedule.games).filter(|number| !done.contains(number));
        if self.decided() {
            return Ok(());
        }
        let threads = threads.clamp(1, self.schedule.games as usize);
        let next: Mutex<&mut Missing<'_>> = Mutex::new(&mut missing);
        let stop = AtomicBool::new(false);
        let table = Table {
            config: &self.config,
            rules: &self.rules,
            schedule: &self.schedule,
            create_custom: self.create_custom,
        };
        let (folder, games) = (&mut self.folder, &mut self.games);
        std::thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..threads {
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                scope.spawn(move || table.work(next, stop, &sender));
            }
            drop(sender);
            let mut failure = Ok(());
            loop {
                stop.fetch_or(asked_to_stop.load(Ordering::Relaxed), Ordering::Relaxed);
                let result = match results.recv_timeout(STOP_POLL) {
                    Ok(result) => result,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return failure,
                };
                let kept = result.and_then(|(game, history)| {
                    if let Some(history) = history {
                        let name = format!("histories/{:04}.json", game.number + 1);
                        folder.write(&name, &history)?;
                    }
                    folder.add(&game).map(|()| game)
                });
                match kept {
                    Ok(game) => {
                        seen(&game);
                        let place = games.partition_point(|other| other.number < game.number);
                        games.insert(place, game);
                        let decided = decided(table.config, games);
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

    fn decided(&self) -> bool {
        decided(&self.config, &self.games)
    }

    /// The games that count: all, or those on which a sequential test was decided.
    pub fn games(&self) -> &[Played] {
        let sprt = self.config.sprt.as_ref();
        let end = sprt.and_then(|sprt| table::decision(sprt, &self.games));
        let count = end.map_or(self.games.len(), |(count, _)| count as usize);
        let asked = self.games.partition_point(|game| game.number < self.schedule.games);
        &self.games[..count.min(asked)]
    }

    /// Whether it is played by real clocks at two tables, so that more than one engine thinks in each
    /// game.
    pub fn timed(&self) -> bool {
        match &self.rules {
            Rules::Seen(variant, _) => bughouse::timed(variant, &self.config.players),
            Rules::Blind(..) => false,
        }
    }

    /// Writes `table.txt` into the folder, and `games.pgn` (`games.bpgn` of two tables by real clocks)
    /// if such games can be written so; gives the table.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn report(&self) -> anyhow::Result<String> {
        let games = self.games();
        let (schedule, players) = (&self.schedule, &self.config.players);
        if let Rules::Seen(variant, _) = &self.rules {
            let (name, text) = match self.timed() {
                true => ("games.bpgn", bughouse::bpgn::games(variant, schedule, players, games)),
                false => ("games.pgn", pgn::games(variant, schedule, games)),
            };
            self.folder.write(name, &text)?;
        }
        let table = table::table(&self.schedule, self.config.sprt.as_ref(), games);
        self.folder.write("table.txt", &table)?;
        Ok(table)
    }
}

fn no_custom_player(_variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    anyhow::bail!("this program has no custom player {}", spec.name())
}

fn decided(config: &MatchConfig, games: &[Played]) -> bool {
    config.sprt.is_some_and(|sprt| table::decision(&sprt, games).is_some())
}

/// How often a match looks whether it is to stop, while no game ends.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The numbers of games that nobody has begun.
type Missing<'a> = dyn Iterator<Item = u64> + Send + 'a;

/// A game that is over, and its history if that is to be kept.
type Kept = (Played, Option<String>);
/// Who plays on one thread.
enum Seated {
    /// Players who move in turn.
    Players(Vec<Box<dyn Player>>),
    /// Teams at two tables with real clocks.
    Teams(Referee),
}

/// What all threads of a match look at.
#[derive(Clone, Copy)]
struct Table<'a> {
    config: &'a MatchConfig,
    rules: &'a Rules,
    schedule: &'a Schedule,
    create_custom: CreatePlayer,
}

impl Table<'_> {
    /// Plays games until none is left, with players of this thread's own.
    fn work(
        self,
        next: &Mutex<&mut Missing<'_>>,
        stop: &AtomicBool,
        results: &mpsc::Sender<anyhow::Result<Kept>>,
    ) {
        let mut players: Option<Seated> = None;
        while !stop.load(Ordering::Relaxed) {
            // A thread that panicked took no number back with it.
            let number = next.lock().unwrap_or_else(|broken| broken.into_inner()).next();
            let Some(number) = number else { return };
            let result = self.one(&mut players, number, stop).transpose();
            let Some(result) = result else { return };
            if results.send(result).is_err() {
                return;
            }
        }
    }

    fn one(
        self,
        players: &mut Option<Seated>,
        number: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Kept>> {
        let (opening, seats) = self.schedule.game(number);
        let MatchConfig { seed, longest, .. } = *self.config;
        let (variant, openings) = match self.rules {
            Rules::Seen(variant, openings) => (variant, openings),
            &Rules::Blind(plies, ref entrants) => {
                let names = seats.iter().map(|&seat| self.schedule.names[seat].clone()).collect();
                let start = blind::Start { number, opening, plies, seed };
                let played = blind::play(entrants, seats, names, start, stop)?;
                let text = |history: GameHistory| history.to_json().to_string();
                let kept = self.config.histories;
                return Ok(played.map(|(game, history)| (game, kept.then(|| text(history)))));
            }
        };
        let players = match players {
            Some(players) => players,
            None => players.insert(self.players(variant)?),
        };
        let start = openings.get(opening, variant)?;
        let played = match players {
            Seated::Players(players) => {
                game::play(players, seats, &start, number, seed, longest, stop)
            }
            Seated::Teams(referee) => referee.play(seats, &start, number, stop),
        };
        Ok(played?.map(|game| (game, None)))
    }

    fn players(self, variant: &Arc<Variant>) -> anyhow::Result<Seated> {
        if bughouse::timed(variant, &self.config.players) {
            return Ok(Seated::Teams(Referee::new(variant, &self.config.players)));
        }
        let specs = self.config.players.iter();
        let players: anyhow::Result<_> = specs
            .map(|spec| match spec.kind {
                Kind::Uci | Kind::Xboard => external::outside(variant, self.config.chess960, spec),
                Kind::Custom => (self.create_custom)(variant, spec),
                _ => player::inside(variant, spec),
            })
            .collect();
        players.map(Seated::Players)
    }
}

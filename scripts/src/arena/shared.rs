//! A match that any number of processes on any machines play together, in a store.
//!
//! ```text
//! match.toml            the match, written by the first process; the others must play the same one
//! claims/000012-1       which process plays round 12: the games of one opening in all seatings
//! games/000024.csv      a finished game
//! histories/            games of rbc in JSON
//! table.txt, games.pgn  the results, written by each process at its end
//! ```
//!
//! Claims and games are created once and never replaced, so that each game counts once, even if two processes play
//! it. If a claimed round is not finished in several times the duration of the longest game, another process claims
//! it with the next number (`000012-2`). A process that finds no other round plays games that others have not finished.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;

use super::config::MatchConfig;
use super::game::Played;
use super::game_csv::{HEADER, parse_games, write_row};
use super::schedule::MatchSchedule;
use super::storage::{MatchStorage, history_name};
use super::stored_match::{NAME as CONFIG, StoredMatch};
use crate::identity::ProcessIdentity;
use crate::store::Store;
use crate::uploader::MAX_OUTAGE;

const CLAIMS: &str = "claims";
const GAMES: &str = "games";

/// A claimed round passes to another process after this number of times the duration of the longest game.
const STALE_GAMES: u32 = 4;

/// A claimed round passes to another process after this time at the earliest.
const MIN_STALE: Duration = Duration::from_secs(30);

/// The storage of a shared match.
#[derive(Debug)]
pub(super) struct SharedMatch {
    store: Store,
    identity: ProcessIdentity,
    sides: usize,
    /// The number of games of a round.
    seatings: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The number of games of the match.
    games: u64,
    finished: BTreeSet<u64>,
    /// The games that this process plays, and since when.
    playing: BTreeMap<u64, Instant>,
    /// Games of rounds that this process has claimed.
    queue: VecDeque<u64>,
    /// The newest claim of each round.
    claims: BTreeMap<u64, ObservedClaim>,
    /// The duration of the longest game of this process.
    longest: Option<Duration>,
    /// The number of unclaimed rounds of which one is drawn. It doubles with each claim that another process was
    /// faster to make, so that many processes do not compete for the same round for long.
    spread: usize,
    rng: ChaCha8Rng,
}

#[derive(Clone, Copy, Debug)]
struct ObservedClaim {
    /// The number of the claim of the round, from 1.
    number: u64,
    /// When this process first saw it.
    since: Instant,
}

impl SharedMatch {
    /// Opens or creates the match in a store, and returns the finished games. Later requests are repeated for hours
    /// if they fail, until `stop` is set.
    pub(super) fn open(
        store: &Store,
        config: &MatchConfig,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<(SharedMatch, Vec<Played>)> {
        let stored = StoredMatch::portable(config)?;
        if !store.create(CONFIG, stored.text()?.into_bytes())? {
            let place = format!("{}/{CONFIG}", store.place());
            let found = StoredMatch::parse(&place, &store.read(CONFIG)?)?;
            stored.check_same(&place, found)?;
        }
        let shared = SharedMatch::new(store, config)?;
        let games = shared.new_games()?;
        let store = store.patient(MAX_OUTAGE, stop);
        Ok((SharedMatch { store, ..shared }, games))
    }

    /// Returns the match in a store and its finished games.
    pub(super) fn read(store: &Store) -> anyhow::Result<(MatchConfig, Vec<Played>)> {
        let place = format!("{}/{CONFIG}", store.place());
        let config = StoredMatch::parse(&place, &store.read(CONFIG)?)?.config;
        let mut games = SharedMatch::new(store, &config)?.new_games()?;
        games.sort_by_key(|game| game.number);
        Ok((config, games))
    }

    fn new(store: &Store, config: &MatchConfig) -> anyhow::Result<SharedMatch> {
        let identity = ProcessIdentity::random()?;
        let state = State {
            games: 0,
            finished: BTreeSet::new(),
            playing: BTreeMap::new(),
            queue: VecDeque::new(),
            claims: BTreeMap::new(),
            longest: None,
            spread: 1,
            rng: ChaCha8Rng::seed_from_u64(identity.seed()),
        };
        Ok(SharedMatch {
            store: store.clone(),
            identity,
            sides: config.players.len(),
            seatings: MatchSchedule::new(config).seatings.len() as u64,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while it held the lock left it intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a round, and adds its games to the queue. Returns `false` if there is no round to claim.
    fn claim_round(&self, state: &mut State) -> anyhow::Result<bool> {
        loop {
            let claim = state.stale_round(self.seatings).or_else(|| state.new_round(self.seatings));
            let Some((round, number)) = claim else { return Ok(false) };
            let name = format!("{CLAIMS}/{}", claim_name(round, number));
            let created = self.store.create(&name, self.identity.to_string().into_bytes())?;
            state.claims.insert(round, ObservedClaim { number, since: Instant::now() });
            if created {
                state.spread = 1;
                let games = state.unfinished(round, self.seatings);
                state.queue.extend(games);
                return Ok(true);
            }
            state.spread = state.spread.saturating_mul(2);
        }
    }

    /// Reads the claims of other processes.
    fn read_claims(&self, state: &mut State) -> anyhow::Result<()> {
        let first = state.first_unfinished() / self.seatings;
        let after = first.checked_sub(1).map(|round| claim_name(round, u64::MAX));
        for name in self.store.list_after(CLAIMS, &after.unwrap_or_default(), usize::MAX)? {
            let Some((round, number)) = parse_claim(&name) else { continue };
            let since = Instant::now();
            let claim = state.claims.entry(round).or_insert(ObservedClaim { number, since });
            if number > claim.number {
                *claim = ObservedClaim { number, since };
            }
        }
        Ok(())
    }

    fn parse_game(&self, name: &str, text: &[u8]) -> anyhow::Result<Played> {
        let games = parse_games(text, self.sides).map(|mut games| games.pop());
        let place = self.store.place();
        match games {
            Ok(Some(game)) if game_name(game.number) == name => Ok(game),
            Ok(_) => anyhow::bail!("{place}/{name}: another game than its name says"),
            Err(error) => anyhow::bail!("{place}/{name}: {error}"),
        }
    }
}

impl State {
    /// The number of the first game that is not finished.
    fn first_unfinished(&self) -> u64 {
        (0..)
            .zip(&self.finished)
            .find(|(index, number)| index != *number)
            .map_or_else(|| self.finished.len() as u64, |(index, _)| index)
    }

    /// Returns the games of a round that are not finished.
    fn unfinished(&self, round: u64, seatings: u64) -> Vec<u64> {
        let games = round * seatings..((round + 1) * seatings).min(self.games);
        games.filter(|number| !self.finished.contains(number)).collect()
    }

    /// Returns the first claimed round that should have been finished, and the number of its next claim.
    fn stale_round(&self, seatings: u64) -> Option<(u64, u64)> {
        let limit = (self.longest? * STALE_GAMES).max(MIN_STALE);
        let is_stale = |(round, claim): &(&u64, &ObservedClaim)| {
            let unfinished = self.unfinished(**round, seatings);
            let is_own =
                |number: &u64| self.playing.contains_key(number) || self.queue.contains(number);
            claim.since.elapsed() > limit
                && !unfinished.is_empty()
                && !unfinished.iter().any(is_own)
        };
        let (round, claim) = self.claims.iter().find(is_stale)?;
        Some((*round, claim.number + 1))
    }

    /// Draws one of the first rounds without a claim.
    fn new_round(&mut self, seatings: u64) -> Option<(u64, u64)> {
        let rounds = self.first_unfinished() / seatings..self.games.div_ceil(seatings);
        let open = rounds.filter(|round| {
            !self.claims.contains_key(round) && !self.unfinished(*round, seatings).is_empty()
        });
        let open: Vec<u64> = open.take(self.spread).collect();
        open.choose(&mut self.rng).map(|round| (*round, 1))
    }

    /// Draws a game that another process has claimed and not finished.
    fn unfinished_game(&mut self) -> Option<u64> {
        let games = (self.first_unfinished()..self.games)
            .filter(|number| !self.finished.contains(number) && !self.playing.contains_key(number));
        games.collect::<Vec<u64>>().choose(&mut self.rng).copied()
    }
}

impl MatchStorage for SharedMatch {
    fn begin(&self, games: u64) {
        let mut state = self.state();
        state.games = games;
        let abandoned = std::mem::take(&mut state.playing);
        for number in abandoned.into_keys().rev() {
            state.queue.push_front(number);
        }
    }

    fn next_game(&self) -> anyhow::Result<Option<u64>> {
        let mut state = self.state();
        loop {
            while let Some(number) = state.queue.pop_front() {
                if !state.finished.contains(&number) && !state.playing.contains_key(&number) {
                    state.playing.insert(number, Instant::now());
                    return Ok(Some(number));
                }
            }
            if !self.claim_round(&mut state)? {
                break;
            }
        }
        let number = state.unfinished_game();
        if let Some(number) = number {
            state.playing.insert(number, Instant::now());
        }
        Ok(number)
    }

    fn add(&self, game: Played, history: Option<&str>) -> anyhow::Result<Played> {
        let number = game.number;
        let name = game_name(number);
        let object = format!("{GAMES}/{name}");
        let text = [HEADER, &write_row(&game)?].concat();
        let counted = if self.store.create(&object, text)? {
            if let Some(history) = history {
                self.store.write(&history_name(number), history.into())?;
            }
            game
        } else {
            self.parse_game(&name, &self.store.read(&object)?)?
        };
        let mut state = self.state();
        state.finished.insert(number);
        if let Some(start) = state.playing.remove(&number) {
            state.longest = state.longest.max(Some(start.elapsed()));
        }
        Ok(counted)
    }

    fn new_games(&self) -> anyhow::Result<Vec<Played>> {
        // Not locked while games are read: threads that need a game do not wait.
        let first = self.state().first_unfinished();
        let after = first.checked_sub(1).map(game_name).unwrap_or_default();
        let mut names = self.store.list_after(GAMES, &after, usize::MAX)?;
        {
            let state = self.state();
            names.retain(|name| {
                let number = parse_game_name(name);
                number.is_some_and(|number| !state.finished.contains(&number))
            });
        }
        let objects: Vec<String> = names.iter().map(|name| format!("{GAMES}/{name}")).collect();
        let mut games = Vec::new();
        for (name, text) in names.iter().zip(self.store.find_all(&objects)?) {
            games.extend(text.map(|text| self.parse_game(name, &text)).transpose()?);
        }
        let mut state = self.state();
        state.finished.extend(games.iter().map(|game| game.number));
        self.read_claims(&mut state)?;
        Ok(games)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(self.store.write(name, text.into())?)
    }
}

fn game_name(number: u64) -> String {
    format!("{number:06}.csv")
}

fn parse_game_name(name: &str) -> Option<u64> {
    name.strip_suffix(".csv")?.parse().ok()
}

fn claim_name(round: u64, number: u64) -> String {
    format!("{round:06}-{number}")
}

fn parse_claim(name: &str) -> Option<(u64, u64)> {
    let (round, number) = name.split_once('-')?;
    Some((round.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> MatchConfig {
        let players = ["random", "random"].map(|text| text.parse().expect("a player"));
        MatchConfig { games: 6, ..MatchConfig::new("tictactoe", players.into()) }
    }

    fn open(store: &Store) -> SharedMatch {
        let (shared, _) = SharedMatch::open(store, &config(), &Arc::default()).expect("a match");
        shared.begin(6);
        shared
    }

    fn game(number: u64, end: &str) -> Played {
        Played {
            number,
            seats: vec![0, 1],
            scores: vec![0, 0],
            end: end.to_owned(),
            detail: String::new(),
            start: "start".to_owned(),
            turns: vec!["a1".to_owned()],
            left: Vec::new(),
        }
    }

    #[test]
    fn shared_games_count_once_and_rounds_are_claimed_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("a text")).expect("a store");
        let (one, two) = (open(&store), open(&store));
        let next = |shared: &SharedMatch| shared.next_game().expect("no error");
        assert_eq!([next(&one), next(&one)], [Some(0), Some(1)]);
        // The second does not know the claims of the first, but cannot make them again.
        let second: BTreeSet<u64> = (0..4).map(|_| next(&two).expect("a game")).collect();
        assert_eq!(second, BTreeSet::from([2, 3, 4, 5]));
        // Nothing else to do: it plays what the first has claimed.
        let last: BTreeSet<u64> = [next(&two), next(&two)].into_iter().flatten().collect();
        assert_eq!(last, BTreeSet::from([0, 1]));
        assert_eq!(next(&two), None);
        let counted = one.add(game(0, "first"), None).expect("stored");
        assert_eq!(counted.end, "first");
        let counted = two.add(game(0, "second"), None).expect("stored");
        assert_eq!(counted.end, "first");
        two.add(game(4, "draw"), None).expect("stored");
        let new = one.new_games().expect("read");
        assert_eq!(new.iter().map(|game| game.number).collect::<Vec<_>>(), [4]);
        assert!(one.new_games().expect("read").is_empty());
        let (_, all) = SharedMatch::read(&store).expect("read");
        assert_eq!(all, [game(0, "first"), game(4, "draw")]);
        // Abandoned games are handed out again.
        one.begin(6);
        assert_eq!(next(&one), Some(1));
    }

    #[test]
    fn shared_round_of_a_silent_process_is_claimed_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("a text")).expect("a store");
        let (silent, shared) = (open(&store), open(&store));
        assert_eq!(silent.next_game().expect("no error"), Some(0));
        shared.new_games().expect("claims read");
        {
            let mut state = shared.state();
            state.longest = Some(Duration::from_millis(1));
            let Some(long_ago) = Instant::now().checked_sub(2 * MIN_STALE) else { return };
            state.claims.get_mut(&0).expect("its claim").since = long_ago;
        }
        assert_eq!(shared.next_game().expect("no error"), Some(0));
        assert_eq!(store.list(CLAIMS).expect("listed"), ["000000-1", "000000-2"]);
    }
}

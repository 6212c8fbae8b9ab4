//! A gauntlet: matches of many variants, described in one file, whose results become a single table.
//!
//! ```toml
//! folder = "runs/gauntlet"
//! books = "books"
//! games = 100
//!
//! [[matches]]
//! variants = ["crazyhouse", "atomic"]
//! conditions = "10+0.1, one thread each"
//! players = ["uci:target/release/menagerie,tc=10+0.1", "uci:stockfish,tc=10+0.1,name=Fairy-Stockfish"]
//! ```
//!
//! Each match is one of the [arena](crate::arena) in a folder of its own, so the same command continues
//! what was stopped.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::arena::config::MatchConfig;
use crate::arena::folder::Folder;
use crate::arena::schedule::MatchSchedule;
use crate::arena::spec::PlayerSpec;
use crate::arena::statistics::Pentanomial;
use crate::arena::table::{pairs, tallies};
use crate::arena::{Arena, counted_games};
use crate::record::replace;

/// The lines of a document between which [`GauntletConfig::write_table`] puts the table.
const MARKERS: [&str; 2] = ["<!-- gauntlet -->", "<!-- end of gauntlet -->"];

/// Why a gauntlet cannot be played or written.
#[derive(Debug, thiserror::Error)]
pub enum GauntletError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not a gauntlet.
    #[error("{path}: {source}")]
    Syntax {
        /// The file.
        path: String,
        /// The place and the reason.
        source: Box<toml::de::Error>,
    },
    /// A setting is invalid.
    #[error("{path}: match {number}: {reason}")]
    Setting {
        /// The file.
        path: String,
        /// The match, counted from 1.
        number: usize,
        /// The reason.
        reason: String,
    },
    /// The folder of a match has games of other players.
    #[error(
        "{folder} has games of {found}, not of {expected}; remove it, or change folder in the gauntlet"
    )]
    OtherPlayers {
        /// The folder.
        folder: String,
        /// The players of its games.
        found: String,
        /// The players of the gauntlet.
        expected: String,
    },
    /// The document has no place for the table.
    #[error("{path} has no line \"{marker}\"")]
    NoMarker {
        /// The document.
        path: String,
        /// The line that is missing.
        marker: &'static str,
    },
}

/// The matches of a gauntlet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GauntletConfig {
    /// Folder of the matches. It is relative to the file, as are all paths but those of players.
    pub folder: PathBuf,
    /// File of custom variants, in the syntax of `variants.ini`.
    #[serde(default)]
    pub variants_file: Option<PathBuf>,
    /// Folder of opening books `VARIANT.epd`. Variants without one begin with random plies.
    #[serde(default)]
    pub books: Option<PathBuf>,
    /// Games of each match.
    #[serde(default = "default_games")]
    pub games: u64,
    /// Seed of openings and players.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The matches, in the order of the table.
    pub matches: Vec<GauntletMatches>,
}

/// Matches of several variants under the same conditions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GauntletMatches {
    /// The variants.
    pub variants: Vec<String>,
    /// Time control and threads, for the table.
    pub conditions: String,
    /// The players, as in `trainer match`. Results are those of the first one.
    #[serde(deserialize_with = "parse_players")]
    #[schemars(with = "Vec<String>")]
    pub players: Vec<PlayerSpec>,
    /// Games of each match; the common number if not set.
    #[serde(default)]
    pub games: Option<u64>,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct GauntletRow {
    /// The variant.
    pub variant: String,
    /// Names of the opponents.
    pub opponents: String,
    /// The conditions.
    pub conditions: String,
    /// Games won, drawn and lost by the first player.
    pub results: [u64; 3],
    /// Elo difference with its interval of 95 %: value, low, high; `None` without a pair of games or with
    /// more than two players.
    pub elo: Option<[f64; 3]>,
}

fn parse_players<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<PlayerSpec>, D::Error> {
    let texts = Vec::<String>::deserialize(source)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

fn default_games() -> u64 {
    100
}

fn default_seed() -> u64 {
    1
}

impl GauntletConfig {
    /// Reads a gauntlet from a TOML file.
    ///
    /// # Errors
    /// [`GauntletError::Io`], [`GauntletError::Syntax`], or [`GauntletError::Setting`].
    pub fn read(path: &Path) -> Result<GauntletConfig, GauntletError> {
        let name = || path.display().to_string();
        let text = read_text(path)?;
        let mut config: GauntletConfig = toml::from_str(&text)
            .map_err(|source| GauntletError::Syntax { path: name(), source: Box::new(source) })?;
        let base = path.parent().unwrap_or(Path::new(""));
        config.folder = base.join(&config.folder);
        config.books = config.books.map(|books| base.join(books));
        config.variants_file = config.variants_file.map(|file| base.join(file));
        for (index, matches) in config.matches.iter().enumerate() {
            let fail = |reason: &str| GauntletError::Setting {
                path: name(),
                number: index + 1,
                reason: reason.to_owned(),
            };
            if matches.variants.is_empty() {
                return Err(fail("no variants"));
            }
            if matches.players.len() < 2 {
                return Err(fail("fewer than two players"));
            }
            if matches.conditions.contains(['|', '\n']) {
                return Err(fail("conditions contain \"|\" or a line break"));
            }
        }
        Ok(config)
    }

    /// Returns the matches: folder and configuration of each.
    fn matches(&self) -> Vec<(PathBuf, &str, MatchConfig)> {
        let mut found = Vec::new();
        for (index, group) in self.matches.iter().enumerate() {
            for variant in &group.variants {
                let book = self.books.as_ref().map(|books| books.join(format!("{variant}.epd")));
                let config = MatchConfig {
                    variants: self.variants_file.clone(),
                    games: group.games.unwrap_or(self.games),
                    seed: self.seed,
                    book: book.filter(|book| book.exists()),
                    ..MatchConfig::new(variant, group.players.clone())
                };
                let folder = self.folder.join(format!("{variant}-{}", index + 1));
                found.push((folder, &*group.conditions, config));
            }
        }
        found
    }

    /// Plays the games that are missing, `threads` at a time, until `stop` is set. Calls `progress` before
    /// each match and after each game with the variant, the games played and all games.
    ///
    /// # Errors
    /// Those of [`Arena::open`] and [`Arena::play`].
    pub fn play(
        &self,
        threads: usize,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&str, u64, u64),
    ) -> anyhow::Result<()> {
        for (folder, _, config) in self.matches() {
            let variant = config.variant.clone();
            let mut arena = Arena::open(&folder, config)?;
            let games = arena.schedule().games;
            let mut done = arena.done() as u64;
            progress(&variant, done, games);
            arena.play_until(threads, stop, &mut |_| {
                done += 1;
                progress(&variant, done, games);
            })?;
            arena.report()?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the results of the games played so far; matches without a game are left out. Another process may play
    /// meanwhile, and no player is opened.
    ///
    /// # Errors
    /// If a folder cannot be read, or [`GauntletError::OtherPlayers`].
    pub fn rows(&self) -> anyhow::Result<Vec<GauntletRow>> {
        let mut rows = Vec::new();
        for (folder, conditions, config) in self.matches() {
            if !Folder::has_match(&folder) {
                continue;
            }
            let (found, games) = Folder::read(&folder)?;
            if found.players != config.players {
                let folder = folder.display().to_string();
                let [found, expected] = [found, config].map(|config| player_list(&config.players));
                return Err(GauntletError::OtherPlayers { folder, found, expected }.into());
            }
            let schedule = MatchSchedule::new(&config);
            let games = counted_games(&config, &schedule, &games);
            if games.is_empty() {
                continue;
            }
            let mut counted = Pentanomial::default();
            if schedule.ids.len() == 2 {
                for pair in pairs(games) {
                    counted.add(pair);
                }
            }
            rows.push(GauntletRow {
                variant: config.variant,
                opponents: schedule.names[1..].join(", "),
                conditions: conditions.to_owned(),
                results: tallies(&schedule, games)[0].total(),
                elo: counted.elo().map(|elo| [elo.value, elo.low, elo.high]),
            });
        }
        Ok(rows)
    }

    /// Replaces the lines between the two markers of a document by the table of the results.
    ///
    /// # Errors
    /// [`GauntletError::NoMarker`], if the document has no place for it, and those of
    /// [`GauntletConfig::rows`].
    pub fn write_table(&self, document: &Path) -> anyhow::Result<()> {
        let text = read_text(document)?;
        let find = |marker: &'static str, from: usize| {
            let path = document.display().to_string();
            let found = text[from..].find(marker).map(|offset| from + offset);
            found.ok_or(GauntletError::NoMarker { path, marker })
        };
        let begin = find(MARKERS[0], 0)? + MARKERS[0].len();
        let end = find(MARKERS[1], begin)?;
        let table = table(&self.rows()?);
        replace(document, format!("{}\n{table}{}", &text[..begin], &text[end..]).as_bytes())?;
        Ok(())
    }
}

fn read_text(path: &Path) -> Result<String, GauntletError> {
    fs::read_to_string(path)
        .map_err(|source| GauntletError::Io { path: path.display().to_string(), source })
}

fn player_list(players: &[PlayerSpec]) -> String {
    players.iter().map(|player| format!("\"{player}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns the results as a table in Markdown.
pub fn table(rows: &[GauntletRow]) -> String {
    let mut text = String::from(
        "| variant | opponent | conditions | W-D-L | score | Elo (95 %) |\n|---|---|---|--:|--:|--:|\n",
    );
    for GauntletRow { variant, opponents, conditions, results, elo } in rows {
        let [won, drawn, lost] = *results;
        let games = (won + drawn + lost).max(1) as f64;
        let score = 100.0 * (won as f64 + 0.5 * drawn as f64) / games;
        let elo = match elo {
            Some([value, low, high]) => format!("{value:+.0} [{low:+.0}, {high:+.0}]"),
            None => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {variant} | {opponents} | {conditions} | {won}-{drawn}-{lost} | {score:.0} % | {elo} |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauntlet_continues_and_fills_the_document() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gauntlet.toml");
        fs::write(folder.path().join("my.ini"), "[mine:3x3]\n").expect("written");
        let text = "folder = \"games\"\nvariants_file = \"my.ini\"\ngames = 4\n[[matches]]\n\
                    variants = [\"mine\", \"tictacmo\"]\nconditions = \"one visit\"\n\
                    players = [\"random\", \"uniform:visits=1,name=other\"]\n";
        fs::write(&file, text.replace(", \"tictacmo\"", "")).expect("written");
        let config = GauntletConfig::read(&file).expect("a gauntlet");
        assert_eq!(config.rows().expect("no games yet"), []);
        let mut played = 0;
        let stop = AtomicBool::new(false);
        config.play(1, &stop, &mut |_, _, _| played += 1).expect("played");
        config.play(1, &stop, &mut |_, done, games| assert_eq!(done, games)).expect("continued");
        assert_eq!(played, 5);
        // Results are read while another process plays.
        let (match_folder, _, match_config) = config.matches().remove(0);
        let playing = Arena::open(&match_folder, match_config).expect("locked");
        assert_eq!(config.rows().expect("results").len(), 1);
        drop(playing);
        let others = text.replace(", \"tictacmo\"", "").replace("random", "plain:visits=9");
        fs::write(&file, others).expect("written");
        let others = GauntletConfig::read(&file).expect("a gauntlet");
        let error = others.rows().expect_err("other players").to_string();
        assert!(
            error.contains("games of \"random\"") && error.contains("\"plain:visits=9\""),
            "{error}"
        );
        let document = folder.path().join("strength.md");
        fs::write(&document, "a\n<!-- gauntlet -->\nold\n<!-- end of gauntlet -->\nb\n")
            .expect("w");
        config.write_table(&document).expect("a table");
        let text = fs::read_to_string(&document).expect("read");
        assert!(text.starts_with("a\n<!-- gauntlet -->\n| variant |"), "{text}");
        assert!(text.contains("| mine | other | one visit | "), "{text}");
        assert!(
            text.ends_with("|\n<!-- end of gauntlet -->\nb\n") && !text.contains("old"),
            "{text}"
        );
        fs::write(&document, "nothing\n").expect("written");
        let error = config.write_table(&document).expect_err("no markers").to_string();
        assert!(error.ends_with("has no line \"<!-- gauntlet -->\""), "{error}");
    }

    #[test]
    fn gauntlet_stops_between_matches() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gauntlet.toml");
        let text = "folder = \"games\"\ngames = 4\n[[matches]]\nvariants = [\"3x3\", \"gardner\"]\n\
                    conditions = \"\"\nplayers = [\"random\", \"random\"]\n";
        fs::write(&file, text).expect("written");
        let config = GauntletConfig::read(&file).expect("a gauntlet");
        let mut seen = Vec::new();
        let stop = AtomicBool::new(true);
        config.play(1, &stop, &mut |variant, _, _| seen.push(variant.to_owned())).expect("stopped");
        assert_eq!(seen, ["3x3"]);
    }

    #[test]
    fn gauntlet_example_is_valid() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/gauntlet.toml");
        let config = GauntletConfig::read(&file).expect("a gauntlet");
        assert_eq!(config.matches().len(), 9);
    }

    #[test]
    fn gauntlet_errors_quote_the_setting() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gauntlet.toml");
        for (text, part) in [
            ("folder = 3", "folder"),
            ("folder = \"f\"\nmatches = []\nrounds = 1", "rounds"),
            (
                "folder = \"f\"\n[[matches]]\nvariants = []\nconditions = \"\"\nplayers = [\"random\"]",
                "match 1: no variants",
            ),
            (
                "folder = \"f\"\n[[matches]]\nvariants = [\"3x3\"]\nconditions = \"\"\nplayers = [\"random\"]",
                "fewer than two players",
            ),
            (
                "folder = \"f\"\n[[matches]]\nvariants = [\"3x3\"]\nconditions = \"\"\nplayers = [\"unknown\"]",
                "unknown",
            ),
        ] {
            fs::write(&file, text).expect("written");
            let error = GauntletConfig::read(&file).expect_err(text).to_string();
            assert!(error.contains(part) && error.contains("gauntlet.toml"), "{error}");
        }
    }
}

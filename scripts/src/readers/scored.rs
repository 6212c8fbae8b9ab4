//! Games with scores, from which sparse networks learn, and the messages of those that are skipped.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use menagerie::variant::Variant;

use super::{GameError, Games, ReadError, parse_labelled_game, read, read_lines};
use crate::record::{GamePlace, GameRecord, InvalidGame};

/// A game with scores of a search, as a file has it.
#[derive(Debug)]
pub(crate) enum ScoredGame {
    /// A line of labelled games, whose scores are the centipawns of a reference engine.
    Labelled {
        /// The file.
        file: Arc<str>,
        /// The number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A record of self-play, whose scores are expected results, or of a game without scores.
    Record(GamePlace, GameRecord),
    /// A game that could not be read.
    Invalid(GameError),
}

/// Why a game is skipped.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum SkippedGame {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(Box<GameError>),
    /// It is not possible in its variant.
    #[error(transparent)]
    Invalid(Box<InvalidGame>),
    /// It has nothing to learn from.
    #[error("{0}: no position to learn from")]
    NoPosition(String),
}

impl ScoredGame {
    /// Returns the records of the game. A game of bughouse on two boards has one for each position, if `variant` is a
    /// single board.
    ///
    /// # Errors
    /// [`SkippedGame`] if it is invalid or none of `variant`.
    pub(crate) fn records(&self, variant: &Variant) -> Result<Cow<'_, [GameRecord]>, SkippedGame> {
        let two_boards = |has_two: bool| if has_two { variant.on_two_boards() } else { None };
        let (game, two_boards) = match self {
            ScoredGame::Labelled { file, line, text } => {
                let two_boards = two_boards(text.contains('|'));
                let game = parse_labelled_game(text, two_boards.as_ref().unwrap_or(variant));
                let unreadable = |reason| GameError::new(file, *line, text, reason);
                let game =
                    game.map_err(|reason| SkippedGame::Unreadable(unreadable(reason).into()));
                (Cow::Owned(game?), two_boards)
            }
            ScoredGame::Record(place, game) => {
                let two_boards = two_boards(game.has_two_boards());
                let invalid = |fault| {
                    let (place, start) = (place.clone(), game.start.clone());
                    SkippedGame::Invalid(Box::new(InvalidGame { place, start, fault }))
                };
                game.check(two_boards.as_ref().unwrap_or(variant)).map_err(invalid)?;
                (Cow::Borrowed(game), two_boards)
            }
            ScoredGame::Invalid(error) => {
                return Err(SkippedGame::Unreadable(Box::new(error.clone())));
            }
        };
        Ok(match (two_boards, game) {
            (Some(two), game) => game.single_boards(&two).ok_or_else(|| self.no_position())?.into(),
            (None, Cow::Owned(game)) => vec![game].into(),
            (None, Cow::Borrowed(game)) => std::slice::from_ref(game).into(),
        })
    }

    /// Returns the error of a game that has nothing to learn from.
    pub(crate) fn no_position(&self) -> SkippedGame {
        SkippedGame::NoPosition(match self {
            ScoredGame::Labelled { file, line, .. } => format!("{file}, line {line}"),
            ScoredGame::Record(place, _) => place.to_string(),
            ScoredGame::Invalid(GameError { file, line, .. }) => format!("{file}, line {line}"),
        })
    }
}

/// Reads labelled games (`tsv`, `tsv.gz`), games of self-play (`games`) or a history of RBC (`json`, `json.gz`), and calls
/// `each` with at most `max_games` games at a time. Memory does not depend on the size of a file of labelled games; the
/// others are read whole. `variant` is that of the histories.
///
/// # Errors
/// If the file cannot be read or has another format, or what `each` returns.
pub(crate) fn stream_scored(
    path: &Path,
    variant: &Variant,
    max_games: usize,
    mut each: impl FnMut(Vec<ScoredGame>) -> io::Result<()>,
) -> Result<(), ReadError> {
    let name = path.display().to_string();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    if name.ends_with(".games") || plain.ends_with(".json") {
        let io = |source| ReadError::Io { path: name.clone(), source };
        let mut found = Games::default();
        read(path, variant, &mut found)?;
        let invalid = std::mem::take(&mut found.errors).into_iter().map(ScoredGame::Invalid);
        let records = found.into_placed().map(|(place, game)| ScoredGame::Record(place, game));
        let mut games = records.chain(invalid).peekable();
        while games.peek().is_some() {
            each(games.by_ref().take(max_games).collect()).map_err(io)?;
        }
        return Ok(());
    }
    let file: Arc<str> = name.into();
    read_lines(path, |lines| {
        let mut chunk = Vec::with_capacity(max_games);
        while let Some(text) = lines.next()? {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            chunk.push(ScoredGame::Labelled { file: Arc::clone(&file), line: lines.number, text });
            if chunk.len() == max_games {
                each(std::mem::take(&mut chunk))?;
            }
        }
        if chunk.is_empty() { Ok(()) } else { each(chunk) }
    })
}

/// The number of errors that are printed of a file.
const MAX_PRINTED_ERRORS: usize = 12;

/// Prints the errors of the games of a file that are skipped on the standard error, the first ones in full.
#[derive(Debug)]
pub struct SkipReport {
    file: String,
    skipped: usize,
}

impl SkipReport {
    /// Returns a report on the games of a file.
    pub fn new(file: &Path) -> SkipReport {
        SkipReport { file: file.display().to_string(), skipped: 0 }
    }

    /// Adds a game that is skipped. The error names the file.
    pub fn add(&mut self, error: &impl fmt::Display) {
        self.skipped += 1;
        if self.skipped <= MAX_PRINTED_ERRORS {
            eprintln!("{error}");
        }
    }

    /// Prints how many errors were not printed, and returns the number of games that are skipped.
    pub fn finish(self) -> usize {
        let SkipReport { file, skipped } = self;
        if skipped > MAX_PRINTED_ERRORS {
            eprintln!("{file}: {} more games are skipped", skipped - MAX_PRINTED_ERRORS);
        }
        skipped
    }
}

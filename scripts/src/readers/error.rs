//! Errors in games of other programs.

use menagerie::rules::FenError;
use menagerie_rbc::HistoryError;

use super::bpgn::BpgnError;
use super::epd::EpdError;
use super::labelled::LabelledError;
use super::pgn::PgnError;
use super::tokens::SyntaxError;
use menagerie::rules::san::SanError;

/// A game of a file that is invalid and was skipped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}, line {line}: {reason}: \"{text}\"")]
pub struct GameError {
    /// The file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line, its begin, or the invalid word.
    pub text: String,
    /// The reason.
    pub reason: GameErrorKind,
}

/// An invalid line of a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}: \"{text}\"")]
pub struct LineError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The invalid word or tag.
    pub text: String,
    /// The reason.
    pub reason: GameErrorKind,
}

/// Why a game is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GameErrorKind {
    /// The start position is invalid.
    #[error(transparent)]
    Fen(#[from] FenError),
    /// A move is not legal or ambiguous.
    #[error(transparent)]
    Move(#[from] SanError),
    /// The game is one of another variant.
    #[error("a game of {found}, not of {expected}")]
    OtherVariant {
        /// The variant of the game.
        found: String,
        /// The variant that was asked for.
        expected: String,
    },
    /// The result has none of the forms of PGN.
    #[error("invalid result \"{0}\"")]
    Result(String),
    /// The game has no moves.
    #[error("no moves")]
    NoMoves,
    /// The text is no PGN or BPGN.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A game in PGN is invalid.
    #[error(transparent)]
    Pgn(#[from] PgnError),
    /// A game in BPGN is invalid.
    #[error(transparent)]
    Bpgn(#[from] BpgnError),
    /// A position in EPD is invalid.
    #[error(transparent)]
    Epd(#[from] EpdError),
    /// A labelled game is invalid.
    #[error(transparent)]
    Labelled(#[from] LabelledError),
    /// The text is no JSON. The message is that of the parser.
    #[error("invalid JSON: {0}")]
    Json(String),
    /// The JSON is not a history of a game.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Longer texts are cut when they are quoted.
const MAX_QUOTED_CHARS: usize = 160;

impl GameError {
    /// Returns the error of a line, which quotes the begin of `text`.
    pub(super) fn new(
        file: &str,
        line: usize,
        text: &str,
        reason: impl Into<GameErrorKind>,
    ) -> GameError {
        let mut quoted: String = text.chars().take(MAX_QUOTED_CHARS).collect();
        if quoted.len() < text.len() {
            quoted.push_str("...");
        }
        GameError { file: file.to_owned(), line, text: quoted, reason: reason.into() }
    }
}

impl LineError {
    /// Returns the error as one of a file.
    pub(super) fn in_file(self, file: &str) -> GameError {
        GameError::new(file, self.line, &self.text, self.reason)
    }
}

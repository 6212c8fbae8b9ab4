//! Errors in games of other programs.

use menagerie::rules::FenError;
use menagerie::rules::san::SanError;
use menagerie_rbc::HistoryError;

use super::tokens::SyntaxError;

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
    /// By the rules, the game ended with another result than the file gives it. The text is the outcome.
    #[error("another result than that of the rules, {0}")]
    OtherResult(String),
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

/// Why a game in PGN is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PgnError {
    /// The variant of the tag has no start position of its own.
    #[error("{0} without a FEN")]
    NoFen(String),
    /// The tag `Result` and the text of the moves have different results.
    #[error("the tag Result differs from the result at the end")]
    ResultsDiffer,
    /// The comment `[%eval ..]` has no valid score.
    #[error("invalid score \"{0}\"")]
    Score(String),
}

/// Why a game in BPGN is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BpgnError {
    /// The variant has one board.
    #[error("{0} has one board")]
    OneBoard(String),
    /// A move of a player that is not to move.
    #[error("the seat is not to move")]
    NotToMove,
    /// The game has variations.
    #[error("variations are not supported")]
    Variation,
    /// A word that should be the number of a move is none.
    #[error("not the number of a move, such as 1A.")]
    MoveNumber,
    /// The number of a move does not follow that of the last move.
    #[error("not the next move of its board")]
    MoveOrder,
    /// The game has no tags, so that the players are unknown.
    #[error("no tags")]
    NoTags,
    /// The last number, of the player with this name, has no move.
    #[error("the last move of {0} is missing")]
    NoLastMove(&'static str),
    /// The game has no result.
    #[error("no result at the end")]
    NoResult,
}

/// Why a position in EPD is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EpdError {
    /// An operation has no number where one is required.
    #[error("no number in \"{0}\"")]
    Number(String),
    /// The operations have neither a best move nor a score.
    #[error("no bm, ce or dm")]
    NoTarget,
    /// A `"` is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
}

/// Why a labelled game is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LabelledError {
    /// The line has too few fields.
    #[error("{0} fields instead of 4")]
    Fields(usize),
    /// A game of two boards for a variant of one board.
    #[error("a game of two boards")]
    TwoBoards,
    /// A ply is invalid.
    #[error("ply \"{text}\": {source}")]
    Ply {
        /// The text of the ply.
        text: String,
        /// The error.
        source: PlyError,
    },
}

/// Why a ply of a labelled game is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlyError {
    /// A move is not legal.
    #[error(transparent)]
    Move(#[from] SanError),
    /// A move has no `:SCORE`.
    #[error("no score")]
    NoScore,
    /// A score has no move.
    #[error("a score without a move")]
    ScoreWithoutMove,
    /// Neither a best nor a played move.
    #[error("no move")]
    NoMove,
    /// A score is neither centipawns nor `mN`.
    #[error("invalid score \"{0}\"")]
    Score(String),
    /// A ply of two boards does not have three parts.
    #[error("expected MOVE:SCORE:CLOCK")]
    Parts,
    /// The move does not begin with the number of a board.
    #[error("no board in \"{0}\"")]
    Board(String),
    /// The clock is not a number of seconds.
    #[error("invalid clock \"{0}\"")]
    Clock(String),
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

//! A game from its texts: variant, FEN, turns and the plies of a turn that is not complete.

use std::sync::Arc;

use menagerie::rules::{ByColor, Clocks, FenError, Move, MoveList, Position, Side};
use menagerie::variant::{Catalogue, UnknownVariant, Variant};
use serde::Deserialize;

use crate::limits::{
    MAX_CLOCK_MILLISECONDS, MAX_FEN_BYTES, MAX_PLIES, MAX_TURN_BYTES, MAX_TURNS, quote,
};
use crate::notation::{seats, turn_san};
use crate::variants::HIDDEN_VARIANT;

/// A game as the page sends it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub(crate) struct GameText {
    pub(crate) variant: String,
    /// The start; that of the variant if it is missing.
    pub(crate) fen: Option<String>,
    /// Whether castling is written as king takes rook.
    #[serde(default)]
    pub(crate) chess960: bool,
    /// Whole turns in the notation of UCI. With two boards also single plies of any player on turn.
    #[serde(default)]
    pub(crate) moves: Vec<String>,
    /// The plies of a turn that is not complete.
    #[serde(default)]
    pub(crate) plies: Vec<String>,
    /// With two boards: the milliseconds of White and Black on the first board and on the second.
    pub(crate) clocks: Option<[f64; 4]>,
}

/// Why a game is refused. The messages quote the text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GameTextError {
    #[error(transparent)]
    Variant(#[from] UnknownVariant),
    #[error("{HIDDEN_VARIANT} has no position, begin a game by rbc.new")]
    Hidden,
    #[error("FEN of {bytes} bytes, expected at most {MAX_FEN_BYTES}: \"{text}\"")]
    LongFen { bytes: usize, text: String },
    #[error(transparent)]
    Fen(#[from] FenError),
    #[error("{0} moves, expected at most {MAX_TURNS}")]
    TurnCount(usize),
    #[error("illegal move \"{text}\", number {number}, in \"{fen}\"")]
    Turn { text: String, number: usize, fen: String },
    #[error("{0} plies, expected at most {MAX_PLIES}")]
    PlyCount(usize),
    #[error("illegal ply \"{text}\" in \"{fen}\"")]
    Ply { text: String, fen: String },
    #[error("plies are complete before \"{0}\"")]
    ExtraPly(String),
}

impl GameText {
    /// Returns the variant.
    ///
    /// # Errors
    /// If there is none of its name, or it is that of RBC.
    pub(crate) fn variant(&self, catalogue: &Catalogue) -> Result<Arc<Variant>, GameTextError> {
        if self.variant == HIDDEN_VARIANT {
            return Err(GameTextError::Hidden);
        }
        catalogue.require(&self.variant).map_err(|error| {
            GameTextError::Variant(UnknownVariant { name: quote(&error.name), ..error })
        })
    }

    /// Checks what does not depend on the rules.
    ///
    /// # Errors
    /// If a part is too long.
    pub(crate) fn check_size(&self) -> Result<(), GameTextError> {
        if let Some(fen) = &self.fen
            && fen.len() > MAX_FEN_BYTES
        {
            return Err(GameTextError::LongFen { bytes: fen.len(), text: quote(fen) });
        }
        if self.moves.len() > MAX_TURNS {
            return Err(GameTextError::TurnCount(self.moves.len()));
        }
        if self.plies.len() > MAX_PLIES {
            return Err(GameTextError::PlyCount(self.plies.len()));
        }
        Ok(())
    }

    /// Returns the four clocks.
    pub(crate) fn position_clocks(&self) -> Option<Clocks> {
        let clocks = self.clocks?.map(|time| clamp_milliseconds(time) as u32);
        let [white_a, black_a, white_b, black_b] = clocks;
        Some(Clocks([
            ByColor { white: white_a, black: black_a },
            ByColor { white: white_b, black: black_b },
        ]))
    }

    fn start(&self, variant: &Variant) -> Result<Position, GameTextError> {
        let fen = self.fen.as_deref().unwrap_or(variant.start_fen());
        Ok(variant.position(fen, self.chess960)?)
    }

    /// Returns `true` if another game has the same start.
    fn has_same_start(&self, other: &GameText) -> bool {
        self.variant == other.variant && self.fen == other.fen && self.chess960 == other.chess960
    }
}

/// Returns a time of the page, which may be negative or have a fraction, within the limits of clocks.
pub(crate) fn clamp_milliseconds(time: f64) -> i64 {
    (time.round() as i64).clamp(0, MAX_CLOCK_MILLISECONDS)
}

/// A game after whole turns.
#[derive(Clone, Debug)]
pub(crate) struct PlayedTurns {
    text: GameText,
    /// The position after the turns, without the clocks of the message.
    pub(crate) position: Position,
    /// The algebraic notation of each turn.
    pub(crate) sans: Vec<String>,
    /// With two boards: the players of each turn, see [`seats`].
    pub(crate) seats: Vec<String>,
    /// The last ply on each board and the position before it; of a single board, all plies of the last
    /// turn.
    pub(crate) last_plies: Vec<(Position, Move)>,
}

impl PlayedTurns {
    /// Plays the turns of `text`. Continues from `previous` if that is an earlier part of the same game.
    ///
    /// # Errors
    /// If the variant is unknown, the FEN is refused, or a turn is illegal.
    pub(crate) fn replay(
        text: &GameText,
        catalogue: &Catalogue,
        previous: Option<PlayedTurns>,
    ) -> Result<PlayedTurns, GameTextError> {
        let variant = text.variant(catalogue)?;
        text.check_size()?;
        let previous = previous.filter(|previous| {
            previous.text.has_same_start(text) && text.moves.starts_with(&previous.text.moves)
        });
        let mut played = match previous {
            Some(previous) => previous,
            None => PlayedTurns {
                text: GameText { moves: Vec::new(), ..text.clone() },
                position: text.start(&variant)?,
                sans: Vec::new(),
                seats: Vec::new(),
                last_plies: Vec::new(),
            },
        };
        for turn in &text.moves[played.text.moves.len()..] {
            played.play(turn)?;
        }
        Ok(played)
    }

    fn play(&mut self, text: &str) -> Result<(), GameTextError> {
        let is_short = text.len() <= MAX_TURN_BYTES;
        let plies = if is_short { self.position.parse_turn(text) } else { None };
        let plies = plies.ok_or_else(|| GameTextError::Turn {
            text: quote(text),
            number: self.text.moves.len() + 1,
            fen: self.position.fen(),
        })?;
        self.sans.push(turn_san(&self.position, &plies));
        self.seats.push(seats(&self.position, &plies));
        if !self.position.game_spec().two_boards {
            self.last_plies.clear();
        }
        for ply in plies {
            let before = self.position.clone();
            self.position.play_unchecked(ply);
            self.add_last_ply(before, ply);
        }
        self.text.moves.push(text.to_owned());
        Ok(())
    }

    /// Adds a ply to the last ones. With two boards it replaces that on the same board.
    pub(crate) fn add_last_ply(&mut self, before: Position, ply: Move) {
        if before.game_spec().two_boards {
            if ply == Move::Pass {
                return;
            }
            self.last_plies.retain(|(_, last)| last.board() != ply.board());
        }
        self.last_plies.push((before, ply));
    }
}

/// A legal ply, and the position with its player to move.
#[derive(Clone, Debug)]
pub(crate) struct PlayablePly {
    pub(crate) position: Arc<Position>,
    pub(crate) ply: Move,
}

impl PlayablePly {
    /// Returns its text.
    pub(crate) fn text(&self) -> String {
        self.position.move_text(self.ply)
    }
}

/// Returns all legal plies. With two boards these are the plies of both teams, if both may move now.
pub(crate) fn playable_plies(position: &Position) -> Vec<PlayablePly> {
    let mut plies = Vec::new();
    add_plies(position.clone(), &mut plies);
    if position.game_spec().two_boards {
        let mut other = position.clone();
        let side = if position.turn() == Side::WHITE { Side::BLACK } else { Side::WHITE };
        if other.set_side_to_move(side) {
            let first = plies.len();
            add_plies(other, &mut plies);
            // The text of a pass does not distinguish the teams.
            let mut index = 0;
            plies.retain(|playable| {
                index += 1;
                index <= first || playable.ply != Move::Pass
            });
        }
    }
    plies
}

fn add_plies(position: Position, out: &mut Vec<PlayablePly>) {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let position = Arc::new(position);
    out.extend(legal.into_iter().map(|ply| PlayablePly { position: Arc::clone(&position), ply }));
}

/// Returns the legal ply with a text.
///
/// # Errors
/// If there is none.
pub(crate) fn parse_ply(position: &Position, text: &str) -> Result<PlayablePly, GameTextError> {
    let found = playable_plies(position).into_iter().find(|playable| playable.text() == text);
    found.ok_or_else(|| GameTextError::Ply { text: quote(text), fen: position.fen() })
}

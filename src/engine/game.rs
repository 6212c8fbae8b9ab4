//! The game in play: where it began and what was played since.

use crate::rules::{FenError, Move, Position};
use crate::variant::Variant;

/// Why a game was refused. Each quotes the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GameError {
    /// It does not begin with a position of the variant.
    #[error(transparent)]
    Fen(#[from] FenError),
    /// A turn is not legal.
    #[error("illegal move \"{text}\", number {number}, in \"{fen}\"")]
    Turn {
        /// The text of the turn.
        text: String,
        /// Its place among the turns, from 1.
        number: usize,
        /// The position in which it was to be played.
        fen: String,
    },
}

/// A game in play.
#[derive(Clone, Debug)]
pub(super) struct Game {
    start: String,
    chess960: bool,
    plies: Vec<Move>,
    /// After how many plies each turn ended.
    ends: Vec<usize>,
    position: Position,
}

impl Game {
    /// The game of `variant` before its first turn. `chess960` says how castling is written.
    pub(super) fn new(variant: &Variant, chess960: bool) -> Game {
        let start = variant.start_fen().to_owned();
        // The start is known to be good, with whatever castling.
        let position = variant.position(&start, chess960).unwrap_or_else(|_| variant.start());
        Game { start, chess960, plies: Vec::new(), ends: Vec::new(), position }
    }

    /// The game that begins with the position `fen`, or that of the variant, and goes on by
    /// `turns`.
    pub(super) fn read(
        variant: &Variant,
        chess960: bool,
        fen: Option<&str>,
        turns: &[&str],
    ) -> Result<Game, GameError> {
        let start = fen.unwrap_or(variant.start_fen()).to_owned();
        let position = variant.position(&start, chess960)?;
        let mut game = Game { start, chess960, plies: Vec::new(), ends: Vec::new(), position };
        turns.iter().try_for_each(|text| game.play(text))?;
        Ok(game)
    }

    /// Goes on by one turn.
    pub(super) fn play(&mut self, text: &str) -> Result<(), GameError> {
        let plies = self.position.parse_turn(text).ok_or_else(|| GameError::Turn {
            text: text.to_owned(),
            number: self.ends.len() + 1,
            fen: self.position.fen(),
        })?;
        plies.iter().for_each(|&ply| self.position.play_unchecked(ply));
        self.plies.extend(plies);
        self.ends.push(self.plies.len());
        Ok(())
    }

    /// The game before its last `turns` turns; `None` if it has not so many.
    pub(super) fn before(&self, variant: &Variant, turns: usize) -> Option<Game> {
        let left = self.ends.len().checked_sub(turns)?;
        let ends = self.ends[..left].to_vec();
        let plies = self.plies[..ends.last().copied().unwrap_or(0)].to_vec();
        let mut position = variant.position(&self.start, self.chess960).ok()?;
        plies.iter().for_each(|&ply| position.play_unchecked(ply));
        Some(Game { start: self.start.clone(), chess960: self.chess960, plies, ends, position })
    }

    /// The same game with castling written the other way.
    pub(super) fn rewritten(&self, variant: &Variant, chess960: bool) -> Result<Game, GameError> {
        let mut game = Game::read(variant, chess960, Some(&self.start), &[])?;
        self.plies.iter().for_each(|&ply| game.position.play_unchecked(ply));
        game.plies.clone_from(&self.plies);
        game.ends.clone_from(&self.ends);
        Ok(game)
    }

    /// Changes what stands beside the plies: whose turn it is thought to be, and the clocks.
    pub(super) fn position_mut(&mut self) -> &mut Position {
        &mut self.position
    }

    /// Where it stands.
    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// The plies by which it goes on from where `earlier` stands, if it does.
    pub(super) fn since(&self, earlier: &Game) -> Option<&[Move]> {
        let same = self.start == earlier.start && self.chess960 == earlier.chess960;
        self.plies.strip_prefix(&earlier.plies[..]).filter(|_| same)
    }
}

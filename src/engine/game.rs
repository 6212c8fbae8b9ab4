//! The game in play: where it began and what was played since.

use crate::rules::{FenError, FenRepair, Move, Position};
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
        /// What was left out of the FEN that the turns begin with.
        repairs: Vec<FenRepair>,
    },
}

impl GameError {
    /// What was left out of the FEN before the turn that is not legal.
    pub fn repairs(&self) -> &[FenRepair] {
        match self {
            GameError::Fen(_) => &[],
            GameError::Turn { repairs, .. } => repairs,
        }
    }

    /// The same error in a game whose FEN had `left_out`.
    fn after(mut self, left_out: &[FenRepair]) -> GameError {
        if let GameError::Turn { repairs, .. } = &mut self {
            *repairs = left_out.to_vec();
        }
        self
    }
}

/// A game in play.
#[derive(Clone, Debug)]
pub(super) struct Game {
    start: String,
    /// The position that `start` is the FEN of.
    first: Position,
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
        let first = variant.position(&start, chess960).unwrap_or_else(|_| variant.start());
        Game::from_start(start, first, chess960)
    }

    fn from_start(start: String, first: Position, chess960: bool) -> Game {
        let position = first.clone();
        Game { start, first, chess960, plies: Vec::new(), ends: Vec::new(), position }
    }

    /// The game that begins with the position `fen`, or that of the variant, and goes on by
    /// `turns`; and what was left out of the FEN.
    pub(super) fn read(
        variant: &Variant,
        chess960: bool,
        fen: Option<&str>,
        turns: &[&str],
    ) -> Result<(Game, Vec<FenRepair>), GameError> {
        let start = fen.unwrap_or(variant.start_fen()).to_owned();
        let (first, repairs) = variant.position_with_repairs(&start, chess960)?;
        let mut game = Game::from_start(start, first, chess960);
        for text in turns {
            game.play(text).map_err(|error| error.after(&repairs))?;
        }
        Ok((game, repairs))
    }

    /// Goes on by one turn.
    pub(super) fn play(&mut self, text: &str) -> Result<(), GameError> {
        let plies = self.position.parse_turn(text).ok_or_else(|| GameError::Turn {
            text: text.to_owned(),
            number: self.ends.len() + 1,
            fen: self.position.fen(),
            repairs: Vec::new(),
        })?;
        plies.iter().for_each(|&ply| self.position.play_unchecked(ply));
        self.plies.extend(plies);
        self.ends.push(self.plies.len());
        Ok(())
    }

    /// The game before its last `turns` turns; `None` if it has not so many.
    pub(super) fn before(&self, turns: usize) -> Option<Game> {
        let left = self.ends.len().checked_sub(turns)?;
        let ends = self.ends[..left].to_vec();
        let plies = self.plies[..ends.last().copied().unwrap_or(0)].to_vec();
        let mut game = Game::from_start(self.start.clone(), self.first.clone(), self.chess960);
        plies.iter().for_each(|&ply| game.position.play_unchecked(ply));
        Some(Game { plies, ends, ..game })
    }

    /// Sets how castling is written. The rights of the start stay as they were read.
    pub(super) fn write_chess960(&mut self, variant: &Variant, chess960: bool) {
        self.chess960 = chess960;
        let chess960 = variant.writes_chess960(chess960);
        self.first.write_chess960(chess960);
        self.position.write_chess960(chess960);
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

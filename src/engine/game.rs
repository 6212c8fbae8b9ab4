//! The game in play: its start position and the turns played since.

use crate::rules::{FenError, FenRepair, Move, Position};
use crate::variant::Variant;

/// Why a game was refused. The messages quote the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GameError {
    /// The FEN of its start is not a position of the variant.
    #[error(transparent)]
    Fen(#[from] FenError),
    /// A turn is illegal.
    #[error("illegal move \"{text}\", number {number}, in \"{fen}\"")]
    Turn {
        /// The text of the turn.
        text: String,
        /// Its number among the turns, from 1.
        number: usize,
        /// The position in which it was to be played.
        fen: String,
        /// What was left out of the FEN of the start.
        repairs: Vec<FenRepair>,
    },
}

impl GameError {
    /// Returns what was left out of the FEN before the illegal turn.
    pub fn repairs(&self) -> &[FenRepair] {
        match self {
            GameError::Fen(_) => &[],
            GameError::Turn { repairs, .. } => repairs,
        }
    }

    /// Adds what was left out of the FEN of the start.
    fn with_repairs(mut self, fen_repairs: &[FenRepair]) -> GameError {
        if let GameError::Turn { repairs, .. } = &mut self {
            *repairs = fen_repairs.to_vec();
        }
        self
    }
}

/// A game in play.
#[derive(Clone, Debug)]
pub(super) struct PlayedGame {
    /// The FEN of the start.
    start: String,
    /// The position of `start`.
    first: Position,
    chess960: bool,
    plies: Vec<Move>,
    /// The number of plies at the end of each turn.
    ends: Vec<usize>,
    position: Position,
}

impl PlayedGame {
    /// Returns the game of `variant` before its first turn. With `chess960`, castling is written as king
    /// takes rook.
    pub(super) fn new(variant: &Variant, chess960: bool) -> PlayedGame {
        let start = variant.start_fen().to_owned();
        // The start is valid with any notation of castling.
        let first = variant.position(&start, chess960).unwrap_or_else(|_| variant.start());
        PlayedGame::from_start(start, first, chess960)
    }

    fn from_start(start: String, first: Position, chess960: bool) -> PlayedGame {
        let position = first.clone();
        PlayedGame { start, first, chess960, plies: Vec::new(), ends: Vec::new(), position }
    }

    /// Parses the game that starts with the position `fen`, or that of the variant, and continues with
    /// `turns`. Also returns what was left out of the FEN.
    ///
    /// # Errors
    /// If the FEN is refused or a turn is illegal.
    pub(super) fn parse(
        variant: &Variant,
        chess960: bool,
        fen: Option<&str>,
        turns: &[&str],
    ) -> Result<(PlayedGame, Vec<FenRepair>), GameError> {
        let start = fen.unwrap_or(variant.start_fen()).to_owned();
        let (first, repairs) = variant.position_with_repairs(&start, chess960)?;
        let mut game = PlayedGame::from_start(start, first, chess960);
        for text in turns {
            game.play(text).map_err(|error| error.with_repairs(&repairs))?;
        }
        Ok((game, repairs))
    }

    /// Plays one turn.
    pub(super) fn play(&mut self, text: &str) -> Result<(), GameError> {
        let plies = self.position.parse_turn(text).ok_or_else(|| GameError::Turn {
            text: text.to_owned(),
            number: self.ends.len() + 1,
            fen: self.position.fen(),
            repairs: Vec::new(),
        })?;
        for &ply in &plies {
            self.position.play_unchecked(ply);
        }
        self.plies.extend(plies);
        self.ends.push(self.plies.len());
        Ok(())
    }

    /// Returns the game before its last `turns` turns; `None` if it has fewer.
    pub(super) fn before(&self, turns: usize) -> Option<PlayedGame> {
        let remaining = self.ends.len().checked_sub(turns)?;
        let ends = self.ends[..remaining].to_vec();
        let plies = self.plies[..ends.last().copied().unwrap_or(0)].to_vec();
        let mut game =
            PlayedGame::from_start(self.start.clone(), self.first.clone(), self.chess960);
        for &ply in &plies {
            game.position.play_unchecked(ply);
        }
        Some(PlayedGame { plies, ends, ..game })
    }

    /// Sets how castling is written. The castling rights of the start stay as they were parsed.
    pub(super) fn write_chess960(&mut self, variant: &Variant, chess960: bool) {
        self.chess960 = chess960;
        let chess960 = variant.writes_chess960(chess960);
        self.first.write_chess960(chess960);
        self.position.write_chess960(chess960);
    }

    /// Returns the current position, to change what does not depend on the plies: the team to move and the
    /// clocks of bughouse.
    pub(super) fn position_mut(&mut self) -> &mut Position {
        &mut self.position
    }

    /// Returns the current position.
    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the plies played since `earlier`; `None` if that is another game.
    pub(super) fn since(&self, earlier: &PlayedGame) -> Option<&[Move]> {
        if self.start != earlier.start || self.chess960 != earlier.chess960 {
            return None;
        }
        self.plies.strip_prefix(&earlier.plies[..])
    }
}

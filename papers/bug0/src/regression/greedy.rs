//! The player of a regression.

use std::path::{Path, PathBuf};

use menagerie::rules::{Move, MoveList, Position, Side};
use menagerie::variant::Variant;

use super::features::{Features, ToMove};
use super::model::{Model, ModelError};

/// A player that searches one ply and chooses the position that its regression rates best. It does
/// not recognize mates.
#[derive(Debug)]
pub struct Greedy {
    model: Model,
}

/// Errors of [`Greedy::open`].
#[derive(Debug, thiserror::Error)]
pub enum GreedyError {
    /// The variant is not played on two boards.
    #[error("{}: regressions are for bughouse on two boards, not for {variant}", path.display())]
    Variant {
        /// The file of the model.
        path: PathBuf,
        /// The variant.
        variant: String,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file of the model.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not a valid model.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file of the model.
        path: PathBuf,
        /// What is wrong with it.
        source: ModelError,
    },
}

impl Greedy {
    /// Opens the model in `file`.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid, or the variant is not played on two boards.
    pub fn open(file: &Path, variant: &Variant) -> Result<Greedy, GreedyError> {
        let path = file.to_owned();
        if !variant.has_two_boards() {
            return Err(GreedyError::Variant { path, variant: variant.name().to_owned() });
        }
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(source) => return Err(GreedyError::Io { path, source }),
        };
        match Model::from_bytes(&bytes) {
            Ok(model) => Ok(Greedy { model }),
            Err(source) => Err(GreedyError::Model { path, source }),
        }
    }

    /// Returns the move to the position with the highest value for the side to move, the first one if
    /// several are equal, or `None` if there is no legal move.
    pub fn best_move(&self, position: &Position) -> Option<Move> {
        let sign = if position.turn() == Side::WHITE { 1.0 } else { -1.0 };
        let mut moves = MoveList::new();
        position.legal_moves(&mut moves);
        let mut best: Option<(f32, Move)> = None;
        for m in moves {
            let mut next = position.clone();
            next.play_unchecked(m);
            let features = Features::from_position(&next, ToMove::in_position(&next));
            let value = sign * self.model.predict(&features);
            if best.is_none_or(|(highest, _)| value > highest) {
                best = Some((value, m));
            }
        }
        best.map(|(_, m)| m)
    }
}

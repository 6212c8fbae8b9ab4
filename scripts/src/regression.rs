//! The regressions of Bug0 (Ardeshna, Selwyn and Singhal, section III.C): what a position of
//! bughouse is worth, learnt from recorded games, and a player that goes by it.
//!
//! - [`planes`]: the paper's 60 planes.
//! - [`states`]: positions of recorded games with the values that they are given.
//! - [`principal`]: principal components of the planes.
//! - [`fit`]: linear regression, elastic net, decision tree and random forest.
//! - [`model`]: what came of it, and its file.

pub mod fit;
pub mod model;
pub mod planes;
pub mod principal;
pub mod states;

use std::path::Path;

use menagerie::rules::{Move, MoveList, Position, Side};
use menagerie::variant::Variant;

use model::Model;
use planes::{Next, Numbers};

/// A player that looks one ply ahead and goes for the best position by a regression, which knows
/// nothing of mates.
#[derive(Debug)]
pub struct Greedy {
    model: Model,
}

impl Greedy {
    /// Goes by the model in `file`.
    ///
    /// # Errors
    /// If it cannot be read or is damaged, or the game has not two tables.
    pub fn open(file: &Path, variant: &Variant) -> anyhow::Result<Greedy> {
        let (name, game) = (file.display().to_string(), variant.name());
        anyhow::ensure!(variant.has_tables(), "{name}: {game} has not two tables");
        let bytes = std::fs::read(file).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(Greedy { model: Model::read(&name, &bytes)? })
    }

    /// The move to the position that is worth most to the mover, the first if several are; `None` if
    /// there is no move.
    pub fn best_move(&self, position: &Position) -> Option<Move> {
        let sign = if position.turn() == Side::WHITE { 1.0 } else { -1.0 };
        let mut moves = MoveList::new();
        position.legal_moves(&mut moves);
        let mut best: Option<(f32, Move)> = None;
        for m in moves {
            let mut after = position.clone();
            after.play_unchecked(m);
            let value = sign * self.model.predict(&Numbers::of(&after, Next::of(&after)));
            if best.is_none_or(|(highest, _)| value > highest) {
                best = Some((value, m));
            }
        }
        best.map(|(_, m)| m)
    }
}

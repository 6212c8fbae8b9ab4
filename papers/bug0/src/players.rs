//! The paper's players as custom players of the trainer's arena.

use std::path::PathBuf;
use std::sync::Arc;

use menagerie::rules::Position;
use menagerie::variant::Variant;
use trainer::arena::player::{Player, PlyChooser};
use trainer::arena::spec::{PlayerKind, PlayerSpec};

use crate::minimax::Minimax;
use crate::regression::greedy::{Greedy, GreedyError};

/// The greatest depth of a minimax player.
pub const MAX_DEPTH_PLIES: u32 = 32;

/// Errors of [`create`].
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// The minimax player cannot play the variant.
    #[error("minimax is for 2 players, {variant} has {sides}")]
    Sides {
        /// The variant.
        variant: String,
        /// Its number of sides.
        sides: usize,
    },
    /// The depth of the minimax player is too great.
    #[error("minimax depth {0} is above the maximum {MAX_DEPTH_PLIES}")]
    Depth(u32),
    /// The regression cannot be used.
    #[error(transparent)]
    Regression(#[from] GreedyError),
    /// The specification is neither that of [`minimax`] nor that of [`regression`].
    #[error("unknown player \"{0}\"")]
    Unknown(String),
}

/// Returns the specification of a minimax player.
pub fn minimax(depth: u32) -> PlayerSpec {
    PlayerSpec {
        depth: Some(depth),
        name: Some(format!("minimax-d{depth}")),
        ..PlayerSpec::new(PlayerKind::Custom)
    }
}

/// Returns the specification of a greedy player that uses the regression in `file`.
pub fn regression(file: PathBuf) -> PlayerSpec {
    PlayerSpec { file: Some(file), ..PlayerSpec::new(PlayerKind::Custom) }
}

/// Creates the player of a specification made by [`minimax`] or [`regression`], as
/// [`Arena::with_custom_players`](trainer::arena::Arena::with_custom_players) expects it.
///
/// # Errors
/// Those of [`PlayerError`].
pub fn create(variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    let has_other_limits = spec.visits.is_some() || spec.movetime.is_some();
    match (&spec.file, spec.depth) {
        _ if has_other_limits => Err(PlayerError::Unknown(spec.to_string()).into()),
        (None, Some(depth)) => Ok(create_minimax(variant, depth)?),
        (Some(file), None) => {
            let greedy = Greedy::open(file, variant).map_err(PlayerError::from)?;
            Ok(Box::new(PlyChooser(move |position: &Position| greedy.best_move(position))))
        }
        _ => Err(PlayerError::Unknown(spec.to_string()).into()),
    }
}

fn create_minimax(variant: &Variant, depth: u32) -> Result<Box<dyn Player>, PlayerError> {
    let sides = variant.start().game_spec().sides;
    if sides != 2 {
        return Err(PlayerError::Sides { variant: variant.name().to_owned(), sides });
    }
    if depth > MAX_DEPTH_PLIES {
        return Err(PlayerError::Depth(depth));
    }
    let mut minimax = Minimax::new(depth);
    Ok(Box::new(PlyChooser(move |position: &Position| minimax.best_move(position))))
}

//! Records of version 2, which did not say how much a search surprised its network, and of version 3,
//! which knew no clocks.

use serde::Deserialize;

use super::{End, GameRecord, PlyRecord};

/// The version that knew no clocks.
pub(super) const WITHOUT_CLOCKS: u32 = 3;

/// A whole game of version 3.
#[derive(Deserialize)]
pub(super) struct Unclocked {
    start: String,
    plies: Vec<PlyRecord>,
    end: Option<End>,
}

impl From<Unclocked> for GameRecord {
    fn from(game: Unclocked) -> GameRecord {
        let Unclocked { start, plies, end } = game;
        GameRecord { start, plies, end, ..GameRecord::default() }
    }
}

/// A whole game of version 2.
#[derive(Deserialize)]
pub(super) struct Game {
    start: String,
    plies: Vec<Ply>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct Ply {
    played: u16,
    policy: Vec<(u16, u16)>,
    score: Option<f32>,
    proven: Option<End>,
}

impl From<Game> for GameRecord {
    fn from(game: Game) -> GameRecord {
        let plies = game.plies.into_iter().map(|ply| PlyRecord {
            played: ply.played,
            policy: ply.policy,
            score: ply.score,
            proven: ply.proven,
            surprise: None,
        });
        let (start, end) = (game.start, game.end);
        GameRecord { start, plies: plies.collect(), end, ..GameRecord::default() }
    }
}

//! Records of version 2, which did not say how much a search surprised its network.

use serde::Deserialize;

use super::{End, GameRecord, PlyRecord};

/// A whole game of then.
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
        GameRecord { start: game.start, plies: plies.collect(), end: game.end }
    }
}

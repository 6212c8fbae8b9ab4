//! Uploads of workers: finished games with the statistics of their searches.

use std::fmt;
use std::str::FromStr;

use menagerie::rules::{MoveList, PackedMove};
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::record::{self, End, GameRecord, RecordError};
use crate::selfplay::SelfPlayStats;

/// The folder of uploads that no iteration has claimed.
pub(super) const INCOMING: &str = "incoming";

/// The folder of uploads that the learner has refused.
pub(super) const REJECTED: &str = "rejected";

const MAGIC: &[u8; 8] = b"MNGRUPLD";

/// The name of an upload: `00012-WORKER-000034-5.games`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UploadName {
    /// The newest network with which its games were played, by its iteration.
    pub(super) iteration: u64,
    /// The identity of the worker.
    pub(super) worker: String,
    /// The number of the worker's uploads before it.
    pub(super) sequence: u64,
    /// The number of games.
    pub(super) games: u64,
}

impl fmt::Display for UploadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UploadName { iteration, worker, sequence, games } = self;
        write!(f, "{iteration:05}-{worker}-{sequence:06}-{games}.games")
    }
}

/// A text that is no name of an upload.
#[derive(Debug, thiserror::Error)]
#[error("its name is not ITERATION-WORKER-NUMBER-GAMES.games")]
pub(super) struct UploadNameError;

impl FromStr for UploadName {
    type Err = UploadNameError;

    fn from_str(text: &str) -> Result<UploadName, UploadNameError> {
        let stem = text.strip_suffix(".games").ok_or(UploadNameError)?;
        let fields: Vec<&str> = stem.split('-').collect();
        let [iteration, worker, sequence, games] = fields[..] else { return Err(UploadNameError) };
        let number = |text: &str| text.parse::<u64>().map_err(|_| UploadNameError);
        Ok(UploadName {
            iteration: number(iteration)?,
            worker: worker.to_owned(),
            sequence: number(sequence)?,
            games: number(games)?,
        })
    }
}

/// The content of an upload.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Upload {
    /// The variant.
    pub(super) variant: String,
    /// The statistics of the games, with the CPU time of the worker since its last upload.
    pub(super) stats: SelfPlayStats,
    /// The games.
    pub(super) games: Vec<GameRecord>,
}

/// Why an upload is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum UploadError {
    #[error(transparent)]
    Name(#[from] UploadNameError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("games of \"{found}\" in a run of \"{expected}\"")]
    Variant { found: String, expected: String },
    #[error("{found} games, not {named} as its name says")]
    Count { found: usize, named: u64 },
    #[error("{0}")]
    Game(String),
}

impl Upload {
    /// Encodes the upload, with a checksum.
    pub(super) fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        record::pack(MAGIC, self)
    }

    /// Decodes and checks an upload of this name.
    pub(super) fn decode(
        name: &str,
        bytes: &[u8],
        variant: &Variant,
    ) -> Result<Upload, UploadError> {
        let named = name.parse::<UploadName>()?.games;
        let upload: Upload = record::unpack(MAGIC, name, bytes)?;
        let expected = variant.name();
        if upload.variant != expected {
            let found = upload.variant;
            return Err(UploadError::Variant { found, expected: expected.to_owned() });
        }
        if upload.games.len() as u64 != named {
            return Err(UploadError::Count { found: upload.games.len(), named });
        }
        for game in &upload.games {
            check_game(game, variant).map_err(UploadError::Game)?;
        }
        Ok(upload)
    }
}

/// Checks that training can use a game of self-play: its moves and those of its policies are legal, its scores are
/// scores, and its winner is a side.
fn check_game(game: &GameRecord, variant: &Variant) -> Result<(), String> {
    let start = &game.start;
    let mut position =
        variant.position(start, true).map_err(|error| format!("start \"{start}\": {error}"))?;
    let sides = position.game_spec().sides;
    let is_side = |end: End| end.winner.is_none_or(|winner| usize::from(winner) < sides);
    if !game.end.is_some_and(is_side) {
        return Err(format!("the game from \"{start}\" has no valid end"));
    }
    let mut legal = MoveList::new();
    for (nth, ply) in game.plies.iter().enumerate() {
        position.legal_moves(&mut legal);
        let is_legal = |m: u16| PackedMove(m).unpack().is_some_and(|m| legal.contains(&m));
        let is_valid = is_legal(ply.played)
            && ply.policy.iter().all(|(m, _)| is_legal(*m))
            && ply.score.is_none_or(|score| (-1.0..=1.0).contains(&score))
            && ply.proven.is_none_or(is_side);
        let played = if is_valid { PackedMove(ply.played).unpack() } else { None };
        let Some(played) = played else {
            return Err(format!("ply {nth} of the game from \"{start}\" is invalid"));
        };
        position.play_unchecked(played);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upload_names_are_parsed_as_they_are_written() {
        let name = UploadName { iteration: 12, worker: "00ff".to_owned(), sequence: 34, games: 5 };
        assert_eq!(name.to_string(), "00012-00ff-000034-5.games");
        assert_eq!(name.to_string().parse::<UploadName>().expect("a name"), name);
        for text in ["", "1-a-2-3", "1-a-2.games", "1-a-2-3-4.games", "x-a-2-3.games"] {
            assert!(text.parse::<UploadName>().is_err(), "{text}");
        }
    }
}

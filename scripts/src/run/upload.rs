//! Uploads of workers: finished games with the statistics of their searches.

use std::fmt;
use std::str::FromStr;

use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::record::{self, GameFault, GameRecord, RecordError};
use crate::selfplay::{SelfPlayStats, StatsError};

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
    #[error(transparent)]
    Stats(#[from] StatsError),
    #[error("game {number}, from \"{start}\": {fault}")]
    Game { number: usize, start: String, fault: GameFault },
    #[error("game {number}, from \"{start}\", has no end")]
    NoEnd { number: usize, start: String },
    #[error("its games have no positions")]
    NoPositions,
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
        upload.stats.check()?;
        for (number, game) in (1..).zip(&upload.games) {
            let start = || game.start.clone();
            let in_game = |fault| UploadError::Game { number, start: start(), fault };
            game.check(variant).map_err(in_game)?;
            if game.end.is_none() {
                return Err(UploadError::NoEnd { number, start: start() });
            }
        }
        if upload.games.iter().all(|game| game.plies.is_empty()) {
            return Err(UploadError::NoPositions);
        }
        Ok(upload)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use menagerie::rules::MoveList;
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::record::{End, PlyRecord, SidePosition};

    /// An upload of a game of one ply.
    pub(in crate::run) fn upload(variant: &Variant) -> Upload {
        let position = variant.start();
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let played = legal[0].pack().0;
        let game = GameRecord {
            start: position.fen(),
            plies: vec![PlyRecord {
                played,
                policy: vec![(played, 1)],
                score: Some(0.5),
                proven: None,
                surprise: Some(0.1),
            }],
            end: Some(End { winner: None, turns: 0 }),
            ..GameRecord::default()
        };
        let stats = SelfPlayStats::default();
        Upload { variant: variant.name().to_owned(), stats, games: vec![game] }
    }

    #[test]
    fn uploads_on_which_the_learner_cannot_train_are_refused() {
        type Damage = fn(&mut Upload);
        let variant = Catalogue::shipped().get("3x3").expect("it is shipped");
        let decode = |upload: &Upload| {
            let bytes = upload.encode().expect("bytes");
            Upload::decode("00000-a-000001-1.games", &bytes, &variant)
        };
        decode(&upload(&variant)).expect("a valid upload");
        let damages: [(&str, Damage); 9] = [
            ("ply 1: the shares of the policy sum to 0", |it| it.games[0].plies[0].policy[0].1 = 0),
            ("ply 1: the surprise is NaN", |it| it.games[0].plies[0].surprise = Some(f32::NAN)),
            ("ply 1: the move played is illegal", |it| it.games[0].plies[0].played = 0),
            ("side position 1: a move is illegal", |it| {
                let side = SidePosition { ply: 0, moves: vec![0], score: 0.0 };
                it.games[0].side_positions = vec![side];
            }),
            ("the winner is side 2", |it| {
                it.games[0].end = Some(End { winner: Some(2), turns: 0 })
            }),
            ("has no end", |it| it.games[0].end = None),
            ("its games have no positions", |it| it.games[0].plies.clear()),
            ("its CPU time is 18446744073709551615 seconds, more than 1000000000", |it| {
                it.stats.cpu = Duration::from_secs(u64::MAX)
            }),
            ("its number of visits is 18446744073709551615", |it| it.stats.visits = u64::MAX),
        ];
        for (expected, damage) in damages {
            let mut upload = upload(&variant);
            damage(&mut upload);
            let error = decode(&upload).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
            let names_game = error.starts_with("game 1, from ") || error.starts_with("its ");
            assert!(names_game, "{error}");
        }
    }

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

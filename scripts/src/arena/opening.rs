//! Where the games of a match begin.

use std::path::Path;

use menagerie::rules::{FenError, MoveList, Position};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::random_starts::{self, Opening};

/// The openings of a match, by number.
#[derive(Debug)]
pub enum Openings {
    /// Positions of a book, shuffled; they begin again after the last.
    Book(Vec<Position>),
    /// So many random plies from where self-play starts.
    Random {
        /// How many.
        plies: u32,
        /// The seed of them all.
        seed: u64,
    },
}

/// Openings are drawn so often before it is said that none can be found.
const TRIES: u32 = 10_000;

impl Openings {
    /// Reads a book: a FEN or EPD a line, of which what follows a `;` and the operations of EPD are
    /// no part; empty lines and those that begin with `#` are left out. Where two tables are played
    /// and no line has both (`A|B`), each position stands at the first table and the one behind it
    /// in the shuffled book at the second.
    ///
    /// # Errors
    /// The first line that is no position of the game, or one that has ended.
    pub fn book(
        text: &str,
        name: &Path,
        variant: &Variant,
        chess960: bool,
        seed: u64,
    ) -> anyhow::Result<Openings> {
        let mut positions = Vec::new();
        let single = variant.has_tables() && !text.contains('|');
        let read = |fen: &str| match single {
            true => variant.position(&format!("{fen}|{fen}"), chess960),
            false => variant.position(fen, chess960),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{}, line {}", name.display(), index + 1);
            let position =
                entry(line, read).map_err(|reason| anyhow::anyhow!("{place}: {reason}"))?;
            anyhow::ensure!(position.result().is_none(), "{place}: the game is over in \"{line}\"");
            positions.push(position);
        }
        anyhow::ensure!(!positions.is_empty(), "{}: no opening in it", name.display());
        positions.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        if single {
            positions = paired(&positions, |fen| variant.position(fen, chess960));
        }
        Ok(Openings::Book(positions))
    }

    /// The opening of that number: a position in which the game goes on.
    ///
    /// # Errors
    /// If random plies end the game again and again.
    pub fn get(&self, number: u64, variant: &Variant) -> anyhow::Result<Position> {
        let (plies, seed) = match self {
            Openings::Book(positions) => {
                return Ok(positions[(number % positions.len() as u64) as usize].clone());
            }
            Openings::Random { plies, seed } => (*plies, *seed),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        for _ in 0..TRIES {
            if let Some(position) = random(plies, variant, &mut rng) {
                return Ok(position);
            }
        }
        anyhow::bail!("{plies} random plies of {} end nearly every game", variant.name())
    }

    /// How many openings there are before they begin again.
    pub fn count(&self) -> Option<u64> {
        match self {
            Openings::Book(positions) => Some(positions.len() as u64),
            Openings::Random { .. } => None,
        }
    }
}

/// The position of a book's line: a FEN, or an EPD's fields, after which its operations are cut off
/// from the end until the rest can be read.
fn entry(
    line: &str,
    read: impl Fn(&str) -> Result<Position, FenError>,
) -> Result<Position, String> {
    let line = line.split(';').next().unwrap_or_default().trim();
    let whole = read(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let shorter = (2..words.len()).rev().map(|count| words[..count].join(" "));
    let cut = shorter.filter_map(|fen| read(&fen).ok()).next();
    match (whole, cut) {
        (Ok(position), _) | (Err(_), Some(position)) => Ok(position),
        (Err(error), None) => Err(error.to_string()),
    }
}

/// The first table of each position beside the second of the next, the last beside that of the
/// first.
fn paired(
    positions: &[Position],
    read: impl Fn(&str) -> Result<Position, FenError>,
) -> Vec<Position> {
    let fens: Vec<String> = positions.iter().map(Position::fen).collect();
    let next = fens.iter().cycle().skip(1);
    let both = fens.iter().zip(next).filter_map(|(first, second)| {
        let (a, b) = (first.split('|').next()?, second.split('|').nth(1)?);
        read(&format!("{a}|{b}")).ok()
    });
    both.collect()
}

/// A start and random plies to the end of a turn; `None` if that ends the game.
fn random(plies: u32, variant: &Variant, rng: &mut ChaCha8Rng) -> Option<Position> {
    let mut position = random_starts::start(variant, &Opening::default(), rng);
    let mut legal = MoveList::new();
    let mut left = plies;
    while left > 0 || position.mid_turn() {
        position.legal_moves(&mut legal);
        if legal.is_empty() {
            return None;
        }
        position.play_unchecked(legal[rng.random_range(0..legal.len())]);
        left = left.saturating_sub(1);
    }
    position.result().is_none().then_some(position)
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;

    fn book(variant: &str, text: &str) -> anyhow::Result<Openings> {
        let variant = Catalogue::shipped().require(variant).unwrap();
        Openings::book(text, Path::new("some.epd"), &variant, false, 1)
    }

    #[test]
    fn books_are_fens_or_epds() {
        let text = "# three openings\n\
                    rnbqkbnr/pppp1pp1/4p3/7p/2P5/4P3/PP1PBPPP/RNBQK1NR b KQkq - 3+3 1 3;\n\n\
                    rnbqkbnr/pppp1pp1/4p3/7p/2P5/4P3/PP1PBPPP/RNBQK1NR b KQkq - bm e5; id \"2\";\n";
        let variant = Catalogue::shipped().require("3check").unwrap();
        let openings = book("3check", text).unwrap();
        assert_eq!(openings.count(), Some(2));
        let fens: Vec<String> =
            (0..3).map(|number| openings.get(number, &variant).unwrap().fen()).collect();
        assert_eq!(fens[0], fens[2]);
        assert!(fens.iter().all(|fen| fen.starts_with("rnbqkbnr/pppp1pp1/4p3")), "{fens:?}");
        let error = book("chess", "\nnonsense w - -").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("nonsense"), "{error}");
        let error = book("tictactoe", "aaa/bb1/3 b").unwrap_err().to_string();
        assert!(error.contains("over"), "{error}");
        assert!(book("chess", "# nothing\n").is_err());
        // Of one table each.
        let text = "4k3/8/8/8/8/8/8/R3K3[] w - - 0 1\n4k3/8/8/8/8/8/8/R3K3[p] b - - id \"2\";\n";
        let variant = Catalogue::shipped().require("bughouse2").unwrap();
        let openings = book("bughouse2", text).unwrap();
        let mut fens = [0, 1].map(|number| openings.get(number, &variant).unwrap().fen());
        fens.sort();
        let (first, second) =
            ("4k3/8/8/8/8/8/8/R3K3[] w - - 0 1", "4k3/8/8/8/8/8/8/R3K3[p] b - - 0 1");
        assert_eq!(fens, [format!("{first}|{second}"), format!("{second}|{first}")]);
    }

    #[test]
    fn random_openings_repeat_and_differ() {
        let variant = Catalogue::shipped().require("duck").unwrap();
        let openings = Openings::Random { plies: 5, seed: 3 };
        let fen = |number| openings.get(number, &variant).unwrap().fen();
        assert_eq!(fen(7), fen(7));
        assert_ne!(fen(7), fen(8));
        assert!(!openings.get(7, &variant).unwrap().mid_turn());
        let hopeless = Catalogue::shipped().require("tictactoe").unwrap();
        assert!(Openings::Random { plies: 9, seed: 3 }.get(0, &hopeless).is_err());
    }
}

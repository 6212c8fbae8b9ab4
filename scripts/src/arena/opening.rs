//! The positions that the games of a match begin with.

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
    /// The positions of a book, shuffled. After the last one they are used again.
    Book(Vec<Position>),
    /// Random plies from a start position of self-play.
    Random {
        /// The number of plies.
        plies: u32,
        /// The seed of all openings.
        seed: u64,
        /// The pieces of the first rank are in a random order of Chess960.
        chess960: bool,
    },
}

/// Attempts to draw a random opening in which the game is not over.
const MAX_OPENING_ATTEMPTS: u32 = 10_000;

impl Openings {
    /// Reads a book, one FEN or EPD a line. Text after `;` and EPD operations are ignored, and so are empty
    /// lines and lines that begin with `#`. For bughouse, if no line has both boards (`A|B`), each position is
    /// used for the first board, together with the next position of the shuffled book for the second board.
    ///
    /// # Errors
    /// If a line is not a position of the variant, or the game is over in it.
    pub fn book(
        text: &str,
        name: &Path,
        variant: &Variant,
        chess960: bool,
        seed: u64,
    ) -> anyhow::Result<Openings> {
        let mut positions = Vec::new();
        let single = variant.has_two_boards() && !text.contains('|');
        let parse = |fen: &str| {
            if single {
                variant.position(&format!("{fen}|{fen}"), chess960)
            } else {
                variant.position(fen, chess960)
            }
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let location = format!("{}, line {}", name.display(), index + 1);
            let position =
                parse_line(line, parse).map_err(|error| anyhow::anyhow!("{location}: {error}"))?;
            let is_over = position.result().is_some();
            anyhow::ensure!(!is_over, "{location}: the game is over in \"{line}\"");
            positions.push(position);
        }
        anyhow::ensure!(!positions.is_empty(), "{}: no openings", name.display());
        positions.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        if single {
            positions = pair_boards(&positions, |fen| variant.position(fen, chess960));
        }
        Ok(Openings::Book(positions))
    }

    /// Returns the opening of a number: a position in which the game is not over.
    ///
    /// # Errors
    /// If the random plies end the game in every attempt, or the variant has no starts of Chess960.
    pub fn get(&self, number: u64, variant: &Variant) -> anyhow::Result<Position> {
        let (plies, seed, chess960) = match self {
            Openings::Book(positions) => {
                return Ok(positions[(number % positions.len() as u64) as usize].clone());
            }
            Openings::Random { plies, seed, chess960 } => (*plies, *seed, *chess960),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        for _ in 0..MAX_OPENING_ATTEMPTS {
            let start = if chess960 {
                chess960_start(variant, &mut rng)?
            } else {
                random_starts::start(variant, &Opening::default(), &[], &mut rng)
            };
            if let Some(position) = play_random(plies, start, &mut rng) {
                return Ok(position);
            }
        }
        anyhow::bail!("{plies} random plies of {} end nearly every game", variant.name())
    }

    /// Returns the number of openings of a book; `None` for random openings.
    pub fn count(&self) -> Option<u64> {
        match self {
            Openings::Book(positions) => Some(positions.len() as u64),
            Openings::Random { .. } => None,
        }
    }
}

/// Returns the position of a line of a book: a FEN, or the fields of an EPD. Words are removed from the end
/// until the rest is a position.
fn parse_line(
    line: &str,
    parse: impl Fn(&str) -> Result<Position, FenError>,
) -> Result<Position, FenError> {
    let line = line.split(';').next().unwrap_or_default().trim();
    let whole = parse(line);
    if whole.is_ok() {
        return whole;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let shorter = (2..words.len()).rev().map(|count| words[..count].join(" "));
    let first_position = shorter.filter_map(|fen| parse(&fen).ok()).next();
    first_position.map_or(whole, Ok)
}

/// Returns positions of two boards: the first board of each position with the second board of the next one.
/// The last position is followed by the first.
fn pair_boards(
    positions: &[Position],
    parse: impl Fn(&str) -> Result<Position, FenError>,
) -> Vec<Position> {
    let fens: Vec<String> = positions.iter().map(Position::fen).collect();
    let next = fens.iter().cycle().skip(1);
    let both = fens.iter().zip(next).filter_map(|(first, second)| {
        let a = first.split('|').next()?;
        let b = second.split('|').nth(1)?;
        parse(&format!("{a}|{b}")).ok()
    });
    both.collect()
}

/// The pieces of the first rank, as in the FEN of Black.
const FIRST_RANK: &str = "rnbqkbnr";

/// Returns the start position of a variant with the pieces of both first ranks in the same random order: bishops on
/// squares of both colors, and the king between the rooks.
fn chess960_start(variant: &Variant, rng: &mut ChaCha8Rng) -> anyhow::Result<Position> {
    let fen = variant.start().fen();
    let white = FIRST_RANK.to_ascii_uppercase();
    anyhow::ensure!(
        fen.contains(FIRST_RANK) && fen.contains(&white),
        "{} has no starts of Chess960: give a book",
        variant.name()
    );
    let mut pieces: Vec<char> = FIRST_RANK.chars().collect();
    let is_legal = |pieces: &[char]| {
        let files = |piece| (0..pieces.len()).filter(move |&file| pieces[file] == piece);
        let between: Vec<usize> = files('r').chain(files('k')).collect();
        files('b').sum::<usize>() % 2 == 1
            && matches!(between[..], [left, right, king] if (left..right).contains(&king))
    };
    loop {
        pieces.shuffle(rng);
        if is_legal(&pieces) {
            break;
        }
    }
    let rank: String = pieces.into_iter().collect();
    let fen = fen.replace(FIRST_RANK, &rank).replace(&white, &rank.to_ascii_uppercase());
    Ok(variant.position(&fen, true)?)
}

/// Plays random plies from a start position to the end of a turn. Returns `None` if the game ends.
fn play_random(plies: u32, start: Position, rng: &mut ChaCha8Rng) -> Option<Position> {
    let mut position = start;
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
    use std::collections::BTreeSet;

    use menagerie::variant::Catalogue;

    use super::*;

    fn book(variant: &str, text: &str) -> anyhow::Result<Openings> {
        let variant = Catalogue::shipped().require(variant).unwrap();
        Openings::book(text, Path::new("some.epd"), &variant, false, 1)
    }

    #[test]
    fn books_hold_fens_or_epds() {
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
        // One board a line.
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
    fn random_openings_are_repeatable_and_different() {
        let variant = Catalogue::shipped().require("duck").unwrap();
        let openings = Openings::Random { plies: 5, seed: 3, chess960: false };
        let fen = |number| openings.get(number, &variant).unwrap().fen();
        assert_eq!(fen(7), fen(7));
        assert_ne!(fen(7), fen(8));
        assert!(!openings.get(7, &variant).unwrap().mid_turn());
        let hopeless = Catalogue::shipped().require("tictactoe").unwrap();
        let openings = |plies| Openings::Random { plies, seed: 3, chess960: false };
        assert!(openings(9).get(0, &hopeless).is_err());
    }

    #[test]
    fn random_openings_of_chess960_are_its_starts() {
        for (name, tail) in [("chess", "RANK w"), ("crazyhouse", "RANK[] w"), ("bughouse2", "")] {
            let variant = Catalogue::shipped().require(name).unwrap();
            let openings = Openings::Random { plies: 0, seed: 3, chess960: true };
            let mut ranks = BTreeSet::new();
            for number in 0..300 {
                let position = openings.get(number, &variant).unwrap();
                let fen = position.fen();
                let rank = &fen[..8];
                let files = |piece: char| -> Vec<usize> {
                    rank.match_indices(piece).map(|(file, _)| file).collect()
                };
                let (rooks, bishops) = (files('r'), files('b'));
                assert_eq!((files('q').len(), files('n').len()), (1, 2), "{fen}");
                assert!((rooks[0]..rooks[1]).contains(&files('k')[0]), "{fen}");
                assert_eq!((bishops[0] + bishops[1]) % 2, 1, "{fen}");
                let white = rank.to_ascii_uppercase();
                assert!(fen.contains(&tail.replace("RANK", &white)), "{fen}");
                // Castling is written as in Chess960.
                assert_eq!(variant.position(&fen, true).unwrap().fen(), fen);
                ranks.insert(rank.to_owned());
            }
            assert!(ranks.len() > 200, "{}", ranks.len());
        }
        let horde = Catalogue::shipped().require("horde").unwrap();
        let openings = Openings::Random { plies: 0, seed: 3, chess960: true };
        let error = openings.get(0, &horde).unwrap_err().to_string();
        assert!(error.contains("horde has no starts of Chess960"), "{error}");
    }
}

//! Positions of games of rows of which the right moves are known, and how well a player does there.
//!
//! A file has a line a position, and perhaps the names of the columns before them, which begin with
//! `board`. A line is of columns between tabs: the cells, rank by rank from the top, `.`
//! or the number of the side that holds it; the side to move, from 1; the ends that some way of
//! breaking ties leads to; the moves that keep the score which the mover can be sure of; and the
//! moves that are right under some way of breaking ties. Moves are numbers of cells in that order,
//! from 0, between commas. Among three sides and more perfect play is no single line: who cannot
//! win may choose who does, so that a move is judged sound if some such choice makes it right.

use menagerie::rules::{Move, Position};
use menagerie::variant::Variant;

/// A position and its right moves.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// The position.
    pub position: Position,
    /// The moves that keep the score which the mover can be sure of.
    pub safe: Vec<Move>,
    /// The moves that are right under some way of breaking ties.
    pub sound: Vec<Move>,
}

/// Why a file of puzzles was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, \"{text}\": {reason}")]
pub struct PuzzleError {
    /// The line, from 1.
    pub line: usize,
    /// What it says.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// How a player did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Puzzles that it was asked.
    pub puzzles: usize,
    /// Answers among the safe moves.
    pub safe: usize,
    /// Answers among the sound moves.
    pub sound: usize,
    /// The positions with answers that are not sound.
    pub faults: Vec<String>,
}

impl Puzzle {
    /// Reads a file of puzzles of `variant`.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn read(variant: &Variant, text: &str) -> Result<Vec<Puzzle>, PuzzleError> {
        let head = |text: &str, line| line == 1 && text.starts_with("board\t");
        let lines = text.lines().zip(1..);
        let lines = lines.filter(|&(text, line)| !text.trim().is_empty() && !head(text, line));
        let puzzles = lines.map(|(text, line)| {
            let refused = |reason| PuzzleError { line, text: text.to_owned(), reason };
            Puzzle::parse(variant, text).map_err(refused)
        });
        puzzles.collect()
    }

    fn parse(variant: &Variant, text: &str) -> Result<Puzzle, String> {
        let columns: Vec<&str> = text.split('\t').collect();
        let [cells, mover, _, safe, sound] = columns[..] else {
            return Err(format!("it has {} columns, not 5", columns.len()));
        };
        let game_spec = variant.start().game_spec();
        let (files, ranks) = (game_spec.files, game_spec.ranks);
        let cells: Vec<char> = cells.chars().map(man).collect::<Result<_, _>>()?;
        if cells.len() != files * ranks {
            return Err(format!("it has {} cells, not {}", cells.len(), files * ranks));
        }
        let rows: Vec<String> = cells.chunks(files).map(|row| row.iter().collect()).collect();
        let mover = mover.chars().map(man).collect::<Result<String, _>>()?;
        let fen = format!("{} {mover}", rows.join("/"));
        let position = variant.position(&fen, false).map_err(|error| error.to_string())?;
        let moves = |list: &str| -> Result<Vec<Move>, String> {
            let numbers = list.split(',').map(|number| {
                let bad = || format!("\"{number}\" is no legal move");
                let cell: usize = number.parse().map_err(|_| bad())?;
                let file = char::from(b'a' + u8::try_from(cell % files).map_err(|_| bad())?);
                let rank = ranks.checked_sub(cell / files).ok_or_else(bad)?;
                match position.parse_turn(&format!("{file}{rank}")).as_deref() {
                    Some(&[m]) => Ok(m),
                    _ => Err(bad()),
                }
            });
            numbers.collect()
        };
        let (safe, sound) = (moves(safe)?, moves(sound)?);
        Ok(Puzzle { position, safe, sound })
    }
}

/// The letter of a cell: `1` where it is empty, as FENs have it.
fn man(cell: char) -> Result<char, String> {
    match cell {
        '.' => Ok('1'),
        '1'..='4' => Ok(char::from(cell as u8 - b'1' + b'a')),
        _ => Err(format!("'{cell}' is no cell")),
    }
}

/// Asks a player for its move in each puzzle. A position that it has no move for counts as a fault.
///
/// # Errors
/// The player's.
pub fn ask<E>(
    puzzles: &[Puzzle],
    mut player: impl FnMut(&Position) -> Result<Option<Move>, E>,
) -> Result<Score, E> {
    let mut score = Score::default();
    for puzzle in puzzles {
        let answer = player(&puzzle.position)?;
        let among = |moves: &[Move]| answer.is_some_and(|m| moves.contains(&m));
        score.puzzles += 1;
        score.safe += usize::from(among(&puzzle.safe));
        score.sound += usize::from(among(&puzzle.sound));
        if !among(&puzzle.sound) {
            let text = answer.map_or("no move".to_owned(), |m| puzzle.position.move_text(m));
            score.faults.push(format!("{} {text}", puzzle.position.fen()));
        }
    }
    Ok(score)
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;

    fn read(text: &str) -> Result<Vec<Puzzle>, PuzzleError> {
        let variant = Catalogue::shipped().require("tictacmo").expect("it is shipped");
        Puzzle::read(&variant, text)
    }

    #[test]
    fn all_golden_puzzles_are_read_and_a_first_move_is_rarely_sound() {
        let puzzles = read(include_str!("../../tests/golden/tictacmo_solved.tsv")).expect("good");
        assert_eq!(puzzles.len(), 600);
        for puzzle in &puzzles {
            let mut legal = Vec::new();
            puzzle.position.legal_moves(&mut legal);
            assert!(!puzzle.sound.is_empty() && !puzzle.safe.is_empty());
            assert!(puzzle.sound.iter().chain(&puzzle.safe).all(|m| legal.contains(m)));
        }
        let sound = |position: &Position| {
            let puzzle = puzzles.iter().find(|puzzle| puzzle.position.fen() == position.fen());
            Ok::<_, ()>(puzzle.map(|puzzle| puzzle.sound[0]))
        };
        assert_eq!(ask(&puzzles, sound).map(|score| score.sound), Ok(600));
        assert_eq!(ask(&puzzles, |_| Ok::<_, ()>(None)).map(|score| score.faults.len()), Ok(600));
    }

    #[test]
    fn columns_may_be_named() {
        let line = "...............\t1\t0\t3\t3\n";
        let named = read(&format!("board\tside\n{line}")).expect("good");
        assert_eq!(named.len(), 1);
        assert!(read(&format!("{line}board\tside\n")).is_err());
    }

    #[test]
    fn a_bad_line_is_quoted() {
        for (text, reason) in [
            ("...............\t1\t0\t3", "it has 4 columns, not 5"),
            ("....\t1\t0\t3\t3", "it has 4 cells, not 15"),
            ("....x..........\t1\t0\t3\t3", "'x' is no cell"),
            ("...............\t1\t0\t3\t15", "\"15\" is no legal move"),
            ("1..............\t2\t0\t0\t3", "\"0\" is no legal move"),
        ] {
            let error = read(&format!("\n{text}\n")).expect_err(text);
            assert_eq!((error.line, error.text.as_str()), (2, text));
            assert_eq!(error.reason, reason);
        }
    }
}

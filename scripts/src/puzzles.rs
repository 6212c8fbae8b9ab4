//! Positions of m,n,k-games with known best moves, and a measurement of players on them.
//!
//! A file has one position a line. The first line may have the names of the columns, and then begins with
//! `board`. The columns are separated by tabs: the cells, rank by rank from the top, `.` or the number of the
//! side that occupies it; the side to move, from 1; the outcomes under some rule of breaking ties; the moves that
//! keep the score that the side to move can enforce; and the moves that are best under some rule of breaking
//! ties. Moves are numbers of cells in the same order, from 0, separated by commas. With three or more sides
//! optimal play is not unique: a side that cannot win may choose the winner, so a move is sound if some such
//! choice makes it optimal.

use menagerie::rules::{FenError, Move, Position};
use menagerie::variant::Variant;

/// A position and its best moves.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// The position.
    pub position: Position,
    /// The moves that keep the score that the side to move can enforce.
    pub safe: Vec<Move>,
    /// The moves that are optimal under some rule of breaking ties.
    pub sound: Vec<Move>,
}

/// An invalid line of a file of puzzles.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, \"{text}\": {reason}")]
pub struct PuzzleError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The reason.
    pub reason: PuzzleErrorKind,
}

/// Why a line is no puzzle.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PuzzleErrorKind {
    /// The number of columns is wrong.
    #[error("{0} columns instead of 5")]
    Columns(usize),
    /// The board does not have the size of the variant.
    #[error("{found} cells instead of {expected}")]
    Cells {
        /// The number of cells.
        found: usize,
        /// The number of cells of the variant.
        expected: usize,
    },
    /// A cell is neither empty nor the number of a side.
    #[error("invalid cell '{0}'")]
    Cell(char),
    /// The position is invalid.
    #[error(transparent)]
    Fen(#[from] FenError),
    /// A number is not that of a free cell.
    #[error("\"{0}\" is not a legal move")]
    Move(String),
}

/// The result of a player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PuzzleScore {
    /// Puzzles played.
    pub puzzles: usize,
    /// Safe moves played.
    pub safe: usize,
    /// Sound moves played.
    pub sound: usize,
    /// The positions in which the move was not sound, with the move.
    pub faults: Vec<String>,
}

impl Puzzle {
    /// Reads a file of puzzles of `variant`.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn read(variant: &Variant, text: &str) -> Result<Vec<Puzzle>, PuzzleError> {
        let is_head = |text: &str, line| line == 1 && text.starts_with("board\t");
        let lines = text.lines().zip(1..);
        let lines = lines.filter(|&(text, line)| !text.trim().is_empty() && !is_head(text, line));
        let puzzles = lines.map(|(text, line)| {
            let error = |reason| PuzzleError { line, text: text.to_owned(), reason };
            Puzzle::parse(variant, text).map_err(error)
        });
        puzzles.collect()
    }

    fn parse(variant: &Variant, text: &str) -> Result<Puzzle, PuzzleErrorKind> {
        let columns: Vec<&str> = text.split('\t').collect();
        let [cells, mover, _, safe, sound] = columns[..] else {
            return Err(PuzzleErrorKind::Columns(columns.len()));
        };
        let game_spec = variant.start().game_spec();
        let files = game_spec.files;
        let ranks = game_spec.ranks;
        let cells: Vec<char> = cells.chars().map(fen_letter).collect::<Result<_, _>>()?;
        if cells.len() != files * ranks {
            let expected = files * ranks;
            return Err(PuzzleErrorKind::Cells { found: cells.len(), expected });
        }
        let rows: Vec<String> = cells.chunks(files).map(|row| row.iter().collect()).collect();
        let mover = mover.chars().map(fen_letter).collect::<Result<String, _>>()?;
        let fen = format!("{} {mover}", rows.join("/"));
        let position = variant.position(&fen, false)?;
        let safe = parse_moves(&position, safe)?;
        let sound = parse_moves(&position, sound)?;
        Ok(Puzzle { position, safe, sound })
    }
}

/// Parses numbers of cells that are legal moves, separated by commas.
fn parse_moves(position: &Position, list: &str) -> Result<Vec<Move>, PuzzleErrorKind> {
    let parse = |number: &str| {
        cell_move(position, number).ok_or_else(|| PuzzleErrorKind::Move(number.to_owned()))
    };
    list.split(',').map(parse).collect()
}

/// Returns the legal move to a cell that is given by its number.
fn cell_move(position: &Position, number: &str) -> Option<Move> {
    let game_spec = position.game_spec();
    let cell: usize = number.parse().ok()?;
    let file = char::from(b'a' + u8::try_from(cell % game_spec.files).ok()?);
    let rank = game_spec.ranks.checked_sub(cell / game_spec.files)?;
    match position.parse_turn(&format!("{file}{rank}")).as_deref() {
        Some(&[m]) => Some(m),
        _ => None,
    }
}

/// Returns the letter of a cell in a FEN; `1` for an empty cell.
fn fen_letter(cell: char) -> Result<char, PuzzleErrorKind> {
    match cell {
        '.' => Ok('1'),
        '1'..='4' => Ok(char::from(cell as u8 - b'1' + b'a')),
        _ => Err(PuzzleErrorKind::Cell(cell)),
    }
}

/// Plays all puzzles. A position without a move of the player counts as a fault.
///
/// # Errors
/// Those of the player.
pub fn play_puzzles<E>(
    puzzles: &[Puzzle],
    mut player: impl FnMut(&Position) -> Result<Option<Move>, E>,
) -> Result<PuzzleScore, E> {
    let mut score = PuzzleScore::default();
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
    fn puzzles_of_the_golden_file_are_valid() {
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
        assert_eq!(play_puzzles(&puzzles, sound).map(|score| score.sound), Ok(600));
        assert_eq!(
            play_puzzles(&puzzles, |_| Ok::<_, ()>(None)).map(|score| score.faults.len()),
            Ok(600)
        );
    }

    #[test]
    fn puzzles_may_have_a_head() {
        let line = "...............\t1\t0\t3\t3\n";
        let named = read(&format!("board\tside\n{line}")).expect("good");
        assert_eq!(named.len(), 1);
        assert!(read(&format!("{line}board\tside\n")).is_err());
    }

    #[test]
    fn puzzle_errors_quote_the_line() {
        for (text, reason) in [
            ("...............\t1\t0\t3", "4 columns instead of 5"),
            ("....\t1\t0\t3\t3", "4 cells instead of 15"),
            ("....x..........\t1\t0\t3\t3", "invalid cell 'x'"),
            ("...............\t1\t0\t3\t15", "\"15\" is not a legal move"),
            ("1..............\t2\t0\t0\t3", "\"0\" is not a legal move"),
        ] {
            let error = read(&format!("\n{text}\n")).expect_err(text);
            assert_eq!((error.line, error.text.as_str()), (2, text));
            assert_eq!(error.reason.to_string(), reason);
        }
    }
}

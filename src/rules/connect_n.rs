//! Games of n in a row for two to four sides, with or without gravity: tic-tac-toe, Connect Four, and
//! the games for three sides of Multiplayer AlphaZero (Petosa and Balch 2019), Tic-Tac-Mo and
//! Connect 3x3.
//!
//! Each turn claims an empty cell. The first side with n cells in a row, in any direction, wins; a full
//! board is a draw. A position is written as the rows from the top, with digits for gaps and a letter
//! for each claimed cell, then the letter of the side to move: `5/1a3/b1c2 a`.

mod threats;

use std::sync::Arc;

use shakmaty::{Bitboard, Board, Color, Square};

use super::notation::{self, FenError, FenFault, area, square};
use super::{
    BoardView, GameSpec, Key, MAX_SIDES, Move, MoveList, Outcome, PerSide, Reason, Rules, Side,
    Symmetry, View,
};

/// The parameters of one game of this family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectN {
    /// The number of files of the board, 1 to 8.
    pub files: usize,
    /// The number of ranks of the board, 1 to 8.
    pub ranks: usize,
    /// The number of sides, 2 to 4.
    pub sides: usize,
    /// The number of cells in a row that win.
    pub length: usize,
    /// Whether only the lowest empty cell of a file can be claimed.
    pub gravity: bool,
}

impl ConnectN {
    /// Returns the FEN of the empty board.
    pub(crate) fn start(&self) -> String {
        let rows = vec![self.files.to_string(); self.ranks];
        format!("{} {}", rows.join("/"), Side::WHITE.letter())
    }
}

/// A position of a game of this family.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    rules: Arc<ConnectN>,
    area: Bitboard,
    cells: PerSide<Bitboard>,
    turn: Side,
    /// The side that has a row.
    winner: Option<Side>,
    /// Empty, for views.
    board: Board,
}

impl Grid {
    /// Parses a position of the game of `rules`.
    pub(super) fn from_fen(rules: &Arc<ConnectN>, fen: &str) -> Result<Grid, FenError> {
        let syntax = |fault: FenFault| FenError::syntax(fen, fault);
        let mut grid = Grid {
            rules: Arc::clone(rules),
            area: area(rules.files, rules.ranks),
            cells: PerSide::all(Bitboard::EMPTY),
            turn: Side::WHITE,
            winner: None,
            board: Board::empty(),
        };
        let mut fields = notation::without_operations(fen)?.split_ascii_whitespace();
        grid.parse_cells(fields.next().unwrap_or_default()).map_err(syntax)?;
        if let Some(turn) = fields.next() {
            let mut sides = Side::all(rules.sides);
            grid.turn = sides
                .find(|side| turn.chars().eq([side.letter()]))
                .ok_or_else(|| syntax(FenFault::SideToMove(turn.to_owned())))?;
        }
        if let Some(rest) = fields.next() {
            return Err(syntax(FenFault::TrailingText(rest.to_owned())));
        }
        grid.check().map_err(|fault| FenError::illegal(fen, fault))
    }

    /// Checks what the syntax cannot rule out, and sets the winner.
    fn check(mut self) -> Result<Grid, FenFault> {
        let floats = |at: Square| at.offset(-8).is_some_and(|below| self.empty().contains(below));
        if self.rules.gravity && self.taken().into_iter().any(floats) {
            return Err(FenFault::FloatingPiece);
        }
        let mut winners =
            Side::all(self.rules.sides).filter(|&side| self.has_row(self.cells[side]));
        let winner = winners.next();
        if winners.next().is_some() {
            return Err(FenFault::TwoWinners);
        }
        self.winner = winner;
        Ok(self)
    }

    fn parse_cells(&mut self, text: &str) -> Result<(), FenFault> {
        let ConnectN { files, ranks, .. } = *self.rules;
        let rows = text.split('/').collect::<Vec<_>>();
        if rows.len() != ranks {
            return Err(FenFault::RankCount { expected: ranks, found: rows.len() });
        }
        for (line, rank) in rows.into_iter().zip((0..ranks).rev()) {
            let mut file = 0;
            for letter in line.chars() {
                if let Some(gap) = letter.to_digit(10) {
                    file += gap as usize;
                    continue;
                }
                let side = self.side(letter);
                let side = side.ok_or(FenFault::Piece(letter))?;
                if file < files {
                    self.cells[side] = self.cells[side].with(square(file, rank));
                }
                file += 1;
            }
            if file != files {
                return Err(FenFault::FileCount {
                    rank: line.to_owned(),
                    expected: files,
                    found: file,
                });
            }
        }
        Ok(())
    }

    /// Returns the side of a letter.
    fn side(&self, letter: char) -> Option<Side> {
        Side::all(self.rules.sides).find(|side| side.letter() == letter)
    }

    fn taken(&self) -> Bitboard {
        (0..MAX_SIDES).map(Side::new).fold(Bitboard::EMPTY, |all, side| all | self.cells[side])
    }

    fn empty(&self) -> Bitboard {
        self.area & !self.taken()
    }

    /// Returns `true` if enough of `cells` are in a row in any of the four directions.
    fn has_row(&self, cells: Bitboard) -> bool {
        let has_row_along = |step: fn(u64) -> u64| {
            let mut ends = cells.0;
            for _ in 1..self.rules.length {
                ends &= step(ends);
            }
            ends != 0
        };
        // Steps do not wrap around the edge of the 8x8 board.
        const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        const NOT_A: u64 = NOT_H << 1;
        has_row_along(|row| (row & NOT_H) << 1)
            || has_row_along(|row| row << 8)
            || has_row_along(|row| (row & NOT_H) << 9)
            || has_row_along(|row| (row & NOT_A) << 7)
    }

    /// Returns the cells that can be claimed.
    fn open(&self) -> Bitboard {
        let empty = self.empty();
        if self.rules.gravity {
            // Cells of the lowest rank or above a claimed cell.
            empty & (self.taken().shift(8) | Bitboard(0xff))
        } else {
            empty
        }
    }
}

impl Rules for Grid {
    fn game_spec(&self) -> GameSpec {
        let ConnectN { files, ranks, sides, .. } = *self.rules;
        GameSpec {
            two_boards: false,
            sides,
            files,
            ranks,
            roles: Vec::new(),
            promotions: Vec::new(),
            drops: Vec::new(),
            places: true,
            walls: false,
            barriers: false,
            wall_moves: false,
            castling: false,
            en_passant: false,
            must_capture: false,
            checks: None,
            promoted: false,
            mirrored: false,
            symmetry: Symmetry::default(),
            rule_names: Vec::new(),
        }
    }

    fn turn(&self) -> Side {
        self.turn
    }

    fn mid_turn(&self) -> bool {
        false
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        if self.winner.is_none() {
            out.extend(self.open().into_iter().map(Move::Place));
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        let Move::Place(to) = m else {
            debug_assert!(false, "{m:?} does not claim a cell");
            return;
        };
        let side = self.turn;
        self.cells[side] = self.cells[side].with(to);
        if self.has_row(self.cells[side]) {
            self.winner = Some(side);
        }
        self.turn = side.after(1, self.rules.sides);
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        match self.winner {
            Some(winner) => Some(Outcome::win(winner, Reason::Variant)),
            None if legal.is_empty() => Some(Outcome::draw(Reason::Variant)),
            None => None,
        }
    }

    fn claimable_outcome(&self) -> Option<Outcome> {
        None
    }

    fn repetition_rule(&self) -> Option<(u32, Outcome)> {
        None
    }

    fn reversible(&self) -> u32 {
        0
    }

    fn key(&self) -> Key {
        let cells = (0..MAX_SIDES).map(|side| u64::from(self.cells[Side::new(side)]));
        Key::of(cells.chain([self.turn.index() as u64]))
    }

    fn view(&self) -> View<'_> {
        let board = BoardView::new(Color::White, &self.board);
        View { cells: self.cells, ..View::of_board(self.turn, false, board) }
    }

    fn fen(&self) -> String {
        let mut text = String::new();
        for rank in (0..self.rules.ranks).rev() {
            let mut gap = 0;
            for file in 0..self.rules.files {
                let here = square(file, rank);
                let owner = |side: &Side| self.cells[*side].contains(here);
                match Side::all(self.rules.sides).find(owner) {
                    None => gap += 1,
                    Some(side) => {
                        if gap > 0 {
                            text.push_str(&gap.to_string());
                        }
                        gap = 0;
                        text.push(side.letter());
                    }
                }
            }
            if gap > 0 {
                text.push_str(&gap.to_string());
            }
            text.push(if rank > 0 { '/' } else { ' ' });
        }
        text.push(self.turn.letter());
        text
    }

    fn outcome_text(&self, outcome: Outcome) -> String {
        outcome.winner.map_or("draw".to_owned(), |side| format!("{} wins", side.letter()))
    }
}

//! So many in a row, for two and more sides, with gravity or without: tic-tac-toe, Connect Four,
//! and the games for three of Multiplayer AlphaZero (Petosa and Balch 2019), Tic-Tac-Mo and
//! Connect 3x3.
//!
//! Each turn claims an empty cell; whoever first has enough in a row, in any direction, wins, and a
//! full board is a draw. A position is written as rows from the top, digits for gaps and a letter
//! for each side's men, then the letter of the side to move: `5/1a3/b1c2 a`.

use std::sync::Arc;

use shakmaty::{Bitboard, Board, Color, Square};

use super::notation::{self, FenError, area, square};
use super::{
    GameSpec, Key, MAX_SIDES, Move, MoveList, Outcome, PerSide, Reason, Rules, Seat, Side,
    Symmetry, View,
};

/// The rules of one game of this family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectN {
    /// Files of the board, 1 to 8.
    pub files: usize,
    /// Ranks of the board, 1 to 8.
    pub ranks: usize,
    /// How many sides play, 2 to 4.
    pub sides: usize,
    /// So many in a row win.
    pub length: usize,
    /// Whether men fall to the lowest empty cell of their file.
    pub gravity: bool,
}

impl ConnectN {
    /// The empty board, as a position is written.
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
    /// Whoever has a row.
    winner: Option<Side>,
    /// Nothing: views of all games have a board of men.
    board: Board,
}

impl Grid {
    /// Reads a position of the game of `rules`.
    pub(super) fn from_fen(rules: &Arc<ConnectN>, fen: &str) -> Result<Grid, FenError> {
        let syntax = |reason: String| FenError::syntax(fen, reason);
        let mut grid = Grid {
            rules: Arc::clone(rules),
            area: area(rules.files, rules.ranks),
            cells: PerSide::all(Bitboard::EMPTY),
            turn: Side::WHITE,
            winner: None,
            board: Board::empty(),
        };
        let mut fields = notation::without_operations(fen)?.split_ascii_whitespace();
        grid.read_cells(fields.next().unwrap_or_default()).map_err(syntax)?;
        if let Some(turn) = fields.next() {
            let mut letters = turn.chars();
            let side = letters.next().and_then(|letter| grid.side(letter));
            grid.turn = side
                .filter(|_| letters.next().is_none())
                .ok_or_else(|| syntax(format!("the side to move is \"{turn}\"")))?;
        }
        if let Some(rest) = fields.next() {
            return Err(syntax(format!("nothing may follow the side to move, but \"{rest}\"")));
        }
        grid.check().map_err(|reason| FenError::illegal(fen, reason))
    }

    /// What the text's syntax cannot rule out; notes who has won.
    fn check(mut self) -> Result<Grid, String> {
        let hangs = |at: Square| at.offset(-8).is_some_and(|below| self.empty().contains(below));
        if self.rules.gravity && self.taken().into_iter().any(hangs) {
            return Err("a man hangs over an empty cell".to_owned());
        }
        let mut winners = Side::all(self.rules.sides).filter(|&side| self.has_row(side));
        let winner = winners.next();
        if winners.next().is_some() {
            return Err("two sides have won".to_owned());
        }
        self.winner = winner;
        Ok(self)
    }

    fn read_cells(&mut self, text: &str) -> Result<(), String> {
        let ConnectN { files, ranks, .. } = *self.rules;
        let rows = text.split('/').collect::<Vec<_>>();
        if rows.len() != ranks {
            return Err(format!("the board has {ranks} ranks, not {}", rows.len()));
        }
        for (line, rank) in rows.into_iter().zip((0..ranks).rev()) {
            let mut file = 0;
            for letter in line.chars() {
                if let Some(gap) = letter.to_digit(10) {
                    file += gap as usize;
                    continue;
                }
                let side = self.side(letter);
                let side = side.ok_or_else(|| format!("'{letter}' is no man of this game"))?;
                if file < files {
                    self.cells[side] = self.cells[side].with(square(file, rank));
                }
                file += 1;
            }
            if file != files {
                return Err(format!("rank \"{line}\" has {file} files, not {files}"));
            }
        }
        Ok(())
    }

    /// The side of a letter.
    fn side(&self, letter: char) -> Option<Side> {
        Side::all(self.rules.sides).find(|side| side.letter() == letter)
    }

    fn taken(&self) -> Bitboard {
        (0..MAX_SIDES).map(Side::new).fold(Bitboard::EMPTY, |all, side| all | self.cells[side])
    }

    fn empty(&self) -> Bitboard {
        self.area & !self.taken()
    }

    /// Whether a side has enough in a row, in any of the four directions.
    fn has_row(&self, side: Side) -> bool {
        let long = |step: fn(u64) -> u64| {
            let mut ends = self.cells[side].0;
            for _ in 1..self.rules.length {
                ends &= step(ends);
            }
            ends != 0
        };
        // Nothing steps over the edge of a file of eight.
        const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        const NOT_A: u64 = NOT_H << 1;
        long(|row| (row & NOT_H) << 1)
            || long(|row| row << 8)
            || long(|row| (row & NOT_H) << 9)
            || long(|row| (row & NOT_A) << 7)
    }

    /// The cells that may be claimed.
    fn open(&self) -> Bitboard {
        let empty = self.empty();
        if self.rules.gravity {
            // The lowest rank, or what is above a man.
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
            tables: false,
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
            checks: None,
            promoted: false,
            mirrored: false,
            symmetry: Symmetry::default(),
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
            debug_assert!(false, "{m:?} claims no cell");
            return;
        };
        let side = self.turn;
        self.cells[side] = self.cells[side].with(to);
        if self.has_row(side) {
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

    fn claim(&self) -> Option<Outcome> {
        None
    }

    fn fold(&self) -> Option<(u32, Outcome)> {
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
        View {
            turn: Color::White,
            mover: self.turn,
            cells: self.cells,
            board: &self.board,
            promoted: Bitboard::EMPTY,
            hands: None,
            castling: Bitboard::EMPTY,
            en_passant: None,
            walls: Bitboard::EMPTY,
            mid_turn: false,
            checks: None,
            halfmoves: 0,
            repeated: false,
            seat: Seat::default(),
            second: None,
        }
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

//! A game at two tables, seen as two boards.

use menagerie::rules::{Color, Move, MoveList, Position, Table};

/// How things stand at a table.
#[derive(Clone, Debug)]
pub struct Board {
    /// The position, as that of a game of its own.
    pub position: Position,
    /// Who is on turn.
    pub color: Color,
    /// Whether there is a move to make.
    pub open: bool,
    /// Whether the table's game is drawn.
    pub drawn: bool,
}

impl Board {
    /// Both boards of a position at two tables.
    pub fn both(position: &Position) -> [Board; 2] {
        let view = position.view();
        let drawn = [view.seat.drawn, view.second.is_some_and(|second| second.seat.drawn)];
        let mut legal = MoveList::new();
        Table::ALL.map(|table| {
            let board = position.at_table(table).unwrap_or_else(|| position.clone());
            board.legal_moves(&mut legal);
            let (color, drawn) = (board.view().turn, drawn[table as usize]);
            Board { position: board, color, open: !drawn && !legal.is_empty(), drawn }
        })
    }

    /// The legal move that a text names, in the words of the board's own game.
    pub fn ply(&self, text: &str) -> Option<Move> {
        let plies = self.position.parse_turn(text).filter(|_| self.open)?;
        let [m] = plies[..] else { return None };
        Some(m)
    }
}

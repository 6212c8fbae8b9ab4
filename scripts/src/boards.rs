//! The two boards of a bughouse position, each as a position of its own.

use menagerie::rules::{BoardId, Color, Move, MoveList, Position};

/// The state of one of two boards.
#[derive(Clone, Debug)]
pub struct BoardState {
    /// The position, in the game of a single board.
    pub position: Position,
    /// The side to move.
    pub color: Color,
    /// The side to move has a legal move, and the board is not drawn.
    pub has_moves: bool,
    /// The game of this board is drawn.
    pub drawn: bool,
}

impl BoardState {
    /// Returns both boards of a bughouse position.
    pub fn both(position: &Position) -> [BoardState; 2] {
        let view = position.view();
        let mut legal = MoveList::new();
        BoardId::ALL.map(|board| {
            let drawn = view.on(board).team.drawn;
            let position = position.board_position(board).unwrap_or_else(|| position.clone());
            position.legal_moves(&mut legal);
            let color = position.board().turn;
            BoardState { position, color, has_moves: !drawn && !legal.is_empty(), drawn }
        })
    }

    /// Returns the legal move that a text names, in the notation of the board's own game.
    pub fn parse_ply(&self, text: &str) -> Option<Move> {
        if !self.has_moves {
            return None;
        }
        match self.position.parse_turn(text)?[..] {
            [m] => Some(m),
            _ => None,
        }
    }
}

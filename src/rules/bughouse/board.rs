//! One of the two boards: its position, history and status.

use shakmaty::Color;

use crate::rules::chess::{ChessPosition, MoveStatus};
use crate::rules::history::History;
use crate::rules::{EndValue, Move, Reason, Rules};

/// One board with its history and status.
#[derive(Debug)]
pub(super) struct BoardState {
    pub(super) chess: ChessPosition,
    history: History,
    pub(super) status: BoardStatus,
    /// Whether a draw could have been claimed and the players went on.
    draw_waived: bool,
}

/// The status of a board, for the player on turn there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BoardStatus {
    /// The player has a legal move.
    Open,
    /// The player has no legal move until the partner captures a piece.
    Stuck {
        /// Whether the player is in check.
        mated: bool,
    },
    /// The player has lost.
    Lost(Reason),
    /// The player has won, in games in which stalemate wins.
    Won,
    /// The game on this board is drawn.
    Drawn(Reason),
}

impl Clone for BoardState {
    fn clone(&self) -> BoardState {
        BoardState { chess: self.chess.clone(), history: self.history.clone(), ..*self }
    }

    fn clone_from(&mut self, source: &BoardState) {
        let BoardState { chess, history, status, draw_waived } = source;
        self.chess.clone_from(chess);
        self.history.clone_from(history);
        self.status = *status;
        self.draw_waived = *draw_waived;
    }
}

impl BoardState {
    /// Creates a board with a position. With `mate_blockable`, a mate is not final as long as a dropped
    /// piece could block the check.
    pub(super) fn new(chess: ChessPosition, drawn: bool, mate_blockable: bool) -> BoardState {
        let history = History::new(chess.key());
        let status = BoardStatus::Open;
        let mut board = BoardState { chess, history, status, draw_waived: false };
        board.update_status(mate_blockable);
        if drawn && board.status == BoardStatus::Open {
            board.status = BoardStatus::Drawn(Reason::Repetition);
        }
        board
    }

    /// Returns the color on turn.
    pub(super) fn color(&self) -> Color {
        self.chess.color()
    }

    /// Returns `true` if the player on turn has a legal move and the board is not drawn.
    pub(super) fn is_open(&self) -> bool {
        self.status == BoardStatus::Open
    }

    /// Returns `true` if the game on this board is drawn.
    pub(super) fn is_drawn(&self) -> bool {
        matches!(self.status, BoardStatus::Drawn(_))
    }

    /// Returns `true` if the position has occurred before.
    pub(super) fn repeated(&self) -> bool {
        self.history.repetitions() > 0
    }

    /// Plays a move of the one-board game, also on a drawn board if the draw was not claimed.
    pub(super) fn play(&mut self, m: Move, mate_blockable: bool) {
        self.draw_waived |= self.is_drawn();
        self.chess.play_unchecked(m);
        let reversible = self.chess.reversible_plies();
        self.draw_waived &= reversible > 0;
        self.history.push(self.chess.key(), reversible);
        self.update_status(mate_blockable);
    }

    /// Makes a drawn board playable again.
    pub(super) fn reopen(&mut self) {
        if self.is_drawn() {
            self.draw_waived = true;
            self.status = BoardStatus::Open;
        }
    }

    /// Updates the status after a change of the position.
    pub(super) fn update_status(&mut self, mate_blockable: bool) {
        self.status = match self.chess.move_status(&mut Vec::new()) {
            MoveStatus::CanMove => self.draw().map_or(BoardStatus::Open, BoardStatus::Drawn),
            MoveStatus::Mate { blockable: true } if mate_blockable => {
                BoardStatus::Stuck { mated: true }
            }
            MoveStatus::Mate { .. } => BoardStatus::Lost(Reason::Checkmate),
            MoveStatus::Stalemate => match self.chess.stalemate_value() {
                EndValue::Loss => BoardStatus::Lost(Reason::Stalemate),
                EndValue::Draw => BoardStatus::Stuck { mated: false },
                EndValue::Win => BoardStatus::Won,
            },
        };
    }

    /// Returns why the game on this board is drawn, if it is.
    fn draw(&self) -> Option<Reason> {
        let plies = self.chess.draw_plies();
        let repetitions = self.chess.draw_repetitions();
        if self.draw_waived {
            None
        } else if repetitions > 0 && self.history.repetitions() + 1 >= repetitions as usize {
            Some(Reason::Repetition)
        } else if plies > 0 && self.chess.reversible_plies() >= plies {
            Some(Reason::FiftyMoves)
        } else {
            None
        }
    }
}

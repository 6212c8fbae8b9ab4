//! The order of play.
//!
//! In the fixed order the four players move one after another. In the timed order any player on turn
//! may move at any moment. To make this a game that can be searched, the teams alternate: a turn
//! consists of a move on each board on which the team is on turn, in any order. Instead of the last of
//! these moves the team may sit, if its clock there shows more time than that of the opponent who is on
//! turn at the other board. The player being sat on has less time and must move, so that no game goes on
//! without moves forever.

use shakmaty::Color;

use super::clocks::Lead;
use super::{BoardStatus, BughousePosition, color_of, opponents, team_of};
use crate::rules::{BoardId, Side};

/// The order of play.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnOrder {
    /// The teams alternate, move on all boards where they are on turn, and may sit.
    Timed,
    /// White at A, white at B, black at B, black at A (Bug0, section III.A).
    Fixed,
}

/// The players in the fixed order.
const FIXED_ORDER: [(BoardId, Color); 4] = [
    (BoardId::A, Color::White),
    (BoardId::B, Color::White),
    (BoardId::B, Color::Black),
    (BoardId::A, Color::Black),
];

impl BughousePosition {
    /// Returns `true` if `team` may move at `board` now.
    pub(super) fn may_move(&self, board: BoardId, team: Side) -> bool {
        let in_order = self.rules.order == TurnOrder::Timed || board == self.next_board;
        self.over.is_none() && in_order && self.can_move(board, team)
    }

    fn can_move(&self, board: BoardId, team: Side) -> bool {
        self.board(board).is_open() && self.on_turn(board) == team
    }

    fn can_move_somewhere(&self, team: Side) -> bool {
        BoardId::ALL.into_iter().any(|board| self.can_move(board, team))
    }

    /// Returns the board at which the team could sit if its clock allows it: the only one where it can
    /// move, while the opponents can move at the other.
    fn sitting_board(&self) -> Option<BoardId> {
        if self.rules.order != TurnOrder::Timed || self.over.is_some() {
            return None;
        }
        BoardId::ALL.into_iter().find(|&board| {
            self.can_move(board, self.team) && self.can_move(board.other(), opponents(self.team))
        })
    }

    fn lead(&self, team: Side, board: BoardId) -> Lead {
        self.clocks.compare(board, color_of(team, board))
    }

    /// Returns `true` if the team may sit because it has more time.
    pub(super) fn may_sit(&self) -> bool {
        self.sitting_board().is_some_and(|board| self.lead(self.team, board) == Lead::Ahead)
    }

    /// Returns `true` if the clocks do not decide whether the team may sit.
    pub(in crate::rules) fn may_sit_is_unknown(&self) -> bool {
        self.sitting_board().is_some_and(|board| self.lead(self.team, board) == Lead::Level)
    }

    /// Returns `true` if the player on turn at `board`, mated there, cannot get a piece that blocks the
    /// check: the partner cannot move, or the opponent of the partner is on turn and can sit.
    pub(super) fn is_mate_final(&self, board: BoardId) -> bool {
        let team = self.on_turn(board);
        let other = board.other();
        let opponent_sits = self.rules.order == TurnOrder::Timed
            && self.on_turn(other) != team
            && self.lead(team, board) == Lead::Behind;
        self.board(other).status != BoardStatus::Open || opponent_sits
    }

    /// Ends the turn without a move at a board where one is possible.
    pub(super) fn sit(&mut self) {
        self.reversible |= !self.mid_turn;
        self.end_turn();
    }

    /// Determines who moves after a move at `board`.
    pub(super) fn select_next_team(&mut self, board: BoardId) {
        match self.rules.order {
            TurnOrder::Timed if self.can_move_somewhere(self.team) => self.mid_turn = true,
            TurnOrder::Timed => self.end_turn(),
            TurnOrder::Fixed => {
                let mover = (board, !self.board(board).color());
                let number = FIXED_ORDER.iter().position(|&player| player == mover).unwrap_or(0);
                self.select_player(number + 1);
            }
        }
    }

    /// Lets the opponents move, or the same team again if they cannot move.
    fn end_turn(&mut self) {
        self.mid_turn = false;
        let others = opponents(self.team);
        if self.can_move_somewhere(others) {
            self.team = others;
        }
    }

    /// Lets the first player that can move be the one to move, from number `first` of the fixed order.
    pub(super) fn select_player(&mut self, first: usize) {
        for number in first..first + FIXED_ORDER.len() {
            let (board, color) = FIXED_ORDER[number % FIXED_ORDER.len()];
            let team = team_of(board, color);
            if self.can_move(board, team) {
                self.next_board = board;
                self.team = team;
                return;
            }
        }
    }

    /// Makes `team` the one to move, if it can move: in the timed order any team, in the fixed order only the
    /// one that is to move already. Returns whether it can.
    pub(in crate::rules) fn set_team_to_move(&mut self, team: Side) -> bool {
        let is_in_order = self.rules.order == TurnOrder::Timed || team == self.team;
        let possible = is_in_order && self.over.is_none() && self.can_move_somewhere(team);
        if possible && team != self.team {
            self.team = team;
            self.mid_turn = false;
        }
        possible
    }

    /// Makes the team on turn at `board` the one to move in the timed order, even if a draw could have
    /// been claimed there. Returns whether it can move.
    pub(in crate::rules) fn set_player_to_move(&mut self, board: BoardId) -> bool {
        if self.rules.order != TurnOrder::Timed {
            return false;
        }
        self.boards[board as usize].reopen();
        self.update_outcome();
        self.set_team_to_move(self.on_turn(board))
    }
}

//! What only games on two boards have: moves of either player of a team, the boards one by one, clocks, and
//! turns of two boards.

use super::bughouse::{self, BughousePosition};
use super::{BoardId, Clocks, Key, Move, Position, Side, State};

impl Position {
    fn bughouse(&self) -> Option<&BughousePosition> {
        if let State::Bughouse(game) = &self.state { Some(game) } else { None }
    }

    fn bughouse_mut(&mut self) -> Option<&mut BughousePosition> {
        if let State::Bughouse(game) = &mut self.state { Some(game) } else { None }
    }

    /// Changes the side to move to the one that can play `m`, in games in which several players may
    /// move now. Returns whether `m` is legal then. If not, the position is unchanged.
    pub fn select_side_to_move(&mut self, m: Move) -> bool {
        if self.is_legal(m) {
            return true;
        }
        let mut other = self.clone();
        let changed = match m {
            Move::Pass => {
                Side::all(2).any(|side| side != self.turn() && other.set_side_to_move(side))
            }
            _ => other.set_board_to_move(m.board()),
        };
        let is_legal = changed && other.is_legal(m);
        if is_legal {
            *self = other;
        }
        is_legal
    }

    /// Makes `side` the side to move, in games in which several may move now. Returns whether it is
    /// the side to move.
    pub fn set_side_to_move(&mut self, side: Side) -> bool {
        match self.bughouse_mut() {
            Some(game) => game.set_team_to_move(side),
            None => side == self.turn(),
        }
    }

    /// Makes the player on turn at `board` the one to move, in games in which several players may move
    /// now. Returns whether that player is to move.
    fn set_board_to_move(&mut self, board: BoardId) -> bool {
        self.bughouse_mut().is_some_and(|game| game.set_player_to_move(board))
    }

    /// Returns `true` if the side to move could sit in bughouse although [`Move::Pass`] is not legal,
    /// because the clocks do not decide it. Then a search must not conclude that the side has lost
    /// because all its moves lose.
    pub fn can_pass(&self) -> bool {
        self.bughouse().is_some_and(BughousePosition::may_sit_is_unknown)
    }

    /// Returns the key of one board of bughouse: pieces, pockets, rights and the color on turn there.
    /// `None` in other games.
    pub fn board_key(&self, board: BoardId) -> Option<Key> {
        self.bughouse().map(|game| game.board_key(board))
    }

    /// Returns the position of one board of bughouse, as a position of the one-board game and without
    /// history. `None` in other games.
    pub fn board_position(&self, board: BoardId) -> Option<Position> {
        let game = self.bughouse()?;
        Some(Position::start(State::ChessPosition(game.at(board))))
    }

    /// Returns the clocks of bughouse, all 0 if they are unknown. `None` in other games.
    pub fn clocks(&self) -> Option<Clocks> {
        self.bughouse().map(BughousePosition::clocks)
    }

    /// Sets the clocks of bughouse. Does nothing in other games.
    pub fn set_clocks(&mut self, clocks: Clocks) {
        if let Some(game) = self.bughouse_mut() {
            game.set_clocks(clocks);
        }
    }

    /// Returns the text of a turn, whose plies have the texts `texts`.
    pub(super) fn join_plies(&self, plies: &[Move], texts: &[String]) -> String {
        match self.state {
            State::Bughouse(_) => bughouse::turn_text(plies, texts),
            _ => texts.join(","),
        }
    }

    /// Returns the sequences of plies that the text of a turn can stand for, the most likely first.
    pub(super) fn parse_candidates(&self, turn: &str) -> Vec<Vec<String>> {
        match self.state {
            State::Bughouse(_) => bughouse::parse_candidates(turn),
            _ => vec![turn.split(',').map(str::to_owned).collect()],
        }
    }

    /// Returns `true` if the text of a turn may stop before the turn ends, because the players of a team
    /// move independently.
    pub(super) fn allows_partial_turn(&self) -> bool {
        self.bughouse().is_some_and(BughousePosition::allows_partial_turn)
    }

    /// Parses a ply with the number of its board, or `pass`. It need not be legal.
    pub(super) fn parse_ply_of_two_boards(&self, text: &str) -> Option<Move> {
        match bughouse::split_board_number(text) {
            Some((board, text)) => Some(self.board_position(board)?.parse_ply(text)?.on(board)),
            None if text == bughouse::PASS => Some(Move::Pass),
            None => None,
        }
    }

    /// Parses a ply of a player that may move now but is not the one to move.
    pub(super) fn parse_ply_of_other_board(&self, text: &str) -> Option<Move> {
        if !self.allows_partial_turn() {
            return None;
        }
        BoardId::ALL.into_iter().find_map(|board| {
            let mut other = self.clone();
            if other.set_board_to_move(board) { other.parse_ply(text) } else { None }
        })
    }
}

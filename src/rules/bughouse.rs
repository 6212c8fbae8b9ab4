//! Bughouse: two boards and two teams of two partners, who play with different colors at different
//! boards. A captured piece goes to the pocket of the partner. A mate at either board ends the game; a
//! draw at a board ends only the game on that board.
//!
//! `docs/bughouse.md` describes the rules where programs and servers differ, and the order of play.

mod board;
mod clocks;
mod fen;
mod order;
mod text;

use std::sync::Arc;

pub use clocks::Clocks;
pub use order::TurnOrder;
use shakmaty::{Color, Square};
pub(super) use text::{PASS, parse_candidates, split_board_number, turn_text};

use self::board::{BoardState, BoardStatus};
use super::chess::{ChessPosition, VariantRules};
use super::{
    BoardId, BoardView, GameSpec, Key, Move, MoveList, Outcome, Reason, Rules, Side, Symmetry,
    TeamStatus, View,
};

/// The parameters of one game of this family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bughouse {
    /// The rules of each board: chess with drops, in which captured pieces leave the board.
    pub board: Arc<VariantRules>,
    /// The order of play.
    pub order: TurnOrder,
    /// Whether a check without a legal reply is not mate as long as the partner can still bring a piece
    /// that blocks it.
    pub mate_blockable: bool,
}

/// A position of bughouse. Side 0 is the team that has white at board A, side 1 the team that has white
/// at board B.
#[derive(Debug)]
pub(super) struct BughousePosition {
    rules: Arc<Bughouse>,
    boards: [BoardState; 2],
    clocks: Clocks,
    /// The team to move.
    team: Side,
    /// Whether the team has moved at one board and may move at the other.
    mid_turn: bool,
    /// The board to move at in the fixed order; board A in the timed order.
    next_board: BoardId,
    /// Whether all moves of the turn so far are reversible.
    reversible: bool,
    over: Option<Outcome>,
}

impl Clone for BughousePosition {
    fn clone(&self) -> BughousePosition {
        BughousePosition { rules: Arc::clone(&self.rules), boards: self.boards.clone(), ..*self }
    }

    fn clone_from(&mut self, source: &BughousePosition) {
        let BughousePosition {
            rules,
            boards,
            clocks,
            team,
            mid_turn,
            next_board,
            reversible,
            over,
        } = source;
        if !Arc::ptr_eq(&self.rules, rules) {
            self.rules = Arc::clone(rules);
        }
        self.boards[0].clone_from(&boards[0]);
        self.boards[1].clone_from(&boards[1]);
        self.clocks = *clocks;
        self.team = *team;
        self.mid_turn = *mid_turn;
        self.next_board = *next_board;
        self.reversible = *reversible;
        self.over = *over;
    }
}

/// Returns the team that has `color` at `board`.
fn team_of(board: BoardId, color: Color) -> Side {
    if (board == BoardId::A) == color.is_white() { Side::WHITE } else { Side::BLACK }
}

/// Returns the color of `team` at `board`.
fn color_of(team: Side, board: BoardId) -> Color {
    Color::from_white((board == BoardId::A) == (team == Side::WHITE))
}

fn opponents(team: Side) -> Side {
    team.after(1, 2)
}

impl BughousePosition {
    fn board(&self, board: BoardId) -> &BoardState {
        &self.boards[board as usize]
    }

    /// Returns the team that is on turn at `board`.
    fn on_turn(&self, board: BoardId) -> Side {
        team_of(board, self.board(board).color())
    }

    /// Returns the position of a board, as a position of the one-board game.
    pub(super) fn at(&self, board: BoardId) -> ChessPosition {
        self.board(board).chess.clone()
    }

    /// Returns the four clocks.
    pub(super) fn clocks(&self) -> Clocks {
        self.clocks
    }

    /// Sets the four clocks.
    pub(super) fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = clocks;
        self.update_outcome();
    }

    /// Returns the key of a board.
    pub(super) fn board_key(&self, board: BoardId) -> Key {
        self.board(board).chess.key()
    }

    /// Returns `true` if the players of a team move independently, so that a turn may stop before it ends.
    pub(super) fn allows_partial_turn(&self) -> bool {
        self.rules.order == TurnOrder::Timed
    }

    /// Sets whether moves write castling as king takes rook.
    pub(super) fn write_chess960(&mut self, chess960: bool) {
        for board in &mut self.boards {
            board.chess.write_chess960(chess960);
        }
    }

    /// Plays a move of the player on turn at `board`.
    fn play_at(&mut self, board: BoardId, m: Move) {
        let team = self.on_turn(board);
        self.reversible |= !self.mid_turn || team != self.team;
        self.team = team;
        if self.rules.order == TurnOrder::Timed {
            let other = self.board(board.other());
            let waiting = (!other.is_drawn()).then(|| other.color());
            self.clocks.run(board, self.board(board).color(), waiting);
        }
        let mate_blockable = self.rules.mate_blockable;
        let captured = self.board(board).chess.captured_by(m);
        let this = &mut self.boards[board as usize];
        this.play(m, mate_blockable);
        self.reversible &= this.chess.reversible_plies() > 0;
        let other = &mut self.boards[board.other() as usize];
        if let Some(piece) = captured {
            other.chess.add_to_pocket(piece);
            if matches!(other.status, BoardStatus::Stuck { .. }) {
                other.update_status(mate_blockable);
            }
        }
        self.update_outcome();
        if self.over.is_none() {
            self.select_next_team(board);
        }
    }

    /// Determines whether the game is over. Then the losing team is to move, so that equal final
    /// positions have equal keys.
    fn update_outcome(&mut self) {
        self.over = BoardId::ALL.into_iter().find_map(|board| self.board_outcome(board));
        if self.over.is_none() && !self.boards.iter().any(BoardState::is_open) {
            let reason = self.boards.iter().find_map(|board| match board.status {
                BoardStatus::Drawn(reason) => Some(reason),
                _ => None,
            });
            self.over = Some(Outcome::draw(reason.unwrap_or(Reason::Stalemate)));
        }
        if let Some(over) = self.over {
            self.team = over.winner.map_or(Side::WHITE, opponents);
            self.mid_turn = false;
            self.next_board = BoardId::A;
        }
    }

    /// Returns the outcome of the game if it is decided at `board`.
    fn board_outcome(&self, board: BoardId) -> Option<Outcome> {
        let team = self.on_turn(board);
        match self.board(board).status {
            BoardStatus::Lost(reason) => Some(Outcome::win(opponents(team), reason)),
            BoardStatus::Won => Some(Outcome::win(team, Reason::Stalemate)),
            BoardStatus::Stuck { mated: true } if self.is_mate_final(board) => {
                Some(Outcome::win(opponents(team), Reason::Checkmate))
            }
            _ => None,
        }
    }
}

impl Rules for BughousePosition {
    fn game_spec(&self) -> GameSpec {
        let board = self.boards[0].chess.game_spec();
        let symmetry = Symmetry { colors: self.rules.order == TurnOrder::Timed, ..board.symmetry };
        GameSpec { two_boards: true, symmetry, ..board }
    }

    fn turn(&self) -> Side {
        self.team
    }

    fn mid_turn(&self) -> bool {
        self.mid_turn
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.legal_moves(legal);
        // In the timed order a turn can have two plies.
        (self.rules.order == TurnOrder::Fixed || legal.is_empty()).then_some(legal.len() as u64)
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        for board in BoardId::ALL {
            if self.may_move(board, self.team) {
                let before = out.len();
                self.board(board).chess.append_moves(out);
                for m in &mut out[before..] {
                    *m = m.on(board);
                }
            }
        }
        if self.may_sit() {
            out.push(Move::Pass);
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        match m {
            Move::Pass => self.sit(),
            _ => self.play_at(m.board(), m),
        }
    }

    fn outcome(&self, _legal: &[Move]) -> Option<Outcome> {
        self.over
    }

    fn claimable_outcome(&self) -> Option<Outcome> {
        None
    }

    fn opponent_in_check(&self) -> bool {
        self.boards.iter().any(|board| board.chess.opponent_in_check())
    }

    fn checked_king(&self, board: BoardId) -> Option<Square> {
        self.board(board).chess.checked_king(board)
    }

    fn reversible(&self) -> u32 {
        u32::from(self.reversible)
    }

    fn key(&self) -> Key {
        let [a, b] = &self.boards;
        let flags =
            [self.team == Side::BLACK, self.next_board == BoardId::B, a.is_drawn(), b.is_drawn()];
        let flags = flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag));
        Key::of([a.chess.key().0, b.chess.key().0, flags])
    }

    fn view(&self) -> View<'_> {
        let boards = BoardId::ALL.map(|board| {
            let state = self.board(board);
            let color = color_of(self.team, board);
            BoardView {
                turn: color,
                repeated: state.repeated(),
                team: TeamStatus {
                    may_move: self.may_move(board, self.team),
                    on_turn: state.color() == color,
                    drawn: state.is_drawn(),
                    lead: self.clocks.lead(board, color),
                },
                ..state.chess.board_view()
            }
        });
        View { boards: boards.into(), ..View::of_board(self.team, self.mid_turn, boards[0]) }
    }

    fn fen(&self) -> String {
        self.to_fen()
    }

    fn move_text(&self, m: Move) -> String {
        self.ply_text(m)
    }

    fn diagram(&self) -> Option<String> {
        Some(self.draw())
    }
}

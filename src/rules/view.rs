//! What a side sees of a position, and the properties of a game: the input of the encodings.

use arrayvec::ArrayVec;
use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, Role, Square};

use super::{BoardId, PerSide, Side};

/// The properties of a game that are the same in all its positions. They determine its encoding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameSpec {
    /// The number of sides.
    pub sides: usize,
    /// Whether there are two boards, and a side may sit (`Move::Pass`). The other fields describe each
    /// of the two boards.
    pub two_boards: bool,
    /// The number of files of the board, at most 8.
    pub files: usize,
    /// The number of ranks of the board, at most 8.
    pub ranks: usize,
    /// The pieces that can be on the board, in the order of shakmaty.
    pub roles: Vec<Role>,
    /// The pieces that a pawn can promote to, the usual choice first. Empty without promotion.
    pub promotions: Vec<Role>,
    /// The pieces that can be dropped. Empty without drops.
    pub drops: Vec<Role>,
    /// Whether moves claim empty cells (`Move::Place`).
    pub places: bool,
    /// Whether walls are placed on empty squares (`Move::Wall`), as the last ply of a turn or alone.
    pub walls: bool,
    /// Whether there can be walls on the board.
    pub barriers: bool,
    /// Whether placing a wall removes the previous one, as for the duck.
    pub wall_moves: bool,
    /// Whether there are castling rights.
    pub castling: bool,
    /// Whether there is en passant.
    pub en_passant: bool,
    /// Whether captures are compulsory.
    pub must_capture: bool,
    /// The number of checks that win, if checks are counted.
    pub checks: Option<u8>,
    /// Whether promoted pieces are tracked.
    pub promoted: bool,
    /// Whether the board of the second side is that of the first side upside down. It is not if both
    /// sides run for the same rank.
    pub mirrored: bool,
    /// The symmetries of positions without castling rights. With two boards, `files` is about each
    /// board and `colors` about the two teams.
    pub symmetry: Symmetry,
    /// Names of the rules that the pieces on the board and the legal moves do not show, such as `blast`, without
    /// spaces, colons and semicolons. Games have a name in common if they have the rule in common.
    pub rule_names: Vec<String>,
}

/// A position as the side to move sees it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The side to move.
    pub mover: Side,
    /// Whether the side to move has played a part of its turn and must complete it.
    pub mid_turn: bool,
    /// The cells that each side has claimed, in games in which cells are claimed.
    pub cells: PerSide<Bitboard>,
    /// The boards in the order of [`BoardId`]: two in bughouse, otherwise one.
    pub boards: ArrayVec<BoardView<'a>, 2>,
}

/// One board as the side to move sees it.
#[derive(Clone, Copy, Debug)]
pub struct BoardView<'a> {
    /// The color to move in games of two sides, otherwise white. In bughouse the color that the team
    /// to move has on this board.
    pub turn: Color,
    /// The pieces on the board.
    pub pieces: &'a Board,
    /// The pieces that are promoted pawns.
    pub promoted: Bitboard,
    /// The pieces in hand.
    pub hands: Option<&'a ByColor<ByRole<u8>>>,
    /// The rooks that may still castle.
    pub castling: Bitboard,
    /// The square of a possible en passant capture.
    pub en_passant: Option<Square>,
    /// The squares that no piece can enter or pass: the duck and other walls.
    pub walls: Bitboard,
    /// The number of checks that each side still needs to win.
    pub checks: Option<ByColor<u8>>,
    /// The number of plies since the last capture or pawn move.
    pub halfmoves: u32,
    /// Whether the position has occurred before, in bughouse that of this board.
    pub repeated: bool,
    /// The state of play of the team to move on this board, in bughouse.
    pub team: TeamStatus,
}

/// The state of play of the team to move on one board of bughouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TeamStatus {
    /// Whether the team may move here now.
    pub may_move: bool,
    /// Whether the team is on turn here, with or without legal moves.
    pub on_turn: bool,
    /// Whether the game on this board is drawn, so that no one moves here anymore.
    pub drawn: bool,
    /// The time of the team here minus that of the opponent on the other board, in milliseconds. The
    /// player with more time may sit.
    pub lead: i64,
}

impl<'a> BoardView<'a> {
    /// Returns the view of a board with nothing but pieces.
    pub(super) fn new(turn: Color, pieces: &'a Board) -> BoardView<'a> {
        BoardView {
            turn,
            pieces,
            promoted: Bitboard::EMPTY,
            hands: None,
            castling: Bitboard::EMPTY,
            en_passant: None,
            walls: Bitboard::EMPTY,
            checks: None,
            halfmoves: 0,
            repeated: false,
            team: TeamStatus::default(),
        }
    }
}

impl<'a> View<'a> {
    /// Returns the view of a game on one board.
    pub(super) fn of_board(mover: Side, mid_turn: bool, board: BoardView<'a>) -> View<'a> {
        View {
            mover,
            mid_turn,
            cells: PerSide::all(Bitboard::EMPTY),
            boards: [board].into_iter().collect(),
        }
    }

    /// Returns the board on which the team to move has `color`; the first one if there is none.
    pub fn board_with(&self, color: Color) -> BoardId {
        match self.boards.get(BoardId::B as usize) {
            Some(board) if board.turn == color => BoardId::B,
            _ => BoardId::A,
        }
    }

    /// Returns what the side to move sees of a board; of the first one if there is only one.
    pub fn on(&self, board: BoardId) -> &BoardView<'a> {
        self.boards.get(board as usize).unwrap_or(&self.boards[0])
    }
}

/// The symmetries that preserve the value of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Symmetry {
    /// Mirroring the files.
    pub files: bool,
    /// Flipping the ranks and exchanging the colors of all pieces and of the side to move.
    pub colors: bool,
}

//! The 60 planes of the paper (Table I): the team and the board to move; and for each board the
//! pieces, the pockets, the promoted pieces, the en passant square, the fifty-move counter, and the
//! castling rights.
//!
//! The planes are 3,840 numbers, but each of 27 planes repeats one number 64 times. Here it is one
//! feature, multiplied by 8, so that the distances and angles between positions are those of the
//! planes, and what is linear in the planes is linear in these 1,824 features. The planes are not
//! flipped for the side to move.

use menagerie::rules::{BoardId, BoardView, Color, Move, Position, Role, Side, Square};

/// The number of features of a position.
pub const FEATURE_COUNT: usize = 2 + 2 * BOARD_FEATURES;

/// The number of features of a board: 12 planes of pieces, 10 numbers of the pockets, 2 planes of
/// squares, and 5 other numbers.
const BOARD_FEATURES: usize = 12 * 64 + 10 + 2 * 64 + 5;

/// The factor of a feature that stands for a plane of 64 equal numbers: the square root of 64.
const UNIFORM_PLANE_FACTOR: f32 = 8.0;

/// The roles in the order of the paper.
const ROLES: [Role; 6] =
    [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];

/// The team and the board that are to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToMove {
    /// The team.
    pub team: Side,
    /// The board.
    pub board: BoardId,
}

impl ToMove {
    /// Returns the team and the board that are to move in `position`.
    pub fn in_position(position: &Position) -> ToMove {
        let is_board_a = board_view(position, BoardId::A).team.may_move;
        ToMove { team: position.turn(), board: if is_board_a { BoardId::A } else { BoardId::B } }
    }

    /// Returns the team and the board of the move `m` in `position`, where more than one board may be
    /// to move.
    pub fn of_move(position: &Position, m: Move) -> ToMove {
        ToMove { team: position.turn(), board: m.board() }
    }
}

/// The view of a board, whichever side is to move.
fn board_view(position: &Position, board: BoardId) -> BoardView<'_> {
    *position.view().on(board)
}

/// The features of a position that are not 0: indices, in ascending order, and values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Features(pub Vec<(u16, f32)>);

impl Features {
    /// Returns the features of a position of two boards in which `to_move` is to move.
    pub fn from_position(position: &Position, to_move: ToMove) -> Features {
        let mut features = Features(Vec::with_capacity(96));
        features.add_uniform(0, u32::from(to_move.team == Side::WHITE));
        features.add_uniform(1, u32::from(to_move.board == BoardId::B));
        for (index, board) in BoardId::ALL.into_iter().enumerate() {
            features.add_board(2 + index * BOARD_FEATURES, &board_view(position, board));
        }
        features
    }

    /// Adds the feature of a plane of equal numbers.
    fn add_uniform(&mut self, index: usize, number: u32) {
        if number > 0 {
            self.0.push((index as u16, UNIFORM_PLANE_FACTOR * number as f32));
        }
    }

    /// Adds a plane with a 1 on each of `squares`.
    fn add_squares(&mut self, first: usize, squares: impl IntoIterator<Item = Square>) {
        for square in squares {
            self.0.push((first as u16 + u16::from(u8::from(square)), 1.0));
        }
    }

    fn add_board(&mut self, first: usize, board: &BoardView<'_>) {
        let mut index = first;
        for (color, role) in pieces(&ROLES) {
            self.add_squares(index, board.pieces.by_piece(role.of(color)));
            index += 64;
        }
        for (color, role) in pieces(&ROLES[1..]) {
            self.add_uniform(index, board.hands.map_or(0, |pockets| pockets[color][role].into()));
            index += 1;
        }
        self.add_squares(index, board.promoted);
        self.add_squares(index + 64, board.en_passant);
        self.add_uniform(index + 128, board.halfmoves);
        index += 129;
        for color in Color::ALL {
            self.add_uniform(index, can_castle(board, color, true).into());
            self.add_uniform(index + 1, can_castle(board, color, false).into());
            index += 2;
        }
    }
}

/// Pairs of colors and `roles`, in the order of the planes.
fn pieces(roles: &'static [Role]) -> impl Iterator<Item = (Color, Role)> {
    Color::ALL.into_iter().flat_map(move |color| roles.iter().map(move |&role| (color, role)))
}

/// Whether a colour may still castle on the king's side or on the queen's side.
fn can_castle(board: &BoardView<'_>, color: Color, kings_side: bool) -> bool {
    let Some(king) = board.pieces.king_of(color) else { return false };
    let rooks = board.castling & board.pieces.by_color(color);
    rooks.into_iter().any(|rook| (rook > king) == kings_side)
}

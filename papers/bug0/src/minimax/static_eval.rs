//! The static evaluation: piece values and piece-square tables, both of the authors' program.

use menagerie::rules::{BoardView, Color, Position, Role, Square};

/// Returns the evaluation of a position for the side to move, in centipawns.
///
/// Pieces in the pocket are not counted.
pub fn evaluate(position: &Position) -> i32 {
    let board = position.board();
    material(&board, board.turn) - material(&board, !board.turn)
}

/// The value of the pieces of a colour on their squares.
fn material(board: &BoardView<'_>, color: Color) -> i32 {
    let squares = board.pieces.by_color(color).into_iter();
    squares.map(|square| value_on_square(board, square, color)).sum()
}

fn value_on_square(board: &BoardView<'_>, square: Square, color: Color) -> i32 {
    let Some(role) = board.pieces.role_at(square) else { return 0 };
    // The first row of a table is the last rank of the piece's colour.
    let rank = usize::from(square.rank());
    let row = if color.is_white() { 7 - rank } else { rank };
    let square_value = square_table(role)[row][usize::from(square.file())];
    piece_value(role) + SQUARE_STEP_CENTIPAWNS * i32::from(square_value)
}

/// Returns the value of a piece without its square, in centipawns. That of the king is 0, as it is
/// never captured.
pub(super) fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 310,
        Role::Bishop => 320,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}

/// The unit of the piece-square tables.
const SQUARE_STEP_CENTIPAWNS: i32 = 5;

/// The values of the squares for White, from the eighth rank down, files from a to h.
type SquareTable = [[i8; 8]; 8];

fn square_table(role: Role) -> &'static SquareTable {
    match role {
        Role::Pawn => &PAWN,
        Role::Knight => &KNIGHT,
        Role::Bishop => &BISHOP,
        Role::Rook => &ROOK,
        Role::Queen => &QUEEN,
        Role::King => &KING,
    }
}

const PAWN: SquareTable = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [12, 12, 12, 12, 14, 12, 12, 12],
    [8, 8, 8, 10, 12, 8, 8, 8],
    [4, 4, 4, 8, 10, 4, 4, 4],
    [1, 1, 3, 6, 8, 2, 1, 1],
    [1, 1, 2, 4, 6, 1, 1, 1],
    [1, 1, 1, -6, -6, 1, 1, 1],
    [0, 0, 0, 0, 0, 0, 0, 0],
];

const KNIGHT: SquareTable = [
    [-4, -2, -2, -2, -2, -2, -2, -4],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 3, 3, 3, 3, -1, -2],
    [-2, -1, 2, 3, 3, 3, -1, -2],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-4, 0, -2, -2, -2, -2, 0, -4],
];

const BISHOP: SquareTable = [
    [-4, 0, 0, 0, 0, 0, 0, -4],
    [-3, 0, 0, 0, 0, 0, 0, -3],
    [-2, 0, 0, 1, 1, 0, 0, -2],
    [-2, 2, 2, 6, 6, 2, 2, -2],
    [1, 1, 2, 5, 5, 2, 1, 1],
    [1, 1, 1, 2, 2, 1, 1, 1],
    [-2, 1, 1, 2, 2, 1, 1, -2],
    [-4, -2, -2, -2, -2, -2, -2, -4],
];

const ROOK: SquareTable = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [3, 3, 3, 4, 4, 3, 3, 3],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 2, 2, 2, 0, 0],
];

const QUEEN: SquareTable = [
    [-6, -4, -2, -2, -2, -2, -4, -6],
    [-4, -2, -1, -1, -1, -1, -2, -4],
    [-2, -1, 2, 2, 2, 2, -1, -2],
    [-2, -1, 2, 4, 4, 2, -1, -2],
    [-2, -1, 2, 4, 4, 2, -1, -2],
    [-2, -1, -1, -1, -1, -1, -1, -2],
    [-4, -2, -1, -1, -1, -1, -2, -4],
    [-6, -4, -2, -2, -2, -2, -4, -6],
];

const KING: SquareTable = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 4, 4, 0, 0, 0],
    [0, 0, 0, 4, 4, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, -2, -2, 0, 0, 0],
    [0, 0, 4, -2, -2, 0, 4, 0],
];

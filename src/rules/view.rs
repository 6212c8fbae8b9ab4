//! What a side may know of a position, and what a game is made of: all that an encoder sees.

use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, Role, Square};

use super::{PerSide, Side};

/// What a game is made of, the same in all its positions: from this an encoding is composed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameSpec {
    /// How many sides play.
    pub sides: usize,
    /// Whether there are two boards, each with its own moves (`Move::Second`), and a side may sit
    /// (`Move::Pass`). What is said of the board holds for both.
    pub tables: bool,
    /// Files of the board, at most 8.
    pub files: usize,
    /// Ranks of the board, at most 8.
    pub ranks: usize,
    /// The men that may stand on the board, in shakmaty's order.
    pub roles: Vec<Role>,
    /// What a pawn may become, the usual choice first; empty if nothing promotes.
    pub promotions: Vec<Role>,
    /// The men that may be dropped from hand; empty without drops.
    pub drops: Vec<Role>,
    /// Whether a move claims an empty cell (`Move::Place`).
    pub places: bool,
    /// Whether walls are put on empty squares (`Move::Wall`), as a turn's last ply or alone.
    pub walls: bool,
    /// Whether there may be walls on the board.
    pub barriers: bool,
    /// Whether a wall leaves its square when the next one is put down, as the duck does.
    pub wall_moves: bool,
    /// Whether there are castling rights.
    pub castling: bool,
    /// Whether there is en passant.
    pub en_passant: bool,
    /// The checks that win, if checks are counted.
    pub checks: Option<u8>,
    /// Whether promoted men are told apart.
    pub promoted: bool,
    /// Whether the second side's board is the first one's upside down. Not so where both run for
    /// the same rank.
    pub mirrored: bool,
    /// Which images of a position without castling rights the rules do not tell apart. With two
    /// boards, `files` is about each board, and `colours` about the two teams.
    pub symmetry: Symmetry,
}

/// One position as the side to move sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Whose turn it is, in games of two sides; else White's. With two tables: the colour that the
    /// side to move has at this one.
    pub turn: Color,
    /// Whose turn it is.
    pub mover: Side,
    /// What each side has claimed, in games in which cells are claimed.
    pub cells: PerSide<Bitboard>,
    /// The men on the board.
    pub board: &'a Board,
    /// Which of them are promoted pawns.
    pub promoted: Bitboard,
    /// The men in hand.
    pub hands: Option<&'a ByColor<ByRole<u8>>>,
    /// The rooks that may still castle.
    pub castling: Bitboard,
    /// The square of a possible en passant capture.
    pub en_passant: Option<Square>,
    /// Squares that no man may enter or pass: the duck, and other walls.
    pub walls: Bitboard,
    /// Whether the side to move has begun its turn already and owes the rest of it.
    pub mid_turn: bool,
    /// How many more checks each side needs to win.
    pub checks: Option<ByColor<u8>>,
    /// Plies since the last capture or pawn move.
    pub halfmoves: u32,
    /// Whether the position stood before.
    pub repeated: bool,
    /// How things are at this table, if there are two.
    pub seat: Seat,
    /// The other table, if there are two.
    pub second: Option<Second<'a>>,
}

/// What one of two tables asks of the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seat {
    /// It may make a move there now.
    pub asked: bool,
    /// It is on turn there, whether it can move or not.
    pub on_turn: bool,
    /// The table's game is drawn: nobody moves there any more.
    pub drawn: bool,
    /// How much more time it has there than the opponent at the other table, in milliseconds: who
    /// has more may wait for the other to move.
    pub lead: i64,
}

/// The second of two tables; see the fields of [`View`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "they are those of View")]
pub struct Second<'a> {
    pub turn: Color,
    pub board: &'a Board,
    pub promoted: Bitboard,
    pub hands: Option<&'a ByColor<ByRole<u8>>>,
    pub castling: Bitboard,
    pub en_passant: Option<Square>,
    pub halfmoves: u32,
    pub repeated: bool,
    pub seat: Seat,
}

impl<'a> View<'a> {
    /// What there is to see at a table, for whoever sees another table beside it.
    pub(super) fn beside(self) -> Second<'a> {
        Second {
            turn: self.turn,
            board: self.board,
            promoted: self.promoted,
            hands: self.hands,
            castling: self.castling,
            en_passant: self.en_passant,
            halfmoves: self.halfmoves,
            repeated: self.repeated,
            seat: self.seat,
        }
    }

    /// The table at which the side to move has `color`; the only one, if there is one.
    pub fn table_of(self, color: Color) -> View<'a> {
        let Some(second) = self.second.filter(|second| second.turn == color) else { return self };
        View {
            turn: second.turn,
            board: second.board,
            promoted: second.promoted,
            hands: second.hands,
            castling: second.castling,
            en_passant: second.en_passant,
            halfmoves: second.halfmoves,
            repeated: second.repeated,
            seat: second.seat,
            ..self
        }
    }
}

/// Which images of a board are worth the same as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Symmetry {
    /// The board mirrored, the first file in the last one's place.
    pub files: bool,
    /// The board upside down, each man of the other colour, with the other side to move.
    pub colours: bool,
}

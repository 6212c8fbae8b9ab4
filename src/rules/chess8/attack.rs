//! Attacks on squares, and what they forbid.

use shakmaty::{Bitboard, Color, Square, attacks};

use super::Chess8;

/// What the mover must heed lest its king be taken.
#[derive(Clone, Copy)]
pub(super) struct Danger {
    /// The king, if it is royal and there.
    pub(super) king: Option<Square>,
    /// Who gives check to it.
    pub(super) checkers: Bitboard,
    /// The first men in its lines: none but these can uncover it.
    shields: Bitboard,
}

impl Chess8 {
    /// The king of `color`, if check matters to it.
    fn royal(&self, color: Color) -> Option<Square> {
        if self.axes.royal { self.board.king_of(color) } else { None }
    }

    /// Whether the king of `color` could be taken at once by the other side.
    pub(super) fn in_check(&self, color: Color) -> bool {
        let them = self.board.by_color(!color);
        self.royal(color)
            .is_some_and(|king| self.attackers(king, color, self.board.occupied(), them).any())
    }

    /// Which of `among` attack `square`, owned by `color`, with `occupied` men on the board.
    pub(super) fn attackers(
        &self,
        square: Square,
        color: Color,
        occupied: Bitboard,
        among: Bitboard,
    ) -> Bitboard {
        let board = &self.board;
        let blocked = occupied | self.duck | !self.area;
        among
            & ((attacks::rook_attacks(square, blocked) & board.rooks_and_queens())
                | (attacks::bishop_attacks(square, blocked) & board.bishops_and_queens())
                | (attacks::knight_attacks(square) & board.knights())
                | (attacks::king_attacks(square) & board.kings())
                | (attacks::pawn_attacks(color, square) & board.pawns()))
    }

    /// What threatens the side to move.
    pub(super) fn danger(&self) -> Danger {
        let Some(king) = self.royal(self.turn) else {
            return Danger { king: None, checkers: Bitboard::EMPTY, shields: Bitboard::EMPTY };
        };
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let checkers = self.attackers(king, self.turn, us | them, them);
        let blocked = us | them | self.duck | !self.area;
        Danger { king: Some(king), checkers, shields: attacks::queen_attacks(king, blocked) & us }
    }

    /// Whether the king of the mover is safe after a man goes `from` -> `to` and the men on
    /// `captured` are gone.
    pub(super) fn is_safe(
        &self,
        danger: Danger,
        from: Square,
        to: Square,
        captured: Bitboard,
    ) -> bool {
        let Some(king) = danger.king else { return true };
        // Who captures en passant opens two squares.
        let plain = king != from && captured.without(to).is_empty();
        if plain && danger.checkers.is_empty() && !danger.shields.contains(from) {
            return true;
        }
        let king = if king == from { to } else { king };
        let occupied = (self.board.occupied().without(from) & !captured).with(to);
        let them = self.board.by_color(!self.turn) & !captured;
        self.attackers(king, self.turn, occupied, them).is_empty()
    }
}

//! Chess on any board up to 8x8, as axes that combine freely.
//!
//! Squares are those of the 8x8 board; a smaller one lies in the corner of a1, and what lies
//! outside it stops sliders as men would.

mod fen;

use std::sync::Arc;

use shakmaty::{Bitboard, Board, ByColor, Color, Piece, Role, Square, attacks};

use super::notation::area;
use super::{Anatomy, Key, Move, MoveList, Outcome, Reason, Rules, Side, View};

/// The rules of one game of this family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// Files of the board, 1 to 8.
    pub files: usize,
    /// Ranks of the board, 1 to 8.
    pub ranks: usize,
    /// The men of the game. Kings are royal: the side that is in check must answer it.
    pub roles: Vec<Role>,
    /// What a pawn becomes on a square of `promotion_area`, the usual choice first.
    pub promotions: Vec<Role>,
    /// Where the pawns of each colour promote.
    pub promotion_area: ByColor<Bitboard>,
}

/// A position of a game of this family.
#[derive(Clone, Debug)]
pub(super) struct Chess8 {
    axes: Arc<Axes>,
    area: Bitboard,
    board: Board,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
}

impl Chess8 {
    /// Whether the king of `color` could be taken at once by the other side.
    fn in_check(&self, color: Color) -> bool {
        let occupied = self.board.occupied();
        let them = self.board.by_color(!color);
        (self.board.kings() & self.board.by_color(color))
            .into_iter()
            .any(|king| self.attacked(king, color, occupied, them))
    }

    /// Whether one of `attackers` attacks `square`, owned by `color`, with `occupied` men.
    fn attacked(
        &self,
        square: Square,
        color: Color,
        occupied: Bitboard,
        attackers: Bitboard,
    ) -> bool {
        let board = &self.board;
        let blocked = occupied | !self.area;
        (attackers
            & ((attacks::rook_attacks(square, blocked) & board.rooks_and_queens())
                | (attacks::bishop_attacks(square, blocked) & board.bishops_and_queens())
                | (attacks::knight_attacks(square) & board.knights())
                | (attacks::king_attacks(square) & board.kings())
                | (attacks::pawn_attacks(color, square) & board.pawns())))
        .any()
    }

    /// Calls `each` with every move that forgets about check. A king can be taken, but only from
    /// a FEN that no game reaches; a side without a king is never in check.
    fn pseudo_legal(&self, mut each: impl FnMut(Square, Square, bool)) {
        let (us, them) = (self.board.by_color(self.turn), self.board.by_color(!self.turn));
        let occupied = us | them;
        let blocked = occupied | !self.area;
        let promoting = self.axes.promotion_area[self.turn];
        for from in us {
            let Some(role) = self.board.role_at(from) else {
                continue;
            };
            if role == Role::Pawn {
                let forward = self.turn.fold_wb(8, -8);
                let push = from.offset(forward).map_or(Bitboard::EMPTY, Bitboard::from_square);
                let captures = attacks::pawn_attacks(self.turn, from) & them;
                for to in (push & !occupied | captures) & self.area {
                    each(from, to, promoting.contains(to));
                }
            } else {
                let piece = Piece { color: self.turn, role };
                for to in attacks::attacks(from, piece, blocked) & self.area & !us {
                    each(from, to, false);
                }
            }
        }
    }

    /// Whether the own king is safe after a man goes `from` -> `to`.
    fn is_safe(&self, from: Square, to: Square, king: Option<Square>) -> bool {
        let Some(king) = king else { return true };
        let king = if king == from { to } else { king };
        let occupied = self.board.occupied().without(from).with(to);
        let them = self.board.by_color(!self.turn).without(to);
        !self.attacked(king, self.turn, occupied, them)
    }

    /// Whether `color` can never give mate: a bare king, one minor piece, or bishops of one
    /// square colour, against nothing that could help to mate itself.
    fn lacks_material(&self, color: Color) -> bool {
        let board = &self.board;
        let (us, them) = (board.by_color(color), board.by_color(!color));
        if (us & (board.pawns() | board.rooks_and_queens())).any() {
            false
        } else if (us & board.knights()).any() {
            us.count() <= 2 && (them & !board.kings() & !board.queens()).is_empty()
        } else if (us & board.bishops()).any() {
            let one_colour = (board.bishops() & Bitboard::DARK_SQUARES).is_empty()
                || (board.bishops() & Bitboard::LIGHT_SQUARES).is_empty();
            one_colour && board.knights().is_empty() && board.pawns().is_empty()
        } else {
            true
        }
    }
}

impl Rules for Chess8 {
    fn anatomy(&self) -> Anatomy {
        Anatomy {
            sides: 2,
            files: self.axes.files,
            ranks: self.axes.ranks,
            roles: self.axes.roles.clone(),
            promotions: self.axes.promotions.clone(),
            drops: Vec::new(),
            places: false,
            castling: false,
            en_passant: false,
            checks: None,
            promoted: false,
            mirrored: true,
        }
    }

    fn turn(&self) -> Side {
        self.turn.into()
    }

    fn mid_turn(&self) -> bool {
        false
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        let king = self.board.king_of(self.turn);
        self.pseudo_legal(|from, to, promotes| {
            if !self.is_safe(from, to, king) {
            } else if promotes {
                let promotions = self.axes.promotions.iter();
                out.extend(promotions.map(|&role| Move::Step { from, to, promotion: Some(role) }));
            } else {
                out.push(Move::Step { from, to, promotion: None });
            }
        });
    }

    fn play_unchecked(&mut self, m: Move) {
        let Move::Step { from, to, promotion } = m else {
            return;
        };
        let capture = self.board.remove_piece_at(to);
        let Some(piece) = self.board.remove_piece_at(from) else {
            return;
        };
        let role = promotion.unwrap_or(piece.role);
        self.board.set_piece_at(to, Piece { role, ..piece });
        let zeroing = capture.is_some() || piece.role == Role::Pawn;
        self.halfmoves = if zeroing { 0 } else { self.halfmoves.saturating_add(1) };
        self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn.is_black()));
        self.turn = !self.turn;
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        if !legal.is_empty() {
            None
        } else if self.in_check(self.turn) {
            Some(Outcome::win((!self.turn).into(), Reason::Checkmate))
        } else {
            Some(Outcome::draw(Reason::Stalemate))
        }
    }

    fn claim(&self) -> Option<Outcome> {
        if self.halfmoves >= 100 {
            Some(Outcome::draw(Reason::FiftyMoves))
        } else if Color::ALL.into_iter().all(|color| self.lacks_material(color)) {
            Some(Outcome::draw(Reason::InsufficientMaterial))
        } else {
            None
        }
    }

    fn opponent_in_check(&self) -> bool {
        self.in_check(!self.turn)
    }

    fn reversible(&self) -> u32 {
        self.halfmoves
    }

    fn key(&self) -> Key {
        let roles = Role::ALL.map(|role| u64::from(self.board.by_role(role)));
        let white = u64::from(self.board.white());
        let words = roles.into_iter().chain([white, u64::from(self.turn.is_black())]);
        Key::of(words)
    }

    fn view(&self) -> View<'_> {
        View {
            turn: self.turn,
            board: &self.board,
            promoted: Bitboard::EMPTY,
            hands: None,
            castling: Bitboard::EMPTY,
            en_passant: None,
            checks: None,
            halfmoves: self.halfmoves,
            repeated: false,
        }
    }

    fn fen(&self) -> String {
        self.to_fen()
    }
}

impl Axes {
    /// The squares of the board.
    pub fn area(&self) -> Bitboard {
        area(self.files, self.ranks)
    }
}

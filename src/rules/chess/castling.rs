//! Castling, standard and Chess960. A castling move goes from the king to its own rook.

use shakmaty::{Bitboard, Color, File, Role, Square, attacks};

use super::attack::CheckInfo;
use super::{Castling, ChessPosition};
use crate::rules::{Move, MoveList};

/// The origins and destinations of king and rook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CastlingPath {
    pub(super) king: Square,
    pub(super) rook: Square,
    pub(super) king_to: Square,
    pub(super) rook_to: Square,
}

impl CastlingPath {
    /// Returns `true` for castling on the king side.
    pub(super) fn is_king_side(self) -> bool {
        self.rook > self.king
    }
}

impl ChessPosition {
    /// Returns the king that castles: the king on the castling rank; of several the one on its home
    /// file.
    pub(super) fn castling_king(&self, color: Color) -> Option<Square> {
        let rank = Bitboard::from_rank(self.variant_rules.castling_rank(color));
        let kings = self.board.kings() & self.board.by_color(color) & rank;
        let at_home = || {
            Some(kings & Bitboard::from_file(File::new(self.variant_rules.castling?.king as u32)))
        };
        kings.single_square().or_else(|| at_home()?.first())
    }

    /// Returns the path of castling with `rook`.
    pub(super) fn castling_path(&self, king: Square, rook: Square) -> Option<CastlingPath> {
        let castling = self.variant_rules.castling?;
        let (file, rook_offset) =
            if rook > king { (castling.king_side, -1) } else { (castling.queen_side, 1) };
        let king_to = Square::from_coords(File::new(file as u32), king.rank());
        Some(CastlingPath { king, rook, king_to, rook_to: king_to.offset(rook_offset)? })
    }

    /// Adds the legal castling moves.
    pub(super) fn add_castlings(&self, check_info: CheckInfo, out: &mut MoveList) {
        let step = |path: CastlingPath| Move::step(path.king, path.rook, None);
        out.extend(self.legal_castlings(check_info).map(step));
    }

    /// Returns the paths of the legal castling moves.
    pub(super) fn legal_castlings(
        &self,
        check_info: CheckInfo,
    ) -> impl Iterator<Item = CastlingPath> {
        let rooks = self.rights & self.board.by_color(self.turn);
        let may = rooks.any() && check_info.checkers.is_empty();
        let king = if may { self.castling_king(self.turn) } else { None };
        let paths = king.into_iter().flat_map(move |king| {
            rooks.into_iter().filter_map(move |rook| self.castling_path(king, rook))
        });
        paths.filter(move |&path| self.may_castle(check_info, path))
    }

    fn may_castle(&self, check_info: CheckInfo, path: CastlingPath) -> bool {
        let CastlingPath { king, rook, king_to, rook_to } = path;
        let others = self.board.occupied().without(king).without(rook);
        let walked = attacks::between(king, king_to).with(king_to);
        let rolled = attacks::between(rook, rook_to).with(rook_to);
        if ((walked | rolled) & (others | self.walls)).any() {
            return false;
        }
        let them = self.board.by_color(!self.turn);
        let attacked = |square, occupied| self.attackers(square, self.turn, occupied, them).any();
        // A king that is not royal can castle through attacks.
        check_info.king.is_none()
            || !walked.into_iter().any(|square| attacked(square, others.with(rook)))
                // The rook could have shielded the destination of the king.
                && !attacked(king_to, others.with(rook_to))
    }

    /// Returns `true` if a castling pseudo-royal king could not be captured on the squares that it leaves
    /// and passes. The rook counts as still at home (Fairy-Stockfish, `Position::legal`).
    pub(super) fn castles_safely(&self, path: CastlingPath, theirs: Bitboard) -> bool {
        let walked = attacks::between(path.king, path.king_to).with(path.king);
        let mut open = self.clone();
        open.board.discard_piece_at(path.king);
        !walked.into_iter().any(|square| open.can_be_captured(square, self.turn, theirs))
    }

    /// Returns the path if a step from `from` to `to` is castling: the king moves to its own rook.
    pub(super) fn castles(&self, from: Square, to: Square) -> Option<CastlingPath> {
        let own = self.board.by_color(self.turn);
        let castles = (own & self.board.kings()).contains(from) && own.contains(to);
        if castles { self.castling_path(from, to) } else { None }
    }

    /// Returns the rook with which the king of `color` has the right to castle on a side.
    pub(super) fn castling_rook(&self, color: Color, king_side: bool) -> Option<Square> {
        let king = self.castling_king(color)?;
        let rooks = self.rights & self.board.by_color(color);
        rooks.into_iter().find(|&rook| (rook > king) == king_side)
    }

    /// Adds the castling rights of a king or rook dropped on `square`, if dropped pieces can castle: with
    /// the king on its home file and rooks in the corners.
    pub(super) fn gain_rights(&mut self, square: Square, role: Role) {
        let gains = |castling: &Castling| castling.dropped && castling.colors[self.turn];
        let Some(castling) = self.variant_rules.castling.filter(gains) else { return };
        let rank = self.variant_rules.castling_rank(self.turn);
        let at = |file: usize| Square::from_coords(File::new(file as u32), rank);
        let own = self.board.by_color(self.turn);
        let corners = [at(0), at(self.variant_rules.files - 1)];
        let king_is_home = (own & self.board.kings()).contains(at(castling.king));
        let gains_rights = match role {
            Role::King => square == at(castling.king),
            Role::Rook => corners.contains(&square) && king_is_home,
            _ => false,
        };
        if gains_rights {
            let dropped = |rook: &Square| role == Role::King || *rook == square;
            let rooks = own & self.board.rooks();
            let gained = corners.into_iter().filter(|rook| rooks.contains(*rook) && dropped(rook));
            self.rights |= gained.collect::<Bitboard>();
        }
    }
}

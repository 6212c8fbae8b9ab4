//! Castling, standard and of Chess960: the king goes to its own rook's square.

use shakmaty::{Bitboard, Color, File, Role, Square, attacks};

use super::ChessPosition;
use super::attack::Danger;
use crate::rules::{Move, MoveList};

/// Where king and rook go from and to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Path {
    pub(super) king: Square,
    pub(super) rook: Square,
    pub(super) king_to: Square,
    pub(super) rook_to: Square,
}

impl Path {
    /// Whether it leads to the king's side.
    pub(super) fn is_king_side(self) -> bool {
        self.rook > self.king
    }
}

impl ChessPosition {
    /// The king that castles: that on the rank of castling, and of several the one on its usual
    /// file.
    pub(super) fn castling_king(&self, color: Color) -> Option<Square> {
        let rank = Bitboard::from_rank(self.variant_rules.castling_rank(color));
        let kings = self.board.kings() & self.board.by_color(color) & rank;
        let usual = || {
            Some(kings & Bitboard::from_file(File::new(self.variant_rules.castling?.king as u32)))
        };
        kings.single_square().or_else(|| usual()?.first())
    }

    /// The ways of a king that castles with `rook`.
    pub(super) fn castling_path(&self, king: Square, rook: Square) -> Option<Path> {
        let castling = self.variant_rules.castling?;
        let (file, beside) =
            if rook > king { (castling.king_side, -1) } else { (castling.queen_side, 1) };
        let king_to = Square::from_coords(File::new(file as u32), king.rank());
        Some(Path { king, rook, king_to, rook_to: king_to.offset(beside)? })
    }

    /// Adds every castling that is legal.
    pub(super) fn castlings(&self, danger: Danger, out: &mut MoveList) {
        let step = |path: Path| Move::Step { from: path.king, to: path.rook, promotion: None };
        out.extend(self.legal_castlings(danger).map(step));
    }

    /// Every castling that is legal.
    pub(super) fn legal_castlings(&self, danger: Danger) -> impl Iterator<Item = Path> {
        let rooks = self.rights & self.board.by_color(self.turn);
        let may = rooks.any() && danger.checkers.is_empty();
        let king = if may { self.castling_king(self.turn) } else { None };
        let paths = king.into_iter().flat_map(move |king| {
            rooks.into_iter().filter_map(move |rook| self.castling_path(king, rook))
        });
        paths.filter(move |&path| self.may_castle(danger, path))
    }

    fn may_castle(&self, danger: Danger, path: Path) -> bool {
        let Path { king, rook, king_to, rook_to } = path;
        let others = self.board.occupied().without(king).without(rook);
        let walked = attacks::between(king, king_to).with(king_to);
        let rolled = attacks::between(rook, rook_to).with(rook_to);
        if ((walked | rolled) & (others | self.walls)).any() {
            return false;
        }
        let them = self.board.by_color(!self.turn);
        let attacked = |square, occupied| self.attackers(square, self.turn, occupied, them).any();
        // Where check means nothing, a king may castle through attacks, too.
        danger.king.is_none()
            || !walked.into_iter().any(|square| attacked(square, others.with(rook)))
                // The rook may have shielded the king's goal.
                && !attacked(king_to, others.with(rook_to))
    }

    /// Whether a pseudo-royal king of the side to move that castles could be taken on none of the
    /// squares that it leaves and passes. Its rook is still at home (Fairy-Stockfish, `Position::legal`).
    pub(super) fn walks_safely(&self, path: Path, theirs: Bitboard) -> bool {
        let walked = attacks::between(path.king, path.king_to).with(path.king);
        let mut open = self.clone();
        open.board.discard_piece_at(path.king);
        !walked.into_iter().any(|square| open.may_be_taken(square, self.turn, theirs))
    }

    /// Whether `from` -> `to` is castling: nothing else goes to a man of its own side.
    pub(super) fn castles(&self, from: Square, to: Square) -> Option<Path> {
        let own = self.board.by_color(self.turn);
        let castles = (own & self.board.kings()).contains(from) && own.contains(to);
        if castles { self.castling_path(from, to) } else { None }
    }

    /// The rook of `color` with which its king castles to a side, and whether it has the right.
    pub(super) fn castling_rook(&self, color: Color, king_side: bool) -> Option<Square> {
        let king = self.castling_king(color)?;
        let rooks = self.rights & self.board.by_color(color);
        rooks.into_iter().find(|&rook| (rook > king) == king_side)
    }

    /// Gives the rights that a king or rook of the mover has that was dropped on `square`, where
    /// dropped men may castle: with the king on its file and rooks in the corners.
    pub(super) fn gain_rights(&mut self, square: Square, role: Role) {
        let Some(castling) = self.variant_rules.castling.filter(|castling| castling.dropped) else {
            return;
        };
        let rank = self.variant_rules.castling_rank(self.turn);
        let at = |file: usize| Square::from_coords(File::new(file as u32), rank);
        let own = self.board.by_color(self.turn);
        let corners = [at(0), at(self.variant_rules.files - 1)];
        let king_is_home = (own & self.board.kings()).contains(at(castling.king));
        let concerned = match role {
            Role::King => square == at(castling.king),
            Role::Rook => corners.contains(&square) && king_is_home,
            _ => false,
        };
        if concerned {
            let dropped = |rook: &Square| role == Role::King || *rook == square;
            let rooks = own & self.board.rooks();
            let gained = corners.into_iter().filter(|rook| rooks.contains(*rook) && dropped(rook));
            self.rights |= gained.collect::<Bitboard>();
        }
    }
}

//! Drops of pieces in hand.

use shakmaty::{Bitboard, File, Role, Square};

use super::attack::CheckInfo;
use super::{ChessPosition, Drops};
use crate::rules::{Move, MoveList};

impl ChessPosition {
    /// Adds the legal drops.
    pub(super) fn add_drops(&self, check_info: CheckInfo, out: &mut MoveList) {
        for (role, squares) in self.drop_squares(check_info) {
            out.extend(squares.into_iter().map(|to| Move::drop(role, to)));
        }
    }

    /// Returns the squares on which each piece in hand can be dropped.
    pub(super) fn drop_squares(
        &self,
        check_info: CheckInfo,
    ) -> impl Iterator<Item = (Role, Bitboard)> {
        let squares = self.open_to_drops(check_info);
        let rules = if squares.any() { self.variant_rules.drops.as_ref() } else { None };
        rules.into_iter().flat_map(move |drops| {
            let held = |role: &Role| self.hands[self.turn][*role] > 0;
            Role::ALL
                .into_iter()
                .filter(held)
                .map(move |role| (role, squares & self.drop_area(drops, role)))
        })
    }

    /// Returns the empty squares on which a dropped piece blocks the check, if there is one.
    fn open_to_drops(&self, check_info: CheckInfo) -> Bitboard {
        let squares = self.empty();
        // A wall needs another empty square.
        let has_room = self.variant_rules.walls.is_none() || squares.more_than_one();
        if has_room { squares & check_info.evasions } else { Bitboard::EMPTY }
    }

    /// Returns the squares on which the rules allow drops of `role`.
    fn drop_area(&self, drops: &Drops, role: Role) -> Bitboard {
        let area = if role == Role::Pawn { drops.pawn_area } else { drops.area };
        let mut squares = area[self.turn];
        if role == Role::King && self.variant_rules.royal {
            let them = self.board.by_color(!self.turn);
            let attacked = |to: &Square| {
                self.attackers(*to, self.turn, self.board.occupied().with(*to), them).any()
            };
            squares = squares.into_iter().filter(|to| !attacked(to)).collect();
        }
        if let Some((_, limit)) = drops.no_doubled.filter(|(doubled, _)| *doubled == role) {
            let pieces = self.board.by_role(role) & self.board.by_color(self.turn);
            let full = |file: &Bitboard| (pieces & *file).count() as u32 >= limit;
            let files = File::ALL.into_iter().map(Bitboard::from_file).filter(full);
            squares &= !files.fold(Bitboard::EMPTY, |all, file| all | file);
        }
        if drops.opposite_bishops {
            squares = self.allowing_opposite_bishops(squares, drops, role);
        }
        squares
    }

    /// Returns the squares of `squares` on which a drop of `role` leaves room for the bishops on squares of
    /// both colors, the same number on each (Fairy-Stockfish, `Position::legal`).
    fn allowing_opposite_bishops(&self, squares: Bitboard, drops: &Drops, role: Role) -> Bitboard {
        let us = self.turn;
        let bishops = self.board.bishops() & self.board.by_color(us);
        let all = bishops.count() + usize::from(self.hands[us][Role::Bishop]);
        let fits = |to: &Square| {
            if role == Role::Bishop {
                let same = [Bitboard::DARK_SQUARES, Bitboard::LIGHT_SQUARES]
                    .into_iter()
                    .find(|colour| colour.contains(*to))
                    .unwrap_or_default();
                (same & bishops).count() < all.div_ceil(2)
            } else {
                let room = (drops.area[us] & self.empty()).without(*to) | bishops;
                let enough = |colour: Bitboard| (room & colour).count() >= all / 2;
                enough(Bitboard::DARK_SQUARES) && enough(Bitboard::LIGHT_SQUARES)
            }
        };
        squares.into_iter().filter(fits).collect()
    }
}

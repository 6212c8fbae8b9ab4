//! Drops of men in hand.

use shakmaty::{Bitboard, File, Role, Square};

use super::attack::Danger;
use super::{ChessPosition, Drops};
use crate::rules::{Move, MoveList};

impl ChessPosition {
    /// Adds every drop that leaves no king in check.
    pub(super) fn drops(&self, danger: Danger, out: &mut MoveList) {
        for (role, squares) in self.drop_squares(danger) {
            out.extend(squares.into_iter().map(|to| Move::Drop { role, to }));
        }
    }

    /// Where the men in hand may be dropped.
    pub(super) fn drop_squares(&self, danger: Danger) -> impl Iterator<Item = (Role, Bitboard)> {
        let squares = self.open_to_drops(danger);
        let rules = self.variant_rules.drops.as_ref().filter(|_| squares.any());
        rules.into_iter().flat_map(move |drops| {
            let held = |role: &Role| self.hands[self.turn][*role] > 0;
            Role::ALL
                .into_iter()
                .filter(held)
                .map(move |role| (role, squares & self.drop_area(drops, role)))
        })
    }

    /// The empty squares on which a man averts whatever check there is.
    fn open_to_drops(&self, danger: Danger) -> Bitboard {
        let squares = self.empty();
        // The duck needs a square, too.
        let room = self.variant_rules.walls.is_none() || squares.more_than_one();
        if room { squares & danger.evasions } else { Bitboard::EMPTY }
    }

    /// Where the rules let the mover drop a man of `role`.
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
        if let Some((_, most)) = drops.no_doubled.filter(|(doubled, _)| *doubled == role) {
            let men = self.board.by_role(role) & self.board.by_color(self.turn);
            let full = |file: &Bitboard| (men & *file).count() as u32 >= most;
            let files = File::ALL.into_iter().map(Bitboard::from_file).filter(full);
            squares &= !files.fold(Bitboard::EMPTY, |all, file| all | file);
        }
        if drops.opposite_bishops {
            squares = self.leaving_both_colours(squares, drops, role);
        }
        squares
    }

    /// Those of `squares` on which a man of `role` leaves the mover's bishops room to stand on
    /// squares of both colours, as many on each (Fairy-Stockfish, `Position::legal`).
    fn leaving_both_colours(&self, squares: Bitboard, drops: &Drops, role: Role) -> Bitboard {
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

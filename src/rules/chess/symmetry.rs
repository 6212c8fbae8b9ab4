//! Symmetries of the rules, and setting up boards.

use std::mem;

use shakmaty::{Bitboard, Board, ByColor, Color, Role};

use super::{ChessPosition, DrawOdds, VariantRules};
use crate::rules::Symmetry;

impl VariantRules {
    /// Returns the symmetries of positions without castling rights. Only rules that name squares or
    /// distinguish colors break them.
    pub(super) fn symmetry(&self) -> Symmetry {
        let area = self.area();
        let mut inside = self.with_regions(|squares| squares & area);
        if !self.roles.contains(&Role::Pawn) {
            // Without pawns the rules of pawns have no effect.
            inside.promotion.area = Default::default();
            inside.double_step = Default::default();
            inside.en_passant = Default::default();
        }
        let right = 8 - self.files as u32;
        let up = 8 - self.ranks as u32;
        let mirrored =
            inside.with_regions(|squares| Bitboard(squares.flip_horizontal().0 >> right));
        let flipped =
            inside.with_regions(|squares| Bitboard(squares.flip_vertical().0 >> (8 * up)));
        Symmetry { files: mirrored == inside, colors: flipped.swapped() == Some(inside) }
    }

    /// Returns the rules with each set of squares replaced.
    fn with_regions(&self, region: impl Fn(Bitboard) -> Bitboard) -> VariantRules {
        let mut variant_rules = self.clone();
        let replace = |squares: &mut Bitboard| *squares = region(*squares);
        for color in Color::ALL {
            replace(&mut variant_rules.promotion.area[color]);
            replace(&mut variant_rules.double_step[color]);
            replace(&mut variant_rules.en_passant[color]);
            if let Some(flag) = &mut variant_rules.flag {
                replace(&mut flag.region[color]);
            }
            if let Some(walls) = &mut variant_rules.walls {
                replace(&mut walls.area[color]);
            }
            if let Some(drops) = &mut variant_rules.drops {
                replace(&mut drops.area[color]);
                replace(&mut drops.pawn_area[color]);
            }
        }
        variant_rules
    }

    /// Returns the rules with the colors exchanged, or `None` if no rules express that.
    fn swapped(mut self) -> Option<VariantRules> {
        swap(&mut self.kings);
        swap(&mut self.promotion.kinds);
        swap(&mut self.promotion.area);
        swap(&mut self.double_step);
        swap(&mut self.en_passant);
        swap(&mut self.ends.n_move_types);
        if let Some(flag) = &mut self.flag {
            swap(&mut flag.piece);
            swap(&mut flag.region);
        }
        if let Some(walls) = &mut self.walls {
            swap(&mut walls.area);
        }
        if let Some(castling) = &mut self.castling {
            swap(&mut castling.colors);
            swap(&mut castling.wins);
            swap(&mut castling.home);
        }
        if let Some(drops) = &mut self.drops {
            swap(&mut drops.area);
            swap(&mut drops.pawn_area);
        }
        if let Some(DrawOdds::To(color)) = &mut self.ends.draw_odds {
            *color = !*color;
        }
        (!self.ends.n_fold_absolute).then_some(self)
    }
}

/// Exchanges the values of the colors.
fn swap<T>(both: &mut ByColor<T>) {
    mem::swap(&mut both.white, &mut both.black);
}

impl ChessPosition {
    /// Sets up another board, without castling rights, pieces in hand, walls and counters. Returns whether
    /// the position is legal.
    pub(in crate::rules) fn place(&mut self, board: &Board, turn: Color) -> bool {
        let counted = self.variant_rules.checks.counted.unwrap_or(0);
        self.board.clone_from(board);
        self.turn = turn;
        self.promoted = Bitboard::EMPTY;
        self.hands = Default::default();
        self.rights = Bitboard::EMPTY;
        self.en_passant = None;
        self.walls = Bitboard::EMPTY;
        self.pending_wall = None;
        self.checks.white = counted;
        self.checks.black = counted;
        self.decided = None;
        self.halfmoves = 0;
        self.fullmoves = 1;
        let is_foreign =
            |role: &Role| !self.variant_rules.roles.contains(role) && board.by_role(*role).any();
        (board.occupied() & !self.area).is_empty()
            && !Role::ALL.iter().any(is_foreign)
            && self.check().is_ok()
    }
}

//! Which images of a board are worth the same, and boards set up without a past.

use std::mem;

use shakmaty::{Bitboard, Board, ByColor, Color, Role};

use super::{ChessPosition, Odds, Symmetry, VariantRules};

impl VariantRules {
    /// The symmetries of positions without castling rights: of the rules, only squares that are
    /// named and colours that are told apart break them.
    pub(super) fn symmetry(&self) -> Symmetry {
        let area = self.area();
        let mut inside = self.with_regions(|squares| squares & area);
        if !self.roles.contains(&Role::Pawn) {
            // What is said of pawns is said of nobody.
            inside.promotion.area = Default::default();
            inside.double_step = Default::default();
            inside.en_passant = Default::default();
        }
        let (right, up) = (8 - self.files as u32, 8 - self.ranks as u32);
        let mirrored =
            inside.with_regions(|squares| Bitboard(squares.flip_horizontal().0 >> right));
        let flipped =
            inside.with_regions(|squares| Bitboard(squares.flip_vertical().0 >> (8 * up)));
        Symmetry { files: mirrored == inside, colours: flipped.swapped() == Some(inside) }
    }

    /// The same rules with each of its sets of squares replaced.
    fn with_regions(&self, region: impl Fn(Bitboard) -> Bitboard) -> VariantRules {
        let mut variant_rules = self.clone();
        let replace = |squares: &mut Bitboard| *squares = region(*squares);
        for color in Color::ALL {
            replace(&mut variant_rules.promotion.area[color]);
            replace(&mut variant_rules.double_step[color]);
            replace(&mut variant_rules.en_passant[color]);
            variant_rules.flag.iter_mut().for_each(|flag| replace(&mut flag.region[color]));
            variant_rules.walls.iter_mut().for_each(|walls| replace(&mut walls.area[color]));
            if let Some(drops) = &mut variant_rules.drops {
                replace(&mut drops.area[color]);
                replace(&mut drops.pawn_area[color]);
            }
        }
        variant_rules
    }

    /// The same rules with each colour in the other's place; `None` if that cannot be said.
    fn swapped(mut self) -> Option<VariantRules> {
        swap(&mut self.kings);
        swap(&mut self.promotion.kinds);
        swap(&mut self.promotion.area);
        swap(&mut self.double_step);
        swap(&mut self.en_passant);
        swap(&mut self.ends.clocks);
        if let Some(flag) = &mut self.flag {
            swap(&mut flag.man);
            swap(&mut flag.region);
        }
        if let Some(walls) = &mut self.walls {
            swap(&mut walls.area);
        }
        if let Some(castling) = &mut self.castling {
            swap(&mut castling.wins);
            swap(&mut castling.home);
        }
        if let Some(drops) = &mut self.drops {
            swap(&mut drops.area);
            swap(&mut drops.pawn_area);
        }
        if let Some(Odds::To(color)) = &mut self.ends.odds {
            *color = !*color;
        }
        (!self.ends.fold_is_whites).then_some(self)
    }
}

/// Puts what each colour has in the other's place.
fn swap<T>(both: &mut ByColor<T>) {
    mem::swap(&mut both.white, &mut both.black);
}

impl ChessPosition {
    /// Puts other men on the board, with nothing of a past: no rights, no men in hand, no walls.
    /// Says whether such a board may be.
    pub(super) fn place(&mut self, board: &Board, turn: Color) -> bool {
        let counted = self.variant_rules.checks.counted.unwrap_or(0);
        self.board.clone_from(board);
        self.turn = turn;
        self.promoted = Bitboard::EMPTY;
        self.hands = Default::default();
        self.rights = Bitboard::EMPTY;
        self.en_passant = None;
        self.walls = Bitboard::EMPTY;
        self.owed = None;
        self.checks.white = counted;
        self.checks.black = counted;
        self.decided = None;
        (self.halfmoves, self.fullmoves) = (0, 1);
        let foreign =
            |role: &Role| !self.variant_rules.roles.contains(role) && board.by_role(*role).any();
        (board.occupied() & !self.area).is_empty()
            && !Role::ALL.iter().any(foreign)
            && self.check().is_ok()
    }
}

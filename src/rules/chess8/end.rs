//! How games of this family end.

use shakmaty::{Bitboard, Color, Role};

use super::{Chess8, Verdict};
use crate::rules::{Outcome, Reason};

impl Verdict {
    /// The end that `color` gets.
    pub(super) fn befalls(self, color: Color, reason: Reason) -> Outcome {
        match self {
            Verdict::Win => Outcome::win(color.into(), reason),
            Verdict::Draw => Outcome::draw(reason),
            Verdict::Loss => Outcome::win((!color).into(), reason),
        }
    }
}

impl Chess8 {
    /// The end by extinction, if a side has too few men of a role: whoever has just moved is asked
    /// first.
    pub(super) fn extinct(&self) -> Option<Outcome> {
        let rule = self.axes.extinction.as_ref()?;
        for color in [!self.turn, self.turn] {
            for &role in &rule.roles {
                let few = self.count(color, role) <= rule.count;
                if few && self.count(!color, role) >= rule.opponents {
                    return Some(rule.value.befalls(color, Reason::Variant));
                }
            }
        }
        None
    }

    /// The men of a role, those in hand with them.
    fn count(&self, color: Color, role: Role) -> u32 {
        let men = self.board.by_role(role) & self.board.by_color(color);
        men.count() as u32 + u32::from(self.hands[color][role])
    }

    /// Whether no side has the men to win.
    pub(super) fn is_insufficient(&self) -> bool {
        Color::ALL.into_iter().all(|color| self.lacks_material(color))
    }

    /// Whether `color` can never give mate: a bare king, one minor piece, or bishops of one
    /// square colour, against nothing that could help to mate itself. Where a stalemate decides,
    /// any man can win, and so it may where men come back or kings are taken.
    fn lacks_material(&self, color: Color) -> bool {
        let board = &self.board;
        let (us, them) = (board.by_color(color), board.by_color(!color));
        let captured_again = self.axes.drops.is_some_and(|drops| drops.captures_to_hand);
        let in_hand = Role::ALL.into_iter().any(|role| self.hands[color][role] > 0);
        if captured_again || in_hand || self.axes.extinction.is_some() || !self.axes.royal {
            false
        } else if self.axes.stalemate != Verdict::Draw {
            (us & !board.kings()).is_empty()
        } else if (us & (board.pawns() | board.rooks_and_queens())).any() {
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

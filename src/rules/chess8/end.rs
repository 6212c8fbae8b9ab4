//! How games of this family end.

use std::cmp::Ordering;

use shakmaty::{Bitboard, Color, Role};

use super::{Chess8, Verdict};
use crate::rules::{Outcome, Reason};

impl Verdict {
    /// What the other side would call it.
    fn opposite(self) -> Verdict {
        match self {
            Verdict::Win => Verdict::Loss,
            Verdict::Draw => Verdict::Draw,
            Verdict::Loss => Verdict::Win,
        }
    }

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
            let too_few = |own: u32, theirs: u32| own <= rule.count && theirs >= rule.opponents;
            let each = |&role: &Role| too_few(self.count(color, role), self.count(!color, role));
            let all = rule.all && too_few(self.all(color), self.all(!color));
            if all || rule.roles.iter().any(each) {
                return Some(rule.value.befalls(color, Reason::Variant));
            }
        }
        None
    }

    /// The men of a role, those in hand with them.
    fn count(&self, color: Color, role: Role) -> u32 {
        let men = self.board.by_role(role) & self.board.by_color(color);
        men.count() as u32 + u32::from(self.hands[color][role])
    }

    /// All men, those in hand with them.
    fn all(&self, color: Color) -> u32 {
        Role::ALL.into_iter().map(|role| self.count(color, role)).sum()
    }

    /// The end of a game in which the side to move has no legal move.
    pub(super) fn stuck(&self) -> Outcome {
        let (us, axes) = (self.turn, &self.axes);
        if self.in_check(us) {
            return axes.checkmate.befalls(us, Reason::Checkmate);
        }
        let value = match self.all(us).cmp(&self.all(!us)) {
            _ if !axes.stalemate_by_men => axes.stalemate,
            Ordering::Less => axes.stalemate,
            Ordering::Equal => Verdict::Draw,
            Ordering::Greater => axes.stalemate.opposite(),
        };
        value.befalls(us, Reason::Stalemate)
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

//! How games of this family end.

use std::cmp::Ordering;

use shakmaty::{Bitboard, Color, Role};

use super::{ChessPosition, Odds, Verdict};
use crate::rules::{Outcome, Reason, Side};

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

impl ChessPosition {
    /// The end of a game that no move decides: somebody has won, or lost what is needed.
    pub(super) fn ended(&self) -> Option<Outcome> {
        let decided = || Some(Outcome::win(self.decided?.into(), Reason::Variant));
        self.extinct()
            .or_else(|| self.flagged())
            .or_else(decided)
            .or_else(|| self.lost_castling())
            .or_else(|| self.checked_out())
            .or_else(|| self.filled())
    }

    /// The end by extinction, if a side has too few men of a role: whoever has just moved is asked
    /// first. Royal men do not die out but where they can be blown up.
    fn extinct(&self) -> Option<Outcome> {
        let rule = self.variant_rules.extinction.as_ref();
        let rule = rule.filter(|rule| !rule.pseudo_royal || self.variant_rules.blast.is_some())?;
        for color in [!self.turn, self.turn] {
            let opponents = rule.opponents + u32::from(rule.claim && color == self.turn);
            let too_few = |own: u32, theirs: u32| own <= rule.count && theirs >= opponents;
            let each = |&role: &Role| too_few(self.count(color, role), self.count(!color, role));
            let all = rule.all && too_few(self.all(color), self.all(!color));
            if all || rule.roles.iter().any(each) {
                return Some(rule.value.befalls(color, Reason::Variant));
            }
        }
        None
    }

    /// The end by a right to castle that is lost, where it loses.
    fn lost_castling(&self) -> Option<Outcome> {
        let wins = self.variant_rules.castling?.wins;
        let lost = |color: Color| {
            let side =
                |(king_side, needed)| needed && self.castling_rook(color, king_side).is_none();
            [true, false].into_iter().zip(wins[color]).any(side)
        };
        let loser = [!self.turn, self.turn].into_iter().find(|&color| lost(color))?;
        Some(Outcome::win((!loser).into(), Reason::Variant))
    }

    /// The end by so many checks.
    fn checked_out(&self) -> Option<Outcome> {
        let last = self.variant_rules.checks.counted.is_some() && self.checks[!self.turn] == 0;
        last.then(|| Outcome::win((!self.turn).into(), Reason::Variant))
    }

    /// The end for want of empty squares.
    fn filled(&self) -> Option<Outcome> {
        let full = self.variant_rules.ends.full_board && self.empty().is_empty();
        full.then(|| self.drawn(Reason::Variant))
    }

    /// What would be a draw, unless somebody is given odds of a draw.
    pub(super) fn drawn(&self, reason: Reason) -> Outcome {
        let men = |color| self.board.by_color(color).count();
        let winner = match self.variant_rules.ends.odds {
            None => None,
            Some(Odds::To(color)) => Some(color),
            Some(Odds::More) => match men(Color::White).cmp(&men(Color::Black)) {
                Ordering::Less => Some(Color::Black),
                Ordering::Equal => None,
                Ordering::Greater => Some(Color::White),
            },
        };
        Outcome { winner: winner.map(Side::from), reason }
    }

    /// The end that befalls `color`, who may be given odds of a draw.
    fn befalls(&self, value: Verdict, color: Color, reason: Reason) -> Outcome {
        match value {
            Verdict::Draw => self.drawn(reason),
            value => value.befalls(color, reason),
        }
    }

    /// What may be claimed at the repetition that counts.
    pub(super) fn repeated(&self) -> Outcome {
        let ends = &self.variant_rules.ends;
        let color = if ends.fold_is_whites { Color::White } else { self.turn };
        self.befalls(ends.fold, color, Reason::Repetition)
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
        let (us, ends) = (self.turn, &self.variant_rules.ends);
        if self.is_threatened(us) {
            return self.befalls(ends.checkmate, us, Reason::Checkmate);
        }
        let men = |color| self.board.by_color(color).count();
        let value = match men(us).cmp(&men(!us)) {
            _ if !ends.stalemate_by_men => ends.stalemate,
            Ordering::Less => ends.stalemate,
            Ordering::Equal => Verdict::Draw,
            Ordering::Greater => ends.stalemate.opposite(),
        };
        self.befalls(value, us, Reason::Stalemate)
    }

    /// Whether no side has the men to win.
    pub(super) fn is_insufficient(&self) -> bool {
        Color::ALL.into_iter().all(|color| self.lacks_material(color))
    }

    /// Whether `color` can never win, by what men there are: it has no other way to win than mate,
    /// no man that mates alone with the king, nor could get one by promotion, and the rest do not
    /// do it together (Fairy-Stockfish, `has_insufficient_material`).
    fn lacks_material(&self, color: Color) -> bool {
        let (variant_rules, board) = (&self.variant_rules, &self.board);
        let us = board.by_color(color);
        let flag = variant_rules.flag.is_some_and(|flag| {
            let men = flag.man[color].map_or(Bitboard::FULL, |role| board.by_role(role));
            flag.region[color].any() && (us & men).any()
        });
        let extinction = variant_rules.extinction.as_ref();
        let in_hand = Role::ALL.into_iter().any(|role| self.hands[color][role] > 0);
        let dies_out = extinction.is_some_and(|rule| !rule.pseudo_royal);
        let repeats = variant_rules.ends.folds > 0 && variant_rules.ends.fold != Verdict::Draw;
        if variant_rules.recycles() || in_hand || dies_out || repeats || flag {
            return false;
        }
        // Royal men cannot come close to each other, nor where they would be blown up.
        let blown = |role| {
            let rule = extinction.filter(|_| variant_rules.blast.is_some());
            rule.is_some_and(|rule| rule.roles.contains(&role))
        };
        let royal = if variant_rules.royal { board.kings() } else { Bitboard::EMPTY };
        let blown = Role::ALL.into_iter().filter(|&role| blown(role));
        let tied = blown.fold(royal, |tied, role| tied | board.by_role(role) & us);
        let kings = if variant_rules.royal { Bitboard::EMPTY } else { board.kings() };
        let major = (board.rooks_and_queens() | kings) & us & !tied;
        let promotes = (us & board.pawns()).any() && {
            let kinds = variant_rules.promotion.kinds[color].iter();
            kinds.into_iter().any(|role| matches!(role, Role::Queen | Role::Rook | Role::King))
        };
        if major.any() || promotes {
            return false;
        }
        let bishops = board.bishops() & !tied;
        // Walls help to mate, too.
        let others = (board.occupied() | self.walls) & !tied & !bishops;
        let wins_otherwise =
            variant_rules.ends.stalemate != Verdict::Draw || variant_rules.checks.counted.is_some();
        let both_colours =
            (bishops & Bitboard::DARK_SQUARES).any() && (bishops & Bitboard::LIGHT_SQUARES).any();
        let by_bishops = (bishops & us).any() && (both_colours || others.any() || wins_otherwise);
        let helped = (bishops | others).more_than_one();
        let by_others = (others & us).any() && (helped || wins_otherwise);
        !by_bishops && !by_others
    }
}

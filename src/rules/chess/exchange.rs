//! Static exchange evaluation: what captures and recaptures on one square win.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::ChessPosition;
use crate::rules::Move;

/// From the least valuable attacker to the most valuable one.
const BY_VALUE: [Role; 6] =
    [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];

impl ChessPosition {
    /// See [`Position::exchange_wins`](crate::rules::Position::exchange_wins).
    pub(in crate::rules) fn exchange_wins(
        &self,
        m: Move,
        least: i32,
        value: fn(Role) -> i32,
    ) -> bool {
        let Move::Step { from, to, promotion, .. } = m else { return true };
        let rules = &self.variant_rules;
        // Where checks are not allowed, neither are the captures that would give check. A wall can prevent recaptures.
        let is_exact = !rules.must_capture && rules.checks.allowed && rules.walls.is_none();
        if !is_exact || self.castles(from, to).is_some() {
            return true;
        }
        let Some(mover) = self.board.role_at(from) else { return true };
        let facts = self.move_facts(m);
        if facts.may_win {
            return true;
        }
        if let Some(immune) = &rules.blast {
            return facts.captured.is_none_or(|captured| {
                value(captured) + self.blast_gain(from, to, mover, value, immune) >= least
            });
        }
        let mut occupied = self.board.occupied().without(from).with(to);
        if facts.captured.is_some() && !self.board.occupied().contains(to) {
            // En passant.
            let behind = super::attack::forward(!self.turn, Bitboard::from_square(to));
            occupied &= !behind;
        }
        let arrived = promotion.unwrap_or(mover);
        let promoted = promotion.map_or(0, |role| value(role) - value(mover));
        // what the side to move would have won beyond `least` without a recapture, then what the other side would.
        let mut balance = facts.captured.map_or(0, value) + promoted - least;
        if balance < 0 {
            return false;
        }
        balance = value(arrived) - balance;
        if balance <= 0 {
            return true;
        }
        let mut side = self.turn;
        let mut wins = true;
        loop {
            side = !side;
            let attackers = |side: Color| {
                self.attackers(to, !side, occupied, self.board.by_color(side) & occupied)
            };
            let Some((role, square)) = self.least_valuable(attackers(side)) else { return wins };
            wins = !wins;
            // A king cannot capture a defended piece.
            if role == Role::King {
                return wins != attackers(!side).any();
            }
            balance = value(role) - balance;
            if balance < i32::from(wins) {
                return wins;
            }
            occupied = occupied.without(square);
        }
    }

    /// Returns what the blast of a capture wins in addition to the captured piece.
    fn blast_gain(
        &self,
        from: Square,
        to: Square,
        mover: Role,
        value: fn(Role) -> i32,
        immune: &[Role],
    ) -> i32 {
        let lost = |role: Role| if immune.contains(&role) { 0 } else { value(role) };
        // The value of a color's pieces around the capture but for the one that captures; pawns stay.
        let around = |color: Color| -> i32 {
            let near = attacks::king_attacks(to).without(from) & self.board.by_color(color);
            let sum = |role: Role| (near & self.board.by_role(role)).count() as i32 * lost(role);
            Role::ALL[1..].iter().map(|&role| sum(role)).sum()
        };
        around(!self.turn) - around(self.turn) - lost(mover)
    }

    fn least_valuable(&self, pieces: Bitboard) -> Option<(Role, Square)> {
        BY_VALUE.into_iter().find_map(|role| {
            let square = (pieces & self.board.by_role(role)).first()?;
            Some((role, square))
        })
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Role;

    use crate::variant::Catalogue;

    fn value(role: Role) -> i32 {
        [100, 300, 300, 500, 900, 10_000][role as usize - 1]
    }

    /// Returns what a move wins by exchanges, found by halving.
    fn exchange(variant: &str, fen: &str, text: &str) -> i32 {
        let position = Catalogue::shipped()
            .get(variant)
            .expect("a shipped variant")
            .position(fen, false)
            .expect("a position");
        let m = position.parse_turn(text).expect("a move")[0];
        let wins = |least| position.exchange_wins(m, least, value);
        let (mut low, mut high): (i32, i32) = (-20_000, 20_000);
        while low < high {
            let middle = (low + high + 1).div_euclid(2);
            if wins(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    #[test]
    fn exchanges() {
        for (fen, text, won) in [
            // An undefended piece, a defended one, and one that is defended by more pieces than attack it.
            ("4k3/8/8/3p4/8/8/8/3RK3 w - - 0 1", "d1d5", 100),
            ("4k3/8/4p3/3p4/8/8/8/3RK3 w - - 0 1", "d1d5", -400),
            ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", 100),
            ("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", -200),
            // A quiet move to an attacked square, and to a safe one.
            ("4k3/8/4p3/8/8/8/8/3RK3 w - - 0 1", "d1d5", -500),
            ("4k3/8/4p3/8/8/8/8/3RK3 w - - 0 1", "d1d6", 0),
            // Promotion, en passant, and a king that may not recapture.
            ("8/P6k/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", 800),
            ("1r6/P6k/8/8/8/8/8/4K3 w - - 0 1", "a7b8q", 1300),
            ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 100),
            ("8/8/3k4/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
            ("8/8/3k4/3p4/8/8/3R4/4K3 w - - 0 1", "d2d5", -400),
        ] {
            assert_eq!(exchange("chess", fen, text), won, "{fen} {text}");
        }
    }

    #[test]
    fn quiet_moves_always_win_enough_where_captures_blow_up() {
        let position = Catalogue::shipped().get("atomic").expect("atomic");
        let position =
            position.position("4k3/8/4p3/8/8/8/8/3RK3 w - - 0 1", false).expect("a position");
        let m = position.parse_turn("d1d5").expect("a move")[0];
        assert!(position.exchange_wins(m, 1000, value));
    }

    #[test]
    fn blasts() {
        for (variant, fen, text, won) in [
            // The captured piece and those around it, but for pawns, and the capturing piece.
            ("atomic", "4k3/8/1pn5/2pb4/8/8/8/3RK3 w - - 0 1", "d1d5", 300 + 300 - 500),
            ("atomic", "4k3/8/8/3p4/2N1N3/8/8/3RK3 w - - 0 1", "d1d5", 100 - 500 - 600),
            ("atomic", "k7/8/4q3/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 900 + 100 - 100),
            // One that ends the game wins anything.
            ("atomic", "8/8/8/3pk3/8/8/8/3RK3 w - - 0 1", "d1d5", 20_000),
            ("kinglet", "r2rk3/3p4/8/8/8/8/PPP5/K2Q4 w - - 0 1", "d1d7", 20_000),
            // Kings are immune.
            ("atomar", "4k3/8/8/3p4/4K3/8/8/8 w - - 0 1", "e4d5", 100),
            ("atomar", "8/8/3k4/3p4/8/8/8/3RK3 w - - 0 1", "d1d5", 100 - 500),
        ] {
            assert_eq!(exchange(variant, fen, text), won, "{variant} {fen} {text}");
        }
    }
}

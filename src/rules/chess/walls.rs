//! Walls: what a turn ends with, and turns that are nothing else.

use shakmaty::{Bitboard, Piece, Role, Square, attacks};

use super::attack::{Danger, forward};
use super::castling::Path;
use super::{ChessPosition, VariantRules, Walling, Walls};
use crate::rules::{Move, MoveList};

/// What a turn that has begun still owes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owed {
    /// Where the man went, as the move is written.
    pub(super) at: Square,
    /// The piece that moved, though its move may have blown it up.
    pub(super) piece: Piece,
    /// Where it came from, unless from the hand.
    pub(super) from: Option<Square>,
    /// What the move has blown up: no wall goes there at once.
    pub(super) blown: Bitboard,
    /// The castling that the turn began with.
    pub(super) castled: Option<Path>,
    /// Whether its king must not be attacked on the squares that it has left and passed.
    pub(super) guarded: bool,
}

impl Owed {
    /// What is owed after a man went `from` -> `at`.
    pub(super) fn after(from: Option<Square>, at: Square, piece: Piece) -> Owed {
        Owed { at, piece, from, blown: Bitboard::EMPTY, castled: None, guarded: false }
    }
}

impl VariantRules {
    /// Whether the mover must look for a wall before it moves: else there always is one.
    pub(super) fn wall_may_lack(&self) -> bool {
        let all = |walls: &Walls| Bitboard::FULL == walls.area.white & walls.area.black;
        let royal = self.royal || self.extinction.as_ref().is_some_and(|rule| rule.pseudo_royal);
        self.walls.is_some_and(|walls| walls.rule != Walling::Duck || !all(&walls) || royal)
    }

    /// Returns `true` if a royal king may hide behind the duck that ends its side's turn.
    pub(super) fn hides_kings(&self) -> bool {
        self.has_duck_and_kings() && self.walls.is_some_and(|walls| !walls.instead)
    }

    /// Returns `true` if the duck may leave a square on which it kept a royal king from attack.
    fn has_duck_and_kings(&self) -> bool {
        self.royal && self.walls.is_some_and(|walls| walls.rule == Walling::Duck)
    }
}

impl ChessPosition {
    /// Adds every wall that may end the turn.
    pub(super) fn walls(&self, out: &mut MoveList) {
        out.extend(self.wall_squares().into_iter().map(Move::Wall));
    }

    pub(super) fn wall_squares(&self) -> Bitboard {
        let Some((rule, owed)) = self.variant_rules.walls.zip(self.owed) else {
            return Bitboard::EMPTY;
        };
        let squares = self.empty() & rule.area[self.turn] & !owed.blown;
        let squares = squares
            & match rule.rule {
                Walling::Duck | Walling::Static => Bitboard::FULL,
                Walling::Arrow => self.arrows(owed),
                Walling::Past => owed.from.map_or(Bitboard::EMPTY, Bitboard::from_square),
                Walling::Edge => self.edge(),
            };
        squares.into_iter().filter(|&square| self.wall_protects(owed, square)).collect()
    }

    /// Where the piece that moved could go on to without a capture. What its move has blown up still
    /// stands in the way, and a pawn goes one square (Fairy-Stockfish, `make_move_and_gating`).
    fn arrows(&self, owed: Owed) -> Bitboard {
        let from = owed.castled.map_or(owed.at, |path| path.king_to);
        match owed.piece {
            Piece { role: Role::Pawn, color } => {
                forward(color, Bitboard::from_square(from)) & self.empty()
            }
            piece => {
                let blocked = self.board.occupied() | self.closed() | owed.blown;
                attacks::attacks(from, piece, blocked)
            }
        }
    }

    /// The edge of the board, and what is beside a wall.
    fn edge(&self) -> Bitboard {
        let (east, north) = (self.variant_rules.files - 1, self.variant_rules.ranks - 1);
        let rim = |square: &Square| {
            let (file, rank) = (usize::from(square.file()), usize::from(square.rank()));
            file == 0 || file == east || rank == 0 || rank == north
        };
        let rim: Bitboard = self.area.into_iter().filter(rim).collect();
        let beside = |wall| attacks::rook_attacks(wall, Bitboard::FULL);
        self.walls.into_iter().map(beside).fold(rim, |all, some| all | some)
    }

    /// Whether what is royal of the mover is safe with a wall on `square`. A royal king must have
    /// been safe without it, but from the duck it may hide behind.
    fn wall_protects(&self, owed: Owed, square: Square) -> bool {
        let last = self.last_men();
        if !self.variant_rules.has_duck_and_kings() && last.is_none() {
            return true;
        }
        let us = self.turn;
        let mut closed = self.clone();
        closed.put_wall(square);
        if let Some(rule) = last {
            let gone = |color| {
                let men = |role| (self.board.by_role(role) & self.board.by_color(color)).count();
                rule.roles.iter().any(|&role| men(role) as u32 <= rule.count)
            };
            if gone(us) || gone(!us) {
                return !gone(us);
            }
            let theirs = self.pseudo_royals(rule, !us);
            let walks_safely = |path: Path| {
                let mut before = closed.clone();
                before.board.discard_piece_at(path.king_to);
                before.board.discard_piece_at(path.rook_to);
                before.board.set_piece_at(path.rook, Piece { color: us, role: Role::Rook });
                before.walks_safely(path, theirs)
            };
            if owed.guarded && !owed.castled.is_none_or(walks_safely) {
                return false;
            }
        }
        !closed.is_threatened(us)
    }

    /// Whether a move that begins the turn can be followed by a wall, if one must follow.
    pub(super) fn leaves_a_wall(&self, m: Move) -> bool {
        let mut after = self.clone();
        after.play_men(m);
        after.owed.is_none() || after.wall_squares().any()
    }

    /// Adds the walls that are turns of their own, where there are such.
    pub(super) fn lone_walls(&self, danger: Danger, out: &mut MoveList) {
        let instead = self.variant_rules.walls.is_some_and(|walls| walls.instead);
        // Whoever is in check must move: a wall does not help.
        if instead && danger.checkers.is_empty() {
            let mut waits = self.clone();
            waits.owed = self.waiting_man().and_then(|at| {
                let piece = self.board.piece_at(at)?;
                Some(Owed::after(None, at, piece))
            });
            waits.walls(out);
        }
    }

    /// The man that a wall without a move is written with: it stays where it is.
    pub(super) fn waiting_man(&self) -> Option<Square> {
        self.board.by_color(self.turn).first()
    }

    /// What follows in the text of a move that is a turn without a wall, where turns are one or the
    /// other: Fairy-Stockfish writes a wall there that is none. It is on a1 after a move on the board,
    /// and after a drop on the square whose number is that of the piece in its list.
    pub(super) fn no_wall(&self, m: Move) -> String {
        match m {
            Move::Step { from, to, .. } => match self.castles(from, to) {
                Some(path) if !self.writes_rook(path) => self.no_wall_from(path.king_to),
                _ => self.no_wall_from(to),
            },
            Move::Drop { role, to } if self.chooses_wall() => {
                let number = match role {
                    Role::Pawn => Square::B1,
                    Role::Knight => Square::C1,
                    Role::Bishop => Square::D1,
                    Role::Rook => Square::E1,
                    Role::Queen => Square::F1,
                    Role::King if self.variant_rules.royal => Square::H8,
                    Role::King => Square::D5,
                };
                format!(",{to}{number}")
            }
            _ => String::new(),
        }
    }

    /// The same after a move on the board that ends on `to`.
    pub(super) fn no_wall_from(&self, to: Square) -> String {
        if self.chooses_wall() { format!(",{to}{}", Square::A1) } else { String::new() }
    }

    /// Returns `true` if a turn is a move or a wall.
    pub(super) fn chooses_wall(&self) -> bool {
        self.variant_rules.walls.is_some_and(|walls| walls.instead)
    }

    /// Puts a wall down; the duck leaves its square.
    pub(super) fn put_wall(&mut self, square: Square) {
        if self.variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck) {
            self.walls = Bitboard::EMPTY;
        }
        self.walls = self.walls.with(square);
    }
}

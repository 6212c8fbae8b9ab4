//! Walls that end a turn, and walls that are a whole turn.

use shakmaty::{Bitboard, Piece, Role, Square, attacks};

use super::attack::{CheckInfo, PseudoRoyals, forward};
use super::castling::CastlingPath;
use super::{ChessPosition, VariantRules, Walling, Walls};
use crate::rules::{Move, MoveList};

/// The wall that must follow a move, and what restricts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PendingWall {
    /// The destination of the move, as it is written.
    pub(super) at: Square,
    /// The moved piece, even if it was blown up.
    pub(super) piece: Piece,
    /// The origin of the move; `None` for a drop.
    pub(super) from: Option<Square>,
    /// The squares that the move has blown up. The wall cannot be placed there.
    pub(super) blown: Bitboard,
    /// The path if the move was castling.
    pub(super) castled: Option<CastlingPath>,
    /// Whether the castling king must not be attacked on the squares that it has left and passed.
    pub(super) guarded: bool,
    /// The pseudo-royal pieces that decide whether the move with the wall is legal, if the game has them.
    pub(super) royals: Option<PseudoRoyals>,
}

impl PendingWall {
    /// Creates the pending wall after a move of `piece` to `at`.
    pub(super) fn after(from: Option<Square>, at: Square, piece: Piece) -> PendingWall {
        PendingWall {
            at,
            piece,
            from,
            blown: Bitboard::EMPTY,
            castled: None,
            guarded: false,
            royals: None,
        }
    }
}

impl VariantRules {
    /// Returns `true` if there may be no legal wall after a move, so that the move is illegal.
    pub(super) fn wall_may_be_impossible(&self) -> bool {
        let all = |walls: &Walls| Bitboard::FULL == walls.area.white & walls.area.black;
        let royal = self.royal || self.extinction.as_ref().is_some_and(|rule| rule.pseudo_royal);
        self.walls.is_some_and(|walls| walls.rule != Walling::Duck || !all(&walls) || royal)
    }

    /// Returns `true` if a wall follows each move.
    pub(super) fn walls_follow(&self) -> bool {
        self.walls.is_some_and(|walls| !walls.wall_or_move)
    }

    /// Returns `true` if the duck that ends a turn can shield the royal king of the side to move.
    pub(super) fn hides_kings(&self) -> bool {
        self.has_duck_and_kings() && self.walls_follow()
    }

    /// Returns `true` if the game has a duck and royal kings, which the duck can shield.
    fn has_duck_and_kings(&self) -> bool {
        self.royal && self.walls.is_some_and(|walls| walls.rule == Walling::Duck)
    }
}

impl ChessPosition {
    /// Adds the legal walls.
    pub(super) fn add_walls(&self, out: &mut MoveList) {
        out.extend(self.wall_squares().into_iter().map(Move::Wall));
    }

    pub(super) fn wall_squares(&self) -> Bitboard {
        let Some((walls, pending_wall)) = self.variant_rules.walls.zip(self.pending_wall) else {
            return Bitboard::EMPTY;
        };
        let by_rule = match walls.rule {
            Walling::Duck | Walling::Static => Bitboard::FULL,
            Walling::Arrow => self.arrow_squares(pending_wall),
            Walling::Past => pending_wall.from.map_or(Bitboard::EMPTY, Bitboard::from_square),
            Walling::Edge => self.edge_squares(),
        };
        let squares = self.empty() & walls.area[self.turn] & !pending_wall.blown & by_rule;
        squares.into_iter().filter(|&square| self.wall_protects(pending_wall, square)).collect()
    }

    /// Returns the squares to which the moved piece could move next. Blown up pieces still block, and a
    /// pawn moves one square (Fairy-Stockfish, `make_move_and_gating`).
    fn arrow_squares(&self, pending_wall: PendingWall) -> Bitboard {
        let from = pending_wall.castled.map_or(pending_wall.at, |path| path.king_to);
        match pending_wall.piece {
            Piece { role: Role::Pawn, color } => {
                forward(color, Bitboard::from_square(from)) & self.empty()
            }
            piece => {
                let blocked = self.board.occupied() | self.closed() | pending_wall.blown;
                attacks::attacks(from, piece, blocked)
            }
        }
    }

    /// Returns the squares at the edge of the board and those next to a wall.
    fn edge_squares(&self) -> Bitboard {
        let last_file = self.variant_rules.files - 1;
        let last_rank = self.variant_rules.ranks - 1;
        let is_at_edge = |square: &Square| {
            let file = usize::from(square.file());
            let rank = usize::from(square.rank());
            file == 0 || file == last_file || rank == 0 || rank == last_rank
        };
        let edge: Bitboard = self.area.into_iter().filter(is_at_edge).collect();
        let next_to = |wall| attacks::rook_attacks(wall, Bitboard::FULL);
        self.walls.into_iter().map(next_to).fold(edge, |all, some| all | some)
    }

    /// Returns `true` if the royal and pseudo-royal pieces of the side to move are safe with a wall on
    /// `square`. A royal king must have been safe without the wall, unless the wall is the duck.
    fn wall_protects(&self, pending_wall: PendingWall, square: Square) -> bool {
        let guards_king = self.variant_rules.has_duck_and_kings();
        if !guards_king && pending_wall.royals.is_none() {
            return true;
        }
        let mut closed = self.clone();
        closed.put_wall(square);
        if guards_king && closed.in_check(self.turn) {
            return false;
        }
        pending_wall.royals.is_none_or(|royals| {
            closed.protects(royals) && closed.castled_safely(pending_wall, royals)
        })
    }

    /// Returns `true` unless the move before the wall was castling of a pseudo-royal king that could have
    /// been captured on a square that it passed.
    fn castled_safely(&self, pending_wall: PendingWall, royals: PseudoRoyals) -> bool {
        let Some(path) = pending_wall.castled.filter(|_| pending_wall.guarded) else { return true };
        let mut before = self.clone();
        before.board.discard_piece_at(path.king_to);
        before.board.discard_piece_at(path.rook_to);
        before.board.set_piece_at(path.rook, Piece { color: self.turn, role: Role::Rook });
        before.castles_safely(path, royals.theirs)
    }

    /// Returns `true` if a wall can follow a move, or none must follow.
    pub(super) fn allows_wall(&self, m: Move) -> bool {
        let mut after = self.clone();
        after.make_move(m);
        after.pending_wall.is_none() || after.wall_squares().any()
    }

    /// Adds the walls that are a whole turn, if the game has them.
    pub(super) fn add_wall_turns(&self, check_info: CheckInfo, out: &mut MoveList) {
        // A wall does not answer a check.
        if self.has_wall_turns() && check_info.checkers.is_empty() {
            let mut position = self.clone();
            position.pending_wall = self.wall_turn_piece().and_then(|at| {
                let piece = self.board.piece_at(at)?;
                Some(PendingWall::after(None, at, piece))
            });
            position.add_walls(out);
        }
    }

    /// Returns the piece with which a wall without a move is written: it moves to its own square.
    pub(super) fn wall_turn_piece(&self) -> Option<Square> {
        self.board.by_color(self.turn).first()
    }

    /// Returns the suffix of a move without a wall if a turn is a move or a wall. Fairy-Stockfish writes a
    /// dummy wall: on a1 after a step, and after a drop on the square with the number of the piece in its
    /// list.
    pub(super) fn no_wall_suffix(&self, m: Move) -> String {
        match m {
            Move::Step { from, to, .. } => match self.castles(from, to) {
                Some(path) if !self.writes_rook(path) => self.no_wall_suffix_at(path.king_to),
                _ => self.no_wall_suffix_at(to),
            },
            Move::Drop { role, to, .. } if self.has_wall_turns() => {
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

    /// Returns the suffix of a step to `to`.
    pub(super) fn no_wall_suffix_at(&self, to: Square) -> String {
        if self.has_wall_turns() { format!(",{to}{}", Square::A1) } else { String::new() }
    }

    /// Returns `true` if a turn is a move or a wall.
    pub(super) fn has_wall_turns(&self) -> bool {
        self.variant_rules.walls.is_some_and(|walls| walls.wall_or_move)
    }

    /// Places a wall. The duck leaves its old square.
    pub(super) fn put_wall(&mut self, square: Square) {
        if self.variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck) {
            self.walls = Bitboard::EMPTY;
        }
        self.walls = self.walls.with(square);
    }
}

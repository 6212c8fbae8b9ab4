//! Chess on any board up to 8x8, as axes that combine freely.
//!
//! Squares are those of the 8x8 board; a smaller one lies in the corner of a1, and what lies
//! outside it stops sliders as men would.

mod attack;
mod axes;
mod castling;
mod end;
mod fen;
mod moves;
mod play;

use std::sync::Arc;

pub use axes::{Axes, Castling, Drops, Extinction, Verdict};
use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, Role, Square, attacks};

use self::castling::Path;
use super::{Anatomy, Key, Move, MoveList, Outcome, Reason, Rules, Side, View, notation};

/// A position of a game of this family.
#[derive(Clone, Debug)]
pub(super) struct Chess8 {
    axes: Arc<Axes>,
    area: Bitboard,
    board: Board,
    /// Which men are promoted pawns, where that matters.
    promoted: Bitboard,
    hands: ByColor<ByRole<u8>>,
    /// The rooks that may castle.
    rights: Bitboard,
    /// Where the mover may capture en passant. While the duck is owed, where the other side may
    /// unless the duck prevents it.
    en_passant: Option<Square>,
    /// The square of the duck, none before it is on the board.
    duck: Bitboard,
    /// The man has moved, to this square as the move is written, and the duck is to follow.
    owes_wall: Option<Square>,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
    /// Whether castling is written as king takes rook.
    chess960: bool,
}

impl Chess8 {
    /// Whether a castling is written as king takes rook: in Chess960, and where the king's goal
    /// alone would name a step as well.
    fn writes_rook(&self, path: Path) -> bool {
        self.chess960 || attacks::king_attacks(path.king).contains(path.king_to)
    }
}

impl Rules for Chess8 {
    fn anatomy(&self) -> Anatomy {
        let axes = &self.axes;
        let drops = if axes.drops.is_some() { axes.droppable() } else { Vec::new() };
        Anatomy {
            sides: 2,
            files: axes.files,
            ranks: axes.ranks,
            roles: axes.roles.clone(),
            promotions: axes.promotions.clone(),
            drops,
            places: false,
            walls: axes.duck,
            castling: axes.castling.is_some(),
            en_passant: Color::ALL.into_iter().any(|color| axes.double_step[color].any()),
            checks: None,
            promoted: axes.tells_promoted(),
            mirrored: true,
        }
    }

    fn turn(&self) -> Side {
        self.turn.into()
    }

    fn mid_turn(&self) -> bool {
        self.owes_wall.is_some()
    }

    fn moves_are_turns(&self) -> bool {
        !self.axes.duck || self.mid_turn()
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        if self.mid_turn() {
            self.walls(out);
        } else if self.extinct().is_none() {
            self.turns(out);
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        match m {
            Move::Step { from, to, promotion } => self.step(from, to, promotion),
            Move::Drop { role, to } => self.drop_man(role, to),
            Move::Wall(to) => self.wall(to),
            Move::Place(_) => debug_assert!(false, "{m:?} is no move of chess"),
        }
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        // A king that was taken ends the game when the duck is down.
        if !legal.is_empty() || self.mid_turn() {
            None
        } else {
            Some(self.extinct().unwrap_or_else(|| self.stuck()))
        }
    }

    fn claim(&self) -> Option<Outcome> {
        if self.mid_turn() {
            None
        } else if self.halfmoves >= 100 {
            Some(Outcome::draw(Reason::FiftyMoves))
        } else if self.is_insufficient() {
            Some(Outcome::draw(Reason::InsufficientMaterial))
        } else {
            None
        }
    }

    fn opponent_in_check(&self) -> bool {
        self.in_check(!self.turn)
    }

    fn reversible(&self) -> u32 {
        self.halfmoves
    }

    fn key(&self) -> Key {
        let roles = Role::ALL.map(|role| u64::from(self.board.by_role(role)));
        let hand = |color: Color| Role::ALL.map(|role| self.hands[color][role]);
        let packed = |hand: [u8; 6]| hand.iter().fold(0, |word, &n| word << 8 | u64::from(n));
        let en_passant = self.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
        let phase = u64::from(self.turn.is_black()) | u64::from(self.mid_turn()) << 1;
        let more = [
            u64::from(self.board.white()),
            phase,
            u64::from(self.rights),
            u64::from(en_passant),
            u64::from(self.promoted),
            u64::from(self.duck),
            packed(hand(Color::White)),
            packed(hand(Color::Black)),
        ];
        Key::of(roles.into_iter().chain(more))
    }

    fn view(&self) -> View<'_> {
        View {
            turn: self.turn,
            board: &self.board,
            promoted: self.promoted,
            hands: self.axes.drops.is_some().then_some(&self.hands),
            castling: self.rights,
            en_passant: self.en_passant,
            walls: self.duck,
            mid_turn: self.mid_turn(),
            checks: None,
            halfmoves: self.halfmoves,
            repeated: false,
        }
    }

    fn fen(&self) -> String {
        self.to_fen()
    }

    fn move_text(&self, m: Move) -> String {
        match m {
            Move::Step { from, to, .. } => match self.castles(from, to) {
                Some(path) if !self.writes_rook(path) => {
                    notation::uci(Move::Step { from, to: path.king_to, promotion: None })
                }
                _ => notation::uci(m),
            },
            // The second part of a turn starts where the first one ended.
            Move::Wall(to) => {
                self.owes_wall.map_or_else(|| notation::uci(m), |from| format!("{from}{to}"))
            }
            _ => notation::uci(m),
        }
    }
}

//! What is asked for, and what becomes of it.

use std::fmt;
use std::str::FromStr;

use shakmaty::attacks::{between, king_attacks, knight_attacks, pawn_attacks};
use shakmaty::{Bitboard, Color, Rank, Role, Square};

use super::army::{Army, back_rank};
use crate::rules::Move;
use crate::rules::notation::{parse_uci, uci};

/// A move as a player asks for it: it knows of no capture. Castling is the king's step of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Request {
    /// Where the man stands.
    pub from: Square,
    /// Where it is to go.
    pub to: Square,
    /// What it is to become. A pawn that is asked onto the last rank without it becomes a queen.
    pub promotion: Option<Role>,
}

impl Request {
    /// A request without a promotion.
    pub const fn new(from: Square, to: Square) -> Request {
        Request { from, to, promotion: None }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Request { from, to, promotion } = self;
        f.write_str(&uci(Move::Step { from, to, promotion }))
    }
}

impl FromStr for Request {
    type Err = String;

    /// Reads what UCI writes; the error quotes the text.
    fn from_str(text: &str) -> Result<Request, String> {
        let pieces =
            [None, Some(Role::Knight), Some(Role::Bishop), Some(Role::Rook), Some(Role::Queen)];
        match parse_uci(text) {
            Some(Move::Step { from, to, promotion }) if pieces.contains(&promotion) => {
                Ok(Request { from, to, promotion })
            }
            _ => Err(format!("\"{text}\" is no move")),
        }
    }
}

/// What a request became.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The move that was made.
    pub step: Request,
    /// Where a man of the other side was taken; not where the step ends if it was en passant.
    pub capture: Option<Square>,
}

impl Army {
    /// All that its side may ask for, knowing its own men only, in the order of their squares: steps
    /// as if the other side had no men, every diagonal step of a pawn, castling if nothing of its
    /// own stands between. Diagonal steps onto the last rank are there without promotion, too, as in
    /// the reference program; passing is not among them.
    pub fn requests(&self, color: Color) -> Vec<Request> {
        let own = self.occupied();
        let mut out = Vec::with_capacity(64);
        for from in own {
            let Some(role) = self.role_at(from) else { continue };
            if role == Role::Pawn {
                self.pawn_requests(color, from, &mut out);
                continue;
            }
            let piece = shakmaty::Piece { color, role };
            let mut targets = shakmaty::attacks::attacks(from, piece, own).without(own);
            if role == Role::King {
                targets |= self.castling_targets(color, own);
            }
            out.extend(targets.into_iter().map(|to| Request::new(from, to)));
        }
        out
    }

    fn pawn_requests(&self, color: Color, from: Square, out: &mut Vec<Request>) {
        let own = self.occupied();
        for to in pawn_attacks(color, from).without(own) | pawn_pushes(color, from, own) {
            let last = to.rank() == back_rank(!color);
            if !last || to.file() != from.file() {
                out.push(Request::new(from, to));
            }
            if last {
                let roles = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];
                let with = |role| Request { from, to, promotion: Some(role) };
                out.extend(roles.map(with));
            }
        }
    }

    /// Where the king may go by castling if these squares are taken.
    pub(super) fn castling_targets(&self, color: Color, occupied: Bitboard) -> Bitboard {
        if !self.may_castle() {
            return Bitboard::EMPTY;
        }
        let king = Square::from_coords(shakmaty::File::E, back_rank(color));
        let free = |rook: &Square| between(king, *rook).is_disjoint(occupied);
        let target = |rook: Square| if rook > king { king.offset(2) } else { king.offset(-2) };
        self.castling(color).into_iter().filter(free).filter_map(target).collect()
    }

    /// The request as it is meant: a pawn that is asked onto the last rank becomes a queen.
    pub fn meant(&self, request: Request) -> Request {
        let queen = request.promotion.is_none() && self.promotes(request);
        Request { promotion: if queen { Some(Role::Queen) } else { request.promotion }, ..request }
    }

    /// Whether a pawn is asked onto the last rank.
    pub fn promotes(&self, request: Request) -> bool {
        let last = matches!(request.to.rank(), Rank::First | Rank::Eighth);
        last && self.role_at(request.from) == Some(Role::Pawn)
    }

    /// What becomes of a request that [`Army::requests`] allows, where the other side's men stand on
    /// `theirs` and have just `passed` over a square; `None` if nothing does.
    pub fn take(
        &self,
        color: Color,
        request: Request,
        theirs: Bitboard,
        passed: Option<Square>,
    ) -> Option<Taken> {
        let step = self.meant(request);
        let Request { from, to, .. } = step;
        let occupied = self.occupied() | theirs;
        match self.role_at(from)? {
            Role::Pawn => self.take_pawn(color, step, theirs, passed),
            Role::King if !king_attacks(from).contains(to) => self
                .castling_targets(color, occupied)
                .contains(to)
                .then_some(Taken { step, capture: None }),
            Role::King | Role::Knight => {
                debug_assert!((king_attacks(from) | knight_attacks(from)).contains(to));
                Some(Taken { step, capture: theirs.contains(to).then_some(to) })
            }
            Role::Bishop | Role::Rook | Role::Queen => {
                let blockers = between(from, to) & theirs;
                let stop = if to > from { blockers.first() } else { blockers.last() };
                let to = stop.unwrap_or(to);
                let capture = theirs.contains(to).then_some(to);
                Some(Taken { step: Request { to, ..step }, capture })
            }
        }
    }

    fn take_pawn(
        &self,
        color: Color,
        step: Request,
        theirs: Bitboard,
        passed: Option<Square>,
    ) -> Option<Taken> {
        let Request { from, to, .. } = step;
        let occupied = self.occupied() | theirs;
        if from.file() != to.file() {
            let capture = if theirs.contains(to) {
                Some(to)
            } else if passed == Some(to) && to.rank() == color.fold_wb(Rank::Sixth, Rank::Third) {
                to.offset(color.fold_wb(-8, 8))
            } else {
                None
            };
            return capture.map(|_| Taken { step, capture });
        }
        let free = |square: &Square| !occupied.contains(*square);
        let path = [between(from, to).first(), Some(to)];
        let reached = path.into_iter().flatten().take_while(free).last()?;
        Some(Taken { step: Request { to: reached, ..step }, capture: None })
    }

    /// Makes what a request became, taking from the `other` army what it takes; `None` is a pass.
    pub fn make(&mut self, color: Color, taken: Option<Taken>, other: &mut Army) {
        *other = other.rested();
        let role = taken.and_then(|taken| self.role_at(taken.step.from));
        let (Some(Taken { step: Request { from, to, promotion }, capture }), Some(role)) =
            (taken, role)
        else {
            *self = self.rested();
            return;
        };
        if let Some(square) = capture {
            other.remove(!color, square);
        }
        *self = if role == Role::King && !king_attacks(from).contains(to) {
            self.castled(color, from, to)
        } else {
            self.moved(color, role, from, to, promotion.unwrap_or(role))
        };
    }
}

/// Where a pawn may go without taking, past these squares.
pub(super) fn pawn_pushes(color: Color, from: Square, occupied: Bitboard) -> Bitboard {
    let forward = color.fold_wb(8, -8);
    let free = |square: &Square| !occupied.contains(*square);
    let Some(one) = from.offset(forward).filter(free) else { return Bitboard::EMPTY };
    let start = from.rank() == color.fold_wb(Rank::Second, Rank::Seventh);
    let two = one.offset(forward).filter(|square| start && free(square));
    Bitboard::from(one).with(two.map_or(Bitboard::EMPTY, Bitboard::from))
}

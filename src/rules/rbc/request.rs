//! Requested moves, and how the referee resolves them.

use std::fmt;
use std::str::FromStr;

use shakmaty::attacks::{attacks, between, king_attacks, knight_attacks, pawn_attacks};
use shakmaty::{Bitboard, Color, File, Piece, Rank, Role, Square};

use super::army::{Army, back_rank};
use crate::rules::Move;
use crate::rules::notation::{parse_uci, uci};

/// A move as a player requests it, without a capture. Castling is the king's step of two squares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Request {
    /// The square of the piece.
    pub from: Square,
    /// The target.
    pub to: Square,
    /// The role after a promotion. Without it a pawn becomes a queen on the last rank.
    pub promotion: Option<Role>,
}

impl Request {
    /// Returns a request without a promotion.
    pub const fn new(from: Square, to: Square) -> Request {
        Request { from, to, promotion: None }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Request { from, to, promotion } = self;
        f.write_str(&uci(Move::step(from, to, promotion)))
    }
}

/// A text is not a request in the notation of UCI.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid move \"{0}\"")]
pub struct ParseRequestError(pub String);

impl FromStr for Request {
    type Err = ParseRequestError;

    fn from_str(text: &str) -> Result<Request, ParseRequestError> {
        let promotions =
            [None, Some(Role::Knight), Some(Role::Bishop), Some(Role::Rook), Some(Role::Queen)];
        match parse_uci(text) {
            Some(Move::Step { from, to, promotion, .. }) if promotions.contains(&promotion) => {
                Ok(Request { from, to, promotion })
            }
            _ => Err(ParseRequestError(text.to_owned())),
        }
    }
}

/// The move that a request became.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The move that was made.
    pub step: Request,
    /// The square of the captured piece; after en passant not the target of the step.
    pub capture: Option<Square>,
}

impl Army {
    /// Returns all requests of the side except the pass, in the order of their squares. They depend on its
    /// own pieces only: the moves as if the opponent had no pieces, all diagonal steps of pawns, and castling
    /// if no own piece is in the way. Diagonal steps to the last rank are listed without promotion, too, as
    /// in the reference program.
    pub fn requests(&self, color: Color) -> Vec<Request> {
        let own = self.occupied();
        let mut requests = Vec::with_capacity(64);
        for from in own {
            let Some(role) = self.role_at(from) else { continue };
            if role == Role::Pawn {
                self.add_pawn_requests(color, from, &mut requests);
                continue;
            }
            let mut targets = attacks(from, Piece { color, role }, own).without(own);
            if role == Role::King {
                targets |= self.castling_targets(color, own);
            }
            requests.extend(targets.into_iter().map(|to| Request::new(from, to)));
        }
        requests
    }

    fn add_pawn_requests(&self, color: Color, from: Square, requests: &mut Vec<Request>) {
        let own = self.occupied();
        for to in pawn_attacks(color, from).without(own) | pawn_pushes(color, from, own) {
            let is_last_rank = to.rank() == back_rank(!color);
            if !is_last_rank || to.file() != from.file() {
                requests.push(Request::new(from, to));
            }
            if is_last_rank {
                for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
                    requests.push(Request { from, to, promotion: Some(role) });
                }
            }
        }
    }

    /// Returns the squares to which the king may castle if these squares are occupied.
    pub(super) fn castling_targets(&self, color: Color, occupied: Bitboard) -> Bitboard {
        if !self.has_castling_right() {
            return Bitboard::EMPTY;
        }
        let king = Square::from_coords(File::E, back_rank(color));
        let mut targets = Bitboard::EMPTY;
        for rook in self.castling_rooks(color) {
            let target = king.offset(if rook > king { 2 } else { -2 });
            if let Some(target) = target
                && between(king, rook).is_disjoint(occupied)
            {
                targets = targets.with(target);
            }
        }
        targets
    }

    /// Returns the request with a promotion to a queen if it moves a pawn to the last rank without naming
    /// the role.
    pub fn with_default_promotion(&self, request: Request) -> Request {
        if request.promotion.is_none() && self.is_promotion(request) {
            return Request { promotion: Some(Role::Queen), ..request };
        }
        request
    }

    /// Returns `true` if a pawn is requested to move to the last rank.
    pub fn is_promotion(&self, request: Request) -> bool {
        let is_last_rank = matches!(request.to.rank(), Rank::First | Rank::Eighth);
        is_last_rank && self.role_at(request.from) == Some(Role::Pawn)
    }

    /// Returns the move that a request of [`Army::requests`] becomes, or `None` if it becomes a pass.
    /// The pieces of the opponent stand on `theirs`, with `en_passant` after a double step.
    pub fn resolve(
        &self,
        color: Color,
        request: Request,
        theirs: Bitboard,
        en_passant: Option<Square>,
    ) -> Option<Taken> {
        let step = self.with_default_promotion(request);
        let Request { from, to, .. } = step;
        match self.role_at(from)? {
            Role::Pawn => self.resolve_pawn(color, step, theirs, en_passant),
            Role::King if !king_attacks(from).contains(to) => {
                let occupied = self.occupied() | theirs;
                let can_castle = self.castling_targets(color, occupied).contains(to);
                can_castle.then_some(Taken { step, capture: None })
            }
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

    fn resolve_pawn(
        &self,
        color: Color,
        step: Request,
        theirs: Bitboard,
        en_passant: Option<Square>,
    ) -> Option<Taken> {
        let Request { from, to, .. } = step;
        if from.file() != to.file() {
            let is_en_passant =
                en_passant == Some(to) && to.rank() == color.fold_wb(Rank::Sixth, Rank::Third);
            let capture = if theirs.contains(to) {
                to
            } else if is_en_passant {
                to.offset(color.fold_wb(-8, 8))?
            } else {
                return None;
            };
            return Some(Taken { step, capture: Some(capture) });
        }
        let occupied = self.occupied() | theirs;
        let path = [between(from, to).first(), Some(to)];
        let reached =
            path.into_iter().flatten().take_while(|&square| !occupied.contains(square)).last()?;
        Some(Taken { step: Request { to: reached, ..step }, capture: None })
    }

    /// Makes the move that a request became, `None` for a pass, and removes the captured piece from the
    /// `other` army.
    pub fn make_move(&mut self, color: Color, taken: Option<Taken>, other: &mut Army) {
        *other = other.without_en_passant();
        let role = taken.and_then(|taken| self.role_at(taken.step.from));
        let (Some(Taken { step: Request { from, to, promotion }, capture }), Some(role)) =
            (taken, role)
        else {
            *self = self.without_en_passant();
            return;
        };
        if let Some(square) = capture {
            other.remove(!color, square);
        }
        *self = if role == Role::King && !king_attacks(from).contains(to) {
            self.with_castling(color, from, to)
        } else {
            self.with_move(color, role, from, to, promotion.unwrap_or(role))
        };
    }
}

/// Returns the squares to which a pawn on `from` may be pushed.
pub(super) fn pawn_pushes(color: Color, from: Square, occupied: Bitboard) -> Bitboard {
    let forward = color.fold_wb(8, -8);
    let free_square = |from: Square| from.offset(forward).filter(|&to| !occupied.contains(to));
    let Some(one) = free_square(from) else { return Bitboard::EMPTY };
    let is_start = from.rank() == color.fold_wb(Rank::Second, Rank::Seventh);
    let two = if is_start { free_square(one) } else { None };
    Bitboard::from(one).with(two.map_or(Bitboard::EMPTY, Bitboard::from))
}

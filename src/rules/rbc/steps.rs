//! The moves that are possible on a board: pseudo-legal moves. Each request becomes one of them or a pass,
//! and each of them is what some request becomes.

use shakmaty::attacks::{bishop_attacks, king_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Color, Rank, Role, Square};

use super::army::{Army, back_rank};
use super::request::{Request, Taken, pawn_pushes};

/// A possible move of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RbcStep {
    /// The role before the move.
    pub role: Role,
    /// The square before the move.
    pub from: Square,
    /// The square after the move.
    pub to: Square,
    /// The role after the move.
    pub becomes: Role,
    /// The square of the captured piece.
    pub capture: Option<Square>,
}

impl RbcStep {
    /// Returns the request that becomes this step.
    pub fn request(self) -> Request {
        let promotion = (self.becomes != self.role).then_some(self.becomes);
        Request { from: self.from, to: self.to, promotion }
    }

    /// Returns the step as the result of its request.
    pub fn taken(self) -> Taken {
        Taken { step: self.request(), capture: self.capture }
    }

    #[inline]
    fn is_castling(self) -> bool {
        // On one rank squares at distance 1 differ by 1, 3 or 7, and e1 differs from c1 and g1 by 6 and 2.
        let difference = u32::from(self.from) ^ u32::from(self.to);
        self.role == Role::King && (difference == 2 || difference == 6)
    }

    /// Returns the army of the mover after the step. A captured piece must be removed from the other army.
    #[inline]
    pub fn after(self, army: &Army, color: Color) -> Army {
        if self.is_castling() {
            return army.with_castling(color, self.from, self.to);
        }
        army.with_move(color, self.role, self.from, self.to, self.becomes)
    }
}

/// Appends the steps of an army against pieces on `theirs` that end on one of the `targets`, and all
/// captures en passant. The pass is not among them.
#[inline]
pub fn generate_steps(
    army: &Army,
    color: Color,
    theirs: Bitboard,
    en_passant: Option<Square>,
    targets: Bitboard,
    steps: &mut Vec<RbcStep>,
) {
    let own = army.occupied();
    let occupied = own | theirs;
    let free = targets.without(own);
    let mut add = |role: Role, from: Square, targets: Bitboard| {
        for to in targets {
            let capture = theirs.contains(to).then_some(to);
            steps.push(RbcStep { role, from, to, becomes: role, capture });
        }
    };
    for from in army.by_role(Role::Knight) {
        add(Role::Knight, from, knight_attacks(from) & free);
    }
    let diagonal = army.diagonal_sliders();
    let straight = army.straight_sliders();
    for from in diagonal.without(straight) {
        add(Role::Bishop, from, bishop_attacks(from, occupied) & free);
    }
    for from in straight.without(diagonal) {
        add(Role::Rook, from, rook_attacks(from, occupied) & free);
    }
    for from in diagonal & straight {
        let lines = bishop_attacks(from, occupied) | rook_attacks(from, occupied);
        add(Role::Queen, from, lines & free);
    }
    if let Some(from) = army.king() {
        let castling = army.castling_targets(color, occupied);
        add(Role::King, from, (king_attacks(from) | castling) & free);
    }
    let last = Bitboard::from(back_rank(!color));
    for from in army.by_role(Role::Pawn) {
        let pushes = pawn_pushes(color, from, occupied);
        let reach = (pushes | pawn_attacks(color, from) & theirs) & targets;
        add_pawn_steps(from, reach.without(last), theirs, Role::Pawn, steps);
        if reach.intersects(last) {
            for becomes in [Role::Queen, Role::Knight, Role::Rook, Role::Bishop] {
                add_pawn_steps(from, reach & last, theirs, becomes, steps);
            }
        }
    }
    let rank = color.fold_wb(Rank::Sixth, Rank::Third);
    if let Some(to) = en_passant.filter(|&to| to.rank() == rank && !occupied.contains(to)) {
        for from in pawn_attacks(!color, to) & army.by_role(Role::Pawn) {
            let capture = to.offset(color.fold_wb(-8, 8));
            steps.push(RbcStep { role: Role::Pawn, from, to, becomes: Role::Pawn, capture });
        }
    }
}

#[inline]
fn add_pawn_steps(
    from: Square,
    reach: Bitboard,
    theirs: Bitboard,
    becomes: Role,
    steps: &mut Vec<RbcStep>,
) {
    for to in reach {
        let capture = theirs.contains(to).then_some(to);
        steps.push(RbcStep { role: Role::Pawn, from, to, becomes, capture });
    }
}

/// Returns the squares of the pieces of an army of `color` that attack a square.
#[inline]
pub fn attackers(army: &Army, color: Color, square: Square, occupied: Bitboard) -> Bitboard {
    knight_attacks(square) & army.by_role(Role::Knight)
        | king_attacks(square) & army.by_role(Role::King)
        | pawn_attacks(!color, square) & army.by_role(Role::Pawn)
        | bishop_attacks(square, occupied) & army.diagonal_sliders()
        | rook_attacks(square, occupied) & army.straight_sliders()
}

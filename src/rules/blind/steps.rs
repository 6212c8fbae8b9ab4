//! What a side can really do where all men stand as they stand: pseudo-legal steps. Each is what
//! some request becomes, and each request becomes one of them or nothing.

use shakmaty::attacks::{bishop_attacks, king_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Color, Role, Square};

use super::army::{Army, back_rank};
use super::request::{Request, Taken, pawn_pushes};

/// A step of a man as it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// What moves.
    pub role: Role,
    /// From where.
    pub from: Square,
    /// To where.
    pub to: Square,
    /// What it becomes, mostly the same.
    pub becomes: Role,
    /// Where a man of the other side is taken.
    pub capture: Option<Square>,
}

impl Step {
    /// The request that becomes this step.
    pub fn request(self) -> Request {
        let promotion = (self.becomes != self.role).then_some(self.becomes);
        Request { from: self.from, to: self.to, promotion }
    }

    /// What the request became.
    pub fn taken(self) -> Taken {
        Taken { step: self.request(), capture: self.capture }
    }

    /// Whether the king castles: only then does it go two files.
    #[inline]
    fn castles(self) -> bool {
        // Of two squares of a rank: one file apart is 1, 3 or 7, two files from e is 2 or 6.
        let apart = u32::from(self.from) ^ u32::from(self.to);
        self.role == Role::King && (apart == 2 || apart == 6)
    }

    /// The men of the side that makes it, afterwards. What is taken is the other side's affair.
    #[inline]
    pub fn after(self, army: &Army, color: Color) -> Army {
        if self.castles() {
            return army.castled(color, self.from, self.to);
        }
        army.moved(color, self.role, self.from, self.to, self.becomes)
    }
}

/// Appends all steps of an army against men on `theirs` that end on one of the `targets`, or take
/// en passant: the other side has just `passed` over a square. Passing is not among them.
#[inline]
pub fn steps(
    army: &Army,
    color: Color,
    theirs: Bitboard,
    passed: Option<Square>,
    targets: Bitboard,
    out: &mut Vec<Step>,
) {
    let own = army.occupied();
    let occupied = own | theirs;
    let free = targets.without(own);
    let mut add = |role: Role, from: Square, targets: Bitboard| {
        for to in targets {
            let capture = theirs.contains(to).then_some(to);
            out.push(Step { role, from, to, becomes: role, capture });
        }
    };
    for from in army.by_role(Role::Knight) {
        add(Role::Knight, from, knight_attacks(from) & free);
    }
    let (diagonal, straight) = (army.diagonal(), army.straight());
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
        add_pawn(from, reach.without(last), theirs, Role::Pawn, out);
        if reach.intersects(last) {
            for becomes in [Role::Queen, Role::Knight, Role::Rook, Role::Bishop] {
                add_pawn(from, reach & last, theirs, becomes, out);
            }
        }
    }
    if let Some(to) = passed.filter(|&to| !occupied.contains(to)) {
        let rank = color.fold_wb(shakmaty::Rank::Sixth, shakmaty::Rank::Third);
        let pawns = pawn_attacks(!color, to) & army.by_role(Role::Pawn);
        for from in pawns.into_iter().filter(|_| to.rank() == rank) {
            let capture = to.offset(color.fold_wb(-8, 8));
            out.push(Step { role: Role::Pawn, from, to, becomes: Role::Pawn, capture });
        }
    }
}

#[inline]
fn add_pawn(from: Square, reach: Bitboard, theirs: Bitboard, becomes: Role, out: &mut Vec<Step>) {
    for to in reach {
        let capture = theirs.contains(to).then_some(to);
        out.push(Step { role: Role::Pawn, from, to, becomes, capture });
    }
}

/// The men of an army of `color` that attack a square.
#[inline]
pub fn attackers(army: &Army, color: Color, square: Square, occupied: Bitboard) -> Bitboard {
    knight_attacks(square) & army.by_role(Role::Knight)
        | king_attacks(square) & army.by_role(Role::King)
        | pawn_attacks(!color, square) & army.by_role(Role::Pawn)
        | bishop_attacks(square, occupied) & army.diagonal()
        | rook_attacks(square, occupied) & army.straight()
}

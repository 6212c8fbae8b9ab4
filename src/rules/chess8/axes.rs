//! The axes along which the games of this family differ.

use shakmaty::{Bitboard, ByColor, Color, Rank, Role};

use crate::rules::notation::area;

/// The rules of one game of this family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// Files of the board, 1 to 8.
    pub files: usize,
    /// Ranks of the board, 1 to 8.
    pub ranks: usize,
    /// The men of the game.
    pub roles: Vec<Role>,
    /// Whether kings are royal: each side has one, and a check must be answered. Otherwise they are
    /// men like others, which go as kings go and can be taken.
    pub royal: bool,
    /// Men without which a side has lost.
    pub extinction: Option<Extinction>,
    /// What a pawn becomes on a square of `promotion_area`, the usual choice first.
    pub promotions: Vec<Role>,
    /// Where the pawns of each colour promote.
    pub promotion_area: ByColor<Bitboard>,
    /// Where a pawn may go two squares at once; empty without double steps.
    pub double_step: ByColor<Bitboard>,
    /// Castling, if there is any.
    pub castling: Option<Castling>,
    /// What the side to move gets that has no legal move and is in check.
    pub checkmate: Verdict,
    /// What the side to move gets that has no legal move and is not in check.
    pub stalemate: Verdict,
    /// Whether it gets that only with fewer men than the other side, the opposite with more, and a
    /// draw with as many.
    pub stalemate_by_men: bool,
    /// Whether a capture must be made if one is legal.
    pub must_capture: bool,
    /// What a capture blows up, if anything: the man that captures, and all men around it but pawns
    /// and those of these roles.
    pub blast: Option<Vec<Role>>,
    /// Men that cannot capture their like.
    pub mutually_immune: Vec<Role>,
    /// Drops of men in hand, if there are any.
    pub drops: Option<Drops>,
    /// Whether there is a duck: a wall that the mover puts on another empty square after its move.
    pub duck: bool,
}

/// Where castling leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Castling {
    /// The file of the king before castling, but in Chess960.
    pub king: usize,
    /// The file of the king after castling to the side of the h-file; the rook goes before it.
    pub king_side: usize,
    /// The file of the king after castling to the side of the a-file; the rook goes behind it.
    pub queen_side: usize,
}

/// A side that has too few men of a role has lost, or whatever `value` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extinction {
    /// The roles, each for itself.
    pub roles: Vec<Role>,
    /// Whether all men together count like those of a role.
    pub all: bool,
    /// So many are too few, and fewer.
    pub count: u32,
    /// But only while the other side has at least so many.
    pub opponents: u32,
    /// What the side gets.
    pub value: Verdict,
}

/// How men are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drops {
    /// Whether captured men go to the hand of the side that took them; else they leave the game.
    pub captures_to_hand: bool,
    /// Whether a promoted man stays what it is when it goes to a hand; else it is a pawn again.
    pub keeps_promoted: bool,
    /// Whether the game has a second board, whose players are given what is taken here.
    pub two_boards: bool,
    /// Where men of each colour are dropped.
    pub area: ByColor<Bitboard>,
    /// Where pawns of each colour are dropped.
    pub pawn_area: ByColor<Bitboard>,
}

/// What an end is worth to the side that it befalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It wins.
    Win,
    /// Nobody wins.
    Draw,
    /// It loses.
    Loss,
}

impl Axes {
    /// The squares of the board.
    pub fn area(&self) -> Bitboard {
        area(self.files, self.ranks)
    }

    /// The first rank, as `color` sees it.
    pub(super) fn first_rank(&self, color: Color) -> Rank {
        Rank::new(color.fold_wb(0, self.ranks as u32 - 1))
    }

    /// The men that can be in hand: all but kings that are royal.
    pub(super) fn droppable(&self) -> Vec<Role> {
        let royal = |role: &Role| *role == Role::King && self.royal;
        self.roles.iter().copied().filter(|role| !royal(role)).collect()
    }

    /// Whether promoted men are told apart: where it matters to whoever gets them.
    pub(super) fn tells_promoted(&self) -> bool {
        self.drops.is_some_and(|drops| {
            drops.captures_to_hand && !drops.keeps_promoted || drops.two_boards
        })
    }
}

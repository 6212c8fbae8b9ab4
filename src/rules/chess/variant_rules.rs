//! The variant_rules along which the games of this family differ.
//!
//! What each means is said here; the reference where programs differ is Fairy-Stockfish, whose
//! `variants.ini` names the same things.

use shakmaty::{Bitboard, ByColor, ByRole, Color, Rank, Role};

use crate::rules::notation::area;

/// The rules of one game of this family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariantRules {
    /// Files of the board, 1 to 8.
    pub files: usize,
    /// Ranks of the board, 1 to 8.
    pub ranks: usize,
    /// The men of the game.
    pub roles: Vec<Role>,
    /// Whether kings are royal, so that a check must be answered. Otherwise they are
    /// men like others, which go as kings go and can be taken.
    pub royal: bool,
    /// How many royal kings each side has, on the board or in hand: one or none.
    pub kings: ByColor<usize>,
    /// What checks of royal kings may and do.
    pub checks: Checks,
    /// Men without which a side has lost.
    pub extinction: Option<Extinction>,
    /// Squares that a side wins by reaching.
    pub flag: Option<Flag>,
    /// What pawns become.
    pub promotion: Promotion,
    /// Where a pawn may go two squares at once; empty without double steps.
    pub double_step: ByColor<Bitboard>,
    /// Where each side may capture en passant.
    pub en_passant: ByColor<Bitboard>,
    /// Castling, if there is any.
    pub castling: Option<Castling>,
    /// What ends are worth, and when a draw may be claimed.
    pub ends: Ends,
    /// Whether a capture must be made if one is legal.
    pub must_capture: bool,
    /// What a capture blows up, if anything: the man that captures, and all men around it but pawns
    /// and those of these roles.
    pub blast: Option<Vec<Role>>,
    /// Men that cannot capture their like.
    pub mutually_immune: Vec<Role>,
    /// Drops of men in hand, if there are any.
    pub drops: Option<Drops>,
    /// Whether and how a turn ends with a wall.
    pub walls: Option<Walls>,
    /// Whether there may be walls on the board.
    pub barriers: bool,
}

/// What checks may and do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Whether a move may give check.
    pub allowed: bool,
    /// Whether a drop may.
    pub by_drops: bool,
    /// How many checks win, if they are counted.
    pub counted: Option<u8>,
}

/// What pawns become, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promotion {
    /// What the pawns of each colour may become, the usual choice first.
    pub kinds: ByColor<Vec<Role>>,
    /// Where they must.
    pub area: ByColor<Bitboard>,
    /// How many men of a role a side may have on the board by promotion; 0 for any number.
    pub limits: ByRole<u8>,
}

/// Where castling leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Castling {
    /// The rank on which it happens, as each colour counts from 0.
    pub rank: usize,
    /// The file of the king that castles, where it has a choice of kings.
    pub king: usize,
    /// Where king and rooks stand at the start of a game. Castling from other squares is written as
    /// that of Chess960.
    pub home: ByColor<CastlingHome>,
    /// The file of the king after castling to the side of the h-file; the rook goes before it.
    pub king_side: usize,
    /// The file of the king after castling to the side of the a-file; the rook goes behind it.
    pub queen_side: usize,
    /// The file from which the rook of the king's side is looked for, inwards.
    pub king_rook: usize,
    /// The file from which the rook of the queen's side is looked for, inwards.
    pub queen_rook: usize,
    /// Whether nobody may castle to the side to which the opponent did.
    pub opposite: bool,
    /// Whether a king and a rook that were dropped on their squares may castle.
    pub dropped: bool,
    /// To which sides castling wins, and losing the right to it loses: the king's, the queen's.
    pub wins: ByColor<[bool; 2]>,
}

/// The files of a king and its rooks at the start of a game, to which `KQkq` in a FEN refer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CastlingHome {
    /// The king.
    pub king: usize,
    /// The rook of the king's side.
    pub king_rook: usize,
    /// The rook of the queen's side.
    pub queen_rook: usize,
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
    /// And one more for the side to move, which could restore the balance at once.
    pub claim: bool,
    /// Whether the last men of these roles are royal: they may not be left to be taken.
    pub pseudo_royal: bool,
    /// What the side gets.
    pub value: Verdict,
}

/// A side that has men in its region has won.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Which men of each colour; all without a role.
    pub man: ByColor<Option<Role>>,
    /// Where they must get.
    pub region: ByColor<Bitboard>,
    /// How many of them.
    pub count: u32,
    /// Whether fewer are enough once the region is full.
    pub blocked: bool,
    /// Whether the other side has a turn left to get there as well.
    pub reply: bool,
    /// Whether they must not stand attacked.
    pub safe: bool,
}

/// What ends are worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// What the side to move gets that has no legal move and is in check.
    pub checkmate: Verdict,
    /// What the side to move gets that has no legal move and is not in check.
    pub stalemate: Verdict,
    /// Whether it gets that only with fewer men than the other side, the opposite with more, and a
    /// draw with as many.
    pub stalemate_by_men: bool,
    /// A draw may be claimed after so many moves of each side without a capture, a drop or a move
    /// of `clocks`; 0 for never.
    pub moves: u32,
    /// The men of each side whose moves start that count anew.
    pub clocks: ByColor<Vec<Role>>,
    /// A position may be claimed that stands for this time; 0 for never.
    pub folds: u32,
    /// What the side to move gets then.
    pub fold: Verdict,
    /// Whether White gets it instead.
    pub fold_is_whites: bool,
    /// Whether the game ends as a draw when no square is empty.
    pub full_board: bool,
    /// Who wins what would be a draw.
    pub odds: Option<Odds>,
}

/// Who wins what would be a draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Odds {
    /// One colour.
    To(Color),
    /// Whoever has more men on the board; nobody with as many.
    More,
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
    /// Whether royal kings are in hand at the start, too.
    pub kings: bool,
    /// Where men of each colour are dropped.
    pub area: ByColor<Bitboard>,
    /// Where pawns of each colour are dropped.
    pub pawn_area: ByColor<Bitboard>,
    /// Which man must be dropped before any other move, if any.
    pub must: Option<Must>,
    /// Men of a role that are not dropped on a file which has so many of them already.
    pub no_doubled: Option<(Role, u32)>,
    /// Whether the bishops of a side must be dropped on squares of both colours.
    pub opposite_bishops: bool,
}

/// What must be dropped as long as it is in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Must {
    /// Any man.
    Any,
    /// Men of one role.
    Only(Role),
}

/// How a turn ends with a wall on an empty square, which no man may enter or pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walls {
    /// Which squares may be closed.
    pub rule: Walling,
    /// Where each colour may do so.
    pub area: ByColor<Bitboard>,
    /// Whether the wall is a turn of its own instead, which has no other move.
    pub instead: bool,
}

/// Which squares may be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walling {
    /// Any: there is one wall, the duck, which leaves its square.
    Duck,
    /// Where the man that moved could go on to.
    Arrow,
    /// The one that the man has left.
    Past,
    /// Those at the edge of the board or beside a wall.
    Edge,
    /// Any.
    Static,
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

impl VariantRules {
    /// The squares of the board.
    pub fn area(&self) -> Bitboard {
        area(self.files, self.ranks)
    }

    /// What pawns may become, of either colour, the usual choice first.
    pub fn promotions(&self) -> Vec<Role> {
        let mut all = self.promotion.kinds.white.clone();
        all.extend(
            self.promotion
                .kinds
                .black
                .iter()
                .filter(|role| !all.contains(role))
                .copied()
                .collect::<Vec<_>>(),
        );
        all
    }

    /// The rank on which `color` castles, whether it can or not.
    pub(super) fn castling_rank(&self, color: Color) -> Rank {
        let rank = self.castling.map_or(0, |castling| castling.rank);
        Rank::new(color.fold_wb(rank, self.ranks - 1 - rank) as u32)
    }

    /// The men that can be in hand.
    pub(super) fn droppable(&self) -> Vec<Role> {
        let Some(drops) = self.drops else { return Vec::new() };
        let stays = |role: &Role| *role == Role::King && self.royal && !drops.kings;
        self.roles.iter().copied().filter(|role| !stays(role)).collect()
    }

    /// Whether promoted men are told apart: where it matters to whoever gets them.
    pub(super) fn tells_promoted(&self) -> bool {
        self.drops.is_some_and(|drops| {
            drops.captures_to_hand && !drops.keeps_promoted || drops.two_boards
        })
    }

    /// Whether captured men come back.
    pub(super) fn recycles(&self) -> bool {
        self.drops.is_some_and(|drops| drops.captures_to_hand)
    }
}

//! The rules in which chess variants differ.
//!
//! The rules follow Fairy-Stockfish, whose `variants.ini` uses the same terms. The keys are documented in
//! `variants.ini`.

use shakmaty::{Bitboard, ByColor, ByRole, Color, Rank, Role};

use crate::rules::notation::area;

/// The rules of one chess variant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariantRules {
    /// The number of files of the board, 1 to 8.
    pub files: usize,
    /// The number of ranks of the board, 1 to 8.
    pub ranks: usize,
    /// The pieces of the game.
    pub roles: Vec<Role>,
    /// Whether kings are royal, so that a check must be answered. Otherwise they are commoners, which
    /// move like kings and can be captured.
    pub royal: bool,
    /// The number of royal kings of each side, on the board or in hand: 0 or 1.
    pub kings: ByColor<usize>,
    /// The rules of checks.
    pub checks: Checks,
    /// Loss or win by having too few pieces of a kind.
    pub extinction: Option<Extinction>,
    /// Squares that a side wins by reaching.
    pub flag: Option<Flag>,
    /// The rules of promotion.
    pub promotion: Promotion,
    /// The squares from which pawns can move two squares. Empty without double steps.
    pub double_step: ByColor<Bitboard>,
    /// The squares on which each side can capture en passant.
    pub en_passant: ByColor<Bitboard>,
    /// The rules of castling, if there is castling.
    pub castling: Option<Castling>,
    /// The values of the ends of a game, and when draws can be claimed.
    pub ends: Ends,
    /// Whether captures are compulsory.
    pub must_capture: bool,
    /// Whether captures blow up the capturing piece and all pieces around it except pawns. The roles
    /// listed are immune.
    pub blast: Option<Vec<Role>>,
    /// Pieces that cannot capture pieces of the same kind.
    pub mutually_immune: Vec<Role>,
    /// The rules of drops, if pieces in hand can be dropped.
    pub drops: Option<Drops>,
    /// The rules of walls, if players place walls.
    pub walls: Option<Walls>,
    /// Whether there can be walls on the board.
    pub barriers: bool,
}

/// The rules of checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Whether moves may give check.
    pub allowed: bool,
    /// Whether drops may give check.
    pub by_drops: bool,
    /// The number of checks that win, if checks are counted.
    pub counted: Option<u8>,
}

/// The rules of promotion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promotion {
    /// The pieces that pawns of each color can promote to, the usual choice first.
    pub kinds: ByColor<Vec<Role>>,
    /// The squares on which pawns of each color must promote.
    pub area: ByColor<Bitboard>,
    /// The number of pieces of a role that a side can have on the board by promotion; 0 for no limit.
    pub limits: ByRole<u8>,
}

/// The rules of castling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Castling {
    /// The colors that can castle.
    pub colors: ByColor<bool>,
    /// The rank of castling, from the side of each color, counted from 0.
    pub rank: usize,
    /// The file of the castling king, if there are several kings.
    pub king: usize,
    /// The home squares of king and rooks. Castling from other squares is written as in Chess960.
    pub home: ByColor<CastlingHome>,
    /// The destination file of the king on the king side. The rook goes to the file before it.
    pub king_side: usize,
    /// The destination file of the king on the queen side. The rook goes to the file after it.
    pub queen_side: usize,
    /// The outermost file of a castling rook on the king side.
    pub king_rook: usize,
    /// The outermost file of a castling rook on the queen side.
    pub queen_rook: usize,
    /// Whether a side may not castle to the side to which the opponent has castled.
    pub opposite: bool,
    /// Whether a king and a rook that were dropped on their home squares can castle.
    pub dropped: bool,
    /// The sides, king side and queen side, on which castling wins. A color that has such sides loses
    /// without the right to castle on one of them.
    pub wins: ByColor<[bool; 2]>,
}

/// The files of a king and its rooks at the start of a game, to which `KQkq` in a FEN refer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CastlingHome {
    /// The file of the king.
    pub king: usize,
    /// The file of the rook on the king side.
    pub king_rook: usize,
    /// The file of the rook on the queen side.
    pub queen_rook: usize,
}

/// The end of the game if a side has too few pieces of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extinction {
    /// The roles, each counted separately.
    pub roles: Vec<Role>,
    /// Whether all pieces together are counted as well.
    pub all: bool,
    /// The largest number of pieces that is too few.
    pub piece_count: u32,
    /// The smallest number of pieces of the opponent for which the rule applies.
    pub opponent_piece_count: u32,
    /// Whether the opponent needs one more piece if the side is to move, as the side could capture one.
    pub claim: bool,
    /// Whether the last pieces of these roles are royal: moves may not leave them attacked.
    pub pseudo_royal: bool,
    /// The value for the side.
    pub value: EndValue,
}

/// The win of a side whose pieces reach a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// The piece of each color that counts; `None` for any piece.
    pub piece: ByColor<Option<Role>>,
    /// The region of each color.
    pub region: ByColor<Bitboard>,
    /// The number of pieces required.
    pub count: u32,
    /// Whether fewer pieces are enough if the region has no empty square.
    pub blocked: bool,
    /// Whether the opponent has one more turn to reach its region as well.
    pub reply: bool,
    /// Whether the pieces must not be attacked.
    pub safe: bool,
}

/// The values of the ends of a game, and when draws can be claimed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The value for a side to move that has no legal move and is in check.
    pub checkmate: EndValue,
    /// The value for a side to move that has no legal move and is not in check.
    pub stalemate: EndValue,
    /// Whether `stalemate` is the value for the side with fewer pieces. Equal numbers are a draw.
    pub stalemate_piece_count: bool,
    /// The number of moves of each side without a capture, a drop or a move of `n_move_types` after which
    /// a draw can be claimed; 0 for never.
    pub n_move_rule: u32,
    /// The pieces of each side whose moves reset the counter of `n_move_rule`.
    pub n_move_types: ByColor<Vec<Role>>,
    /// The number of occurrences of a position after which a repetition can be claimed; 0 for never.
    pub n_fold_rule: u32,
    /// The value of a repetition for the side to move.
    pub n_fold_value: EndValue,
    /// Whether `n_fold_value` is the value for white instead.
    pub n_fold_absolute: bool,
    /// Whether the game is drawn if no square is empty.
    pub full_board: bool,
    /// The side that wins draws, if any.
    pub draw_odds: Option<DrawOdds>,
}

/// The side that wins draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrawOdds {
    /// One color.
    To(Color),
    /// The side with more pieces on the board. Equal numbers are a draw.
    MorePieces,
}

/// The rules of drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drops {
    /// Whether captured pieces go to the pocket of the capturing side. Otherwise they leave the board.
    pub captures_to_hand: bool,
    /// Whether a captured promoted piece keeps its role. Otherwise it becomes a pawn again.
    pub keeps_promoted: bool,
    /// Whether the game is one of two boards, whose other board gets the captured pieces.
    pub two_boards: bool,
    /// Whether royal kings are in hand at the start.
    pub kings: bool,
    /// The squares on which pieces of each color can be dropped.
    pub area: ByColor<Bitboard>,
    /// The squares on which pawns of each color can be dropped.
    pub pawn_area: ByColor<Bitboard>,
    /// The pieces that must be dropped before any other move, if any.
    pub must: Option<MustDrop>,
    /// A role that cannot be dropped on a file that already has this number of such pieces.
    pub no_doubled: Option<(Role, u32)>,
    /// Whether the bishops of a side must be dropped on squares of both colors.
    pub opposite_bishops: bool,
}

/// Pieces that must be dropped while they are in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MustDrop {
    /// Any piece.
    Any,
    /// Pieces of one role.
    Only(Role),
}

/// The rules of walls: squares that no piece can enter or pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walls {
    /// Where a wall can be placed.
    pub rule: Walling,
    /// The squares on which each color can place walls.
    pub area: ByColor<Bitboard>,
    /// Whether a turn is either a move or a wall. Otherwise a wall follows each move.
    pub wall_or_move: bool,
}

/// Where a wall can be placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walling {
    /// On any empty square. There is only one wall, the duck, which leaves its square.
    Duck,
    /// On squares to which the moved piece could move next.
    Arrow,
    /// On the square that the moved piece has left.
    Past,
    /// At the edge of the board or next to a wall.
    Edge,
    /// On any empty square.
    Static,
}

/// The value of an end of the game for one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndValue {
    /// The side wins.
    Win,
    /// The game is drawn.
    Draw,
    /// The side loses.
    Loss,
}

impl VariantRules {
    /// Returns the squares of the board.
    pub fn area(&self) -> Bitboard {
        area(self.files, self.ranks)
    }

    /// Returns the pieces that pawns of any color can promote to, the usual choice first.
    pub fn promotions(&self) -> Vec<Role> {
        let mut roles = self.promotion.kinds.white.clone();
        for &role in &self.promotion.kinds.black {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        roles
    }

    /// Returns the castling rank of `color`, also in games without castling.
    pub(super) fn castling_rank(&self, color: Color) -> Rank {
        let rank = self.castling.map_or(0, |castling| castling.rank);
        Rank::new(color.fold_wb(rank, self.ranks - 1 - rank) as u32)
    }

    /// Returns the pieces that can be in hand.
    pub(super) fn drop_roles(&self) -> Vec<Role> {
        let Some(drops) = self.drops else { return Vec::new() };
        let mut roles = self.roles.clone();
        if self.royal && !drops.kings {
            roles.retain(|&role| role != Role::King);
        }
        roles
    }

    /// Returns `true` if promoted pieces must be distinguished: captured ones become pawns again.
    pub(super) fn tracks_promoted(&self) -> bool {
        self.drops.is_some_and(|drops| {
            drops.captures_to_hand && !drops.keeps_promoted || drops.two_boards
        })
    }

    /// Returns `true` if captured pieces come back by drops.
    pub(super) fn returns_captures(&self) -> bool {
        self.drops.is_some_and(|drops| drops.captures_to_hand)
    }
}

//! Chess variants on boards of up to 8x8 squares, with rules that combine freely ([`VariantRules`]).
//!
//! Squares are those of the 8x8 board. A smaller board is in the corner of a1; the squares outside it
//! block sliders.

mod attack;
mod bughouse_board;
mod castling;
mod drops;
mod evident_end;
mod exchange;
mod fen;
mod king_capture;
mod mate;
mod move_facts;
mod moves;
mod play;
mod rule_names;
mod structure;
mod symmetry;
mod termination;
mod variant_rules;
mod walls;

use std::sync::Arc;

use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, Role, Square, attacks};
pub use variant_rules::{
    Castling, CastlingHome, Checks, DrawOdds, Drops, EndValue, Ends, Extinction, Flag, MustDrop,
    Promotion, VariantRules, Walling, Walls,
};

pub(super) use self::bughouse_board::MoveStatus;
use self::castling::CastlingPath;
pub(super) use self::mate::MateBuffers;
use self::walls::PendingWall;
use super::{
    BoardId, BoardView, GameSpec, Key, Mate, Move, MoveList, Outcome, Reason, Rules, Side,
    Symmetry, View, notation,
};

/// A position of a chess variant.
#[derive(Debug)]
pub(super) struct ChessPosition {
    variant_rules: Arc<VariantRules>,
    area: Bitboard,
    board: Board,
    /// The pieces that are promoted pawns, if the game tracks them.
    promoted: Bitboard,
    hands: ByColor<ByRole<u8>>,
    /// The rooks that may still castle.
    rights: Bitboard,
    /// The square on which the side to move can capture en passant. While a wall is pending, the square
    /// on which the opponent can, unless the wall prevents it.
    en_passant: Option<Square>,
    /// The squares with a wall, or with the duck.
    walls: Bitboard,
    /// Set if the side to move has moved a piece and must place a wall.
    pending_wall: Option<PendingWall>,
    /// The number of checks that each side still needs to win, if checks are counted.
    checks: ByColor<u8>,
    /// The side that won by the last move, whatever is on the board.
    decided: Option<Color>,
    /// [`VariantRules::is_restricted`], computed once.
    restricted: bool,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
    /// Whether moves write castling as king takes rook.
    chess960: bool,
}

impl Clone for ChessPosition {
    fn clone(&self) -> ChessPosition {
        ChessPosition {
            variant_rules: Arc::clone(&self.variant_rules),
            board: self.board.clone(),
            ..*self
        }
    }

    /// Does not touch the reference count of the rules if they are the same: a search copies positions
    /// all the time.
    fn clone_from(&mut self, source: &ChessPosition) {
        let ChessPosition {
            variant_rules,
            board,
            area,
            promoted,
            hands,
            rights,
            en_passant,
            walls,
            pending_wall,
            checks,
            decided,
            restricted,
            turn,
            halfmoves,
            fullmoves,
            chess960,
        } = source;
        if !Arc::ptr_eq(&self.variant_rules, variant_rules) {
            self.variant_rules = Arc::clone(variant_rules);
        }
        self.board.clone_from(board);
        self.area = *area;
        self.promoted = *promoted;
        self.hands = *hands;
        self.rights = *rights;
        self.en_passant = *en_passant;
        self.walls = *walls;
        self.pending_wall = *pending_wall;
        self.checks = *checks;
        self.decided = *decided;
        self.restricted = *restricted;
        self.turn = *turn;
        self.halfmoves = *halfmoves;
        self.fullmoves = *fullmoves;
        self.chess960 = *chess960;
    }
}

impl ChessPosition {
    /// Returns `true` if a castling move is written as king takes rook: in Chess960, from other squares
    /// than the home squares, and if the destination of the king could also be reached by a normal move.
    fn writes_rook(&self, path: CastlingPath) -> bool {
        self.chess960
            || !self.castles_from_home(self.turn, path.king, path.rook)
            || attacks::king_attacks(path.king).contains(path.king_to)
    }

    /// Returns `true` if both sides run for the same squares, so that the board is not flipped.
    fn runs_one_way(&self) -> bool {
        let same =
            self.variant_rules.flag.is_some_and(|flag| flag.region.white == flag.region.black);
        same && !self.variant_rules.roles.contains(&Role::Pawn)
    }

    /// Returns the number of walls that can follow a legal move, if a wall must follow.
    fn count_walls(&self, m: Move) -> u64 {
        if self.variant_rules.wall_may_be_impossible() || self.variant_rules.blast.is_some() {
            let mut after = self.clone();
            after.make_move(m);
            return after.wall_squares().count() as u64;
        }
        // The duck can go to any empty square. A capture adds one, a drop removes one.
        let empty = self.empty().count() as u64;
        match m {
            Move::Drop { .. } => empty - 1,
            m => empty + u64::from(self.captures(m)),
        }
    }
}

impl ChessPosition {
    /// Returns the board as the side to move sees it, but for repetitions.
    pub(super) fn board_view(&self) -> BoardView<'_> {
        BoardView {
            promoted: self.promoted,
            hands: self.variant_rules.drops.is_some().then_some(&self.hands),
            castling: self.rights,
            en_passant: self.en_passant,
            walls: self.walls,
            checks: self.variant_rules.checks.counted.map(|_| self.checks),
            halfmoves: self.halfmoves,
            ..BoardView::new(self.turn, &self.board)
        }
    }

    /// Sets whether moves write castling as king takes rook.
    pub(super) fn write_chess960(&mut self, chess960: bool) {
        self.chess960 = chess960;
    }

    /// See [`Position::symmetry`](super::Position::symmetry).
    pub(super) fn symmetry(&self) -> Symmetry {
        self.variant_rules.symmetry()
    }

    /// See [`Position::find_mate`](super::Position::find_mate).
    pub(super) fn find_mate(
        &self,
        turns: u8,
        positions: u32,
        buffers: &mut MateBuffers,
    ) -> Option<Mate> {
        if self.wins_by_king_capture() {
            self.find_king_capture(turns, positions)
        } else {
            self.find_checkmate(turns, positions, buffers)
        }
    }

    /// See [`Position::is_king_lost`](super::Position::is_king_lost).
    pub(super) fn is_king_lost(&self, positions: u32) -> bool {
        self.wins_by_king_capture() && self.king_is_lost(positions)
    }
}

impl Rules for ChessPosition {
    fn game_spec(&self) -> GameSpec {
        let variant_rules = &self.variant_rules;
        GameSpec {
            sides: 2,
            two_boards: false,
            files: variant_rules.files,
            ranks: variant_rules.ranks,
            roles: variant_rules.roles.clone(),
            promotions: variant_rules.promotions(),
            drops: variant_rules.drop_roles(),
            places: false,
            walls: variant_rules.walls.is_some(),
            barriers: variant_rules.barriers,
            wall_moves: variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck),
            castling: variant_rules.castling.is_some(),
            en_passant: Color::ALL.into_iter().any(|color| variant_rules.double_step[color].any()),
            must_capture: variant_rules.must_capture,
            checks: variant_rules.checks.counted,
            promoted: variant_rules.tracks_promoted(),
            mirrored: !self.runs_one_way(),
            symmetry: variant_rules.symmetry(),
            rule_names: variant_rules.rule_names(),
        }
    }

    fn turn(&self) -> Side {
        self.turn.into()
    }

    fn mid_turn(&self) -> bool {
        self.pending_wall.is_some()
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        if !self.mid_turn()
            && self.variant_end().is_none()
            && let Some(count) = self.count_moves()
        {
            return Some(count);
        }
        self.legal_moves(legal);
        Some(if self.mid_turn() || !self.variant_rules.walls_follow() {
            legal.len() as u64
        } else {
            legal.iter().map(|&m| self.count_walls(m)).sum()
        })
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        if self.mid_turn() {
            self.add_walls(out);
        } else if self.variant_end().is_none() {
            self.add_moves(out);
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        debug_assert!(!matches!(m, Move::Place(_) | Move::Pass), "{m:?} is not a move of chess");
        self.make_move(m);
        self.end_ply();
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        // A captured king ends the game after the duck is placed.
        if !legal.is_empty() || self.mid_turn() {
            None
        } else {
            Some(self.variant_end().unwrap_or_else(|| self.no_move_outcome()))
        }
    }

    fn claimable_outcome(&self) -> Option<Outcome> {
        let moves = self.variant_rules.ends.n_move_rule;
        if self.mid_turn() {
            None
        } else if moves > 0 && self.halfmoves >= moves.saturating_mul(2) {
            Some(self.draw_outcome(Reason::FiftyMoves))
        } else if self.is_insufficient() {
            Some(self.draw_outcome(Reason::InsufficientMaterial))
        } else {
            None
        }
    }

    fn repetition_rule(&self) -> Option<(u32, Outcome)> {
        let count = self.variant_rules.ends.n_fold_rule;
        (count > 0).then(|| (count, self.repetition_outcome()))
    }

    fn opponent_in_check(&self) -> bool {
        self.in_check(!self.turn)
    }

    fn checked_king(&self, _board: BoardId) -> Option<Square> {
        self.threatened_royal(self.turn)
    }

    fn reversible(&self) -> u32 {
        // If captured pieces can come back, any position can recur.
        if self.variant_rules.returns_captures() { u32::MAX } else { self.halfmoves }
    }

    fn key(&self) -> Key {
        let pieces = |role| u64::from(self.board.by_role(role));
        let hand = |color: Color| Role::ALL.map(|role| self.hands[color][role]);
        let packed = |hand: [u8; 6]| hand.iter().fold(0, |word, &n| word << 8 | u64::from(n));
        let en_passant = self.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
        let phase = u64::from(self.turn.is_black()) | u64::from(self.mid_turn()) << 1;
        let checks = u64::from(self.checks.white) << 8 | u64::from(self.checks.black);
        Key::of_pairs([
            [pieces(Role::Pawn), pieces(Role::Knight)],
            [pieces(Role::Bishop), pieces(Role::Rook)],
            [pieces(Role::Queen), pieces(Role::King)],
            [u64::from(self.board.white()), phase | checks << 2],
            [u64::from(self.rights), u64::from(en_passant)],
            [u64::from(self.promoted), u64::from(self.walls)],
            [packed(hand(Color::White)), packed(hand(Color::Black))],
        ])
    }

    fn view(&self) -> View<'_> {
        View::of_board(self.turn.into(), self.mid_turn(), self.board_view())
    }

    fn fen(&self) -> String {
        self.to_fen()
    }

    fn move_text(&self, m: Move) -> String {
        let text = match m {
            Move::Step { from, to, .. } => match self.castles(from, to) {
                Some(path) if !self.writes_rook(path) => {
                    notation::uci(Move::step(from, path.king_to, None))
                }
                _ => notation::uci(m),
            },
            // The second part of a turn starts where the first part ended.
            Move::Wall(to) => match (self.pending_wall, self.wall_turn_piece()) {
                (Some(pending), _) => format!("{}{to}", pending.at),
                (None, Some(piece)) => format!("{piece}{piece},{piece}{to}"),
                (None, None) => notation::uci(m),
            },
            _ => notation::uci(m),
        };
        text + &self.no_wall_suffix(m)
    }

    fn other_texts(&self, m: Move) -> Vec<String> {
        match m {
            Move::Step { from, to, .. } => {
                let path = self.castles(from, to);
                let ends = path.map(|path| [path.king_to, path.rook]);
                let ends = ends.into_iter().flatten().filter(|&end| end != from);
                // If a turn is a move or a wall, the suffix of a move is optional.
                let suffixes = |end: Square| [String::new(), self.no_wall_suffix_at(end)];
                let texts = |end| suffixes(end).map(|suffix| format!("{from}{end}{suffix}"));
                ends.flat_map(texts).collect()
            }
            Move::Wall(to) => {
                let path = self.pending_wall.and_then(|pending| pending.castled);
                let ends = path.map(|path| [path.king_to, path.rook]);
                ends.into_iter().flatten().map(|end| format!("{end}{to}")).collect()
            }
            // The notation of Fairy-Stockfish in builds for large boards.
            Move::Drop { role: Role::King, to, .. } if self.has_wall_turns() => {
                let number = if self.variant_rules.royal { "d6" } else { "l3" };
                vec![format!("{},{to}{number}", notation::uci(m))]
            }
            _ => Vec::new(),
        }
    }
}

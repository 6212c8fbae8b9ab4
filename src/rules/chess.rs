//! Chess on any board up to 8x8, as variant_rules that combine freely.
//!
//! Squares are those of the 8x8 board; a smaller one lies in the corner of a1, and what lies
//! outside it stops sliders as men would.

mod attack;
mod castling;
mod drops;
mod end;
mod fen;
mod flag;
mod king_capture;
mod mate;
mod moves;
mod partner;
mod play;
mod symmetry;
mod variant_rules;
mod walls;

use std::sync::Arc;

use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, Role, Square, attacks};
pub use variant_rules::{
    Castling, CastlingHome, Checks, Drops, Ends, Extinction, Flag, Must, Odds, Promotion,
    VariantRules, Verdict, Walling, Walls,
};

use self::castling::Path;
pub(super) use self::partner::Stand;
use self::walls::Owed;
use super::{
    GameSpec, Key, Mate, Move, MoveList, Outcome, PerSide, Reason, Rules, Seat, Side, Symmetry,
    View, notation,
};

/// A position of a game of this family.
#[derive(Debug)]
pub(super) struct ChessPosition {
    variant_rules: Arc<VariantRules>,
    area: Bitboard,
    board: Board,
    /// Which men are promoted pawns, where that matters.
    promoted: Bitboard,
    hands: ByColor<ByRole<u8>>,
    /// The rooks that may castle.
    rights: Bitboard,
    /// Where the mover may capture en passant. While a wall is owed, where the other side may
    /// unless the wall prevents it.
    en_passant: Option<Square>,
    /// The squares that are closed; the duck's, once it is on the board.
    walls: Bitboard,
    /// The man has moved, and a wall is to follow.
    owed: Option<Owed>,
    /// How many more checks each side needs to win, where they are counted.
    checks: ByColor<u8>,
    /// Who has won by the last move, whatever stands on the board.
    decided: Option<Color>,
    /// Whether the variant_rules have rules that few games have, asked once.
    restricted: bool,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
    /// Whether castling is written as king takes rook.
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

    /// Leaves the variant_rules alone if they are the same, whose owners are counted: trees copy positions
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
            owed,
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
        self.owed = *owed;
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
    /// Returns `true` if a castling is written as king takes rook: in Chess960, from other squares
    /// than those of the start, and where the king's goal alone would name a step as well.
    fn writes_rook(&self, path: Path) -> bool {
        self.chess960
            || !self.castles_from_home(self.turn, path.king, path.rook)
            || attacks::king_attacks(path.king).contains(path.king_to)
    }

    /// Whether both sides run for the same squares, so that neither sees the board upside down.
    fn runs_one_way(&self) -> bool {
        let same =
            self.variant_rules.flag.is_some_and(|flag| flag.region.white == flag.region.black);
        same && !self.variant_rules.roles.contains(&Role::Pawn)
    }

    /// How many walls may follow a legal move that owes one.
    fn count_walls(&self, m: Move) -> u64 {
        if self.variant_rules.wall_may_lack() || self.variant_rules.blast.is_some() {
            let mut after = self.clone();
            after.play_men(m);
            return after.wall_squares().count() as u64;
        }
        // The duck may go to any empty square but its own: captures open one, drops fill one.
        let empty = self.empty().count() as u64;
        match m {
            Move::Drop { .. } => empty - 1,
            m => empty + u64::from(self.captures(m)),
        }
    }
}

impl Rules for ChessPosition {
    fn game_spec(&self) -> GameSpec {
        let variant_rules = &self.variant_rules;
        GameSpec {
            sides: 2,
            tables: false,
            files: variant_rules.files,
            ranks: variant_rules.ranks,
            roles: variant_rules.roles.clone(),
            promotions: variant_rules.promotions(),
            drops: variant_rules.droppable(),
            places: false,
            walls: variant_rules.walls.is_some(),
            barriers: variant_rules.barriers,
            wall_moves: variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck),
            castling: variant_rules.castling.is_some(),
            en_passant: Color::ALL.into_iter().any(|color| variant_rules.double_step[color].any()),
            checks: variant_rules.checks.counted,
            promoted: variant_rules.tells_promoted(),
            mirrored: !self.runs_one_way(),
            symmetry: variant_rules.symmetry(),
        }
    }

    fn turn(&self) -> Side {
        self.turn.into()
    }

    fn mid_turn(&self) -> bool {
        self.owed.is_some()
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        let plain = !self.mid_turn() && self.ended().is_none();
        if let Some(count) = self.count_moves().filter(|_| plain) {
            return Some(count);
        }
        self.legal_moves(legal);
        let walls_follow = self.variant_rules.walls.is_some_and(|walls| !walls.instead);
        Some(if self.mid_turn() || !walls_follow {
            legal.len() as u64
        } else {
            legal.iter().map(|&m| self.count_walls(m)).sum()
        })
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        if self.mid_turn() {
            self.walls(out);
        } else if self.ended().is_none() {
            self.turns(out);
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        debug_assert!(
            !matches!(m, Move::Place(_) | Move::Second(_) | Move::Pass),
            "{m:?} is no move of chess"
        );
        self.play_men(m);
        self.end_ply();
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        // A king that was taken ends the game when the duck is down.
        if !legal.is_empty() || self.mid_turn() {
            None
        } else {
            Some(self.ended().unwrap_or_else(|| self.stuck()))
        }
    }

    fn claim(&self) -> Option<Outcome> {
        let moves = self.variant_rules.ends.moves;
        if self.mid_turn() {
            None
        } else if moves > 0 && self.halfmoves >= moves.saturating_mul(2) {
            Some(self.drawn(Reason::FiftyMoves))
        } else if self.is_insufficient() {
            Some(self.drawn(Reason::InsufficientMaterial))
        } else {
            None
        }
    }

    fn fold(&self) -> Option<(u32, Outcome)> {
        let folds = self.variant_rules.ends.folds;
        (folds > 0).then(|| (folds, self.repeated()))
    }

    fn find_mate(&self, turns: u8, positions: u32) -> Option<Mate> {
        if self.wins_by_king_capture() {
            return self.find_king_capture(turns, positions);
        }
        self.find_mate(turns, positions)
    }

    fn is_king_lost(&self, positions: u32) -> bool {
        self.wins_by_king_capture() && self.king_is_lost(positions)
    }

    fn opponent_in_check(&self) -> bool {
        self.in_check(!self.turn)
    }

    fn reversible(&self) -> u32 {
        // Where men come back, any position may.
        if self.variant_rules.recycles() { u32::MAX } else { self.halfmoves }
    }

    fn key(&self) -> Key {
        let men = |role| u64::from(self.board.by_role(role));
        let hand = |color: Color| Role::ALL.map(|role| self.hands[color][role]);
        let packed = |hand: [u8; 6]| hand.iter().fold(0, |word, &n| word << 8 | u64::from(n));
        let en_passant = self.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
        let phase = u64::from(self.turn.is_black()) | u64::from(self.mid_turn()) << 1;
        let checks = u64::from(self.checks.white) << 8 | u64::from(self.checks.black);
        Key::of_pairs([
            [men(Role::Pawn), men(Role::Knight)],
            [men(Role::Bishop), men(Role::Rook)],
            [men(Role::Queen), men(Role::King)],
            [u64::from(self.board.white()), phase | checks << 2],
            [u64::from(self.rights), u64::from(en_passant)],
            [u64::from(self.promoted), u64::from(self.walls)],
            [packed(hand(Color::White)), packed(hand(Color::Black))],
        ])
    }

    fn view(&self) -> View<'_> {
        View {
            turn: self.turn,
            mover: self.turn.into(),
            cells: PerSide::all(Bitboard::EMPTY),
            board: &self.board,
            promoted: self.promoted,
            hands: self.variant_rules.drops.is_some().then_some(&self.hands),
            castling: self.rights,
            en_passant: self.en_passant,
            walls: self.walls,
            mid_turn: self.mid_turn(),
            checks: self.variant_rules.checks.counted.map(|_| self.checks),
            halfmoves: self.halfmoves,
            repeated: false,
            seat: Seat::default(),
            second: None,
        }
    }

    fn symmetry(&self) -> Symmetry {
        self.variant_rules.symmetry()
    }

    fn set_up(&mut self, board: &Board, turn: Color) -> bool {
        self.place(board, turn)
    }

    fn fen(&self) -> String {
        self.to_fen()
    }

    fn move_text(&self, m: Move) -> String {
        let text = match m {
            Move::Step { from, to, .. } => match self.castles(from, to) {
                Some(path) if !self.writes_rook(path) => {
                    notation::uci(Move::Step { from, to: path.king_to, promotion: None })
                }
                _ => notation::uci(m),
            },
            // The second part of a turn starts where the first one ended.
            Move::Wall(to) => match (self.owed, self.waiting_man()) {
                (Some(owed), _) => format!("{}{to}", owed.at),
                (None, Some(man)) => format!("{man}{man},{man}{to}"),
                (None, None) => notation::uci(m),
            },
            _ => notation::uci(m),
        };
        text + &self.no_wall(m)
    }

    fn other_texts(&self, m: Move) -> Vec<String> {
        match m {
            Move::Step { from, to, .. } => {
                let path = self.castles(from, to);
                let ends = path.map(|path| [path.king_to, path.rook]);
                let ends = ends.into_iter().flatten().filter(|&end| end != from);
                // Where a turn is a move or a wall, the wall that is none may be left out.
                let rests = |end: Square| [String::new(), self.no_wall_from(end)];
                let texts = |end| rests(end).map(|rest| format!("{from}{end}{rest}"));
                ends.flat_map(texts).collect()
            }
            Move::Wall(to) => {
                let path = self.owed.and_then(|owed| owed.castled);
                let ends = path.map(|path| [path.king_to, path.rook]);
                ends.into_iter().flatten().map(|end| format!("{end}{to}")).collect()
            }
            // As Fairy-Stockfish writes it that is built for large boards.
            Move::Drop { role: Role::King, to } if self.chooses_wall() => {
                let number = if self.variant_rules.royal { "d6" } else { "l3" };
                vec![format!("{},{to}{number}", notation::uci(m))]
            }
            _ => Vec::new(),
        }
    }

    fn write_chess960(&mut self, chess960: bool) {
        self.chess960 = chess960;
    }
}

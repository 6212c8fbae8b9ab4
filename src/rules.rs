//! The rules of all games: positions, moves, outcomes, FEN and move notation.
//!
//! [`Position`] delegates to one implementation of `Rules` for each family of games.

mod bughouse;
mod chess;
mod connect_n;
mod history;
mod moves;
mod notation;
mod outcome;
mod perft;
pub mod rbc;
pub mod san;
mod side;
mod test_tree;
mod turn_text;
mod two_boards;
mod view;

use std::sync::Arc;

pub use bughouse::{Bughouse, Clocks, TurnOrder};
pub use chess::{
    Castling, CastlingHome, Checks, DrawOdds, Drops, EndValue, Ends, Extinction, Flag, MustDrop,
    Promotion, VariantRules, Walling, Walls,
};
pub use connect_n::ConnectN;
use history::History;
pub use moves::{BoardId, Move, MoveFacts, MoveList, PackedMove};
pub use notation::{CastlingFault, DroppedPart, FenError, FenFault, FenRepair};
pub use outcome::{Mate, Outcome, ProvenValue, Reason, Value};
pub use perft::perft;
pub use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, File, Piece, Rank, Role, Square};
pub use side::{MAX_SIDES, PerSide, Side};
pub use test_tree::TestTreeError;
pub use view::{BoardView, GameSpec, Symmetry, TeamStatus, View};

/// A 64-bit hash of a position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Key(pub u64);

impl Key {
    /// Hashes any number of words. Each is mixed in with the finaliser of SplitMix64.
    pub(crate) fn of(words: impl IntoIterator<Item = u64>) -> Key {
        let mix = |mut word: u64| {
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        };
        let step = |key: u64, word| mix(key.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word);
        Key(words.into_iter().fold(0, step))
    }

    /// Hashes a fixed number of words. Each pair is multiplied to 128 bits and folded, as in wyhash:
    /// the pairs do not depend on each other, which is fast enough for every ply of a search.
    pub(crate) fn of_pairs<const N: usize>(words: [[u64; 2]; N]) -> Key {
        let mut sum = 0_u64;
        let mut secret = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            secret = secret.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x2545_f491_4f6c_dd1d);
            secret
        };
        for [a, b] in words {
            let product = u128::from(a ^ next()) * u128::from(b ^ next());
            sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
        }
        Key::of([sum])
    }
}

/// The rules of one family of games.
pub(crate) trait Rules {
    /// See [`Position::game_spec`].
    fn game_spec(&self) -> GameSpec;
    /// See [`Position::turn`].
    fn turn(&self) -> Side;
    /// See [`Position::mid_turn`].
    fn mid_turn(&self) -> bool;
    /// Returns the number of whole turns that are legal here, or `None` if they must be played to be
    /// counted. `legal` is a buffer.
    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.legal_moves(legal);
        Some(legal.len() as u64)
    }
    /// See [`Position::legal_moves`].
    fn legal_moves(&self, out: &mut MoveList);
    /// Plays a legal move.
    fn play_unchecked(&mut self, m: Move);
    /// Returns the outcome if the game has ended and no move may follow. `legal` are the legal moves.
    fn outcome(&self, legal: &[Move]) -> Option<Outcome>;
    /// Returns the outcome that a player may claim by a move counter or by insufficient material,
    /// although legal moves remain.
    fn claimable_outcome(&self) -> Option<Outcome>;
    /// Returns the number of occurrences after which a repetition may be claimed, and its outcome.
    fn repetition_rule(&self) -> Option<(u32, Outcome)> {
        Some((3, Outcome::draw(Reason::Repetition)))
    }
    /// See [`Position::opponent_in_check`].
    fn opponent_in_check(&self) -> bool {
        false
    }
    /// See [`Position::checked_king`].
    fn checked_king(&self, _board: BoardId) -> Option<Square> {
        None
    }
    /// Returns the number of turns since the last irreversible one; positions before it cannot recur.
    fn reversible(&self) -> u32;
    /// See [`Position::key`].
    fn key(&self) -> Key;
    /// See [`Position::view`].
    fn view(&self) -> View<'_>;
    /// See [`Position::fen`].
    fn fen(&self) -> String;
    /// Returns the diagram of the position, or `None` if the default diagram fits.
    fn diagram(&self) -> Option<String> {
        None
    }
    /// See [`Position::outcome_text`].
    fn outcome_text(&self, outcome: Outcome) -> String {
        outcome.to_string()
    }
    /// See [`Position::move_text`].
    fn move_text(&self, m: Move) -> String {
        notation::uci(m)
    }
    /// Returns other notations of a legal move. They are accepted unless they are the text of another
    /// legal move.
    fn other_texts(&self, _m: Move) -> Vec<String> {
        Vec::new()
    }
}

/// A family of games with the parameters of one of its games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Family {
    /// Chess on a board of up to 8x8 squares.
    ChessPosition(Arc<VariantRules>),
    /// Games of n in a row.
    ConnectN(Arc<ConnectN>),
    /// Bughouse: two boards of chess.
    Bughouse(Arc<Bughouse>),
}

#[derive(Debug)]
enum State {
    ChessPosition(chess::ChessPosition),
    ConnectN(connect_n::Grid),
    // Boxed because it is twice as large as the others.
    Bughouse(Box<bughouse::BughousePosition>),
    TestTree(test_tree::TestTree),
}

impl Clone for State {
    fn clone(&self) -> State {
        match self {
            State::ChessPosition(game) => State::ChessPosition(game.clone()),
            State::ConnectN(game) => State::ConnectN(game.clone()),
            State::Bughouse(game) => State::Bughouse(game.clone()),
            State::TestTree(game) => State::TestTree(game.clone()),
        }
    }

    fn clone_from(&mut self, source: &State) {
        match (&mut *self, source) {
            (State::ChessPosition(game), State::ChessPosition(source)) => game.clone_from(source),
            (State::Bughouse(game), State::Bughouse(source)) => game.clone_from(source),
            (_, source) => *self = source.clone(),
        }
    }
}

/// A search for short mates that reuses its memory.
#[derive(Debug, Default)]
pub struct MateFinder {
    buffers: chess::MateBuffers,
}

impl MateFinder {
    /// Searches like [`Position::find_mate`].
    pub fn find(&mut self, position: &Position, turns: u8, positions: u32) -> Option<Mate> {
        match &position.state {
            State::ChessPosition(game) => game.find_mate(turns, positions, &mut self.buffers),
            _ => self.find_exact(position, turns, positions),
        }
    }

    /// Searches like [`MateFinder::find`] in games in which a win that it finds is proven, as there are neither
    /// repetitions nor counters: games of n in a row.
    pub fn find_exact(&self, position: &Position, turns: u8, positions: u32) -> Option<Mate> {
        match &position.state {
            State::ConnectN(grid) => grid.find_win(turns, positions),
            _ => None,
        }
    }
}

/// A position of any game, with the history that repetitions need.
#[derive(Debug)]
pub struct Position {
    state: State,
    history: History,
}

impl Clone for Position {
    fn clone(&self) -> Position {
        Position { state: self.state.clone(), history: self.history.clone() }
    }

    fn clone_from(&mut self, source: &Position) {
        self.state.clone_from(&source.state);
        self.history.clone_from(&source.history);
    }
}

impl Position {
    /// Parses the FEN of a game. With `chess960`, moves write castling as king takes rook, and `KQkq`
    /// stand for the outermost rooks. Impossible castling rights and en passant squares are dropped.
    ///
    /// # Errors
    /// `FenError::Syntax` if the FEN cannot be parsed, `FenError::Illegal` if the game has no such
    /// position.
    pub fn from_fen(family: &Family, fen: &str, chess960: bool) -> Result<Position, FenError> {
        Position::from_fen_with_repairs(family, fen, chess960).map(|(position, _)| position)
    }

    /// Like [`Position::from_fen`], but also returns what was dropped from the FEN.
    ///
    /// # Errors
    /// As for [`Position::from_fen`].
    pub fn from_fen_with_repairs(
        family: &Family,
        fen: &str,
        chess960: bool,
    ) -> Result<(Position, Vec<FenRepair>), FenError> {
        let mut repairs = Vec::new();
        let state = match family {
            Family::ChessPosition(variant_rules) => {
                let mut dropped = Vec::new();
                let position =
                    chess::ChessPosition::from_fen(variant_rules, fen, chess960, &mut dropped)?;
                repairs
                    .extend(dropped.into_iter().map(|dropped| FenRepair { board: None, dropped }));
                State::ChessPosition(position)
            }
            Family::ConnectN(rules) => State::ConnectN(connect_n::Grid::from_fen(rules, fen)?),
            Family::Bughouse(rules) => {
                let position =
                    bughouse::BughousePosition::from_fen(rules, fen, chess960, &mut repairs)?;
                State::Bughouse(Box::new(position))
            }
        };
        Ok((Position::start(state), repairs))
    }

    /// Sets whether moves write castling as king takes rook. Rules and castling rights do not change.
    pub fn write_chess960(&mut self, chess960: bool) {
        match &mut self.state {
            State::ChessPosition(game) => game.write_chess960(chess960),
            State::Bughouse(game) => game.write_chess960(chess960),
            State::ConnectN(_) | State::TestTree(_) => {}
        }
    }

    /// Parses a game tree for tests of the search, with 1 to 4 `sides`. A leaf is the letter of its
    /// winner (`a`, `b`, ..) or `=`. An inner node is the letter of the side to move, followed by its
    /// children in parentheses. `+` before a child means that the turn goes on.
    ///
    /// # Errors
    /// `TestTreeError` if the text is not such a tree.
    pub fn test_tree(tree: &str, sides: usize) -> Result<Position, TestTreeError> {
        Ok(Position::start(State::TestTree(test_tree::TestTree::parse(tree, sides)?)))
    }

    fn start(state: State) -> Position {
        let mut position = Position { state, history: History::default() };
        position.history = History::new(position.rules().key());
        position
    }

    fn rules(&self) -> &dyn Rules {
        match &self.state {
            State::ChessPosition(game) => game,
            State::ConnectN(game) => game,
            State::Bughouse(game) => &**game,
            State::TestTree(game) => game,
        }
    }

    fn rules_mut(&mut self) -> &mut dyn Rules {
        match &mut self.state {
            State::ChessPosition(game) => game,
            State::ConnectN(game) => game,
            State::Bughouse(game) => &mut **game,
            State::TestTree(game) => game,
        }
    }

    /// Returns the properties of the game, which are the same for all its positions.
    pub fn game_spec(&self) -> GameSpec {
        self.rules().game_spec()
    }

    /// Returns the side to move.
    pub fn turn(&self) -> Side {
        self.rules().turn()
    }

    /// Returns `true` if the side to move has played a part of its turn and must complete it.
    pub fn mid_turn(&self) -> bool {
        self.rules().mid_turn()
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.rules().count_turns(legal)
    }

    /// Replaces the contents of `out` by the legal moves, always in the same order. There are none
    /// once the game has ended.
    pub fn legal_moves(&self, out: &mut MoveList) {
        self.rules().legal_moves(out);
    }

    fn is_legal(&self, m: Move) -> bool {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        legal.contains(&m)
    }

    /// Plays a move if a player that may move now can play it. Returns whether it was legal.
    pub fn play(&mut self, m: Move) -> bool {
        let legal = self.select_side_to_move(m);
        if legal {
            self.play_unchecked(m);
        }
        legal
    }

    /// Plays a legal move. After an illegal move the position is unspecified.
    pub fn play_unchecked(&mut self, m: Move) {
        self.rules_mut().play_unchecked(m);
        if !self.mid_turn() {
            let key = self.rules().key();
            let reversible = self.rules().reversible();
            self.history.push(key, reversible);
        }
    }

    /// Passes the turn, in the null-move test of a search. Returns `false`, and changes nothing, where passing would
    /// prove nothing: in check, with kings and pawns alone, where captures are compulsory, and in games in which
    /// no piece moves or a wall belongs to a turn.
    pub fn pass_turn(&mut self) -> bool {
        let State::ChessPosition(game) = &mut self.state else { return false };
        let passed = game.pass_turn();
        if passed {
            // No game reaches a position before again by passing.
            let key = self.rules().key();
            self.history.restart(key);
        }
        passed
    }

    /// Returns the score of the side to move, 1, 0 or -1, and the plies to the end of the game, where both are plain
    /// without a search. It can capture the last piece of a kind, or blow it up (atomic, extinction), or give the last check
    /// that counts (3check); it must draw by following the opponent to a goal (racingkings); in duck chess it has captured the
    /// king or can do so, or it has moved, and no square for the duck shields its own king. `None` where nothing is plain; the
    /// game may have ended.
    pub fn evident_end(&self) -> Option<(i8, usize)> {
        match &self.state {
            State::ChessPosition(game) => game.evident_end(),
            _ => None,
        }
    }

    /// Returns hashes of the pawns, and of the other pieces of White and of Black. 0 in games in which no piece moves.
    pub fn structure_keys(&self) -> [u64; 3] {
        match &self.state {
            State::ChessPosition(game) => game.structure_keys(),
            _ => [0; 3],
        }
    }

    /// Returns what a legal move does.
    pub fn move_facts(&self, m: Move) -> MoveFacts {
        match &self.state {
            State::ChessPosition(game) => game.move_facts(m),
            _ => MoveFacts::default(),
        }
    }

    /// Returns `true` if a legal move wins at least `least` by the captures that follow on its square, if each side
    /// captures with its least valuable piece and may stop (static exchange evaluation), or, where captures blow up pieces, by
    /// that capture. Pins are ignored. Drops always do, and so do moves that may win at once, moves of games in which captures
    /// are compulsory, checks are not allowed, or walls are placed, and quiet moves where captures blow up pieces.
    pub fn exchange_wins(&self, m: Move, least: i32, value: fn(Role) -> i32) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.exchange_wins(m, least, value),
            _ => true,
        }
    }

    /// Returns `false` if it is certain without playing a legal move that no king is in check after it, so that
    /// [`Position::checked_king`] is `None` then.
    pub fn may_give_check(&self, m: Move) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.may_give_check(m),
            _ => true,
        }
    }

    /// Returns `true` if checks are counted and a number of them wins.
    pub fn counts_checks(&self) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.counts_checks(),
            _ => false,
        }
    }

    /// Returns `false` if it is certain without playing a legal move that [`Position::must_capture`] is `false` after it.
    pub fn may_compel_capture(&self, m: Move) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.may_compel_capture(m),
            _ => false,
        }
    }

    /// Returns `true` if captures are compulsory and a piece of the side to move attacks one of the other side. The rules
    /// may forbid the capture all the same, as in check.
    pub fn must_capture(&self) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.must_capture(),
            _ => false,
        }
    }

    /// Returns `true` if the side to move may decline all captures, unless it is in check: the game has not ended by a
    /// rule of the variant, and it has no captures or drops that are compulsory, or a wall completes the turn. It may be
    /// stalemated, though not in antichess. `false` in games in which no piece moves.
    pub fn may_stand_pat(&self) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.may_stand_pat(),
            _ => false,
        }
    }

    /// Adds to `out` the legal captures, promotions, and moves into the region of a flag rule, where
    /// [`Position::may_stand_pat`] is `true`.
    pub fn add_tactical_moves(&self, out: &mut MoveList) {
        if let State::ChessPosition(game) = &self.state {
            game.add_tactical_moves(out);
        }
    }

    /// Plays a legal move without adding the position to the history. For perft, which ignores
    /// repetitions.
    fn play_without_history(&mut self, m: Move) {
        self.rules_mut().play_unchecked(m);
    }

    /// Returns the outcome if the game has ended and no move may follow.
    pub fn outcome(&self) -> Option<Outcome> {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        self.outcome_given(&legal)
    }

    /// Like [`Position::outcome`], but with the legal moves given.
    pub fn outcome_given(&self, legal: &[Move]) -> Option<Outcome> {
        self.rules().outcome(legal)
    }

    /// Returns the outcome that a player may claim although legal moves remain: by threefold
    /// repetition, a move counter or insufficient material. Perft ignores it.
    pub fn claimable_outcome(&self) -> Option<Outcome> {
        let rule = if self.mid_turn() { None } else { self.rules().repetition_rule() };
        match rule {
            Some((count, outcome)) if self.history.repetitions() + 1 >= count as usize => {
                Some(outcome)
            }
            _ => self.rules().claimable_outcome(),
        }
    }

    /// Returns `true` if the side to move could capture a royal king. No game reaches such a
    /// position, but a FEN can describe one.
    pub fn opponent_in_check(&self) -> bool {
        self.rules().opponent_in_check()
    }

    /// Returns the square of the king, or of another piece that must not be captured, if it is in check and
    /// its color is on turn at `board`; the first one if there are several. In games on one board, `board` is
    /// ignored.
    pub fn checked_king(&self, board: BoardId) -> Option<Square> {
        self.rules().checked_king(board)
    }

    /// Sets up another board with `turn` to move, without castling rights, pieces in hand, counters
    /// and history. Returns `false` if a FEN with this board would be illegal, or if the game has no
    /// pieces that move; then the position is unspecified.
    pub fn set_up(&mut self, board: &Board, turn: Color) -> bool {
        let State::ChessPosition(game) = &mut self.state else { return false };
        let possible = game.place(board, turn);
        self.history.restart(game.key());
        possible
    }

    /// Returns the symmetries of positions that [`Position::set_up`] makes.
    pub fn symmetry(&self) -> Symmetry {
        match &self.state {
            State::ChessPosition(game) => game.symmetry(),
            _ => Symmetry::default(),
        }
    }

    /// Returns the outcome of the game, including one that can be claimed.
    pub fn result(&self) -> Option<Outcome> {
        self.outcome().or_else(|| self.claimable_outcome())
    }

    /// Marks this position as the root of a search.
    pub fn begin_search(&mut self) {
        self.history.begin_search();
    }

    /// Like [`Position::claimable_outcome`], but the second occurrence of a position within a search counts as a
    /// repetition: a side that can repeat once can repeat again.
    pub fn claimable_outcome_in_search(&self) -> Option<Outcome> {
        let repeats = !self.mid_turn() && self.history.repeats_in_search();
        let rule = if repeats { self.rules().repetition_rule() } else { None };
        rule.map(|(_, outcome)| outcome).or_else(|| self.claimable_outcome())
    }

    /// Returns the hash of all that repetitions compare: pieces, pockets, rights, side to move, and
    /// whether a turn is incomplete. Counters are not included.
    pub fn key(&self) -> Key {
        self.rules().key()
    }

    /// Searches for a mate in at most `turns` turns of the side to move in which all its moves give
    /// check, visiting at most `positions` positions. Repetitions and counters are ignored.
    ///
    /// Works in games in which checkmate loses and neither walls nor blasts interfere with checks. In
    /// duck chess it searches for a capture of the king in at most two turns, in games of n in a row for a win
    /// by moves that each threaten to complete rows. In bughouse it returns `None`; search the boards one by one with
    /// [`Position::board_position`].
    pub fn find_mate(&self, turns: u8, positions: u32) -> Option<Mate> {
        MateFinder::default().find(self, turns, positions)
    }

    /// Returns `true` if at most `positions` positions prove that the side to move loses its king in the
    /// opponent's next turn, in games in which kings are captured (duck chess).
    pub fn is_king_lost(&self, positions: u32) -> bool {
        match &self.state {
            State::ChessPosition(game) => game.is_king_lost(positions),
            _ => false,
        }
    }

    /// Returns what the side to move sees.
    pub fn view(&self) -> View<'_> {
        let mut view = self.rules().view();
        // Each board of bughouse has its own history.
        if let [board] = &mut view.boards[..] {
            board.repeated = self.history.repetitions() > 0;
        }
        view
    }

    /// Returns what the side to move sees of the only board, or of the first of two.
    pub fn board(&self) -> BoardView<'_> {
        self.view().boards[0]
    }

    /// Returns the position as FEN.
    pub fn fen(&self) -> String {
        self.rules().fen()
    }

    /// Returns an outcome of this game as text: `1-0 checkmate`, or `a wins` if sides have letters.
    pub fn outcome_text(&self, outcome: Outcome) -> String {
        self.rules().outcome_text(outcome)
    }

    /// Returns a diagram of the position for display.
    pub fn diagram(&self) -> String {
        self.rules().diagram().unwrap_or_else(|| notation::diagram(&self.view(), &self.game_spec()))
    }

    /// Returns a legal ply in UCI notation.
    pub fn move_text(&self, m: Move) -> String {
        self.rules().move_text(m)
    }

    /// Parses a legal ply of the side to move.
    fn parse_ply(&self, text: &str) -> Option<Move> {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        if let State::Bughouse(_) = self.state {
            return self.parse_ply_of_two_boards(text).filter(|m| legal.contains(m));
        }
        // The text of nearly all moves determines the move, so that only one text is compared.
        let written = notation::parse_uci(text).filter(|m| legal.contains(m));
        if let Some(m) = written
            && self.move_text(m) == text
        {
            return Some(m);
        }
        if let Some(m) = legal.iter().copied().find(|&m| self.move_text(m) == text) {
            return Some(m);
        }
        let castling = notation::castling(text);
        let named = legal.iter().copied().find(|&m| {
            castling.is_some() && self.castling_text(m) == castling
                || self.rules().other_texts(m).iter().any(|other| other == text)
        });
        named.or(written)
    }
}

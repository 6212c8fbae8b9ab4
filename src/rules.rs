//! The rules of all games: one vocabulary, one closed set of families, one delegation to them.
//!
//! Knows no planes, networks, timers or protocols.

pub mod blind;
mod bughouse;
mod chess;
mod connect_n;
mod history;
mod moves;
mod notation;
mod outcome;
mod perft;
mod side;
mod test_tree;
mod turn_text;
mod value;
mod view;

use std::sync::Arc;

pub use bughouse::{Bughouse, Clocks, Order};
pub use chess::{
    Castling, CastlingHome, Checks, Drops, Ends, Extinction, Flag, Must, Odds, Promotion,
    VariantRules, Verdict, Walling, Walls,
};
pub use connect_n::ConnectN;
use history::History;
pub use moves::{BoardMove, Move, MoveList, PackedMove, Table};
pub use notation::{CastlingFault, DroppedPart, FenError, FenRepair};
pub use outcome::{Outcome, Reason};
pub use perft::perft;
pub use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, File, Piece, Rank, Role, Square};
pub use side::{MAX_SIDES, PerSide, Side};
pub use value::{Mate, ProvenValue, Value};
pub use view::{GameSpec, Seat, Second, Symmetry, View};

/// Identity of a position in 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Key(pub u64);

impl Key {
    /// A key of any words, each mixed in by the finaliser of SplitMix64.
    pub(crate) fn of(words: impl IntoIterator<Item = u64>) -> Key {
        let mix = |mut word: u64| {
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        };
        let step = |key: u64, word| mix(key.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word);
        Key(words.into_iter().fold(0, step))
    }

    /// A key of as many words as there always are: each pair is multiplied to 128 bits and folded,
    /// as wyhash does, which does not wait for the pair before it. Searches make one at every ply.
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

/// What every family of games can tell. Object safe; one implementation a file.
pub(crate) trait Rules {
    /// What the game is made of.
    fn game_spec(&self) -> GameSpec;
    /// Who is to move.
    fn turn(&self) -> Side;
    /// Whether the side to move has begun its turn already and owes the rest of it.
    fn mid_turn(&self) -> bool;
    /// How many whole turns begin here, if that is known without playing them; `legal` is a buffer.
    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.legal_moves(legal);
        Some(legal.len() as u64)
    }
    /// Replaces `out` by the legal moves, always in the same order; none once the game has ended.
    fn legal_moves(&self, out: &mut MoveList);
    /// Plays a legal move.
    fn play_unchecked(&mut self, m: Move);
    /// The end of the game, if no move may follow; `legal` are the legal moves.
    fn outcome(&self, legal: &[Move]) -> Option<Outcome>;
    /// An end by counters or material, which a player may claim though moves remain.
    fn claim(&self) -> Option<Outcome>;
    /// For which time a position must stand to be claimed, and what is claimed then.
    fn fold(&self) -> Option<(u32, Outcome)> {
        Some((3, Outcome::draw(Reason::Repetition)))
    }
    /// Whether the mover could take a king that it may not take: no game reaches such a position.
    fn opponent_in_check(&self) -> bool {
        false
    }
    /// How many turns back the position could stand again.
    fn reversible(&self) -> u32;
    /// Identity for repetition: men, hands, rights, side, phase; no counters.
    fn key(&self) -> Key;

    /// [`Position::find_mate`].
    fn find_mate(&self, _turns: u8, _positions: u32) -> Option<Mate> {
        None
    }

    /// [`Position::is_king_lost`].
    fn is_king_lost(&self, _positions: u32) -> bool {
        false
    }

    /// [`Position::key_at`], in games of two tables.
    fn key_at(&self, _table: Table) -> Option<Key> {
        None
    }
    /// What the side to move sees.
    fn view(&self) -> View<'_>;
    /// Which images of a position without rights are worth the same.
    fn symmetry(&self) -> Symmetry {
        Symmetry::default()
    }
    /// Puts other men on the board, with nothing of a past; says whether such a board may be.
    fn set_up(&mut self, _board: &Board, _turn: Color) -> bool {
        false
    }
    /// Whether the side to move could do nothing for a while, though that is no move: so nothing is
    /// lost for want of moves.
    fn may_wait(&self) -> bool {
        false
    }
    /// Lets `side` be the one to move, where more than one may; says whether it is.
    fn ask(&mut self, side: Side) -> bool {
        side == self.turn()
    }
    /// Lets whoever is on turn at a table be the one to move, where more than one may; says whether
    /// it is.
    fn turn_to(&mut self, _table: Table) -> bool {
        false
    }
    /// The position as text.
    fn fen(&self) -> String;
    /// The board drawn for people to read, where it is not drawn as all are.
    fn diagram(&self) -> Option<String> {
        None
    }
    /// An end as people write it.
    fn outcome_text(&self, outcome: Outcome) -> String {
        outcome.to_string()
    }
    /// A legal move as UCI writes it.
    fn move_text(&self, m: Move) -> String {
        notation::uci(m)
    }
    /// A turn as UCI writes it, whose plies are written as `texts`.
    fn turn_text(&self, _plies: &[Move], texts: &[String]) -> String {
        texts.join(",")
    }
    /// Other texts that name a legal move, as long as no legal move is written so.
    fn other_texts(&self, _m: Move) -> Vec<String> {
        Vec::new()
    }
    /// Sets whether castling is written as king takes rook.
    fn write_chess960(&mut self, _chess960: bool) {}
    /// The plies that the text of a turn may stand for, the likeliest first.
    fn spellings(&self, turn: &str) -> Vec<Vec<String>> {
        vec![turn.split(',').map(str::to_owned).collect()]
    }
    /// Whether players may leave the rest of a turn undone, as real ones do that move when they
    /// like.
    fn breaks_off(&self) -> bool {
        false
    }
}

/// A family of games, with all that tells one of its games from another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Family {
    /// Chess on any board up to 8x8.
    ChessPosition(Arc<VariantRules>),
    /// So many in a row.
    ConnectN(Arc<ConnectN>),
    /// Two tables of chess.
    Bughouse(Arc<Bughouse>),
}

#[derive(Debug)]
enum State {
    ChessPosition(chess::ChessPosition),
    ConnectN(connect_n::Grid),
    // Twice as large as any other.
    Bughouse(Box<bughouse::Tables>),
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

/// A position of any game, with what it needs of its past.
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
    /// Reads a FEN of a game. `chess960` says that castling is written as king takes rook, and that
    /// `KQkq` mean the outermost rooks. What cannot be true of castling and en passant is left out.
    ///
    /// # Errors
    /// If the text is no FEN, or no position of the game.
    pub fn from_fen(family: &Family, fen: &str, chess960: bool) -> Result<Position, FenError> {
        Position::from_fen_with_repairs(family, fen, chess960).map(|(position, _)| position)
    }

    /// [`Position::from_fen`], and what was left out.
    ///
    /// # Errors
    /// If the text is no FEN, or no position of the game.
    pub fn from_fen_with_repairs(
        family: &Family,
        fen: &str,
        chess960: bool,
    ) -> Result<(Position, Vec<FenRepair>), FenError> {
        let mut repairs = Vec::new();
        let state = match family {
            Family::ChessPosition(variant_rules) => {
                let mut dropped = Vec::new();
                let chess =
                    chess::ChessPosition::from_fen(variant_rules, fen, chess960, &mut dropped)?;
                repairs
                    .extend(dropped.into_iter().map(|dropped| FenRepair { board: None, dropped }));
                State::ChessPosition(chess)
            }
            Family::ConnectN(lines) => State::ConnectN(connect_n::Grid::from_fen(lines, fen)?),
            Family::Bughouse(game) => {
                let tables = bughouse::Tables::from_fen(game, fen, chess960, &mut repairs)?;
                State::Bughouse(Box::new(tables))
            }
        };
        Ok((Position::start(state), repairs))
    }

    /// Sets whether castling is written as king takes rook. The rules and the rights stay.
    pub fn write_chess960(&mut self, chess960: bool) {
        self.rules_mut().write_chess960(chess960);
    }

    /// A game tree of 1 to 4 `sides` written as text, for tests of search: a leaf is the letter of
    /// its winner (`a`, `b`, ..) or `=`; a choice is the letter of its mover and the children in
    /// brackets; `+` before a child says that its mover's turn goes on.
    ///
    /// # Errors
    /// In words, if the text is no such tree.
    pub fn test_tree(tree: &str, sides: usize) -> Result<Position, String> {
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

    /// What the game is made of.
    pub fn game_spec(&self) -> GameSpec {
        self.rules().game_spec()
    }

    /// Who is to move.
    pub fn turn(&self) -> Side {
        self.rules().turn()
    }

    /// Whether the side to move has begun its turn already and owes the rest of it.
    pub fn mid_turn(&self) -> bool {
        self.rules().mid_turn()
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.rules().count_turns(legal)
    }

    /// Replaces `out` by the legal moves, always in the same order; none once the game has ended.
    pub fn legal_moves(&self, out: &mut MoveList) {
        self.rules().legal_moves(out);
    }

    /// Sees to it that `m` is legal, by letting whoever could play it be the one to move, where
    /// more than one may; says whether it is. If not, the position is as it was.
    pub fn admit(&mut self, m: Move) -> bool {
        if self.is_legal(m) {
            return true;
        }
        let mut other = self.clone();
        let turned = match m {
            Move::Pass => Side::all(2).any(|side| side != self.turn() && other.ask(side)),
            _ => other.rules_mut().turn_to(m.split().0),
        };
        let admitted = turned && other.is_legal(m);
        if admitted {
            *self = other;
        }
        admitted
    }

    fn is_legal(&self, m: Move) -> bool {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        legal.contains(&m)
    }

    /// Lets `side` be the one to move, where more than one may; says whether it is.
    pub fn ask(&mut self, side: Side) -> bool {
        self.rules_mut().ask(side)
    }

    /// Whether the side to move could do nothing for a while, though that is no move: that it has
    /// lost does not follow from what its moves lead to.
    pub fn may_wait(&self) -> bool {
        self.rules().may_wait()
    }

    /// Plays a move if it is legal, for whoever may move now; says whether it was.
    pub fn play(&mut self, m: Move) -> bool {
        let known = self.admit(m);
        if known {
            self.play_unchecked(m);
        }
        known
    }

    /// Plays a move that is known to be legal; any other leaves a position without meaning.
    pub fn play_unchecked(&mut self, m: Move) {
        self.rules_mut().play_unchecked(m);
        if !self.mid_turn() {
            let (key, reversible) = (self.rules().key(), self.rules().reversible());
            self.history.push(key, reversible);
        }
    }

    /// Plays a legal move and does not remember that the position stood: for counting paths, which
    /// no repetition ends.
    fn play_forgetting(&mut self, m: Move) {
        self.rules_mut().play_unchecked(m);
    }

    /// The end of the game, if no move may follow.
    pub fn outcome(&self) -> Option<Outcome> {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        self.outcome_given(&legal)
    }

    /// [`Position::outcome`] where the legal moves are at hand.
    pub fn outcome_given(&self, legal: &[Move]) -> Option<Outcome> {
        self.rules().outcome(legal)
    }

    /// An end that may be claimed though moves remain: the third repetition, a counter, or want
    /// of material. Perft ignores it.
    pub fn claim(&self) -> Option<Outcome> {
        let fold = self.rules().fold().filter(|_| !self.mid_turn());
        match fold {
            Some((folds, outcome)) if self.history.repetitions() + 1 >= folds as usize => {
                Some(outcome)
            }
            _ => self.rules().claim(),
        }
    }

    /// Whether the mover could take a king that it may not take: no game reaches such a position,
    /// though a FEN may tell it.
    pub fn opponent_in_check(&self) -> bool {
        self.rules().opponent_in_check()
    }

    /// Puts other men on the board, `turn` to move, with nothing of a past: no rights, no men in
    /// hand, no counters, no earlier positions. Says whether a FEN might tell such a board; if not,
    /// or in games without men that move, the position is left without meaning.
    pub fn set_up(&mut self, board: &Board, turn: Color) -> bool {
        let possible = self.rules_mut().set_up(board, turn);
        let key = self.rules().key();
        self.history.restart(key);
        possible
    }

    /// Which images of a position that [`Position::set_up`] makes are worth the same.
    pub fn symmetry(&self) -> Symmetry {
        self.rules().symmetry()
    }

    /// How the game ended, by force or by a claim.
    pub fn result(&self) -> Option<Outcome> {
        self.outcome().or_else(|| self.claim())
    }

    /// Marks this position as the one that a search starts from.
    pub fn begin_search(&mut self) {
        self.history.begin_search();
    }

    /// [`Position::claim`] as a search sees it: whoever can repeat once since the search began
    /// can repeat for ever, so that the second time within the search counts as the third.
    pub fn claim_in_search(&self) -> Option<Outcome> {
        let repeats = !self.mid_turn() && self.history.repeats_in_search();
        let fold = self.rules().fold().filter(|_| repeats);
        fold.map(|(_, outcome)| outcome).or_else(|| self.claim())
    }

    /// Identity for repetition: men, hands, rights, side, phase; no counters.
    pub fn key(&self) -> Key {
        self.rules().key()
    }

    /// A mate that the side to move gives by checks alone in at most so many turns, whatever the other
    /// side answers, if one is found within so many positions. Repetition and counters are not heeded, and
    /// at two tables nothing is found ([`Position::at_table`] asks one of them). Few games have it: those in
    /// which a mate is a loss and no wall or blast meddles with checks; and duck chess, where it is that
    /// the king is taken, in two turns at most.
    pub fn find_mate(&self, turns: u8, positions: u32) -> Option<Mate> {
        self.rules().find_mate(turns, positions)
    }

    /// Whether the side to move is seen to lose its king in the other side's next turn, whatever it does,
    /// in games in which kings are taken (duck chess); if so many positions tell.
    pub fn is_king_lost(&self, positions: u32) -> bool {
        self.rules().is_king_lost(positions)
    }

    /// Identity of what stands at a table: men, hands, rights and the colour on turn there; `None` if
    /// there are not two.
    pub fn key_at(&self, table: Table) -> Option<Key> {
        self.rules().key_at(table)
    }

    /// What the side to move sees.
    pub fn view(&self) -> View<'_> {
        let view = self.rules().view();
        match view.second {
            // Each table has a past of its own.
            Some(_) => view,
            None => View { repeated: self.history.repetitions() > 0, ..view },
        }
    }

    /// The position at one of two tables, as one of that table's own game and without its past;
    /// `None` if there are not two.
    pub fn at_table(&self, table: Table) -> Option<Position> {
        match &self.state {
            State::Bughouse(game) => Some(Position::start(State::ChessPosition(game.at(table)))),
            _ => None,
        }
    }

    /// The clocks of two tables, if there are two; all 0 if nobody knows them.
    pub fn clocks(&self) -> Option<Clocks> {
        match &self.state {
            State::Bughouse(game) => Some(game.clocks()),
            _ => None,
        }
    }

    /// Sets the clocks of two tables, if there are two.
    pub fn set_clocks(&mut self, clocks: Clocks) {
        if let State::Bughouse(game) = &mut self.state {
            game.set_clocks(clocks);
        }
    }

    /// The position as text.
    pub fn fen(&self) -> String {
        self.rules().fen()
    }

    /// An end of this game as people write it: `1-0 checkmate`, or `a wins` where sides have
    /// letters.
    pub fn outcome_text(&self, outcome: Outcome) -> String {
        self.rules().outcome_text(outcome)
    }

    /// The board drawn for people to read.
    pub fn diagram(&self) -> String {
        let usual = || notation::diagram(self.view(), &self.game_spec());
        self.rules().diagram().unwrap_or_else(usual)
    }

    /// A legal ply as UCI writes it.
    pub fn move_text(&self, m: Move) -> String {
        self.rules().move_text(m)
    }

    /// The legal ply of the side to move that `text` names.
    fn parse_ply(&self, text: &str) -> Option<Move> {
        let mut legal = MoveList::new();
        self.legal_moves(&mut legal);
        if let State::Bughouse(_) = self.state {
            // As it is written at the table, behind the number of the table.
            let m = match bughouse::of_table(text) {
                Some((table, text)) => self.at_table(table)?.parse_ply(text)?.at(table),
                None => Move::Pass,
            };
            return Some(m)
                .filter(|&m| legal.contains(&m) && (m != Move::Pass || text == bughouse::PASS));
        }
        // Nearly all moves are written as they are packed, so that one text is compared, not all.
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

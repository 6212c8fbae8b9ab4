//! Evaluation of bughouse positions by a two-board network, which sees one board at a time.
//!
//! Most positions of a search share each of their boards with other positions. The network evaluates a board
//! once; a position of two cached boards costs a few hundred multiplications
//! ([`Head::join`](super::network::Head::join)).

use std::sync::{Arc, Mutex, MutexGuard};

use super::batch::softmax;
use super::cache::{self, Cache};
use super::mate_eval::{FoundMate, set_winner};
use super::network::{Head, NetworkError, PlaneSession};
use super::plane_adapter::PlaneAdapter;
use super::{Batch, CachedEval, Query};
use crate::encoding::{Encoding, Shape};
use crate::rules::{Color, Key, Mate, Move, MoveList};

/// The evaluation board by board, for a session of a two-board network.
#[derive(Debug)]
pub(super) struct TwoBoardNetwork {
    cache: Option<Arc<Mutex<Cache>>>,
    encoding: Encoding,
    /// The sizes of the game's tensors.
    game: Shape,
    /// The policy index of sitting (passing) on each board.
    sits: [usize; 2],
    planes: Vec<f32>,
    policy: Vec<f32>,
    halves: Vec<f32>,
    outcome: Vec<f32>,
}

/// A board of a batch.
struct BoardEntry {
    key: Key,
    /// A row of the batch that has the board.
    row: usize,
    /// The index of the board in that row, 0 or 1.
    nth: usize,
    /// The number of moves on the board, without sitting.
    moves: usize,
    /// The contribution to the head's units, the number of turns to a mate ([`mate_on_board`]), the logit of
    /// sitting, and the logits of the moves. Empty until the board is evaluated.
    values: Vec<f32>,
}

/// The number of values of a board that are not of units or moves: the mate and the logit of sitting.
const EXTRA_VALUES: usize = 2;

/// The limits of the mate search on one board: turns of the side that mates, and positions visited.
const MATE_TURNS: u8 = 3;
const MATE_POSITIONS: u32 = 100;

impl TwoBoardNetwork {
    /// Returns the evaluation for the game of `encoding`, or `None` if it does not have two boards.
    pub(super) fn new(encoding: &Encoding) -> Option<TwoBoardNetwork> {
        let sits = |color| encoding.sits(color).map(|index| usize::from(index.0));
        let sits = [sits(Color::White)?, sits(Color::Black)?];
        let [planes, policy, halves, outcome] = Default::default();
        let game = encoding.shape();
        let encoding = encoding.clone();
        Some(TwoBoardNetwork { cache: None, encoding, game, sits, planes, policy, halves, outcome })
    }

    /// Uses `cache` for the evaluations of boards.
    pub(super) fn set_cache(&mut self, cache: Arc<Mutex<Cache>>) {
        self.cache = Some(cache);
    }

    /// Clears the cache.
    pub(super) fn clear_cache(&mut self) {
        if let Some(mut cache) = self.cache() {
            cache.clear();
        }
    }

    fn cache(&self) -> Option<MutexGuard<'_, Cache>> {
        self.cache.as_deref().map(cache::lock)
    }

    /// Returns the board of a policy index of the game, and whether the index is a move and not sitting.
    fn board_of(&self, index: usize) -> (usize, bool) {
        (index / (self.game.policy() / 2), !self.sits.contains(&index))
    }

    /// Writes the evaluation of a position to `into` if both its boards are cached. Returns `true` if they
    /// are.
    pub(super) fn probe(
        &self,
        session: &PlaneSession,
        query: Query<'_>,
        into: &mut CachedEval,
    ) -> bool {
        let Query { encoding, position, legal } = query;
        let Some((head, cache)) = session.head().zip(self.cache()) else { return false };
        let Some(keys) = encoding.board_keys(position) else { return false };
        // The planes begin with the board on which the side to move has White.
        let first = position.view().board_with(Color::White);
        let board = |m: Move| usize::from(m.board() != first);
        let mut moves = [0; 2];
        for &m in legal.iter().filter(|&&m| m != Move::Pass) {
            moves[board(m)] += 1;
        }
        let values = head.units() + EXTRA_VALUES;
        let boards = [0, 1].map(|nth| cache.probe(keys[nth], values + moves[nth]));
        let [Some(white), Some(black)] = boards else { return false };
        let joined = join(head, [white, black], &mut into.outcome);
        let JoinedBoards { moves_left, sits, mut logits } = joined;
        into.moves_left = moves_left;
        into.logits.clear();
        into.logits.extend(legal.iter().map(|&m| match m {
            Move::Pass => sits[self.board_of(encoding.index(position, m).0.into()).0],
            m => logits[board(m)].next().unwrap_or_default(),
        }));
        true
    }

    /// Fills in the evaluations of a batch. Only boards that are not cached are evaluated by the network.
    /// `plane_adapter` converts to its planes, if it has another layout.
    pub(super) fn evaluate(
        &mut self,
        session: &mut PlaneSession,
        mut plane_adapter: Option<&mut PlaneAdapter>,
        batch: &mut Batch,
    ) -> Result<(), NetworkError> {
        let units = session.head().map_or(0, |head| head.units());
        let (mut boards, pairs) = self.boards(units, batch);
        let mut missing: Vec<&mut BoardEntry> =
            boards.iter_mut().filter(|board| board.values.is_empty()).collect();
        self.run_network(session, plane_adapter.as_deref_mut(), batch, &missing)?;
        let half = session.sizes().policy;
        for (row, board) in missing.iter_mut().enumerate() {
            let policy = &self.policy[row * half..][..half];
            let halves = &self.halves[row * 2 * units..];
            board.values.extend_from_slice(&halves[board.nth * units..][..units]);
            let logit = |index: usize| {
                let index = plane_adapter.as_ref().map_or(index, |adapter| adapter.index(index));
                policy[index - board.nth * half]
            };
            let mut logits: Vec<f32> = batch
                .legal(board.row)
                .iter()
                .map(|index| usize::from(index.0))
                .filter(|&index| self.board_of(index) == (board.nth, true))
                .map(logit)
                .collect();
            let (turns, mate) = mate_on_board(batch, board).unwrap_or_default();
            if let Some(mate) = mate.filter(|mate| mate.nth < logits.len()) {
                mate.prefer(&mut logits);
            }
            let sit = logit(self.sits[board.nth]);
            board.values.extend([turns, sit]);
            board.values.extend(logits);
            if let Some(mut cache) = self.cache() {
                cache.insert(board.key, &[&board.values]);
            }
        }
        let Some(head) = session.head() else { return Ok(()) };
        for (row, pair) in pairs.into_iter().enumerate() {
            let values = pair.map(|nth| boards[nth].values.iter().copied());
            let joined = join(head, values, &mut self.outcome);
            let JoinedBoards { moves_left, sits, mut logits } = joined;
            let half = self.game.policy() / 2;
            let sit_indices = self.sits;
            batch.fill_indexed(row, &self.outcome, moves_left, |index| {
                let index = usize::from(index.0);
                match index / half {
                    nth if sit_indices.contains(&index) => sits[nth],
                    nth => logits[nth].next().unwrap_or_default(),
                }
            });
        }
        Ok(())
    }

    /// Returns the different boards of a batch, with cached values, and the indices of the two boards of each
    /// row.
    fn boards(&self, units: usize, batch: &Batch) -> (Vec<BoardEntry>, Vec<[usize; 2]>) {
        let mut boards: Vec<BoardEntry> = Vec::new();
        let mut pairs = Vec::with_capacity(batch.len());
        let cache = self.cache();
        for row in 0..batch.len() {
            let mut moves = [0; 2];
            for index in batch.legal(row) {
                let (nth, is_move) = self.board_of(index.0.into());
                moves[nth] += usize::from(is_move);
            }
            let position = batch.position(row);
            let Some(keys) = position.and_then(|position| self.encoding.board_keys(position))
            else {
                continue;
            };
            pairs.push([0, 1].map(|nth| {
                let key = keys[nth];
                let moves = moves[nth];
                let known =
                    boards.iter().position(|other| (other.key, other.moves) == (key, moves));
                known.unwrap_or_else(|| {
                    let count = units + EXTRA_VALUES + moves;
                    let cached = cache.as_ref().and_then(|cache| cache.probe(key, count));
                    let values = cached.into_iter().flatten().collect();
                    boards.push(BoardEntry { key, row, nth, moves, values });
                    boards.len() - 1
                })
            }));
        }
        (boards, pairs)
    }

    /// Runs the network on boards of a batch. Its outputs, with a row for each board, go to `policy` and
    /// `halves`.
    fn run_network(
        &mut self,
        session: &mut PlaneSession,
        plane_adapter: Option<&mut PlaneAdapter>,
        batch: &Batch,
        boards: &[&mut BoardEntry],
    ) -> Result<(), NetworkError> {
        let shape = plane_adapter.as_ref().map_or(self.game, |adapter| adapter.shape());
        let planes =
            plane_adapter.map_or(batch.planes(), |adapter| adapter.convert(batch.planes()));
        let squares = shape.squares();
        let planes_per_board = shape.of_board().planes;
        self.planes.clear();
        for BoardEntry { row, nth, .. } in boards {
            let planes = &planes[row * shape.input()..][..shape.input()];
            let own = (planes_per_board - 1) * squares;
            self.planes.extend_from_slice(&planes[..squares]);
            self.planes.extend_from_slice(&planes[2 * squares + nth * own..][..own]);
        }
        let rows = boards.len();
        for (buffer, (_, each)) in
            [&mut self.policy, &mut self.halves].into_iter().zip(session.outputs())
        {
            buffer.resize(rows * each, 0.0);
        }
        session.run(&self.planes, rows, &mut [&mut self.policy, &mut self.halves])
    }
}

/// Returns the number of turns to a mate by checks on a board, positive if the team of the side to move mates
/// and negative if the other team does, and the move if the side to move may play it. `None` if no mate is
/// found.
fn mate_on_board(batch: &Batch, board: &BoardEntry) -> Option<(f32, Option<FoundMate>)> {
    let whole = batch.position(board.row)?;
    let view = whole.view();
    let id = view.board_with(if board.nth == 0 { Color::White } else { Color::Black });
    let team = view.on(id).team;
    if team.drawn {
        return None;
    }
    let position = whole.board_position(id)?;
    let mate @ Mate { turns, .. } = position.find_mate(MATE_TURNS, MATE_POSITIONS)?;
    if !team.on_turn {
        return Some((-f32::from(turns), None));
    }
    if !team.may_move {
        return Some((f32::from(turns), None));
    }
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    Some((f32::from(turns), FoundMate::among(&legal, mate)))
}

/// The evaluation of two boards together, without the outcome.
struct JoinedBoards<I> {
    moves_left: f32,
    /// The logit of sitting on each board.
    sits: [f32; 2],
    /// The logits of the moves on each board.
    logits: [I; 2],
}

/// Joins the values of two boards ([`BoardEntry::values`]). The probabilities of the outcomes go to
/// `outcome`.
fn join<I: Iterator<Item = f32>>(
    head: &Head,
    mut boards: [I; 2],
    outcome: &mut Vec<f32>,
) -> JoinedBoards<I> {
    let halves = boards.each_mut().map(|values| values.take(head.units()));
    let moves_left = head.join(halves, outcome);
    softmax(outcome);
    let mates = boards.each_mut().map(|values| values.next().unwrap_or_default());
    let sits = boards.each_mut().map(|values| values.next().unwrap_or_default());
    let moves_left = apply_mates(mates, outcome).unwrap_or(moves_left);
    JoinedBoards { moves_left, sits, logits: boards }
}

/// Sets the outcome by the mates on two boards, if there is one. Returns the number of turns of the quickest
/// mate. Of equally quick mates, that of the side to move is first.
fn apply_mates(mates: [f32; 2], outcome: &mut [f32]) -> Option<f32> {
    let quickest = |sign: f32| {
        let turns = mates.into_iter().map(|turns| sign * turns).filter(|&turns| turns > 0.0);
        turns.reduce(f32::min)
    };
    let theirs = quickest(-1.0);
    let ours = quickest(1.0).filter(|ours| theirs.is_none_or(|theirs| *ours <= theirs));
    if ours.is_some() {
        set_winner(outcome, 0);
    } else if theirs.is_some() {
        set_winner(outcome, 1);
    }
    ours.or(theirs)
}

//! A network that sees each of two tables by itself, and what is remembered of them.
//!
//! Most positions of a search have each of their tables in common with others, beside another second
//! one. What the network makes of a table is computed once; a position of two known tables costs a few
//! hundred multiplications ([`Head::join`](super::network::Head::join)).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::batch::softmax;
use super::cache::Cache;
use super::mate_search::{Found, MateLimits, decide, find_mate};
use super::network::{Head, NetworkError, Session};
use super::plane_adapter::PlaneAdapter;
use super::{Batch, CachedEval, Query};
use crate::encoding::{Encoding, Shape};
use crate::rules::{Color, Key, Mate, Move, MoveList, Table};

/// What is needed beside a session to evaluate positions at two tables one table after another.
#[derive(Debug)]
pub(super) struct TwoBoardNetwork {
    cache: Option<Arc<Mutex<Cache>>>,
    /// The sizes of the game.
    game: Shape,
    /// Where the game's policy has that the mover sits at each table.
    sits: [usize; 2],
    planes: Vec<f32>,
    policy: Vec<f32>,
    halves: Vec<f32>,
    outcome: Vec<f32>,
}

/// A table of a batch.
struct Seen {
    key: Key,
    /// A row in which it stands, and which of the two tables it is there.
    row: usize,
    nth: usize,
    /// Moves there, but for sitting.
    moves: usize,
    /// What it adds to the head's units, in how many turns somebody mates there ([`mate_at`]), the logit of
    /// sitting there, and those of the moves. Empty until it is known.
    numbers: Vec<f32>,
}

/// Numbers beside units and moves.
const BESIDE: usize = 2;

impl TwoBoardNetwork {
    /// For the game of `encoding`; `None` if that has not two tables.
    pub(super) fn new(encoding: &Encoding) -> Option<TwoBoardNetwork> {
        let sits = |color| encoding.sits(color).map(|index| usize::from(index.0));
        let sits = [sits(Color::White)?, sits(Color::Black)?];
        let [planes, policy, halves, outcome] = Default::default();
        let (game, cache) = (encoding.shape(), None);
        Some(TwoBoardNetwork { cache, game, sits, planes, policy, halves, outcome })
    }

    /// Remembers tables in `cache`.
    pub(super) fn remember_in(&mut self, cache: &Arc<Mutex<Cache>>) {
        self.cache = Some(Arc::clone(cache));
    }

    fn cache(&self) -> Option<MutexGuard<'_, Cache>> {
        let cache = self.cache.as_ref()?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Which table an index of the game's policy belongs to, and whether it is a move, not to sit.
    fn place(&self, index: usize) -> (usize, bool) {
        (index / (self.game.policy() / 2), !self.sits.contains(&index))
    }

    /// Writes the evaluation of a position over `into`, if both its tables are remembered; says whether
    /// they are.
    pub(super) fn probe(&self, session: &Session, query: Query<'_>, into: &mut CachedEval) -> bool {
        let Query { encoding, position, legal } = query;
        let Some((head, cache)) = session.head().zip(self.cache()) else { return false };
        let Some(keys) = encoding.table_keys(position) else { return false };
        // Whoever has White at the first table of the rules has it at the first of the planes.
        let first = if position.view().turn.is_white() { Table::A } else { Table::B };
        let table = |m: Move| usize::from(m.split().0 != first);
        let mut moves = [0; 2];
        for &m in legal.iter().filter(|&&m| m != Move::Pass) {
            moves[table(m)] += 1;
        }
        let beside = head.units() + BESIDE;
        let seen = [0, 1].map(|nth| cache.probe(keys[nth], beside + moves[nth]));
        let [Some(white), Some(black)] = seen else { return false };
        let pair = join(head, [white, black], &mut into.outcome);
        let Pair { moves_left, sits, mut logits } = pair;
        into.moves_left = moves_left;
        into.logits.clear();
        into.logits.extend(legal.iter().map(|&m| match m {
            Move::Pass => sits[self.place(encoding.index(position, m).0.into()).0],
            m => logits[table(m)].next().unwrap_or_default(),
        }));
        true
    }

    /// Fills in the evaluations of a batch, and asks the network only about tables that are not
    /// remembered. `plane_adapter` leads to its planes, if it is another game's.
    pub(super) fn evaluate(
        &mut self,
        session: &mut Session,
        mut plane_adapter: Option<&mut PlaneAdapter>,
        batch: &mut Batch,
    ) -> Result<(), NetworkError> {
        let units = session.head().map_or(0, |head| head.units());
        let (mut seen, pairs) = self.tables(units, batch);
        let mut unknown: Vec<&mut Seen> =
            seen.iter_mut().filter(|seen| seen.numbers.is_empty()).collect();
        self.ask(session, plane_adapter.as_deref_mut(), batch, &unknown)?;
        let index_of = |index: usize| {
            plane_adapter.as_ref().map_or(index, |plane_adapter| plane_adapter.index(index))
        };
        let (half, each) = (session.sizes().policy, 2 * units);
        for (row, seen) in unknown.iter_mut().enumerate() {
            let (policy, halves) = (&self.policy[row * half..][..half], &self.halves[row * each..]);
            seen.numbers.extend_from_slice(&halves[seen.nth * units..][..units]);
            let logit = |index: usize| policy[index_of(index) - seen.nth * half];
            let own = batch.legal(seen.row).iter().map(|index| usize::from(index.0));
            let own = own.filter(|&index| self.place(index) == (seen.nth, true));
            let mut logits: Vec<f32> = own.map(logit).collect();
            let (turns, found) = mate_at(batch, seen).unwrap_or_default();
            if let Some(found) = found.filter(|found| found.nth < logits.len()) {
                found.prefer(&mut logits);
            }
            seen.numbers.extend([turns, logit(self.sits[seen.nth])]);
            seen.numbers.extend(logits);
            if let Some(mut cache) = self.cache() {
                cache.remember(seen.key, &[&seen.numbers]);
            }
        }
        let Some(head) = session.head() else { return Ok(()) };
        for (row, pair) in pairs.into_iter().enumerate() {
            let tables = pair.map(|at| seen[at].numbers.iter().copied());
            let Pair { moves_left, sits, mut logits } = join(head, tables, &mut self.outcome);
            let (half, passes) = (self.game.policy() / 2, self.sits);
            batch.fill_indexed(row, &self.outcome, moves_left, |index| {
                let index = usize::from(index.0);
                match index / half {
                    nth if passes.contains(&index) => sits[nth],
                    nth => logits[nth].next().unwrap_or_default(),
                }
            });
        }
        Ok(())
    }

    /// The different tables of a batch, with what is remembered of them, and which two of them each
    /// row has.
    fn tables(&self, units: usize, batch: &Batch) -> (Vec<Seen>, Vec<[usize; 2]>) {
        let mut seen: Vec<Seen> = Vec::new();
        let mut pairs = Vec::with_capacity(batch.len());
        let cache = self.cache();
        for row in 0..batch.len() {
            let mut moves = [0; 2];
            for index in batch.legal(row) {
                let (nth, moves_there) = self.place(index.0.into());
                moves[nth] += usize::from(moves_there);
            }
            let keys = batch.tables(row);
            pairs.push([0, 1].map(|nth| {
                let (key, moves) = (keys[nth], moves[nth]);
                let same = |other: &Seen| (other.key, other.moves) == (key, moves);
                seen.iter().position(same).unwrap_or_else(|| {
                    let known =
                        cache.as_ref().and_then(|cache| cache.probe(key, units + BESIDE + moves));
                    let numbers = known.into_iter().flatten().collect();
                    seen.push(Seen { key, row, nth, moves, numbers });
                    seen.len() - 1
                })
            }));
        }
        (seen, pairs)
    }

    /// Has the network look at tables of a batch, which leaves `policy` and `halves` with a row for each.
    fn ask(
        &mut self,
        session: &mut Session,
        plane_adapter: Option<&mut PlaneAdapter>,
        batch: &Batch,
        tables: &[&mut Seen],
    ) -> Result<(), NetworkError> {
        let shape = plane_adapter.as_ref().map_or(self.game, |plane_adapter| plane_adapter.shape());
        let planes = plane_adapter
            .map_or(batch.planes(), |plane_adapter| plane_adapter.cross(batch.planes()));
        let (squares, one) = (shape.squares(), shape.of_table().planes);
        self.planes.clear();
        for Seen { row, nth, .. } in tables {
            let planes = &planes[row * shape.input()..][..shape.input()];
            let own = (one - 1) * squares;
            self.planes.extend_from_slice(&planes[..squares]);
            self.planes.extend_from_slice(&planes[2 * squares + nth * own..][..own]);
        }
        let rows = tables.len();
        for (buffer, (_, each)) in
            [&mut self.policy, &mut self.halves].into_iter().zip(session.outputs())
        {
            buffer.resize(rows * each, 0.0);
        }
        session.run(&self.planes, rows, &mut [&mut self.policy, &mut self.halves])
    }
}

/// In how many turns whoever is on turn at a table mates there by checks alone: above 0 if that is the
/// mover, below if it is the other side. And the move, if the mover may make it. `None` if nobody is seen
/// to mate.
fn mate_at(batch: &Batch, seen: &Seen) -> Option<(f32, Option<Found>)> {
    let whole = batch.position(seen.row)?;
    let view = whole.view();
    let color = if seen.nth == 0 { Color::White } else { Color::Black };
    let table = if view.turn == color { Table::A } else { Table::B };
    let seat = view.table_of(color).seat;
    let position = whole.at_table(table).filter(|_| !seat.drawn)?;
    let mate @ Mate { turns, .. } = find_mate(&position, MateLimits::DEEP)?;
    if !seat.on_turn {
        return Some((-f32::from(turns), None));
    }
    let found = seat.asked.then(|| {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        Found::among(&legal, mate)
    });
    Some((f32::from(turns), found.flatten()))
}

/// Two tables together.
struct Pair<I> {
    moves_left: f32,
    /// The logits of sitting at each.
    sits: [f32; 2],
    /// Those of the moves at each.
    logits: [I; 2],
}

/// Puts two tables together, of which these are the numbers ([`Seen`]); the chances of the outcome go to
/// `outcome`.
fn join<I: Iterator<Item = f32>>(
    head: &Head,
    mut tables: [I; 2],
    outcome: &mut Vec<f32>,
) -> Pair<I> {
    let halves = tables.each_mut().map(|numbers| numbers.take(head.units()));
    let moves_left = head.join(halves, outcome);
    softmax(outcome);
    let mut next = || tables.each_mut().map(|numbers| numbers.next().unwrap_or_default());
    let (mates, sits) = (next(), next());
    let moves_left = decide_by(mates, outcome).unwrap_or(moves_left);
    Pair { moves_left, sits, logits: tables }
}

/// Makes the outcome what mates at the two tables make of it, and says in how many turns that is; the
/// mover's comes first if both take as long.
fn decide_by(mates: [f32; 2], outcome: &mut [f32]) -> Option<f32> {
    let soonest = |sign: f32| {
        let turns = mates.into_iter().map(|turns| sign * turns).filter(|&turns| turns > 0.0);
        turns.reduce(f32::min)
    };
    let (ours, theirs) = (soonest(1.0), soonest(-1.0));
    let first = ours.filter(|ours| theirs.is_none_or(|theirs| *ours <= theirs));
    match (first, theirs) {
        (Some(_), _) => decide(outcome, 0),
        (None, Some(_)) => decide(outcome, 1),
        (None, None) => return None,
    }
    first.or(theirs)
}

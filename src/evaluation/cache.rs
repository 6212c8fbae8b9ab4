//! Remembers evaluations by what the network would be shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, EvalError, Evaluation, Evaluator, Remembered};
use crate::encoding::Shape;
use crate::rules::{Key, Known, Position};

/// Evaluations of positions in a memory of fixed size, in which the newest overwrite the oldest.
///
/// A ring of 32-bit words holds them one after another: the key, the number of moves, and the
/// numbers of the evaluation. A table says where the newest of each place begins.
#[derive(Debug)]
pub struct Cache {
    ring: Vec<u32>,
    /// Words that the ring may have, and where the next entry begins.
    limit: usize,
    next: usize,
    /// For each place where in the ring its two newest entries begin, and one more; 0 for none.
    table: Vec<[u32; 2]>,
    outcomes: usize,
}

/// Words of an entry before its numbers.
const HEAD: usize = 3;
/// Words of the ring for each place in the table: two positions of some 25 legal moves.
const ENTRIES: usize = 64;

impl Cache {
    /// A cache of `bytes` of memory for evaluations of positions of `shape`.
    pub fn new(shape: Shape, bytes: usize) -> Cache {
        let words = (bytes / size_of::<u32>()).min(u32::MAX as usize);
        let places = (words / (ENTRIES + 2)).max(1);
        let limit = words - (2 * places).min(words);
        let mut ring = Vec::new();
        // If there is not so much, nothing is remembered.
        let limit = if ring.try_reserve_exact(limit).is_ok() { limit } else { 0 };
        Cache { ring, limit, next: 0, table: vec![[0; 2]; places], outcomes: shape.outcomes }
    }

    fn words(&self, legal_moves: usize) -> usize {
        HEAD + self.outcomes + 1 + legal_moves
    }

    fn remember(&mut self, key: Key, evaluation: Evaluation<'_>) {
        let words = self.words(evaluation.logits.len());
        if words > self.limit {
            return;
        }
        if self.next + words > self.limit {
            self.next = 0;
        }
        let start = self.next;
        self.next += words;
        let head = [key.0 as u32, (key.0 >> 32) as u32, evaluation.logits.len() as u32];
        let numbers = evaluation.outcome.iter().chain([&evaluation.moves_left]);
        let numbers = numbers.chain(evaluation.logits).map(|number| number.to_bits());
        let entry = head.into_iter().chain(numbers);
        if start + words > self.ring.len() {
            self.ring.truncate(start);
            self.ring.extend(entry);
        } else {
            let room = &mut self.ring[start..start + words];
            room.iter_mut().zip(entry).for_each(|(word, new)| *word = new);
        }
        let place = self.place(key);
        self.table[place] = [start as u32 + 1, self.table[place][0]];
    }

    fn recall(&self, key: Key, legal_moves: usize, into: &mut Remembered) -> bool {
        let wanted = [key.0 as u32, (key.0 >> 32) as u32, legal_moves as u32];
        let found = self.table[self.place(key)].iter().find_map(|begins| {
            let start = begins.checked_sub(1)? as usize;
            // What stood there may have been overwritten by something else.
            let entry = self.ring.get(start..start + self.words(legal_moves))?;
            let (head, numbers) = entry.split_at(HEAD);
            (head == wanted).then_some(numbers)
        });
        let Some(numbers) = found else { return false };
        let mut numbers = numbers.iter().map(|&bits| f32::from_bits(bits));
        into.outcome.clear();
        into.outcome.extend(numbers.by_ref().take(self.outcomes));
        into.moves_left = numbers.next().unwrap_or(0.0);
        into.logits.clear();
        into.logits.extend(numbers);
        true
    }

    fn place(&self, key: Key) -> usize {
        // The high half of the product spreads keys evenly over a table of any length.
        ((u128::from(key.0) * self.table.len() as u128) >> 64) as usize
    }

    fn forget(&mut self) {
        self.ring.clear();
        self.next = 0;
        self.table.fill([0; 2]);
    }
}

/// An evaluator that asks another one only for what its cache does not remember. Several may
/// share a cache, each with a thread of its own.
#[derive(Debug)]
pub struct Cached<E> {
    inner: E,
    cache: Arc<Mutex<Cache>>,
}

impl<E: Evaluator> Cached<E> {
    /// Remembers what `inner` says in so many `bytes` of memory.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        let cache = Cache::new(inner.shape(), bytes);
        Cached::sharing(inner, Arc::new(Mutex::new(cache)))
    }

    /// Remembers what `inner` says in `cache`, which must be of the same shape.
    pub fn sharing(inner: E, cache: Arc<Mutex<Cache>>) -> Cached<E> {
        Cached { inner, cache }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // A thread that panicked has left at most one entry half written.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Evaluator> Evaluator for Cached<E> {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.inner.preferred_batch()
    }

    /// Every row goes to the inner evaluator: whoever fills a batch asks [`Evaluator::recall`]
    /// before, which spares the encoding too.
    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.inner.evaluate(batch)?;
        let mut cache = self.cache();
        for row in 0..batch.len() {
            cache.remember(batch.key(row), batch.evaluation(row));
        }
        Ok(())
    }

    fn recall(&self, key: Key, legal_moves: usize, into: &mut Remembered) -> bool {
        self.cache().recall(key, legal_moves, into)
    }

    fn known(&self, position: &Position) -> Option<Known> {
        self.inner.known(position)
    }

    fn forget(&mut self) {
        self.cache().forget();
        self.inner.forget();
    }
}

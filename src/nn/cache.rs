//! Remembers evaluations by what the network would be shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, CachedEval, EvalError, Evaluator, Query};
use crate::encoding::Shape;
use crate::rules::{Key, Position, ProvenValue};

/// Evaluations, of positions or of tables, in a memory of fixed size, in which the newest overwrite
/// the oldest.
///
/// A ring of 32-bit words holds them one after another: the key, how many numbers follow, and the
/// numbers. A table says where the newest of each place begins.
#[derive(Debug)]
pub struct Cache {
    ring: Vec<u32>,
    /// Words that the ring may have, and where the next entry begins.
    limit: usize,
    next: usize,
    /// For each place where in the ring its two newest entries begin, and one more; 0 for none.
    table: Vec<[u32; 2]>,
}

/// Words of an entry before its numbers.
const HEAD: usize = 3;
/// Words of the ring for each place in the table: two positions of some 25 legal moves.
const ENTRIES: usize = 64;

impl Cache {
    /// A cache of `bytes` of memory.
    pub fn new(bytes: usize) -> Cache {
        let words = (bytes / size_of::<u32>()).min(u32::MAX as usize);
        let places = (words / (ENTRIES + 2)).max(1);
        let limit = words - (2 * places).min(words);
        let mut ring = Vec::new();
        // If there is not so much, nothing is remembered.
        let limit = if ring.try_reserve_exact(limit).is_ok() { limit } else { 0 };
        Cache { ring, limit, next: 0, table: vec![[0; 2]; places] }
    }

    /// Remembers numbers, which come in several parts, under a key.
    pub(super) fn remember(&mut self, key: Key, parts: &[&[f32]]) {
        let count: usize = parts.iter().map(|part| part.len()).sum();
        let words = HEAD + count;
        if words > self.limit {
            return;
        }
        if self.next + words > self.limit {
            self.next = 0;
        }
        let start = self.next;
        self.next += words;
        let head = [key.0 as u32, (key.0 >> 32) as u32, count as u32];
        let numbers = parts.iter().copied().flatten().map(|number| number.to_bits());
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

    /// The numbers under a key, if there are so many of them.
    pub(super) fn probe(
        &self,
        key: Key,
        count: usize,
    ) -> Option<impl Iterator<Item = f32> + Clone + use<'_>> {
        let wanted = [key.0 as u32, (key.0 >> 32) as u32, count as u32];
        let numbers = self.table[self.place(key)].iter().find_map(|begins| {
            let start = begins.checked_sub(1)? as usize;
            // What stood there may have been overwritten by something else.
            let entry = self.ring.get(start..start + HEAD + count)?;
            let (head, numbers) = entry.split_at(HEAD);
            (head == wanted).then_some(numbers)
        })?;
        Some(numbers.iter().map(|&bits| f32::from_bits(bits)))
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
    /// The inner evaluator uses the cache itself, for parts of positions.
    in_parts: bool,
}

impl<E: Evaluator> Cached<E> {
    /// Remembers what `inner` says in so many `bytes` of memory.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        Cached::sharing(inner, Arc::new(Mutex::new(Cache::new(bytes))))
    }

    /// Remembers what `inner` says in `cache`, in which others of the same game may, too.
    pub fn sharing(mut inner: E, cache: Arc<Mutex<Cache>>) -> Cached<E> {
        let in_parts = inner.remember_in(&cache);
        Cached { inner, cache, in_parts }
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

    /// Every row goes to the inner evaluator: whoever fills a batch asks [`Evaluator::probe`]
    /// before, which spares the encoding too.
    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.inner.evaluate(batch)?;
        if !self.in_parts {
            let mut cache = self.cache();
            for row in 0..batch.len() {
                let evaluation = batch.evaluation(row);
                let parts = [evaluation.outcome, &[evaluation.moves_left], evaluation.logits];
                cache.remember(batch.key(row), &parts);
            }
        }
        Ok(())
    }

    fn probe(&self, query: Query<'_>, into: &mut CachedEval) -> bool {
        if self.in_parts {
            return self.inner.probe(query, into);
        }
        let Query { encoding, position, legal } = query;
        let (key, outcomes) = (encoding.input_key(position), self.shape().outcomes);
        let cache = self.cache();
        let Some(mut numbers) = cache.probe(key, outcomes + 1 + legal.len()) else {
            drop(cache);
            return self.inner.probe(query, into);
        };
        into.outcome.clear();
        into.outcome.extend(numbers.by_ref().take(outcomes));
        into.moves_left = numbers.next().unwrap_or_default();
        into.logits.clear();
        into.logits.extend(numbers);
        true
    }

    fn known(&self, position: &Position) -> Option<ProvenValue> {
        self.inner.known(position)
    }

    fn forget(&mut self) {
        self.cache().forget();
        self.inner.forget();
    }

    fn new_batch(&self) -> Batch {
        self.inner.new_batch()
    }
}

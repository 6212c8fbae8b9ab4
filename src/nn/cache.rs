//! A cache of evaluations, by the input of the network.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, CachedEval, DirectNetwork, EvalError, Evaluator, Query};
use crate::encoding::Shape;
use crate::memory::prefer_huge_pages;
use crate::rules::{Key, Position, ProvenValue};

/// A cache of evaluations, of positions or of boards, of fixed size. The newest entries overwrite the oldest.
///
/// A ring of 32-bit words holds the entries: the key (2 words), the number of values, and the values. A hash
/// table of two entries a bucket has their places in the ring, with half of the key: most probes find nothing, and
/// need not read the ring, which lies elsewhere in memory.
#[derive(Debug)]
pub struct Cache {
    ring: Vec<u32>,
    /// The maximum number of words of the ring.
    limit: usize,
    /// The index of the next entry in the ring.
    next: usize,
    /// For each bucket, the places of its two newest entries.
    buckets: Vec<[Place; 2]>,
}

/// The place of an entry in the ring.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The index of the entry plus 1, or 0 for none.
    start_plus_1: u32,
    /// The lower half of the key.
    low_key: u32,
}

/// The number of words of an entry before its values.
const HEADER_WORDS: usize = 3;
/// The number of words of the ring for each bucket: two positions of some 25 legal moves.
const WORDS_PER_BUCKET: usize = 64;

impl Cache {
    /// Returns an empty cache of `bytes` bytes.
    pub fn new(bytes: usize) -> Cache {
        let words = (bytes / size_of::<u32>()).min(u32::MAX as usize);
        let words_of_places = size_of::<[Place; 2]>() / size_of::<u32>();
        let buckets = (words / (WORDS_PER_BUCKET + words_of_places)).max(1);
        let limit = words - (words_of_places * buckets).min(words);
        let mut ring = Vec::new();
        // Without enough memory, nothing is cached.
        let limit = if ring.try_reserve_exact(limit).is_ok() { limit } else { 0 };
        let mut buckets = vec![[Place::default(); 2]; buckets];
        prefer_huge_pages(&mut ring);
        prefer_huge_pages(&mut buckets);
        Cache { ring, limit, next: 0, buckets }
    }

    /// Returns an empty cache of `bytes` bytes, which several evaluators can share.
    pub fn shared(bytes: usize) -> Arc<Mutex<Cache>> {
        Arc::new(Mutex::new(Cache::new(bytes)))
    }

    /// Inserts values, which come in several parts, under a key.
    pub(super) fn insert(&mut self, key: Key, parts: &[&[f32]]) {
        let count: usize = parts.iter().map(|part| part.len()).sum();
        let words = HEADER_WORDS + count;
        if words > self.limit {
            return;
        }
        if self.next + words > self.limit {
            self.next = 0;
        }
        let start = self.next;
        self.next += words;
        let header = [key.0 as u32, (key.0 >> 32) as u32, count as u32];
        let values = parts.iter().copied().flatten().map(|value| value.to_bits());
        let entry = header.into_iter().chain(values);
        if start + words > self.ring.len() {
            self.ring.truncate(start);
            self.ring.extend(entry);
        } else {
            for (word, new) in self.ring[start..start + words].iter_mut().zip(entry) {
                *word = new;
            }
        }
        let bucket = self.bucket(key);
        let place = Place { start_plus_1: start as u32 + 1, low_key: key.0 as u32 };
        self.buckets[bucket] = [place, self.buckets[bucket][0]];
    }

    /// Returns the values under a key, if there are `count` of them.
    pub(super) fn probe(
        &self,
        key: Key,
        count: usize,
    ) -> Option<impl Iterator<Item = f32> + Clone + use<'_>> {
        let wanted = [key.0 as u32, (key.0 >> 32) as u32, count as u32];
        let values = self.buckets[self.bucket(key)].iter().find_map(|place| {
            if place.low_key != key.0 as u32 {
                return None;
            }
            let start = place.start_plus_1.checked_sub(1)? as usize;
            // The entry may have been overwritten by others.
            let entry = self.ring.get(start..start + HEADER_WORDS + count)?;
            let (header, values) = entry.split_at(HEADER_WORDS);
            (header == wanted).then_some(values)
        })?;
        Some(values.iter().map(|&bits| f32::from_bits(bits)))
    }

    fn bucket(&self, key: Key) -> usize {
        // The high half of the product spreads keys evenly over any number of buckets.
        ((u128::from(key.0) * self.buckets.len() as u128) >> 64) as usize
    }

    pub(super) fn clear(&mut self) {
        self.ring.clear();
        self.next = 0;
        self.buckets.fill([Place::default(); 2]);
    }
}

/// Locks a cache that several threads share.
pub(super) fn lock(cache: &Mutex<Cache>) -> MutexGuard<'_, Cache> {
    // A panic leaves at most one incomplete entry.
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An evaluator with a cache. Evaluators in several threads may share a cache.
#[derive(Debug)]
pub struct Cached<E> {
    inner: E,
    cache: Arc<Mutex<Cache>>,
}

impl<E: Evaluator> Cached<E> {
    /// Returns `inner` with a cache of `bytes` bytes.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        Cached::sharing(inner, Cache::shared(bytes))
    }

    /// Returns `inner` with `cache`, which other evaluators of the same game may share.
    pub fn sharing(inner: E, cache: Arc<Mutex<Cache>>) -> Cached<E> {
        Cached { inner, cache }
    }
}

impl<E: Evaluator> Evaluator for Cached<E> {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.inner.preferred_batch()
    }

    /// Passes every row to the inner evaluator. The caller probes the cache before it adds a position to the
    /// batch, which saves the encoding, too.
    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.inner.evaluate(batch)?;
        let mut cache = lock(&self.cache);
        for row in 0..batch.len() {
            let evaluation = batch.evaluation(row);
            let parts = [evaluation.outcome, &[evaluation.moves_left], evaluation.logits];
            cache.insert(batch.key(row), &parts);
        }
        Ok(())
    }

    fn probe(&self, query: Query<'_>, into: &mut CachedEval) -> bool {
        let Query { encoding, position, legal } = query;
        let key = encoding.input_key(position);
        let outcomes = self.shape().outcomes;
        let cache = lock(&self.cache);
        let Some(mut values) = cache.probe(key, outcomes + 1 + legal.len()) else {
            drop(cache);
            return self.inner.probe(query, into);
        };
        into.outcome.clear();
        into.outcome.extend(values.by_ref().take(outcomes));
        into.moves_left = values.next().unwrap_or_default();
        into.logits.clear();
        into.logits.extend(values);
        true
    }

    fn proven_value(&self, position: &Position) -> Option<ProvenValue> {
        self.inner.proven_value(position)
    }

    fn direct(&self) -> Option<DirectNetwork> {
        self.inner.direct()
    }

    fn clear_caches(&mut self) {
        lock(&self.cache).clear();
        self.inner.clear_caches();
    }

    fn new_batch(&self) -> Batch {
        self.inner.new_batch()
    }
}

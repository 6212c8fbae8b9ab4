//! Remembers evaluations by what the network would be shown.

use std::sync::Arc;

use super::{Batch, EvalError, Evaluator, Remembered};
use crate::encoding::Shape;
use crate::rules::Key;

/// An evaluator that asks another one only for what it does not remember.
///
/// A table of fixed size in which a new evaluation replaces the one in its place, and others too
/// where positions with many moves take more memory than is given.
#[derive(Debug)]
pub struct Cached<E> {
    inner: E,
    table: Vec<Slot>,
    /// Bytes that the table and what it holds take, and may take.
    bytes: usize,
    limit: usize,
    /// The slot that is emptied next when room is needed.
    hand: usize,
}

type Slot = Option<(Key, Arc<Remembered>)>;

/// Bytes of memory for each slot of the table: a position of some 35 legal moves.
const ENTRY: usize = 288;

impl<E: Evaluator> Cached<E> {
    /// Remembers what `inner` says in about `bytes` of memory.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        let table = vec![None; (bytes / ENTRY).max(1)];
        let taken = table.len() * size_of::<Slot>();
        Cached { inner, table, bytes: taken, limit: bytes, hand: 0 }
    }

    /// Puts an entry in its place, and empties others until all fit their memory.
    fn remember(&mut self, key: Key, remembered: Remembered) {
        let slot = self.slot(key);
        self.empty(slot);
        self.bytes += remembered.bytes();
        for _ in 0..self.table.len() {
            if self.bytes <= self.limit {
                break;
            }
            self.empty(self.hand);
            self.hand = (self.hand + 1) % self.table.len();
        }
        self.table[slot] = Some((key, Arc::new(remembered)));
    }

    fn empty(&mut self, slot: usize) {
        let gone = self.table[slot].take();
        self.bytes -= gone.map_or(0, |(_, remembered)| remembered.bytes());
    }

    fn slot(&self, key: Key) -> usize {
        // The high half of the product spreads keys evenly over a table of any length.
        ((u128::from(key.0) * self.table.len() as u128) >> 64) as usize
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
        for row in 0..batch.len() {
            self.remember(batch.key(row), batch.evaluation(row).into());
        }
        Ok(())
    }

    fn recall(&self, key: Key, legal_moves: usize) -> Option<Arc<Remembered>> {
        let (known, remembered) = self.table[self.slot(key)].as_ref()?;
        let same = *known == key && remembered.logits.len() == legal_moves;
        same.then(|| Arc::clone(remembered))
    }

    fn forget(&mut self) {
        (0..self.table.len()).for_each(|slot| self.empty(slot));
        self.inner.forget();
    }
}

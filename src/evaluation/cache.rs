//! Remembers evaluations by what the network would be shown.

use std::sync::Arc;

use super::{Batch, EvalError, Evaluator, Remembered};
use crate::encoding::Shape;
use crate::rules::Key;

/// An evaluator that asks another one only for what it does not remember.
///
/// A table of fixed size in which a new evaluation replaces the one in its place.
#[derive(Debug)]
pub struct Cached<E> {
    inner: E,
    table: Vec<Option<(Key, Arc<Remembered>)>>,
    used: usize,
}

/// What an entry takes, in bytes: the slot, the counters, and boxes for some 35 legal moves.
const ENTRY: usize = 256;

impl<E: Evaluator> Cached<E> {
    /// Remembers what `inner` says in about `bytes` of memory.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        let table = vec![None; (bytes / ENTRY).max(1)];
        Cached { inner, table, used: 0 }
    }

    /// The filled part of the table, in thousandths.
    pub fn permille(&self) -> usize {
        1000 * self.used / self.table.len()
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
            let slot = self.slot(batch.key(row));
            let entry = (batch.key(row), Arc::new(batch.evaluation(row).into()));
            self.used += usize::from(self.table[slot].replace(entry).is_none());
        }
        Ok(())
    }

    fn recall(&self, key: Key, legal_moves: usize) -> Option<Arc<Remembered>> {
        let (known, remembered) = self.table[self.slot(key)].as_ref()?;
        let same = *known == key && remembered.logits.len() == legal_moves;
        same.then(|| Arc::clone(remembered))
    }

    fn forget(&mut self) {
        self.table.fill(None);
        self.used = 0;
        self.inner.forget();
    }
}

//! Sums of the first layer that follow a search from position to position.
//!
//! Positions that are near each other in a search have most inputs in common. Of the 42 inputs of a position of chess
//! 10 differ, on average, from those of the position two plies before it or from those of the one that was evaluated
//! last at its ply. Only the table rows of these are added and subtracted (Nasu 2018, "Efficiently Updatable
//! Neural-Network-based Evaluation Functions for Computer Shogi").

use ort::Result;

use super::changes::{Changes, differences};
use super::integer::Wide;
use super::operators::FeaturesInt8Kernel;

/// Plies that have sums of their own; those of later ones replace these.
const PLIES: usize = 128;

/// The first layer for a position.
#[derive(Clone)]
struct Accumulator {
    /// The inputs at their places; empty if there is no position yet.
    inputs: Vec<u16>,
    /// The number of inputs without the padding rows.
    count: usize,
    sums: Vec<Wide>,
    outputs: Vec<u8>,
}

/// The first layer for the last positions of a search, by their plies. They are only made as they are needed.
#[derive(Clone)]
pub(super) struct Accumulators {
    features: FeaturesInt8Kernel,
    /// That of no inputs.
    empty: Accumulator,
    by_ply: Vec<Accumulator>,
    changes: Changes,
}

impl Accumulators {
    pub(super) fn new(features: FeaturesInt8Kernel) -> Accumulators {
        let mut sums = features.bias().to_vec();
        let mut outputs = vec![0; features.width()];
        features.update(None, &Changes::default(), &mut sums, &mut outputs);
        let empty = Accumulator { inputs: Vec::new(), count: 0, sums, outputs };
        Accumulators { features, empty, by_ply: Vec::new(), changes: Changes::default() }
    }

    /// Returns the outputs of the first layer for a position `ply` plies from the root of a search. `inputs` has its
    /// inputs at their places, and padding rows elsewhere. Any ply and any places give the same result; it takes less time
    /// if similar positions have the same inputs at the same places.
    ///
    /// # Errors
    /// If an input is not in the table, or if there are more than a sum can hold.
    pub(super) fn outputs(&mut self, ply: usize, inputs: &[u16]) -> Result<&[u8]> {
        let padding = self.features.padding();
        let level = self.features.level();
        if self.empty.inputs.len() != inputs.len() {
            self.empty.inputs = vec![padding; inputs.len()];
            self.by_ply.clear();
        }
        let ply = ply % PLIES;
        if self.by_ply.len() <= ply {
            self.by_ply.resize(ply + 1, self.empty.clone());
        }
        let (before, rest) = self.by_ply.split_at_mut(ply);
        let two_before = ply.checked_sub(2).map(|ply| &before[ply]);
        let accumulator = &mut rest[0];
        let mut least = differences(level, &accumulator.inputs, inputs);
        let mut from = None;
        for other in [two_before, Some(&self.empty)].into_iter().flatten() {
            let differences = differences(level, &other.inputs, inputs);
            if differences < least {
                least = differences;
                from = Some(other);
            }
        }
        if least > 0 || from.is_some() {
            let (known, count) = from.map_or((&accumulator.inputs, accumulator.count), |from| {
                (&from.inputs, from.count)
            });
            self.changes.compare(level, known, inputs, padding);
            let count = count + self.changes.added().len() - self.changes.removed().len();
            self.features.check(self.changes.added(), count)?;
            let sums = from.map(|from| &from.sums[..]);
            let Accumulator { sums: own_sums, outputs, .. } = accumulator;
            self.features.update(sums, &self.changes, own_sums, outputs);
            accumulator.inputs.copy_from_slice(inputs);
            accumulator.count = count;
        }
        Ok(&accumulator.outputs)
    }
}

//! Int8 networks without ONNX Runtime: one position at a time, at the cost of the arithmetic alone.
//!
//! ONNX Runtime reads and checks the file, and makes the kernels of its graph from it. Each kernel leaves a copy of
//! itself, which shares its tables, in a [`KernelSlot`]. Together they are the network. A call of the runtime takes
//! longer than the evaluation of a position, which a search that evaluates one position after another cannot pay.

use ort::{Error, Result};

use super::accumulators::Accumulators;
use super::operators::{KernelSlot, MoveScoresInt8Kernel, ValueHeadInt8Kernel, check_indices};

/// Outcomes of a network for games of two sides.
const OUTCOMES: usize = 3;

/// The kernels of an int8 network. Clones share the tables.
#[derive(Clone)]
pub(in crate::nn::network) struct DirectKernels {
    first_layer: Accumulators,
    value_head: ValueHeadInt8Kernel,
    move_scores: MoveScoresInt8Kernel,
    rows_per_move: usize,
}

impl DirectKernels {
    /// Returns the network of the kernels that a session has made, or `None` if they are not those of an int8
    /// network of three outcomes whose layers fit one another. `rows_per_move` is that of its moves.
    pub(in crate::nn::network) fn new(
        slot: &KernelSlot,
        rows_per_move: usize,
    ) -> Option<DirectKernels> {
        let (features, value_head, move_scores) = slot.take()?;
        let width = features.width();
        let fits = value_head.width() == width
            && value_head.outcomes() == OUTCOMES
            && move_scores.axes()[1] <= width
            && rows_per_move > 0;
        let first_layer = Accumulators::new(features);
        fits.then_some(DirectKernels { first_layer, value_head, move_scores, rows_per_move })
    }

    /// Returns the logits of the outcomes (the side to move wins, the other side wins, draw) of the position with
    /// these inputs at their places, `ply` plies from the root of a search (see [`Accumulators::outputs`]).
    ///
    /// # Errors
    /// If an input is not in the table, or if there are more than a sum can hold.
    pub(in crate::nn::network) fn outcome(
        &mut self,
        ply: usize,
        inputs: &[u16],
    ) -> Result<[f32; OUTCOMES]> {
        let x = self.first_layer.outputs(ply, inputs)?;
        let mut outcome = [0.0; OUTCOMES];
        self.value_head.outcome(x, &mut outcome)?;
        Ok(outcome)
    }

    /// Returns the number of turns left of the position of the last [`DirectKernels::outcome`].
    ///
    /// # Errors
    /// If a layer has no columns.
    pub(in crate::nn::network) fn moves_left(&self) -> Result<f32> {
        self.value_head.moves_left()
    }

    /// Replaces `logits` by those of the moves with these rows, in the position of these inputs.
    ///
    /// # Errors
    /// If an input or a row is not in its table, or if there are more inputs than a sum can hold.
    pub(in crate::nn::network) fn policy(
        &mut self,
        ply: usize,
        inputs: &[u16],
        move_rows: &[u16],
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        check_indices("move_rows", move_rows, self.move_scores.axes()[0])?;
        if !move_rows.len().is_multiple_of(self.rows_per_move) {
            return Err(Error::new("the rows of a move are not complete"));
        }
        let x = self.first_layer.outputs(ply, inputs)?;
        self.move_scores.run(x, move_rows, self.rows_per_move, logits);
        Ok(())
    }
}

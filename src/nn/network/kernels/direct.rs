//! Int8 networks without ONNX Runtime: one position at a time, at the cost of the arithmetic alone.
//!
//! ONNX Runtime reads and checks the file, and makes the kernels of its graph from it. Each kernel leaves a copy of
//! itself, which shares its tables, in a [`KernelSlot`]. Together they are the network. A call of the runtime takes
//! longer than the evaluation of a position, which a search that evaluates one position after another cannot pay.

use ort::{Error, Result};

use super::operators::{
    FeaturesInt8Kernel, KernelSlot, MoveScoresInt8Kernel, ValueHeadInt8Kernel, check_indices,
};

/// Outcomes of a network for games of two sides.
const OUTCOMES: usize = 3;

/// The kernels of an int8 network. Clones share the tables.
#[derive(Clone)]
pub(in crate::nn::network) struct DirectKernels {
    features: FeaturesInt8Kernel,
    value_head: ValueHeadInt8Kernel,
    move_scores: MoveScoresInt8Kernel,
    rows_per_move: usize,
    /// The outputs of the first layer for the last position.
    x: Vec<u8>,
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
        let x = vec![0; width];
        fits.then_some(DirectKernels { features, value_head, move_scores, rows_per_move, x })
    }

    /// Returns the logits of the outcomes (the side to move wins, the other side wins, draw) and the number of
    /// turns left of the position with these active inputs.
    ///
    /// # Errors
    /// If an input is not in the table, or if there are more than a sum can hold.
    pub(in crate::nn::network) fn value(
        &mut self,
        inputs: &[u16],
    ) -> Result<([f32; OUTCOMES], f32)> {
        check_indices("inputs", inputs, self.features.rows())?;
        self.features.run(inputs, &mut self.x)?;
        let mut outcome = [0.0; OUTCOMES];
        let moves_left = self.value_head.run(&self.x, &mut outcome)?;
        Ok((outcome, moves_left))
    }

    /// Replaces `logits` by those of the moves with these rows, in the position of the last
    /// [`DirectKernels::value`].
    ///
    /// # Errors
    /// If a row is not in the table.
    pub(in crate::nn::network) fn policy(
        &mut self,
        move_rows: &[u16],
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        check_indices("move_rows", move_rows, self.move_scores.axes()[0])?;
        if !move_rows.len().is_multiple_of(self.rows_per_move) {
            return Err(Error::new("the rows of a move are not complete"));
        }
        self.move_scores.run(&self.x, move_rows, self.rows_per_move, logits);
        Ok(())
    }
}

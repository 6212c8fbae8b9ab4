//! Positions in a sparse encoding, as the lists that a sparse network reads.

use std::sync::Arc;

use crate::encoding::sparse::IndexMap;
use crate::encoding::{SparseEncoding, SparseInput};
use crate::nn::network::sparse::SparseRequest;
use crate::rules::{Move, Position};

/// The lists of some positions.
#[derive(Clone, Debug)]
pub(super) struct SparseLists {
    encoding: SparseEncoding,
    /// The map from indices of the encoding to those of the network, if it is a base.
    map: Option<Arc<IndexMap>>,
    /// The position that is being added.
    scratch: SparseInput,
    /// The active inputs of all positions, as indices of the encoding.
    inputs: Vec<u16>,
    /// The end of each position's inputs in `inputs`.
    ends: Vec<usize>,
    /// Rows of the network's move table.
    move_rows: Vec<u16>,
    /// The position of each legal move.
    owners: Vec<u16>,
    /// The network's active inputs, padded to the same number for each position.
    padded: Vec<u16>,
}

impl SparseLists {
    pub(super) fn new(encoding: &SparseEncoding, map: Option<Arc<IndexMap>>) -> SparseLists {
        SparseLists {
            encoding: encoding.clone(),
            map,
            scratch: SparseInput::default(),
            inputs: Vec::new(),
            ends: Vec::new(),
            move_rows: Vec::new(),
            owners: Vec::new(),
            padded: Vec::new(),
        }
    }

    pub(super) fn encoding(&self) -> &SparseEncoding {
        &self.encoding
    }

    pub(super) fn clear(&mut self) {
        self.inputs.clear();
        self.ends.clear();
        self.move_rows.clear();
        self.owners.clear();
    }

    /// Adds a position of the encoding's game, with its legal moves.
    ///
    /// # Panics
    /// If there are 65,536 positions already.
    pub(super) fn push(&mut self, position: &Position, legal: &[Move]) {
        let owner = self.ends.len();
        assert!(owner <= usize::from(u16::MAX));
        self.encoding.write(position, legal, &mut self.scratch);
        self.inputs.extend_from_slice(&self.scratch.inputs);
        self.ends.push(self.inputs.len());
        let rows = &self.scratch.move_rows;
        match &self.map {
            Some(map) => self.move_rows.extend(rows.iter().map(|&row| map.move_row(row))),
            None => self.move_rows.extend_from_slice(rows),
        }
        self.owners.resize(self.owners.len() + legal.len(), owner as u16);
    }

    /// Returns the active inputs of a position, as indices of the encoding.
    pub(super) fn active_inputs(&self, row: usize) -> &[u16] {
        let first = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.inputs[first..self.ends[row]]
    }

    /// Returns all positions as a request.
    pub(super) fn request(&mut self) -> SparseRequest<'_> {
        let positions = self.ends.len();
        let longest =
            (0..positions).map(|row| self.active_inputs(row).len()).max().unwrap_or(0).max(1);
        let mut padded = std::mem::take(&mut self.padded);
        padded.clear();
        let map = self.map.as_deref();
        let padding = map.map_or(self.encoding.shape().inputs as u16, IndexMap::input_padding);
        padded.resize(positions * longest, padding);
        for (row, padded) in padded.chunks_exact_mut(longest).enumerate() {
            for (to, &input) in padded.iter_mut().zip(self.active_inputs(row)) {
                *to = map.map_or(input, |map| map.input(input));
            }
        }
        self.padded = padded;
        SparseRequest {
            positions,
            inputs: &self.padded,
            move_rows: &self.move_rows,
            owners: &self.owners,
        }
    }
}

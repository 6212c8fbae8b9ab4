//! A network that starts from the weights of another: rows of blocks that both have are copied, the others are zero.

use menagerie::encoding::SparseLayout;
use menagerie::encoding::sparse::{IndexMap, SparseLayoutError};

use super::{HeadLayout, SparseNetwork};
use crate::sparse::config::SparseSizes;
use crate::sparse::unit::LANE;
use crate::sparse::weights::SparseWeights;

/// Why a network cannot start from weights.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The weights do not name their blocks.
    #[error(transparent)]
    Layout(#[from] SparseLayoutError),
    /// The blocks have another number of rows than the tables.
    #[error("the blocks have {found:?} input and move rows, but the tables have {wanted:?}")]
    Rows {
        /// Sizes by the blocks.
        found: [usize; 2],
        /// Sizes of the tables.
        wanted: [usize; 2],
    },
    /// The layers are of sizes that do not fit.
    #[error(
        "hidden_size, policy_size and value_hidden are {found:?}, but the network has {wanted:?}; \
         the first two must not be greater, and the last must be equal"
    )]
    Sizes {
        /// Sizes of the weights.
        found: [usize; 3],
        /// Sizes of the network.
        wanted: [usize; 3],
    },
}

/// What was taken from the weights of another network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Blocks that the other network does not have, and whose rows are zero.
    pub new_blocks: Vec<String>,
    /// The other network is a base that knows the variant.
    pub knows_variant: bool,
}

impl SparseNetwork {
    /// Replaces the weights of a network that has taken no step by those of `start`. Rows of blocks that
    /// `start` does not have become zero, so that the network computes what `start` does: random ones would
    /// disturb it in every position. If the hidden layer of `start` is smaller, the units that it does
    /// not have stay random, but nothing reads them yet: the network computes the same (Chen et al. 2016,
    /// "Net2Net").
    ///
    /// # Errors
    /// [`StartError`]; the network is then as it was.
    pub fn start_from(
        &mut self,
        start: &SparseWeights,
        variant: &str,
    ) -> Result<Started, StartError> {
        let source: SparseLayout = start.layout.parse()?;
        let found = [source.shape().inputs, source.shape().move_rows];
        let wanted = [start.inputs, start.move_rows];
        if found != wanted {
            return Err(StartError::Rows { found, wanted });
        }
        let SparseSizes { hidden_size, policy_size, value_hidden } = self.sizes;
        let found = [start.hidden_size, start.policy_size, start.value_hidden];
        let wanted = [hidden_size, policy_size, value_hidden];
        let fits = found[0] <= hidden_size && found[1] <= policy_size && found[2] == value_hidden;
        if !fits {
            return Err(StartError::Sizes { found, wanted });
        }
        let map = IndexMap::new(&self.layout, &source);
        self.copy_units(start, &map);
        let layout = HeadLayout::new(value_hidden);
        let head = &mut self.state.head.weights;
        head[layout.bias].copy_from_slice(&start.value_b1);
        head[layout.outcome].copy_from_slice(&start.outcome_w);
        head[layout.outcome_bias].copy_from_slice(&start.outcome_b);
        head[layout.moves_left].copy_from_slice(&start.moves_left_w);
        head[layout.moves_left_bias] = start.moves_left_b;
        Ok(Started {
            new_blocks: map.missing().to_vec(),
            knows_variant: source.variants().iter().any(|name| name == variant),
        })
    }

    fn copy_units(&mut self, start: &SparseWeights, map: &IndexMap) {
        let hidden_size = start.hidden_size;
        let half = hidden_size / 2;
        for (nth, unit) in self.state.units.iter_mut().enumerate() {
            let first = nth * LANE;
            let is_new = first >= half;
            let known_sides: &[usize] = if is_new { &[] } else { &[0, 1] };
            for &side in known_sides {
                let columns = side * half + first;
                unit.bias_columns_mut(side).copy_from_slice(&start.input_bias[columns..][..LANE]);
                for (input, row) in unit.input_columns_mut(side).enumerate() {
                    let input = usize::from(map.input(input as u16));
                    if input < start.inputs {
                        let weights = &start.input_table[input * hidden_size + columns..];
                        row.copy_from_slice(&weights[..LANE]);
                    } else {
                        row.fill(0.0);
                    }
                }
            }
            for (i, row) in unit.value_rows_mut(start.value_hidden).enumerate() {
                for (k, weight) in row.iter_mut().enumerate() {
                    *weight = if is_new { 0.0 } else { start.value_w1[k * half + first + i] };
                }
            }
            // The last row is padding, which is mapped to padding.
            for (row, columns) in unit.move_columns_mut().enumerate() {
                let row = usize::from(map.move_row(row as u16));
                if first >= start.policy_size || row >= start.move_rows {
                    columns.fill(0.0);
                } else {
                    let weights = &start.move_table[row * start.policy_size + first..];
                    columns.copy_from_slice(&weights[..LANE]);
                }
            }
            unit.merge_all(&self.groups);
        }
    }
}

//! Weights of a sparse network, as trainer and exporter exchange them.

use menagerie::encoding::SparseShape;
use serde::{Deserialize, Serialize};

/// Weights of a sparse network. All matrices are stored row by row.
///
/// A forward pass, with `H` = `hidden_size` and `D` = `policy_size`:
///
/// - accumulator: the sum of the rows of the active inputs and `input_bias`, clamped to 0 to 1
/// - `x[i]` = accumulator`[i]` * accumulator`[i + H / 2]`, `H / 2` numbers
/// - value: `x` -> `value_hidden` units with ReLU -> `outcomes` logits and the number of turns left
/// - policy: the logit of a legal move is the dot product of the first `D` numbers of `x` with the sum of
///   the move's rows
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SparseWeights {
    /// Text of the layout ([`SparseLayout`](menagerie::encoding::SparseLayout)), which names the blocks of
    /// the input table and of the move table; empty if it is unknown.
    pub layout: String,
    /// Number of inputs, `F`.
    pub inputs: usize,
    /// Number of rows of the move table, `R`.
    pub move_rows: usize,
    /// Classes of the outcome: the mover wins, the next side wins, draw.
    pub outcomes: usize,
    /// Width of the accumulator, `H`; even.
    pub hidden_size: usize,
    /// Numbers of `x` that the policy reads, `D`; at most `H / 2`.
    pub policy_size: usize,
    /// Units of the hidden layer of the value head, `V`.
    pub value_hidden: usize,
    /// `[F, H]`
    pub input_table: Vec<f32>,
    /// `[H]`
    pub input_bias: Vec<f32>,
    /// `[V, H / 2]`
    pub value_w1: Vec<f32>,
    /// `[V]`
    pub value_b1: Vec<f32>,
    /// `[outcomes, V]`
    pub outcome_w: Vec<f32>,
    /// `[outcomes]`
    pub outcome_b: Vec<f32>,
    /// `[V]`
    pub moves_left_w: Vec<f32>,
    /// Bias of the number of turns left.
    pub moves_left_b: f32,
    /// `[R, D]`
    pub move_table: Vec<f32>,
}

/// Why bytes are no weights of a sparse network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// The bytes do not begin as a file of weights does.
    #[error("not a file of sparse weights, version 2")]
    Magic,
    /// The file is cut short or was changed.
    #[error("sparse weights are damaged: {0}")]
    Damaged(String),
    /// A matrix does not have the size that the other numbers ask for.
    #[error("sparse weights: {name} holds {found} numbers instead of {wanted}")]
    Size {
        /// The matrix.
        name: &'static str,
        /// Its numbers.
        found: usize,
        /// The product of its sizes.
        wanted: usize,
    },
    /// The sizes do not fit one another.
    #[error("sparse weights: hidden size {hidden_size} and policy size {policy_size} do not fit")]
    Widths {
        /// Width of the accumulator.
        hidden_size: usize,
        /// Numbers that the policy reads.
        policy_size: usize,
    },
    /// A weight is infinite or not a number.
    #[error("sparse weights: {name} holds a number that is not finite")]
    NotFinite {
        /// The matrix.
        name: &'static str,
    },
}

const MAGIC: &[u8; 18] = b"menagerie-sparse-2";

impl SparseWeights {
    /// Returns the sizes of the encoding that the weights are for, with `rows_per_move` rows a move.
    pub fn shape(&self, rows_per_move: usize) -> SparseShape {
        SparseShape {
            inputs: self.inputs,
            move_rows: self.move_rows,
            rows_per_move,
            outcomes: self.outcomes,
        }
    }

    /// Returns the file's bytes: a magic word, a CRC-32 of the rest, and the fields as postcard writes
    /// them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0; 4]);
        let mut bytes = postcard::to_extend(self, bytes).expect("numbers and lists have a form");
        let checksum = crc32fast::hash(&bytes[MAGIC.len() + 4..]);
        bytes[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads what [`SparseWeights::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`WeightsError`], if the bytes are of another format, damaged, or of sizes that do not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<SparseWeights, WeightsError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(WeightsError::Magic)?;
        let damaged = |reason: &str| WeightsError::Damaged(reason.to_owned());
        let (checksum, body) =
            rest.split_first_chunk::<4>().ok_or_else(|| damaged("no checksum"))?;
        if u32::from_le_bytes(*checksum) != crc32fast::hash(body) {
            return Err(damaged("wrong checksum"));
        }
        let weights: SparseWeights =
            postcard::from_bytes(body).map_err(|error| WeightsError::Damaged(error.to_string()))?;
        weights.check()?;
        Ok(weights)
    }

    /// Checks that all matrices have their sizes and that all numbers are finite.
    ///
    /// # Errors
    /// [`WeightsError::Widths`], [`WeightsError::Size`] or [`WeightsError::NotFinite`].
    pub fn check(&self) -> Result<(), WeightsError> {
        let SparseWeights { hidden_size, policy_size, value_hidden, outcomes, .. } = *self;
        if hidden_size % 2 != 0 || policy_size > hidden_size / 2 {
            return Err(WeightsError::Widths { hidden_size, policy_size });
        }
        let matrices = [
            ("input_table", &self.input_table, self.inputs.checked_mul(hidden_size)),
            ("input_bias", &self.input_bias, Some(hidden_size)),
            ("value_w1", &self.value_w1, value_hidden.checked_mul(hidden_size / 2)),
            ("value_b1", &self.value_b1, Some(value_hidden)),
            ("outcome_w", &self.outcome_w, outcomes.checked_mul(value_hidden)),
            ("outcome_b", &self.outcome_b, Some(outcomes)),
            ("moves_left_w", &self.moves_left_w, Some(value_hidden)),
            ("move_table", &self.move_table, self.move_rows.checked_mul(policy_size)),
        ];
        for (name, matrix, wanted) in matrices {
            let found = matrix.len();
            let wanted = wanted.unwrap_or(usize::MAX);
            if found != wanted {
                return Err(WeightsError::Size { name, found, wanted });
            }
            if !matrix.iter().all(|weight| weight.is_finite()) {
                return Err(WeightsError::NotFinite { name });
            }
        }
        if !self.moves_left_b.is_finite() {
            return Err(WeightsError::NotFinite { name: "moves_left_b" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> SparseWeights {
        let numbers = |count: usize| (0..count).map(|n| n as f32 / 8.0).collect();
        SparseWeights {
            layout: "a layout".into(),
            inputs: 5,
            move_rows: 7,
            outcomes: 3,
            hidden_size: 4,
            policy_size: 2,
            value_hidden: 3,
            input_table: numbers(20),
            input_bias: numbers(4),
            value_w1: numbers(6),
            value_b1: numbers(3),
            outcome_w: numbers(9),
            outcome_b: numbers(3),
            moves_left_w: numbers(3),
            moves_left_b: 0.5,
            move_table: numbers(14),
        }
    }

    #[test]
    fn weights_survive_their_bytes() {
        let weights = small();
        assert_eq!(SparseWeights::from_bytes(&weights.to_bytes()), Ok(weights));
    }

    #[test]
    fn weights_that_are_damaged_are_refused() {
        let bytes = small().to_bytes();
        for end in 0..bytes.len() {
            assert!(SparseWeights::from_bytes(&bytes[..end]).is_err(), "{end} bytes");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(SparseWeights::from_bytes(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn weights_of_other_sizes_are_refused() {
        let short = SparseWeights { input_bias: vec![0.0; 3], ..small() };
        let size = WeightsError::Size { name: "input_bias", found: 3, wanted: 4 };
        assert_eq!(SparseWeights::from_bytes(&short.to_bytes()), Err(size));
        let wide = SparseWeights { policy_size: 3, ..small() };
        let widths = WeightsError::Widths { hidden_size: 4, policy_size: 3 };
        assert_eq!(SparseWeights::from_bytes(&wide.to_bytes()), Err(widths));
        let infinite = SparseWeights { moves_left_b: f32::NAN, ..small() };
        let error = WeightsError::NotFinite { name: "moves_left_b" };
        assert_eq!(SparseWeights::from_bytes(&infinite.to_bytes()), Err(error));
    }
}

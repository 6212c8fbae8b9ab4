//! Weights of a sparse network from its ONNX file: the counterpart of [`export`](super::export).
//!
//! The weights of an int8 file are those that the network plays with, rounded to 8 bits. A network that is trained
//! further can begin with them.

use std::collections::BTreeMap;

use menagerie::nn::network::verify;
use prost::Message;

use super::export::UNIT;
use super::weights::{SparseWeights, WeightsError};
use crate::onnx::proto::{Model, Tensor, TensorKind};

/// The metadata key of the layout.
const LAYOUT: &str = "menagerie.layout";

/// Why a file is no sparse network whose weights can be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is damaged.
    #[error(transparent)]
    Checksum(#[from] menagerie::nn::network::NetworkError),
    /// The bytes are not an intact ONNX file.
    #[error("not an intact ONNX file: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The file does not hold a sparse network.
    #[error("not a sparse network: no \"{0}\"")]
    Missing(String),
    /// A constant has another type or size than that of a sparse network.
    #[error("not a sparse network: \"{name}\" has the ONNX type {kind} and the sizes {sizes:?}")]
    Unfit {
        /// The constant.
        name: String,
        /// The number of its type.
        kind: i32,
        /// Its sizes.
        sizes: Vec<i64>,
    },
    /// The weights do not fit one another.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Reads the weights of a file of [`export_float`](super::export::export_float) or
/// [`export_int8`](super::export::export_int8).
///
/// # Errors
/// [`ImportError`], if the file is damaged or no sparse network.
pub fn read_weights(file: &[u8]) -> Result<SparseWeights, ImportError> {
    verify(file)?;
    let model = Model::decode(file)?;
    let layout = model.metadata_props.iter().find(|entry| entry.key == LAYOUT);
    let layout = layout.ok_or_else(|| ImportError::Missing(LAYOUT.to_owned()))?;
    let constants = model.graph.map(|graph| graph.initializer).unwrap_or_default();
    let constants =
        Constants(constants.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect());
    let (mut input_table, [inputs, hidden_size]) = constants.matrix("input_table")?;
    let (mut move_table, [move_rows, policy_size]) = constants.matrix("move_table")?;
    let (mut value_w1, [value_hidden, x_size]) = constants.matrix("hidden_weight")?;
    let (outcome_w, [outcomes, _]) = constants.matrix("outcome_weight")?;
    let mut input_bias = constants.numbers("input_bias")?;
    if constants.0.contains_key("one") {
        let one = constants.number("one")?;
        scale(&mut input_table, 1.0 / one);
        scale(&mut input_bias, 1.0 / one);
        scale(&mut move_table, UNIT * constants.number("score_scale")?);
        let scales = constants.numbers("hidden_scale")?;
        if scales.len() != value_hidden {
            return Err(unfit(constants.tensor("hidden_scale")?));
        }
        for (row, unit) in value_w1.chunks_mut(x_size.max(1)).zip(scales) {
            scale(row, UNIT * unit);
        }
    }
    // The last row of a table is padding.
    input_table.truncate(inputs.saturating_sub(1) * hidden_size);
    move_table.truncate(move_rows.saturating_sub(1) * policy_size);
    let weights = SparseWeights {
        layout: layout_of_weights(&layout.value),
        inputs: inputs.saturating_sub(1),
        move_rows: move_rows.saturating_sub(1),
        outcomes,
        hidden_size,
        policy_size,
        value_hidden,
        input_table,
        input_bias,
        value_w1,
        value_b1: constants.numbers("hidden_bias")?,
        outcome_w,
        outcome_b: constants.numbers("outcome_bias")?,
        moves_left_w: constants.numbers("moves_left_weight")?,
        moves_left_b: constants.number("moves_left_bias")?,
        move_table,
    };
    weights.check()?;
    Ok(weights)
}

/// Returns the layout as weights have it. The file of a network for one variant names the board and its symmetries
/// instead of boards and variants.
fn layout_of_weights(text: &str) -> String {
    let converted = text.split_once(" inputs: ").and_then(|(head, blocks)| {
        let [name, version, board, ..] = head.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let of_one = board.chars().next()?.is_ascii_digit();
        of_one.then(|| format!("{name} {version} boards: {board}; variants: ; inputs: {blocks}"))
    });
    converted.unwrap_or_else(|| text.to_owned())
}

fn scale(numbers: &mut [f32], factor: f32) {
    for number in numbers {
        *number *= factor;
    }
}

/// The constants of a file by name.
struct Constants<'a>(BTreeMap<&'a str, &'a Tensor>);

impl Constants<'_> {
    fn tensor(&self, name: &str) -> Result<&Tensor, ImportError> {
        self.0.get(name).copied().ok_or_else(|| ImportError::Missing(name.to_owned()))
    }

    /// Returns the numbers of a constant, as floats.
    fn numbers(&self, name: &str) -> Result<Vec<f32>, ImportError> {
        let tensor = self.tensor(name)?;
        let raw = &tensor.raw_data;
        let numbers = match TensorKind::try_from(tensor.data_type) {
            Ok(TensorKind::Float) => {
                raw.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
            }
            Ok(TensorKind::Int16) => {
                let (numbers, _) = raw.as_chunks();
                numbers.iter().map(|&bytes| f32::from(i16::from_le_bytes(bytes))).collect()
            }
            Ok(TensorKind::Int8) => raw.iter().map(|&byte| f32::from(byte as i8)).collect(),
            _ => Vec::new(),
        };
        let wanted = tensor
            .dims
            .iter()
            .try_fold(1_usize, |product, &size| product.checked_mul(usize::try_from(size).ok()?));
        if wanted != Some(numbers.len()) || numbers.is_empty() {
            return Err(unfit(tensor));
        }
        Ok(numbers)
    }

    /// Returns the numbers of a matrix, with its sizes.
    fn matrix(&self, name: &str) -> Result<(Vec<f32>, [usize; 2]), ImportError> {
        let numbers = self.numbers(name)?;
        let tensor = self.tensor(name)?;
        match tensor.dims[..] {
            // They are not negative, as the product is right.
            [rows, columns] => Ok((numbers, [rows as usize, columns as usize])),
            _ => Err(unfit(tensor)),
        }
    }

    /// Returns the only number of a constant.
    fn number(&self, name: &str) -> Result<f32, ImportError> {
        match self.numbers(name)?[..] {
            [number] => Ok(number),
            _ => Err(unfit(self.tensor(name)?)),
        }
    }
}

fn unfit(tensor: &Tensor) -> ImportError {
    let Tensor { name, data_type, dims, .. } = tensor;
    ImportError::Unfit { name: name.clone(), kind: *data_type, sizes: dims.clone() }
}

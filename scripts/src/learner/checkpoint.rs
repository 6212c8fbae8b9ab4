//! A learner's state as bytes.
//!
//! One object, little-endian: a magic word; the length of a TOML header (u64) and the header, which
//! says what network this is; weights, average, first and second moments (f32 each, the header's
//! tensors end to end); and a checksum of all before it (FNV-1a over 8-byte words, u64).

use menagerie::encoding::Shape;
use serde::{Deserialize, Serialize};

use super::State;
use super::optimizer::Moments;
use crate::network::Architecture;
use crate::network::graph_ir::GraphIr;

const MAGIC: &[u8; 16] = b"menagerie-learn1";

/// Why a checkpoint could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It is no checkpoint, or not a whole one.
    #[error("\"{name}\" is no whole checkpoint: {why}")]
    Damaged {
        /// The checkpoint.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The checkpoint is of another network than the one wanted.
    #[error("\"{name}\" is of another network: its {what} is {found}, but {wanted} is wanted")]
    Mismatch {
        /// The checkpoint.
        name: String,
        /// What differs.
        what: &'static str,
        /// What the file says.
        found: String,
        /// What was asked for.
        wanted: String,
    },
}

/// What a checkpoint says about itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    step: u64,
    /// Planes, height, width, policy planes, outcomes.
    shape: [usize; 5],
    architecture: Architecture,
    tensors: Vec<Entry>,
}

/// A tensor's name and axes.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    shape: Vec<usize>,
}

fn sizes(shape: Shape) -> [usize; 5] {
    [shape.planes, shape.height, shape.width, shape.policy_planes, shape.outcomes]
}

fn entries(plan: &GraphIr) -> Vec<Entry> {
    let parameters = plan.parameters.iter();
    parameters.map(|one| Entry { name: one.name.clone(), shape: one.shape.clone() }).collect()
}

/// The bytes of a checkpoint.
pub(super) fn encode(
    shape: Shape,
    architecture: &Architecture,
    plan: &GraphIr,
    state: &State,
) -> Result<Vec<u8>, toml::ser::Error> {
    let header = Header {
        step: state.step,
        shape: sizes(shape),
        architecture: architecture.clone(),
        tensors: entries(plan),
    };
    let header = toml::to_string(&header)?;
    let arrays = [&state.weights, &state.average, &state.moments.first, &state.moments.second];
    let numbers: usize = arrays.iter().map(|array| array.len()).sum();
    let mut bytes = Vec::with_capacity(MAGIC.len() + 16 + header.len() + 4 * numbers);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    for number in arrays.into_iter().flatten() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// Reads a checkpoint, which must be of this network; `name` is for errors.
pub(super) fn decode(
    name: &str,
    bytes: &[u8],
    shape: Shape,
    architecture: &Architecture,
    plan: &GraphIr,
) -> Result<State, CheckpointError> {
    let damaged = |why: String| CheckpointError::Damaged { name: name.to_owned(), why };
    let cut = || damaged(format!("its {} bytes are too few", bytes.len()));

    let body =
        bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("it does not begin as one".into()))?;
    let (_, sum) = bytes.split_last_chunk::<8>().ok_or_else(cut)?;
    if checksum(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*sum) {
        return Err(damaged("its checksum does not fit its content".into()));
    }
    let (len, body) = body.split_first_chunk::<8>().ok_or_else(cut)?;
    let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| cut())?;
    let (header, body) = body.split_at_checked(len).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|error| damaged(error.to_string()))?;
    let header: Header = toml::from_str(header).map_err(|error| damaged(error.to_string()))?;

    let differs = |what, found: String, wanted: String| {
        Err(CheckpointError::Mismatch { name: name.to_owned(), what, found, wanted })
    };
    if header.shape != sizes(shape) {
        let (found, wanted) = (format!("{:?}", header.shape), format!("{:?}", sizes(shape)));
        return differs("shape (planes, height, width, policy planes, outcomes)", found, wanted);
    }
    if header.architecture != *architecture {
        let (found, wanted) = (format!("{:?}", header.architecture), format!("{architecture:?}"));
        return differs("architecture", found, wanted);
    }
    let wanted = entries(plan);
    if header.tensors != wanted {
        let (found, wanted) = (format!("{:?}", header.tensors), format!("{wanted:?}"));
        return differs("list of tensors", found, wanted);
    }
    let count = plan.len();
    let (numbers, rest) = body.split_at(body.len() - 8).0.as_chunks::<4>();
    if numbers.len() != 4 * count || !rest.is_empty() {
        return Err(cut());
    }
    let array = |index: usize| -> Vec<f32> {
        let numbers = &numbers[index * count..(index + 1) * count];
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let [weights, average, first, second] = [0, 1, 2, 3].map(array);
    if [&weights, &average, &first, &second].into_iter().flatten().any(|number| !number.is_finite())
    {
        return Err(damaged("it holds a number that is not finite".into()));
    }
    Ok(State { step: header.step, weights, average, moments: Moments { first, second } })
}

/// FNV-1a over little-endian words of eight bytes, the last one filled up with zeros.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    words.fold(0xcbf2_9ce4_8422_2325, |sum, word| {
        (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

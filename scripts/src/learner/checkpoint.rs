//! Checkpoints: the state of a learner as bytes.
//!
//! Little-endian: a magic word; the length of a TOML header (u64) and the header, which describes the
//! network; weights, average, first and second moments (f32 each, the tensors of the header end to end);
//! and a checksum of all bytes before it (FNV-1a over 8-byte words, u64).

use std::fmt::Debug;

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
    /// It is not a checkpoint, or a damaged one.
    #[error("\"{name}\" is not an intact checkpoint: {why}")]
    Damaged {
        /// The checkpoint.
        name: String,
        /// Why it is not intact.
        why: String,
    },
    /// The checkpoint is of another network.
    #[error("\"{name}\" is of another network: its {what} is {found}, expected {expected}")]
    Mismatch {
        /// The checkpoint.
        name: String,
        /// What differs.
        what: &'static str,
        /// That of the file.
        found: String,
        /// That of the learner.
        expected: String,
    },
}

/// The header of a checkpoint.
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

fn entries(graph: &GraphIr) -> Vec<Entry> {
    let parameters = graph.parameters.iter();
    parameters.map(|one| Entry { name: one.name.clone(), shape: one.shape.clone() }).collect()
}

/// Encodes a checkpoint.
pub(super) fn encode(
    shape: Shape,
    architecture: &Architecture,
    graph: &GraphIr,
    state: &State,
) -> Result<Vec<u8>, toml::ser::Error> {
    let header = Header {
        step: state.step,
        shape: sizes(shape),
        architecture: architecture.clone(),
        tensors: entries(graph),
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

/// Decodes a checkpoint, which must be of this network. Error messages name it `name`.
pub(super) fn decode(
    name: &str,
    bytes: &[u8],
    shape: Shape,
    architecture: &Architecture,
    graph: &GraphIr,
) -> Result<State, CheckpointError> {
    let damaged = |why: String| CheckpointError::Damaged { name: name.to_owned(), why };
    let truncated = || damaged(format!("truncated at {} bytes", bytes.len()));

    let body = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("unknown first bytes".into()))?;
    let (_, sum) = bytes.split_last_chunk::<8>().ok_or_else(truncated)?;
    if checksum(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*sum) {
        return Err(damaged("wrong checksum".into()));
    }
    let (len, body) = body.split_first_chunk::<8>().ok_or_else(truncated)?;
    let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| truncated())?;
    let (header, body) = body.split_at_checked(len).ok_or_else(truncated)?;
    let header = std::str::from_utf8(header).map_err(|error| damaged(error.to_string()))?;
    let header: Header = toml::from_str(header).map_err(|error| damaged(error.to_string()))?;

    let shape_name = "shape (planes, height, width, policy planes, outcomes)";
    check_equal(name, shape_name, &header.shape, &sizes(shape))?;
    check_equal(name, "architecture", &header.architecture, architecture)?;
    check_equal(name, "list of tensors", &header.tensors, &entries(graph))?;
    let count = graph.len();
    let (numbers, rest) = body.split_at(body.len() - 8).0.as_chunks::<4>();
    if numbers.len() != 4 * count || !rest.is_empty() {
        return Err(truncated());
    }
    let array = |index: usize| -> Vec<f32> {
        let numbers = &numbers[index * count..(index + 1) * count];
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let [weights, average, first, second] = [0, 1, 2, 3].map(array);
    if [&weights, &average, &first, &second].into_iter().flatten().any(|number| !number.is_finite())
    {
        return Err(damaged("a number is not finite".into()));
    }
    Ok(State { step: header.step, weights, average, moments: Moments { first, second } })
}

fn check_equal<T: PartialEq + Debug>(
    name: &str,
    what: &'static str,
    found: &T,
    expected: &T,
) -> Result<(), CheckpointError> {
    if found == expected {
        return Ok(());
    }
    Err(CheckpointError::Mismatch {
        name: name.to_owned(),
        what,
        found: format!("{found:?}"),
        expected: format!("{expected:?}"),
    })
}

/// FNV-1a over little-endian words of eight bytes, the last one padded with zeros.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    words.fold(0xcbf2_9ce4_8422_2325, |sum, word| {
        (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

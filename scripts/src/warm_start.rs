//! Start weights of a run from the network of another, possibly of another variant.

use menagerie::encoding::{Encoding, Layout, PlaneIndices};
use menagerie::nn::NetworkMetadata;

use crate::network::{Architecture, Network, NetworkError};
use crate::onnx;

/// How the weights of a network are transferred to another variant.
struct Transfer {
    places: PlaneIndices,
    /// From a network of one board to one of two.
    to_two_boards: bool,
}

/// Reads a float network that the trainer wrote as an ONNX file, for games of `encoding`. Error messages
/// name the file `name`.
///
/// The network may be one of another variant on the same board: weights of planes that both have, by name, are
/// transferred, and the others are 0. So a network of chess is a start for a variant with drops, and one of
/// crazyhouse for any variant with the same pieces. From a game on one board to bughouse it becomes a
/// [`TwoBoards`](crate::network::Architecture::TwoBoards).
///
/// # Errors
/// If the file is damaged, or its network does not fit the encoding.
pub fn read_network(name: &str, bytes: &[u8], encoding: &Encoding) -> anyhow::Result<Network> {
    let fault = |error: String| anyhow::anyhow!("{name}: {error}");
    let (network, entries) = onnx::read(bytes).map_err(|error| fault(error.to_string()))?;
    let get =
        |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let metadata = NetworkMetadata::read(get).map_err(|error| fault(error.to_string()))?;
    let found = metadata.layout;
    let expected = encoding.layout();
    if found == expected {
        return Ok(network);
    }
    match find_transfer(&network, &found, &expected, encoding) {
        Some(transfer) => {
            apply(&network, &transfer, encoding).map_err(|error| fault(error.to_string()))
        }
        None => Err(fault(format!("its layout is \"{found}\", expected \"{expected}\""))),
    }
}

/// Returns how the weights of a network with layout `found` are transferred to layout `expected`; `None` if
/// the layouts have another board, other outcomes or no move in common, or `found` does not fit the network.
fn find_transfer(
    network: &Network,
    found: &str,
    expected: &str,
    encoding: &Encoding,
) -> Option<Transfer> {
    let old = Layout::read(found)?;
    let new = Layout::read(expected)?;
    let shape = network.shape();
    let sizes = [shape.planes, shape.policy_planes];
    let has_boards = |layout: &Layout<'_>, boards: usize| {
        [layout.planes(), layout.policy()].map(|planes| boards * planes.len()) == sizes
    };
    let two_boards = matches!(network.architecture(), Architecture::TwoBoards { .. });
    let (places, to_two_boards) = match (old.of_board(), new.of_board(), two_boards) {
        (None, Some(new), false) => (new.indices_in(&old), true),
        (Some(board), Some(new), true) if has_boards(&board, 2) => (new.indices_in(&board), false),
        (.., false) => (new.indices_in(&old), false),
        (.., true) => return None,
    };
    let places = places?;
    let has_common_move = places.policy.iter().any(Option::is_some);
    if has_boards(&old, 1) && shape.outcomes == encoding.shape().outcomes && has_common_move {
        Some(Transfer { places, to_two_boards })
    } else {
        None
    }
}

fn apply(
    network: &Network,
    transfer: &Transfer,
    encoding: &Encoding,
) -> Result<Network, NetworkError> {
    if transfer.to_two_boards {
        network.to_two_boards(encoding.shape(), &transfer.places)
    } else {
        network.adapted(encoding.shape(), &transfer.places)
    }
}

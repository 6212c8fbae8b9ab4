//! Weights to learn on from.

use menagerie::encoding::{Encoding, Layout};
use menagerie::nn::NetworkMetadata;

use crate::network::{Architecture, Network};
use crate::onnx;

/// The network in an ONNX file that the trainer wrote, of floats, called `name` in errors, for
/// games of this encoding.
///
/// It may have learnt another game on the same board: what the two have in common, by the names of
/// their planes, is carried over, and the rest begins at zero. So chess helps a game with drops,
/// and crazyhouse any game that is played with the same men. From a game of one table to one of two
/// it becomes a [`Twin`](crate::network::Architecture::Twin).
///
/// # Errors
/// What is wrong with the file, or with it for this encoding.
pub fn network(name: &str, bytes: &[u8], encoding: &Encoding) -> anyhow::Result<Network> {
    let fault = |error: String| anyhow::anyhow!("{name}: {error}");
    let (network, entries) = onnx::read(bytes).map_err(|error| fault(error.to_string()))?;
    let get =
        |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let network_metadata = NetworkMetadata::read(get).map_err(|error| fault(error.to_string()))?;
    let (found, wanted) = (network_metadata.layout, encoding.layout());
    if found == wanted {
        return Ok(network);
    }
    let shape = network.shape();
    let carried = || {
        let (known, new) = (Layout::read(&found)?, Layout::read(&wanted)?);
        let sizes = [shape.planes, shape.policy_planes];
        let has = |layout: &Layout<'_>, tables: usize| {
            [layout.planes(), layout.policy()].map(|planes| tables * planes.len()) == sizes
        };
        let twin = matches!(network.architecture(), Architecture::Twin { .. });
        let (places, twins) = match (known.of_table(), new.of_table(), twin) {
            (None, Some(new), false) => (new.places_in(&known), true),
            (Some(table), Some(new), true) if has(&table, 2) => (new.places_in(&table), false),
            (.., false) => (new.places_in(&known), false),
            (.., true) => return None,
        };
        let places = places.filter(|_| has(&known, 1))?;
        let played = shape.outcomes == encoding.shape().outcomes;
        let begins = played && places.policy.iter().any(Option::is_some);
        begins.then(|| match twins {
            true => network.twinned(encoding.shape(), &places),
            false => network.adapted(encoding.shape(), &places),
        })
    };
    let Some(carried) = carried() else {
        return Err(fault(format!("its layout is \"{found}\", not \"{wanted}\"")));
    };
    carried.map_err(|error| fault(error.to_string()))
}

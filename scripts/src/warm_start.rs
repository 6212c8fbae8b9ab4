//! Weights to learn on from.

use menagerie::encoding::Encoding;
use menagerie::evaluation::Passport;

use crate::network::Network;
use crate::onnx;

/// The network in an ONNX file that the trainer wrote, of floats, called `name` in errors. It must
/// be of this encoding; of which game does not matter.
///
/// # Errors
/// What is wrong with the file, or with it for this encoding.
pub fn network(name: &str, bytes: &[u8], encoding: &Encoding) -> anyhow::Result<Network> {
    let fault = |error: String| anyhow::anyhow!("{name}: {error}");
    let (network, entries) = onnx::read(bytes).map_err(|error| fault(error.to_string()))?;
    let get =
        |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let passport = Passport::read(get).map_err(|error| fault(error.to_string()))?;
    let (found, wanted) = (passport.layout, encoding.layout());
    anyhow::ensure!(found == wanted, fault(format!("its layout is \"{found}\", not \"{wanted}\"")));
    Ok(network)
}

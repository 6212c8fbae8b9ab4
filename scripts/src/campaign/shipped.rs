//! The shipped network of a variant, as the engine finds it, in a folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use menagerie::encoding::Encoding;
use menagerie::engine::network_fit;
use menagerie::nn::network::Backend;
use menagerie::nn::runtime::{Runtime, RuntimeError};
use menagerie::nn::{Evaluator, Onnx};
use menagerie::variant::{BASE_NETWORK, Variant};

/// A network that plays a variant.
#[derive(Clone, Debug)]
pub(super) struct ShippedNetwork {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The variant that it was made for, if it is another.
    pub(super) made_for: Option<String>,
    /// Whether alpha-beta can search with it.
    pub(super) is_direct: bool,
}

impl ShippedNetwork {
    /// Finds the network that plays a variant: its own, that of the variant whose network plays it, or the base
    /// network; the int8 file before that of floats. A file that does not fit the variant any more is passed over. If
    /// there is none, returns the names of the files that were passed over, each with the reason.
    ///
    /// # Errors
    /// If no network can be run at all.
    pub(super) fn find(
        nets: &Path,
        variant: &Variant,
    ) -> Result<Result<ShippedNetwork, Vec<String>>, RuntimeError> {
        // Otherwise all networks would be passed over.
        Runtime::load(None)?;
        let encoding = Encoding::of(&variant.start());
        let own = variant.name();
        let files = |game| [shipped_name(game), format!("{game}.onnx")].map(|name| (game, name));
        let base = [(own, shipped_name(BASE_NETWORK))];
        let related = variant.network().map(files).into_iter().flatten();
        let mut refused = Vec::new();
        for (game, name) in files(own).into_iter().chain(related).chain(base) {
            let path = nets.join(&name);
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    refused.push(format!("{name}: {error}"));
                    continue;
                }
            };
            let fit = network_fit(variant, game);
            match Onnx::open_related(&bytes, &encoding, game, fit, Backend::Cpu, 1) {
                Ok(network) => {
                    let made_for = if game == own { None } else { Some(game.to_owned()) };
                    let is_direct = network.direct().is_some();
                    return Ok(Ok(ShippedNetwork { path, bytes, made_for, is_direct }));
                }
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        Ok(Err(refused))
    }

    /// Returns the name of its file.
    pub(super) fn name(&self) -> String {
        file_name(&self.path)
    }
}

/// Returns the name under which a network of a variant is shipped.
pub(super) fn shipped_name(variant: &str) -> String {
    format!("{variant}.int8.onnx")
}

/// Returns a path's last part, for messages and records that go to other machines.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

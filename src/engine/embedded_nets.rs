//! The networks of the folder `nets/`, and the few that are embedded in the executable.

use std::io;
use std::path::{Path, PathBuf};

use crate::encoding::Encoding;
use crate::nn::runtime::executable_folder;
use crate::nn::{NetworkFile, Weights};
use crate::variant::{BASE_NETWORK, Variant};

/// The folder of networks.
const FOLDER: &str = "nets";

/// The number of folders, from that of the executable upwards, in which [`FOLDER`] is searched: `deps`,
/// `release`, a target triple, `target` and the checkout.
const MAX_PARENTS: usize = 5;

/// An embedded file: its name and its bytes.
type EmbeddedFile = (&'static str, &'static [u8]);

/// Embeds a file of `nets/`.
macro_rules! file {
    ($name:literal) => {
        (concat!("nets/", $name), include_bytes!(concat!("../../nets/", $name)))
    };
}

/// The embedded networks, by the name of the variant: those of the games that README.md begins with.
const EMBEDDED: &[(&str, EmbeddedFile)] =
    &[("3x3", file!("3x3.onnx")), ("chess", file!("chess.int8.onnx"))];

/// A network file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the network \"{name}\": {error}")]
pub(super) struct UnreadableNetwork {
    /// The name of the file.
    pub(super) name: String,
    /// The error of the system.
    pub(super) error: io::Error,
}

type ReadResult = Result<Weights, UnreadableNetwork>;

/// Returns the networks of a variant, the best first: that in the folder, and the embedded one.
pub(super) fn networks(variant: &str) -> Vec<ReadResult> {
    on_disk(variant).into_iter().chain(embedded(variant).map(Ok)).collect()
}

fn embedded(variant: &str) -> Option<Weights> {
    let (_, (name, bytes)) = EMBEDDED.iter().find(|(name, _)| *name == variant)?;
    let file = NetworkFile { name: (*name).into(), bytes: (*bytes).into() };
    Some(Weights::new(file, None))
}

/// Returns the names of the networks that may evaluate a variant without a network of its own, the best first: that of
/// the variant that its section names, and the base network.
pub(super) fn related(variant: &Variant) -> impl Iterator<Item = &str> {
    let plays_base =
        !variant.uses_own_network_only() && Encoding::of(&variant.start()).sparse().is_some();
    variant.network().into_iter().chain(plays_base.then_some(BASE_NETWORK))
}

/// Returns `true` if a network is shipped for a variant: its own, the network that its section names, or the base
/// network. Whether it fits the variant is not known before it is opened.
pub fn ships_network(variant: &Variant) -> bool {
    let is_shipped = |name: &str| path_on_disk(name).is_some() || embedded(name).is_some();
    is_shipped(variant.name()) || related(variant).any(is_shipped)
}

/// Returns the path of the network of a variant in the first folder that has one.
fn path_on_disk(variant: &str) -> Option<PathBuf> {
    // The name may come from a user's file.
    if !variant.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return None;
    }
    network_folders().into_iter().find_map(|folder| {
        let names = [format!("{variant}.onnx"), format!("{variant}.int8.onnx")];
        names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
    })
}

/// Reads the network of a variant from the first folder that has one.
fn on_disk(variant: &str) -> Option<ReadResult> {
    let path = path_on_disk(variant)?;
    let name = format!("{FOLDER}/{}", path.file_name()?.to_str()?);
    Some(
        Weights::read(&path, &name)
            .map_err(|error| UnreadableNetwork { name: path.display().to_string(), error }),
    )
}

/// Returns the folders in which networks are searched, in order. Not all of them exist.
pub(super) fn network_folders() -> Vec<PathBuf> {
    folders(executable_folder().as_deref())
}

/// Returns the folders of networks: [`FOLDER`] in the folder of the executable, in those above it, and in the
/// working directory.
fn folders(executable_folder: Option<&Path>) -> Vec<PathBuf> {
    let parents =
        executable_folder.into_iter().flat_map(|folder| folder.ancestors().take(MAX_PARENTS));
    parents.chain([Path::new("")]).map(|folder| folder.join(FOLDER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_from_the_executable_upwards() {
        let found = folders(Some(Path::new("/a/b")));
        assert_eq!(found, ["/a/b/nets", "/a/nets", "/nets", "nets"].map(PathBuf::from));
        assert_eq!(folders(None), [PathBuf::from("nets")]);
    }

    #[test]
    fn shipped_networks_are_found() {
        let catalogue = crate::variant::Catalogue::shipped();
        let variant = |name| catalogue.get(name).expect("a shipped variant");
        assert!(ships_network(&variant("chess")) && ships_network(&variant("3x3")));
        assert!(!ships_network(&variant("tictactoe")));
    }

    #[test]
    fn names_with_separators_are_not_read() {
        for name in ["../nets/chess", "a/b", "chess.int8", ""] {
            assert!(networks(name).is_empty(), "{name}");
        }
        assert!(networks("3x3").iter().all(Result::is_ok));
        assert!(networks("3x3").len() == 2);
    }
}

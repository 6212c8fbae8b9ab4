//! The networks of the folder `nets/`, and the few that the executable holds itself.

use std::env::current_exe;
use std::path::{Path, PathBuf};

use crate::nn::{NetworkFile, Weights};
use crate::variant::Variant;

/// The folder of networks.
const FOLDER: &str = "nets";

/// The number of folders, from that of the executable upwards, in which [`FOLDER`] is looked for: `deps`,
/// `release`, a target triple, `target` and the checkout.
const MAX_PARENTS: usize = 5;

/// The base network, which plays games that have no network of their own.
const BASE: &str = "base";

/// A file in `nets/`: its name and its bytes.
type Embedded = (&'static str, &'static [u8]);

/// A file of `nets/`, by its name.
macro_rules! file {
    ($name:literal) => {
        (concat!("nets/", $name), include_bytes!(concat!("../../nets/", $name)))
    };
}

/// The networks inside the executable, by the name of the variant: those of the games that README.md begins
/// with.
const EMBEDDED: &[(&str, Embedded)] =
    &[("3x3", file!("3x3.onnx")), ("chess", file!("chess.int8.onnx"))];

/// Returns the networks for the game whose network plays `variant` as long as it has none of its own, and the
/// name of that game; `None` if there is no such game.
pub(super) fn substitutes(variant: &Variant) -> Option<(Vec<Result<Weights, String>>, &str)> {
    let game = variant.network()?;
    Some((networks(game), game))
}

/// Returns the base network, if there is one.
pub(super) fn base() -> Option<Result<Weights, String>> {
    on_disk(BASE)
}

/// Returns the networks that were made for a game, the best first: that in the folder, and that in the
/// executable. An error message stands for a file that cannot be read.
pub(super) fn networks(game: &str) -> Vec<Result<Weights, String>> {
    on_disk(game).into_iter().chain(embedded(game).map(Ok)).collect()
}

fn embedded(game: &str) -> Option<Weights> {
    let (_, (name, bytes)) = EMBEDDED.iter().find(|(name, _)| *name == game)?;
    let file = NetworkFile { name: (*name).into(), bytes: (*bytes).into() };
    Some(Weights::new(file, None))
}

/// Reads the network of a game from the first folder that has one.
fn on_disk(game: &str) -> Option<Result<Weights, String>> {
    // The name may come from a file of the user's.
    if !game.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return None;
    }
    let path = folders(current_exe().ok().as_deref()).into_iter().find_map(|folder| {
        let names = [format!("{game}.onnx"), format!("{game}.int8.onnx")];
        names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
    })?;
    let name = format!("{FOLDER}/{}", path.file_name()?.to_str()?);
    let weights = Weights::read(&path, &name);
    Some(
        weights.map_err(|error| format!("cannot read the network \"{}\": {error}", path.display())),
    )
}

/// Returns where networks may lie: in [`FOLDER`] beside the executable or above it, or in the working
/// directory.
fn folders(executable: Option<&Path>) -> Vec<PathBuf> {
    let home = executable.and_then(Path::parent);
    let above = home.into_iter().flat_map(|home| home.ancestors().take(MAX_PARENTS));
    above.chain([Path::new("")]).map(|folder| folder.join(FOLDER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_from_the_executable_upwards() {
        let found = folders(Some(Path::new("/a/b/menagerie")));
        assert_eq!(found, ["/a/b/nets", "/a/nets", "/nets", "nets"].map(PathBuf::from));
        assert_eq!(folders(None), [PathBuf::from("nets")]);
    }

    #[test]
    fn names_with_separators_are_no_files() {
        for name in ["../nets/chess", "a/b", "chess.int8", ""] {
            assert!(networks(name).is_empty(), "{name}");
        }
        assert!(networks("3x3").iter().all(Result::is_ok));
        assert!(networks("3x3").len() == 2);
    }
}

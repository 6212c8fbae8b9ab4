//! Network files: a network, and optionally the same network quantised for CPUs.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::network::{Backend, verify};
use super::onnx::{Fit, Onnx, UnfitNetwork};
use crate::encoding::Encoding;
use crate::files::open_regular;

/// The maximum size of a network file, a guard against endless files.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// The extension of a network's file, and of its quantised form.
const EXTENSION: &str = ".onnx";
const QUANTISED_EXTENSION: &str = ".int8.onnx";

/// The name and content of a network file.
#[derive(Clone, Debug)]
pub struct NetworkFile {
    /// The name, for messages.
    pub name: String,
    /// The content.
    pub bytes: Cow<'static, [u8]>,
}

/// A network in one or two files: `NAME.onnx`, which runs everywhere, and `NAME.int8.onnx`, its quantised
/// form, which is faster on a CPU. A sparse network is always one file.
#[derive(Clone, Debug)]
pub struct Weights {
    floats: NetworkFile,
    quantised: Option<NetworkFile>,
    /// Why an existing quantised file could not be read.
    quantised_error: Option<String>,
}

/// An opened network and its file.
#[derive(Debug)]
pub struct Opened<'a> {
    /// The network.
    pub network: Onnx,
    /// The file that is used.
    pub file: &'a NetworkFile,
    /// Why it does not run on a GPU, or why the quantised file is not used, one line each.
    pub notes: Vec<String>,
}

impl Weights {
    /// Returns a network with its quantised form, if there is one.
    pub fn new(floats: NetworkFile, quantised: Option<NetworkFile>) -> Weights {
        Weights { floats, quantised, quantised_error: None }
    }

    /// Reads the file `path`, and the quantised file in the same folder if it exists. `name` is the name for
    /// messages.
    ///
    /// # Errors
    /// If `path` cannot be read, is not a regular file, or is too large.
    pub fn read(path: &Path, name: &str) -> std::io::Result<Weights> {
        let floats = NetworkFile { name: name.to_owned(), bytes: read_file(path)?.into() };
        let mut weights = Weights::new(floats, None);
        if let Some(path) = Weights::quantised_path(path)
            && let Some(name) = Weights::quantised_path(Path::new(name))
        {
            let name = name.display().to_string();
            match read_file(&path) {
                Ok(bytes) => weights.quantised = Some(NetworkFile { name, bytes: bytes.into() }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    weights.quantised_error = Some(format!("cannot read \"{name}\": {error}"))
                }
            }
        }
        Ok(weights)
    }

    /// Returns the name of the network.
    pub fn name(&self) -> &str {
        &self.floats.name
    }

    /// Returns the path of the quantised form of the network in `path`. `None` if `path` does not end in
    /// `.onnx`, or is that of a quantised form.
    pub fn quantised_path(path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(EXTENSION)?;
        let quantised = name.ends_with(QUANTISED_EXTENSION);
        (!quantised).then(|| path.with_file_name(format!("{stem}{QUANTISED_EXTENSION}")))
    }

    /// Opens the network to play `variant` in `encoding`, on one thread. On a CPU the quantised form is used
    /// if it fits.
    ///
    /// # Errors
    /// If the network is invalid, does not fit, or cannot be run.
    pub fn open(
        &self,
        encoding: &Encoding,
        variant: &str,
        backend: Backend,
    ) -> Result<Opened<'_>, UnfitNetwork> {
        self.open_related(encoding, variant, Fit::Exact, backend)
    }

    /// Does the same with a network that was trained for the variant `made_for`, which may differ from the one to play, see
    /// [`Onnx::open_related`].
    ///
    /// # Errors
    /// If the network is invalid, does not fit, or cannot be run.
    pub fn open_related(
        &self,
        encoding: &Encoding,
        made_for: &str,
        fit: Fit,
        backend: Backend,
    ) -> Result<Opened<'_>, UnfitNetwork> {
        // Opened first, because that shows whether there is a GPU to run it.
        let open = |file: &NetworkFile, backend| {
            Onnx::open_related(&file.bytes, encoding, made_for, fit, backend, 1)
        };
        let network = open(&self.floats, backend)?;
        let mut notes: Vec<String> = network.note().map(str::to_owned).into_iter().collect();
        if network.backend() == Backend::Cuda || network.is_sparse() {
            return Ok(Opened { network, file: &self.floats, notes });
        }
        notes.extend(self.quantised_error.clone());
        if let Some(file) = &self.quantised {
            let name = &file.name;
            match open(file, Backend::Cpu) {
                Ok(network) if self.is_source_of(&network) => {
                    return Ok(Opened { network, file, notes });
                }
                Ok(_) => notes.push(format!(
                    "network {name} is not used: it was not quantised from the current {}",
                    self.floats.name
                )),
                Err(error) => notes.push(format!("network {name} is not used: {error}")),
            }
        }
        Ok(Opened { network, file: &self.floats, notes })
    }

    /// Returns `true` if a network was quantised from the file with floats.
    fn is_source_of(&self, quantised: &Onnx) -> bool {
        quantised.network_metadata().quantised_from.as_deref() == verify(&self.floats.bytes).ok()
    }
}

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > MAX_FILE_BYTES {
        return Err(std::io::Error::other("file too large for a network"));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantised_path_of_names() {
        let of = |name| Weights::quantised_path(Path::new(name));
        assert_eq!(of("nets/3x3.onnx"), Some(PathBuf::from("nets/3x3.int8.onnx")));
        assert_eq!(of("/a.b/c.d.onnx"), Some(PathBuf::from("/a.b/c.d.int8.onnx")));
        for name in ["a.int8.onnx", "a", "a.ONNX", "", "..", "onnx"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}

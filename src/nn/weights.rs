//! A network's file, and beside it perhaps the same network quantised, for CPUs.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::network::{Backend, verify};
use super::onnx::{Onnx, UnfitNetwork};
use crate::encoding::Encoding;

/// No network is larger, in bytes: a guard against files without an end.
const LARGEST: u64 = 1 << 31;

/// The end of a network's name, and that of its quantised form.
const ENDING: &str = ".onnx";
const QUANTISED_ENDING: &str = ".int8.onnx";

/// A file: what it is called, and what is in it.
#[derive(Clone, Debug)]
pub struct NetworkFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Cow<'static, [u8]>,
}

/// A network in one file, or in two: `NAME.onnx`, which runs everywhere, and `NAME.int8.onnx`,
/// which was made of it and is faster on a CPU. A sparse network is always one file.
#[derive(Clone, Debug)]
pub struct Weights {
    floats: NetworkFile,
    quantised: Option<NetworkFile>,
    /// Why a quantised file that is there could not be read.
    unread: Option<String>,
}

/// A network that was opened, and of which file.
#[derive(Debug)]
pub struct Opened<'a> {
    /// The network.
    pub network: Onnx,
    /// Its file.
    pub file: &'a NetworkFile,
    /// Why it does not run on a GPU, or is not the quantised file, a line each.
    pub notes: Vec<String>,
}

impl Weights {
    /// The network in `file`, and its quantised form, if there is one.
    pub fn new(floats: NetworkFile, quantised: Option<NetworkFile>) -> Weights {
        Weights { floats, quantised, unread: None }
    }

    /// Reads the file `path` and, if it is there, the quantised one beside it; `name` is what it is
    /// called in words.
    ///
    /// # Errors
    /// What the system says of `path`, or that it is no file or too large a one.
    pub fn read(path: &Path, name: &str) -> std::io::Result<Weights> {
        let floats = NetworkFile { name: name.to_owned(), bytes: bytes(path)?.into() };
        let mut weights = Weights::new(floats, None);
        let beside = Weights::quantised_path(path).zip(Weights::quantised_path(Path::new(name)));
        if let Some((path, name)) = beside {
            let name = name.display().to_string();
            match bytes(&path) {
                Ok(bytes) => weights.quantised = Some(NetworkFile { name, bytes: bytes.into() }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => weights.unread = Some(format!("cannot read \"{name}\": {error}")),
            }
        }
        Ok(weights)
    }

    /// What the network is called.
    pub fn name(&self) -> &str {
        &self.floats.name
    }

    /// Where the quantised form of the network in `path` lies; `None` if it has no name for one.
    pub fn quantised_path(path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(ENDING)?;
        let quantised = name.ends_with(QUANTISED_ENDING);
        (!quantised).then(|| path.with_file_name(format!("{stem}{QUANTISED_ENDING}")))
    }

    /// Opens the network to play `variant` in `encoding`, on one thread: the quantised one on a
    /// CPU if it fits, else the other.
    ///
    /// # Errors
    /// If the network is none, does not fit, or cannot be run.
    pub fn open(
        &self,
        encoding: &Encoding,
        variant: &str,
        backend: Backend,
    ) -> Result<Opened<'_>, UnfitNetwork> {
        let open =
            |file: &NetworkFile, backend| Onnx::open(&file.bytes, encoding, variant, backend, 1);
        // First, since only it can tell whether there is a GPU to run it.
        let network = open(&self.floats, backend)?;
        let mut notes: Vec<String> = network.note().map(str::to_owned).into_iter().collect();
        // A sparse network is one file, of whichever kind of numbers.
        if network.backend() == Backend::Cuda || network.is_sparse() {
            return Ok(Opened { network, file: &self.floats, notes });
        }
        notes.extend(self.unread.clone());
        if let Some(file) = &self.quantised {
            let made_from = |network: &Onnx| network.network_metadata().quantised_from.clone();
            let name = &file.name;
            match open(file, Backend::Cpu) {
                Ok(network)
                    if made_from(&network).as_deref() == verify(&self.floats.bytes).ok() =>
                {
                    return Ok(Opened { network, file, notes });
                }
                Ok(_) => notes.push(format!(
                    "network {name} is passed over: it was not made from {} as that is now",
                    self.floats.name
                )),
                Err(error) => notes.push(format!("network {name} is passed over: {error}")),
            }
        }
        Ok(Opened { network, file: &self.floats, notes })
    }
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(std::io::Error::other("it is no file that could be a network"));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_quantised_form() {
        let of = |name| Weights::quantised_path(Path::new(name));
        assert_eq!(of("nets/3x3.onnx"), Some(PathBuf::from("nets/3x3.int8.onnx")));
        assert_eq!(of("/a.b/c.d.onnx"), Some(PathBuf::from("/a.b/c.d.int8.onnx")));
        for name in ["a.int8.onnx", "a", "a.ONNX", "", "..", "onnx"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}

//! Games that are read from files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::variant::{Catalogue, IniError};

/// What is wrong with a file of games.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read \"{}\": {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A section of it cannot be honoured.
    #[error("{}, {error}", path.display())]
    Section {
        /// The file.
        path: PathBuf,
        /// Which, and why.
        error: IniError,
    },
}

/// The most bytes of a file that are read: hundreds of times what Fairy-Stockfish ships.
const MOST: u64 = 16 << 20;

/// The games of `catalogue` and those of the files of `paths`, a list as the environment's `PATH`
/// is written. What cannot be read or honoured is left out and told.
pub fn with_files(catalogue: &Catalogue, paths: &str) -> (Catalogue, Vec<FileError>) {
    let (mut catalogue, mut errors) = (catalogue.clone(), Vec::new());
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        match read(&path) {
            Ok(text) => {
                let (more, faults) = catalogue.extended(&text);
                catalogue = more;
                let named = |error| FileError::Section { path: path.clone(), error };
                errors.extend(faults.into_iter().map(named));
            }
            Err(error) => errors.push(FileError::Read { path, error }),
        }
    }
    (catalogue, errors)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST {
        let reason = format!("it is longer than {} MB", MOST >> 20);
        return Err(std::io::Error::other(reason));
    }
    Ok(text)
}

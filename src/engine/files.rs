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

/// The byte order marks of UTF-16.
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

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
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if read as u64 > MOST {
        let reason = format!("it is longer than {} MB", MOST >> 20);
        return Err(std::io::Error::other(reason));
    }
    let is_utf16 = UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) || bytes.contains(&0);
    if is_utf16 {
        return Err(std::io::Error::other("it is UTF-16 text, save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

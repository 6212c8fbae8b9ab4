//! Variants of the user's files.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::files::open_regular;
use crate::variant::{Catalogue, IniError};

/// An error in a variant file.
#[derive(Debug, thiserror::Error)]
pub enum VariantFileError {
    /// The file cannot be read.
    #[error("cannot read \"{}\": {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A section is skipped because it has an error or is not supported.
    #[error("{}, {error}", path.display())]
    Section {
        /// The file.
        path: PathBuf,
        /// The section, and what is wrong with it.
        error: IniError,
    },
}

/// The maximum size of a file: hundreds of times that of Fairy-Stockfish's.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The byte order marks of UTF-16.
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// Returns the variants of `catalogue` and those of the files `paths`, a list like the environment's `PATH`.
/// Also returns the errors of files and sections that were skipped.
pub fn add_variant_files(catalogue: &Catalogue, paths: &str) -> (Catalogue, Vec<VariantFileError>) {
    let mut catalogue = catalogue.clone();
    let mut errors = Vec::new();
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        match read_file(&path) {
            Ok(text) => {
                let (extended, ini_errors) = catalogue.extended(&text);
                catalogue = extended;
                errors.extend(
                    ini_errors
                        .into_iter()
                        .map(|error| VariantFileError::Section { path: path.clone(), error }),
                );
            }
            Err(error) => errors.push(VariantFileError::Read { path, error }),
        }
    }
    (catalogue, errors)
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = open_regular(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("longer than {} MB", MAX_FILE_BYTES >> 20)));
    }
    let is_utf16 = UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) || bytes.contains(&0);
    if is_utf16 {
        return Err(io::Error::other("UTF-16 text, save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))
}

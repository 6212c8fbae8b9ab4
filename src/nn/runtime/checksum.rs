//! Checksums of the libraries that `scripts/get-onnxruntime` downloads.
//!
//! The script's list is compiled in, so that a file that was replaced together with its checksum file is
//! detected. The checksum file next to the library is used only on platforms that are not in the list, for
//! which the script installs the library from pip.

use std::env::consts::{ARCH, OS};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

/// The list. Each line has SHA-256, platform, package and file name.
const LIST: &str = include_str!("../../../scripts/onnxruntime.sha256");

/// Why a library is not the one that the script downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChecksumError {
    /// The file or its checksum file cannot be read.
    #[error("cannot be checked: {0}")]
    Read(String),
    /// The checksum is not one of those expected.
    #[error("was changed: its SHA-256 is {found}, which is not in {expected}")]
    Wrong {
        /// The SHA-256 of the file, in hexadecimal digits.
        found: String,
        /// The file with the expected checksums.
        expected: String,
    },
}

/// Returns the rows of the list: SHA-256, platform, package, file name.
fn list_rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = LIST.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() == 4 && !row[0].starts_with('#'))
}

/// Returns the path of the checksum file that the script writes next to the library at `path`.
pub(super) fn checksum_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".sha256");
    PathBuf::from(name)
}

/// Checks the file `name` in the folder of `library`, the path of the ONNX Runtime library. Reads the whole
/// file, which takes about 25 ms for 29 MB.
///
/// # Errors
/// [`ChecksumError::Read`] if the file cannot be read, [`ChecksumError::Wrong`] if it has another checksum.
pub(super) fn check(library: &Path, name: &str) -> Result<(), ChecksumError> {
    let found = digest(&library.with_file_name(name))
        .map_err(|error| ChecksumError::Read(error.to_string()))?;
    let platform = format!("{OS}-{ARCH}");
    let rows: Vec<_> = list_rows().filter(|row| row[1] == platform).collect();
    let (is_listed, source) = if rows.is_empty() {
        let path = checksum_path(library);
        let text = fs::read_to_string(&path)
            .map_err(|error| ChecksumError::Read(format!("{}: {error}", path.display())))?;
        let is_listed = text.lines().any(|line| line.split_whitespace().eq([found.as_str(), name]));
        (is_listed, path.display().to_string())
    } else {
        let is_listed = rows.iter().any(|row| row[0] == found && row[3] == name);
        (is_listed, "scripts/onnxruntime.sha256".to_owned())
    };
    if is_listed { Ok(()) } else { Err(ChecksumError::Wrong { found, expected: source }) }
}

/// Returns the package and version that `scripts/get-onnxruntime` gets the library from, as in
/// `onnxruntime==1.31.1`; `None` if the list does not have the library. Reads the whole file.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn package(library: &Path) -> io::Result<Option<&'static str>> {
    let found = digest(library)?;
    Ok(list_rows().find(|row| row[0] == found).map(|row| row[2]))
}

/// Returns the SHA-256 of a file in lower-case hexadecimal digits.
fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            size => hasher.update(&buffer[..size]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_list_is_well_formed() {
        let rows = LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        for row in rows {
            let fields: Vec<_> = row.split_whitespace().collect();
            let [sum, platform, package, name] = fields[..] else { panic!("{row}") };
            assert!(
                sum.len() == 64 && sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
                "{row}"
            );
            assert!(platform.contains('-') && package.starts_with("onnxruntime"), "{row}");
            assert!(name.starts_with("libonnxruntime"), "{row}");
        }
        assert!(LIST.contains("linux-x86_64") && LIST.contains("linux-aarch64"));
    }
}

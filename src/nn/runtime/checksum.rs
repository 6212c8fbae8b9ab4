//! Checksums of the libraries that `scripts/get-onnxruntime` lays.
//!
//! The list that the script fetches by is compiled in, so that a file which was swapped, together
//! with the record beside it, does not pass. The record counts only on a platform that the list
//! does not know, where the script lays what pip has for it.

use std::env::consts::{ARCH, OS};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

/// The list: SHA-256, platform, package and file name a line.
const LIST: &str = include_str!("../../../scripts/onnxruntime.sha256");

/// Why a library is not the one that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChecksumError {
    /// The file or its record cannot be read.
    #[error("cannot be checked: {0}")]
    Read(String),
    /// The checksum is none of those expected.
    #[error("was changed: its SHA-256 is {found}, which is none of {expected}'s")]
    Wrong {
        /// SHA-256 of the file, in hexadecimal digits.
        found: String,
        /// What says which are right.
        expected: String,
    },
}

/// The record that the script writes beside the library at `path`.
pub(super) fn record(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".sha256");
    PathBuf::from(name)
}

/// Checks that the file `name` in `library`'s folder is one that the script lays, where `library`
/// is the path of the ONNX Runtime library itself. Reads the whole file: 29 MB in some 25 ms.
///
/// # Errors
/// If the file cannot be read or has another checksum.
pub(super) fn check(library: &Path, name: &str) -> Result<(), ChecksumError> {
    let found = digest(&library.with_file_name(name))
        .map_err(|error| ChecksumError::Read(error.to_string()))?;
    let platform = format!("{OS}-{ARCH}");
    let listed = LIST.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let known: Vec<_> = listed.filter(|row| row.len() == 4 && row[1] == platform).collect();
    let wrong = |expected: String| ChecksumError::Wrong { found: found.clone(), expected };
    if !known.is_empty() {
        let right = known.iter().any(|row| row[0] == found && row[3] == name);
        return if right { Ok(()) } else { Err(wrong("scripts/onnxruntime.sha256".into())) };
    }
    let record = record(library);
    let text = fs::read_to_string(&record)
        .map_err(|error| ChecksumError::Read(format!("{}: {error}", record.display())))?;
    let right = text.lines().any(|line| line.split_whitespace().eq([found.as_str(), name]));
    if right { Ok(()) } else { Err(wrong(record.display().to_string())) }
}

/// SHA-256 of a file in lower-case hexadecimal digits.
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
    fn the_list_is_well_formed() {
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

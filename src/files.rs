//! Files that the user names.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened, or is anything else: opening a named pipe would wait for its other end, and devices
/// have no end.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

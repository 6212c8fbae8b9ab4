//! Helpers of the tests of readers.

use std::fs;
use std::sync::Arc;

use menagerie::variant::{Catalogue, Variant};
use tempfile::TempDir;
use trainer::readers::{self, Games};

pub(crate) fn variant(name: &str) -> Arc<Variant> {
    Catalogue::shipped().get(name).expect("a shipped variant")
}

/// Reads a file with this name and content.
pub(crate) fn read(name: &str, bytes: &[u8], game: &str) -> Games {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("written");
    let mut found = Games::default();
    readers::read(&path, &variant(game), &mut found).expect("read");
    found
}

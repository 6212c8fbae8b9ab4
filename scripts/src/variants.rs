//! Games to learn: those that are shipped and the user's own.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use menagerie::variant::{Catalogue, Variant};

/// The game called `name` among those that are shipped and those of `sections`, in the syntax of
/// `variants.ini`.
///
/// # Errors
/// If there is none of that name, with what is wrong with the sections.
pub fn find_variant(name: &str, sections: &str) -> anyhow::Result<Arc<Variant>> {
    let (catalogue, faults) = Catalogue::shipped().extended(sections);
    catalogue.require(name).map_err(|unknown| {
        let faults: String = faults.iter().map(|fault| format!("\n{fault}")).collect();
        anyhow::anyhow!("{unknown}{faults}")
    })
}

/// The text of a file of the user's own games, in the syntax of `variants.ini`; empty if none is
/// given.
///
/// # Errors
/// If it cannot be read.
pub fn read_sections(path: Option<&Path>) -> anyhow::Result<String> {
    let Some(path) = path else { return Ok(String::new()) };
    let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    // What is no UTF-8 is then a fault of its line, as any other.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

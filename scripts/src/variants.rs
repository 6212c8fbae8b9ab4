//! Variants of the catalogue and of the user's own files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use menagerie::variant::{Catalogue, Variant};

/// Returns the variant `name` of the catalogue or of `sections`, in the syntax of `variants.ini`.
///
/// # Errors
/// If there is no such variant. The message includes the errors of the sections.
pub fn find_variant(name: &str, sections: &str) -> anyhow::Result<Arc<Variant>> {
    find(name, sections, "")
}

/// Returns the variant `name` of the catalogue or of a file in the syntax of `variants.ini`.
///
/// # Errors
/// If the file cannot be read, or there is no such variant. The message includes the errors of its sections.
pub fn find_variant_in(name: &str, file: Option<&Path>) -> anyhow::Result<Arc<Variant>> {
    let place = file.map_or_else(String::new, |file| format!("{}, ", file.display()));
    find(name, &read_sections(file)?, &place)
}

/// Looks for a variant; `place` is put before the errors of the sections.
fn find(name: &str, sections: &str, place: &str) -> anyhow::Result<Arc<Variant>> {
    let (catalogue, errors) = Catalogue::shipped().extended(sections);
    catalogue.require(name).map_err(|unknown| {
        let errors: String = errors.iter().map(|error| format!("\n{place}{error}")).collect();
        anyhow::anyhow!("{unknown}{errors}")
    })
}

/// Reads a file of the user's own variants, in the syntax of `variants.ini`. Returns an empty text without a file.
///
/// # Errors
/// If the file cannot be read.
pub fn read_sections(path: Option<&Path>) -> anyhow::Result<String> {
    let Some(path) = path else { return Ok(String::new()) };
    let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    // Invalid UTF-8 becomes an error of its section.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! What is wrong with files of games, in words.

use crate::engine::with_files;
use crate::variant::Catalogue;

/// Reads files of games as `VariantPath` does; `files` is such a list. Tells how many games they
/// add.
///
/// # Errors
/// All that is wrong with them, a line each, and how many games they add all the same.
pub fn check(files: &str) -> Result<String, String> {
    let shipped = Catalogue::shipped();
    let (catalogue, errors) = with_files(shipped, files);
    let games = catalogue.iter().count() - shipped.iter().count();
    if errors.is_empty() {
        return Ok(format!("games that can be played: {games}"));
    }
    let mut lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    lines.push(format!("games that can be played: {games}, and faults: {}", errors.len()));
    Err(lines.join("\n"))
}

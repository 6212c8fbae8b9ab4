//! The bench in words.

use std::time::Instant;

use crate::engine;
use crate::variant::Catalogue;

/// Runs the bench with as many `threads`; gives `say` a line for each position and then the
/// totals, of which the last line is the signature.
///
/// # Errors
/// In words, if a thread cannot be started.
pub fn bench(threads: usize, mut say: impl FnMut(&str)) -> Result<(), String> {
    let begun = Instant::now();
    let bench = engine::bench(Catalogue::shipped(), threads, |searched| {
        let best = searched.best.as_deref().unwrap_or("(none)");
        say(&format!("{}: {} {best} {}", searched.variant, searched.fen, searched.nodes));
    });
    let bench = bench.map_err(|error| error.to_string())?;
    let time = begun.elapsed().as_secs_f64().max(1e-3);
    say(&format!("Nodes: {}", bench.nodes));
    say(&format!("Nodes/second: {:.0}", bench.nodes as f64 / time));
    say(&format!("Signature: {:016x}", bench.signature));
    Ok(())
}

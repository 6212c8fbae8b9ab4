//! The bench in words.

use std::time::Instant;

use crate::engine::{self, Searched};
use crate::rules::Key;
use crate::search::Memory;
use crate::variant::Catalogue;

/// Runs the bench with as many `threads`; gives `say` a line for each position and then the
/// totals, of which the last line is the signature: a hash of all that was found.
///
/// # Errors
/// In words, if the search fails.
pub fn bench(threads: usize, mut say: impl FnMut(&str)) -> Result<(), String> {
    let begun = Instant::now();
    let searched = engine::bench(Catalogue::shipped(), threads);
    let searched = searched.map_err(|error| error.to_string())?;
    let time = begun.elapsed().as_secs_f64().max(1e-3);
    for Searched { variant, fen, best, nodes, .. } in &searched {
        say(&format!("{variant}: {fen} {} {nodes}", best.as_deref().unwrap_or("(none)")));
    }
    let nodes: u64 = searched.iter().map(|searched| searched.nodes).sum();
    let sum = |part: fn(&Memory) -> usize| -> f64 {
        searched.iter().map(|searched| part(&searched.memory) as f64).sum()
    };
    let expanded = sum(|memory| memory.expanded).max(1.0);
    let (bytes, moves) = (sum(|memory| memory.bytes), sum(|memory| memory.moves));
    say(&format!("Nodes: {nodes}"));
    say(&format!("Nodes/second: {:.0}", nodes as f64 / time));
    say(&format!("Bytes/expanded node: {:.1}, of {:.1} moves", bytes / expanded, moves / expanded));
    let signature = Key::of(searched.iter().map(|searched| searched.signature));
    say(&format!("Signature: {:016x}", signature.0));
    Ok(())
}

//! The house's invariants, held over the text of its sources.
//!
//! - `unsafe`: only with a SAFETY comment right above.
//! - `layers`: each module of the library uses only those below it; main uses the protocol only.
//! - `cycle`: no modules use one another in a circle, in the library and in the trainer.
//! - `public`: the trainer, the tests and the examples see of the library what it makes public.
//! - `family`: which family a game is of is looked at where positions are made and delegated.
//! - `world`: rules, catalogue, encoding and search touch nothing outside; files, environment and
//!   printing are for those on a list.
//! - `nameless`: the search names no game.
//! - `panic`: what came from outside cannot end the process: no unwrap, expect or panic in rules,
//!   catalogue, evaluation and protocol.
//! - `inexact`: the search computes the same on every machine.
//!
//! **What a circle is.** The nodes are files. A file uses another if a path in it (in a `use` or
//! elsewhere) names something which that other file defines; a name that is re-exported or imported
//! on the way counts as its definer's, so that a child which says `super::Move` uses `moves.rs`, not
//! `rules.rs`. One kind of edge is left out: from a file to the files below it (`rules.rs` to
//! `rules/chess.rs`). Such a file is the front of what is below it: it declares it, re-exports it
//! and delegates to it, while its children use the vocabulary that it defines. So parent and child
//! may know one another, but siblings, cousins and strangers may not do so in a circle, nor by way
//! of a parent's re-exports. Seen are names in paths only: a method is called without naming where
//! its `impl` stands, so the parts of one type's `impl`, spread over files, are free to call one
//! another. Test code (`#[cfg(test)]`) is looked at for `unsafe` only.

mod checks;
mod made_up;
mod modules;
mod source;

use std::path::Path;

use menagerie::variant::Catalogue;

#[test]
fn the_house_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Not all of fuzz: its builds may lie there.
    let fuzz = ["fuzz/src", "fuzz/fuzz_targets"];
    let others = ["src", "tests", "benches", "examples", "scripts"];
    let sources = source::read(root, &[&others[..], &fuzz].concat());
    assert!(sources.len() > 60, "only {} sources found", sources.len());
    let variants: Vec<&str> = Catalogue::shipped().iter().map(|variant| variant.name()).collect();
    let complaints = checks::complaints(&sources, &variants);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

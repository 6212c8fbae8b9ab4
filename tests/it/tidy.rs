//! Invariants of the sources, checked over their text.
//!
//! - `unsafe`: only with a SAFETY comment right above.
//! - `layers`: each module of the library uses only those below it; main uses the protocol only.
//! - `cycle`: no modules use one another in a circle, in the library, rbc-client, the trainer and papers/bug0.
//! - `public`: the trainer, the tests and the examples see of the library what it makes public.
//! - `family`: which family a game is of is looked at where positions are made and delegated.
//! - `world`: rules, catalogue, encoding and search touch nothing outside; files, environment and
//!   printing are for those on a list.
//! - `nameless`: the search names no game.
//! - `panic`: what came from outside cannot end the process: no unwrap, expect or panic in rules,
//!   catalogue, nn, protocol and rbc-client.
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
use std::sync::OnceLock;

use menagerie::variant::Catalogue;

/// Returns the complaints of one rule.
fn complaints(rule: &str) -> Vec<String> {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Not the whole of fuzz, which may contain builds.
        let folders = [
            "src",
            "tests",
            "benches",
            "rbc-client",
            "scripts",
            "papers",
            "fuzz/src",
            "fuzz/fuzz_targets",
        ];
        let sources = source::read(root, &folders);
        assert!(sources.len() > 60, "only {} sources found", sources.len());
        let catalogue = Catalogue::shipped();
        let variants: Vec<&str> = catalogue.iter().map(|variant| variant.name()).collect();
        checks::complaints(&sources, &variants)
    });
    let tag = format!(": [{rule}] ");
    all.iter().filter(|complaint| complaint.contains(&tag)).cloned().collect()
}

/// A test for each rule.
macro_rules! rules {
    ($($name:ident: $rule:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let found = complaints($rule);
                assert!(found.is_empty(), "\n{}\n", found.join("\n"));
            }
        )*
    };
}

rules! {
    unsafe_code_has_a_safety_comment: "unsafe",
    layers_use_lower_layers_only: "layers",
    modules_form_no_cycles: "cycle",
    other_crates_use_the_public_api: "public",
    families_are_matched_in_few_files: "family",
    pure_modules_do_no_io: "world",
    search_names_no_variant: "nameless",
    input_never_panics: "panic",
    search_is_the_same_on_every_machine: "inexact",
    exceptions_are_needed: "exception",
}

//! Invariants of the source code, checked on its text.
//!
//! - `unsafe`: only with a SAFETY comment directly above.
//! - `layers`: each module of the library uses lower layers only; main uses the protocol only.
//! - `cycle`: no cycle of modules in the library, the board, rbc-client, the trainer and papers/bug0.
//! - `public`: the trainer, the tests and the examples use the public API of the library only.
//! - `family`: the family of a game is matched only where positions are created and delegated.
//! - `world`: rules, catalogue, encoding and search do no I/O; other files that do are on a list.
//! - `nameless`: the searches name no variant.
//! - `panic`: input cannot end the process: no unwrap, expect or panic in rules, catalogue, nn, protocol and
//!   rbc-client and the board.
//! - `inexact`: the searches and the evaluations compute the same on every machine.
//! - `exception`: each listed exception is still needed.
//!
//! **Cycles.** The nodes of the graph are files. A file uses another if a path in it (in a `use` or
//! elsewhere) names an item that the other file defines. Re-exports and imports are resolved: a child with
//! `super::Move` uses `moves.rs`, not `rules.rs`. Edges from a file to its child modules (`rules.rs` to
//! `rules/chess.rs`) are left out: a parent declares, re-exports and delegates to its children, and they use
//! what it defines. So parent and child may use each other, but other files may not form cycles, not even
//! through re-exports of a parent. Only paths count: a method call does not name the file of its `impl`, so
//! that the `impl` blocks of a type in several files may call each other. Test code (`#[cfg(test)]`) is
//! checked for `unsafe` only.

mod checks;
mod examples;
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
        // The rest of fuzz may contain build outputs.
        let folders = [
            "src",
            "tests",
            "benches",
            "board/src",
            "board/tests",
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
        let mut found = checks::complaints(&sources, &variants);
        found.extend(checks::unused_exceptions(&sources));
        found
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

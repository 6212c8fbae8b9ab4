//! The checks on small example sources: each can fail, and reports the line.

use super::checks::{complaints, unused_exceptions};
use super::source::Source;

fn check(files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
    complaints(&sources, &["chess", "3x3", "atomic"])
}

/// Returns the complaints without their text: `path:line: [rule]`.
fn marks(files: &[(&str, &str)]) -> Vec<String> {
    let mark = |text: String| text.split_inclusive(']').next().unwrap_or_default().to_owned();
    check(files).into_iter().map(mark).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn valid_sources_pass() {
    let sources = [
        ("src/lib.rs", "//! Doc.\npub mod rules;\npub mod search;\n"),
        (
            "src/rules.rs",
            "mod moves;\nmod side;\npub use moves::Move;\npub use side::Side;\n\
             pub enum Family { A }\nenum State { A(Move) }\n\
             pub trait Rules { fn m(&self) -> Option<Move>; }\n",
        ),
        ("src/rules/moves.rs", "use super::{Rules, Side};\npub struct Move(Side);\n"),
        ("src/rules/side.rs", "/// println! and unwrap() in text.\npub struct Side; // unsafe\n"),
        ("src/search.rs", "mod tree;\npub use tree::Tree;\n"),
        (
            "src/search/tree.rs",
            "use crate::rules::{Move, Side};\npub struct Tree(Move, Side);\n\
             enum State { A }\nfn f(x: f32) -> f32 { libm::expf(x).sqrt() }\n\
             #[cfg(test)]\nmod tests { use std::fs; fn f() { State::A; None::<u8>.unwrap(); } }\n",
        ),
        ("src/main.rs", "fn main() { menagerie::protocol::run(); println!(); }\n"),
        ("scripts/src/lib.rs", "pub mod run;\n"),
        ("scripts/src/run.rs", "use menagerie::rules::Move;\nfn f() { println!() }\n"),
    ];

    assert_eq!(check(&sources), NOTHING);
}

#[test]
fn unsafe_needs_a_safety_comment() {
    let good = "// SAFETY: it is.\n// Really.\n#[inline]\nunsafe fn f() {}\n\
                // SAFETY: so.\nlet x = unsafe { f() };\n";
    let good = format!("fn g() {{\n{good}}}\n");
    assert_eq!(check(&[("src/engine.rs", &good)]), NOTHING);
    let bad = "fn g() {\n// SAFETY: far away.\n\nunsafe { f() }\n// It is fine.\nunsafe { f() }\n}\n\
               #[cfg(test)]\nmod tests { unsafe fn f() {} }";
    let wanted = [4, 6, 9].map(|line| format!("src/engine.rs:{line}: [unsafe]"));
    assert_eq!(marks(&[("src/engine.rs", bad)]), wanted);
}

#[test]
fn layers_are_checked() {
    let found = check(&[
        ("src/search.rs", "use crate::rules::Move;\nfn f() { crate::engine::go() }\n"),
        ("src/rules.rs", "mod a;\npub struct Move;\n"),
        ("src/rules/a.rs", "use crate::{\n    encoding::{self as e, Encoding},\n};\n"),
        ("src/encoding.rs", "pub struct Encoding;\n"),
        ("src/engine.rs", "pub fn go() {}\n"),
        ("src/attic.rs", "use crate::rules::Move;\n"),
        ("src/main.rs", "use menagerie::engine;\nuse menagerie::protocol::run;\n"),
        ("src/lib.rs", "pub mod rules;\npub mod search;\npub mod encoding;\npub mod attic;\n"),
    ]);
    assert_eq!(
        found,
        [
            "src/attic.rs:1: [layers] the module attic is not in the layers of tests/it/tidy",
            "src/rules/a.rs:2: [layers] rules uses encoding, but may use only: ",
            "src/rules/a.rs:2: [layers] rules uses encoding, but may use only: ",
            "src/search.rs:2: [layers] search uses engine, but may use only: nn, encoding, rules, memory",
            "src/main.rs:1: [layers] main uses engine, but may use only: protocol",
            "src/lib.rs:3: [layers] encoding is listed after a module that may use it",
            "src/lib.rs:4: [layers] attic is not in the layers of tests/it/tidy",
        ]
    );
}

#[test]
fn cycles_are_found_through_re_exports() {
    let check_with = |a: &str| {
        check(&[
            ("src/rules.rs", "mod a;\nmod b;\npub use a::A;\nuse b::B as Bee;\n"),
            ("src/rules/a.rs", a),
            ("src/rules/b.rs", "use super::A;\npub struct B(A);\n"),
        ])
    };
    assert_eq!(check_with("pub struct A;\n"), NOTHING);
    let wanted = "src/rules/a.rs:2: [cycle] rules::a uses rules::b (src/rules/a.rs:2), \
                  rules::b uses rules::a (src/rules/b.rs:1)";
    assert_eq!(check_with("pub struct A;\nfn f() { super::Bee; }\n"), [wanted]);
    assert_eq!(check_with("pub struct A;\nfn f() { crate::rules::b::B; }\n"), [wanted]);
    let child = [
        ("src/rules.rs", "mod a;\npub struct Own;\n"),
        ("src/rules/a.rs", "mod c;\nuse super::Own;\n"),
        ("src/rules/a/c.rs", "use super::super::Own;\nuse super::D;\n"),
    ];
    assert_eq!(check(&child), NOTHING);
    let trainer = [
        ("scripts/src/lib.rs", "pub mod x;\npub mod y;\npub mod z;\n"),
        ("scripts/src/x.rs", "use crate::y::Y;\n"),
        ("scripts/src/y.rs", "\nuse crate::z;\n"),
        ("scripts/src/z.rs", "\n\nuse crate::x::X;\n"),
    ];
    assert_eq!(marks(&trainer), ["scripts/src/x.rs:1: [cycle]"]);
}

#[test]
fn public_api_is_checked() {
    let found = marks(&[
        ("scripts/src/a.rs", "#[path = \"../../src/rules/history.rs\"]\nmod history;\n"),
        ("scripts/src/b.rs", "\ninclude!(\"x\");\nconst T: &str = include_str!(\"x.toml\");\n"),
        ("src/engine.rs", "fn f() { trainer::run::go() }\n"),
    ]);
    assert_eq!(
        found,
        [
            "scripts/src/a.rs:1: [public]",
            "scripts/src/b.rs:2: [public]",
            "src/engine.rs:1: [public]"
        ]
    );
}

#[test]
fn families_are_checked() {
    let rules = "pub enum Family {\n    /// Eight.\n    Lichess(Game),\n    Lines { n: u8 },\n}\n\
                 enum State { Lichess(L), Toy(T) }\nfn f() { State::Toy; Family::Lines }\n";
    let found = marks(&[
        ("src/rules.rs", rules),
        ("src/rules/perft.rs", "fn f(s: &super::State) { match s { super::State::Toy(_) => {} } }"),
        ("src/variant/ini.rs", "use crate::rules::Family;\nfn f() { Family::Lichess(x) }\n"),
        ("src/search/node.rs", "enum State { Fresh }\nfn f() { State::Fresh }\n"),
        ("scripts/src/a.rs", "\nfn f() { match g { Family::Lines { n } => n } }\n"),
    ]);
    assert_eq!(found, ["src/rules/perft.rs:1: [family]", "scripts/src/a.rs:2: [family]"]);
}

#[test]
fn pure_modules_are_checked() {
    let found = marks(&[
        ("src/search/a.rs", "use std::{time::Duration, fs};\nfn f() { println!(\"{x}\"); }\n"),
        ("src/rules.rs", "use std::time::{Duration, Instant};\n"),
        ("src/engine.rs", "fn f() -> std::io::Result<()> { std::thread::spawn(f) }\n"),
        ("src/engine/options.rs", "\nfn f() { std::env::var(\"X\") }\n"),
        ("src/files.rs", "use std::fs::File;\n"),
        ("src/protocol.rs", "use std::io::Write;\nfn f() { eprintln!() }\n"),
    ]);
    assert_eq!(
        found,
        [
            "src/search/a.rs:1: [world]",
            "src/search/a.rs:2: [world]",
            "src/rules.rs:1: [world]",
            "src/engine/options.rs:2: [world]",
            "src/protocol.rs:2: [world]",
        ]
    );
}

#[test]
fn names_in_the_search_are_checked() {
    let found = marks(&[
        (
            "src/search/a.rs",
            "/// As in chess.\nfn f() { Game::Atomic }\nconst A: &str = \"in 3x3\";",
        ),
        ("src/search/b.rs", "fn f() -> f32 { \"chessboard\"; 3.0 }\n"),
        ("src/engine.rs", "fn f() { \"chess\" }\n"),
    ]);
    assert_eq!(found, ["src/search/a.rs:2: [nameless]", "src/search/a.rs:3: [nameless]"]);
}

#[test]
fn panics_are_checked() {
    let bad = "fn f() {\n    x.unwrap();\n    x\n        .expect(\"words\");\n    panic!();\n\
               Option::unwrap(x);\n unreachable!(\"\");\n    x.unwrap_or(1);\n    expect();\n}\n";
    let wanted = |path: &str| [2, 4, 5, 6, 7].map(|line| format!("{path}:{line}: [panic]"));
    for path in ["src/rules/a.rs", "src/variant/ini.rs", "src/nn.rs", "src/protocol/x.rs"] {
        assert_eq!(marks(&[(path, bad)]), wanted(path));
    }
    assert_eq!(marks(&[("src/search.rs", bad)]), NOTHING);
    let excused = "fn f() { e => unreachable!(\"variants.ini: {error}\") }\n";
    assert_eq!(check(&[("src/variant.rs", excused)]), NOTHING);
}

#[test]
fn unused_exceptions_are_found() {
    let unused = |path: &str, text: &str| {
        let sources = [Source::new(path, text)];
        let mark = format!("{path}:1: [exception] unused exception in tests/it/tidy");
        unused_exceptions(&sources).contains(&mark)
    };
    let excused = "fn f() { e => unreachable!(\"variants.ini: {error}\") }\n";
    assert!(unused("src/variant.rs", "fn f() {}\n"));
    assert!(unused("src/files.rs", "use std::io;\n"));
    assert!(!unused("src/files.rs", "use std::fs::File;\n"));
    let found = unused_exceptions(&[Source::new("src/variant.rs", excused)]);
    // That of the file that matches no family is left.
    assert_eq!(found.iter().filter(|text| text.starts_with("src/variant.rs:")).count(), 1);
    // A file that does not exist needs none.
    assert!(found.iter().any(|text| text.starts_with("src/search/gumbel.rs:1: [exception]")));
}

#[test]
fn inexact_functions_are_checked() {
    let text =
        "fn f(x: f32) {\n    x.sqrt();\n    x.ln();\n    f32::tanh(x);\n    libm::expf(x);\n}\n";
    let wanted = ["src/search/a.rs:3: [inexact]", "src/search/a.rs:4: [inexact]"];
    assert_eq!(marks(&[("src/search/a.rs", text)]), wanted);
    assert_eq!(marks(&[("src/alphabeta/a.rs", text)]).len(), 2);
    assert_eq!(marks(&[("src/nn/a.rs", text)]).len(), 2);
    assert_eq!(marks(&[("src/encoding.rs", text)]), NOTHING);
}

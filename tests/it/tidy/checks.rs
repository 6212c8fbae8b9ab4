//! The checks, each a function that returns its complaints.

use std::collections::BTreeMap;

use super::modules::{Modules, Use, cycles};
use super::source::{Source, Word};

/// The modules of the library from the lowest layer up, and the modules that each may use.
const LAYERS: [(&str, &[&str]); 12] = [
    ("files", &[]),
    ("memory", &[]),
    ("rules", &[]),
    ("rbc", &["rules"]),
    ("variant", &["rules"]),
    ("tablebase", &["variant", "rules"]),
    ("encoding", &["rules"]),
    ("nn", &["encoding", "rules", "files", "memory"]),
    ("search", &["nn", "encoding", "rules", "memory"]),
    ("alphabeta", &["nn", "rules", "memory"]),
    (
        "engine",
        &["search", "alphabeta", "nn", "encoding", "tablebase", "variant", "rules", "files"],
    ),
    ("protocol", &["engine", "search", "nn", "encoding", "variant", "rules"]),
];

/// The modules of the library that the executable may use.
const MAIN: &[&str] = &["protocol"];

/// The files that may match the family of a game.
const FAMILY: [&str; 4] =
    ["src/rules.rs", "src/rules/two_boards.rs", "src/variant.rs", "src/variant/ini.rs"];

/// The pure modules: no files, no streams, no threads, no clock.
const PURE: [&str; 4] = ["src/rules", "src/variant", "src/encoding", "src/search"];

/// The files of the library that may open files, start processes or read the environment, and why.
const WORLD: [(&str, &str); 7] = [
    ("src/main.rs", "the executable"),
    ("src/files.rs", "opens files"),
    ("src/protocol/", "standard input and output, and the log"),
    ("src/engine/syzygy.rs", "reads Syzygy tables"),
    ("src/engine/variant_files.rs", "reads variant files"),
    ("src/engine/version_report.rs", "lists the networks that are found"),
    ("src/nn/runtime", "finds and checks the library that runs networks"),
];

/// The modules in which input must not end the process.
const PANIC_FREE: [&str; 6] =
    ["src/rules", "src/variant", "src/nn", "src/protocol", "rbc-client/src", "board/src"];

/// Exceptions in them: file, part of the line, and why it never ends the process.
const PROVEN: [(&str, &str, &str); 1] = [(
    "src/variant.rs",
    "unreachable!(\"variants.ini: {error}\")",
    "the text is compiled in, and every test that asks for the catalogue reads it",
)];

/// Floating-point functions whose last bit depends on the platform. Square roots do not.
const INEXACT: [&str; 18] = [
    "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "powi", "sin", "cos",
    "tan", "tanh", "sinh", "cosh", "atan", "cbrt",
];

/// The modules that compute the same on every machine: both searches and the evaluations.
const EXACT: [&str; 3] = ["src/search", "src/alphabeta", "src/nn"];

/// Exceptions in them.
const INEXACT_EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "src/search/gumbel.rs",
    "rng.random::<f32>().max(1e-20).ln()",
    "the noise of self-play, which no bench uses",
)];

/// The searches, which play all variants alike.
const NAMELESS: [&str; 2] = ["src/search", "src/alphabeta"];

fn complaint(file: &Source, line: usize, rule: &str, text: impl AsRef<str>) -> String {
    format!("{}:{line}: [{rule}] {}", file.path, text.as_ref())
}

/// Returns all complaints about the sources. `variants` are the names of variants.
pub(crate) fn complaints(sources: &[Source], variants: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(sources.iter().flat_map(unsafety));
    let library = Modules::new(sources, "src");
    let uses = library.uses();
    found.extend(uses.iter().filter_map(layer));
    found.extend(sources.iter().flat_map(main));
    found.extend(sources.iter().flat_map(order));
    found.extend(cycles(&uses).into_iter().map(|uses| cycle(&uses)));
    for folder in ["board/src", "rbc-client/src", "scripts/src", "papers/bug0/src"] {
        found.extend(cycles(&Modules::new(sources, folder).uses()).iter().map(|c| cycle(c)));
    }
    found.extend(sources.iter().flat_map(public_api));
    found.extend(family(sources));
    found.extend(sources.iter().flat_map(world));
    found.extend(sources.iter().flat_map(|file| variant_names(file, variants)));
    found.extend(sources.iter().flat_map(panics));
    found.extend(sources.iter().flat_map(inexact));
    found
}

/// `unsafe` needs a comment with `SAFETY:` (for a declaration: `# Safety`) directly above its line.
fn unsafety(file: &Source) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let has_comment = move |line: usize| {
        let above = lines[..line - 1].iter().rev();
        let mut above = above.skip_while(|text| text.starts_with("#["));
        above
            .by_ref()
            .take_while(|text| text.starts_with("//"))
            .any(|text| text.contains("SAFETY:") || text.contains("# Safety"))
    };
    let words = file.all.iter().filter(|word| word.text == "unsafe");
    words.filter(move |word| !has_comment(word.line)).map(|word| {
        complaint(file, word.line, "unsafe", "there is no SAFETY comment directly above")
    })
}

fn layer(edge: &Use<'_>) -> Option<String> {
    let (from, to) = (edge.from.first()?, edge.to.first());
    let Some((_, below)) = LAYERS.iter().find(|(name, _)| name == from) else {
        let text = format!("the module {from} is not in the layers of tests/it/tidy");
        return Some(complaint(edge.file, edge.line, "layers", text));
    };
    match to {
        Some(to) if to == from || below.contains(&to.as_str()) => None,
        to => {
            let to = to.map_or("the crate's root", String::as_str);
            let text = format!("{from} uses {to}, but may use only: {}", below.join(", "));
            Some(complaint(edge.file, edge.line, "layers", text))
        }
    }
}

/// The executable uses the top layer only.
fn main(file: &Source) -> Vec<String> {
    if file.path != "src/main.rs" {
        return Vec::new();
    }
    let used = file.paths.iter().filter(|written| written.segments[0] == "menagerie");
    used.filter_map(|written| {
        let module = written.segments.get(1).map_or("", String::as_str);
        let text = format!("main uses {module}, but may use only: {}", MAIN.join(", "));
        (!MAIN.contains(&module)).then(|| complaint(file, written.line, "layers", text))
    })
    .collect()
}

/// The library lists its modules from the lowest layer up.
fn order(file: &Source) -> Vec<String> {
    if file.path != "src/lib.rs" {
        return Vec::new();
    }
    let place = |name: &str| LAYERS.iter().position(|(layer, _)| *layer == name);
    let mut highest = 0;
    let mut found = Vec::new();
    for (_, word, _) in file.neighbours().filter(|(before, ..)| *before == "mod") {
        match place(&word.text) {
            Some(place) if place >= highest => highest = place,
            Some(_) => {
                let text = format!("{} is listed after a module that may use it", word.text);
                found.push(complaint(file, word.line, "layers", text));
            }
            None => {
                let text = format!("{} is not in the layers of tests/it/tidy", word.text);
                found.push(complaint(file, word.line, "layers", text));
            }
        }
    }
    found
}

fn cycle(cycle: &[Use<'_>]) -> String {
    let edges = cycle.iter().map(|edge| {
        let (from, to) = (edge.from.join("::"), edge.to.join("::"));
        format!("{from} uses {to} ({}:{})", edge.file.path, edge.line)
    });
    let text = edges.collect::<Vec<_>>().join(", ");
    complaint(cycle[0].file, cycle[0].line, "cycle", text)
}

/// Other crates use the public API only and do not include sources by path. The library does not use the
/// trainer.
fn public_api(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let library = file.path.starts_with("src/");
    for (before, word, after) in file.neighbours() {
        if library && word.text == "trainer" && (after == "::" || before == "crate") {
            found.push(complaint(file, word.line, "public", "the library uses the trainer"));
        }
        let path = word.text == "include" && after == "!"
            || word.text.starts_with('"')
                && word.text.contains("/src/")
                && word.text.ends_with(".rs\"");
        if !library && path && !file.path.starts_with("tests/it/tidy") {
            let text = "includes a source by its path instead of using the public API";
            found.push(complaint(file, word.line, "public", text));
        }
    }
    found
}

/// Returns the names of an enum's variants.
fn variants_of<'a>(file: &'a Source, name: &str) -> Vec<&'a str> {
    let words = &file.words;
    let start = words
        .windows(3)
        .position(|three| three[0].text == "enum" && three[1].text == name && three[2].text == "{");
    let mut found = Vec::new();
    let mut depth = 0;
    for pair in start.map_or(&[][..], |start| &words[start + 2..]).windows(2) {
        match pair[0].text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        let begins = pair[0].text == "{" || pair[0].text == ",";
        if depth == 1 && begins && pair[1].text.starts_with(char::is_uppercase) {
            found.push(pair[1].text.as_str());
        }
    }
    found
}

/// Returns the names of the families of games, by the name of the enum.
fn family_kinds(sources: &[Source]) -> BTreeMap<&str, Vec<&str>> {
    let rules = sources.iter().find(|file| file.path == "src/rules.rs");
    let kinds = |name| rules.map_or_else(Vec::new, |rules| variants_of(rules, name));
    ["Family", "State"].map(|name| (name, kinds(name))).into()
}

/// Returns the names of families of games in a file, and their lines.
fn matched(file: &Source, kinds: &BTreeMap<&str, Vec<&str>>) -> Vec<(String, usize)> {
    let named = file.paths.iter().filter_map(|written| {
        let pair = written.segments.windows(2).find(|pair| {
            let kinds = kinds.get(pair[0].as_str());
            kinds.is_some_and(|kinds| kinds.contains(&pair[1].as_str()))
        })?;
        Some((pair.join("::"), written.line))
    });
    named.collect()
}

/// Only a few files match the family of a game.
fn family(sources: &[Source]) -> Vec<String> {
    let kinds = family_kinds(sources);
    let others = sources.iter().filter(|file| {
        let folders = ["src/", "board/", "rbc-client/", "scripts/", "papers/"];
        let ours = folders.iter().any(|folder| file.path.starts_with(folder));
        ours && !FAMILY.contains(&file.path.as_str())
    });
    let complaints = others.flat_map(|file| {
        matched(file, &kinds).into_iter().map(|(name, line)| {
            let allowed = FAMILY.join(", ");
            let text = format!("{name} matches the family of a game, which only {allowed} may do");
            complaint(file, line, "family", text)
        })
    });
    complaints.collect()
}

/// Returns `true` if a path is that of files, processes, the network or the environment.
fn is_io(segments: &[&str]) -> bool {
    matches!(segments, ["std", "fs" | "net" | "process" | "env", ..])
}

/// Returns `true` if a file has such a path.
fn does_io(file: &Source) -> bool {
    file.paths
        .iter()
        .any(|path| is_io(&path.segments.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Pure modules do no I/O, and others only if they are listed.
fn world(file: &Source) -> Vec<String> {
    if !file.path.starts_with("src/") {
        return Vec::new();
    }
    let pure = PURE.iter().any(|module| file.is_within(module));
    let allowed = WORLD.iter().any(|(path, _)| file.path.starts_with(path));
    let mut found = Vec::new();
    for written in &file.paths {
        let segments: Vec<&str> = written.segments.iter().map(String::as_str).collect();
        let touches = match segments[..] {
            _ if is_io(&segments) => !allowed,
            ["std", "io" | "thread", ..] => pure,
            ["std", "time", "Instant" | "SystemTime", ..] => pure,
            _ => false,
        };
        if touches {
            let name = segments.join("::");
            let text = if pure {
                format!("{name} in a module without I/O, threads and clocks")
            } else {
                format!("{name} in a file that is not on the list of files with I/O")
            };
            found.push(complaint(file, written.line, "world", text));
        }
    }
    for (_, word, after) in file.neighbours() {
        let prints = ["print", "println", "eprint", "eprintln", "dbg"].contains(&&*word.text);
        if prints && after == "!" && file.path != "src/main.rs" {
            let text = format!("{}! outside the protocol", word.text);
            found.push(complaint(file, word.line, "world", text));
        }
    }
    found
}

/// The searches name no variant.
fn variant_names(file: &Source, variants: &[&str]) -> Vec<String> {
    if !NAMELESS.iter().any(|module| file.is_within(module)) {
        return Vec::new();
    }
    let names = |word: &&Word| {
        // Names of variants that are also a keyword and a module of the standard library.
        if ["loop", "atomic"].contains(&&*word.text) {
            return false;
        }
        let mut parts = word.text.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(|part| variants.iter().any(|name| name.eq_ignore_ascii_case(part)))
    };
    let complain = |word: &Word| {
        complaint(file, word.line, "nameless", format!("the search names a variant: {}", word.text))
    };
    file.words.iter().filter(names).map(complain).collect()
}

fn panics(file: &Source) -> Vec<String> {
    if !PANIC_FREE.iter().any(|module| file.is_within(module)) {
        return Vec::new();
    }
    let ends = |&(before, word, after): &(&str, &Word, &str)| match word.text.as_str() {
        "unwrap" | "expect" | "unwrap_err" | "expect_err" => before == "." || before == "::",
        "panic" | "unreachable" | "todo" | "unimplemented" => after == "!",
        _ => false,
    };
    let found = file.neighbours().filter(ends).filter(|(_, word, _)| !listed(file, word, &PROVEN));
    found
        .map(|(_, word, _)| {
            let text =
                format!("{} may end the process: return an error, or list an exception", word.text);
            complaint(file, word.line, "panic", text)
        })
        .collect()
}

/// The searches and the evaluations compute the same on every machine.
fn inexact(file: &Source) -> Vec<String> {
    if !EXACT.iter().any(|module| file.is_within(module)) {
        return Vec::new();
    }
    let found = file.neighbours().filter(|(before, word, after)| {
        let called = *before == "." || *before == "::";
        called && *after == "(" && INEXACT.contains(&&*word.text)
    });
    found
        .filter(|(_, word, _)| !listed(file, word, &INEXACT_EXCEPTIONS))
        .map(|(_, word, _)| {
            let text = format!("{} differs between platforms: use libm", word.text);
            complaint(file, word.line, "inexact", text)
        })
        .collect()
}

fn line_of(file: &Source, line: usize) -> &str {
    file.text.lines().nth(line - 1).unwrap_or_default()
}

/// Returns `true` if a list of exceptions has the line of a word.
fn listed(file: &Source, word: &Word, list: &[(&str, &str, &str)]) -> bool {
    let line = line_of(file, word.line);
    list.iter().any(|(path, part, _)| *path == file.path && line.contains(part))
}

/// Returns complaints about exceptions that all the sources of the project no longer need.
pub(crate) fn unused_exceptions(sources: &[Source]) -> Vec<String> {
    let is_used = |path: &str, uses: &dyn Fn(&Source) -> bool| {
        sources.iter().any(|file| file.path.starts_with(path) && uses(file))
    };
    let kinds = family_kinds(sources);
    let lines = PROVEN.iter().chain(&INEXACT_EXCEPTIONS);
    let lines = lines.filter(|(path, part, _)| !is_used(path, &|file| file.text.contains(part)));
    let io = WORLD.iter().filter(|(path, _)| !is_used(path, &does_io));
    let families =
        FAMILY.iter().filter(|path| !is_used(path, &|file| !matched(file, &kinds).is_empty()));
    let paths =
        lines.map(|(path, ..)| path).chain(io.map(|(path, _)| path)).chain(families).copied();
    paths.map(|path| format!("{path}:1: [exception] unused exception in tests/it/tidy")).collect()
}

//! The rules of the house, each a function that gives its complaints.

use std::collections::BTreeMap;

use super::modules::{Modules, Use, circles};
use super::source::{Source, Word};

/// The modules of the library from the lowest on, and which of the others each may use.
const LAYERS: [(&str, &[&str]); 10] = [
    ("rules", &[]),
    ("belief", &["rules"]),
    ("recon", &["belief", "rules"]),
    ("variant", &["rules"]),
    ("tablebase", &["variant", "rules"]),
    ("encoding", &["rules"]),
    ("nn", &["encoding", "rules"]),
    ("search", &["nn", "encoding", "rules"]),
    ("engine", &["search", "nn", "encoding", "tablebase", "variant", "rules"]),
    ("protocol", &["engine", "search", "nn", "encoding", "variant", "rules"]),
];

/// What the executable may use of the library.
const MAIN: &[&str] = &["protocol"];

/// The files that look at which family a game belongs to; no module below them does.
const FAMILY: [&str; 3] = ["src/rules.rs", "src/variant.rs", "src/variant/ini.rs"];

/// The modules that take nothing from the world but their arguments, and give nothing to it but
/// their results: no files, no streams, no threads, no clock.
const PURE: [&str; 4] = ["src/rules", "src/variant", "src/encoding", "src/search"];

/// The files of the library that open files, start processes or read the environment.
const WORLD: [(&str, &str); 9] = [
    ("src/main.rs", "the executable"),
    ("src/protocol/", "standard input and output, and the log"),
    ("src/engine/syzygy.rs", "reads tables of endings"),
    ("src/engine/files.rs", "reads files of games"),
    ("src/engine/evaluators.rs", "finds the files of networks"),
    ("src/engine/embedded_nets.rs", "finds the folder of networks"),
    ("src/engine/tablebases.rs", "reads tables"),
    ("src/nn/weights.rs", "reads the files of networks"),
    ("src/nn/runtime", "finds and checks the library that runs networks"),
];

/// The modules in which nothing that came from outside may end the process.
const UNPANICKED: [&str; 5] =
    ["src/rules", "src/variant", "src/nn", "src/protocol", "rbc-client/src"];

/// Words in them that end the process all the same: file, the line's text, and why it never does.
const PROVEN: [(&str, &str, &str); 1] = [(
    "src/variant.rs",
    "unreachable!(\"variants.ini: {error}\")",
    "the text is compiled in, and every test that asks for the catalogue reads it",
)];

/// Functions of floating point whose last bit depends on the platform. Roots do not.
const INEXACT: [&str; 18] = [
    "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "powi", "sin", "cos",
    "tan", "tanh", "sinh", "cosh", "atan", "cbrt",
];

/// Uses of them in the search that its signature does not see.
const OFF_THE_RECORD: [(&str, &str, &str); 1] = [(
    "src/search/gumbel.rs",
    "rng.random::<f32>().max(1e-20).ln()",
    "the noise of self-play, which no bench uses",
)];

fn complaint(file: &Source, line: usize, rule: &str, text: impl AsRef<str>) -> String {
    format!("{}:{line}: [{rule}] {}", file.path, text.as_ref())
}

/// Everything that is wrong with the sources; `variants` are the names of games.
pub(crate) fn complaints(sources: &[Source], variants: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(sources.iter().flat_map(unsafety));
    let library = Modules::new(sources, "src");
    let uses = library.uses();
    found.extend(uses.iter().filter_map(layer));
    found.extend(sources.iter().flat_map(main));
    found.extend(sources.iter().flat_map(order));
    found.extend(circles(&uses).into_iter().map(|circle| cycle(&circle)));
    for folder in ["rbc-client/src", "scripts/src", "papers/bug0/src"] {
        found.extend(circles(&Modules::new(sources, folder).uses()).iter().map(|c| cycle(c)));
    }
    found.extend(sources.iter().flat_map(outside_in));
    found.extend(family(sources));
    found.extend(sources.iter().flat_map(world));
    found.extend(sources.iter().flat_map(|file| variant_names(file, variants)));
    found.extend(sources.iter().flat_map(panics));
    found.extend(sources.iter().flat_map(inexact));
    found.extend(stale(sources, &PROVEN));
    found.extend(stale(sources, &OFF_THE_RECORD));
    found
}

/// `unsafe` needs a comment with `SAFETY:` (of a declaration: `# Safety`) right above its line.
fn unsafety(file: &Source) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let said = move |line: usize| {
        let above = lines[..line - 1].iter().rev();
        let mut above = above.skip_while(|text| text.starts_with("#["));
        above
            .by_ref()
            .take_while(|text| text.starts_with("//"))
            .any(|text| text.contains("SAFETY:") || text.contains("# Safety"))
    };
    let words = file.all.iter().filter(|word| word.text == "unsafe");
    words.filter(move |word| !said(word.line)).map(|word| {
        complaint(file, word.line, "unsafe", "no comment right above it begins with SAFETY:")
    })
}

fn layer(edge: &Use<'_>) -> Option<String> {
    let (from, to) = (edge.from.first()?, edge.to.first());
    let Some((_, below)) = LAYERS.iter().find(|(name, _)| name == from) else {
        let text = format!("the module {from} has no place among the layers of tests/it/tidy");
        return Some(complaint(edge.file, edge.line, "layers", text));
    };
    match to {
        Some(to) if to == from || below.contains(&to.as_str()) => None,
        to => {
            let to = to.map_or("the crate's root", String::as_str);
            let text = format!("{from} uses {to}, and may use only: {}", below.join(", "));
            Some(complaint(edge.file, edge.line, "layers", text))
        }
    }
}

/// The executable goes through the top of the library.
fn main(file: &Source) -> Vec<String> {
    if file.path != "src/main.rs" {
        return Vec::new();
    }
    let used = file.paths.iter().filter(|written| written.segments[0] == "menagerie");
    used.filter_map(|written| {
        let module = written.segments.get(1).map_or("", String::as_str);
        let text = format!("main uses {module}, and may use only: {}", MAIN.join(", "));
        (!MAIN.contains(&module)).then(|| complaint(file, written.line, "layers", text))
    })
    .collect()
}

/// The library lists its modules lowest first.
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
                let text = format!("{} stands below a module that may use it", word.text);
                found.push(complaint(file, word.line, "layers", text));
            }
            None => {
                let text = format!("{} has no place among the layers of tests/it/tidy", word.text);
                found.push(complaint(file, word.line, "layers", text));
            }
        }
    }
    found
}

fn cycle(circle: &[Use<'_>]) -> String {
    let ways = circle.iter().map(|edge| {
        let (from, to) = (edge.from.join("::"), edge.to.join("::"));
        format!("{from} uses {to} ({}:{})", edge.file.path, edge.line)
    });
    let text = ways.collect::<Vec<_>>().join(", ");
    complaint(circle[0].file, circle[0].line, "cycle", text)
}

/// What stands outside the library sees what it makes public: no source is taken in by its path,
/// and the library knows nothing of the trainer.
fn outside_in(file: &Source) -> Vec<String> {
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
            let text = "takes in a source by its path, which passes by the public API";
            found.push(complaint(file, word.line, "public", text));
        }
    }
    found
}

/// The names of an enum's variants.
fn variants_of<'a>(file: &'a Source, name: &str) -> Vec<&'a str> {
    let words = &file.words;
    let start = words
        .windows(3)
        .position(|three| three[0].text == "enum" && three[1].text == name && three[2].text == "{");
    let (mut found, mut depth) = (Vec::new(), 0);
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

/// Only a few files say which family a game is of.
fn family(sources: &[Source]) -> Vec<String> {
    let Some(rules) = sources.iter().find(|file| file.path == "src/rules.rs") else {
        return Vec::new();
    };
    let kinds = BTreeMap::from(["Family", "State"].map(|name| (name, variants_of(rules, name))));
    let mut found = Vec::new();
    let others = sources.iter().filter(|file| {
        let folders = ["src/", "rbc-client/", "scripts/", "papers/"];
        let ours = folders.iter().any(|folder| file.path.starts_with(folder));
        ours && !FAMILY.contains(&file.path.as_str())
    });
    for file in others {
        for written in &file.paths {
            let mut pairs = written.segments.windows(2);
            let named = pairs.find(|pair| {
                let kinds = kinds.get(pair[0].as_str());
                kinds.is_some_and(|kinds| kinds.contains(&pair[1].as_str()))
            });
            if let Some(pair) = named {
                let text = format!(
                    "{}::{} tells families apart, which only {} do",
                    pair[0],
                    pair[1],
                    FAMILY.join(", ")
                );
                found.push(complaint(file, written.line, "family", text));
            }
        }
    }
    found
}

/// Pure modules touch nothing; others only what they are there for.
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
            ["std", "fs" | "net" | "process" | "env", ..] => !allowed,
            ["std", "io" | "thread", ..] => pure,
            ["std", "time", "Instant" | "SystemTime", ..] => pure,
            _ => false,
        };
        if touches {
            let name = segments.join("::");
            let text = match pure {
                true => format!("{name} in a module without input, output, threads and clocks"),
                false => format!("{name} in a file that is not on the list of those that may"),
            };
            found.push(complaint(file, written.line, "world", text));
        }
    }
    for (_, word, after) in file.neighbours() {
        let prints = ["print", "println", "eprint", "eprintln", "dbg"].contains(&&*word.text);
        if prints && after == "!" && file.path != "src/main.rs" {
            let text = format!("{}! beside what the protocol says", word.text);
            found.push(complaint(file, word.line, "world", text));
        }
    }
    found
}

/// The search knows no game by name.
fn variant_names(file: &Source, variants: &[&str]) -> Vec<String> {
    if !file.is_within("src/search") {
        return Vec::new();
    }
    let names = |word: &&Word| {
        // The one name of a game that is a keyword, too.
        if word.text == "loop" {
            return false;
        }
        let mut parts = word.text.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(|part| variants.iter().any(|name| name.eq_ignore_ascii_case(part)))
    };
    let complain = |word: &Word| {
        complaint(file, word.line, "nameless", format!("the search names a game: {}", word.text))
    };
    file.words.iter().filter(names).map(complain).collect()
}

fn panics(file: &Source) -> Vec<String> {
    if !UNPANICKED.iter().any(|module| file.is_within(module)) {
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
            let text = format!("{} may end the process: give an error, or prove it", word.text);
            complaint(file, word.line, "panic", text)
        })
        .collect()
}

/// The search computes the same on every machine.
fn inexact(file: &Source) -> Vec<String> {
    if !file.is_within("src/search") {
        return Vec::new();
    }
    let found = file.neighbours().filter(|(before, word, after)| {
        let called = *before == "." || *before == "::";
        called && *after == "(" && INEXACT.contains(&&*word.text)
    });
    found
        .filter(|(_, word, _)| !listed(file, word, &OFF_THE_RECORD))
        .map(|(_, word, _)| {
            let text = format!("{} differs between platforms: take it from libm", word.text);
            complaint(file, word.line, "inexact", text)
        })
        .collect()
}

fn line_of(file: &Source, line: usize) -> &str {
    file.text.lines().nth(line - 1).unwrap_or_default()
}

/// Whether a list of exceptions has the line of a word.
fn listed(file: &Source, word: &Word, list: &[(&str, &str, &str)]) -> bool {
    let line = line_of(file, word.line);
    list.iter().any(|(path, part, _)| *path == file.path && line.contains(part))
}

/// Exceptions that nothing needs any more.
fn stale(sources: &[Source], list: &[(&str, &str, &str)]) -> Vec<String> {
    let gone = list.iter().filter_map(|(path, part, _)| {
        let file = sources.iter().find(|file| file.path == *path)?;
        (!file.text.contains(part)).then(|| {
            complaint(file, 1, "exception", format!("tests/it/tidy still excuses: {part}"))
        })
    });
    gone.collect()
}

//! The documents, compared with the code and the files that they describe.
//!
//! Some parts of documents are generated. They stand between the lines `<!-- generated -->` and
//! `<!-- end of generated -->`, and the tests compare them with what they are generated from. With the
//! environment variable `UPDATE_DOCS=1` the tests rewrite them instead:
//!
//! ```sh
//! UPDATE_DOCS=1 cargo test -p menagerie --test it -- documents
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::talk::Engine;
use menagerie::engine::{OptionInfo, OptionKind, Session};
use menagerie::nn::network::verify;
use menagerie::search::Params;
use menagerie::variant::Catalogue;
use toml::{Table, Value};

/// The lines around the generated part of a document.
const MARKERS: [&str; 2] = ["<!-- generated -->\n", "<!-- end of generated -->"];

/// Combo options with more values show their number instead.
const MAX_LISTED_VALUES: usize = 8;

/// Folders with documents.
const DOCUMENT_FOLDERS: [&str; 6] = ["", "docs", "docs/history", "nets", "fuzz", "papers/bug0"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read_text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the files of a folder with an extension, sorted by name.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    found.sort();
    found
}

/// Compares the generated part of a document with `expected`, or replaces it if `UPDATE_DOCS` is 1.
fn check_generated(name: &str, expected: &str) {
    let text = read_text(name);
    let parts = text.split_once(MARKERS[0]);
    let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(MARKERS[1])?)));
    let (head, (found, tail)) = parts.unwrap_or_else(|| panic!("{name} has no generated part"));
    if env::var("UPDATE_DOCS").is_ok_and(|value| value == "1") {
        let [begin, end] = MARKERS;
        let text = format!("{head}{begin}{expected}{end}{tail}");
        fs::write(root().join(name), text).expect("the document can be written");
        return;
    }
    assert!(
        found == expected,
        "{name} is out of date, rewrite it with UPDATE_DOCS=1. Expected:\n{expected}"
    );
}

#[test]
fn parameters_have_rows_in_the_search_document() {
    let text = read_text("docs/search.md");
    for info in Params::TABLE {
        let row = format!("| `{}` | {} |", info.name, info.default);
        assert!(text.contains(&row), "docs/search.md has no row {row}");
    }
}

#[test]
fn options_document_matches_declarations() {
    let mut table =
        String::from("| Option | Type | Default | Values | Description |\n|---|---|---|---|---|\n");
    for OptionInfo { name, kind, help } in Session::new(Catalogue::shipped()).declarations() {
        let (kind, default, values) = match kind {
            OptionKind::Check { default } => {
                ("check", default.to_string(), "true, false".to_owned())
            }
            OptionKind::Spin { default, min, max } => {
                ("spin", default.to_string(), format!("{min} to {max}"))
            }
            OptionKind::Combo { default, choices } if choices.len() > MAX_LISTED_VALUES => {
                ("combo", default, format!("{} names", choices.len()))
            }
            OptionKind::Combo { default, choices } => ("combo", default, choices.join(", ")),
            OptionKind::Button => ("button", String::new(), String::new()),
            OptionKind::Text => ("string", "empty".to_owned(), String::new()),
        };
        assert!(!help.contains('|'), "the description of {name} contains \"|\"");
        writeln!(table, "| `{name}` | {kind} | {default} | {values} | {help} |").expect("a string");
    }
    check_generated("docs/options.md", &table);
}

/// Returns the parts of a text between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the network that the table of variants in README.md names for each, or "no".
fn documented_networks() -> BTreeMap<String, String> {
    let text = read_text("README.md");
    let (_, rows) = text.split_once("| Variant | Network |\n|---|---|\n").expect("the table");
    let mut networks = BTreeMap::new();
    for row in rows.lines().take_while(|line| line.starts_with('|')) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let [variants, network] = [(); 2].map(|()| cells.next().expect("two columns"));
        for variant in quoted(variants) {
            let name = match network.split([' ', ';']).next() {
                Some("yes") => variant,
                Some("that") => quoted(network).next().expect("a variant"),
                Some(name @ ("base" | "no")) => name,
                _ => panic!("README.md: {variant}: unknown network \"{network}\""),
            };
            let twice = networks.insert(variant.to_owned(), name.to_owned());
            assert_eq!(twice, None, "README.md has {variant} twice");
        }
    }
    networks
}

#[test]
fn readme_names_the_networks_that_play_the_variants() {
    let catalogue = Catalogue::shipped();
    let mut engine = Engine::start();
    engine
        .say(&format!("setoption name RuntimeLibrary value {}", root().join("runtime").display()));
    engine.say("setoption name Backend value cpu");
    for variant in catalogue.iter() {
        engine.say(&format!("setoption name UCI_Variant value {}", variant.name()));
        engine.say("isready");
    }
    engine.say("quit");
    let lines = engine.rest();
    let mut networks = BTreeMap::new();
    for variant in catalogue.iter() {
        let name = variant.name();
        let start = format!("info string {name}: network nets/");
        let file = lines.iter().find_map(|line| line.strip_prefix(&start));
        let network = file.map_or("no", |file| file.split('.').next().unwrap_or_default());
        networks.insert(name.to_owned(), network.to_owned());
    }
    engine.ended();
    assert_eq!(documented_networks(), networks);
}

#[test]
fn fuzz_targets_are_documented_and_have_seeds() {
    let text = read_text("fuzz/README.md");
    for path in files("fuzz/fuzz_targets", "rs") {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(text.contains(&format!("\n| `{name}` |")), "fuzz/README.md has no target {name}");
        read_text(&format!("fuzz/dictionaries/{name}.dict"));
        let mut seeds = fs::read_dir(root().join("fuzz/seeds").join(name)).expect("seeds");
        assert!(seeds.next().is_some(), "{name} has no seeds");
    }
}

/// Returns the records of the shipped networks, `nets/NAME.toml`, by name.
fn network_records() -> BTreeMap<String, Table> {
    let mut records = BTreeMap::new();
    for path in files("nets", "toml") {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let text = fs::read_to_string(&path).expect("it can be read");
        let record = text.parse().unwrap_or_else(|error| panic!("{name}.toml: {error}"));
        records.insert(name.to_owned(), record);
    }
    records
}

fn text_of<'a>(record: &'a Table, key: &str) -> Option<&'a str> {
    record.get(key).and_then(Value::as_str)
}

fn number_of(record: &Table, key: &str) -> Option<f64> {
    let value = record.get(key)?;
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

#[test]
fn networks_have_records_with_their_checksums() {
    let records = network_records();
    let keys = [("file", "checksum"), ("int8_file", "int8_checksum")];
    let mut recorded = BTreeMap::new();
    for record in records.values() {
        for (file, checksum) in keys {
            if let Some(file) = text_of(record, file) {
                recorded.insert(file, text_of(record, checksum).expect("a checksum"));
            }
        }
    }
    for path in files("nets", "onnx") {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let bytes = fs::read(&path).expect("it can be read");
        let checksum = verify(&bytes).expect("it ends in a checksum");
        assert_eq!(recorded.remove(name), Some(checksum), "checksum of {name}");
    }
    assert!(recorded.is_empty(), "records of networks that are not there: {recorded:?}");
}

/// Returns the measured result of a network: that of its match, or a sentence.
fn result(record: &Table) -> String {
    let Some(contest) = record.get("match").and_then(Value::as_table) else {
        return text_of(record, "result").expect("a result").to_owned();
    };
    let number = |key| number_of(contest, key).unwrap_or_else(|| panic!("no {key}"));
    let [won, drawn, lost] = ["won", "drawn", "lost"].map(number);
    let elo = number("elo");
    let interval = number_of(contest, "elo_low").zip(number_of(contest, "elo_high"));
    let interval = interval.map(|(low, high)| format!(" [{low:+.0}, {high:+.0}]"));
    let against = text_of(contest, "against").expect("an opponent");
    let replaced = text_of(record, "file") == Some(against);
    let opponent = if replaced { "the previous network" } else { against };
    let conditions = text_of(contest, "conditions").expect("conditions");
    let variant = text_of(contest, "variant").map(|variant| format!(" in {variant}"));
    format!(
        "{won}-{drawn}-{lost}, {elo:+.0}{} against {opponent}{}, {conditions}",
        interval.unwrap_or_default(),
        variant.unwrap_or_default()
    )
}

#[test]
fn networks_document_matches_records() {
    let mut table = String::from(
        "| Network | Date | Architecture | Games | Positions | CPU minutes | W-D-L, Elo [95 %] |\n\
         |---|---|---|--:|--:|--:|---|\n",
    );
    for (name, record) in network_records() {
        let architecture = match text_of(&record, "network") {
            Some(network) => network.to_owned(),
            None => {
                let size = |key| number_of(&record, key).unwrap_or_else(|| panic!("{name}: {key}"));
                format!("sparse, {}/{}", size("hidden_size"), size("policy_size"))
            }
        };
        let date = text_of(&record, "date").unwrap_or_else(|| panic!("{name}: no date"));
        let count = |key| number_of(&record, key).map(|count| count.to_string());
        let [games, positions] = ["games", "positions"].map(count).map(Option::unwrap_or_default);
        let hours = number_of(&record, "training_cpu_hours");
        let minutes = hours.map(|hours| format!("{:.1}", 60.0 * hours)).unwrap_or_default();
        writeln!(
            table,
            "| [`{name}`]({name}.toml) | {} | {architecture} | {games} | {positions} | {minutes} | {} |",
            &date[..10],
            result(&record)
        )
        .expect("a string");
    }
    check_generated("nets/README.md", &table);
}

/// Returns the targets of the links in a Markdown text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[test]
fn links_of_documents_lead_to_files() {
    for folder in DOCUMENT_FOLDERS {
        for path in files(folder, "md") {
            let text = fs::read_to_string(&path).expect("it can be read");
            for target in links(&text).filter(|target| !target.contains("://")) {
                let (file, _) = target.split_once('#').unwrap_or((target, ""));
                let linked = path.with_file_name("").join(file);
                assert!(linked.exists(), "{}: no file {target}", path.display());
            }
        }
    }
}

//! docs/configuration.md, generated from the types of the settings files and their doc comments.
//!
//! The test compares the document with the types. This rewrites it:
//!
//! ```sh
//! UPDATE_DOCS=1 cargo test -p trainer --test it -- configuration
//! ```

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use menagerie::variant::Catalogue;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};
use trainer::arena::config::MatchConfig;
use trainer::arena::spec::PlayerSpec;
use trainer::campaign::settings::{
    CampaignFile, ContestSettings, DatagenSettings, EngineSettings, VariantEntry,
};
use trainer::gauntlet::{GauntletConfig, GauntletMatches};
use trainer::learner::LearnerConfig;
use trainer::network::Architecture;
use trainer::run::RunConfig;
use trainer::selfplay::SelfPlayConfig;
use trainer::sparse::SparseConfig;
use trainer::supervised::SupervisedConfig;

const INTRODUCTION: &str = "# Configuration

The settings files of the trainer are TOML; unknown keys are errors. `a.b` is key `b` of table `a`. A file or table must
have the keys marked with \\*. [training.md](training.md) describes the commands. This page is generated from the doc
comments in `scripts/src` by `UPDATE_DOCS=1 cargo test -p trainer --test it -- configuration`.
";

/// A default that depends on the machine.
const CORES: &str = "cores";

/// A table of the document.
struct Section {
    /// The heading and the text below it, in Markdown.
    text: &'static str,
    /// The JSON schema of the keys.
    schema: Value,
    /// Defaults that are not in the schema, by key.
    defaults: Value,
    /// Tables that are described by other sections.
    linked: &'static [&'static str],
    /// Keys without a default may be missing, since other settings replace them.
    is_partial: bool,
}

impl Section {
    fn new<T: JsonSchema>(text: &'static str) -> Section {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        Section { text, schema, defaults: Value::Null, linked: &[], is_partial: false }
    }

    /// Sets the defaults of keys. The variant is always given by the user.
    fn defaults(self, defaults: &impl Serialize) -> Section {
        let mut defaults = serde_json::to_value(defaults).expect("JSON");
        if let Some(variant) = defaults.pointer_mut("/variant") {
            *variant = Value::Null;
        }
        Section { defaults, ..self }
    }

    /// Shows the default at a JSON pointer as the number of cores.
    fn cores(mut self, pointer: &str) -> Section {
        *self.defaults.pointer_mut(pointer).expect("a default") = json!(CORES);
        self
    }

    fn linked(self, linked: &'static [&'static str]) -> Section {
        Section { linked, ..self }
    }

    fn partial(self) -> Section {
        Section { is_partial: true, ..self }
    }

    /// Returns the section in Markdown.
    fn markdown(&self) -> String {
        let mut rows = String::new();
        self.add_rows(&mut rows, "", &self.schema, &self.defaults);
        format!(
            "\n{}\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n{rows}",
            self.text.trim()
        )
    }

    /// Adds the rows of the keys of a table.
    fn add_rows(&self, rows: &mut String, prefix: &str, schema: &Value, defaults: &Value) {
        let schema = without_null(schema);
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            self.add_rows(rows, prefix, &with_description(variant), defaults);
        }
        let Some(properties) = schema["properties"].as_object() else { return };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        // The required keys are in the order of their declaration.
        let optional = properties.keys().map(String::as_str).filter(|key| !required.contains(key));
        for key in required.iter().copied().chain(optional) {
            let property = &properties[key];
            let name = format!("{prefix}{key}");
            let is_linked = self.linked.contains(&name.as_str());
            let is_nested = is_table(property) && !is_linked;
            let default = [&defaults[key], &property["default"]];
            let default = default.into_iter().find(|value| !value.is_null());
            let is_required = required.contains(&key);
            let default_text = match default {
                Some(_) if is_nested => String::new(),
                Some(value) => quote(value, property),
                None if !is_required && property["type"] == "boolean" => "false".to_owned(),
                None => String::new(),
            };
            let mark = if is_required && !self.is_partial { "\\*" } else { "" };
            let meaning = first_sentence(property);
            assert!(!meaning.is_empty() && !meaning.contains('|'), "{name}: \"{meaning}\"");
            let kind = type_name(property);
            writeln!(rows, "| `{name}`{mark} | {kind} | {default_text} | {meaning} |")
                .expect("a string");
            if is_nested {
                let defaults = default.unwrap_or(&Value::Null);
                self.add_rows(rows, &format!("{name}."), property, defaults);
            }
        }
    }
}

/// Returns the alternative of a schema that is not null.
fn without_null(schema: &Value) -> &Value {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.clone().find(|it| it["type"] != "null").unwrap_or(schema)
}

/// Returns an alternative of an enum with its description as that of its only property.
fn with_description(variant: &Value) -> Value {
    let mut variant = variant.clone();
    let description = variant["description"].clone();
    let properties = variant["properties"].as_object_mut().into_iter().flatten();
    for (_, property) in properties {
        property["description"] = description.clone();
    }
    variant["required"] = Value::Null;
    variant
}

/// Returns `true` for a table with known keys.
fn is_table(schema: &Value) -> bool {
    let schema = without_null(schema);
    let alternatives = schema["oneOf"].as_array();
    schema["properties"].is_object()
        || alternatives.is_some_and(|all| all.iter().any(|it| it["properties"].is_object()))
}

/// Returns the type of a key, as the document names it.
fn type_name(schema: &Value) -> String {
    let schema = without_null(schema);
    if is_table(schema) {
        return "table".to_owned();
    }
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    let values = alternatives.flat_map(|it| [&it["const"], &it["enum"]]).chain([&schema["enum"]]);
    let mut names = Vec::new();
    for value in values {
        names.extend(value.as_str());
        names.extend(value.as_array().into_iter().flatten().filter_map(Value::as_str));
    }
    if !names.is_empty() {
        let quoted: Vec<String> = names.iter().map(|name| format!("`\"{name}\"`")).collect();
        return quoted.join(", ");
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    match kind.and_then(Value::as_str) {
        Some("array") => format!("list of {}s", type_name(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("table of {}s", type_name(&schema["additionalProperties"]))
        }
        Some("object") | None => "table".to_owned(),
        Some(kind) => kind.to_owned(),
    }
}

/// Returns the first sentence of a description, without its full stop.
fn first_sentence(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let sentence = text.split_once(". ").map_or(text.as_str(), |(first, _)| first);
    sentence.trim_end_matches('.').to_owned()
}

/// Returns a default as the document shows it. Keys of a table that are equal to their own defaults are left out.
fn quote(value: &Value, schema: &Value) -> String {
    match value {
        Value::Number(_) | Value::Bool(_) => toml_text(value, schema),
        Value::String(text) if text == CORES => CORES.to_owned(),
        _ => match toml_text(value, schema).as_str() {
            "{  }" | "[]" | "\"\"" => String::new(),
            text => format!("`{text}`"),
        },
    }
}

fn toml_text(value: &Value, schema: &Value) -> String {
    match value {
        Value::String(text) if text == CORES => CORES.to_owned(),
        Value::Number(number) if number.is_f64() => {
            // Most numbers are of type `f32`.
            (number.as_f64().unwrap_or_default() as f32).to_string()
        }
        Value::Number(number) => digit_groups(&number.to_string()),
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(|it| toml_text(it, &Value::Null)).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Object(keys) => {
            let properties = &schema["properties"];
            let changed = keys.iter().filter(|(key, value)| {
                !value.is_null() && properties[key.as_str()]["default"] != **value
            });
            let texts = changed.map(|(key, value)| {
                format!("{key} = {}", toml_text(value, &properties[key.as_str()]))
            });
            format!("{{ {} }}", texts.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// Separates the digits of an integer of more than four digits in groups of three, as TOML allows.
fn digit_groups(digits: &str) -> String {
    if digits.len() < 5 {
        return digits.to_owned();
    }
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join("_")
}

fn sections() -> Vec<Section> {
    let chess = Catalogue::shipped().require("chess").expect("it is shipped");
    let engine = json!({ "engine": EngineSettings::reference() });
    vec![
        Section::new::<RunConfig>(
            "## Self-play: `config.toml`\n\n\
             `trainer train VARIANT` writes this file to the folder of the run; `--config FILE` starts a run with \
             another one.\nThe defaults shown are those of chess; they depend on the size of the variant.",
        )
        .defaults(&RunConfig::for_variant(&chess))
        .cores("/threads")
        .linked(&["network", "learner", "selfplay"]),
        Section::new::<Architecture>("### `network`\n\nOne of three kinds."),
        Section::new::<LearnerConfig>("### `[learner]`"),
        Section::new::<SelfPlayConfig>("### `[selfplay]`").defaults(&SelfPlayConfig::default()),
        Section::new::<SupervisedConfig>(
            "## Training from games: `config.toml`\n\nFor `trainer train --records`, with the defaults of chess.",
        )
        .defaults(&SupervisedConfig::for_variant(&chess))
        .cores("/learner/threads")
        .linked(&["network", "learner"]),
        Section::new::<SparseConfig>("## Sparse networks: `config.toml`\n\nFor `trainer sparse`.")
            .defaults(&SparseConfig::for_variant("chess")),
        Section::new::<CampaignFile>(
            "## Campaigns\n\nFor `trainer campaign FILE`; see \
             [campaign.toml](../scripts/examples/campaign.toml). Paths are relative to the file.",
        )
        .defaults(&engine)
        .linked(&["engine", "self_play", "datagen", "train", "fine_tune", "match"]),
        Section::new::<VariantEntry>("### `[[variants]]`")
            .linked(&["engine", "self_play", "datagen", "train", "fine_tune", "match"]),
        Section::new::<EngineSettings>("### `[engine]`")
            .defaults(&EngineSettings::reference())
            .partial(),
        Section::new::<SelfPlayConfig>("### `[self_play]`")
            .defaults(&SelfPlayConfig::for_sparse())
            .partial(),
        Section::new::<DatagenSettings>("### `[datagen]`")
            .defaults(&DatagenSettings::default())
            .partial(),
        Section::new::<ContestSettings>("### `[match]`")
            .defaults(&ContestSettings::default())
            .partial(),
        Section::new::<GauntletConfig>(
            "## Gauntlets\n\nFor `trainer gauntlet FILE`; see \
             [gauntlet.toml](../scripts/examples/gauntlet.toml).",
        ),
        Section::new::<GauntletMatches>("### `[[matches]]`"),
        Section::new::<MatchConfig>(
            "## Matches\n\nFor `trainer match --config FILE`, and `match.toml` in the folder of a match.",
        )
        .defaults(&MatchConfig::new("chess", Vec::new())),
        Section::new::<PlayerSpec>("### `[[players]]`"),
    ]
}

#[test]
fn configuration_document_matches_the_types() {
    let mut expected = INTRODUCTION.to_owned();
    for section in sections() {
        expected.push_str(&section.markdown());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    if env::var("UPDATE_DOCS").is_ok_and(|value| value == "1") {
        fs::write(path, expected).expect("the document can be written");
        return;
    }
    let found = fs::read_to_string(path).expect("docs/configuration.md");
    assert!(
        found == expected,
        "docs/configuration.md is out of date, rewrite it with UPDATE_DOCS=1. Expected:\n{expected}"
    );
}

#[test]
fn configuration_reads_earlier_names_of_keys() {
    let config: MatchConfig =
        toml::from_str("variant = \"chess\"\nplayers = []\nlongest = 7").expect("a match");
    assert_eq!(config.max_turns, Some(7));
    let config: SelfPlayConfig = toml::from_str("longest = 7").expect("a configuration");
    assert_eq!(config.max_plies, 7);
}

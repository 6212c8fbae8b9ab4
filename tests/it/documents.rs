//! The documents against what they tell of.

use std::fs;
use std::path::Path;

use menagerie::engine::Session;
use menagerie::nn::network::verify;
use menagerie::search::Params;
use menagerie::variant::Catalogue;
use sha2::{Digest, Sha256};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_parameter_stands_with_its_default() {
    let text = document("docs/search.md");
    for info in Params::TABLE {
        let row = format!("| `{}` | {} |", info.name, info.default);
        assert!(text.contains(&row), "docs/search.md has no row {row}");
    }
}

#[test]
fn every_option_and_variant_is_told() {
    let text = document("README.md");
    for declaration in Session::new(Catalogue::shipped()).declarations() {
        let row = format!("\n| `{}` |", declaration.name);
        assert!(text.contains(&row), "README.md has no option {}", declaration.name);
    }
    for variant in Catalogue::shipped().iter() {
        let name = variant.name();
        assert!(text.contains(&format!("`{name}`")), "README.md has no variant {name}");
    }
}

#[test]
fn every_fuzz_target_is_told_and_has_somewhere_to_start() {
    let text = document("docs/ARCHITECTURE.md");
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets")).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(text.contains(&format!("\n| `{name}` |")), "no fuzz target {name} is told of");
        document(&format!("fuzz/dictionaries/{name}.dict"));
        let mut seeds = fs::read_dir(root().join("fuzz/seeds").join(name)).expect("seeds");
        assert!(seeds.next().is_some(), "{name} has no seeds");
    }
}

#[test]
fn every_network_stands_with_its_checksum() {
    let text = document("nets/README.md");
    for entry in fs::read_dir(root().join("nets")).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            let bytes = fs::read(&path).expect("it can be read");
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            // Those of a campaign have a record of their own.
            let record =
                path.with_file_name(format!("{}.toml", name.trim_end_matches(".int8.onnx")));
            if let Ok(record) = fs::read_to_string(record) {
                let checksum = verify(&bytes).expect("it has a checksum");
                assert!(
                    record.contains(&format!("checksum = \"{checksum}\"")),
                    "{name}: {checksum}"
                );
                continue;
            }
            let digest = Sha256::digest(&bytes);
            let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(text.contains(&digits), "{} has SHA-256 {digits}", path.display());
        }
    }
}

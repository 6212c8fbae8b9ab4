//! Runs of sparse networks: invalid settings are refused and do not stay in the folder.

use std::fs;
use std::path::Path;

use menagerie::variant::Catalogue;
use trainer::sparse::{Sources, SparseConfig, SparseRun, SparseSizes};

/// The labelled games of crazyhouse, in a file in `folder`.
fn sources(folder: &Path) -> Sources {
    let golden = include_str!("../golden/labelled.tsv");
    let lines = golden.lines().filter(|line| line.starts_with("crazyhouse"));
    let path = folder.join("games.tsv");
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).expect("written");
    let crazyhouse = Catalogue::shipped().get("crazyhouse").expect("crazyhouse is shipped");
    Sources::of_variant(&crazyhouse, &[path]).expect("games of a sparse network")
}

fn config() -> SparseConfig {
    SparseConfig {
        positions: 32,
        batch: 16,
        held_out_of: 2,
        score_scale: Some(200.0),
        network: SparseSizes { hidden_size: 128, policy_size: 64, value_hidden: 8 },
        ..SparseConfig::for_variant("crazyhouse")
    }
}

#[test]
fn refused_start_does_not_stay_in_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = sources(folder.path());
    let run = folder.path().join("run");
    let wrong = SparseConfig { start: Some("nothere".into()), ..config() };
    let error = SparseRun::open(&run, wrong, &sources).expect_err("no such file").to_string();
    assert!(error.contains("nothere"), "{error}");
    SparseRun::open(&run, config(), &sources).expect("a run").train(&|_| ()).expect("trained");
    // From now on its own settings count.
    let other = SparseConfig { batch: 8, ..config() };
    let run = SparseRun::open(&run, other, &sources).expect("a run");
    assert_eq!((run.network().steps(), run.config().batch), (2, 16));
}

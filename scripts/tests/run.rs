//! A run's contract: it goes on where it stopped, and comes to the same network.

use std::fs;
use std::path::Path;

use menagerie::variant::Catalogue;
use trainer::network::Architecture;
use trainer::run::{Metrics, Run, RunConfig};

fn config(iterations: u64) -> RunConfig {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    RunConfig {
        iterations,
        games: 40,
        threads: 2,
        batch: 16,
        network: Architecture::Mlp { widths: vec![16] },
        // The learning rate must not depend on where the run was to end.
        decay_from: 1.0,
        ..RunConfig::for_variant(&variant)
    }
}

fn learn(folder: &Path, iterations: u64) {
    Run::open(folder, config(iterations)).expect("a run").learn().expect("learned");
}

/// Lets the run of `folder` go on for more iterations than it was begun with.
fn prolong(folder: &Path, iterations: u64) {
    let text = toml::to_string(&config(iterations)).expect("a configuration");
    fs::write(folder.join("config.toml"), text).expect("written");
}

fn bytes(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("network.onnx")).expect("a network")
}

#[test]
fn a_run_that_was_stopped_comes_to_the_same_network() {
    let (whole, parts) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
    learn(whole.path(), 4);
    learn(parts.path(), 1);
    prolong(parts.path(), 3);
    learn(parts.path(), 3);
    prolong(parts.path(), 4);
    // What a kill after self-play and learning, but before the state was written, leaves behind.
    let state = fs::read(parts.path().join("state.toml")).expect("a state");
    let saved = parts.path().join("learner/00003/learner.ckpt");
    let learner = fs::read(&saved).expect("a learner");
    learn(parts.path(), 4);
    fs::write(parts.path().join("state.toml"), state).expect("written");
    fs::create_dir_all(saved.parent().expect("a folder")).expect("a folder");
    fs::write(&saved, learner).expect("written");
    learn(parts.path(), 4);
    assert_eq!(bytes(whole.path()), bytes(parts.path()));
    let log = |folder: &Path| -> Vec<(u64, u64, u64)> {
        let rows = Metrics::read(folder).expect("a log");
        rows.iter().map(|row| (row.iteration, row.games, row.positions)).collect()
    };
    assert_eq!(log(whole.path()), log(parts.path()));
    assert_eq!(log(whole.path()).len(), 4);
}

#[test]
fn a_damaged_run_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    learn(folder.path(), 2);
    for name in ["config.toml", "state.toml", "games/00001.games", "learner/00002/learner.ckpt"] {
        let path = folder.path().join(name);
        let intact = fs::read(&path).expect("a file");
        fs::write(&path, b"what = is this").expect("written");
        let error = Run::open(folder.path(), config(2)).expect_err("damage is seen");
        let file = name.rsplit('/').next().expect("a name");
        assert!(error.to_string().contains(file), "{name}: {error}");
        fs::write(&path, intact).expect("written");
    }
    Run::open(folder.path(), config(2)).expect("an intact run");
}

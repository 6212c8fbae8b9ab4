//! Runs by self-play: they continue where they stopped, and end with the same network.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use menagerie::variant::Catalogue;
use trainer::network::Architecture;
use trainer::onnx;
use trainer::run::{Run, RunConfig, RunMetrics};
use trainer::store::Store;

fn config(iterations: u64) -> RunConfig {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    RunConfig {
        iterations,
        games: 40,
        threads: 2,
        batch: 16,
        network: Architecture::Mlp { widths: vec![16], policy_channels: 0 },
        // The learning rate must not depend on where the run was to end.
        decay_from: 1.0,
        ..RunConfig::for_variant(&variant)
    }
}

fn store(folder: &Path) -> Store {
    Store::open(folder.to_str().expect("a text")).expect("a store")
}

fn train(folder: &Path, iterations: u64) {
    Run::open(store(folder), config(iterations), None).expect("a run").train().expect("trained");
}

/// Sets the number of iterations of the run in `folder`.
fn prolong(folder: &Path, iterations: u64) {
    let text = toml::to_string(&config(iterations)).expect("a configuration");
    fs::write(folder.join("config.toml"), text).expect("written");
}

fn bytes(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("network.onnx")).expect("a network")
}

#[test]
fn stopped_run_ends_with_the_same_network() {
    let whole = tempfile::tempdir().expect("a folder");
    let parts = tempfile::tempdir().expect("a folder");
    train(whole.path(), 4);
    train(parts.path(), 1);
    prolong(parts.path(), 3);
    train(parts.path(), 3);
    prolong(parts.path(), 4);
    // The files of a kill after self-play and training, but before the state was written.
    let state = fs::read(parts.path().join("state.toml")).expect("a state");
    let saved = parts.path().join("learner/00003.ckpt");
    let learner = fs::read(&saved).expect("a learner");
    train(parts.path(), 4);
    fs::write(parts.path().join("state.toml"), state).expect("written");
    fs::write(&saved, learner).expect("written");
    train(parts.path(), 4);
    assert_eq!(bytes(whole.path()), bytes(parts.path()));
    // And those of a kill after the state was written.
    let left = ["learner/00003.ckpt", "games/00003/000000.part"];
    for name in left {
        store(parts.path()).write(name, vec![1]).expect("written");
    }
    train(parts.path(), 4);
    assert_eq!(lasting(whole.path()), lasting(parts.path()));
    assert!(store(parts.path()).list("games/00003").expect("listed").is_empty());
    let log = |folder: &Path| -> Vec<(u64, u64, u64)> {
        let rows = RunMetrics::read(&store(folder)).expect("a log");
        rows.iter().map(|row| (row.iteration, row.games, row.positions)).collect()
    };
    assert_eq!(log(whole.path()), log(parts.path()));
    assert_eq!(log(whole.path()).len(), 4);
}

#[test]
fn open_refuses_damaged_files() {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), 2);
    for name in ["config.toml", "state.toml", "games/00001.games", "learner/00002.ckpt"] {
        let path = folder.path().join(name);
        let intact = fs::read(&path).expect("a file");
        fs::write(&path, b"what = is this").expect("written");
        let error = Run::open(store(folder.path()), config(2), None).expect_err("damage is seen");
        let file = name.rsplit('/').next().expect("a name");
        assert!(error.to_string().contains(file), "{name}: {error}");
        fs::write(&path, intact).expect("written");
    }
    Run::open(store(folder.path()), config(2), None).expect("an intact run");
}

#[test]
fn open_refuses_cpu_seconds_that_are_no_duration() {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), 1);
    let path = folder.path().join("state.toml");
    let text = fs::read_to_string(&path).expect("a state");
    let others: Vec<&str> = text.lines().filter(|line| !line.contains("cpu_seconds")).collect();
    for (value, quote) in [("-1.0", "-1"), ("nan", "NaN"), ("1.8e19", "18000000000000000000")] {
        let changed = format!("{}\ncpu_seconds = {value}\n", others.join("\n"));
        fs::write(&path, changed).expect("written");
        let error = Run::open(store(folder.path()), config(1), None).expect_err("refused");
        let error = error.to_string();
        assert!(error.contains("state.toml"), "{error}");
        assert!(error.contains(&format!("cpu_seconds is {quote}, not between 0 and")), "{error}");
    }
    fs::write(&path, text).expect("written");
    Run::open(store(folder.path()), config(1), None).expect("an intact run");
}

/// All files of a run, except for those that contain times, and parts.
fn lasting(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for part in ["games", "nets", "learner"] {
        for name in store(folder).list(part).expect("listed") {
            let name = format!("{part}/{name}");
            files.push((name.clone(), fs::read(folder.join(name)).expect("a file")));
        }
    }
    files
}

#[test]
fn killed_run_loses_no_game_and_repeats_none() {
    let whole = tempfile::tempdir().expect("a folder");
    let killed = tempfile::tempdir().expect("a folder");
    let slow = RunConfig { games: 600, ..config(3) };
    Run::open(store(whole.path()), slow.clone(), None).expect("a run").train().expect("trained");
    let text = toml::to_string(&slow).expect("a configuration");
    fs::write(killed.path().join("config.toml"), text).expect("written");
    let start_training = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
        command.arg("train");
        command.arg("3x3").arg("--run").arg(killed.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("started")
    };
    let mut most = (0, 0);
    for milliseconds in [20, 350, 90, 700, 40, 500, 150] {
        let mut process = start_training();
        thread::sleep(Duration::from_millis(milliseconds));
        process.kill().expect("killed");
        process.wait().expect("gone");
        // No row and no shard is lost.
        let rows = RunMetrics::read(&store(killed.path())).expect("a log").len();
        let games = store(killed.path()).list("games").expect("listed").len();
        assert!((rows, games) >= most, "{rows} rows and {games} shards after {most:?}");
        most = (rows, games);
    }
    assert!(start_training().wait().expect("gone").success());
    assert_eq!(lasting(killed.path()), lasting(whole.path()));
    let rows = RunMetrics::read(&store(killed.path())).expect("a log");
    let games: Vec<_> = rows.iter().map(|row| (row.iteration, row.games)).collect();
    assert_eq!(games, [(1, 600), (2, 1200), (3, 1800)]);
}

#[test]
fn warm_start_has_the_given_weights() {
    let first = tempfile::tempdir().expect("a folder");
    let second = tempfile::tempdir().expect("a folder");
    train(first.path(), 1);
    let given = bytes(first.path());
    let run = Run::open(store(second.path()), config(1), Some(&given)).expect("a run");
    drop(run);
    let weights = |bytes: &[u8]| onnx::read(bytes).expect("a network").0.tensors();
    assert_eq!(weights(&bytes(second.path())), weights(&given));
    // If it is killed in its first iteration, it still starts from them.
    Run::open(store(second.path()), config(1), None).expect("a run");
    assert_eq!(weights(&bytes(second.path())), weights(&given));
    let other = second.path().join("other");
    let error = Run::open(store(&other), config(1), Some(b"no network"));
    assert!(error.expect_err("no network").to_string().contains("--from"));
    assert!(!other.join("config.toml").exists(), "settings that are refused do not stay");
    let mut wrong = config(1);
    wrong.selfplay.search.insert("c_pukt".to_owned(), 1.0);
    let error = Run::open(store(&other), wrong, None).expect_err("unknown").to_string();
    assert!(error.contains("c_pukt") && !other.join("config.toml").exists(), "{error}");
}

#[test]
fn run_trains_a_variant_of_the_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let sections = "[queenless:3x3]\nstartFen = k1r/3/K1R w - - 0 1\nselfPlayMen = KRkr\n";
    let config =
        RunConfig { variant: "queenless".to_owned(), variants: sections.to_owned(), ..config(1) };
    Run::open(store(folder.path()), config.clone(), None).expect("a run").train().expect("trained");
    // Comments are not rules.
    let commented = RunConfig { variants: format!("# mine\n{sections}"), ..config.clone() };
    let again = Run::open(store(folder.path()), commented, None).expect("a run");
    assert_eq!(again.config(), &config);
    drop(again);
    let refused = |config| {
        Run::open(store(folder.path()), config, None).expect_err("another variant").to_string()
    };
    let error = refused(self::config(1));
    assert!(error.contains("config.toml: a run of queenless, not of 3x3"), "{error}");
    let changed = sections.replace("startFen", "stalemateValue = win\nstartFen");
    let error = refused(RunConfig { variants: changed, ..config.clone() });
    assert!(error.contains("a run of queenless by other rules"), "{error}");
    let unknown = RunConfig { variant: "nothing".to_owned(), ..config };
    let other = store(&folder.path().join("other"));
    let error = Run::open(other, unknown, None).expect_err("unknown").to_string();
    assert!(error.contains("nothing"), "{error}");
}

#[test]
fn run_plays_with_int8_networks() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = RunConfig {
        quantised: true,
        games: 20,
        network: Architecture::Residual { blocks: 1, channels: 8, squeeze: 0 },
        ..config(2)
    };
    Run::open(store(folder.path()), config, None).expect("a run").train().expect("trained");
    let names = store(folder.path()).list("nets").expect("listed");
    assert_eq!(names.iter().filter(|name| name.ends_with(".int8.onnx")).count(), 3, "{names:?}");
    // Games are played with it: without it there is an error.
    fs::remove_file(folder.path().join("nets/00002.int8.onnx")).expect("removed");
    let text = fs::read_to_string(folder.path().join("config.toml")).expect("a configuration");
    let longer = text.replace("iterations = 2", "iterations = 3");
    fs::write(folder.path().join("config.toml"), longer).expect("written");
    let mut run = Run::open(store(folder.path()), self::config(2), None).expect("a run");
    let error = run.train().expect_err("it is missing").to_string();
    assert!(error.contains("00002.int8.onnx"), "{error}");
}

#[test]
fn run_settings_out_of_range_are_quoted_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("my.toml");
    let whole = toml::to_string(&config(1)).expect("TOML");
    fs::write(&file, &whole).expect("written");
    RunConfig::read(&file).expect("valid settings");
    for (key, value, wanted) in [
        ("games", "0", "games is 0, not 1 to"),
        ("games", "9223372036854775807", "games is 9223372036854775807, not 1 to"),
        ("batch", "0", "batch is 0, not 1 to"),
        ("threads", "0", "threads is 0, not 1 to"),
        ("reuse", "nan", "reuse is NaN, not a number from 0 on"),
        ("decay_from", "nan", "decay_from is NaN, not 0 to 1"),
        ("visits", "0", "visits is 0, not 1 to"),
        ("parallel", "0", "parallel is 0, not 1 to"),
        ("c_visit", "nan", "root.gumbel.c_visit is NaN, not a number from 0 on"),
        ("c_scale", "-1.0", "root.gumbel.c_scale is -1, not a number from 0 on"),
    ] {
        let begin = format!("{key} = ");
        let lines = whole.lines().map(|line| match line.starts_with(&begin) {
            true => format!("{begin}{value}\n"),
            false => format!("{line}\n"),
        });
        let text: String = lines.collect();
        assert_ne!(text.trim(), whole.trim(), "{key}");
        fs::write(&file, text).expect("written");
        let error = RunConfig::read(&file).expect_err("refused").to_string();
        assert!(error.contains("my.toml: ") && error.contains(wanted), "{error}");
    }
}

#[test]
fn run_with_surprise_weighting_is_repeated_exactly() {
    let [even, whole, parts] = [0; 3].map(|_| tempfile::tempdir().expect("a folder"));
    let config = |iterations, surprise| RunConfig { surprise, ..config(iterations) };
    let open = |folder: &Path, config| Run::open(store(folder), config, None);
    open(even.path(), config(2, 0.0)).expect("a run").train().expect("trained");
    open(whole.path(), config(2, 0.5)).expect("a run").train().expect("trained");
    open(parts.path(), config(1, 0.5)).expect("a run").train().expect("trained");
    let text = toml::to_string(&config(2, 0.5)).expect("a configuration");
    fs::write(parts.path().join("config.toml"), text).expect("written");
    open(parts.path(), config(2, 0.5)).expect("a run").train().expect("trained");
    assert_eq!(bytes(whole.path()), bytes(parts.path()));
    assert_ne!(bytes(whole.path()), bytes(even.path()));
    let games = |folder: &Path| fs::read(folder.join("games/00000.games")).expect("games");
    assert_eq!(games(whole.path()), games(even.path()), "the same games with other weights");
    let refused = open(&even.path().join("other"), config(1, 1.5)).expect_err("not a share");
    assert!(refused.to_string().contains("surprise is 1.5, not 0 to 1"), "{refused}");
    assert!(store(&even.path().join("other")).find("config.toml").expect("looked for").is_none());
}

#[test]
fn train_command_refuses_settings_of_another_variant() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fs::write(&file, toml::to_string(&config(1)).expect("a configuration")).expect("written");
    let run = folder.path().join("run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
    command.args(["train", "gardner", "--run"]).arg(&run).arg("--config").arg(&file);
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let expected = "settings.toml: the settings of 3x3, not of gardner";
    assert!(!output.status.success() && text.contains(expected), "{text}");
    assert!(!run.exists());
}

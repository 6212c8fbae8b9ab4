//! Supervised runs: they learn, continue where they stopped, and end with the same network.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use menagerie::encoding::Encoding;
use menagerie::variant::{Catalogue, Variant};
use trainer::learner::{LearnerConfig, Optimizer};
use trainer::network::Architecture;
use trainer::readers::{self, Games};
use trainer::record::{self, CheckedGame, End, GameRecord, Sampler, Targets};
use trainer::store::Store;
use trainer::supervised::{Supervised, SupervisedConfig, SupervisedMetrics, check_games};

fn crazyhouse() -> Arc<Variant> {
    Catalogue::shipped().get("crazyhouse").expect("crazyhouse is shipped")
}

fn games() -> Vec<GameRecord> {
    read_games().games
}

fn read_games() -> Games {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.tsv");
    let golden = include_str!("../golden/labelled.tsv");
    let lines = golden.lines().filter(|line| line.starts_with("crazyhouse"));
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).expect("written");
    let found = readers::read_all(&[path], &crazyhouse()).expect("read");
    assert_eq!(found.errors, []);
    found
}

fn checked_games() -> Vec<CheckedGame> {
    let (games, invalid) = check_games(read_games(), &crazyhouse());
    assert_eq!(invalid, []);
    games
}

fn config(positions: u64, checkpoint_seconds: f64) -> SupervisedConfig {
    SupervisedConfig {
        positions,
        batch: 16,
        checkpoint_seconds,
        // Muon needs a layer between the first and the last.
        network: Architecture::Mlp { widths: vec![32, 16], policy_channels: 0 },
        learner: LearnerConfig {
            optimizer: Optimizer::Muon,
            threads: 2,
            learning_rate: 3e-3,
            warm_up_steps: 5,
            ..LearnerConfig::default()
        },
        ..SupervisedConfig::for_variant(&crazyhouse())
    }
}

fn open(folder: &Path, config: SupervisedConfig, from: Option<&Path>) -> Supervised {
    Supervised::open(store(folder), config, &crazyhouse(), checked_games(), from).expect("a run")
}

fn store(folder: &Path) -> Store {
    Store::open(folder.to_str().expect("a text")).expect("a store")
}

fn bytes(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("network.onnx")).expect("a network")
}

#[test]
fn run_learns_its_records_and_is_repeated_exactly_after_a_kill() {
    let whole = tempfile::tempdir().expect("a folder");
    let parts = tempfile::tempdir().expect("a folder");
    open(whole.path(), config(1600, 1e6), None).train(&|_| ()).expect("trained");
    let rows = SupervisedMetrics::read(&store(whole.path())).expect("a log");
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.steps, row.positions), (100, 1600));

    // A panic in the middle is like a kill: nothing is written after it.
    let stop = |steps: u64| {
        let mut run = open(parts.path(), config(1600, 0.0), None);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run.train(&|row| assert!(row.steps < steps, "enough"))
        }));
        assert!(result.is_err());
    };
    stop(3);
    stop(70);
    // The files of a kill after the checkpoint, but before the state was written.
    let state = fs::read(parts.path().join("state.toml")).expect("a state");
    let saved = parts.path().join("learner/0000000070.ckpt");
    let learner = fs::read(&saved).expect("a learner");
    stop(72);
    fs::write(parts.path().join("state.toml"), state).expect("written");
    fs::write(&saved, learner).expect("written");
    open(parts.path(), config(1600, 0.0), None).train(&|_| ()).expect("trained");
    assert_eq!(bytes(whole.path()), bytes(parts.path()));
    let steps: Vec<_> = SupervisedMetrics::read(&store(parts.path()))
        .expect("a log")
        .iter()
        .map(|row| row.steps)
        .collect();
    // Its configuration is still that of its start: a checkpoint after every step.
    assert_eq!(steps, (1..=100).collect::<Vec<_>>());

    // A few games are soon overfitted.
    let first = &SupervisedMetrics::read(&store(parts.path())).expect("a log")[0];
    assert!(row.loss < first.loss && row.policy_accuracy > first.policy_accuracy, "{row:?}");

    // Another run starts from there.
    let warm = tempfile::tempdir().expect("a folder");
    let network = whole.path().join("network.onnx");
    open(warm.path(), config(16, 1e6), Some(&network)).train(&|_| ()).expect("trained");
    let started = &SupervisedMetrics::read(&store(warm.path())).expect("a log")[0];
    assert!(started.policy_excess < first.policy_excess, "{started:?} {first:?}");
}

#[test]
fn open_refuses_damaged_files_and_invalid_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    open(folder.path(), config(16, 1e6), None).train(&|_| ()).expect("trained");
    for name in ["config.toml", "state.toml", "learner/0000000001.ckpt"] {
        let path = folder.path().join(name);
        let intact = fs::read(&path).expect("a file");
        fs::write(&path, b"what = is this").expect("written");
        let again = Supervised::open(
            store(folder.path()),
            config(32, 1e6),
            &crazyhouse(),
            checked_games(),
            None,
        );
        let error = again.expect_err("damage is seen").to_string();
        assert!(error.contains(name.rsplit('/').next().expect("a name")), "{name}: {error}");
        fs::write(&path, intact).expect("written");
    }
    let run = open(folder.path(), config(32, 1e6), None);
    let second = Supervised::open(
        store(folder.path()),
        config(32, 1e6),
        &crazyhouse(),
        checked_games(),
        None,
    );
    let error = second.expect_err("another process trains").to_string();
    assert!(error.contains("is in use by another learner"), "{error}");
    drop(run);
    let fresh = tempfile::tempdir().expect("a folder");
    let refused = |config, games, from: Option<&Path>| {
        let run = Supervised::open(store(fresh.path()), config, &crazyhouse(), games, from);
        assert!(!fresh.path().join("config.toml").exists(), "it would stay");
        run.expect_err("refused").to_string()
    };
    let mut odd = config(16, 1e6);
    odd.targets.score_share = 2.0;
    assert!(refused(odd, checked_games(), None).contains("score_share"));
    assert!(refused(config(16, 1e6), vec![], None).contains("no positions"));
    let text = folder.path().join("config.toml");
    assert!(refused(config(16, 1e6), checked_games(), Some(&text)).contains("config.toml"));
}

#[test]
fn targets_mix_results_and_scores() {
    // A game in which all moves are those of the reference engine.
    let clean = |game: &GameRecord| {
        game.plies.iter().all(|ply| ply.policy.iter().any(|(m, _)| *m == ply.played))
    };
    let variant = crazyhouse();
    let games = games();
    let game = games.iter().find(|game| clean(game)).expect("a clean game");
    let encoding = Encoding::of(&variant.start());
    let at = |targets| {
        let sampler = Sampler { variant: &variant, encoding: &encoding, targets };
        sampler.sample(game, 0, false).expect("a sample")
    };
    let expected = |outcome: &[f32]| outcome[0] - outcome[1];
    let recorded = game.plies[0].score.expect("a score");
    let draws = 0.4;
    let result = expected(&at(Targets::default()).outcome);
    assert!(result.abs() == 1.0);
    let score = at(Targets { score_share: 1.0, draws, ..Targets::default() });
    assert!((expected(&score.outcome) - recorded).abs() < 1e-6);
    assert!((score.outcome[2] - draws * (1.0 - recorded * recorded)).abs() < 1e-6);
    let mixed = at(Targets { score_share: 0.25, smoothing: 0.2, draws, ..Targets::default() });
    assert!((expected(&mixed.outcome) - (0.75 * result + 0.25 * recorded)).abs() < 1e-6);
    let least = mixed.policy.iter().copied().fold(1.0, f32::min);
    assert!((least - 0.2 / mixed.policy.len() as f32).abs() < 1e-6);
    assert!((mixed.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn train_command_skips_illegal_games_of_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("some.games");
    let mut games = games();
    games[1].plies[0].played = u16::MAX;
    record::write(&records, &games).expect("written");
    let settings = folder.path().join("settings.toml");
    let text = toml::to_string(&config(16, 1e6)).expect("settings");
    fs::write(&settings, text).expect("written");
    let train = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
        command.args(["train", "crazyhouse", "--records"]).arg(&records).args(more);
        command.arg("--config").arg(&settings).arg("--run").arg(folder.path().join("run"));
        let output = command.output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    for (more, done) in [(&["--strict"][..], false), (&[][..], true)] {
        let (success, text) = train(more);
        assert_eq!(success, done, "{text}");
        let error = "some.games, game 2, from ";
        assert!(text.contains("3 games, 1 skipped") && text.contains(error), "{text}");
        assert!(text.contains(": ply 1: the move played is illegal"), "{text}");
    }
}

#[test]
fn invalid_games_of_records_are_skipped_with_file_and_number() {
    type Damage = fn(&mut GameRecord);
    let folder = tempfile::tempdir().expect("a folder");
    let first = folder.path().join("first.games");
    record::write(&first, &games()).expect("written");
    let path = folder.path().join("second.games");
    let damages: [(&str, Damage); 5] = [
        ("the winner is side 9, counted from 0, of 2", |game| {
            game.end = Some(End { winner: Some(9), turns: 0 })
        }),
        ("ply 1: the proven winner is side 9, counted from 0, of 2", |game| {
            game.plies[0].proven = Some(End { winner: Some(9), turns: 0 })
        }),
        ("ply 1: the score is NaN, not between -1 and 1", |game| {
            game.plies[0].score = Some(f32::NAN)
        }),
        ("ply 1: the score is inf, not between -1 and 1", |game| {
            game.plies[0].score = Some(f32::INFINITY)
        }),
        ("ply 1: the shares of the policy sum to 0", |game| {
            game.plies[0].policy = vec![(game.plies[0].played, 0)]
        }),
    ];
    for (expected, damage) in damages {
        let mut games = games();
        damage(&mut games[2]);
        record::write(&path, &games).expect("written");
        let found = readers::read_all(&[&first, &path], &crazyhouse()).expect("read");
        let (valid, invalid) = check_games(found, &crazyhouse());
        assert_eq!(valid.len(), 7);
        let [error] = &invalid[..] else { panic!("{invalid:?}") };
        let place = format!("{}, game 3, from ", path.display());
        let text = error.to_string();
        assert!(text.starts_with(&place) && text.ends_with(&format!(": {expected}")), "{text}");
    }
    // Scores are not fitted to a winner that there is not.
    let mut games = games();
    games[0].end = Some(End { winner: Some(9), turns: 0 });
    Targets::default().fitted(games.iter(), &crazyhouse());
}

//! Runs of sparse networks: invalid settings are refused and do not stay in the folder.

use std::fs;
use std::path::Path;

use menagerie::variant::Catalogue;
use trainer::readers::Games;
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

#[test]
fn settings_out_of_range_are_quoted() {
    config().check().expect("valid settings");
    let refused = |change: &dyn Fn(&mut SparseConfig)| {
        let mut config = config();
        change(&mut config);
        config.check().expect_err("refused").to_string()
    };
    for seconds in [-1.0, f64::NAN, 1e30] {
        let error = refused(&|config| config.checkpoint_seconds = seconds);
        assert!(error.contains(&format!("checkpoint_seconds is {seconds}")), "{error}");
    }
    for rate in [-0.1, f32::NAN, f32::INFINITY] {
        for (name, error) in [
            ("learning_rate", refused(&|config| config.learning_rate = rate)),
            ("final_learning_rate", refused(&|config| config.final_learning_rate = rate)),
            ("weight_decay", refused(&|config| config.training.weight_decay = rate)),
            ("score_scale", refused(&|config| config.score_scale = Some(rate))),
        ] {
            assert!(error.starts_with(&format!("{name} is {rate}")), "{error}");
        }
    }
    for size in [0, 64, 200, 1 << 20] {
        let error = refused(&|config| config.network.hidden_size = size);
        assert_eq!(error, format!("hidden_size is {size}, not a multiple of 128 up to 8192"));
    }
    for size in [0, 32, 128] {
        let error = refused(&|config| config.network.policy_size = size);
        assert_eq!(error, format!("policy_size is {size}, not a multiple of 64 up to 64"));
    }
    assert_eq!(refused(&|config| config.positions = 0), "positions is 0");
    // The number of epochs replaces that of positions.
    let epochs = SparseConfig { positions: 0, epochs: Some(1.0), ..config() };
    epochs.check().expect("valid settings");
}

#[test]
fn foreign_files_are_not_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = sources(folder.path());
    let path = folder.path().join("run");
    let notes = path.join("positions/notes.txt");
    fs::create_dir_all(path.join("positions")).expect("a folder");
    fs::write(&notes, "mine").expect("written");
    let open = || SparseRun::open(&path, config(), &sources);
    let error = open().expect_err("refused").to_string();
    assert!(error.contains("notes.txt is not part of a cache of positions"), "{error}");
    assert_eq!(fs::read_to_string(&notes).expect("a file"), "mine");
    fs::remove_file(&notes).expect("removed");
    // Its own files, of a process that was killed.
    fs::write(path.join("positions/shard-0001.positions"), "half").expect("written");
    fs::write(path.join("positions/index.toml.new"), "half").expect("written");
    open().expect("a run").train(&|_| ()).expect("trained");
}

#[test]
fn second_process_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = sources(folder.path());
    let path = folder.path().join("run");
    let run = SparseRun::open(&path, config(), &sources).expect("a run");
    let error = SparseRun::open(&path, config(), &sources).expect_err("locked").to_string();
    assert!(error.contains("is in use by another learner"), "{error}");
    drop(run);
    SparseRun::open(&path, config(), &sources).expect("a run");
}

/// In twenty games both sides expect 0.5 for White; White scores 0.8 on average, and two games are drawn. Scores of
/// records are taken as they are, those of labelled games are scaled.
#[test]
fn draws_are_fitted_to_the_games() {
    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let chess = Catalogue::shipped().get("chess").expect("chess is shipped");
    let half = (0.5f32.atanh() * 2.0 / 0.003_682_08).round() as i32;
    let game = |result: &str| format!("chess\t{START}\t{result}\te2e4:{half} e7e5:-{half}\n");
    let text = game("1-0").repeat(17) + &game("0-1") + &game("1/2-1/2").repeat(2);
    let folder = tempfile::tempdir().expect("a folder");
    let labelled = folder.path().join("labelled.tsv");
    fs::write(&labelled, &text).expect("written");
    let mut games = Games::default();
    trainer::readers::read(&labelled, &chess, &mut games).expect("read");
    let recorded = folder.path().join("recorded.games");
    trainer::record::write(&recorded, &games.games).expect("written");
    for (path, score) in [(labelled, 0.8f32), (recorded, 0.5)] {
        let sources = Sources::of_variant(&chess, std::slice::from_ref(&path)).expect("games");
        let config = SparseConfig { held_out_of: 2, ..SparseConfig::for_variant("chess") };
        let run = SparseRun::open(&path.with_extension("run"), config, &sources).expect("a run");
        let draws = run.cache().variants()[0].draws;
        let expected = 0.1 / (1.0 - score * score);
        assert!((draws - expected).abs() < 5e-3, "{}: {draws}, not {expected}", path.display());
    }
}

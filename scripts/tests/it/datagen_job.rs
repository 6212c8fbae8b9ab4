//! Labelled games of several processes in a folder or bucket, and their collection in a file.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use menagerie::variant::Catalogue;
use tempfile::TempDir;
use trainer::datagen::DatagenConfig;
use trainer::datagen::gather::gather;
use trainer::datagen::job::{DatagenJob, JobEnd};
use trainer::readers;
use trainer::store::Store;

use crate::support::s3_server::{Fault, FaultKind};
use crate::support::script;
use crate::support::storage::TestPlace;

const VARIANT: &str = "3x3";

/// Returns the settings of games of this engine, which is written to `folder`.
fn settings(folder: &Path) -> DatagenConfig {
    let path = folder.join("engine");
    script::menagerie(&path);
    DatagenConfig { limits: "nodes 8".to_owned(), ..DatagenConfig::new(path) }
}

fn run_job(store: &Store, config: &DatagenConfig, games: u64) -> anyhow::Result<JobEnd> {
    let variant = Catalogue::shipped().get(VARIANT).expect("it is shipped");
    let job = DatagenJob {
        store: store.clone(),
        config: config.clone(),
        games,
        engines: 1,
        upload_interval: Duration::from_millis(50),
        stop: Arc::default(),
    };
    job.run(&variant, &|_| ())
}

/// The number of games in the names of the uploads.
fn uploaded_games(store: &Store) -> u64 {
    let names = store.list("games").expect("listed");
    let count = |name: &String| {
        let stem = name.strip_suffix(".tsv.gz").expect("an ending");
        stem.rsplit('-').next().expect("a number").parse::<u64>().expect("a number")
    };
    names.iter().map(count).sum()
}

fn lines(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("a file");
    let found: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(found.len(), text.lines().count(), "each game once");
    found
}

#[test]
fn datagen_job_of_processes_has_each_game_once() {
    for place in TestPlace::all() {
        if let Some(server) = place.server() {
            for kind in [FaultKind::LoseAnswer, FaultKind::CutBody] {
                server.add_fault(Fault { method: Method::PUT, path: "games", kind, count: 2 });
            }
        }
        let folder = TempDir::new().expect("a folder");
        let config = settings(folder.path());
        let ends: Vec<JobEnd> = thread::scope(|scope| {
            let processes: Vec<_> =
                (0..2).map(|_| scope.spawn(|| run_job(&place.store(), &config, 40))).collect();
            let ends = processes.into_iter().map(|process| process.join().expect("no panic"));
            ends.map(|end| end.expect("games")).collect()
        });
        let store = place.store();
        let games = uploaded_games(&store);
        assert!(games >= 40);
        assert!(ends.iter().all(|end| end.is_finished && end.total >= 40), "{ends:?}");
        assert_eq!(ends.iter().map(|end| end.uploaded).sum::<u64>(), games);
        // Another process has nothing to do.
        assert_eq!(run_job(&store, &config, 40).expect("finished").uploaded, 0);
        let file = folder.path().join("all.tsv");
        let gathered = gather(&store, &file).expect("gathered");
        assert_eq!((gathered.added, gathered.games), (games, games));
        let whole = lines(&file);
        assert_eq!(whole.len() as u64, games);
        let variant = Catalogue::shipped().get(VARIANT).expect("it is shipped");
        let found = readers::read_all(&[&file], &variant).expect("read");
        assert_eq!((found.games.len() as u64, found.errors.len()), (games, 0));
        // The process was killed after it had written a part of an upload, and while it wrote its list.
        let list = folder.path().join("all.tsv.gathered");
        let text = fs::read_to_string(&list).expect("a list");
        fs::write(&list, &text[..text.len() - 3]).expect("written");
        let again = gather(&store, &file).expect("gathered");
        assert!(again.added > 0 && again.games == games, "{again:?}");
        assert_eq!(lines(&file), whole);
        OpenOptions::new().append(true).open(&file).expect("a file").write_all(b"x").expect("x");
        assert_eq!(gather(&store, &file).expect("gathered").added, 0);
        assert_eq!(lines(&file), whole);
    }
}

#[test]
fn datagen_job_refuses_other_settings_and_damaged_games() {
    let place = TestPlace::folder();
    let store = place.store();
    let folder = TempDir::new().expect("a folder");
    let config = settings(folder.path());
    run_job(&store, &config, 3).expect("games");
    let other = DatagenConfig { limits: "nodes 7".to_owned(), ..config.clone() };
    let error = run_job(&store, &other, 3).expect_err("other settings").to_string();
    assert!(error.contains("nodes 8") && error.contains("nodes 7"), "{error}");
    assert!(error.contains("job.toml belongs to another job"), "{error}");
    // Another folder on another machine, and more games.
    let elsewhere = TempDir::new().expect("a folder");
    let moved = settings(elsewhere.path());
    assert!(run_job(&store, &moved, 6).expect("games").total >= 6);
    let file = folder.path().join("all.tsv");
    store.write("games/damaged-000000-5.tsv.gz", b"no gzip".into()).expect("written");
    let gathered = gather(&store, &file).expect("gathered");
    assert_eq!(gathered.errors.len(), 1);
    assert!(gathered.errors[0].contains("damaged-000000-5.tsv.gz"), "{:?}", gathered.errors);
    assert_eq!(lines(&file).len() as u64, uploaded_games(&store) - 5);
    let stranger = folder.path().join("stranger.tsv");
    fs::write(&stranger, "a game\n").expect("written");
    assert!(gather(&store, &stranger).is_err());
    let empty = folder.path().join("empty");
    let nothing = Store::open(empty.to_str().expect("UTF-8")).expect("a store");
    let error = gather(&nothing, &folder.path().join("none.tsv")).expect_err("no job").to_string();
    assert!(error.contains("no games of trainer datagen"), "{error}");
    assert!(!folder.path().join("none.tsv").exists());
    assert_eq!(fs::read_to_string(&stranger).expect("kept"), "a game\n");
    assert!(gather(&store, &folder.path().join("all.tsv.gz")).is_err());
}

#[test]
fn datagen_job_uploads_finished_games_at_sigterm() {
    let place = TestPlace::folder();
    let folder = TempDir::new().expect("a folder");
    let config = settings(folder.path());
    let mut command = place.trainer();
    command.args(["datagen", VARIANT]).arg(&config.engine).args(["--games", "1000000"]);
    command.args(["--nodes", "8"]);
    command.args(["--store", &place.name(), "--upload-seconds", "3600"]);
    let job = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    // The first game is uploaded at once, the others wait for an hour.
    let start = Instant::now();
    while place.store().list("games").expect("listed").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no game");
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(place.store().list("games").expect("listed").len(), 1);
    let before = uploaded_games(&place.store());
    let mut kill = std::process::Command::new("kill");
    assert!(kill.arg(job.id().to_string()).status().expect("kill").success());
    let output = job.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let games = uploaded_games(&place.store());
    assert!(games > before, "{games} games");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(&format!(": {games} games played now")), "{text}");
}

//! Matches of several processes in a folder or bucket: together they play the games of one process, each once.

use std::fs;
use std::sync::Arc;
use std::thread;

use hyper::Method;
use menagerie::variant::Catalogue;
use tempfile::TempDir;
use trainer::arena::config::MatchConfig;
use trainer::arena::game::Played;
use trainer::arena::{Arena, shared_results};
use trainer::store::Store;

use crate::support::s3_server::{Fault, FaultKind};
use crate::support::storage::TestPlace;

fn config(players: [&str; 2], games: u64) -> MatchConfig {
    let players = players.map(|text| text.parse().expect("a player"));
    MatchConfig { games, ..MatchConfig::new("tictactoe", players.into()) }
}

fn open(store: &Store, config: &MatchConfig) -> anyhow::Result<Arena> {
    Arena::open_shared(store, config.clone(), &Arc::default())
}

/// Plays the match of a store with one thread; returns the games and the table.
fn play(store: &Store, config: &MatchConfig) -> (Vec<Played>, String) {
    let mut arena = open(store, config).expect("opened");
    arena.play(1, &mut |_| ()).expect("played");
    let table = arena.report().expect("written");
    (arena.games().to_vec(), table)
}

#[test]
fn shared_match_of_processes_has_the_games_of_one() {
    let config = config(["random", "plain:visits=40"], 60);
    let folder = TempDir::new().expect("a folder");
    let mut alone = Arena::open(folder.path(), config.clone()).expect("opened");
    alone.play(1, &mut |_| ()).expect("played");
    let table = alone.report().expect("written");
    for place in TestPlace::all() {
        if let Some(server) = place.server() {
            for path in ["games", "claims"] {
                let kind = FaultKind::LoseAnswer;
                server.add_fault(Fault { method: Method::PUT, path, kind, count: 3 });
            }
        }
        // A process that was killed after it had claimed rounds.
        for round in [0, 1, 7] {
            let name = format!("claims/{round:06}-1");
            assert!(place.store().create(&name, b"killed".into()).expect("created"));
        }
        thread::scope(|scope| {
            let processes: Vec<_> =
                (0..3).map(|_| scope.spawn(|| play(&place.store(), &config))).collect();
            for process in processes {
                let (games, found) = process.join().expect("no panic");
                assert_eq!(games, alone.games());
                assert_eq!(found, table);
            }
        });
        let store = place.store();
        assert_eq!(store.list("games").expect("listed").len(), 60);
        assert_eq!(store.read("table.txt").expect("a table"), table.as_bytes());
        assert_eq!(shared_results(&store).expect("results"), table);
        let pgn = fs::read(folder.path().join("games.pgn")).expect("a file");
        assert_eq!(store.read("games.pgn").expect("games"), pgn);
    }
}

#[test]
fn shared_match_ends_for_all_by_its_sequential_test() {
    let sprt = Some("0,100".parse().expect("a test"));
    let config = MatchConfig { sprt, ..config(["plain:visits=2000", "random"], 4000) };
    let place = TestPlace::folder();
    thread::scope(|scope| {
        let processes: Vec<_> =
            (0..2).map(|_| scope.spawn(|| play(&place.store(), &config))).collect();
        let results: Vec<_> =
            processes.into_iter().map(|process| process.join().expect("no panic")).collect();
        assert_eq!(results[0], results[1]);
        assert!(results[0].0.len() < 4000, "{} games", results[0].0.len());
    });
    let games = place.store().list("games").expect("listed").len();
    assert!(games < 4000, "{games} games");
}

#[test]
fn shared_match_compares_files_by_name_and_content() {
    let place = TestPlace::folder();
    let store = place.store();
    let machines = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
    let config = |machine: &TempDir, book: &str| {
        let path = machine.path().join("book.epd");
        fs::write(&path, book).expect("written");
        MatchConfig { book: Some(path), ..config(["random", "random"], 4) }
    };
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let book = format!("{}\n", variant.start().fen());
    open(&store, &config(&machines[0], &book)).expect("a match");
    open(&store, &config(&machines[1], &book)).expect("the same match");
    let other = format!("# another book\n{book}");
    let error = open(&store, &config(&machines[1], &other)).expect_err("another").to_string();
    assert!(error.contains("belongs to another match") && error.contains("book.epd"), "{error}");
    let seed = MatchConfig { seed: 2, ..config(&machines[0], &book) };
    let error = open(&store, &seed).expect_err("another seed").to_string();
    assert!(error.contains("\"seed = 1\"") && error.contains("\"seed = 2\""), "{error}");
    let longer = MatchConfig { games: 8, ..config(&machines[0], &book) };
    assert_eq!(play(&store, &longer).0.len(), 8);
}

#[cfg(unix)]
#[test]
fn shared_match_survives_kills_and_stops_by_sigterm() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let place = TestPlace::folder();
    let players = ["plain:visits=3000", "plain:visits=2000"];
    let start = || {
        let mut command = place.trainer();
        command.args(["match", "tictactoe"]).args(players).args(["--games", "60"]);
        command.args(["--store", &place.name(), "--concurrency", "1"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
    };
    let wait_for_game = |games: usize| {
        let start = Instant::now();
        while place.store().list("games").expect("listed").len() < games {
            assert!(start.elapsed() < Duration::from_secs(60), "fewer than {games} games");
            thread::sleep(Duration::from_millis(10));
        }
    };
    let mut killed = start();
    wait_for_game(2);
    killed.kill().expect("killed");
    killed.wait().expect("gone");
    let before = place.store().list("games").expect("listed").len();
    let mut stopped = start();
    wait_for_game(before + 2);
    let mut kill = std::process::Command::new("kill");
    assert!(kill.arg(stopped.id().to_string()).status().expect("kill").success());
    assert_eq!(stopped.wait().expect("it ends").code(), Some(130));
    let done = place.store().list("games").expect("listed").len();
    assert!(done < 60, "{done} games");
    assert_eq!(start().wait().expect("it ends").code(), Some(0));
    assert_eq!(place.store().list("games").expect("listed").len(), 60);
    let mut results = place.trainer();
    results.args(["match", "--results", "--store", &place.name()]);
    let output = results.output().expect("it runs");
    let table = place.store().read("table.txt").expect("a table");
    assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&table));
}

//! Runs with workers, in a folder and in a bucket: each game that was uploaded is in exactly one shard.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use menagerie::variant::Catalogue;
use serde::Deserialize;
use trainer::network::Architecture;
use trainer::record;
use trainer::run::{
    GameSource, LeaseTiming, RemoteWorker, Run, RunConfig, RunEnd, RunLock, RunMetrics, WorkerEnd,
};
use trainer::store::Store;

use crate::support::s3_server::{Fault, FaultKind};
use crate::support::storage::TestPlace;

const POLL: Duration = Duration::from_millis(50);

/// Games so slow that not many finish in a test.
fn config(variant: &str, iterations: u64) -> RunConfig {
    let variant = Catalogue::shipped().get(variant).expect("it is shipped");
    let mut config = RunConfig {
        iterations,
        games: 40,
        threads: 1,
        batch: 16,
        reuse: 0.2,
        network: Architecture::Mlp { widths: vec![16], policy_channels: 0 },
        ..RunConfig::for_variant(&variant)
    };
    config.selfplay.parallel = 4;
    config
}

/// Opens the run of a place and trains until it is finished or stopped.
fn train(store: &Store, config: &RunConfig, stop: &Arc<AtomicBool>) -> RunEnd {
    let timing = LeaseTiming::with_observation(Duration::from_secs(2));
    let lock = RunLock::acquire_lease(store, timing, stop).expect("no other learner");
    let run = Run::open_locked(lock, store.clone(), config.clone(), None);
    let source = GameSource::Workers { poll: POLL };
    run.expect("a run").train_until(source, stop).expect("trained")
}

/// Plays until the run is finished, or `uploads` uploads are done. Returns their names.
fn work(store: &Store, uploads: usize) -> (WorkerEnd, Vec<String>) {
    let stop = Arc::new(AtomicBool::new(false));
    let worker = RemoteWorker {
        store: store.clone(),
        threads: 1,
        upload_interval: Duration::from_millis(20),
        poll_interval: POLL,
        stop: Arc::clone(&stop),
    };
    let names = std::sync::Mutex::new(Vec::new());
    let report = |name: &str| {
        let mut names = names.lock().expect("no panic");
        names.push(name.strip_prefix("incoming/").expect("its folder").to_owned());
        stop.fetch_or(names.len() >= uploads, Ordering::Relaxed);
    };
    let end = worker.run(&report).expect("played");
    (end, names.into_inner().expect("no panic"))
}

/// Starts the run, so that workers have a network, but trains no iteration.
fn prepare(store: &Store, config: &RunConfig) {
    let stop = Arc::new(AtomicBool::new(false));
    let later = Arc::clone(&stop);
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        later.store(true, Ordering::Relaxed);
    });
    assert_eq!(train(store, config, &stop), RunEnd::Stopped);
    stopper.join().expect("no panic");
}

/// The uploads that claims name.
#[derive(Deserialize)]
struct Claim {
    uploads: Vec<String>,
}

/// The number of games of an upload, by its name.
fn count(name: &str) -> usize {
    let stem = name.strip_suffix(".games").expect("an ending");
    stem.rsplit('-').next().and_then(|games| games.parse().ok()).expect("a number of games")
}

/// Checks that shards have exactly the games of claimed uploads, that each upload is claimed once, and that no upload
/// that was reported is lost. Returns the number of games in the shards.
fn check_uploads(store: &Store, reported: &BTreeSet<String>) -> usize {
    let mut claimed = BTreeSet::new();
    let mut games = 0;
    for name in store.list("games").expect("listed") {
        let iteration = name.strip_suffix(".games").expect("a shard");
        let claim: Option<Claim> =
            store.find_toml(&format!("claims/{iteration}.toml")).expect("read");
        let claim = claim.expect("a claim of each shard");
        let content = store.read(&format!("games/{name}")).expect("a shard");
        let shard = record::decode(&name, &content).expect("a whole shard").len();
        assert_eq!(shard, claim.uploads.iter().map(|name| count(name)).sum::<usize>(), "{name}");
        games += shard;
        for upload in claim.uploads {
            assert!(claimed.insert(upload.clone()), "{upload} is claimed twice");
        }
    }
    let incoming: BTreeSet<String> = store.list("incoming").expect("listed").into_iter().collect();
    let lost: Vec<_> = reported
        .iter()
        .filter(|name| !claimed.contains(*name) && !incoming.contains(*name))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    games
}

#[test]
fn distributed_run_trains_on_each_uploaded_game_once() {
    for place in TestPlace::all() {
        let config = config("3x3", 3);
        let reported: Vec<String> = thread::scope(|scope| {
            let store = place.store();
            let workers: Vec<_> =
                (0..2).map(|_| scope.spawn(|| work(&place.store(), usize::MAX))).collect();
            assert_eq!(train(&store, &config, &Arc::default()), RunEnd::Finished);
            let ends = workers.into_iter().map(|worker| worker.join().expect("no panic"));
            ends.flat_map(|(end, names)| {
                assert!(end.is_finished);
                assert_eq!(end.games as usize, names.iter().map(|name| count(name)).sum::<usize>());
                names
            })
            .collect()
        });
        let names: BTreeSet<String> = reported.iter().cloned().collect();
        assert_eq!(names.len(), reported.len(), "names are unique");
        let store = place.store();
        let games = check_uploads(&store, &names);
        let rows = RunMetrics::read(&store).expect("a log");
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[2].games as usize, games);
        assert!(rows.iter().all(|row| row.visits > 0 && row.selfplay_seconds > 0.0));
        assert!(games >= 120);
    }
}

#[test]
fn distributed_run_counts_a_repeated_upload_once() {
    for place in TestPlace::all() {
        let store = place.store();
        let config = RunConfig { games: 1, ..config("3x3", 2) };
        prepare(&store, &config);
        let (end, names) = work(&store, 3);
        assert!(!end.is_finished);
        let object = |name: &String| format!("incoming/{name}");
        let copies: Vec<_> =
            names.iter().map(|name| store.read(&object(name)).expect("an upload")).collect();
        // Claims the uploads, and is stopped for lack of others.
        let games = names.iter().map(|name| count(name) as u64).sum();
        let once = RunConfig { iterations: 1, games, ..config.clone() };
        store.write_toml("config.toml", &once).expect("written");
        assert_eq!(train(&store, &once, &Arc::default()), RunEnd::Finished);
        assert!(store.list("incoming").expect("listed").is_empty());
        for (name, copy) in names.iter().zip(copies) {
            store.write(&object(name), copy).expect("written");
        }
        store.write_toml("config.toml", &config).expect("written");
        prepare(&store, &config);
        assert!(store.list("incoming").expect("listed").is_empty(), "repeated uploads are removed");
        let (_, later) = work(&store, 1);
        // An iteration claims no more uploads than it needs, and a worker may upload twice before it stops.
        let games = later.iter().map(|name| count(name) as u64).sum();
        let rest = RunConfig { games, ..config };
        store.write_toml("config.toml", &rest).expect("written");
        assert_eq!(train(&store, &rest, &Arc::default()), RunEnd::Finished);
        let total: usize = names.iter().chain(&later).map(|name| count(name)).sum();
        assert_eq!(check_uploads(&store, &names.into_iter().chain(later).collect()), total);
    }
}

#[test]
fn distributed_run_continues_from_a_claim() {
    for place in TestPlace::all() {
        let store = place.store();
        let config = RunConfig { games: 1, ..config("3x3", 1) };
        prepare(&store, &config);
        let (_, names) = work(&store, 4);
        // A learner that was killed after its claim. A later upload is not in it.
        let uploads: Vec<String> = names[..3].iter().map(|name| format!("{name:?}")).collect();
        let stats = "[stats]\nvisits = 9\nevaluations = 1\nresigned = 0\nplayed_out = 0\n\
                     false_resignations = 0\ncpu = { secs = 1, nanos = 0 }\n";
        let claim = format!("uploads = [{}]\n{stats}", uploads.join(","));
        store.write("claims/00000.toml", claim.into()).expect("written");
        assert_eq!(train(&store, &config, &Arc::default()), RunEnd::Finished);
        let games = check_uploads(&store, &names.iter().cloned().collect());
        assert_eq!(games, names[..3].iter().map(|name| count(name)).sum::<usize>());
        assert_eq!(store.list("incoming").expect("listed"), names[3..]);
        assert_eq!(RunMetrics::read(&store).expect("a log")[0].visits, 9);
    }
}

#[test]
fn distributed_run_rejects_damaged_uploads() {
    for place in TestPlace::all() {
        let store = place.store();
        let config = RunConfig { games: 1, ..config("3x3", 1) };
        prepare(&store, &config);
        let (_, names) = work(&store, 2);
        let intact = store.read(&format!("incoming/{}", names[0])).expect("an upload");
        let mut flipped = intact.clone();
        flipped[intact.len() / 2] ^= 1;
        let other_place = TestPlace::folder();
        let other = other_place.store();
        prepare(&other, &RunConfig { games: 1, ..self::config("tictactoe", 1) });
        let (_, other_names) = work(&other, 1);
        let foreign = other.read(&format!("incoming/{}", other_names[0])).expect("an upload");
        let mut damaged = BTreeMap::from([
            (format!("00000-a-000001-{}.games", count(&names[0])), flipped),
            ("00000-b-000001-1.games".to_owned(), intact[..intact.len() / 2].to_vec()),
            ("00000-c-000001-77.games".to_owned(), intact.clone()),
            ("note.txt".to_owned(), intact),
        ]);
        damaged.insert(other_names[0].clone(), foreign);
        for (name, content) in &damaged {
            store.write(&format!("incoming/{name}"), content.clone()).expect("written");
        }
        // All intact games are needed, so that all uploads are looked at.
        let games = names.iter().map(|name| count(name) as u64).sum();
        let config = RunConfig { games, ..config };
        store.write_toml("config.toml", &config).expect("written");
        assert_eq!(train(&store, &config, &Arc::default()), RunEnd::Finished);
        let rejected = store.list("rejected").expect("listed");
        assert_eq!(rejected, damaged.keys().cloned().collect::<Vec<_>>());
        for (name, content) in &damaged {
            assert_eq!(&store.read(&format!("rejected/{name}")).expect("kept"), content);
        }
        let games = check_uploads(&store, &names.iter().cloned().collect());
        assert_eq!(games, names.iter().map(|name| count(name)).sum::<usize>());
    }
}

#[test]
fn distributed_worker_refuses_a_network_with_another_checksum() {
    let place = TestPlace::folder();
    let store = place.store();
    let config = RunConfig { games: 1, ..config("3x3", 1) };
    prepare(&store, &config);
    let network = store.read("nets/00000.onnx").expect("a network");
    let mut damaged = network.clone();
    damaged[100] ^= 1;
    store.write("nets/00000.onnx", damaged).expect("written");
    thread::scope(|scope| {
        let worker = scope.spawn(|| work(&store, 1));
        thread::sleep(Duration::from_millis(300));
        assert!(store.list("incoming").expect("listed").is_empty());
        store.write("nets/00000.onnx", network).expect("written");
        assert!(!worker.join().expect("no panic").1.is_empty());
    });
}

/// Starts a learner or worker as a process, with its output in pipes.
fn start(place: &TestPlace, arguments: &[&str]) -> Child {
    let mut command = place.trainer();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("started")
}

fn start_learner(place: &TestPlace) -> Child {
    let name = place.name();
    let seconds = ["--poll-seconds", "0.05", "--lease-seconds", "1"];
    start(place, &[&["train", "3x3", "--run", &name, "--workers"], &seconds[..]].concat())
}

fn start_worker(place: &TestPlace) -> Child {
    let name = place.name();
    let seconds = ["--upload-seconds", "0.05", "--poll-seconds", "0.1", "--threads", "1"];
    start(place, &[&["selfplay", "--store", &name], &seconds[..]].concat())
}

/// Waits for the end of a process. Returns its exit code and output.
fn finish(mut child: Child) -> (Option<i32>, String, String) {
    let mut errors = child.stderr.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let mut output = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut output).expect("a text");
    let code = child.wait().expect("it ends").code();
    (code, output, reader.join().expect("no panic").expect("a text"))
}

/// The uploads that the output of a worker names.
fn uploads(output: &str) -> impl Iterator<Item = String> {
    output.lines().filter_map(|line| line.strip_prefix("incoming/").map(str::to_owned))
}

/// Sends SIGTERM to a process.
fn terminate(child: &Child) {
    let mut kill = std::process::Command::new("kill");
    assert!(kill.arg(child.id().to_string()).status().expect("kill").success());
}

/// Waits until the place has an object in this folder.
fn wait_for_object(store: &Store, folder: &str) {
    let start = Instant::now();
    while store.list(folder).expect("listed").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing in {folder}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn distributed_run_survives_kills_of_learner_and_workers() {
    for place in TestPlace::all() {
        let store = place.store();
        let config = RunConfig { games: 300, ..config("3x3", 5) };
        store.write_toml("config.toml", &config).expect("written");
        if let Some(server) = place.server() {
            // The network fails, too.
            for (path, kind) in [
                ("incoming", FaultKind::LoseAnswer),
                ("incoming", FaultKind::CutBody),
                ("claims", FaultKind::LoseAnswer),
                ("state.toml", FaultKind::Status(503, "SlowDown")),
                ("nets", FaultKind::CutBody),
            ] {
                server.add_fault(Fault { method: Method::PUT, path, kind, count: 3 });
            }
        }
        let mut learner = start_learner(&place);
        let mut workers = vec![start_worker(&place), start_worker(&place)];
        let mut reported = BTreeSet::new();
        for milliseconds in [700, 150, 400, 250] {
            wait_for_object(&store, "claims");
            thread::sleep(Duration::from_millis(milliseconds));
            let mut worker = workers.remove(0);
            worker.kill().expect("killed");
            reported.extend(uploads(&finish(worker).1));
            workers.push(start_worker(&place));
            learner.kill().expect("killed");
            finish(learner);
            learner = start_learner(&place);
        }
        let (code, _, errors) = finish(learner);
        assert_eq!(code, Some(0), "{errors}");
        for worker in workers {
            let (code, output, errors) = finish(worker);
            assert_eq!(code, Some(0), "{errors}");
            reported.extend(uploads(&output));
        }
        assert!(!reported.is_empty());
        let games = check_uploads(&store, &reported);
        let rows = RunMetrics::read(&store).expect("a log");
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[4].games as usize, games);
    }
}

#[test]
fn distributed_run_has_one_learner_at_a_time() {
    for place in TestPlace::all() {
        let store = place.store();
        store.write_toml("config.toml", &config("3x3", 1)).expect("written");
        let mut first = start_learner(&place);
        wait_for_object(&store, "nets");
        let (code, _, errors) = finish(start_learner(&place));
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("in use by another learner") && errors.contains(&place.name()));
        first.kill().expect("killed");
        finish(first);
        let worker = start_worker(&place);
        let (code, _, errors) = finish(start_learner(&place));
        assert_eq!(code, Some(0), "{errors}");
        assert_eq!(finish(worker).0, Some(0));
    }
}

#[test]
fn distributed_processes_stop_in_order_by_sigterm() {
    for place in TestPlace::all() {
        let store = place.store();
        let config = RunConfig { games: 1_000_000, ..config("3x3", 1) };
        store.write_toml("config.toml", &config).expect("written");
        let learner = start_learner(&place);
        let worker = start_worker(&place);
        wait_for_object(&store, "incoming");
        terminate(&worker);
        let (code, output, errors) = finish(worker);
        assert_eq!(code, Some(130), "{errors}");
        let names: BTreeSet<String> = uploads(&output).collect();
        let incoming = store.list("incoming").expect("listed");
        assert_eq!(names, incoming.into_iter().collect(), "all that it reports");
        let games: usize = names.iter().map(|name| count(name)).sum();
        assert!(output.contains(&format!(": {games} games, ")), "{output}");
        terminate(&learner);
        let (code, _, errors) = finish(learner);
        assert_eq!(code, Some(130), "{errors}");
        // The lease is released: no waiting.
        let names = store.list("lease").expect("listed");
        assert!(names.iter().any(|name| name.ends_with(".released")), "{names:?}");
    }
}

#[test]
fn train_refuses_a_folder_in_which_another_process_trains() {
    let place = TestPlace::folder();
    let store = place.store();
    let run = Run::open(store.clone(), config("3x3", 1), None).expect("a run");
    let error = Run::open(store.clone(), config("3x3", 1), None).expect_err("in use").to_string();
    assert!(error.contains("in use by another learner"), "{error}");
    let lease = RunLock::acquire_lease(&store, LeaseTiming::default(), &AtomicBool::new(false));
    assert!(lease.is_err());
    drop(run);
    Run::open(store, config("3x3", 1), None).expect("it is free");
}

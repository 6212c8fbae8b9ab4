//! The contract of a campaign: killed at any moment it goes on, loses nothing and does nothing twice; it
//! stops on signals; promotions are repaired; invalid settings are quoted.
//!
//! The engine is Menagerie itself, run by this test's executable ([`engine`]).
#![cfg(unix)]

use crate::support::script;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use menagerie::encoding::{SparseEncoding, SparseLayout};
use menagerie::variant::Catalogue;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use trainer::campaign::settings::{CampaignSettings, GameSource};
use trainer::campaign::state::{CampaignState, Stage};
use trainer::campaign::status::status;
use trainer::campaign::{Campaign, CampaignEnd};
use trainer::record::GameRecord;
use trainer::sparse::export::export_for_play;
use trainer::sparse::{SparseConfig, SparseNetwork, SparseSizes};

/// A process that takes longer is stuck. On a busy machine all takes ten times as long as the usual seconds.
const LONG: Duration = Duration::from_secs(600);

/// Not a test: the others start it as an engine.
#[test]
#[ignore = "an engine for the other tests"]
fn engine() {
    menagerie::protocol::run(BufReader::new(stdin()), stdout()).expect("threads can be started");
}

/// A folder with an engine and the settings of a campaign. The engine notes its process in `engines`.
fn new_campaign(settings: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let test = std::env::current_exe().expect("this executable");
    let engine = format!(
        "#!/bin/sh\necho $$ >> {}\nexec {} campaign::engine --exact --ignored --nocapture\n",
        folder.path().join("engines").display(),
        test.display()
    );
    script::executable(&folder.path().join("engine"), &engine);
    let file = folder.path().join("small.toml");
    fs::write(&file, settings).expect("written");
    (folder, file)
}

/// Rounds so small that they take seconds.
const SMALL: &str = r#"
folder = "campaign"
nets = "nets"
threads = 2
nice = 1

[engine]
file = "engine"
nodes = 12
options = { Hash = "4" }

[self_play]
visits = 8
parallel = 4
playout_cap = { full = 0.5, visits = 4 }

[datagen]
games = 16
later = "self"

[train]
positions = 3072
batch = 128
warm_up_steps = 4
held_out_of = 4
held_out_positions = 64
checkpoint_seconds = 0.1
network = { hidden_size = 128, policy_size = 64, value_hidden = 8 }

[fine_tune]
epochs = 2.0

[match]
games = 4
visits = 6
longest = 60  # the name of max_turns in earlier versions

[[variants]]
name = "3x3"
rounds = 2

[[variants]]
name = "gardner"
[variants.datagen]
games = 12
"#;

fn start(file: &Path) -> Child {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
    command.arg("campaign");
    if std::env::var_os("ORT_DYLIB_PATH").is_none() {
        command.env("ORT_DYLIB_PATH", runtime);
    }
    let log = fs::OpenOptions::new().create(true).append(true).open(file.with_extension("err"));
    command.arg(file).stdin(Stdio::null()).stderr(log.expect("a file"));
    command.spawn().expect("started")
}

/// Waits for the end of a process; `None` if it still runs then.
fn wait(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + time;
    loop {
        match child.try_wait().expect("a child") {
            Some(status) => return Some(status),
            None if Instant::now() >= end => return None,
            None => sleep(Duration::from_millis(5)),
        }
    }
}

fn finish(file: &Path) {
    let status = wait(&mut start(file), LONG);
    let messages = fs::read_to_string(file.with_extension("err")).unwrap_or_default();
    assert!(status.is_some_and(|status| status.success()), "{status:?}:\n{messages}");
}

/// Waits until no engine that a campaign started is left.
fn await_engines(folder: &Path) {
    let pids = fs::read_to_string(folder.join("engines")).unwrap_or_default();
    let end = Instant::now() + LONG;
    for pid in pids.lines() {
        let lives = || {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains("--exact")
        };
        while lives() {
            assert!(Instant::now() < end, "the engine {pid} lives");
            sleep(Duration::from_millis(10));
        }
    }
}

/// Whatever must not depend on interruptions: files, and results without dates and CPU time.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut state = CampaignState::read(&folder.join("campaign")).expect("a state");
    for (variant, rounds) in &mut state.variants {
        for (number, round) in rounds.iter_mut().enumerate() {
            round.cpu_seconds.clear();
            let path = format!("campaign/{variant}/round-{}", number + 1);
            let games = if number == 0 { "games.tsv.gz" } else { "self-play.games" };
            for name in [games, "train/weights.sparse", "candidate.int8.onnx"] {
                let name = format!("{path}/{name}");
                found.insert(name.clone(), fs::read(folder.join(&name)).expect("a file"));
            }
            let name = format!("{path}/match/games.csv");
            let games = fs::read_to_string(folder.join(&name)).expect("a match");
            let mut games: Vec<&str> = games.lines().collect();
            games.sort_unstable();
            found.insert(name, games.join("\n").into());
        }
    }
    found.insert("state".to_owned(), format!("{state:#?}").into());
    for entry in fs::read_dir(folder.join("nets")).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let text = fs::read(&path).expect("a file");
        let kept = |line: &&str| !line.starts_with("date") && !line.contains("cpu_hours");
        let text = match String::from_utf8(text) {
            Ok(text) => text.lines().filter(kept).collect::<Vec<_>>().join("\n").into(),
            Err(bytes) => bytes.into_bytes(),
        };
        found.insert(path.file_name().expect("a name").display().to_string(), text);
    }
    found
}

/// Kills a campaign after each of the times; `None` if it finished before. Returns the stages that were
/// killed.
fn kill(folder: &Path, file: &Path, times: &[Duration]) -> Option<Vec<Option<Stage>>> {
    let mut stages = Vec::new();
    for &time in times {
        let mut child = start(file);
        if wait(&mut child, time).is_some() {
            return None;
        }
        child.kill().expect("killed");
        child.wait().expect("it ended");
        let state = CampaignState::read(&folder.join("campaign")).expect("a whole state");
        let rounds = [("3x3", 1), ("gardner", 1), ("3x3", 2)];
        let next = |(variant, rounds)| state.next_stage(variant, rounds);
        stages.push(rounds.into_iter().find_map(next).map(|(_, stage)| stage));
    }
    Some(stages)
}

#[test]
fn ten_kills_lose_nothing_and_repeat_nothing() {
    let (whole, whole_file) = new_campaign(SMALL);
    let begun = Instant::now();
    finish(&whole_file);
    let duration = begun.elapsed();
    let expected = results(whole.path());
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    // Where the machine has become faster meanwhile, the times are shorter.
    let mut attempts = [0.14, 0.07, 0.02].into_iter();
    let (killed, file, stages) = loop {
        let longest = attempts.next().expect("ten kills before the end");
        let (folder, file) = new_campaign(SMALL);
        let times: Vec<_> =
            (0..10).map(|_| duration.mul_f64(rng.random_range(0.0..longest))).collect();
        if let Some(stages) = kill(folder.path(), &file, &times) {
            break (folder, file, stages);
        }
    };
    finish(&file);
    let found = results(killed.path());
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, content) in &expected {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(found[name] == *content, "{name}: {} {}", text(&found[name]), text(content));
    }
    // No stage was finished twice. A kill between the state and the log leaves a line out.
    let log = fs::read_to_string(killed.path().join("campaign/campaign.log")).expect("a log");
    let done: Vec<_> = log.lines().filter_map(|line| line.split_once(" done: ")).collect();
    let mut places: Vec<_> =
        done.iter().map(|(line, _)| line.split_once(' ').expect("a date").1).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0] != pair[1]) && places.len() <= 15, "{log}");
    await_engines(killed.path());
    let settings = CampaignSettings::read(&file).expect("settings");
    let table = status(&settings).expect("a status");
    assert!(table.contains("3 of 3 rounds done") && table.contains("not running"), "{table}");
    println!("uninterrupted {duration:.1?}; killed in {stages:?}\n{log}\n{table}");
}

#[test]
fn signals_stop_it_and_its_engines() {
    let settings =
        SMALL.replace("games = 16", "games = 100000").replace("nodes = 12", "nodes = 300");
    let (folder, file) = new_campaign(&settings);
    let mut child = start(&file);
    let games = folder.path().join("campaign/3x3/round-1/games.partial.tsv");
    let end = Instant::now() + LONG;
    while fs::metadata(&games).map_or(0, |about| about.len()) == 0 {
        assert!(Instant::now() < end, "no game is played");
        sleep(Duration::from_millis(10));
    }
    let settings = CampaignSettings::read(&file).expect("settings");
    assert!(status(&settings).expect("a status").contains("\nrunning; "));
    let error = Campaign::open(settings.clone()).expect_err("it runs").to_string();
    assert!(error.contains("runs already"), "{error}");
    let signal = Command::new("kill").arg(child.id().to_string()).status().expect("a signal");
    assert!(signal.success());
    let status_code = wait(&mut child, LONG).expect("it ends").code();
    assert_eq!(status_code, Some(130));
    await_engines(folder.path());
    let log = fs::read_to_string(folder.path().join("campaign/campaign.log")).expect("a log");
    assert!(log.ends_with(" stopped\n"), "{log}");
    let state = CampaignState::read(&settings.folder).expect("a state");
    let round = state.round("3x3", 0).expect("it has begun");
    assert!(round.cpu_seconds[&Stage::Datagen] > 0.0 && round.datagen.is_none());
}

/// Rounds of self-play from the first on, in which a reference engine scores some games.
const SELF_PLAY: &str = r#"
folder = "campaign"
nets = "nets"
threads = 2

[engine]
file = "engine"
nodes = 12

[self_play]
visits = 8
parallel = 4

[datagen]
games = 16
first = "self"
later = "self"
window = 2
scored_games = 6

[train]
batch = 128
warm_up_steps = 4
held_out_of = 4
held_out_positions = 64
network = { hidden_size = 128, policy_size = 64, value_hidden = 8 }

[fine_tune]
epochs = 2.0

[match]
games = 4
visits = 6
max_turns = 60

[[variants]]
name = "3x3"
rounds = 3
"#;

#[test]
fn self_play_goes_on_from_the_best_network() {
    let (trained, trained_file) = new_campaign(&SMALL.replace("rounds = 2", "rounds = 1"));
    finish(&trained_file);
    let (folder, file) = new_campaign(SELF_PLAY);
    fs::rename(trained.path().join("campaign"), folder.path().join("trained")).expect("moved");
    let nets = folder.path().join("nets");
    fs::create_dir_all(&nets).expect("a folder");
    fs::write(nets.join("base.int8.onnx"), "no network").expect("written");
    let status = wait(&mut start(&file), LONG).expect("it ends");
    assert_eq!(status.code(), Some(1));
    let log = fs::read_to_string(folder.path().join("campaign/campaign.log")).expect("a log");
    assert!(log.contains("nets: no network that plays 3x3; base.int8.onnx: "), "{log}");
    let network = folder.path().join("trained/3x3/round-1/candidate.int8.onnx");
    fs::copy(network, nets.join("3x3.int8.onnx")).expect("copied");
    finish(&file);
    let state = CampaignState::read(&folder.path().join("campaign")).expect("a state");
    let rounds = &state.variants["3x3"];
    // The network that played, then the best of the campaign, or its first one.
    let mut start = folder.path().join("campaign/3x3/round-1/self-play.onnx");
    let mut origin = "the network before".to_owned();
    for (number, round) in rounds.iter().enumerate() {
        let train = folder.path().join(format!("campaign/3x3/round-{}/train", number + 1));
        let config = SparseConfig::read(&train.join("config.toml")).expect("a configuration");
        assert_eq!(config.start.as_ref(), Some(&start), "round {}", number + 1);
        let result = round.train.as_ref().expect("a training");
        assert_eq!(result.start.as_ref(), Some(&origin));
        // Starts of held-out games are not counted, and at most two rounds of 16 games and 6 scored ones are learned from.
        assert!((1..=22 * (number as u64 + 1).min(2)).contains(&result.games), "{result:?}");
        let source = &round.datagen.as_ref().expect("games").source;
        assert_eq!(source, "self-play, 8 visits, 6 games scored by engine, 12 nodes");
        let games = |name: &str| {
            let file = folder.path().join(format!("campaign/3x3/round-{}/{name}", number + 1));
            trainer::record::read(&file).expect("games")
        };
        let (played, scored) = (games("self-play.games"), games("scored.games"));
        assert_eq!((played.len(), scored.len()), (16, 6));
        let scores = |game: &GameRecord| game.plies.iter().map(|ply| ply.score).collect::<Vec<_>>();
        assert!(
            scored.iter().zip(&played).any(|(scored, played)| scores(scored) != scores(played))
        );
        assert!(config.epochs == Some(2.0) && result.epochs >= 2.0, "{result:?}");
        if number == 0 || round.is_promoted() {
            start = train.join("weights.sparse");
            origin = format!("round {}", number + 1);
        }
    }
    assert!(rounds[2].train.as_ref().expect("a training").games > 22);
    await_engines(folder.path());
}

#[test]
fn games_of_a_custom_variant_are_played_by_the_network_of_its_parent() {
    let settings =
        SELF_PLAY.replace("nets = \"nets\"", "nets = \"nets\"\nvariants_file = \"my.ini\"");
    let settings = settings.replace("name = \"3x3\"\nrounds = 3", "name = \"mine\"\nrounds = 1");
    let (folder, file) =
        new_campaign(&settings.replace("scored_games = 6", "alpha_beta_nodes = 20"));
    // Which side is to move is an input that the network of 3x3 lacks.
    let section = "[mine:3x3]\nnetwork = 3x3\nmaterialCounting = blackdrawodds\n";
    fs::write(folder.path().join("my.ini"), section).expect("written");
    let parent = Catalogue::shipped().require("3x3").expect("it is shipped");
    let encoding = SparseEncoding::new(&parent.start().game_spec()).expect("it has pieces");
    let sizes = SparseSizes { hidden_size: 128, policy_size: 64, value_hidden: 8 };
    let weights = SparseNetwork::new(&SparseLayout::of(&encoding), sizes, 1).weights();
    let (network, _) = export_for_play(&weights, &encoding, "3x3", "random").expect("it fits");
    let nets = folder.path().join("nets");
    fs::create_dir_all(&nets).expect("a folder");
    fs::write(nets.join("3x3.int8.onnx"), &network).expect("written");
    finish(&file);
    let played = fs::read(folder.path().join("campaign/mine/round-1/self-play.onnx"));
    assert!(played.expect("a network") == network);
    let state = CampaignState::read(&folder.path().join("campaign")).expect("a state");
    let [round] = &state.variants["mine"][..] else { panic!("not one round") };
    let source = &round.datagen.as_ref().expect("games").source;
    assert_eq!(source, "self-play, 8 visits, scored by alpha-beta, 20 nodes");
    let result = round.train.as_ref().expect("a training");
    assert_eq!(result.start.as_deref(), Some("the network before"));
    let contest = round.contest.as_ref().expect("a match");
    assert_eq!(contest.against, "3x3.int8.onnx");
}

#[test]
fn campaign_begins_with_nothing_but_the_rules() {
    let settings = SELF_PLAY.replace("first = \"self\"", "first = \"untrained\"");
    let settings = settings.replace("rounds = 3", "rounds = 2");
    let settings = settings.replace("scored_games = 6", "alpha_beta_nodes = 20");
    let settings = settings.replace("[engine]\nfile = \"engine\"\nnodes = 12\n", "");
    let (folder, file) = new_campaign(&settings.replace("[train]", "[train]\nepochs = 3.0"));
    finish(&file);
    let state = CampaignState::read(&folder.path().join("campaign")).expect("a state");
    let [first, second] = &state.variants["3x3"][..] else { panic!("not two rounds") };
    let source = &first.datagen.as_ref().expect("games").source;
    assert_eq!(
        source,
        "self-play of an untrained network, 8 visits, scored by alpha-beta, 20 nodes"
    );
    let result = first.train.as_ref().expect("a training");
    assert!(result.start.is_none() && result.epochs >= 3.0, "{result:?}");
    // Its games with the scores of alpha-beta, not those of self-play as well.
    assert!((1..=16).contains(&result.games), "{result:?}");
    let scored = folder.path().join("campaign/3x3/round-1/scored.games");
    let scored = trainer::record::read(&scored).expect("games");
    assert_eq!(scored.len(), 16);
    for game in &scored {
        assert!(game.side_positions.is_empty());
        assert!(game.plies.iter().all(|ply| ply.score.is_some()));
    }
    let source = &second.datagen.as_ref().expect("games").source;
    assert_eq!(source, "self-play, 8 visits, scored by alpha-beta, 20 nodes");
    assert_eq!(second.train.as_ref().expect("a training").start.as_deref(), Some("round 1"));
}

/// The state of a round whose match is won, with the number of the variant's games.
const WON: &str = r#"
[[variants.gardner]]
cpu_seconds = { datagen = 7200.0, train = 1800.0 }
datagen = { games = 12, source = "engine, 12 nodes" }
train = { start = "base.sparse", games = 12, bad_games = 0, positions = 300, epochs = 10.0, held_top1 = 0.5, held_sign = 0.6 }
export = { bytes = 9, checksum = "abc" }
match = { against = "no network", conditions = "6 visits a move, random plies", won = 4, drawn = 0, lost = 0, elo = inf, elo_low = inf, elo_high = inf, passed = true }
"#;

#[test]
fn promotions_are_repaired_and_a_failure_is_not_the_end() {
    let settings = SMALL.replace("rounds = 2", "engine.file = \"broken\"");
    let (folder, file) = new_campaign(&settings);
    script::executable(&folder.path().join("broken"), "#!/bin/sh\nexit 1\n");
    let round = folder.path().join("campaign/gardner/round-1");
    fs::create_dir_all(&round).expect("a folder");
    fs::write(round.join("candidate.int8.onnx"), "a network").expect("written");
    fs::write(folder.path().join("campaign/state.toml"), WON).expect("written");
    // Killed between the two files.
    let nets = folder.path().join("nets");
    fs::create_dir_all(&nets).expect("a folder");
    fs::write(nets.join("gardner.int8.onnx"), "a network").expect("written");
    fs::write(nets.join("gardner.toml"), "of the network before").expect("written");
    let settings = CampaignSettings::read(&file).expect("settings");
    let campaign = Campaign::open(settings.clone()).expect("opened");
    let end = campaign.run(&AtomicBool::new(false)).expect("a state that can be written");
    assert_eq!(end, CampaignEnd::Failed(1));
    assert_eq!(fs::read(nets.join("gardner.int8.onnx")).expect("a network"), b"a network");
    let record = fs::read_to_string(nets.join("gardner.toml")).expect("a record");
    let record: toml::Table = record.parse().expect("TOML");
    assert_eq!(record["datagen_cpu_hours"].as_float(), Some(2.0));
    assert_eq!(record["start"].as_str(), Some("base.sparse"));
    assert_eq!(record["match"]["won"].as_integer(), Some(4));
    assert!(!record["games_of_rounds"].to_string().contains('/'));
    let state = CampaignState::read(&settings.folder).expect("a state");
    assert!(state.round("gardner", 0).expect("a round").is_promoted());
    let log = fs::read_to_string(settings.folder.join("campaign.log")).expect("a log");
    assert!(log.contains("3x3 round 1: datagen failed: the engine "), "{log}");
}

#[test]
fn invalid_settings_are_quoted() {
    let (folder, _) = new_campaign(SMALL);
    let error = |settings: &str| {
        let file = folder.path().join("bad.toml");
        fs::write(&file, settings).expect("written");
        CampaignSettings::read(&file).expect_err(settings).to_string()
    };
    let cases = [
        ("threads = 2", "treads = 2", "treads = 2"),
        ("threads = 2", "threads = 0", "threads is 0"),
        ("nice = 1", "nice = 20", "nice is 20"),
        ("nodes = 12", "knots = 12", "knots"),
        ("nodes = 12", "nodes = \"many\"", "many"),
        ("games = 16", "games = 16\ngame = 3", "`game`"),
        ("later = \"self\"", "later = \"others\"", "others"),
        ("later = \"self\"", "later = \"untrained\"", "later is \"untrained\""),
        ("positions = 3072", "possitions = 3072", "possitions"),
        ("hidden_size = 128", "hidden_size = 96", "hidden_size"),
        ("hidden_size = 128", "hiden_size = 128", "hiden_size"),
        ("epochs = 2.0", "epochs = 0.0", "epochs is 0, not above 0"),
        ("epochs = 2.0", "start = \"nothere\"", "[fine_tune] of 3x3: no start"),
        ("games = 16", "games = 16\nwindow = 0", "window is 0"),
        ("epochs = 2.0", "network = { hidden_size = 256 }", "sizes of [train]"),
        ("visits = 6", "sprt = \"10,0\"", "elo0 10 must be below elo1 0"),
        ("visits = 6", "visits = 0", "visits"),
        ("parallel = 4", "opening = { starts = [\"k2/3/1RX w\"] }", "\"k2/3/1RX w\""),
        ("name = \"3x3\"", "name = \"4x4x4\"", "4x4x4"),
        ("name = \"3x3\"", "name = \"gardner\"", "\"gardner\" stands twice"),
        ("name = \"3x3\"", "name = \"tictacmo\"", "tictacmo"),
        ("rounds = 2", "rounds = 0", "rounds is 0"),
        ("rounds = 2", "records = [\"none.tsv\"]", "none.tsv"),
        ("file = \"engine\"", "file = \"no/such/engine\"", "no/such/engine"),
    ];
    for (from, to, quoted) in cases {
        let message = error(&SMALL.replacen(from, to, 1));
        assert!(message.contains(quoted) && message.contains("bad.toml"), "{to}: {message}");
    }
    let message = error(&SMALL[..SMALL.find("[[variants]]").expect("it has some")]);
    assert!(message.contains("[[variants]]"), "{message}");
    let message = error(&SELF_PLAY.replace("file = \"engine\"\n", ""));
    assert!(message.contains("games to score, and no file in [engine]"), "{message}");
    let message = error(&SELF_PLAY.replace("3x3", "bughouse2"));
    assert!(message.contains("\"bughouse2\": no engine scores positions of two"), "{message}");
}

#[test]
fn example_has_all_variants_of_chess() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/campaign.toml"));
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("campaign.toml");
    fs::write(&file, text.expect("the example")).expect("written");
    let settings = CampaignSettings::read(&file).expect("settings");
    let names: Vec<&str> = settings.plans.iter().map(|plan| plan.name()).collect();
    // Solved, of two boards, or a part of another game.
    let others = ["3x3", "3x3full", "bughouse2", "bughouse2fixed", "blindboard"];
    for variant in Catalogue::shipped().iter() {
        let sparse = SparseEncoding::new(&variant.start().game_spec()).is_some();
        let listed = names.contains(&variant.name());
        assert_eq!(listed, sparse && !others.contains(&variant.name()), "{}", variant.name());
    }
    assert!(settings.plans.iter().all(|plan| plan.datagen.later == GameSource::SelfPlay));
}

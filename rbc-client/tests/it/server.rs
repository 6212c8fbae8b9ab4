//! The executable as a client of a server.

mod reference_server;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use menagerie_rbc::{check_files, check_text};
use tempfile::TempDir;

use reference_server::{Fault, ReferenceServer};

const PASSWORD: &str = "open sesame";
/// Pauses of the client are short.
const POLL_MILLISECONDS: &str = "5";
const TIMEOUT: Duration = Duration::from_secs(300);

/// The folder of a client.
struct StateFolder(TempDir);

impl StateFolder {
    fn new() -> StateFolder {
        StateFolder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Returns the files of the user whose names end with `extension`.
    fn files(&self, extension: &str) -> Vec<String> {
        let users = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = users.flat_map(|user| fs::read_dir(user.path()).into_iter().flatten());
        let mut names: Vec<String> = files
            .flatten()
            .map(|file| file.path().display().to_string())
            .filter(|name| name.ends_with(extension))
            .collect();
        names.sort();
        names
    }
}

fn client(url: &str, folder: &StateFolder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_menagerie-rbc"));
    command.args(["server", url, "--turn", "10", "--boards", "5000", "--poll", POLL_MILLISECONDS]);
    command.arg("--state").arg(folder.0.path()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("MENAGERIE_RBC_USER", "ours").env("MENAGERIE_RBC_PASSWORD", PASSWORD);
    command.env_remove("RUST_LOG");
    command
}

/// Returns standard output and standard error.
fn text_of(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("{stdout}{stderr}")
}

/// Runs a client that must succeed. Returns its output.
fn run_client(url: &str, folder: &StateFolder, arguments: &[&str]) -> String {
    let output = client(url, folder, arguments).output().expect("the client starts");
    let text = text_of(&output);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Runs a client that must fail with a message that contains `expected`.
fn assert_refused(url: &str, folder: &StateFolder, arguments: &[&str], expected: &str) {
    let output = client(url, folder, arguments).output().expect("the client starts");
    let text = text_of(&output);
    assert!(!output.status.success(), "{url} {arguments:?}");
    assert!(text.contains(expected), "{url} {arguments:?}: {text}");
    assert!(!text.contains("sesame"), "{text}");
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < TIMEOUT, "timeout: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that all games are over without missed turns, and that their correct histories replace their
/// journals.
fn assert_games_completed(server: &ReferenceServer, folder: &StateFolder, games: usize) {
    let state = server.state();
    assert_eq!(state.games.len(), games);
    for game in state.games.values() {
        assert!(game.truth.end().is_some(), "{}", game.truth.fen());
        let ours = &game.history.sides[game.color];
        assert!(ours.moves.len() > 1);
        assert_eq!(ours.senses.len(), ours.moves.len());
        // A client that loses track passes.
        let passes = ours.moves.iter().filter(|played| played.requested.is_none()).count();
        assert!(passes * 4 < ours.moves.len(), "{passes} passes");
        assert!(check_text("game", &game.history.to_json().to_string()).passed);
    }
    let histories = folder.files(".json");
    assert_eq!(histories.len(), games);
    assert!(check_files(&histories).passed);
    assert!(folder.files(".journal").is_empty());
    assert!(folder.files(".invitation").is_empty());
}

#[test]
fn server_client_plays_through_failures() {
    let mut count = 0;
    let server = ReferenceServer::start(1, move |path| {
        // If the answer to an invitation were lost, its game could not be found.
        if !path.starts_with("/api/games/") {
            return None;
        }
        count += 1;
        match count % 37 {
            5 => Some(Fault::Before(503)),
            15 => Some(Fault::After(500)),
            25 => Some(Fault::NoAnswer),
            35 => Some(Fault::Before(429)),
            _ => None,
        }
    });
    server.state().invitations = vec![7];
    let folder = StateFolder::new();
    let text = run_client(&server.url, &folder, &["--invite", "foe", "--once", "--games", "2"]);
    assert_games_completed(&server, &folder, 2);
    assert!(text.contains("no answer (status 503), retrying"), "{text}");
    assert!(text.contains("the server answers again"), "{text}");
    assert!(text.contains("against a foe as white"), "the name is one line: {text}");
    assert!(text.contains("against a foe as black"), "{text}");
    assert!(text.contains(" won (KING_CAPTURE) after "), "{text}");
    assert_eq!(server.state().finished, [7]);
}

#[test]
fn server_client_recovers_lost_answers() {
    let mut count = 0;
    let server = ReferenceServer::start(5, move |path| {
        if !["/sense", "/move", "/end_turn"].iter().any(|end| path.ends_with(end)) {
            return None;
        }
        count += 1;
        if count % 3 == 1 { Some(Fault::After(502)) } else { None }
    });
    let folder = StateFolder::new();
    let text = run_client(&server.url, &folder, &["--invite", "foe", "--once"]);
    assert_games_completed(&server, &folder, 1);
    assert!(text.contains("continuing without the sense result"), "{text}");
    assert!(!text.contains("can only be guessed"), "{text}");
    assert!(!text.contains("impossible"), "{text}");
}

#[test]
fn server_client_continues_after_it_was_killed() {
    // The server executes few moves until the client was killed twice: no game ends in two moves.
    let allowed_moves = Arc::new(AtomicUsize::new(0));
    let made_moves = Arc::new(AtomicUsize::new(0));
    let allowed = Arc::clone(&allowed_moves);
    let made = Arc::clone(&made_moves);
    let server = ReferenceServer::start(3, move |path| {
        if !path.ends_with("/move") {
            return None;
        }
        if made.load(Ordering::SeqCst) >= allowed.load(Ordering::SeqCst) {
            return Some(Fault::Before(503));
        }
        made.fetch_add(1, Ordering::SeqCst);
        None
    });
    server.state().invitations = vec![4];
    let folder = StateFolder::new();
    for moves in [1, 2] {
        allowed_moves.store(moves, Ordering::SeqCst);
        let mut child: Child =
            client(&server.url, &folder, &["--games", "1"]).spawn().expect("the client starts");
        wait_until("a move", || made_moves.load(Ordering::SeqCst) >= moves);
        child.kill().expect("the client runs");
        child.wait().expect("the client has ended");
        assert_eq!(folder.files(".journal").len(), 1);
    }
    allowed_moves.store(usize::MAX, Ordering::SeqCst);
    // The last line may have been cut short.
    let journal = &folder.files(".journal")[0];
    let entries = fs::read_to_string(journal).expect("a journal");
    fs::write(journal, format!("{entries}senseres")).expect("it can be written");
    let text = run_client(&server.url, &folder, &["--once"]);
    assert!(text.contains(" continues in turn "), "{text}");
    assert_games_completed(&server, &folder, 1);
    assert_eq!(server.state().finished, [4]);
}

/// Starts a game and kills its client before the first move is executed. Returns the server, on which later
/// clients can move.
fn interrupt_game(folder: &StateFolder) -> ReferenceServer {
    let is_blocked = Arc::new(AtomicBool::new(true));
    let blocked = Arc::clone(&is_blocked);
    let server = ReferenceServer::start(3, move |path| {
        if path.ends_with("/move") && blocked.load(Ordering::SeqCst) {
            Some(Fault::Before(503))
        } else {
            None
        }
    });
    server.state().invitations = vec![4];
    let mut child: Child =
        client(&server.url, folder, &["--games", "1"]).spawn().expect("the client starts");
    wait_until("a move", || server.state().log.iter().any(|path| path.ends_with("/move")));
    child.kill().expect("the client runs");
    child.wait().expect("the client has ended");
    assert_eq!(folder.files(".journal").len(), 1);
    is_blocked.store(false, Ordering::SeqCst);
    server
}

#[test]
fn server_client_keeps_damaged_journals() {
    for (from, to, expected) in [
        ("senseresult ", "senseresult XX ", ": invalid journal line \"senseresult XX "),
        ("oppmove -", "oppmove e8", "no piece of the player can have been captured on \"e8\""),
    ] {
        let folder = StateFolder::new();
        let server = interrupt_game(&folder);
        let journal = &folder.files(".journal")[0];
        let entries = fs::read_to_string(journal).expect("a journal");
        let damaged = entries.replacen(from, to, 1);
        assert_ne!(damaged, entries);
        fs::write(journal, &damaged).expect("it can be written");
        // The server does not know the game of another file.
        let other = journal.replace("1.journal", "7.journal");
        fs::write(&other, "sense d5\nnotes\n").expect("it can be written");
        let text = run_client(&server.url, &folder, &["--once"]);
        assert!(text.contains("game 1 cannot be continued, resigning: "), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("7.journal: line 2: invalid journal line \"notes\""), "{text}");
        assert!(text.contains("game 7: the journal is kept as "), "{text}");
        assert!(server.state().games[&1].is_over());
        assert!(folder.files(".journal").is_empty());
        let kept = [format!("{journal}.damaged"), format!("{other}.damaged")];
        assert_eq!(folder.files(".damaged"), kept);
        assert_eq!(fs::read_to_string(&kept[0]).expect("a journal"), damaged);
    }
}

#[test]
fn server_client_waits_for_journals_that_cannot_be_opened() {
    let folder = StateFolder::new();
    let server = interrupt_game(&folder);
    let journal = &folder.files(".journal")[0];
    let saved = format!("{journal}.saved");
    fs::rename(journal, &saved).expect("it can be renamed");
    // A folder cannot be opened as a file.
    fs::create_dir(journal).expect("a new folder");
    let start = |arguments: &[&str]| {
        server.state().log.clear();
        let child = client(&server.url, &folder, arguments).spawn().expect("the client starts");
        let is_status = |path: &&String| path.ends_with("/game_status");
        wait_until("attempts", || server.state().log.iter().filter(is_status).count() > 2);
        child
    };
    let stopped = start(&[]);
    let kill = Command::new("kill").args(["-INT", &stopped.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    assert!(stopped.wait_with_output().expect("the client ends").status.success());

    let continued = start(&["--once"]);
    fs::remove_dir(journal).expect("an empty folder");
    fs::rename(&saved, journal).expect("it can be renamed");
    let text = text_of(&continued.wait_with_output().expect("the client ends"));
    assert_eq!(text.matches("game 1 cannot be continued yet").count(), 1, "{text}");
    assert!(text.contains(" continues in turn "), "{text}");
    assert_games_completed(&server, &folder, 1);
    assert_eq!(server.state().finished, [4]);
}

#[test]
fn server_client_ends_its_games_after_a_signal() {
    let server = ReferenceServer::start(9, |_| None);
    let folder = StateFolder::new();
    let child = client(&server.url, &folder, &["--invite", "foe", "--games", "1", "--ranked"])
        .spawn()
        .expect("the client starts");
    wait_until("a move", || server.state().log.iter().any(|path| path.ends_with("/move")));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    let output = child.wait_with_output().expect("the client ends");
    let text = text_of(&output);
    assert!(output.status.success(), "{text}");
    assert_games_completed(&server, &folder, 1);
    assert_eq!(server.state().ranked, [true, false]);
    assert!(text.contains("ranked games are played as version 1"), "{text}");
}

#[test]
fn server_client_never_shows_credentials() {
    let server = ReferenceServer::start(1, |_| None);
    let folder = StateFolder::new();
    let file = folder.0.path().join("secret");
    let path = file.display().to_string();
    let wrong = "the wrong one";
    // Base64 of "ours:the wrong one".
    let wrong_encoded = "b3Vyczp0aGUgd3Jvbmcgb25l";
    fs::write(&file, format!("ours\n{wrong}\n")).expect("a temporary file");
    let mut command = client(&server.url, &folder, &["--once", "--credentials", &path]);
    let refused = command.env("RUST_LOG", "trace").output().expect("the client starts");
    let text = text_of(&refused);
    assert!(!refused.status.success());
    assert!(text.contains("the server refuses the user or the password"), "{text}");
    assert!(!text.contains(wrong) && !text.contains(wrong_encoded), "{text}");

    let mut command = client(&server.url, &folder, &["--once"]);
    let accepted = command.env("RUST_LOG", "trace").output().expect("the client starts");
    let text = text_of(&accepted);
    assert!(accepted.status.success(), "{text}");
    assert!(!text.contains(PASSWORD));
    assert!(!text.contains("b3VyczpvcGVuIHNlc2FtZQ=="));
}

#[test]
fn server_client_refuses_invalid_options() {
    let server = ReferenceServer::start(1, |_| None);
    let url = &server.url;
    let folder = StateFolder::new();
    assert_refused("http://ours:sesame@localhost:1", &folder, &[], "must not contain a user");
    assert_refused("ftp://localhost", &folder, &[], "\"ftp://localhost\"");
    assert_refused("localhost", &folder, &[], "invalid address");
    assert_refused(url, &folder, &["--credentials", "no such file"], "no such file");
    assert_refused(url, &folder, &["--games", "0"], "'0' for '--games <N>'");
    assert_refused(url, &folder, &["--user", "a:b"], "contains a colon");
    assert_refused(url, &folder, &["--new-version"], "--ranked");
    assert_refused(url, &folder, &["--fly", "high"], "--fly");

    let mut command = client(url, &folder, &[]);
    let output = command.env_remove("MENAGERIE_RBC_PASSWORD").output().expect("the client starts");
    let text = text_of(&output);
    assert!(!output.status.success());
    assert!(text.contains("no credentials, set MENAGERIE_RBC_USER"), "{text}");
}

#[test]
fn server_client_resigns_games_with_invalid_answers() {
    let deep_json = "[".repeat(100_000);
    for (endpoint, answer) in [
        ("/color", r#"{"color": "red"}"#),
        (
            "/starting_board",
            r#"{"board": {"type": "Board", "value": "8/8/8/8/8/8/8/8 w - - 0 1"}}"#,
        ),
        ("/starting_board", r#"{"board": {"type": "Board", "value": 3}}"#),
        ("/game_status", r#"{"is_over": 1}"#),
        ("/seconds_left", r#"{"seconds_left": "plenty"}"#),
        ("/opponent_move_results", r#"{"opponent_move_results": 64}"#),
        ("/opponent_move_results", r#"{"opponent_move_results": 27}"#),
        ("/opponent_name", deep_json.as_str()),
    ] {
        let answer = answer.to_owned();
        let server = ReferenceServer::start(2, move |path| {
            if path.ends_with(endpoint) { Some(Fault::Text(answer.clone())) } else { None }
        });
        server.state().invitations = vec![1];
        let folder = StateFolder::new();
        let text = run_client(&server.url, &folder, &["--once"]);
        assert!(text.contains("game 1 cannot be continued, resigning: "), "{endpoint}: {text}");
        assert!(text.lines().all(|line| line.len() < 1200), "{endpoint}: {text}");
        let state = server.state();
        assert!(state.games[&1].is_over(), "{endpoint}");
        assert_eq!(state.finished, [1], "{endpoint}");
        assert!(folder.files(".journal").is_empty(), "{endpoint}");
    }
}

#[test]
fn server_client_continues_without_results_of_senses_and_moves() {
    let mut faults = vec![
        ("/sense", r#"{"sense_result": [[99, null]]}"#),
        ("/move", r#"{"move_result": ["e2e4"]}"#),
        ("/sense", "<html>"),
        ("/move", r#"{"move_result": [3, null, -1]}"#),
    ];
    let server = ReferenceServer::start(2, move |path| {
        let (_, text) = faults.pop_if(|(endpoint, _)| path.ends_with(*endpoint))?;
        Some(Fault::Text(text.to_owned()))
    });
    let folder = StateFolder::new();
    let text = run_client(&server.url, &folder, &["--invite", "foe,unknown", "--once"]);
    assert!(text.contains("no such user"), "{text}");
    assert_eq!(text.matches("continuing without the sense result").count(), 2, "{text}");
    assert_eq!(
        text.matches("games/1/move: the server refuses with status 400").count(),
        2,
        "{text}"
    );
    assert_games_completed(&server, &folder, 1);
}

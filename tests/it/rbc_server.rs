//! The client of the server of blind chess against a stand-in, by the executable itself.

mod stand_in;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use menagerie::protocol::rbc::{check, check_text};

use stand_in::{Fault, StandIn};

const PASSWORD: &str = "open sesame";

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("menagerie-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    /// The files of a kind that lie in the player's folder.
    fn files(&self, kind: &str) -> Vec<String> {
        let players = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = players.flat_map(|player| fs::read_dir(player.path()).into_iter().flatten());
        let names = files.flatten().map(|file| file.path().display().to_string());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(kind)).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn client(url: &str, folder: &Folder, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_menagerie"));
    let state = folder.0.display().to_string();
    command.args(["rbc", "--server", url, "--state", &state, "--turn", "10", "--boards", "5000"]);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("MENAGERIE_RBC_USER", "ours").env("MENAGERIE_RBC_PASSWORD", PASSWORD);
    command.env_remove("RUST_LOG");
    command
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a client to its end; it must have left in order.
fn plays(url: &str, folder: &Folder, more: &[&str]) -> String {
    let output = client(url, folder, more).output().expect("it can be started");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(300), "{what} never came");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All games are over, their histories are kept and right, and no turn was missed in them.
fn all_is_well(server: &StandIn, folder: &Folder, games: usize) {
    let world = server.world();
    assert_eq!(world.games.len(), games);
    for game in world.games.values() {
        assert!(game.truth.end().is_some(), "{}", game.truth.fen());
        let ours = &game.history.sides[game.color];
        assert!(ours.moves.len() > 1);
        assert_eq!(ours.senses.len(), ours.moves.len());
        // Whoever lets the clock of turns run passes; we know better.
        let passes = ours.moves.iter().filter(|played| played.requested.is_none()).count();
        assert!(passes * 4 < ours.moves.len(), "{passes} passes");
        assert!(check_text("game", &game.history.to_json().to_string()).same);
    }
    let kept = folder.files(".json");
    assert_eq!(kept.len(), games);
    assert!(check(&kept).same);
    assert!(folder.files(".journal").is_empty() && folder.files(".invitation").is_empty());
}

#[test]
fn games_are_played_through_failures_of_the_server() {
    let mut count = 0;
    let server = StandIn::new(
        1,
        Box::new(move |_, path| {
            // A game that was made for an answer that is lost could never be found.
            count += usize::from(path.starts_with("/api/games/"));
            match count % 37 * usize::from(path.starts_with("/api/games/")) {
                5 => Some(Fault::Before(503)),
                15 => Some(Fault::After(500)),
                25 => Some(Fault::Silence),
                35 => Some(Fault::Before(429)),
                _ => None,
            }
        }),
    );
    server.world().invitations = vec![7];
    let folder = Folder::new("failures");
    let said = plays(&server.url, &folder, &["--invite", "foe", "--once", "--games", "2"]);
    all_is_well(&server, &folder, 2);
    assert!(said.contains("no answer (status 503), asking again"), "{said}");
    assert!(said.contains("the server answers again"), "{said}");
    assert!(said.contains("against a foe as white"), "one line: {said}");
    assert!(said.contains("against a foe as black"), "{said}");
    assert!(said.contains(" won (KING_CAPTURE) after "), "{said}");
    assert_eq!(server.world().finished, [7]);
}

#[test]
fn lost_answers_are_pieced_together() {
    // Every answer to a sense or a request is lost in some turns.
    let mut count = 0;
    let server = StandIn::new(
        5,
        Box::new(move |_, path| {
            let matters = ["/sense", "/move", "/end_turn"].iter().any(|end| path.ends_with(end));
            count += usize::from(matters);
            (matters && count % 3 == 1).then_some(Fault::After(502))
        }),
    );
    let folder = Folder::new("lost");
    let said = plays(&server.url, &folder, &["--invite", "foe", "--once"]);
    all_is_well(&server, &folder, 1);
    assert!(said.contains("on without it"), "{said}");
    assert!(!said.contains("can only be guessed"), "{said}");
    assert!(!said.contains("cannot be"), "{said}");
}

#[test]
fn a_client_that_is_killed_goes_on() {
    // The server takes so many moves and no more, so that no game ends before the client is killed: no king
    // can be captured in two.
    let [allowed, made] = [0, 0].map(|count| Arc::new(AtomicUsize::new(count)));
    let (most, moves) = (Arc::clone(&allowed), Arc::clone(&made));
    let server = StandIn::new(
        3,
        Box::new(move |_, path| {
            if !path.ends_with("/move") {
                return None;
            }
            let refused = moves.load(Ordering::SeqCst) >= most.load(Ordering::SeqCst);
            moves.fetch_add(usize::from(!refused), Ordering::SeqCst);
            refused.then_some(Fault::Before(503))
        }),
    );
    server.world().invitations = vec![4];
    let folder = Folder::new("killed");
    for stop in [1, 2] {
        allowed.store(stop, Ordering::SeqCst);
        let mut child: Child =
            client(&server.url, &folder, &["--games", "1"]).spawn().expect("it can be started");
        until("so many moves", || made.load(Ordering::SeqCst) >= stop);
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert_eq!(folder.files(".journal").len(), 1);
    }
    allowed.store(usize::MAX, Ordering::SeqCst);
    // A line that was cut short is dropped.
    let journal = &folder.files(".journal")[0];
    let text = fs::read_to_string(journal).expect("a journal");
    fs::write(journal, format!("{text}senseres")).expect("it can be written");
    let said = plays(&server.url, &folder, &["--once"]);
    assert!(said.contains("goes on, in turn "), "{said}");
    all_is_well(&server, &folder, 1);
    assert_eq!(server.world().finished, [4]);
}

#[test]
fn a_signal_lets_games_end() {
    let server = StandIn::new(9, Box::new(|_, _| None));
    let folder = Folder::new("signal");
    let child = client(&server.url, &folder, &["--invite", "foe", "--games", "1", "--ranked"])
        .spawn()
        .expect("it can be started");
    until("a move", || server.world().log.iter().any(|line| line.ends_with("/move")));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill can be started").success());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    all_is_well(&server, &folder, 1);
    assert_eq!(server.world().ranked, [true, false]);
    assert!(said(&output).contains("ranked games are of version 1"), "{}", said(&output));
}

#[test]
fn credentials_are_refused_in_words_and_never_shown() {
    let server = StandIn::new(1, Box::new(|_, _| None));
    let folder = Folder::new("credentials");
    let file = std::env::temp_dir().join(format!("menagerie-{}-secret", std::process::id()));
    let path = file.display().to_string();
    // Base64 of "ours:the wrong one".
    let (wrong, coded) = ("the wrong one", "b3Vyczp0aGUgd3Jvbmcgb25l");
    fs::write(&file, format!("ours\n{wrong}\n")).expect("a temporary file");
    let mut command = client(&server.url, &folder, &["--once", "--credentials", &path]);
    let refused = command.env("RUST_LOG", "trace").output().expect("it can be started");
    fs::remove_file(&file).expect("it is there");
    assert!(!refused.status.success());
    let words = said(&refused);
    assert!(words.contains("the server refuses the user or the password"), "{words}");
    assert!(!words.contains(wrong) && !words.contains(coded), "{words}");
    let mut command = client(&server.url, &folder, &["--once"]);
    let accepted = command.env("RUST_LOG", "trace").output().expect("it can be started");
    assert!(accepted.status.success(), "{}", said(&accepted));
    assert!(!said(&accepted).contains(PASSWORD));
    assert!(!said(&accepted).contains("b3VyczpvcGVuIHNlc2FtZQ=="));

    let refuses = |url: &str, more: &[&str], quote: &str| {
        let mut command = client(url, &folder, more);
        let output = command.output().expect("it can be started");
        assert!(!output.status.success(), "{url} {more:?}");
        assert!(said(&output).contains(quote), "{url} {more:?}: {}", said(&output));
        assert!(!said(&output).contains("sesame"), "{}", said(&output));
    };
    refuses("http://ours:sesame@localhost:1", &[], "no place in an address");
    refuses("ftp://localhost", &[], "\"ftp://localhost\"");
    refuses("localhost", &[], "is no address");
    refuses(&server.url, &["--credentials", "no such file"], "no such file");
    refuses(&server.url, &["--games", "0"], "--games \"0\"");
    refuses(&server.url, &["--user", "a:b"], "no colon");
    refuses(&server.url, &["--new-version"], "--ranked");
    refuses(&server.url, &["--fly", "high"], "--fly");
    let mut command = client(&server.url, &folder, &[]);
    let output = command.env_remove("MENAGERIE_RBC_PASSWORD").output().expect("it can be started");
    assert!(said(&output).contains("who plays?"), "{}", said(&output));
}

#[test]
fn hostile_answers_end_a_game_and_not_the_client() {
    let deep = "[".repeat(100_000);
    for (path, text) in [
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
        ("/opponent_name", deep.as_str()),
    ] {
        let text = text.to_owned();
        let server = StandIn::new(
            2,
            Box::new(move |_, asked| asked.ends_with(path).then(|| Fault::Text(text.clone()))),
        );
        server.world().invitations = vec![1];
        let folder = Folder::new("hostile");
        let said = plays(&server.url, &folder, &["--once"]);
        assert!(said.contains("game 1 is given up: "), "{path}: {said}");
        assert!(!said.contains("panicked"), "{path}: {said}");
        assert!(said.lines().all(|line| line.len() < 1200), "{path}: {said}");
        let world = server.world();
        assert!(world.games[&1].over(), "{path}");
        assert_eq!(world.finished, [1], "{path}");
        assert!(folder.files(".journal").is_empty(), "{path}");
    }
    // What is seen and what became of a request is not needed: the game goes on.
    let mut left = vec![
        ("/sense", r#"{"sense_result": [[99, null]]}"#),
        ("/move", r#"{"move_result": ["e2e4"]}"#),
        ("/sense", "<html>"),
        ("/move", r#"{"move_result": [3, null, -1]}"#),
    ];
    let server = StandIn::new(
        2,
        Box::new(move |_, asked| {
            let (_, text) = left.pop_if(|(path, _)| asked.ends_with(*path))?;
            Some(Fault::Text(text.to_owned()))
        }),
    );
    let folder = Folder::new("nonsense");
    let said = plays(&server.url, &folder, &["--invite", "foe,nobody", "--once"]);
    assert!(said.contains("no such user"), "{said}");
    assert_eq!(said.matches("on without it").count(), 2, "{said}");
    assert_eq!(said.matches("games/1/move: the server says 400").count(), 2, "{said}");
    all_is_well(&server, &folder, 1);
}

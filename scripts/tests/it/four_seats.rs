//! Bughouse with running clocks: flags, sitting, illegal moves, captured pieces, and games in BPGN. The engines are
//! shell scripts.
#![cfg(unix)]

use crate::support::script;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use menagerie::rules::{PackedMove, Side};
use menagerie::variant::{Catalogue, Variant};
use tempfile::TempDir;
use trainer::arena::Arena;
use trainer::arena::bughouse::{Referee, bpgn as written};
use trainer::arena::config::MatchConfig;
use trainer::arena::game::Played;
use trainer::arena::schedule::MatchSchedule;
use trainer::arena::table;
use trainer::readers::bpgn;

const FEATURES: &str = "protover) echo feature ping=1 setboard=1 usermove=1 variants=bughouse done=1;;\n\
    ping) echo pong $rest;;\nquit) exit;;";

/// Writes an executable: a shell script with a `case` over the first word of each line.
fn script(folder: &Path, name: &str, before: &str, cases: &str) -> String {
    let path = folder.join(name);
    let loops = format!("while read -r word rest; do case $word in\n{cases}\nesac; done");
    script::executable(&path, &format!("#!/bin/sh\n{before}\n{loops}\n"));
    path.display().to_string()
}

/// Writes an XBoard engine. `cases` are those of a shell over the board, A or B, and the last move that it
/// received, or `first`. The engine logs the messages that it receives in a file for each board.
fn xboard(folder: &Path, name: &str, cases: &str) -> String {
    let log = folder.join(name).display().to_string();
    let before = format!(
        "reply() {{ case $board$last in\n{cases}\nesac; }}\n\
          log() {{ echo \"$1\" >> {log}.log$board; }}"
    );
    // The name of the partner ends with its board.
    let partner = "partner) case $rest in *B) board=A;; *) board=B;; esac;;";
    let moves = "new) last=first; playing=;;\nusermove) log \"$word $rest\"; last=$rest; \
         [ -n \"$playing\" ] && reply;;\ngo) playing=1; reply;;\nforce) playing=;;\n\
         holding|ptell|result|time|otim) log \"$word $rest\";;";
    script(folder, name, &before, &format!("{partner}\n{moves}\n{FEATURES}"))
}

/// Writes a team in one process that answers `go` by shell commands.
fn uci(folder: &Path, name: &str, go: &str) -> String {
    let cases = format!(
        "uci) echo option name Team type combo default white var white var black; echo uciok;;\n\
         isready) echo readyok;;\nposition) position=$rest;;\ngo) {go};;\nquit) exit;;"
    );
    script(folder, name, "", &cases)
}

fn variant() -> Arc<Variant> {
    Catalogue::shipped().get("bughouse2").expect("it is shipped")
}

fn config(players: &[String], games: u64) -> MatchConfig {
    let players = players.iter().map(|text| text.parse().expect("a team")).collect();
    MatchConfig { games, plies: Some(0), ..MatchConfig::new("bughouse2", players) }
}

fn play(folder: &Path, config: &MatchConfig) -> (Vec<Played>, String) {
    let mut arena = Arena::open(folder, config.clone()).expect("opened");
    arena.play(1, &mut |_| ()).expect("played");
    let table = arena.report().expect("written");
    (arena.games().to_vec(), table)
}

/// Plays one game in which the first player has White on A.
fn one(players: &[String; 2]) -> Played {
    let config = config(players, 2);
    let variant = variant();
    let mut referee = Referee::new(&variant, &config.players);
    let played = referee.play(&[0, 1], &variant.start(), 0, &AtomicBool::new(false));
    played.expect("engines that can be started").expect("it was not stopped")
}

/// Returns a game in BPGN.
fn write(game: &Played, config: &MatchConfig) -> String {
    let schedule = MatchSchedule::new(config);
    written::games(&variant(), &schedule, &config.players, std::slice::from_ref(game))
}

/// Fool's mate on A, no moves on B.
const FOOLS_MATE: &str = "Afirst) echo move f2f3;;\nAf2f3) echo move e7e5;;\nAe7e5) echo move g2g4;;\n\
     Ag2g4) echo move d8h4;;";

#[test]
fn bughouse_mate_on_one_board_ends_the_game() {
    let folder = TempDir::new().expect("a folder");
    let engine = xboard(folder.path(), "fool", FOOLS_MATE);
    let player = format!("xboard:{engine},tc=60+0.5");
    let (games, table) = play(folder.path(), &config(&[player.clone(), player], 2));
    for (number, game) in games.iter().enumerate() {
        assert_eq!((&*game.end, &game.scores[..]), ("checkmate", &[-1, 1][..]), "{game:?}");
        assert!(game.detail.starts_with("WhiteA in "), "{game:?}");
        assert_eq!(game.turns, ["1f2f3", "1e7e5", "1g2g4", "1d8h4"]);
        assert!(game.left.len() == 4 && game.left.iter().all(|left| *left > 30_000), "{game:?}");
        assert_eq!(game.seats, [number, 1 - number]);
    }
    assert!(table.contains("ended by checkmate of fool"), "{table}");
    assert!(table.ends_with("1-0-1\n"), "{table}");
    let found = bpgn::read(&folder.path().join("games.bpgn")).expect("a file");
    assert!(found.errors.is_empty() && found.games.len() == 2, "{:?}", found.errors);
    let variant = variant();
    for (game, played) in found.games.iter().zip(&games) {
        assert_eq!((game.winner(), game.result.as_str()), (Some(Side::BLACK), "0-1"));
        let clocks: Vec<u64> =
            game.moves.iter().map(|m| (m.clock.expect("a clock") * 1e3).round() as u64).collect();
        assert_eq!(clocks, played.left);
        let record = game.record(&variant).expect("it replays");
        assert_eq!((record.winner(), record.clocks.len()), (Some(1), 4));
        let (mut position, mut turns) = (variant.start(), Vec::new());
        for ply in &record.plies {
            let m = PackedMove(ply.played).unpack().expect("a move");
            assert!(position.select_side_to_move(m));
            turns.push(position.move_text(m));
            position.play_unchecked(m);
        }
        assert_eq!(turns, played.turns);
    }
}

#[test]
fn bughouse_book_of_one_board_is_used_for_both() {
    let folder = TempDir::new().expect("a folder");
    let book = folder.path().join("book.epd");
    let line = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR";
    fs::write(
        &book,
        format!("{}[] b KQkq - 1 2\n", line.replace("6Pq/5P2", "6P1/5P2").replace("rnb1", "rnbq")),
    )
    .expect("written");
    let engine = xboard(folder.path(), "mates", "Afirst) echo move d8h4;;");
    let player = format!("xboard:{engine},tc=60+0");
    let config =
        MatchConfig { book: Some(book), plies: None, ..config(&[player.clone(), player], 2) };
    let (games, _) = play(folder.path(), &config);
    assert_eq!(games[0].turns, ["1d8h4"]);
    assert_eq!((&*games[0].end, &games[0].scores[..]), ("checkmate", &[-1, 1][..]));
    let found = bpgn::read(&folder.path().join("games.bpgn")).expect("a file");
    let variant = variant();
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    let record = found.games[0].record(&variant).expect("it replays");
    assert_eq!((record.start.as_str(), record.winner()), (games[0].start.as_str(), Some(1)));
}

#[test]
fn bughouse_first_flag_loses_and_simultaneous_flags_draw() {
    let folder = TempDir::new().expect("a folder");
    let sits = xboard(folder.path(), "sits", "x) ;;");
    let passes = uci(folder.path(), "passes", "echo 'bestmove (pass,pass)'");
    for (number, [first, second]) in [
        [format!("xboard:{sits},tc=0.4+0"), format!("xboard:{sits},tc=0.6+0")],
        [format!("uci:{passes},tc=0.4+0"), format!("xboard:{sits},tc=0.6+0")],
        [format!("uci:{passes},tc=0.3+0,margin=100"), format!("uci:{passes},tc=0.6+0")],
    ]
    .into_iter()
    .enumerate()
    {
        let (games, table) =
            play(&folder.path().join(number.to_string()), &config(&[first, second], 2));
        for (game, seat) in games.iter().zip(["WhiteA in", "WhiteB in"]) {
            assert_eq!(game.end, "time", "{game:?}");
            assert!(game.detail.starts_with(seat), "{game:?}");
            assert!(game.turns.is_empty());
        }
        assert!(table.contains("ended by time of ") && table.ends_with("0-0-2\n"), "{table}");
    }
    let same = format!("xboard:{sits},tc=0.3+0");
    let (games, _) = play(&folder.path().join("same"), &config(&[same.clone(), same], 2));
    for game in games {
        assert_eq!((&*game.end, &game.scores[..]), ("time", &[0, 0][..]), "{game:?}");
    }
}

#[test]
fn bughouse_clock_runs_while_a_player_sits() {
    let folder = TempDir::new().expect("a folder");
    // White on A sits; the players on B play on until a flag of the opponents falls.
    let moves = "Bfirst) echo move g1f3;;\nBg1f3) echo move g8f6;;";
    let engine = xboard(folder.path(), "half", moves);
    let (slow, quick) = (format!("xboard:{engine},tc=3+0"), format!("xboard:{engine},tc=1.5+0"));
    let game = one(&[slow, quick]);
    assert_eq!((&*game.end, &game.scores[..]), ("time", &[1, -1][..]), "{game:?}");
    assert!(game.detail.starts_with("WhiteB in "), "{game:?}");
    assert_eq!(game.turns, ["2g1f3", "2g8f6"]);
}

#[test]
fn bughouse_captures_and_messages_reach_the_partner() {
    let folder = TempDir::new().expect("a folder");
    let moves = "Afirst) echo tellics ptell hello; echo move e2e4;;\nAe2e4) echo move d7d5;;\n\
         Ad7d5) echo move e4d5;;\nBfirst) echo move g1f3;;\nBg1f3) sleep 1; echo move P@e4;;\n\
         Ae4d5) echo tellics ptell lost; sleep 2; echo resign;;";
    let [first, second] = ["one", "two"].map(|name| xboard(folder.path(), name, moves));
    let players =
        [format!("xboard:{first},tc=60+0"), format!("xboard:{second},partner={second},tc=60+0")];
    let game = one(&players);
    assert_eq!((&*game.end, &game.scores[..]), ("resignation", &[1, -1][..]), "{game:?}");
    assert!(game.detail.starts_with("BlackA in "), "{game:?}");
    // The drop is read back.
    assert_eq!(game.turns.last().map(String::as_str), Some("2P@e4"));
    let text = write(&game, &config(&players, 2));
    assert!(text.contains("1b. P@e4{"), "{text}");
    let file = folder.path().join("games.bpgn");
    fs::write(&file, text).expect("written");
    let record = bpgn::read(&file).expect("a file").games[0].record(&variant());
    assert_eq!(record.map(|record| record.plies.len()), Ok(game.turns.len()));
    let log = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a log");
    // Black on B has the pawn, and both players of the board know it.
    for file in ["one.logB", "two.logB"] {
        assert!(log(file).contains("holding [] [P] BP\n"), "{file}: {}", log(file));
        assert!(log(file).contains("time ") && log(file).contains("otim "), "{}", log(file));
    }
    assert!(log("one.logB").contains("ptell hello\n"), "{}", log("one.logB"));
    assert!(log("two.logB").contains("ptell lost\n"), "{}", log("two.logB"));
    assert!(!log("two.logB").contains("hello"));
    assert!(log("one.logA").ends_with("result 1-0 {resignation}\n"), "{}", log("one.logA"));
    assert!(log("one.logB").ends_with("result 0-1 {resignation}\n"), "{}", log("one.logB"));
}

#[test]
fn bughouse_drawn_board_receives_no_messages() {
    let folder = TempDir::new().expect("a folder");
    let moves = "Afirst|Af6g8) echo move g1f3;;\nAg1f3) echo move g8f6;;\nAg8f6) echo move f3g1;;\n\
         Af3g1) echo move f6g8;;";
    let engine = xboard(folder.path(), "shuffles", moves);
    let player = format!("xboard:{engine},tc=3+0");
    let game = one(&[player.clone(), player]);
    // No moves are played on B, where the time of White runs out; no clock runs on A any more.
    assert_eq!((&*game.end, game.turns.len()), ("time", 8), "{game:?}");
    assert!(game.detail.starts_with("WhiteB in "), "{game:?}");
    let log = fs::read_to_string(folder.path().join("shuffles.logA")).expect("a log");
    assert_eq!(log.matches("result 1/2-1/2").count(), 2, "{log}");
}

#[test]
fn bughouse_uci_team_searches_again_after_each_ply() {
    let folder = TempDir::new().expect("a folder");
    // It thinks until `stop`, and its answer is ignored; then it plays.
    let cases = "uci) echo option name Team type combo default white var white var black; echo uciok;;\n\
         isready) echo readyok;;\nposition) echo \"$rest\" >> asked; position=$rest;;\n\
         go) echo \"$rest\" >> limits; case $position in *2e2e4*) echo 'bestmove (d2d4,e7e5)';; esac;;\n\
         stop) echo 'bestmove (a2a3,pass)';;\nquit) exit;;";
    let cd = format!("cd {}", folder.path().display());
    let team = script(folder.path(), "team", &cd, cases);
    let moves = "Bfirst) sleep 0.2; echo move e2e4;;\nAd2d4) sleep 0.1; echo resign;;";
    let other = xboard(folder.path(), "other", moves);
    let players = [format!("uci:{team},tc=20+1"), format!("xboard:{other},tc=10+0")];
    let game = one(&players);
    assert_eq!(game.turns, ["2e2e4", "1d2d4", "2e7e5"], "{game:?}");
    assert_eq!(game.scores, [1, -1]);
    let limits = fs::read_to_string(folder.path().join("limits")).expect("it was asked");
    let first = limits.lines().next().expect("a line");
    for part in ["wtime ", " winc 1000 ", " btime ", " wtime2 ", " btime2 ", " binc2 1000"] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert!(!first.contains("winc2"), "{first}");
}

#[test]
fn bughouse_faults_lose_the_game() {
    for (number, (first, end, words)) in [
        ("xboard", "Afirst) echo move e2e5;;", "illegal move", "WhiteA \"e2e5\" in "),
        (
            "xboard",
            "Afirst) echo move e2e4; echo move d2d4;;",
            "illegal move",
            "WhiteA \"d2d4\" in ",
        ),
        ("xboard", "Afirst) exit;;", "crash", "WhiteA the engine "),
        ("xboard", "Afirst) echo resign;;", "resignation", "WhiteA in "),
        ("xboard", "Afirst) echo 'Illegal move: e7e5';;", "illegal move", "Illegal move: e7e5"),
        ("uci", "echo 'bestmove (e2e5,pass)'", "illegal move", "WhiteA \"e2e5\" in "),
        ("uci", "echo 'bestmove e2e4'", "illegal move", "bestmove e2e4"),
        ("uci", "exit", "crash", "bestmove"),
    ]
    .map(|(kind, cases, end, words)| ((kind, cases), end, words))
    .into_iter()
    .enumerate()
    {
        let folder = TempDir::new().expect("a folder");
        let (kind, cases) = first;
        let wrong = match kind {
            "uci" => uci(folder.path(), "wrong", cases),
            _ => xboard(folder.path(), "wrong", cases),
        };
        let sits = xboard(folder.path(), "sits", "x) ;;");
        let players = [format!("{kind}:{wrong},tc=30+0"), format!("xboard:{sits},tc=30+0")];
        let game = one(&players);
        assert_eq!((&*game.end, &game.scores[..]), (end, &[-1, 1][..]), "{number}: {game:?}");
        assert!(game.detail.contains(words), "{number}: {game:?}");
        let config = config(&players, 2);
        let schedule = MatchSchedule::new(&config);
        let table = table::table(&schedule, None, std::slice::from_ref(&game));
        assert!(table.contains(&format!("ended by {end} of wrong")), "{table}");
        let text = write(&game, &config);
        let file = folder.path().join("games.bpgn");
        fs::write(&file, text).expect("written");
        let found = bpgn::read(&file).expect("a file");
        assert_eq!(found.games[0].winner(), Some(Side::BLACK), "{number}: {game:?}");
    }
}

#[test]
fn bughouse_match_continues_after_a_cut() {
    let folder = TempDir::new().expect("a folder");
    let engine = xboard(folder.path(), "fool", FOOLS_MATE);
    let player = format!("xboard:{engine},tc=60+0");
    let whole = config(&[player.clone(), player], 4);
    let (games, _) = play(folder.path(), &MatchConfig { games: 2, ..whole.clone() });
    let file = folder.path().join("games.csv");
    let text = fs::read(&file).expect("a file");
    fs::write(&file, &text[..text.len() - 3]).expect("written");
    let arena = Arena::open(folder.path(), whole.clone()).expect("opened");
    assert_eq!(arena.done(), 1);
    drop(arena);
    let (again, _) = play(folder.path(), &whole);
    assert_eq!((again.len(), &again[0]), (4, &games[0]));
}

#[test]
fn bughouse_rejects_unsuitable_players() {
    let folder = TempDir::new().expect("a folder");
    let refused = |variant: &str, players: [&str; 2]| {
        let players = players.map(str::to_owned);
        let config = MatchConfig { variant: variant.to_owned(), ..config(&players, 2) };
        Arena::open(&folder.path().join("none"), config).expect_err("refused").to_string()
    };
    for (variant, players, words) in [
        ("bughouse2", ["uci:e,tc=5+0", "random"], "not for random"),
        ("bughouse2", ["uci:e,tc=5+0", "xboard:e,movetime=5000"], "not for xboard:e,movetime=5000"),
        ("bughouse2", ["xboard:e,depth=5", "random"], "need a clock"),
        ("bughouse2fixed", ["uci:e,tc=5+0", "uci:e,tc=5+0"], "fixed order of moves"),
    ] {
        let error = refused(variant, players);
        assert!(error.contains(words), "{error}");
    }
    // Without clocks the teams take turns.
    let players = ["uniform:visits=8".to_owned(), "random".to_owned()];
    let (games, _) = play(&folder.path().join("turns"), &config(&players, 2));
    assert!(games.len() == 2 && games.iter().all(|game| game.left.is_empty()));
}

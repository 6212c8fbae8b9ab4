//! Replays of what reconchess 1.6.9 wrote.

use std::fs;

use menagerie::rules::Square;
use menagerie::rules::rbc::Truth;
use menagerie_rbc::{GameHistory, check_files, check_text};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn golden_files() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/rbc");
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<String> =
        entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect();
    files.sort();
    files
}

/// A short game.
const GAME: &str = include_str!("../../../tests/golden/rbc/02_AttackerBot_vs_RandomBot_03.json");

fn change_game(from: &str, to: &str) -> String {
    assert!(GAME.contains(from), "{from}");
    GAME.replacen(from, to, 1)
}

/// Plays random requests to the end of the game.
fn random_history(seed: u64) -> GameHistory {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut truth = Truth::default();
    let mut history = GameHistory::default();
    while truth.end().is_none() {
        let color = truth.turn();
        let square = Some(Square::new(rng.random_range(0..64)));
        history.add_sense(color, square, truth.sense(square));
        let requests = truth.requests();
        let request = requests.get(rng.random_range(0..=requests.len())).copied();
        let before = truth.fen();
        let played = truth.play(request).expect("one of the requests");
        history.add_move(color, played, before, truth.fen());
    }
    history.set_end(truth.end());
    history
}

#[test]
fn check_agrees_with_reconchess() {
    let report = check_files(&golden_files());
    assert_eq!(report.lines, ["games 19 moves 1707 cases 11664 differences 0"]);
    assert!(report.passed);
}

#[test]
fn check_reports_every_difference() {
    for (from, to, expected) in [
        (
            "\"value\": \"c4f7\"",
            "\"value\": \"c4f8\"",
            "turn 4 of white: taken: ours c4f8 may not be requested, theirs c4f7",
        ),
        ("null, null, null, 53, 60", "null, null, null, 53, 61", "captured: ours e8, theirs f8"),
        (
            "KING_CAPTURE",
            "MOVE_LIMIT",
            "won by white (KING_CAPTURE), theirs won by white (MOVE_LIMIT)",
        ),
        ("[22, null]", "[22, {\"type\": \"Piece\", \"value\": \"Q\"}]", "sensed: ours g3=."),
        ("\"winner_color\": true", "\"winner_color\": false", "theirs won by black"),
    ] {
        let report = check_text("game", &change_game(from, to));
        assert!(!report.passed);
        let lines = &report.lines;
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
        let totals = lines.last().expect("totals");
        assert!(totals.starts_with("games 1 moves 9 cases 0 differences "), "{totals}");
    }
}

#[test]
fn check_reports_histories_that_cannot_be_read() {
    for (from, to) in [
        ("\"value\": \"c4f7\"", "\"value\": \"c4z7\""),
        ("\"true\": [15, 31", "\"true\": [15, 64"),
        ("\"true\": [15, 31, 0", "\"true\": [15, 31"),
        ("\"white_name\": \"AttackerBot\"", "\"white_name\": 3"),
        ("\"value\": \"KING_CAPTURE\"", "\"value\": \"BOREDOM\""),
        ("{\"type\": \"GameHistory\"", "["),
        (
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w",
            "rnbqkbnr/pppppppp/9/8/8/8/PPPPPPPP/RNBQKBNR w",
        ),
    ] {
        let report = check_text("game", &change_game(from, to));
        assert!(!report.passed, "{to}");
        assert!(report.lines[0].starts_with("game: cannot be read: "), "{:?}", report.lines);
    }
    for text in ["", "{}", "nothing", "[3]", "{\"cases\": 3}", "{\"fen\": \"x\", \"cases\": []}"] {
        assert!(!check_text("text", text).passed, "{text}");
    }
    assert!(!check_files(&["no such file".to_owned()]).passed);
}

#[test]
fn check_reports_differences_of_cases() {
    let line =
        r#"{"fen": "4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "cases": [["a7a8", "a7a8r", null, ""]]}"#;
    let report = check_text("cases", line);
    assert_eq!(report.lines.last().expect("totals"), "games 0 moves 0 cases 1 differences 2");
}

#[test]
fn check_reports_lines_of_the_file() {
    let valid = "{\"fen\": \"4k3/8/8/8/8/8/8/4K3 w - - 0 1\",\n\"cases\": []}\n";
    let invalid = "{\"fen\": \"x\", \"cases\": []}";
    for (text, line) in [
        (invalid.to_owned(), 1),
        (format!("{invalid}\n{valid}"), 1),
        (format!("\r\n\n{valid}\n{invalid}"), 6),
        (format!("{valid}{valid}{invalid}{valid}"), 5),
    ] {
        let lines = check_text("cases", &text).lines;
        let expected = format!("cases: line {line}: cannot be read: ");
        assert!(lines[0].starts_with(&expected) && lines.len() == 2, "{expected}: {lines:#?}");
    }
    let lines = check_text("cases", &format!("\n{valid}\n[")).lines;
    assert!(lines[0].ends_with(" at line 5 column 1"), "{lines:#?}");
}

#[test]
fn check_compares_lists_with_games() {
    let mut files = golden_files();
    let list = files.iter().find(|file| file.ends_with("INDEX.json")).expect("a list").clone();
    assert!(check_files(std::slice::from_ref(&list)).passed, "games may be missing");

    let text = fs::read_to_string(list).expect("it can be read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let changed = folder.path().join("list.json");
    fs::write(&changed, text.replacen("\"moves\": 9,", "\"moves\": 10,", 1)).expect("written");
    files.push(changed.display().to_string());
    let report = check_files(&files);
    assert_eq!(report.lines.len(), 2, "{:?}", report.lines);
    assert!(report.lines[0].ends_with("moves: ours 9, theirs 10"), "{:?}", report.lines);
}

#[test]
fn check_accepts_random_games() {
    for seed in 0..60 {
        let report = check_text("game", &random_history(seed).to_json().to_string());
        assert!(report.passed, "{:?}", report.lines);
    }
}

#[test]
fn history_is_written_as_it_was_read() {
    let files = golden_files();
    for file in files.iter().filter(|file| file.ends_with(".json") && !file.contains("INDEX")) {
        let text = fs::read_to_string(file).expect("it can be read");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let history = GameHistory::from_json(&value).expect("a history");
        assert_eq!(history.to_json(), value, "{file}");
    }
}

proptest! {
    #[test]
    fn check_refuses_any_text(text in ".{0,200}") {
        prop_assert!(!check_text("text", &text).passed);
    }
}

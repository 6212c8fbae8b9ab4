//! Blind chess against what the reference program, reconchess 1.6.9, wrote down.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use menagerie::engine::Adviser;
use menagerie::protocol::rbc::{GameHistory, Players, check, check_text};
use menagerie::protocol::run_rbc;
use menagerie::recon::{Player, Preset, Settings, Weighing};
use menagerie::rules::blind::{
    Clocks, Request, Step, Taken, Truth, WinReason, attackers, steps, window,
};
use menagerie::rules::{Bitboard, ByColor, Color, Square};
use menagerie::variant::Catalogue;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn golden() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/rbc");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<String> =
        entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect();
    files.sort();
    files
}

#[test]
fn the_reference_programs_games_and_cases_are_ours() {
    let checked = check(&golden());
    assert_eq!(checked.lines, ["games 19 moves 1707 cases 11664 differences 0"]);
    assert!(checked.same);
}

#[test]
fn whatever_is_changed_is_told() {
    let text = include_str!("../golden/rbc/02_AttackerBot_vs_RandomBot_03.json");
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        check_text("game", &text.replacen(from, to, 1))
    };
    for (from, to, words) in [
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
        let checked = told(from, to);
        assert!(!checked.same);
        assert!(checked.lines.iter().any(|line| line.contains(words)), "{:#?}", checked.lines);
        let last = checked.lines.last().expect("sums");
        assert!(last.starts_with("games 1 moves 9 cases 0 differences "), "{last}");
    }
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
        let checked = told(from, to);
        assert!(!checked.same, "{to}");
        assert!(checked.lines[0].starts_with("game: cannot be read: "), "{:?}", checked.lines);
    }
    let line =
        r#"{"fen": "4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "cases": [["a7a8", "a7a8r", null, ""]]}"#;
    let checked = check_text("cases", line);
    assert_eq!(checked.lines.last().expect("sums"), "games 0 moves 0 cases 1 differences 2");
    for text in ["", "{}", "nothing", "[3]", "{\"cases\": 3}", "{\"fen\": \"x\", \"cases\": []}"] {
        assert!(!check_text("text", text).same, "{text}");
    }
    assert!(!check(&["no such file".to_owned()]).same);
}

#[test]
fn lists_of_files_are_compared_with_the_games() {
    let list = golden().into_iter().find(|file| file.ends_with("INDEX.json")).expect("a list");
    assert!(check(std::slice::from_ref(&list)).same, "games that were not given are not missed");
    let text = std::fs::read_to_string(list).expect("it can be read");
    let changed = text.replacen("\"moves\": 9,", "\"moves\": 10,", 1);
    let file = std::env::temp_dir().join(format!("menagerie-{}-list.json", std::process::id()));
    std::fs::write(&file, changed).expect("a temporary file");
    let mut files = golden();
    files.push(file.display().to_string());
    let checked = check(&files);
    std::fs::remove_file(&file).expect("it is there");
    assert_eq!(checked.lines.len(), 2, "{:?}", checked.lines);
    assert!(checked.lines[0].ends_with("moves: ours 9, theirs 10"), "{:?}", checked.lines);
}

#[test]
fn histories_are_written_as_they_are_read() {
    for file in golden().iter().filter(|file| file.ends_with(".json") && !file.contains("INDEX")) {
        let text = std::fs::read_to_string(file).expect("it can be read");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let history = GameHistory::from_json(&value).expect("a history");
        assert_eq!(history.to_json(), value, "{file}");
    }
}

/// A game of random requests, written down; calls `each` at every turn.
fn random_game(seed: u64, mut each: impl FnMut(&Truth)) -> GameHistory {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut truth, mut history) = (Truth::default(), GameHistory::default());
    while truth.end().is_none() {
        each(&truth);
        let color = truth.turn();
        let center = Some(Square::new(rng.random_range(0..64)));
        history.note_sense(color, center, truth.sense(center));
        let requests = truth.requests();
        let request = requests.get(rng.random_range(0..=requests.len())).copied();
        let before = truth.fen();
        let played = truth.play(request).expect("it may be requested");
        history.note_move(color, played, before, truth.fen());
    }
    history.note_end(truth.end());
    history
}

#[test]
fn every_request_becomes_a_step_and_every_step_is_requested() {
    for seed in 0..60 {
        let history = random_game(seed, |truth| {
            let (color, mut all) = (truth.turn(), Vec::new());
            let (own, theirs) = (truth.army(color), truth.army(!color));
            let passed = theirs.passed(!color);
            steps(own, color, theirs.occupied(), passed, Bitboard::FULL, &mut all);
            let key = |taken: Taken| (taken.step, taken.capture);
            let made: BTreeSet<(Request, Option<Square>)> =
                all.iter().map(|step: &Step| key(step.taken())).collect();
            assert_eq!(made.len(), all.len(), "{}: a step is there twice", truth.fen());
            let requests = truth.requests().into_iter();
            let taken: BTreeSet<_> = requests
                .filter_map(|request| truth.take(Some(request)).expect("it may be requested"))
                .map(key)
                .collect();
            assert_eq!(made, taken, "{}", truth.fen());
            for step in all {
                let (mut mover, mut other) = (*own, *theirs);
                mover.make(color, Some(step.taken()), &mut other);
                assert_eq!(step.after(own, color), mover, "{}", truth.fen());
            }
            assert_eq!(Truth::from_fen(&truth.fen()).expect("a FEN").fen(), truth.fen());
        });
        let checked = check_text("game", &history.to_json().to_string());
        assert!(checked.same, "{:?}", checked.lines);
    }
}

#[test]
fn time_outranks_a_king_that_was_taken() {
    let clocks = Clocks { left: ByColor { white: 1000, black: 500 }, increment: 5 };
    let mut truth =
        Truth::from_fen("4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1").expect("a FEN").with_clocks(clocks);
    truth.play(Some(Request::new(Square::E7, Square::E8))).expect("it may be requested");
    let end = truth.end().expect("the king is gone");
    assert_eq!((end.winner, end.reason), (Some(Color::White), WinReason::KingCapture));
    truth.spend(Color::White, 1005);
    let end = truth.end().expect("time is up");
    assert_eq!((end.winner, end.reason), (Some(Color::Black), WinReason::Timeout));
    let mut truth = Truth::default().with_turn_limit(1);
    for _ in 0..2 {
        assert_eq!(truth.end(), None);
        truth.play(None).expect("anybody may pass");
    }
    assert_eq!(truth.end().map(|end| end.reason), Some(WinReason::TurnLimit));
    truth.resign(Color::White);
    assert_eq!(truth.end().map(|end| end.winner), Some(Some(Color::Black)));
}

#[test]
fn what_may_not_be_requested_changes_nothing() {
    let mut truth = Truth::default();
    for text in ["e2e5", "e7e5", "e1g1", "a1a2", "e4e5", "e2e3q"] {
        let request = text.parse().expect("a move");
        let error = truth.play(Some(request)).expect_err("it may not be requested");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(truth, Truth::default());
    }
    // Men of the other side are not known of.
    truth.play(Some(Request::new(Square::E2, Square::F3))).expect("it may be requested");
}

#[test]
fn windows_are_clipped() {
    assert_eq!(window(Square::A1).count(), 4);
    assert_eq!(window(Square::A4).count(), 6);
    assert_eq!(window(Square::B7).count(), 9);
    let truth = Truth::default();
    assert!(truth.sense(None).is_empty());
    let seen: String =
        truth.sense(Some(Square::H8)).iter().map(|(square, _)| square.to_string()).collect();
    assert_eq!(seen, "g8h8g7h7");
    let rook = attackers(truth.army(Color::Black), Color::Black, Square::H7, Bitboard::EMPTY);
    assert_eq!(rook, Bitboard::from(Square::H8));
}

/// What is said when these lines are obeyed.
fn talk(lines: &str) -> Vec<String> {
    talk_with(lines, &[])
}

/// The same with options of the player.
fn talk_with(lines: &str, more: &[(&str, &str)]) -> Vec<String> {
    #[derive(Clone, Default)]
    struct Said(Arc<Mutex<Vec<u8>>>);
    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panicked").extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let said = Said::default();
    let options = [("turn", "40"), ("boards", "2000")].iter().chain(more);
    let options: Vec<_> =
        options.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let players = Players::read(&options).expect("options that there are");
    let input = Cursor::new(lines.to_owned().into_bytes());
    run_rbc(input, said.clone(), &players).expect("threads can be started");
    let bytes = said.0.lock().expect("nobody panicked").clone();
    String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn a_game_can_be_played_by_lines() {
    let said = talk(
        "rbc\nisready\n\
         newgame black X rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n\
         oppmove -\ngosense 900000\nsenseresult d4=. e4=P\ngomove 900000\n\
         moveresult e7e5 e7e5 -\noppmove e5\ngosense 100\nsenseresult -\ngomove 0\n\
         gameover white KING_CAPTURE\nquit\n",
    );
    let first: Vec<&str> = said.iter().map(|line| line.split(' ').next().unwrap_or("")).collect();
    let wanted = [
        "id", "rbcok", "info", "readyok", "info", "sense", "info", "move", "info", "sense", "info",
        "move",
    ];
    assert_eq!(first, wanted, "{said:#?}");
    assert_eq!(said[4], "info boards 21 exact");
    assert_eq!(said[6], "info boards 1 exact");
}

#[test]
fn a_network_tells_what_is_played_on_boards() {
    let (adviser, notes) = Adviser::open(Catalogue::shipped(), "blindboard", "");
    let mut adviser = adviser.unwrap_or_else(|| panic!("{notes:?}"));
    let castles = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1".to_owned();
    let [policy] = &adviser.policies(&[castles]).expect("a board")[..] else { panic!("one board") };
    // Castling is written as it is requested.
    for text in ["e1g1", "e1c1", "h1h8"] {
        let (_, chance) = policy.iter().find(|(known, _)| known == text).expect(text);
        assert!((0.0..1.0).contains(chance), "{text}: {chance}");
    }
    let whole: f32 = policy.iter().map(|(_, chance)| chance).sum();
    assert!((whole - 1.0).abs() < 1e-4, "{whole}");
    let error = adviser.policies(&["no board".to_owned()]).expect_err("no FEN");
    assert!(error.contains("\"no board\""), "{error}");
    let (adviser, notes) = Adviser::open(Catalogue::shipped(), "no such game", "");
    assert!(adviser.is_none() && notes[0].contains("no such game"), "{notes:?}");
}

#[test]
fn a_network_is_named_and_its_absence_does_no_harm() {
    let game = "isready\nnewgame black X rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n\
                oppmove -\ngosense 900000\nsenseresult -\ngomove 900000\n";
    let said = talk_with(game, &[]);
    assert!(said[0].starts_with("info blindboard: network nets/blindboard"), "{said:?}");
    assert_eq!(said[1], "readyok");
    assert_eq!(said[2], "info boards 21 exact");
    assert!(said.last().is_some_and(|line| line.starts_with("move ")), "{said:?}");
    let said = talk_with(game, &[("weights", "habits")]);
    assert_eq!(said[0], "readyok", "nobody asks for one");
    // It is said once, and also to those who begin at once.
    let begin = "newgame white X 4k3/8/8/8/8/8/8/K3R3 w - - 0 1\n";
    let said = talk_with(&format!("{begin}isready\n{begin}"), &[]);
    assert!(said[0].starts_with("info blindboard: network "), "{said:?}");
    assert_eq!(said[1..], ["readyok"]);
    let said = talk_with(game, &[("weights", "network"), ("network", "no/such/file.onnx")]);
    assert!(said[0].starts_with("info ") && said[0].contains("no/such/file.onnx"), "{said:?}");
    assert!(said.last().is_some_and(|line| line.starts_with("move ")), "{said:?}");
}

#[test]
fn the_papers_player_votes_by_simulations() {
    let (adviser, notes) = Adviser::open(Catalogue::shipped(), "blindboard", "");
    let mut adviser = adviser.unwrap_or_else(|| panic!("{notes:?}"));
    let king = "4k3/8/8/8/8/8/8/4R1K1 w - - 0 1";
    assert_eq!(adviser.best(king, 32), Ok(Some("e1e8".to_owned())));
    let error = adviser.best("no board", 32).expect_err("no FEN");
    assert!(error.contains("\"no board\""), "{error}");

    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let players = Players::read(&[option("preset", "paper"), option("simulations", "64")]);
    let players = players.expect("such options");
    assert!(players.is_complete(), "{:?}", players.notes());
    let queen = Truth::from_fen("4k3/8/8/3q4/8/8/8/3R2K1 w - - 0 1").expect("a FEN");
    let mut player = players.player(&queen, Color::White, 1);
    let left = Duration::from_secs(900);
    let center = player.sense(left);
    player.sensed(&queen.sense(Some(center)));
    assert_eq!(player.request(left), Some(Request::new(Square::D1, Square::D5)));
    let error = Players::read(&[option("simulations", "many")]).expect_err("no number");
    assert!(error.contains("\"many\""), "{error}");
}

/// Plays White against a king that walks to and fro; tells the most often that White's men stood alike.
fn most_alike(fen: &str, [here, there]: [Square; 2], turns: usize) -> usize {
    let mut truth = Truth::from_fen(fen).expect("a FEN");
    let settings = Settings {
        weighing: Weighing::Habits,
        samples: 64,
        depth: 2,
        turn: Duration::from_secs(60),
        ..Preset::Best.settings()
    };
    let left = Duration::from_secs(100_000);
    let mut player = Player::new(settings, &truth, Color::White, 1);
    let mut stood: Vec<[u64; 3]> = Vec::new();
    for _ in 0..turns {
        let center = player.sense(left);
        player.sensed(&truth.sense(Some(center)));
        let request = player.request(left);
        let played = truth.play(request).expect("it may be requested");
        player.moved(played.requested, played.taken, played.capture);
        stood.push(truth.army(Color::White).planes());
        let king = truth.army(Color::Black).king();
        let walks =
            Request::new(king.unwrap_or(here), if king == Some(here) { there } else { here });
        if truth.end().is_some() || !truth.requests().contains(&walks) {
            break;
        }
        let played = truth.play(Some(walks)).expect("it may be requested");
        player.heard(played.capture);
    }
    let alike = |men: &[u64; 3]| stood.iter().filter(|other| *other == men).count();
    stood.iter().map(alike).max().unwrap_or(0)
}

#[test]
fn a_check_that_is_always_answered_is_not_given_for_ever() {
    // A queen gave check from e5 and f5 in turn until the game was a draw.
    let fen = "rnbqkbnr/pp3ppp/2p5/3N1Q2/3pP3/8/PPPP1PPP/R1B1KBNR w KQ - 0 1";
    let most = most_alike(fen, [Square::E8, Square::D7], 40);
    assert!(most <= 8, "{most} times");
}

/// The first requests of a player of White against somebody who passes.
fn beginning(seed: u64) -> Vec<Option<Request>> {
    let mut truth = Truth::default();
    let best = Preset::Best.settings();
    let settings = Settings { weighing: Weighing::Habits, samples: 16, depth: 1, ..best };
    let left = Duration::from_secs(100_000);
    let mut player = Player::new(settings, &truth, Color::White, seed);
    let turn = |_| {
        let center = player.sense(left);
        player.sensed(&truth.sense(Some(center)));
        let request = player.request(left);
        let played = truth.play(request).expect("it may be requested");
        player.moved(played.requested, played.taken, played.capture);
        truth.play(None).expect("a pass");
        player.heard(None);
        request
    };
    (0..3).map(turn).collect()
}

#[test]
fn who_asks_for_what_is_as_good_does_not_always_ask_for_the_same() {
    let games: BTreeSet<_> = (0..8).map(beginning).collect();
    assert!(games.len() > 1, "{games:?}");
    assert_eq!(beginning(5), beginning(5));
}

#[test]
fn a_king_that_can_be_taken_is_taken() {
    let said = talk(
        "newgame white X 4k3/8/8/8/8/8/8/K3R3 w - - 0 1\ngosense 9000\nsenseresult -\ngomove 9000\n",
    );
    assert_eq!(said.last().map(String::as_str), Some("move e1e8"));
}

#[test]
fn a_pawn_becomes_a_knight_where_that_is_best() {
    let said = talk(
        "newgame white X 8/q1P1k3/8/8/8/8/8/7K w - - 0 1\ngosense 9000\nsenseresult -\ngomove 9000\n",
    );
    assert_eq!(said.last().map(String::as_str), Some("move c7c8n"), "it forks king and queen");
}

#[test]
fn hostile_lines_are_refused_in_words_that_quote_them() {
    let talk = |lines: &str| talk_with(lines, &[("weights", "habits")]);
    let start = "newgame white X rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    for (line, quote) in [
        ("fly me", "\"fly\""),
        ("newgame green X 8/8/8/8/8/8/8/8 w - - 0 1", "\"green\""),
        ("newgame white X 8/8/8/8/8/8/8/8 w - - 0 1", "has no king"),
        ("newgame white X rubbish", "\"rubbish\""),
        ("oppmove z9", "\"z9\""),
        ("oppmove e5", "\"e5\""),
        ("oppmove e1", "\"e1\""),
        ("gosense soon", "\"soon\""),
        ("senseresult e2", "\"e2\""),
        ("senseresult e2=p", "\"e2\""),
        ("gomove", "milliseconds"),
        ("moveresult e2e4 d2d4 -", "cannot have happened"),
        ("moveresult a1h8 0000 -", "cannot have happened"),
        ("moveresult e1g1 e1g1 -", "cannot have happened"),
        ("moveresult g1f3 g1f3 e2", "cannot have happened"),
        ("moveresult 0000 e2e4 -", "cannot have happened"),
    ] {
        let said = talk(&format!("{start}\n{line}\ngosense 50\n"));
        assert!(said[0].starts_with("info error "), "{line}: {said:?}");
        assert!(said[0].contains(quote), "{line}: {said:?}");
        assert_eq!(said[1], "info boards 1 exact", "{line}: nothing has changed");
    }
    assert!(talk("gosense 50\n")[0].contains("no game has begun"));
    // What can be but is not what the rules say leaves it playing.
    let said = talk(&format!(
        "{start}\nsenseresult e7=Q a8=.\nmoveresult e2e4 e2e3 -\noppmove e3\noppmove -\n\
         senseresult e2=q\ngosense 50\ngomove 50\n"
    ));
    assert!(said.last().is_some_and(|line| line.starts_with("move ")), "{said:?}");
    assert!(said.iter().any(|line| line.ends_with(" repaired")), "{said:?}");
    for (name, value) in [("boards", "0"), ("turn", "soon"), ("sense", "smell"), ("colour", "red")]
    {
        let error =
            Players::read(&[(name.to_owned(), value.to_owned())]).expect_err("no such option");
        assert!(error.contains(name), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_harms_the_check(text in ".{0,200}") {
        prop_assert!(!check_text("text", &text).same);
    }

    #[test]
    fn requests_are_read_as_they_are_written(text in "[a-h0-9qrbnkp]{0,6}") {
        match text.parse::<Request>() {
            Ok(request) => prop_assert_eq!(request.to_string(), text),
            Err(error) => prop_assert!(error.contains(&text)),
        }
    }
}

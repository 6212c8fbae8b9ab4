//! Conversations by the line protocol, in this process.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use menagerie_rbc::{PlayerOptions, run_line_protocol};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// Output that is kept in memory.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the answers to `lines` of a player with these options that moves fast.
fn answers_with(lines: &str, options: &[(&str, &str)]) -> Vec<String> {
    let fast = [("turn", "40"), ("boards", "2000")];
    let options = fast.into_iter().chain(options.iter().copied());
    let players = PlayerOptions::from_pairs(options).expect("valid options").players();
    let output = SharedBuffer::default();
    let input = Cursor::new(lines.to_owned().into_bytes());
    run_line_protocol(input, output.clone(), &players).expect("threads can be started");
    let bytes = output.0.lock().expect("no panic").clone();
    String::from_utf8(bytes).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// The options of a player that opens no network.
const WITHOUT_NETWORK: [(&str, &str); 2] = [("weights", "habits"), ("nodes", "0")];

fn answers(lines: &str) -> Vec<String> {
    answers_with(lines, &[])
}

#[test]
fn line_protocol_plays_a_game() {
    let answers = answers(&format!(
        "rbc\nisready\nnewgame black X {START}\n\
         oppmove -\ngosense 900000\nsenseresult d4=. e4=P\ngomove 900000\n\
         moveresult e7e5 e7e5 -\noppmove e5\ngosense 100\nsenseresult -\ngomove 0\n\
         gameover white KING_CAPTURE\nquit\n"
    ));
    let first_words: Vec<&str> =
        answers.iter().map(|line| line.split(' ').next().unwrap_or("")).collect();
    let expected = [
        "id", "rbcok", "info", "info", "info", "readyok", "info", "sense", "info", "move", "info",
        "sense", "info", "move",
    ];
    assert_eq!(first_words, expected, "{answers:#?}");
    assert_eq!(answers[6], "info boards 21 exact");
    assert_eq!(answers[8], "info boards 1 exact");
}

#[test]
fn line_protocol_captures_the_king() {
    let answers = answers(
        "newgame white X 4k3/8/8/8/8/8/8/K3R3 w - - 0 1\ngosense 9000\nsenseresult -\ngomove 9000\n",
    );
    assert_eq!(answers.last().map(String::as_str), Some("move e1e8"));
}

#[test]
fn line_protocol_promotes_to_a_knight_where_it_forks() {
    let answers = answers(
        "newgame white X 8/q1P1k3/8/8/8/8/8/7K w - - 0 1\ngosense 9000\nsenseresult -\ngomove 9000\n",
    );
    assert_eq!(answers.last().map(String::as_str), Some("move c7c8n"));
}

#[test]
fn line_protocol_shows_the_network_once() {
    let game = format!(
        "isready\nnewgame black X {START}\noppmove -\ngosense 900000\nsenseresult -\ngomove 900000\n"
    );
    let with_network = answers(&game);
    assert!(
        with_network[0].starts_with("info blindboard: network nets/blindboard"),
        "{with_network:?}"
    );
    assert_eq!(with_network[1], "info blindboard: using the chess network");
    assert!(with_network[2].starts_with("info blindboard: network nets/chess"), "{with_network:?}");
    assert_eq!(with_network[3], "readyok");
    assert_eq!(with_network[4], "info boards 21 exact");
    assert!(with_network.last().is_some_and(|line| line.starts_with("move ")), "{with_network:?}");

    let without_network = answers_with(&game, &WITHOUT_NETWORK);
    assert_eq!(without_network[0], "readyok");

    let begin = "newgame white X 4k3/8/8/8/8/8/8/K3R3 w - - 0 1\n";
    let begun_at_once = answers(&format!("{begin}isready\n{begin}"));
    assert!(begun_at_once[0].starts_with("info blindboard: network "), "{begun_at_once:?}");
    assert_eq!(begun_at_once[3..], ["readyok"]);

    let missing = answers_with(&game, &[("weights", "network"), ("network", "no/such/file.onnx")]);
    assert!(missing[0].starts_with("info "), "{missing:?}");
    assert!(missing[0].contains("no/such/file.onnx"), "{missing:?}");
    assert!(missing.last().is_some_and(|line| line.starts_with("move ")), "{missing:?}");
}

/// A search of all captures would not end in a reasonable time.
#[test]
fn line_protocol_answers_in_time_on_a_crowded_board() {
    let fen = "kPpb2r1/r2Q1qQK/q1pRBNqN/1rB1Nq2/1b2p1RN/1B2P1rB/1B1Qr1b1/4Q2r w - - 0 1";
    let lines = format!("newgame black x {fen}\noppmove -\ngosense 0\ngomove 0\nquit\n");
    let begin = Instant::now();
    let answers = answers_with(&lines, &WITHOUT_NETWORK);
    assert!(answers.last().is_some_and(|line| line.starts_with("move ")), "{answers:?}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn line_protocol_quotes_lines_that_it_refuses() {
    for (line, quote) in [
        ("fly me", "\"fly\""),
        ("newgame green X 8/8/8/8/8/8/8/8 w - - 0 1", "\"green\""),
        ("newgame white X 8/8/8/8/8/8/8/8 w - - 0 1", "has no king"),
        ("newgame white X rubbish", "\"rubbish\""),
        ("newgame white", "\"newgame white\", expected: newgame COLOR OPPONENT FEN"),
        ("oppmove z9", "\"z9\""),
        ("oppmove e5", "\"e5\""),
        ("oppmove e1", "\"e1\""),
        ("oppmove", "\"oppmove\", expected: oppmove SQUARE|-"),
        ("gosense soon", "\"soon\""),
        ("senseresult e2", "\"e2\""),
        ("senseresult e2=p", "\"e2\""),
        ("gomove 1 2", "\"gomove 1 2\", expected: gomove MILLISECONDS"),
        ("moveresult e2e4", "\"moveresult e2e4\", expected: moveresult REQUESTED TAKEN CAPTURE"),
        ("moveresult e2e9 0000 -", "\"e2e9\""),
        ("moveresult e2e4 d2d4 -", "impossible"),
        ("moveresult a1h8 0000 -", "impossible"),
        ("moveresult e1g1 e1g1 -", "impossible"),
        ("moveresult g1f3 g1f3 e2", "impossible"),
        ("moveresult 0000 e2e4 -", "impossible"),
    ] {
        let lines = format!("newgame white X {START}\n{line}\ngosense 50\n");
        let answers = answers_with(&lines, &WITHOUT_NETWORK);
        assert!(answers[0].starts_with("info error "), "{line}: {answers:?}");
        assert!(answers[0].contains(quote), "{line}: {answers:?}");
        assert_eq!(answers[1], "info boards 1 exact", "{line}: nothing has changed");
    }
    assert!(answers("gosense 50\n")[0].starts_with("info error no game for \"gosense\""));
}

#[test]
fn line_protocol_continues_after_messages_that_break_the_rules() {
    let lines = format!(
        "newgame white X {START}\nsenseresult e7=Q a8=.\nmoveresult e2e4 e2e3 -\noppmove e3\n\
         oppmove -\nsenseresult e2=q\ngosense 50\ngomove 50\n"
    );
    let answers = answers_with(&lines, &[("weights", "habits")]);
    assert!(answers.last().is_some_and(|line| line.starts_with("move ")), "{answers:?}");
    assert!(answers.iter().any(|line| line.ends_with(" repaired")), "{answers:?}");
}

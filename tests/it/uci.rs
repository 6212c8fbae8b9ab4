//! UCI sessions with the executable.

use crate::support::talk;

use std::fs;
use std::path::Path;

use crate::support::model::{FLOAT, Model, numbers};
use crate::support::talk::{Engine, matches};
use menagerie::encoding::Encoding;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::append_checksum;
use menagerie::variant::{Catalogue, Variant};

transcripts! { "uci":
    alphabeta bad_input bughouse castling handshake limits moves networks options perft positions pondering rows search
    texts three_by_three unknown_commands
}

#[test]
fn go_prints_a_legal_move_in_every_variant() {
    let mut engine = Engine::start();
    for variant in Catalogue::shipped().iter() {
        engine.say(&format!("setoption name UCI_Variant value {}", variant.name()));
        engine.say("position startpos");
        for limit in ["nodes 1", "nodes 200", "movetime 20", "wtime 300 btime 300 winc 10 binc 10"]
        {
            engine.say(&format!("go {limit}"));
            let best = engine.until("bestmove *");
            let turn = best.split_whitespace().nth(1).expect("a move");
            assert!(variant.start().parse_turn(turn).is_some(), "{}: {best}", variant.name());
        }
    }
    engine.end();
}

#[test]
fn variant_files_may_have_a_byte_order_mark() {
    let section = "[first:chess]\ndoubleStep = false\n\n[second:chess]\nstalemateValue = loss\n";
    let utf16 = |order: fn(u16) -> [u8; 2]| {
        "\u{feff}".encode_utf16().chain(section.encode_utf16()).flat_map(order).collect()
    };
    let marked = [b"\xef\xbb\xbf", section.as_bytes()].concat();
    let mut engine = Engine::start();
    let file = talk::file("marked.ini", &marked);
    engine.say(&format!("setoption name VariantPath value {}", file.display()));
    let option = engine.next("option name UCI_Variant *");
    assert!(option.contains(" var first") && option.contains(" var second"), "{option}");
    engine.say("setoption name UCI_Variant value first");
    engine.next("info string variant first *");
    engine.say("position startpos moves e2e4");
    engine.next("info string illegal move \"e2e4\"*");
    let files: [(&str, Vec<u8>); 4] = [
        ("little.ini", utf16(u16::to_le_bytes)),
        ("big.ini", utf16(u16::to_be_bytes)),
        ("unmarked.ini", section.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("latin1.ini", b"# Pion \xe0 pion\n[first:chess]\n".to_vec()),
    ];
    for (name, bytes) in files {
        let file = talk::file(name, &bytes);
        engine.say(&format!("setoption name VariantPath value {}", file.display()));
        let text =
            if name == "latin1.ini" { "not UTF-8 text" } else { "UTF-16 text, save it as UTF-8" };
        engine.next(&format!("info string cannot read \"{}\": {text}", file.display()));
        engine.next("option name UCI_Variant *");
    }
    engine.end();
}

#[test]
fn wall_or_move_turns_have_fairy_stockfish_notation() {
    let file =
        talk::file("atlantis.ini", b"[atlantis:chess]\nwallingRule = edge\nwallOrMove = true\n");
    let mut engine = Engine::start();
    engine.say(&format!("setoption name VariantPath value {}", file.display()));
    engine.say("setoption name UCI_Variant value atlantis");
    engine.until("info string variant atlantis *");
    engine.say("position startpos moves a2a3,a3a1 b7b6 a1a1,a1a4 e7e5,e5a1");
    engine.say("d");
    engine.until("Fen: rnbqkbnr/p1pp1ppp/1p6/4p3/*7/P7/1PPPPPPP/RNBQKBNR w KQkq - 0 3");
    engine.next("Outcome: *");
    for (moves, wrong) in [("a2a3,a3b1", "a2a3,a3b1"), ("a1a1", "a1a1"), ("a2a2,a2a4", "a2a2,a2a4")]
    {
        engine.say(&format!("position startpos moves {moves}"));
        engine.next(&format!("info string illegal move \"{wrong}\", number 1, *"));
    }
    engine.say("position fen r3k2r/8/8/8/8/8/P7/R3K2R w KQkq - 0 1 moves e1g1,g1a1 e8c8,c8a1");
    engine.say("position fen r3k2r/8/8/8/8/8/P7/R3K2R w KQkq - 0 1 moves e1h1,h1a1 O-O-O");
    engine.say("d");
    engine.until("Fen: 2kr3r/8/8/8/8/8/P7/R4RK1 w - - 2 2");
    engine.say("position startpos moves a2a3,a3a1");
    engine.say("go nodes 20");
    let best = engine.until("bestmove *");
    let turn = best.split_whitespace().nth(1).expect("a move");
    assert!(turn.len() == 9 && turn[4..].starts_with(','), "{best}");
    engine.end();
}

#[test]
fn input_may_be_any_bytes() {
    let mut engine = Engine::start();
    engine.bytes(b"isready\r\n\r\n \t \nposition startpos moves e2e4\r\nd\r\n");
    engine.until("readyok");
    engine.until("Fen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    engine.bytes(b"\xff\xfe\x00 caf\xe9\r\n\n   \n");
    engine.until("info string unknown command \"*\"");
    engine.bytes(&[b'x'; 1_000_000]);
    engine.bytes(b"\n");
    assert!(engine.until("info string unknown command \"xxx*").len() < 1100);
    engine.bytes(&[b'y'; 3_000_000]);
    engine.bytes(b"\nposition fen ");
    engine.until("info string input line too long, ignored");
    engine.bytes(&[b'z'; 100_000]);
    engine.bytes(b"\n");
    assert!(engine.until("info string bad FEN \"zzz*").len() < 1100);
    engine.bytes(b"position startpos moves");
    for _ in 0..2000 {
        engine.bytes(b" g1f3 g8f6 f3g1 f6g8");
    }
    engine.bytes(b"\nd\n");
    engine.until("Outcome: 1/2-1/2 repetition");
    engine.bytes(b"isready");
    engine.end();
}

/// A long iteration of alpha-beta is reported again and again, with the nodes and the time of each moment.
#[test]
fn long_iterations_are_reported() {
    let mut engine = Engine::start();
    engine.say("position startpos");
    engine.say("go infinite");
    let mut last = None;
    loop {
        let info = engine.until("info depth *");
        let number = |name: &str| -> Option<u64> {
            info.split_whitespace().skip_while(|word| *word != name).nth(1)?.parse().ok()
        };
        let found = (number("depth"), number("nodes"));
        if let Some((depth, nodes)) = last
            && depth == found.0
        {
            assert!(found.1 > nodes, "{info}");
            break;
        }
        last = Some(found);
    }
    engine.say("stop");
    engine.until("bestmove *");
    engine.end();
}

/// A ponder hit ends a search of which enough is known, although its iteration goes on: here there is one legal move.
#[test]
fn ponder_hits_end_iterations_that_are_not_needed() {
    let mut engine = Engine::start();
    engine.say("position fen r5k1/QR3ppp/1pq5/p2n4/4p3/2P1P2P/PP3PP1/2r3K1 w - - 0 1");
    engine.say("go ponder wtime 90000000 btime 90000000");
    engine.until("info depth 6 *");
    engine.say("ponderhit");
    engine.until("bestmove g1h2 *");
    engine.end();
}

#[test]
fn end_of_input_quits_after_all_commands() {
    for last in
        ["go nodes 3000", "go infinite", "go ponder", "go", "go perft 3", "position startpos"]
    {
        let mut engine = Engine::start();
        engine.say("go nodes 2000");
        engine.say("position startpos moves e2e4");
        engine.say(last);
        engine.end();
        let lines = engine.rest();
        let answers = if last.contains("perft") || last.starts_with("position") { 1 } else { 2 };
        assert_eq!(lines.iter().filter(|line| line.starts_with("bestmove")).count(), answers);
        assert_eq!(
            lines.iter().any(|line| line == "Nodes searched: 13160"),
            last.contains("perft")
        );
    }
}

#[test]
fn quit_stops_a_search() {
    for go in
        ["go infinite", "go mate 9", "go nodes 1000000000", "go wtime 99999999 btime 99999999"]
    {
        let mut engine = Engine::start();
        engine.say(go);
        engine.say("isready");
        engine.until("readyok");
        engine.say("quit");
        engine.ended();
    }
}

#[test]
fn go_with_limits_ends_before_the_next_command() {
    // All lines are received before the first search can begin.
    let mut engine = Engine::start();
    engine.bytes(
        b"position startpos\ngo nodes 400\nsetoption name Hash value 32\ngo nodes 300\n\
          setoption name Search value mcts\nposition startpos moves e2e4\ngo depth 6\n\
          ucinewgame\nquit\n",
    );
    engine.ended();
    let lines = engine.rest();
    let best: Vec<_> = (0..lines.len()).filter(|&at| lines[at].starts_with("bestmove ")).collect();
    assert_eq!(best.len(), 3, "{lines:?}");
    for (at, nodes) in best.into_iter().zip([400, 300, 80]) {
        assert!(lines[at - 1].contains(&format!(" nodes {nodes} ")), "{}", lines[at - 1]);
    }
}

#[test]
fn stop_is_for_the_last_go_before_it() {
    let mut engine = Engine::start();
    engine.bytes(b"go nodes 400\ngo nodes 1000000000\nposition startpos\nstop\nisready\n");
    engine.until("info depth * nodes 400 *");
    engine.until("bestmove *");
    engine.until("bestmove *");
    engine.until("readyok");
    engine.end();
}

#[test]
#[cfg(unix)]
fn named_pipes_do_not_block() {
    let pipe = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipe");
    let _ = fs::remove_file(&pipe);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut engine = Engine::start();
    for option in ["VariantPath", "TablePath", "WeightsFile", "Debug Log File"] {
        engine.say(&format!("setoption name {option} value {}", pipe.display()));
        engine.say("isready");
        engine.until("info string *pipe*: not a regular file");
        engine.until("readyok");
        engine.say(&format!("setoption name {option} value <empty>"));
    }
    engine.end();
}

#[test]
fn perft_ends_before_quit() {
    let mut engine = Engine::start();
    engine.bytes(b"go perft 5\nquit\n");
    engine.ended();
    assert!(engine.rest().contains(&"Nodes searched: 4865609".to_owned()));
    let mut engine = Engine::start();
    engine.bytes(b"go perft 12\nstop\nquit\n");
    engine.ended();
    let lines = engine.rest();
    assert!(lines.contains(&"info string perft stopped before it was complete".to_owned()));
}

#[test]
fn go_mate_ends_without_further_input() {
    let mut engine = Engine::start();
    engine.say("setoption name RuntimeLibrary value /nowhere");
    engine.say("go mate 1");
    engine.end();
    assert!(engine.rest().iter().any(|line| line.starts_with("bestmove ")));
}

#[test]
fn skill_level_reports_the_played_move_last() {
    let mut engine = Engine::start();
    engine.say("setoption name RuntimeLibrary value /nowhere");
    engine.say("setoption name Skill Level value 5");
    for multi_pv in [1, 2] {
        engine.say(&format!("setoption name MultiPV value {multi_pv}"));
        for _ in 0..30 {
            engine.say("ucinewgame");
            engine.say("go");
            let mut played = String::new();
            loop {
                let line = engine.until("*");
                if let Some((before, pv)) = line.split_once(" pv ") {
                    if before.contains(" multipv 1 ") {
                        played = pv.split(' ').next().expect("a move").to_owned();
                    }
                } else if let Some(best) = line.strip_prefix("bestmove ") {
                    assert_eq!(best.split(' ').next(), Some(&*played));
                    break;
                }
            }
        }
    }
    engine.end();
}

#[test]
fn closed_output_ends_the_engine() {
    let mut engine = Engine::start();
    engine.say("go infinite");
    engine.until("info depth *");
    engine.close_output();
    engine.ended();
}

#[test]
fn bench_signature_is_the_same_for_any_threads() {
    let signature = |arguments: &[&str]| {
        let output = talk::command().args(arguments).output().expect("the engine runs");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut lines = text.lines().rev();
        let last = lines.next().expect("a line");
        // As the testing framework OpenBench reads it.
        let words: Vec<&str> = last.split(' ').collect();
        let is_number = |text: &str| text.parse::<u64>().is_ok_and(|number| number > 0);
        assert!(
            matches!(words[..], [nodes, "nodes", speed, "nps"] if is_number(nodes) && is_number(speed)),
            "{last}"
        );
        let signature = lines.next().expect("a line").to_owned();
        assert!(signature.starts_with("Signature: ") && signature.len() == 11 + 16, "{signature}");
        signature
    };
    let first = signature(&["bench"]);
    assert_eq!(signature(&["bench"]), first);
    assert_eq!(signature(&["bench", "2"]), first);
    let mut engine = Engine::start();
    engine.say("setoption name Threads value 3");
    engine.say("bench");
    assert_eq!(engine.until("Signature: *"), first);
    engine.end();
}

#[test]
fn arguments_are_checked() {
    let run = |arguments: &[&str]| talk::command().args(arguments).output().expect("it runs");
    assert!(run(&["--version"]).stdout.starts_with(b"Menagerie "));
    assert!(run(&["--help"]).status.success());
    for invalid in
        [&["--nonsense"][..], &["bench", "x"], &["bench", "1", "2"], &["play"], &["check"]]
    {
        let output = run(invalid);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(output.stderr.starts_with(b"error: "));
    }
}

#[test]
fn log_file_contains_input_and_output() {
    let path = talk::file("session.log", b"");
    let mut engine = Engine::start();
    engine.say(&format!("setoption name Debug Log File value {}", path.display()));
    engine.say("isready");
    engine.until("readyok");
    engine.say("setoption name Debug Log File value <empty>");
    engine.say("ucinewgame");
    engine.say("setoption name Debug Log File value /");
    engine.until("info string cannot write to \"/\": *");
    engine.end();
    let log = fs::read_to_string(path).expect("the log is there");
    assert!(log.contains(">> isready\n") && log.contains("<< readyok\n"), "{log}");
    assert!(!log.contains("ucinewgame"), "{log}");
}

/// Returns a network for `variant` with the same output for every position.
fn network(variant: &Variant, variants: &str) -> Vec<u8> {
    let encoding = Encoding::of(&variant.start());
    let shape = encoding.shape();
    let (planes, flat) = ([shape.planes, shape.height, shape.width], shape.input());
    let head = |model: Model, name: &str, size: usize, seed| {
        let weights = numbers(seed, flat * size);
        model
            .weights(&format!("{name}_weights"), &[flat, size], &weights)
            .node("MatMul", &["flat", &format!("{name}_weights")], name, &[])
            .output(name, FLOAT, &[-1, size as i64])
    };
    let [channels, height, width] = planes.map(|size| size as i64);
    let mut model = Model::default().input("planes", FLOAT, &[-1, channels, height, width]).node(
        "Flatten",
        &["planes"],
        "flat",
        &[],
    );
    model = head(model, "policy", shape.policy(), 1);
    model = head(model, "outcome", shape.outcomes, 2);
    model = head(model, "moves_left", 1, 3);
    for (key, value) in NetworkMetadata::new(&encoding, variants, "a test").entries() {
        model = model.metadata(&key, &value);
    }
    append_checksum(model.finish())
}

#[test]
fn networks_are_used_or_refused() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let bytes = network(&variant, "3x3");
    let good = talk::file("good.onnx", &bytes);
    let cut = talk::file("cut.onnx", &bytes[..bytes.len() / 2]);
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let mut engine = Engine::start();
    engine.say(&format!("setoption name RuntimeLibrary value {}", runtime.display()));
    engine.say("setoption name UCI_Variant value 3x3");
    engine.next("info string variant 3x3 *");
    engine.say("setoption name Backend value cpu");
    engine.say(&format!("setoption name WeightsFile value {}", good.display()));
    engine.say("isready");
    engine.next(&format!("info string 3x3: network {} (a test), ONNX Runtime cpu", good.display()));
    engine.next("readyok");
    engine.say("go nodes 50");
    let with_one = engine.until("bestmove *");
    engine.say("setoption name Threads value 2");
    engine.say("ucinewgame");
    engine.say("go nodes 1");
    engine.until("bestmove *");
    engine.say("go nodes 400");
    engine.until("bestmove *");
    for threads in [1, 1] {
        engine.say(&format!("setoption name Threads value {threads}"));
        engine.say("ucinewgame");
        engine.say("go nodes 50");
        assert_eq!(engine.until("bestmove *"), with_one);
    }
    engine.say("eval");
    engine.until("WDL: *");
    engine.say("isready");
    engine.until("readyok");
    // An invalid network is reported once. The previous one is kept.
    for (file, fault) in [
        (cut.display().to_string(), "refused"),
        ("there/is none.onnx".to_owned(), "cannot read"),
        ("/".to_owned(), "cannot read"),
        (talk::file("text.onnx", b"no network").display().to_string(), "refused"),
        (talk::file("empty.onnx", b"").display().to_string(), "refused"),
        (
            talk::file("chess.onnx", &network(&variant, "chess")).display().to_string(),
            "not for 3x3",
        ),
    ] {
        engine.say(&format!("setoption name WeightsFile value {file}"));
        engine.say("isready");
        let line = engine.next("info string *");
        assert!(line.contains(fault) && line.contains(&file), "{line}");
        engine.next("info string 3x3: keeping the previous network");
        engine.next("readyok");
        engine.say("ucinewgame");
        engine.say("go nodes 50");
        assert_eq!(engine.until("bestmove *"), with_one);
    }
    // It is not for another variant.
    engine.say("setoption name UCI_Variant value chess");
    engine.say(&format!("setoption name WeightsFile value {}", good.display()));
    engine.say("position startpos");
    engine.say("go nodes 10");
    let refusal = engine.until("info string network *");
    assert!(refusal.contains("was trained for \"3x3\", not for chess"), "{refusal}");
    engine.until("bestmove *");
    engine.end();
}

#[test]
fn related_network_or_the_base_is_used_for_variants_without_a_network() {
    let games = "[mine:crazyhouse]\npromotionPieceTypes = q\n\n\
                 [stuck:pocketknight]\nnetwork = chess\ndoubleStep = false\n\n\
                 [basic:crazyhouse]\nnetwork = base\n\n\
                 [counted:crazyhouse]\ncheckCounting = true\n\
                 startFen = rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 3+3 0 1\n\n\
                 [small:losalamos]\nnetwork = crazyhouse\n\n\
                 [lost:crazyhouse]\nnetwork = nowhere\n\n\
                 [alone:crazyhouse]\nnetwork = none\n";
    let file = talk::file("kin.ini", games.as_bytes());
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let mut engine = Engine::start();
    engine.say(&format!("setoption name RuntimeLibrary value {}", runtime.display()));
    engine.say("setoption name Backend value cpu");
    engine.say(&format!("setoption name VariantPath value {}", file.display()));
    let expected: [(&str, &[&str]); 7] = [
        ("mine", &["mine: using the crazyhouse network"]),
        (
            "stuck",
            &[
                "stuck: using the chess network",
                "stuck: the network has no input for pocket(Pawn,own), *",
            ],
        ),
        ("basic", &["basic: using a base network trained on other variants"]),
        (
            "counted",
            &[
                "network nets/crazyhouse.int8.onnx is refused: the network has no input for *",
                "counted: using a base network trained on other variants",
            ],
        ),
        (
            "lost",
            &[
                "lost: there is no \"nowhere\" network, which its section names",
                "lost: using a base network trained on other variants",
            ],
        ),
        (
            "small",
            &[
                "network nets/crazyhouse.int8.onnx is refused: the network is for boards of 8x8*",
                "network nets/base.int8.onnx is refused: the network is for boards of 8x8, not 6x6",
                "small: no usable network, using a uniform policy",
            ],
        ),
        ("alone", &["alone: no network, using a uniform policy"]),
    ];
    for (game, notes) in expected {
        engine.say(&format!("setoption name UCI_Variant value {game}"));
        engine.until("info string variant *");
        engine.say("isready");
        for note in notes {
            let next = engine.next("info string *");
            assert!(matches(&format!("info string {note}"), &next), "{game}: {next}");
        }
        engine.until("readyok");
        engine.say("go nodes 30");
        engine.until("bestmove *");
    }
    engine.end();
}

#[test]
fn missing_runtime_is_reported_and_uniform_policy_used() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let good = talk::file("lonely.onnx", &network(&variant, "3x3"));
    let mut engine = Engine::start();
    engine.say("setoption name RuntimeLibrary value /there/is/none.so");
    engine.say("setoption name UCI_Variant value 3x3");
    engine.next("info string variant 3x3 *");
    engine.say(&format!("setoption name WeightsFile value {}", good.display()));
    engine.say("go nodes 100");
    let line = engine.next("info string no ONNX Runtime: *");
    assert!(line.contains("/there/is/none.so") && line.contains("scripts/get-onnxruntime"));
    assert!(matches("info string 3x3: *uniform policy", &engine.next("*")));
    engine.until("bestmove *");
    engine.end();
}

#[test]
fn evaluator_is_replaced_with_the_variant_file() {
    let small = "[mine:gardner]\n";
    let large = "[mine:crazyhouse]\n";
    let mut engine = Engine::start();
    for (game, begins) in [(small, "rnbqk/*"), (large, "rnbqkbnr/*"), (small, "rnbqk/*")] {
        let file = talk::file("replaced.ini", game.as_bytes());
        engine.say(&format!("setoption name VariantPath value {}", file.display()));
        engine.say("setoption name UCI_Variant value mine");
        engine.say("position startpos");
        engine.say("d");
        engine.until(&format!("Fen: {begins}"));
        engine.say("eval");
        engine.until("WDL: *");
        engine.say("go nodes 10");
        loop {
            let line = engine.next("*");
            assert!(!line.contains("failed"), "{line}");
            if line.starts_with("bestmove") {
                break;
            }
        }
    }
    engine.end();
}

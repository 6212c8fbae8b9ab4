//! The readers of game files: games are read as they were written, and faults quote the file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::support::reading::{read, variant};
use flate2::Compression;
use flate2::write::GzEncoder;
use menagerie::encoding::Encoding;
use menagerie::rules::{Color, Move, PackedMove};
use menagerie::variant::Variant;
use menagerie_rbc::GameHistory;
use proptest::prelude::*;
use tempfile::TempDir;
use trainer::readers::{self, Games};
use trainer::record::{End, GameRecord, Sampler, Targets};
use trainer::sparse::HeldOut;

/// Checks each sample of a game.
fn replays(game: &GameRecord, variant: &Variant) {
    let encoding = Encoding::of(&variant.start());
    let targets = Targets { score_share: 0.5, smoothing: 0.1, draws: 0.3, ..Targets::default() };
    let sampler = Sampler { variant, encoding: &encoding, targets };
    for nth in 0..game.plies.len() {
        let plain = sampler.sample(game, nth, false).expect("a sample");
        let mirrored = sampler.sample(game, nth, true).expect("a sample");
        plain.check(encoding.shape()).expect("a sample that fits");
        mirrored.check(encoding.shape()).expect("a sample that fits");
        assert_eq!((plain.outcome, plain.policy), (mirrored.outcome, mirrored.policy));
    }
}

const LABELLED: &str = include_str!("../golden/labelled.tsv");

#[test]
fn readers_read_labelled_games() {
    let mut games = 0;
    for name in ["crazyhouse", "duck", "chess", "atomic"] {
        let variant = variant(name);
        let lines = LABELLED.lines().filter(|line| line.split('\t').next() == Some(name));
        let text = lines.collect::<Vec<_>>().join("\n");
        let found = read("games.tsv", text.as_bytes(), name);
        assert_eq!(found.errors, []);
        games += found.games.len();
        for (game, line) in found.games.iter().zip(text.lines()) {
            replays(game, &variant);
            let mut position = variant.position(&game.start, true).expect("a start");
            for ply in &game.plies {
                let m = PackedMove(ply.played).unpack().expect("a move");
                assert!(position.play(m), "{}", position.fen());
            }
            // All of these games end by the rules.
            let ended = position.outcome().expect("an end");
            let winner = ended.winner.map(|side| side.index() as u8);
            assert_eq!(game.end, Some(End { winner, turns: 0 }), "{line}");
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).expect("packed");
        let packed = packed.finish().expect("packed");
        assert_eq!(read("games.tsv.gz", &packed, name).games, found.games);
        let swapped = text.replace("\t0-1\t", "\t-\t").replace("\t1-0\t", "\t0-1\t");
        for wrong in [swapped.replace("\t-\t", "\t1-0\t"), text.replace("0-1", "1/2-1/2")] {
            let refused = read("games.tsv", wrong.as_bytes(), name);
            let changed = wrong.lines().zip(text.lines()).filter(|(wrong, line)| wrong != line);
            assert_eq!(refused.errors.len(), changed.count());
            for error in refused.errors {
                let reason = error.reason.to_string();
                assert!(reason.starts_with("another result than that of the rules, "), "{reason}");
            }
        }
    }
    assert_eq!(games, LABELLED.lines().count());
}

/// The measurement of networks leaves games out as training does, and counts them.
#[test]
fn readers_count_the_games_that_held_out_positions_lack() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("games.tsv");
    let lines: Vec<_> = LABELLED.lines().filter(|line| line.starts_with("chess\t")).collect();
    fs::write(&path, lines.join("\n").replace("\t1-0\t", "\t1/2-1/2\t")).expect("written");
    let held_out = HeldOut::read(&variant("chess"), &[path], 1, 1_000).expect("read");
    let wrong = lines.iter().filter(|line| line.contains("\t1-0\t")).count();
    assert!(wrong > 0 && !held_out.is_empty());
    assert_eq!(held_out.bad_games(), wrong);
}

/// Commands that count games that they skip print the first errors of each file.
#[cfg(unix)]
#[test]
fn readers_errors_of_scored_games_are_printed_up_to_a_number() {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let games = LABELLED.lines().filter(|line| line.starts_with("crazyhouse\t"));
    let games: Vec<String> = games.map(str::to_owned).collect();
    let bad = vec!["bad".to_owned(); 14];
    let mixed =
        write("bad.tsv", [&["# A comment".to_owned()][..], &games, &bad].concat().join("\n"));
    let json = write("bad.json", "{\n\"a\": x}".to_owned());
    let evaluator = folder.path().join("evaluator");
    crate::support::script::executable(&evaluator, "#!/bin/sh\nsed s/.*/7/\n");
    let evaluator = evaluator.display().to_string();
    let [run, out] =
        ["run", "out.games"].map(|name| folder.path().join(name).display().to_string());
    let sizes =
        ["--hidden-size", "128", "--policy-size", "64", "--positions", "16", "--batch", "16"];
    let sparse = [&["sparse", "crazyhouse", &mixed, "--run", &run][..], &sizes].concat();
    let rescore = ["rescore", "crazyhouse", &mixed, "--evaluator", &evaluator, "--out", &out];
    let accuracy = ["accuracy", "crazyhouse", "none.onnx", "--records", &mixed, &json];
    for (arguments, lines) in [(&sparse[..], 13), (&rescore[..], 13), (&accuracy[..], 14)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
        let output = command.args(arguments).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let of_files: Vec<&str> = text.lines().filter(|line| line.contains("bad.")).collect();
        assert_eq!(of_files.len(), lines, "{text}");
        let first = format!("{mixed}, line {}: 1 fields instead of 4: \"bad\"", games.len() + 2);
        assert_eq!(of_files[0], first);
        assert_eq!(of_files[12], format!("{mixed}: 2 more games are skipped"));
        let is_json = |line: &&str| line.starts_with(&format!("{json}, line 2: invalid JSON: "));
        assert!(of_files.get(13).is_none_or(is_json), "{text}");
    }
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A random move does not affect the targets of the moves before it.
#[test]
fn readers_targets_end_at_a_random_move() {
    let (variant, plies) = (variant("chess"), "e2e4:20 d7d5:50/f7f6 g1f3:300 g7g5:-400");
    let text = format!("chess\t{START}\t1-0\t{plies}");
    let games = read("a.tsv", text.as_bytes(), "chess").games;
    let encoding = Encoding::of(&variant.start());
    let sampler = Sampler { variant: &variant, encoding: &encoding, targets: Targets::default() };
    let samples = (0..4).map(|nth| sampler.sample(&games[0], nth, false).expect("a sample"));
    let expected = samples.map(|sample| {
        // The random move does not affect the number of moves left.
        (sample.outcome[0] - sample.outcome[1], sample.moves_left)
    });
    let message = games[0].plies[1].score.expect("a score");
    let wanted = [-message, message, 1.0, -1.0].into_iter().zip([4.0, 3.0, 2.0, 1.0].map(Some));
    for ((found, turns), (wanted, left)) in expected.zip(wanted) {
        assert!((found - wanted).abs() < 1e-6 && turns == left, "{found} {turns:?}, not {wanted}");
    }
}

/// In twenty games both sides expect 0.5 for White; White scores 0.8 on average, and two games are drawn. In further
/// games a random move makes the moves before it irrelevant.
#[test]
fn readers_targets_are_fitted_to_results() {
    let variant = variant("chess");
    let half = (0.5f32.atanh() * 2.0 / 0.003_682_08).round() as i32;
    let plies = format!("e2e4:{half} e7e5:-{half}");
    let game = |result: &str| format!("chess\t{START}\t{result}\t{plies}\n");
    let mut text = game("1-0").repeat(17) + &game("0-1") + &game("1/2-1/2").repeat(2);
    let mistaken = format!("chess\t{START}\t0-1\te2e4:900 e7e5:-900 g1f3:900/f2f3\n");
    text += &mistaken.repeat(50);
    let games = read("a.tsv", text.as_bytes(), "chess").games;
    assert_eq!(games.len(), 70);
    let fitted = Targets::default().fitted(games.iter(), &variant);
    assert!((fitted.steepness - 0.8f32.atanh() / 0.5f32.atanh()).abs() < 5e-3, "{fitted:?}");
    assert!((fitted.draws - 0.1 / (1.0 - 0.64)).abs() < 5e-3, "{fitted:?}");
    // Scores without information are not changed.
    let even = read("a.tsv", game("1-0").replace(&half.to_string(), "0").as_bytes(), "chess").games;
    let fitted = Targets::default().fitted(even.iter(), &variant);
    assert_eq!((fitted.steepness, fitted.draws), (1.0, 0.0));
    assert_eq!(Targets::default().fitted([].iter(), &variant), Targets::default());
}

#[test]
fn readers_labels_of_a_ply() {
    let text = "chess\trnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\t*\t\
                e2e4:100/d2d4 e7e5:m-2 :/d4e5 a7a6:";
    let found = read("a.tsv", text.as_bytes(), "chess");
    assert_eq!(found.errors, []);
    let game = &found.games[0];
    assert_eq!(game.end, None);
    let policy: Vec<_> = game.plies.iter().map(|ply| ply.policy.len()).collect();
    assert_eq!(policy, [1, 1, 0, 1]);
    assert_ne!(game.plies[0].policy[0].0, game.plies[0].played);
    assert!((game.plies[0].score.expect("a score") - 0.182).abs() < 1e-3);
    assert_eq!(game.plies[1].score, Some(-1.0));
    assert_eq!((game.plies[2].score, game.plies[3].score), (None, None));
    replays(game, &variant("chess"));
    let encoding = Encoding::of(&variant("chess").start());
    let silent = game.sample(&variant("chess"), &encoding, 2).expect("a sample");
    assert_eq!((silent.legal, silent.outcome, silent.moves_left), (vec![], vec![], None));
}

#[test]
fn readers_labels_may_have_several_moves() {
    let text = "chess\trnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\t1-0\t\
                e2e4:30|d2d4:30|a2a3:0|h2h4:-900/d2d4 e7e5:m3|a7a6:m2|f7f6:m-2\t1/17";
    let found = read("a.tsv", text.as_bytes(), "chess");
    assert_eq!(found.errors, []);
    let plies = &found.games[0].plies;
    let shares: Vec<u16> = plies[0].policy.iter().map(|(_, share)| *share).collect();
    // 30 centipawns are 0.055 of the points, a little more than the temperature.
    assert_eq!(shares[..2], [u16::MAX; 2]);
    assert!((0.3..0.4).contains(&(f32::from(shares[2]) / 65535.0)), "{shares:?}");
    assert_eq!(shares.len(), 3);
    assert_eq!(plies[0].played, plies[0].policy[1].0);
    assert_eq!(plies[1].policy.len(), 2);
    replays(&found.games[0], &variant("chess"));
}

#[test]
fn readers_label_both_plies_of_duck_chess() {
    let text = "duck\trnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\t1-0\t\
                e2e4,e4e5:30 d7d5,d5d3:-20/d7d5,d5d4 g1f3,f3g3:9/b1c3,c3a3";
    let found = read("a.tsv", text.as_bytes(), "duck");
    assert_eq!(found.errors, []);
    let plies: Vec<_> = found.games[0].plies.iter().map(|ply| ply.policy.len()).collect();
    assert_eq!(plies, [1, 1, 1, 1, 1, 0]);
    replays(&found.games[0], &variant("duck"));
}

#[test]
fn readers_errors_quote_line_and_number() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let boards = format!("bughouse\t{start}|{start}\t1-0\t1e2e4:0:180");
    for (line, reason) in [
        ("chess", "4"),
        (&format!("duck\t{start}\t1-0\te2e4:1"), "of duck"),
        ("chess\t8/8 w\t1-0\te2e4:1", "8/8 w"),
        (&format!("chess\t{start}\t1-0\te2e5:1"), "e2e5"),
        (&format!("chess\t{start}\t1-0\te2e4:one"), "one"),
        (&format!("chess\t{start}\t1-0\te2e4"), "score"),
        (&format!("chess\t{start}\t1-0\t:3/e2e4"), "score without a move"),
        (&format!("chess\t{start}\t1-0\t:"), "no move"),
        (&format!("chess\t{start}\t1-0\te2e4:3/e7e5"), "e7e5"),
        (&format!("chess\t{start}\t2-0\te2e4:1"), "2-0"),
        (&format!("chess\t{start}\t1-0\t"), "no moves"),
        (&boards, "bughouse"),
        ("\u{fffd}\t\u{1f986}", "4"),
    ] {
        let good = format!("chess\t{start}\t1-0\te2e4:1");
        let text = format!("{good}\n{line}\n\n{good}\n");
        let found = read("some.tsv", text.as_bytes(), "chess");
        assert_eq!((found.games.len(), found.errors.len()), (2, 1), "{line}");
        let message = found.errors[0].to_string();
        assert!(message.contains("some.tsv, line 2:") && message.contains(reason), "{message}");
        assert!(message.contains(&line.chars().take(30).collect::<String>()), "{message}");
    }
    let found = read("some.tsv", format!("{boards}\n").as_bytes(), "bughouse");
    assert!(found.errors[0].reason.to_string().contains("two boards"), "{:?}", found.errors);
}

#[test]
fn readers_errors_name_the_file() {
    let chess = variant("chess");
    let folder = TempDir::new().expect("a folder");
    for (name, bytes) in [("a.txt", "hm"), ("a.tsv.gz", "no gzip"), ("a.games", "no records")] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        let error = readers::read(&path, &chess, &mut Games::default()).expect_err("refused");
        assert!(error.to_string().contains(name), "{error}");
    }
    let missing = readers::read(Path::new("/no/such.tsv"), &chess, &mut Games::default());
    assert!(missing.expect_err("missing").to_string().contains("/no/such.tsv"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn readers_survive_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let found = read("a.tsv", &bytes, "chess");
        prop_assert!(found.games.is_empty());
    }

    #[test]
    fn readers_survive_damaged_games(
        line in 0..LABELLED.lines().count(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = LABELLED.lines().nth(line).expect("a line").as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let name = LABELLED.lines().nth(line).and_then(|line| line.split('\t').next());
        let name = name.expect("a name");
        for game in read("a.tsv", &bytes, name).games {
            replays(&game, &variant(name));
        }
    }
}

#[test]
fn readers_read_bughouse_with_clocks() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
    let game = |plies: &str| format!("bughouse\t{start}|{start}\t1-0\t{plies}\n");
    let good = game("2g1f3:91:178.9/g2g3 1e2e4:-30:179.5 1d7d5:m3:173.5 2e7e6:0:170.0 1e4d5:5:175");
    let found = read("some.tsv", good.as_bytes(), "bughouse2");
    assert_eq!(found.errors, []);
    let record = &found.games[0];
    assert_eq!((record.plies.len(), record.winner()), (5, Some(0)));
    assert_eq!(record.clocks[0], [180_000; 4]);
    // White on A has been to move since White on B moved, and so on.
    assert_eq!(record.clocks[1], [178_900, 180_000, 178_900, 180_000]);
    let variant = variant("bughouse2");
    let encoding = Encoding::of(&variant.start());
    for nth in 0..5 {
        let sample = record.sample(&variant, &encoding, nth).expect("a sample");
        assert_eq!(sample.policy.iter().filter(|&&share| share > 0.0).count(), 1);
        // Only moves of this board count, and no player may sit.
        let mut legal = Vec::new();
        let position = record.position(&variant, nth).expect("it replays");
        position.legal_moves(&mut legal);
        let board = PackedMove(record.plies[nth].played).unpack().expect("a move").board();
        legal.retain(|m| m.board() == board && *m != Move::Pass);
        let indices: Vec<u16> = legal.iter().map(|&m| encoding.index(&position, m).0).collect();
        assert_eq!(sample.legal, indices);
    }
    // The target is the best move, not the played one.
    assert_ne!(record.plies[0].policy[0].0, record.plies[0].played);
    // Plies after the mate on the other board are ignored.
    let mated = "1f2f3:0:179 1e7e5:0:179 1g2g4:0:178 1d8h4:0:177 2e2e4:0:176 2e7e5:0:175";
    let found = read("some.tsv", game(mated).replace("1-0", "0-1").as_bytes(), "bughouse2");
    assert_eq!((found.games[0].plies.len(), found.games[0].winner()), (4, Some(1)));
    let found = read("some.tsv", game(mated).as_bytes(), "bughouse2");
    assert!(found.errors[0].reason.to_string().contains("another result"), "{:?}", found.errors);
    for (bad, reason) in [
        ("3e2e4:1:2", "no board"),
        ("1e2e4:1", "CLOCK"),
        ("1e2e4:1:late", "clock"),
        ("1e2e5:1:2", "1e2e5"),
        ("1e2e4:1:2/e2e5", "1e2e5"),
    ] {
        let found = read("some.tsv", game(bad).as_bytes(), "bughouse2");
        assert!(found.errors[0].reason.to_string().contains(reason), "{:?}", found.errors);
    }
}

/// Returns the taken move of each turn of a history of reconnaissance blind chess, in order.
fn turns(history: &GameHistory) -> Vec<Option<String>> {
    let side = |color: Color| {
        history.sides[color].moves.iter().map(|played| played.taken.map(|it| it.to_string()))
    };
    let mut black = side(Color::Black);
    side(Color::White).flat_map(|first| [Some(first), black.next()]).flatten().collect()
}

#[test]
fn readers_split_rbc_games_at_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/rbc");
    let variant = variant("blindboard");
    let (mut files, mut cuts) = (0, 0);
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a file");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let Ok(history) = GameHistory::from_json(&value) else { continue };
        let mut found = Games::default();
        readers::read(&path, &variant, &mut found).expect("read");
        assert_eq!(found.errors, []);
        let turns = turns(&history);
        let runs = turns.split(Option::is_none).filter(|run| !run.is_empty());
        let lengths: Vec<usize> = runs.map(<[_]>::len).collect();
        let read: Vec<usize> = found.games.iter().map(|game| game.plies.len()).collect();
        assert_eq!(read, lengths, "{}", path.display());
        let winner = history.winner.map(|color| u8::from(color.is_black()));
        let mut behind = turns.len();
        for game in &found.games {
            replays(game, &variant);
            assert_eq!(game.end.map(|end| end.winner), history.reason.map(|_| winner));
            // Passes come before a part, and the remaining turns after it.
            let left = game.end.map_or(0, |end| usize::from(end.turns));
            behind = behind.checked_sub(game.plies.len()).expect("plies of the game");
            assert!(left <= behind, "{left} of {behind} turns are left");
            assert_eq!((game.part_of, game.part_of.is_some()), (found.games[0].part_of, true));
        }
        let last = turns.iter().rev().take_while(|turn| turn.is_none()).count();
        let left = found.games.last().and_then(|game| game.end).map(|end| usize::from(end.turns));
        assert!(left.is_none_or(|left| left == last), "{left:?} turns, not {last}");
        files += 1;
        cuts += lengths.len() - 1;
    }
    assert!(files > 10 && cuts > 10, "{files} games, cut {cuts} times");
}

#[test]
fn readers_give_histories_of_rbc_to_sparse_networks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/rbc");
    let history = folder.join("09_TroutBot_vs_TroutBot_00.json");
    let text = fs::read_to_string(&history).expect("a file");
    let game = GameHistory::from_json(&serde_json::from_str(&text).expect("JSON"));
    let taken = turns(&game.expect("a history")).into_iter().flatten().count();
    let copies = TempDir::new().expect("a folder");
    let compressed = copies.path().join("history.json.gz");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).expect("packed");
    fs::write(&compressed, packed.finish().expect("packed")).expect("written");
    let bad = copies.path().join("bad.json");
    fs::write(&bad, "{}").expect("written");
    let held_out = HeldOut::read(&variant("blindboard"), &[history, compressed, bad], 1, 1_000);
    let held_out = held_out.expect("read");
    assert_eq!((held_out.len(), held_out.bad_games()), (2 * taken, 1));
}

#[test]
fn readers_errors_of_rbc_quote_the_line() {
    for (text, line, quote) in [
        ("{\n\"white_name\": x}", 2, "\"white_name\": x"),
        ("{}", 1, "missing"),
        ("7", 1, "7 is not a history"),
    ] {
        let found = read("a.json", text.as_bytes(), "blindboard");
        assert!(found.games.is_empty());
        let [error] = &found.errors[..] else { panic!("{:?}", found.errors) };
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(quote), "{error}");
    }
}

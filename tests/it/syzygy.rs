//! Syzygy tables in the engine. Tables of three pieces are in tests/endings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::talk::Engine;
use menagerie::rules::{MoveList, Position, Reason};
use menagerie::variant::Catalogue;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/endings")
}

/// Returns an engine for `game` with the tables in `folder` and without a network.
fn engine(game: &str, folder: &Path) -> Engine {
    let mut engine = Engine::start();
    engine.say("uci");
    engine.until("uciok");
    engine.say("setoption name RuntimeLibrary value /nowhere");
    engine.say(&format!("setoption name UCI_Variant value {game}"));
    engine.say(&format!("setoption name SyzygyPath value {}", folder.display()));
    engine.say("isready");
    engine
}

/// Returns the last report and the turn of a search of `visits` visits.
fn answer(engine: &mut Engine, position: &Position, visits: u32) -> (String, String) {
    engine.say(&format!("position fen {}", position.fen()));
    engine.say(&format!("go nodes {visits}"));
    let mut report = String::new();
    loop {
        let line = engine.until("*");
        if let Some(best) = line.strip_prefix("bestmove ") {
            return (report, best.split(' ').next().unwrap_or_default().to_owned());
        }
        if line.starts_with("info depth ") {
            report = line;
        }
    }
}

#[test]
fn won_endgames_are_won() {
    let mut rng = SmallRng::seed_from_u64(5);
    for (game, fen, counter) in [
        ("chess", "8/8/8/3k4/8/8/1R6/K7 w - -", 0),
        ("chess", "8/8/8/3k4/8/8/1R6/K7 w - -", 60),
        ("chess", "8/8/8/3k4/8/8/8/KQ6 w - -", 0),
        ("chess", "8/8/8/8/8/4k3/4p3/6K1 b - -", 0),
        ("chess", "4k3/8/4K3/4P3/8/8/8/8 w - -", 0),
        ("atomic", "8/8/8/3k4/8/8/8/KQ6 w - -", 0),
    ] {
        let mut engine = engine(game, &tables());
        let variant = Catalogue::shipped().require(game).expect("shipped");
        let fen = format!("{fen} {counter} 1");
        let mut position = variant.position(&fen, false).expect("a position");
        let winner = position.turn();
        let outcome = loop {
            if let Some(outcome) = position.result() {
                break outcome;
            }
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            let m = if position.turn() == winner {
                let (_, best) = answer(&mut engine, &position, 20);
                position.parse_turn(&best).expect("a legal turn")[0]
            } else {
                *legal.choose(&mut rng).expect("a move")
            };
            position.play_unchecked(m);
        };
        assert_eq!(outcome.winner, Some(winner), "{game} {fen}: {}", position.fen());
        assert!(matches!(outcome.reason, Reason::Checkmate | Reason::Variant));
    }
}

#[test]
fn best_defence_is_played() {
    let mut engine = engine("chess", &tables());
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    for (fen, only) in [
        ("8/8/4k3/8/4PK2/8/8/8 b - - 0 1", "e6f6"),
        ("8/8/4k3/8/4PK2/8/8/8 b - - 31 50", "e6f6"),
        // Lost, but no other move delays the promotion as long.
        ("8/8/8/8/8/3k4/3p4/4K3 w - - 0 1", "e1d1"),
    ] {
        let position = chess.position(fen, false).expect("a position");
        let (_, best) = answer(&mut engine, &position, 50);
        assert_eq!(best, only, "{fen}");
    }
}

#[test]
fn reports_have_table_hits() {
    let mut engine = engine("chess", &tables());
    engine.until("info string chess: found 10 Syzygy tables (up to 3 pieces)");
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    // After any capture, two bare kings are left.
    let position = chess.position("8/8/8/8/8/8/1q6/K3k3 w - - 0 1", false).expect("a position");
    let (report, best) = answer(&mut engine, &position, 30);
    assert_eq!(best, "a1b2");
    assert!(report.contains(" score cp 0 "), "{report}");
    let position = chess.position("7k/4P3/8/8/8/8/p7/1K6 w - - 0 1", false).expect("a position");
    let (report, _) = answer(&mut engine, &position, 100);
    assert!(report.contains(" tbhits "), "{report}");
    // Other variants have their own tables, or none.
    engine.say("setoption name UCI_Variant value crazyhouse");
    engine.say("isready");
    engine.until("info string crazyhouse: Syzygy tables do not support this variant");
    engine.say("setoption name UCI_Variant value atomic");
    engine.say("isready");
    engine.until("info string atomic: found 4 Syzygy tables (up to 3 pieces)");
    engine.end();
}

#[test]
fn scores_are_those_of_the_tables() {
    let mut engine = engine("chess", &tables());
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    for (fen, score) in [
        ("8/8/8/3k4/8/8/1R6/K7 w - - 0 1", "cp 12780"),
        ("8/8/8/3k4/8/8/1R6/K7 b - - 0 1", "cp -12780"),
        // The win needs more plies than the counter has left.
        ("8/8/8/3k4/8/8/1R6/K7 w - - 90 80", "cp 0"),
        ("8/8/8/3k4/8/8/1N6/K7 w - - 0 1", "cp 0"),
    ] {
        let position = chess.position(fen, false).expect("a position");
        let (report, _) = answer(&mut engine, &position, 20);
        assert!(report.contains(&format!(" score {score} ")), "{fen}: {report}");
    }
    engine.end();
}

#[test]
fn mate_is_preferred_to_the_shortest_dtz() {
    let mut engine = engine("chess", &tables());
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    let position = chess.position("k7/8/1K6/8/8/8/8/6Q1 w - - 0 1", false).expect("a position");
    let (report, _) = answer(&mut engine, &position, 50);
    assert!(report.contains(" score mate 1 "), "{report}");
    engine.end();
}

#[test]
fn damaged_tables_are_ignored() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged-syzygy");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let read = |name: &str| fs::read(tables().join(name)).expect("a table");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("written");
    // An invalid length; a header without a body; a body of random bytes.
    write("KQvK.rtbw", &read("KQvK.rtbw")[..100]);
    write("KRvK.rtbw", &read("KRvK.rtbw")[..80]);
    let mut bytes = read("KPvK.rtbw");
    for (index, byte) in bytes[60..].iter_mut().enumerate() {
        *byte = (index * 77 % 251) as u8;
    }
    write("KPvK.rtbw", &bytes);
    write("KPvK.rtbz", &[0; 80]);
    write("notes.txt", b"no table");
    let mut engine = engine("chess", &folder);
    engine.until("info string cannot use table \"*KQvK.rtbw\": *");
    engine.next("info string chess: found 3 Syzygy tables (up to 3 pieces)");
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    for fen in [
        "8/8/8/3k4/8/8/1R6/K7 w - - 0 1",
        "8/8/8/3k4/8/8/8/KQ6 w - - 0 1",
        "8/8/8/3k4/8/8/3P4/K7 w - - 0 1",
        "8/8/8/3k4/8/8/3p4/K7 b - - 0 1",
    ] {
        let position = chess.position(fen, false).expect("a position");
        let (_, best) = answer(&mut engine, &position, 100);
        assert!(position.parse_turn(&best).is_some(), "{best}");
    }
    engine.end();
}

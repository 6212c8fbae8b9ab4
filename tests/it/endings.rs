//! Syzygy tables: the engine that plays by them. Those of three men lie in tests/endings.

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

/// An engine without a network that plays `game` by the tables in `folder`.
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

/// The last report and the turn that the engine plays in `position` after so many visits.
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
fn what_is_won_is_won_in_time() {
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
fn the_best_defence_is_played() {
    let mut engine = engine("chess", &tables());
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    for (fen, only) in [
        ("8/8/4k3/8/4PK2/8/8/8 b - - 0 1", "e6f6"),
        ("8/8/4k3/8/4PK2/8/8/8 b - - 31 50", "e6f6"),
        // Lost, but no other move puts the promotion off for so long.
        ("8/8/8/8/8/3k4/3p4/4K3 w - - 0 1", "e1d1"),
    ] {
        let position = chess.position(fen, false).expect("a position");
        let (_, best) = answer(&mut engine, &position, 50);
        assert_eq!(best, only, "{fen}");
    }
}

#[test]
fn what_is_known_is_told() {
    let mut engine = engine("chess", &tables());
    engine.until("info string chess: 10 tables of endings of up to 3 men");
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    // Whatever is captured, two bare kings are left.
    let position = chess.position("8/8/8/8/8/8/1q6/K3k3 w - - 0 1", false).expect("a position");
    let (report, best) = answer(&mut engine, &position, 30);
    assert_eq!(best, "a1b2");
    assert!(report.contains(" score cp 0 "), "{report}");
    let position = chess.position("7k/4P3/8/8/8/8/p7/1K6 w - - 0 1", false).expect("a position");
    let (report, _) = answer(&mut engine, &position, 100);
    assert!(report.contains(" tbhits "), "{report}");
    // Other games have other tables, or none.
    engine.say("setoption name UCI_Variant value crazyhouse");
    engine.say("isready");
    engine.until("info string crazyhouse: there are no tables of endings for it");
    engine.say("setoption name UCI_Variant value atomic");
    engine.say("isready");
    engine.until("info string atomic: 4 tables of endings of up to 3 men");
    engine.end();
}

#[test]
fn scores_say_what_the_tables_know() {
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
fn a_mate_is_preferred_to_the_tables_distance() {
    let mut engine = engine("chess", &tables());
    let chess = Catalogue::shipped().require("chess").expect("shipped");
    let position = chess.position("k7/8/1K6/8/8/8/8/6Q1 w - - 0 1", false).expect("a position");
    let (report, _) = answer(&mut engine, &position, 50);
    assert!(report.contains(" score mate 1 "), "{report}");
    engine.end();
}

#[test]
fn damaged_tables_end_no_search() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged-endings");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let whole = |name: &str| fs::read(tables().join(name)).expect("a table");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("written");
    // No length that a table has; a head without a body; a body full of nonsense.
    write("KQvK.rtbw", &whole("KQvK.rtbw")[..100]);
    write("KRvK.rtbw", &whole("KRvK.rtbw")[..80]);
    let mut nonsense = whole("KPvK.rtbw");
    nonsense[60..].iter_mut().enumerate().for_each(|(n, byte)| *byte = (n * 77 % 251) as u8);
    write("KPvK.rtbw", &nonsense);
    write("KPvK.rtbz", &[0; 80]);
    write("notes.txt", b"no table");
    let mut engine = engine("chess", &folder);
    engine.until("info string chess: 3 tables of endings of up to 3 men");
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

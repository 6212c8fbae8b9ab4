//! Tablebases: the index, files, and the engine that probes them.

use crate::support::naive;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::support::talk::{self, Engine, matches};
use menagerie::rules::{Board, Color, MoveList, Position, Square, Symmetry, Value, perft};
use menagerie::tablebase::{Image, Index, IndexError, SolvedTable, TableError};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Variants with and without each symmetry, with pieces once, twice, and in any number.
const GAMES: &str = "\
[twice:3x3]
maxRank = 4
selfPlayMen = KRRNkbb
pawn = p
knight = n
bishop = b
promotionRegionWhite = *4
startFen = k2/3/3/1RK w - - 0 1

[lopsided:3x3full]
maxFile = 2
promotionRegionWhite = a3
startFen = k1/1p/PK w - - 0 1

[uneven:3x3full]
promotionPieceTypesWhite = q
promotionPieceTypesBlack = n

[both:lopsided]
promotionPieceTypesBlack = r

[endgame:chess]
castling = false
selfPlayMen = KQkr
";

fn catalogue() -> &'static Catalogue {
    static EXTENDED: OnceLock<Catalogue> = OnceLock::new();
    EXTENDED.get_or_init(|| {
        let (catalogue, faults) = Catalogue::shipped().extended(GAMES);
        assert!(faults.is_empty(), "{faults:?}");
        catalogue
    })
}

fn game(name: &str) -> Arc<Variant> {
    catalogue().require(name).expect("a game")
}

/// Returns the table of 3x3 chess.
fn solved() -> &'static SolvedTable {
    static SOLVED: OnceLock<SolvedTable> = OnceLock::new();
    SOLVED.get_or_init(|| naive::table(&game("3x3")))
}

fn file_of(variant: &Variant, table: &SolvedTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.write(variant, &mut bytes).expect("a Vec takes all");
    bytes
}

#[test]
fn symmetries_of_variants() {
    let symmetry = |name: &str| game(name).start().symmetry();
    let both = Symmetry { files: true, colors: true };
    for name in ["chess", "3x3", "3x3full", "crazyhouse", "twice", "endgame"] {
        assert_eq!(symmetry(name), both, "{name}");
    }
    assert_eq!(symmetry("uneven"), Symmetry { files: true, colors: false });
    assert_eq!(symmetry("lopsided"), Symmetry { files: false, colors: false });
    assert_eq!(symmetry("horde"), Symmetry { files: true, colors: false });
    assert_eq!(symmetry("tictacmo"), Symmetry { files: false, colors: false });
}

/// Returns the image of a board with a corner on a1.
fn image(board: &Board, files: u32, ranks: u32, image: Image) -> Board {
    let mut other = Board::empty();
    for (square, piece) in board.clone() {
        let (file, rank) = (u32::from(square.file()), u32::from(square.rank()));
        let file = if image.mirrored { files - 1 - file } else { file };
        let rank = if image.flipped { ranks - 1 - rank } else { rank };
        let color = if image.flipped { !piece.color } else { piece.color };
        other
            .set_piece_at(Square::new(8 * rank + file), menagerie::rules::Piece { color, ..piece });
    }
    other
}

#[test]
fn symmetry_preserves_moves_and_outcomes() {
    let mut rng = SmallRng::seed_from_u64(11);
    let mut compared = 0;
    for variant in catalogue().iter() {
        let start = variant.start();
        let (symmetry, game_spec) = (start.symmetry(), start.game_spec());
        let mut legal = MoveList::new();
        let mut walk = start.clone();
        for _ in 0..60 {
            walk.legal_moves(&mut legal);
            let Some(&m) = legal.choose(&mut rng) else { break };
            walk.play_unchecked(m);
            if walk.mid_turn() {
                continue;
            }
            let (board, turn) = (walk.board().pieces.clone(), walk.board().turn);
            let mut plain = start.clone();
            if !plain.set_up(&board, turn) {
                continue;
            }
            for (mirrored, flipped) in [(true, false), (false, true), (true, true)] {
                if mirrored && !symmetry.files || flipped && !symmetry.colors {
                    continue;
                }
                let how = Image { mirrored, flipped };
                let (files, ranks) = (game_spec.files as u32, game_spec.ranks as u32);
                let mut other = start.clone();
                let turn = if flipped { !turn } else { turn };
                assert!(other.set_up(&image(&board, files, ranks, how), turn));
                let (a, b) = (plain.fen(), other.fen());
                assert_eq!(perft(&plain, 2), perft(&other, 2), "{}: {a}, {b}", variant.name());
                let score = |p: &Position| p.outcome().map(|o| (o.score(p.turn()), o.reason));
                assert_eq!(score(&plain), score(&other), "{}: {a}, {b}", variant.name());
                compared += 1;
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

#[test]
fn set_up_gives_the_position_of_the_fen() {
    for (name, fen) in [
        ("3x3full", "rkb/1p1/BKR b - - 0 1"),
        ("chess", "r3k2r/8/8/3pP3/8/8/8/R3K2R w - - 0 1"),
        ("crazyhouse", "4k3/8/8/8/8/8/8/4KR2[] b - - 0 1"),
        ("3check", "4k3/8/8/8/8/8/8/4KR2 b - - 3+3 0 1"),
    ] {
        let variant = game(name);
        let right = variant.position(fen, false).expect("a position");
        // After any other position.
        let mut position = variant.start();
        for _ in 0..3 {
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            if let Some(&m) = legal.first() {
                position.play_unchecked(m);
            }
        }
        assert!(position.set_up(right.board().pieces, right.board().turn));
        assert_eq!((position.fen(), position.key()), (right.fen(), right.key()));
        assert!(!position.board().repeated);
    }
    let mut position = game("3x3full").start();
    let board =
        |fen: &str| game("chess").position(fen, false).expect("a FEN").board().pieces.clone();
    for (fen, why) in [
        ("8/8/8/8/8/k7/8/KP5P w - - 0 1", "a piece outside the board"),
        ("8/8/8/8/8/k1k5/8/K7 w - - 0 1", "two kings"),
        ("8/8/8/8/8/kP6/8/K7 w - - 0 1", "a pawn on its last rank"),
    ] {
        let shakmaty = fen.parse::<shakmaty::fen::Fen>().expect("a FEN");
        assert!(!position.set_up(&shakmaty.as_setup().board, Color::White), "{why}");
    }
    assert!(!game("tictacmo").start().set_up(&board("8/8/8/8/8/k7/8/K7 w - - 0 1"), Color::White));
}

#[test]
fn index_numbers_one_position_and_its_images() {
    for name in ["3x3", "lopsided", "both"] {
        let variant = game(name);
        let index = Index::new(&variant).expect("numbers");
        let mut position = variant.start();
        let mut next = 0;
        for block in index.blocks() {
            assert_eq!(block.numbers.start, next, "{name}");
            next = block.numbers.end;
            for number in block.numbers.clone() {
                for image in index.images_of(number) {
                    index.set_up(number, image, &mut position);
                    assert_eq!(index.number(&position), Some(number), "{name}: {}", position.fen());
                }
            }
        }
        assert_eq!(next, index.len());
        assert_eq!(index.layers().last().map(|layer| layer.end), Some(index.len()));
    }
}

#[test]
fn index_numbers_all_positions_of_3x3_chess() {
    // Compared with a direct count of the placements of two kings, not adjacent, and any pieces.
    let index = Index::new(&game("3x3full")).expect("numbers");
    let images: u64 = index
        .blocks()
        .map(|block| (block.numbers.end - block.numbers.start) * 2 * block.images)
        .sum();
    // 32 pairs of kings. The other squares have any piece, but no pawn on its last rank.
    let ways = |kings: [usize; 2]| -> u64 {
        let edges = 6 - kings.iter().filter(|king| **king != 1).count() as u32;
        10_u64.pow(edges) * 11_u64.pow(3 - kings.iter().filter(|king| **king == 1).count() as u32)
    };
    let squares = || (0..3_i32).flat_map(|file| (0..3_i32).map(move |rank| (file, rank)));
    let pairs = squares().flat_map(|a| squares().map(move |b| (a, b)));
    let apart = |&((f, r), (g, s)): &((i32, i32), (i32, i32))| (f - g).abs().max((r - s).abs()) > 1;
    let all: u64 = pairs.filter(apart).map(|(a, b)| ways([a.1 as usize, b.1 as usize])).sum();
    assert_eq!(images, 2 * all);
}

proptest! {
    #[test]
    fn index_round_trips(which in 0..6_usize, share in 0.0..1.0_f64, way in 0..4_u8) {
        let name = ["3x3", "3x3full", "twice", "lopsided", "uneven", "endgame"][which];
        let variant = game(name);
        static INDEXES: [OnceLock<Index>; 6] = [const { OnceLock::new() }; 6];
        let index = INDEXES[which].get_or_init(|| Index::new(&variant).expect("numbers"));
        let number = (index.len() as f64 * share) as u64;
        let images = index.images_of(number);
        let mut position = variant.start();
        let legal = index.set_up(number, images[usize::from(way) % images.len()], &mut position);
        prop_assert_eq!(index.number(&position), Some(number));
        let parsed = variant.position(&position.fen(), false).expect("the FEN of a position");
        prop_assert_eq!(parsed.opponent_in_check(), !legal);
        prop_assert_eq!(index.number(&parsed), Some(number));
    }
}

#[test]
fn index_refuses_other_positions_and_variants() {
    let index = Index::new(&game("3x3")).expect("numbers");
    let number =
        |name: &str, fen: &str| index.number(&game(name).position(fen, false).expect("a position"));
    assert!(number("3x3", "k2/3/1RK w - - 17 40").is_some());
    assert_eq!(number("3x3", "k2/3/RRK w - - 0 1"), None);
    assert_eq!(number("3x3full", "k2/3/1NK w - - 0 1"), None);
    let endgame = Index::new(&game("endgame")).expect("numbers");
    let number =
        |fen: &str| endgame.number(&game("chess").position(fen, false).expect("a position"));
    assert!(number("4k2r/8/8/8/8/8/8/4K3 w - - 0 1").is_some());
    assert_eq!(number("4k2r/8/8/8/8/8/8/4K3 w k - 0 1"), None);
    assert_eq!(number("4k2q/8/8/8/8/8/8/4K3 w - - 0 1"), None);
    for name in ["chess", "gardner"] {
        let refused = Index::new(&game(name)).expect_err(name);
        assert!(matches!(refused, IndexError::Many(_)), "{refused}");
    }
    for name in ["tictactoe", "antichess", "duck"] {
        let refused = Index::new(&game(name)).expect_err(name).to_string();
        assert!(refused.contains(name), "{refused}");
    }
}

#[test]
fn table_round_trips() {
    let (variant, table) = (game("3x3"), solved());
    let bytes = file_of(&variant, table);
    let read = SolvedTable::read(&variant, &bytes).expect("an intact table");
    assert_eq!(read.counts(), table.counts());
    assert_eq!(table.counts().map(|counts| counts.of(|_| true)), [16_076; 2]);
    assert!(read.positions().eq_by_fen(table.positions()));
    assert_eq!(SolvedTable::variant_of(&bytes).as_deref(), Some("3x3"));
}

/// Compares positions by their FEN.
trait EqByFen: Iterator<Item = (Position, Value)> + Sized {
    fn eq_by_fen(self, other: impl Iterator<Item = (Position, Value)>) -> bool {
        let text = |(position, value): (Position, Value)| (position.fen(), value);
        self.map(text).eq(other.map(text))
    }
}

impl<I: Iterator<Item = (Position, Value)>> EqByFen for I {}

#[test]
fn table_detects_truncation_and_flipped_bits() {
    let variant = game("3x3");
    let bytes = file_of(&variant, solved());
    let mut rng = SmallRng::seed_from_u64(5);
    for _ in 0..300 {
        let at = rng.random_range(0..bytes.len());
        assert!(SolvedTable::read(&variant, &bytes[..at]).is_err(), "truncated to {at} bytes");
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << rng.random_range(0..8);
        assert!(SolvedTable::read(&variant, &flipped).is_err(), "a bit of byte {at} flipped");
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(SolvedTable::read(&variant, &longer).err(), Some(TableError::Damaged));
}

/// Returns a variant of 3x3 chess in which stalemate wins, with the same name.
fn other_rules() -> Arc<Variant> {
    let line = "selfPlayMen = KQRkqr\n";
    let text =
        include_str!("../../variants.ini").replace(line, &format!("{line}stalemateValue = win\n"));
    let catalogue = Catalogue::parse(&text).expect("the games");
    catalogue.require("3x3").expect("a game")
}

#[test]
fn table_of_other_rules_is_refused() {
    let other = other_rules();
    let bytes = file_of(&other, &naive::table(&other));
    assert!(SolvedTable::read(&other, &bytes).is_ok());
    let refused = SolvedTable::read(&game("3x3"), &bytes).expect_err("other rules");
    assert!(matches!(refused, TableError::Rules { .. }), "{refused}");
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    talk::file(&format!("table-{name}"), bytes)
}

#[test]
fn engine_plays_by_a_table() {
    let (variant, table) = (game("3x3"), solved());
    let path = file("3x3", &file_of(&variant, table));
    let mut engine = Engine::start();
    engine.say("setoption name UCI_Variant value 3x3");
    engine.say("setoption name Hash value 1");
    engine.say(&format!("setoption name TablePath value {}", path.display()));
    engine.say("isready");
    engine.until(&format!("info string 3x3: using the solved table \"{}\", *", path.display()));
    engine.until("readyok");
    let mut rng = SmallRng::seed_from_u64(7);
    let positions: Vec<_> = table.positions().filter(|(p, _)| p.outcome().is_none()).collect();
    for (position, value) in positions.sample(&mut rng, 400) {
        engine.say(&format!("position fen {}", position.fen()));
        engine.say("go nodes 1");
        let report = engine.until("info depth *");
        let score = match value {
            Value::Win(plies) => format!("* score mate {} *", plies.div_ceil(2)),
            Value::Draw => "* score cp 0 *".to_owned(),
            Value::Loss(plies) => format!("* score mate -{} *", plies / 2),
        };
        assert!(matches(&score, &report), "{}, {value:?}: {report}", position.fen());
        // A won or lost PV continues to the end of the game.
        let line = report.split(" pv ").nth(1).expect("a line").split(' ').count();
        assert_eq!(line, value.length().map_or(line, |plies| plies as usize), "{report}");
        let best = engine.until("bestmove *");
        let m = position.parse_turn(best.split(' ').nth(1).expect("a move")).expect("legal");
        assert!(table.best(position).expect("known").contains(&m[0]), "{}: {best}", position.fen());
    }
    // Several PVs, each with its own proof, and a search without limits.
    engine.say("setoption name MultiPV value 3");
    engine.say("position fen k2/3/1RK w - - 0 1");
    engine.say("go infinite");
    engine.until("info depth * multipv 3 score *");
    engine.say("stop");
    engine.until("bestmove *");
    // Without the table, the engine searches again.
    engine.say("setoption name TablePath value <empty>");
    engine.say("setoption name MultiPV value 1");
    engine.say("position fen k2/3/QRK b - - 0 1");
    engine.say("go nodes 1");
    engine.until("bestmove *");
    engine.end();
}

#[test]
fn engine_refuses_invalid_tables_and_plays_on() {
    let variant = game("3x3");
    let bytes = file_of(&variant, solved());
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    let other = other_rules();
    let rules = file_of(&other, &naive::table(&other));
    let lopsided = game("lopsided");
    let foreign = file_of(&lopsided, &naive::table(&lopsided));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let missing = folder.join("no such table");
    let _ = fs::remove_file(&missing);
    let cases = [
        (file("cut", &bytes[..bytes.len() - 1]), "damaged table: *"),
        (file("flipped", &flipped), "damaged table: *"),
        (file("empty", b""), "not a table: the first line is \"\", *"),
        (file("text", &b"this is a text\n".repeat(999)), "*the first line is \"this is a text\"*"),
        (
            file("binary", &[0xff, 0, b'\r', 7]),
            "*the first line is \"\\\\xff\\\\x00\\\\r\\\\x07\"*",
        ),
        (file("rules", &rules), "table of other rules: wrong value of \"*\""),
        (file("foreign", &foreign), "table of \"lopsided\", expected 3x3"),
        (missing, "*"),
        (folder, "*"),
    ];
    let mut engine = Engine::start();
    engine.say("setoption name UCI_Variant value 3x3");
    for (path, reason) in cases {
        let path = path.display();
        engine.say(&format!("setoption name TablePath value {path}"));
        engine.say("isready");
        let pattern = format!("info string 3x3: cannot use the solved table \"{path}\": *");
        let line = engine.until(&pattern);
        let reason = reason.replace("\\\\", "\\");
        assert!(matches(&pattern.replace(": *", &format!(": {reason}")), &line), "{line}");
        engine.until("readyok");
        engine.say("position startpos");
        engine.say("go nodes 20");
        engine.until("bestmove *");
    }
    engine.end();
}

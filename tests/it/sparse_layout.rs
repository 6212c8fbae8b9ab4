//! Layouts of sparse tables for several games: their union, the maps to it, and their text.

use std::collections::HashMap;

use menagerie::encoding::sparse::{Block, IndexMap, SparseLayoutError};
use menagerie::encoding::{SparseEncoding, SparseInput, SparseLayout};
use menagerie::rules::MoveList;
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The sparse encodings of the catalogue, by the names of their variants.
fn encodings() -> Vec<(String, SparseEncoding)> {
    let catalogue = Catalogue::shipped();
    let encoding = |variant: &menagerie::variant::Variant| {
        let encoding = SparseEncoding::new(&variant.start().game_spec())?;
        Some((variant.name().to_owned(), encoding))
    };
    catalogue.iter().filter_map(|variant| encoding(variant)).collect()
}

fn union(games: &[(String, SparseEncoding)]) -> SparseLayout {
    let games: Vec<(&str, &SparseEncoding)> =
        games.iter().map(|(name, encoding)| (name.as_str(), encoding)).collect();
    SparseLayout::union(&games).expect("the games have a union")
}

/// Block name and size, and the number of an index within the block; `None` for padding.
fn place(blocks: &[Block], index: u16) -> Option<(&str, usize, usize)> {
    let index = usize::from(index);
    let block =
        blocks.iter().find(|block| (block.first..block.first + block.size).contains(&index))?;
    Some((&block.name, block.size, index - block.first))
}

#[test]
fn union_has_each_block_once() {
    let mut games = encodings();
    let layout = union(&games);
    assert_eq!(layout.variants().len(), games.len());
    for blocks in [layout.input_blocks(), layout.move_blocks()] {
        let mut seen = HashMap::new();
        for block in blocks {
            let other = seen.insert((&block.name, block.size), block.first);
            assert_eq!(other, None, "{}:{}", block.name, block.size);
        }
    }
    let shape = layout.shape();
    assert!(shape.inputs.max(shape.move_rows) <= usize::from(u16::MAX), "{shape:?}");
    games.reverse();
    assert_eq!(union(&games), layout);
}

#[test]
fn maps_keep_blocks_and_groups() {
    let games = encodings();
    let layout = union(&games);
    for (name, encoding) in &games {
        let map = IndexMap::new(&SparseLayout::of(encoding), &layout);
        assert!(map.missing().is_empty() && map.missing_move_rows() == 0.0, "{name}");
        let shape = encoding.shape();
        for input in 0..shape.inputs as u16 {
            let expected = place(encoding.input_blocks(), input);
            assert_eq!(place(layout.input_blocks(), map.input(input)), expected, "{name}");
        }
        for row in 0..=shape.move_rows as u16 {
            let expected = place(encoding.move_blocks(), row);
            assert_eq!(place(layout.move_blocks(), map.move_row(row)), expected, "{name}");
        }
        let sizes = |blocks: &[Block]| -> HashMap<(String, usize), usize> {
            blocks.iter().map(|it| ((it.name.clone(), it.size), it.group)).collect()
        };
        let all = sizes(layout.input_blocks());
        assert!(sizes(encoding.input_blocks()).iter().all(|(key, group)| all[key] == *group));
    }
}

#[test]
fn mapped_positions_have_the_same_blocks() {
    let games = encodings();
    let layout = union(&games);
    let catalogue = Catalogue::shipped();
    let (mut legal, mut input) = (MoveList::new(), SparseInput::default());
    for (name, encoding) in &games {
        let map = IndexMap::new(&SparseLayout::of(encoding), &layout);
        let mut position = catalogue.get(name).expect("a game of the catalogue").start();
        let mut rng = SmallRng::seed_from_u64(1);
        for _ in 0..60 {
            position.legal_moves(&mut legal);
            if legal.is_empty() {
                break;
            }
            encoding.write(&position, &legal, &mut input);
            let places = |blocks, indices: &[u16]| -> Vec<Option<(String, usize, usize)>> {
                let owned = |(name, size, nth): (&str, usize, usize)| (name.to_owned(), size, nth);
                indices.iter().map(|&index| place(blocks, index).map(owned)).collect()
            };
            let inputs = places(encoding.input_blocks(), &input.inputs);
            let rows = places(encoding.move_blocks(), &input.move_rows);
            map.apply(&mut input);
            assert_eq!(places(layout.input_blocks(), &input.inputs), inputs, "{name}");
            assert_eq!(places(layout.move_blocks(), &input.move_rows), rows, "{name}");
            position.play_unchecked(legal[rng.random_range(0..legal.len())]);
        }
    }
}

#[test]
fn rules_are_inputs_that_are_always_active() {
    let games = encodings();
    let rules = |name: &str| -> Vec<&str> {
        let (_, encoding) = games.iter().find(|(variant, _)| variant == name).expect("shipped");
        let names = encoding.input_blocks().iter().map(|block| block.name.as_str());
        names.filter_map(|name| name.strip_prefix("rule(")?.strip_suffix(')')).collect()
    };
    let hill = "flag(K-d4e4d5e5,K-d4e4d5e5)";
    let race = "flag(K-a8b8c8d8e8f8g8h8,K-a8b8c8d8e8f8g8h8)";
    for (name, expected) in [
        ("chess", &["royal-king"][..]),
        ("nocastle", &["royal-king"]),
        ("3check", &["royal-king"]),
        ("crazyhouse", &["royal-king", "captures-to-hand"]),
        ("bughouse", &["royal-king", "captures-to-partner", "stalemate(loss)"]),
        ("kingofthehill", &["royal-king", hill]),
        ("racingkings", &["royal-king", "no-checks", race]),
        ("armageddon", &["royal-king", "draw-odds(black)"]),
        ("misere", &["royal-king", "checkmate(win)"]),
        ("placement", &["royal-king", "must-drop"]),
        ("horde", &["royal-king", "extinction(all,0,loss)"]),
        ("coregal", &["royal-king", "extinction(Q,64,loss)", "pseudo-royal"]),
        ("nocheckatomic", &["blast", "extinction(K,0,loss)"]),
        ("atomic", &["blast", "extinction(K,0,loss)", "pseudo-royal"]),
        ("atomar", &["blast", "blast-immune(K)", "mutually-immune(K)", "extinction(K,0,loss)"]),
        ("duck", &["stalemate(win)", "walls(duck)", "extinction(K,0,loss)"]),
        ("antichess", &["must-capture", "stalemate(win)", "extinction(all,0,win)"]),
        (
            "suicide",
            &[
                "must-capture",
                "fewer-pieces-win-stalemate",
                "stalemate(win)",
                "extinction(all,0,win)",
            ],
        ),
    ] {
        assert_eq!(rules(name), expected, "{name}");
    }
}

#[test]
fn rules_are_named_once_however_pieces_are_listed() {
    let layouts = ["qr", "rqrq"].map(|pieces| {
        let sections = format!(
            "[mine:nocheckatomic]\nextinctionPieceTypes = {pieces}\n\
             blastImmuneTypes = {pieces}\n"
        );
        let (catalogue, faults) = Catalogue::shipped().extended(&sections);
        assert!(faults.is_empty(), "{faults:?}");
        let variant = catalogue.get("mine").expect("a game of the sections");
        let encoding = SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces");
        SparseLayout::of(&encoding).to_string()
    });
    assert_eq!(layouts[0], layouts[1]);
    layouts[0].parse::<SparseLayout>().expect("a layout");
}

#[test]
fn blocks_that_a_base_lacks_are_padding() {
    let games = encodings();
    let chess = games.iter().find(|(name, _)| name == "chess").expect("chess is shipped").clone();
    let (_, crazyhouse) = games.iter().find(|(name, _)| name == "crazyhouse").expect("shipped");
    let base = union(&[chess]);
    let map = IndexMap::new(&SparseLayout::of(crazyhouse), &base);
    assert!(map.missing().iter().any(|name| name == "pocket(Pawn,own)"), "{:?}", map.missing());
    assert!((0.2..0.4).contains(&map.missing_move_rows()), "{}", map.missing_move_rows());
    let pocket = crazyhouse.input_blocks().iter().find(|block| block.name.starts_with("pocket"));
    let pocket = pocket.expect("crazyhouse has pockets").first as u16;
    assert_eq!(map.input(pocket), map.input_padding());
    let mut position = SparseInput { inputs: vec![0, pocket], move_rows: vec![0] };
    map.apply(&mut position);
    assert_eq!(position.inputs.len(), 1);
    assert_eq!(map.move_row(crazyhouse.shape().move_rows as u16), map.move_padding());
}

/// Boards that are neither the same nor of the same shape turned have other numbers of squares and other
/// blocks of steps, so that the names and sizes of blocks distinguish them.
#[test]
fn boards_of_the_same_number_of_squares_have_no_union() {
    let sections = "[wide:chess]\nmaxRank = 4\nmaxFile = h\nstartFen = rnbqkbnr/8/8/RNBQKBNR w - - 0 1\n\
                    castling = false\ndoubleStep = false\n\
                    [tall:chess]\nmaxRank = 8\nmaxFile = d\nstartFen = rkbn/4/4/4/4/4/4/RKBN w - - 0 1\n\
                    castling = false\ndoubleStep = false\n";
    let (catalogue, faults) = Catalogue::shipped().extended(sections);
    assert!(faults.is_empty(), "{faults:?}");
    let encoding = |name: &str| {
        let variant = catalogue.get(name).expect("a game of the sections");
        SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces")
    };
    let (wide, tall) = (encoding("wide"), encoding("tall"));
    let error = SparseLayout::union(&[("wide", &wide), ("tall", &tall)]).expect_err("same squares");
    assert!(matches!(error, SparseLayoutError::Boards(..)), "{error}");
    let error = SparseLayout::union(&[("wide", &wide), ("wide", &wide)]).expect_err("twice");
    assert!(matches!(error, SparseLayoutError::Word(_)), "{error}");
}

#[test]
fn layouts_survive_their_text() {
    let games = encodings();
    let singles = games.iter().map(|(_, encoding)| SparseLayout::of(encoding));
    for layout in singles.chain([union(&games)]) {
        let text = layout.to_string();
        let parsed: SparseLayout = text.parse().expect("a layout");
        assert_eq!(parsed.to_string(), text);
        assert_eq!(parsed.shape(), layout.shape());
        assert_eq!(parsed.variants(), layout.variants());
    }
}

#[test]
fn damaged_layout_text_is_refused() {
    let text = union(&encodings()[..2]).to_string();
    let refused = |text: &str| {
        let error = text.parse::<SparseLayout>().expect_err(text).to_string();
        assert!(!error.contains('\n') && error.len() < 200, "{error}");
    };
    for end in 0..text.find("moves: ").expect("the last part") + "moves: ".len() {
        refused(&text[..end]);
    }
    let changes = [
        ("boards: 8x8", "boards: 9x8"),
        ("boards: 8x8", "boards: 8x8 8x8"),
        ("sparse 1", "sparse 0"),
        ("variants: chess ", "variants: crazyhouse "),
        ("variants: chess ", "variants: chess  "),
        ("repeated:1", "repeated:65535"),
        ("repeated:1", "repeated:18446744073709551615"),
        ("repeated:1", "repeated:0"),
        ("repeated:1", "repeated:-1"),
        ("repeated:1", ":1"),
        ("repeated:1", "repeated:1 repeated:1"),
        ("repeated:1", ""),
    ];
    for (from, to) in changes {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        refused(&changed);
    }
}

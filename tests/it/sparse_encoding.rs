//! The contract of the sparse encoding, over random play in every game of the catalogue.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use menagerie::encoding::{Encoding, SparseEncoding, SparseInput};
use menagerie::rules::{GameSpec, MoveList, Position};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Inputs of one position, at most: this number of int8 rows cannot overflow a sum of 16 bits.
const MAX_ACTIVE_INPUTS: usize = 250;

/// A game with its encoding.
struct Game {
    name: String,
    game_spec: GameSpec,
    encoding: SparseEncoding,
}

/// Calls `each` with every position of some random games of every variant with pieces, its legal moves,
/// and its encoding.
fn random_positions(
    mut each: impl FnMut(&Game, &Position, &[menagerie::rules::Move], &SparseInput),
) {
    let mut input = SparseInput::default();
    let mut legal = MoveList::new();
    for variant in Catalogue::shipped().iter() {
        let game_spec = variant.start().game_spec();
        let Some(encoding) = SparseEncoding::new(&game_spec) else { continue };
        let game = Game { name: variant.name().to_owned(), game_spec, encoding };
        for seed in 0..20 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let mut position = variant.start();
            for _ in 0..200 {
                position.legal_moves(&mut legal);
                game.encoding.write(&position, &legal, &mut input);
                each(&game, &position, &legal, &input);
                if legal.is_empty() {
                    break;
                }
                position.play_unchecked(legal[rng.random_range(0..legal.len())]);
            }
        }
    }
}

fn write(encoding: &SparseEncoding, position: &Position) -> SparseInput {
    let mut input = SparseInput::default();
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    encoding.write(position, &legal, &mut input);
    input
}

/// The inputs and the rows of the moves without their order.
fn unordered(input: &SparseInput) -> (Vec<u16>, Vec<Vec<u16>>) {
    let mut inputs = input.inputs.clone();
    inputs.sort_unstable();
    let mut moves: Vec<_> = input.move_rows.chunks(4).map(<[u16]>::to_vec).collect();
    moves.sort();
    (inputs, moves)
}

#[test]
fn indices_are_in_range_and_inputs_occur_once() {
    let mut most = 0;
    random_positions(|game, position, legal, input| {
        let (fen, shape) = (position.fen(), game.encoding.shape());
        let name = &game.name;
        assert!(input.inputs.iter().all(|&it| usize::from(it) < shape.inputs), "{name} {fen}");
        let different: HashSet<_> = input.inputs.iter().collect();
        assert_eq!(different.len(), input.inputs.len(), "{name} {fen}");
        assert_eq!(input.move_rows.len(), legal.len() * shape.rows_per_move, "{name} {fen}");
        let last = shape.move_rows;
        assert!(input.move_rows.iter().all(|&row| usize::from(row) <= last), "{name} {fen}");
        assert!(input.inputs.len() <= MAX_ACTIVE_INPUTS, "{name} {fen}: {}", input.inputs.len());
        most = most.max(input.inputs.len());
    });
    assert!(most > 60, "only {most} inputs in any position");
}

#[test]
fn legal_moves_have_rows_of_their_own() {
    random_positions(|game, position, legal, input| {
        let mut owner = HashMap::new();
        for (m, rows) in legal.iter().zip(input.move_rows.chunks(4)) {
            let other = owner.insert(rows.to_vec(), m);
            assert_eq!(other, None, "{} {}: {m:?}", game.name, position.fen());
        }
    });
}

#[test]
fn blocks_follow_one_another_and_have_different_names() {
    for variant in Catalogue::shipped().iter() {
        let Some(encoding) = SparseEncoding::new(&variant.start().game_spec()) else { continue };
        let shape = encoding.shape();
        for (blocks, size) in
            [(encoding.input_blocks(), shape.inputs), (encoding.move_blocks(), shape.move_rows)]
        {
            let mut next = 0;
            for block in blocks {
                assert_eq!(block.first, next, "{} {}", variant.name(), block.name);
                assert_eq!(block.size % block.group, 0, "{} {}", variant.name(), block.name);
                next += block.size;
            }
            assert_eq!(next, size, "{}", variant.name());
            let names: HashSet<_> = blocks.iter().map(|block| &block.name).collect();
            assert_eq!(names.len(), blocks.len(), "{}", variant.name());
        }
    }
}

/// The planes of a position, the same for all positions that a sparse encoding may encode alike: images
/// of each other where the rules have that symmetry, and pieces in hand beyond those that are counted.
fn canonical_planes(game_spec: &GameSpec, encoding: &Encoding, position: &Position) -> Vec<u32> {
    let shape = encoding.shape();
    let mut planes = vec![f32::NAN; shape.input()];
    encoding.write_planes(&position.view(), &mut planes);
    let names = encoding.plane_names();
    for (name, plane) in names.iter().zip(planes.chunks_mut(shape.squares())) {
        if name == "Second" && game_spec.symmetry.colors {
            plane.fill(0.0);
        }
        if name.contains("Hand(") {
            let most = if name.contains("Pawn") { 4.0 } else { 2.0 };
            plane.iter_mut().for_each(|value| *value = value.min(most));
        }
    }
    let bits: Vec<u32> = planes.iter().map(|value| value.to_bits()).collect();
    if !game_spec.symmetry.files {
        return bits;
    }
    let boards = if game_spec.two_boards { 2 } else { 1 };
    let common = if game_spec.two_boards { 2 * shape.squares() } else { 0 };
    let (common, rest) = bits.split_at(common);
    let mut all = common.to_vec();
    for board in rest.chunks(rest.len() / boards) {
        let mirror: Vec<u32> =
            board.chunks(shape.width).flat_map(|rank| rank.iter().rev().copied()).collect();
        all.extend(board.to_vec().min(mirror));
    }
    all
}

#[test]
fn positions_that_play_differently_encode_differently() {
    let mut seen: HashMap<(String, Vec<u16>), (Vec<u32>, String)> = HashMap::new();
    random_positions(|game, position, _, input| {
        let planes = canonical_planes(&game.game_spec, &Encoding::new(&game.game_spec), position);
        let mut inputs = input.inputs.clone();
        inputs.sort_unstable();
        let key = (game.name.clone(), inputs);
        let fen = position.fen();
        let (same, other) = seen.entry(key).or_insert_with(|| (planes.clone(), fen.clone()));
        assert!(*same == planes, "{}: {fen} encodes like {other}", game.name);
    });
    assert!(seen.len() > 20_000, "only {} different positions", seen.len());
}

/// The same position with the colors exchanged, as FEN.
fn flip_colors(fen: &str, ranks: usize) -> String {
    let swap_case = |text: &str| -> String {
        let swap = |c: char| {
            if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
        };
        text.chars().map(swap).collect()
    };
    let fields: Vec<&str> = fen.split(' ').collect();
    let (board, pocket) = match fields[0].find('[') {
        Some(at) => fields[0].split_at(at),
        None => (fields[0], ""),
    };
    let board: Vec<&str> = board.split('/').rev().collect();
    let mut flipped = vec![swap_case(&board.join("/")) + &swap_case(pocket)];
    for (nth, field) in fields.iter().enumerate().skip(1) {
        flipped.push(match (nth, field.split_once('+')) {
            (1, _) => if *field == "w" { "b" } else { "w" }.to_owned(),
            (2, _) => swap_case(field),
            (3, _) if *field != "-" => {
                let rank: usize = field[1..].parse().expect("a rank");
                format!("{}{}", &field[..1], ranks + 1 - rank)
            }
            (_, Some((white, black))) => format!("{black}+{white}"),
            _ => (*field).to_owned(),
        });
    }
    flipped.join(" ")
}

#[test]
fn positions_with_colors_exchanged_encode_alike() {
    let catalogue = Catalogue::shipped();
    let mut compared = HashSet::new();
    random_positions(|game, position, _, _| {
        let game_spec = &game.game_spec;
        if !game_spec.symmetry.colors || game_spec.two_boards || position.mid_turn() {
            return;
        }
        let variant = catalogue.get(&game.name).expect("a game of the catalogue");
        let fen = position.fen();
        let flipped = flip_colors(&fen, game_spec.ranks);
        // From its FEN, too: which positions stood before is not in it.
        let read = |fen: &str| variant.position(fen, true).unwrap_or_else(|e| panic!("{e}: {fen}"));
        let [own, other] = [&fen, &flipped].map(|fen| write(&game.encoding, &read(fen)));
        assert_eq!(unordered(&own), unordered(&other), "{} {fen} and {flipped}", game.name);
        compared.insert(game.name.clone());
    });
    assert!(compared.len() > 25, "only {compared:?}");
}

#[test]
fn mirror_images_encode_alike_where_the_rules_are_symmetric() {
    let variant = Catalogue::shipped().get("chess").expect("chess is shipped");
    let encoding = SparseEncoding::new(&variant.start().game_spec()).expect("chess has pieces");
    let encode = |fen: &str| {
        let position = variant.position(fen, false).expect("a position");
        unordered(&write(&encoding, &position))
    };
    let right = encode("5rk1/5ppp/8/8/3N4/8/5PPP/3R2K1 w - - 0 1");
    let left = encode("1kr5/ppp5/8/8/4N3/8/PPP5/1K2R3 w - - 0 1");
    assert_eq!(right, left);
    // Castling rights break the symmetry: a king and a rook that may castle are not their mirror image.
    let short = encode("4k3/8/8/8/8/8/8/4K2R w K - 0 1");
    let mirrored = encode("3k4/8/8/8/8/8/8/R2K4 w A - 0 1");
    assert_ne!(short.0, mirrored.0);
}

#[test]
fn games_without_pieces_have_no_sparse_encoding() {
    for name in ["tictactoe", "connect4", "tictacmo"] {
        let variant = Catalogue::shipped().get(name).expect("it is shipped");
        assert!(SparseEncoding::new(&variant.start().game_spec()).is_none(), "{name}");
    }
}

/// The active inputs of the blocks whose names begin with `kind`, by block and their number in it.
fn active<'a>(
    encoding: &'a SparseEncoding,
    position: &Position,
    kind: &str,
) -> Vec<(&'a str, u16)> {
    let inputs = write(encoding, position).inputs;
    let mut active = Vec::new();
    for block in encoding.input_blocks().iter().filter(|block| block.name.starts_with(kind)) {
        let range = block.first..block.first + block.size;
        let within = inputs.iter().filter(|&&input| range.contains(&usize::from(input)));
        active.extend(within.map(|input| (block.name.as_str(), input - block.first as u16)));
    }
    active
}

/// Checks which inputs of the blocks whose names begin with `kind` are active in a position.
fn check(variant: &str, fen: &str, kind: &str, wanted: &[(&str, u16)]) {
    let variant = Catalogue::shipped().get(variant).expect("it is shipped");
    let encoding = SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces");
    let position = variant.position(fen, false).expect("a position");
    assert_eq!(active(&encoding, &position, kind), wanted, "{fen}");
}

#[test]
fn checks_and_threats_are_counted() {
    // The first check of a rook; the king can capture the rook beside it, unless a bishop defends it.
    let rook = 8;
    let safe = [("safe-checks(own)", rook)];
    check("chess", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "safe-checks", &safe);
    check("chess", "4k3/8/8/8/8/8/8/3RK3 w - - 0 1", "checks", &[("checks(own)", rook)]);
    check("chess", "4k3/8/8/8/8/8/8/3RK3 w - - 0 1", "safe-checks", &[]);
    check("chess", "4k3/8/8/B7/8/8/8/3RK3 w - - 0 1", "safe-checks", &safe);
    check(
        "chess",
        "4k3/8/8/8/8/8/8/R3K3 b - - 0 1",
        "safe-checks",
        &[("safe-checks(other)", rook)],
    );
    // Drops give four checks of a knight, and the one of a queen counts as a fourth at most.
    let knights = [("safe-checks(own)", 3)];
    check("crazyhouse", "4k3/8/8/8/8/8/8/4K3[N] w - - 0 1", "safe-checks", &knights);
    let queen = [("checks(own)", 15)];
    check("chess", "4k3/8/8/Q7/8/8/8/4K3 w - - 0 1", "checks", &queen);
    // A pawn and a queen attack an undefended pawn, which attacks one, too.
    let own = [("threats(own)", 2), ("threats(own)", 98), ("threats(other)", 2)];
    check("chess", "4k3/8/8/3p4/4P3/8/8/3QK3 w - - 0 1", "threats", &own);
    // The same defended, and two of them.
    let defended = [("threats(own)", 1)];
    check("chess", "4k3/3pp3/2p1p3/3P4/8/8/8/4K3 w - - 0 1", "threats(own)", &defended);
}

#[test]
fn offers_are_counted() {
    // Each pawn's step offers it. Then a king has one step that does, and two that do not.
    let offers = [("offers(own)", 0), ("offers(other)", 0)];
    check("antichess", "8/8/8/8/1p6/8/P7/8 w - - 0 1", "offers", &offers);
    let fen = "8/8/8/8/8/2p5/8/K7 w - - 0 1";
    check("antichess", fen, "offers", &[("offers(own)", 40)]);
    check("antichess", fen, "quiet", &[("quiet-moves(own)", 41), ("quiet-moves(other)", 0)]);
}

#[test]
fn layouts_without_optional_blocks_encode_all_else_alike() {
    for variant in Catalogue::shipped().iter() {
        let start = variant.start();
        let Some(all) = SparseEncoding::new(&start.game_spec()) else { continue };
        let less = SparseEncoding::for_layout(&start.game_spec(), "").expect("it has pieces");
        assert_eq!(all.layout(), layout_for(&start, &all.layout()), "{}", variant.name());
        assert_eq!(less.layout(), layout_for(&start, &less.layout()), "{}", variant.name());
        let name = |encoding: &SparseEncoding, input: u16| {
            let at = |block: &&menagerie::encoding::sparse::Block| {
                (block.first..block.first + block.size).contains(&usize::from(input))
            };
            let block = encoding.input_blocks().iter().find(at).expect("a block");
            (block.name.clone(), usize::from(input) - block.first)
        };
        let names = |encoding: &SparseEncoding| -> Vec<_> {
            let inputs = write(encoding, &start).inputs;
            inputs.into_iter().map(|input| name(encoding, input)).collect()
        };
        let optional = ["checks(", "threats(", "offers(", "quiet-moves(", "rule("];
        let is_optional = |name: &str| optional.iter().any(|kind| name.contains(kind));
        let mut expected = names(&all);
        expected.retain(|(name, _)| !is_optional(name));
        assert_eq!(names(&less), expected, "{}", variant.name());
    }
}

/// The layout of the encoding of a game for a network with a layout.
fn layout_for(start: &Position, layout: &str) -> String {
    let encoding = SparseEncoding::for_layout(&start.game_spec(), layout);
    encoding.expect("it has pieces").layout()
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Networks name the layout they were trained with: a change here is one of the format.
#[test]
fn layouts_are_those_of_the_golden_file() {
    let mut lines = String::new();
    for variant in Catalogue::shipped().iter() {
        let game_spec = variant.start().game_spec();
        let Some(encoding) = SparseEncoding::new(&game_spec) else { continue };
        let less = SparseEncoding::for_layout(&game_spec, "").expect("it has pieces");
        for (encoding, note) in [(encoding, ""), (less, " without optional blocks")] {
            let (name, shape) = (variant.name(), encoding.shape());
            let hash = fingerprint(&encoding.layout());
            writeln!(lines, "{name} {} {} {hash:016x}{note}", shape.inputs, shape.move_rows)
                .expect("text can be written");
        }
    }
    let golden = include_str!("../golden/sparse-layouts.txt");
    assert_eq!(lines, golden, "the layouts are now:\n{lines}");
}

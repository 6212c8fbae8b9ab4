//! Properties of the encoding, in random games of every variant of the catalogue.

use crate::support::laws;

use std::collections::HashMap;

use menagerie::encoding::{Encoding, Layout};
use menagerie::rules::{MoveList, Position};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Calls `visit` with each position of some random games of every variant.
fn visit_random_positions(mut visit: impl FnMut(&str, &Encoding, &Position)) {
    for variant in Catalogue::shipped().iter() {
        let encoding = Encoding::of(&variant.start());
        for seed in 0..20 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let mut position = variant.start();
            let mut legal = MoveList::new();
            for _ in 0..200 {
                position.legal_moves(&mut legal);
                visit(variant.name(), &encoding, &position);
                if legal.is_empty() {
                    break;
                }
                position.play_unchecked(legal[rng.random_range(0..legal.len())]);
            }
        }
    }
}

#[test]
fn encoding_indices_of_legal_moves_are_distinct() {
    visit_random_positions(|_, encoding, position| laws::check_encoding(encoding, position));
}

#[test]
fn encoding_layouts_can_be_parsed() {
    for variant in Catalogue::shipped().iter() {
        let name = variant.name();
        let encoding = Encoding::of(&variant.start());
        let text = encoding.layout();
        let shape = encoding.shape();
        let layout = Layout::read(&text).expect("a layout");
        assert_eq!(layout.planes(), encoding.plane_names(), "{name}");
        let own = layout.indices_in(&layout).expect("the same board");
        assert_eq!(own.planes, (0..shape.planes).map(Some).collect::<Vec<_>>(), "{name}");
        assert_eq!(own.policy, (0..shape.policy_planes).map(Some).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn encoding_input_keys_are_equal_if_planes_are() {
    let mut seen: HashMap<(String, u64), Vec<u32>> = HashMap::new();
    let mut keys: HashMap<(String, Vec<u32>), u64> = HashMap::new();
    visit_random_positions(|name, encoding, position| {
        let mut planes = vec![f32::NAN; encoding.shape().input()];
        encoding.write_planes(&position.view(), &mut planes);
        let bits: Vec<u32> = planes.into_iter().map(f32::to_bits).collect();
        let key = encoding.input_key(position).0;
        let same = seen.entry((name.to_owned(), key)).or_insert_with(|| bits.clone());
        assert_eq!(*same, bits, "{name} {}", position.fen());
        let same = *keys.entry((name.to_owned(), bits)).or_insert(key);
        assert_eq!(same, key, "{name} {}", position.fen());
    });
}

#[test]
fn encoding_board_keys_are_equal_if_planes_are() {
    let mut seen: HashMap<(String, u64), Vec<u32>> = HashMap::new();
    let mut keys: HashMap<(String, usize, Vec<u32>), u64> = HashMap::new();
    let mut repeated = 0;
    visit_random_positions(|name, encoding, position| {
        let shape = encoding.shape();
        let Some(board_keys) = encoding.board_keys(position) else { return };
        let mut planes = vec![f32::NAN; shape.input()];
        encoding.write_planes(&position.view(), &mut planes);
        let board_planes = &planes[2 * shape.squares()..];
        let boards = board_planes.chunks(board_planes.len() / 2);
        for (board, (key, planes)) in board_keys.iter().zip(boards).enumerate() {
            let bits: Vec<u32> = planes.iter().map(|plane| plane.to_bits()).collect();
            let same = seen.entry((name.to_owned(), key.0)).or_insert_with(|| bits.clone());
            assert_eq!(*same, bits, "{name} {}", position.fen());
            let known = keys.len();
            let same = *keys.entry((name.to_owned(), board, bits)).or_insert(key.0);
            assert_eq!(same, key.0, "{name} {}", position.fen());
            repeated += usize::from(keys.len() == known);
        }
    });
    assert!(repeated > 1000, "only {repeated} repeated boards");
}

#[test]
fn encoding_of_mirrored_positions_differs_in_the_color_plane_only() {
    let variant = Catalogue::shipped().get("3x3").expect("shipped");
    let encoding = Encoding::of(&variant.start());
    let planes = |fen: &str| {
        let position = variant.position(fen, false).expect("a position");
        let mut planes = vec![0.0; encoding.shape().input()];
        encoding.write_planes(&position.view(), &mut planes);
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut moves: Vec<_> = legal.iter().map(|&m| encoding.index(&position, m)).collect();
        moves.sort();
        (planes, moves)
    };
    let (white, white_moves) = planes("kq1/3/1QK w - - 0 1");
    let (black, black_moves) = planes("1qk/3/KQ1 b - - 0 1");
    let (mirror, mirror_moves) = planes("1qk/3/KQ1 w - - 0 1");
    let squares = encoding.shape().squares();
    let without_color_plane =
        |planes: &[f32]| [&planes[..squares], &planes[2 * squares..]].concat();
    assert_eq!(without_color_plane(&white), without_color_plane(&black));
    assert_eq!(white_moves, black_moves);
    assert_ne!(without_color_plane(&white), without_color_plane(&mirror));
    assert_ne!(white_moves, mirror_moves);
}

//! The eight games of Lichess, made twice: by their keys and through shakmaty.

mod golden;

use menagerie::encoding::Encoding;
use menagerie::rules::{Move, MoveList, Position};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const EIGHT: [&str; 8] = [
    "chess",
    "crazyhouse",
    "atomic",
    "antichess",
    "horde",
    "kingofthehill",
    "racingkings",
    "3check",
];

/// The legal moves as text, in an order of their own.
fn texts(position: &Position) -> Vec<(String, Move)> {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let mut texts: Vec<_> = legal.into_iter().map(|m| (position.move_text(m), m)).collect();
    texts.sort();
    texts
}

fn planes(position: &Position) -> Vec<f32> {
    let encoding = Encoding::of(position);
    let mut planes = vec![0.0; encoding.shape().input()];
    encoding.write_planes(position.view(), &mut planes);
    planes
}

#[test]
fn random_games_are_equal_ply_by_ply() {
    let by_keys = Catalogue::parse(include_str!("../variants.ini")).expect("the shipped file");
    for name in EIGHT {
        let ours = by_keys.get(name).expect("it is shipped");
        let theirs = Catalogue::shipped().get(name).expect("it is shipped");
        let starts = golden::rows::<4>(include_str!("golden/perft.tsv"))
            .map(|[name, fen, ..]| (golden::variant(name), fen))
            .filter(|((other, _), _)| *other == name);
        let mut ends = 0;
        for (seed, ((_, chess960), fen)) in starts.enumerate() {
            let mut rng = SmallRng::seed_from_u64(seed as u64);
            let mut mine = ours.position(fen, chess960).expect("a golden FEN is read");
            let mut other = theirs.position(fen, chess960).expect("a golden FEN is read");
            assert_eq!(Encoding::of(&mine).layout(), Encoding::of(&other).layout(), "{name}");
            for _ in 0..400 {
                let here = format!("{name} {}", other.fen());
                assert_eq!(mine.fen(), other.fen(), "{name}");
                let legal = texts(&mine);
                assert_eq!(legal, texts(&other), "{here}");
                assert_eq!(mine.outcome(), other.outcome(), "{here}");
                assert_eq!(mine.claim(), other.claim(), "{here}");
                assert_eq!(planes(&mine), planes(&other), "{here}");
                if legal.is_empty() || mine.claim().is_some() {
                    ends += 1;
                    break;
                }
                let (_, chosen) = legal[rng.random_range(0..legal.len())];
                mine.play_unchecked(chosen);
                other.play_unchecked(chosen);
            }
        }
        assert!(ends >= 10, "{name}: {ends} games ended");
    }
}

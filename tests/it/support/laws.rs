//! Properties of all positions of all variants, for tests and fuzz targets.

#![allow(dead_code, reason = "each binary uses its part")]

use std::collections::{HashMap, HashSet};

use menagerie::encoding::Encoding;
use menagerie::rules::{Move, MoveList, PackedMove, Position, Side};
use menagerie::variant::Variant;

pub(crate) fn legal_moves(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

/// Plays moves until the game ends or `choose`, which is called with the number of legal moves, returns
/// `None`. Returns all positions.
pub(crate) fn play(
    start: Position,
    mut choose: impl FnMut(usize) -> Option<usize>,
) -> Vec<Position> {
    let mut positions = vec![start];
    while let Some(position) = positions.last() {
        let legal = legal_moves(position);
        let chosen = if legal.is_empty() { None } else { choose(legal.len()) };
        let Some(chosen) = chosen else { break };
        let mut next = position.clone();
        next.play_unchecked(legal[chosen]);
        positions.push(next);
    }
    positions
}

/// Checks the properties of a position.
pub(crate) fn check(variant: &Variant, position: &Position, chess960: bool) {
    check_moves(position);
    if !position.mid_turn() {
        let fen = position.fen();
        let again = variant.position(&fen, chess960).unwrap_or_else(|error| panic!("{error}"));
        check_same(position, &again);
    }
}

/// Checks the properties of the legal moves of a position and of the outcome.
pub(crate) fn check_moves(position: &Position) {
    let legal = legal_moves(position);
    let fen = position.fen();
    assert_eq!(legal.iter().collect::<HashSet<_>>().len(), legal.len(), "{fen}");
    let texts: HashSet<_> = legal.iter().map(|&m| position.move_text(m)).collect();
    assert_eq!(texts.len(), legal.len(), "{fen}");
    for &m in &legal {
        assert_eq!(PackedMove(m.pack().0).unpack(), Some(m), "{fen}");
        let mut after = position.clone();
        assert!(after.play(m));
        if !after.mid_turn() {
            assert_eq!(position.parse_turn(&position.move_text(m)), Some(vec![m]), "{fen}");
        }
    }
    match position.outcome_given(&legal) {
        None => assert!(!legal.is_empty(), "{fen}"),
        Some(outcome) => {
            assert!(legal.is_empty(), "{fen}");
            let sides = position.game_spec().sides;
            let scores: i8 = Side::all(sides).map(|side| outcome.score(side)).sum();
            // One side wins and all others lose, or all draw.
            let wanted = if outcome.winner.is_some() { 2 - sides as i8 } else { 0 };
            assert_eq!(scores, wanted, "{fen}");
        }
    }
    assert!(!position.diagram().is_empty());
}

/// Checks that a position equals the one parsed from its FEN.
pub(crate) fn check_same(position: &Position, again: &Position) {
    let fen = position.fen();
    assert_eq!(again.fen(), fen);
    assert_eq!(again.key(), position.key(), "{fen}");
    assert_eq!(legal_moves(again), legal_moves(position), "{fen}");
    assert_eq!(again.outcome(), position.outcome(), "{fen}");
}

/// Checks that legal moves have distinct policy indices, and that planes hold finite values in range.
pub(crate) fn check_encoding(encoding: &Encoding, position: &Position) {
    let mut owner: HashMap<_, Move> = HashMap::new();
    let fen = position.fen();
    for m in legal_moves(position) {
        let index = encoding.index(position, m);
        assert!(usize::from(index.0) < encoding.shape().policy(), "{fen} {m:?}: {index:?}");
        let other = owner.insert(index, m);
        assert_eq!(other, None, "{fen}: {m:?} shares {index:?}");
    }
    let mut planes = vec![f32::NAN; encoding.shape().input()];
    encoding.write_planes(&position.view(), &mut planes);
    assert!(planes.iter().all(|value| (0.0..=16.0).contains(value)), "{fen}");
}

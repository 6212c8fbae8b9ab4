//! Mate search: each mate found is one, and no mate in one is missed.

use menagerie::rules::{Mate, Move, MoveList, Position, Reason, Side};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Enough positions for every mate in three.
const MAX_POSITIONS: u32 = 100_000;

fn legal(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

fn after(position: &Position, m: Move) -> Position {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}

fn wins(position: &Position, winner: Side) -> bool {
    position.outcome().is_some_and(|end| end.winner == Some(winner))
}

/// Plays a random game. Calls `visit` with each ply number, position and its legal moves.
fn random_game(
    game: &str,
    seed: u64,
    plies: usize,
    mut visit: impl FnMut(usize, &Position, &[Move]),
) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut position = Catalogue::shipped().get(game).expect("shipped").start();
    for ply in 0..plies {
        let moves = legal(&position);
        if moves.is_empty() {
            break;
        }
        visit(ply, &position, &moves);
        position.play_unchecked(moves[rng.random_range(0..moves.len())]);
    }
}

/// Checks that `mate` is a mate: each reply is mated in fewer turns.
fn check_mate(position: &Position, mate: Mate) {
    assert!(legal(position).contains(&mate.m), "{:?} in {}", mate, position.fen());
    let next = after(position, mate.m);
    let replies = legal(&next);
    if mate.turns == 1 {
        assert!(wins(&next, position.turn()), "{mate:?} in {}", position.fen());
        return;
    }
    for &reply in &replies {
        let answered = after(&next, reply);
        let rest = answered.find_mate(mate.turns - 1, MAX_POSITIONS);
        let rest = rest.unwrap_or_else(|| panic!("{mate:?} in {}", position.fen()));
        check_mate(&answered, rest);
    }
}

#[test]
fn mates_found_are_mates_and_none_in_one_is_missed() {
    let games = [
        "chess",
        "crazyhouse",
        "bughouse",
        "3check",
        "horde",
        "kingofthehill",
        "chessgi",
        "gardner",
    ];
    let mut in_one = 0;
    let mut longer = 0;
    for (name, seed) in games.into_iter().flat_map(|name| (0..60).map(move |seed| (name, seed))) {
        random_game(name, seed, 150, |_, position, moves| {
            let found = position.find_mate(3, 500);
            if let Some(mate) = found {
                check_mate(position, mate);
                in_one += usize::from(mate.turns == 1);
                longer += usize::from(mate.turns > 1);
            }
            let mates = |m: &&Move| {
                let next = after(position, **m);
                // A king that is not in check is stalemated, or its side has lost by another rule.
                wins(&next, position.turn())
                    && next.outcome().is_some_and(|end| end.reason == Reason::Checkmate)
            };
            if let Some(&m) = moves.iter().find(mates) {
                let text = position.move_text(m);
                let castling = text.starts_with("e1") || text.starts_with("e8");
                assert!(found.is_some() || castling, "{text} in {}", position.fen());
            }
        });
    }
    assert!(in_one > 300 && longer > 100, "{in_one} in one turn, {longer} in more");
}

/// Returns `true` if the side to move can capture the king now.
fn can_capture_king(position: &Position) -> bool {
    legal(position).into_iter().any(|m| {
        let next = after(position, m);
        let duck_moves = legal(&next);
        duck_moves.first().is_some_and(|&duck| wins(&after(&next, duck), position.turn()))
    })
}

/// Returns `true` if the side to move loses its king in all turns, by exhaustive search.
fn king_is_lost(position: &Position) -> bool {
    let moves = legal(position);
    let lost = |next: Position| {
        if next.turn() == position.turn() {
            return king_is_lost(&next);
        }
        next.outcome().is_none() && can_capture_king(&next)
    };
    !moves.is_empty() && moves.into_iter().all(|m| lost(after(position, m)))
}

/// Returns `true` if the side to move has a turn after which the king of the opponent is lost, by
/// exhaustive search.
fn wins_king(position: &Position) -> bool {
    legal(position).into_iter().any(|m| {
        let next = after(position, m);
        if next.turn() == position.turn() { wins_king(&next) } else { king_is_lost(&next) }
    })
}

#[test]
fn mates_in_duck_chess_match_exhaustive_search() {
    let mut in_one = 0;
    let mut in_two = 0;
    let mut none = 0;
    let mut lost = 0;
    for seed in 0..60 {
        random_game("duck", seed, 200, |ply, position, moves| {
            // After the capture of the king, any square for the duck wins.
            let captured = position.mid_turn() && wins(&after(position, moves[0]), position.turn());
            let now = captured || !position.mid_turn() && can_capture_king(position);
            let found = position.find_mate(2, MAX_POSITIONS);
            let what = format!("{found:?} in {}", position.fen());
            assert_eq!(found.is_some_and(|mate| mate.turns == 1), now, "{what}");
            assert_eq!(position.is_king_lost(MAX_POSITIONS), king_is_lost(position), "{what}");
            let plain = match (captured, now) {
                (true, _) => Some((1, 1)),
                (false, true) => Some((1, 2)),
                _ => (position.mid_turn() && king_is_lost(position)).then_some((-1, 3)),
            };
            assert_eq!(position.evident_end(), plain, "{what}");
            assert!(!position.is_king_lost(0) || position.mid_turn());
            lost += usize::from(position.is_king_lost(MAX_POSITIONS));
            match found {
                Some(mate) if mate.turns > 1 => {
                    assert!(moves.contains(&mate.m), "{what}");
                    let mut next = after(position, mate.m);
                    if next.mid_turn() {
                        let duck = next.find_mate(2, MAX_POSITIONS).expect("a duck");
                        next.play_unchecked(duck.m);
                    }
                    assert!(king_is_lost(&next), "{what}");
                    in_two += 1;
                }
                Some(_) => in_one += 1,
                None if ply % 10 < 2 && seed % 40 == 0 => {
                    assert!(!wins_king(position), "{what}");
                    none += 1;
                }
                None => {}
            }
        });
    }
    let all = (in_one, in_two, none, lost);
    assert!(in_one > 300 && in_two > 20 && none > 20 && lost > 100, "{all:?}");
}

/// Moves that win at once by a rule of the variant are known before they are made, and so are races that end level.
#[test]
fn evident_ends_are_those_of_the_next_move() {
    let extinguishing = ["atomic", "nocheckatomic", "extinction", "kinglet", "threekings"];
    let others = ["3check", "5check"];
    let (mut won, mut won_otherwise) = (0, 0);
    // Duck chess has a test of its own.
    for variant in Catalogue::shipped().iter().filter(|variant| variant.name() != "duck") {
        let by_captures = extinguishing.contains(&variant.name());
        let is_complete = by_captures || others.contains(&variant.name());
        for seed in 0..if is_complete { 60 } else { 4 } {
            random_game(variant.name(), seed, 200, |_, position, moves| {
                let what = || format!("{} {}", variant.name(), position.fen());
                let us = position.turn();
                let mut is_evident = false;
                for &m in moves {
                    let facts = position.move_facts(m);
                    let end = after(position, m).outcome();
                    let end = end.filter(|end| end.reason == Reason::Variant);
                    let is_won = end.is_some_and(|end| end.winner == Some(us));
                    if by_captures {
                        assert_eq!(facts.may_win, is_won, "{} {m:?}", what());
                        assert!(!is_won || facts.captured.is_some(), "{} {m:?}", what());
                    }
                    let Move::Step { to, .. } = m else { continue };
                    // A capture en passant, or one by the last pawn, is not looked for.
                    let takes = position.board().pieces.occupied().contains(to);
                    is_evident |= is_won && (!by_captures || takes && facts.promotion.is_none());
                }
                match position.evident_end() {
                    Some((1, 1)) => {
                        assert!(moves.iter().any(|&m| wins(&after(position, m), us)), "{}", what());
                        *if by_captures { &mut won } else { &mut won_otherwise } += 1;
                    }
                    Some((0, 1)) => {
                        let ends = moves.iter().map(|&m| after(position, m).outcome());
                        let scores: Vec<_> =
                            ends.map(|end| end.expect("the end").score(us)).collect();
                        assert_eq!(scores.iter().max(), Some(&0), "{}", what());
                    }
                    Some(other) => panic!("{} {other:?}", what()),
                    None => assert!(!is_complete || !is_evident, "{}", what()),
                }
            });
        }
    }
    assert!(won > 300 && won_otherwise > 50, "{won} {won_otherwise}");
    // Random games seldom get that far.
    let race = Catalogue::shipped().get("racingkings").expect("shipped");
    let race = race.position("6K1/1k6/8/8/8/8/8/qqqrr3 b - - 0 1", false).expect("a position");
    assert_eq!(race.evident_end(), Some((0, 1)));
}

#[test]
fn mates_are_searched_within_the_limits() {
    let variant = Catalogue::shipped().get("crazyhouse").expect("shipped");
    // A drop gives a back-rank mate.
    let position =
        variant.position("6k1/5ppp/8/8/8/8/8/K7[RQ] w - - 0 1", false).expect("a position");
    let mate = position.find_mate(1, 100).expect("a mate");
    assert_eq!(mate.turns, 1);
    assert!(matches!(mate.m, Move::Drop { .. }));
    assert_eq!(position.find_mate(1, 0), None);
    assert_eq!(position.find_mate(0, 100), None);
}

#[test]
fn mates_are_not_searched_in_unsupported_games() {
    for (game, fen) in [
        ("antichess", "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"),
        ("atomic", "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"),
        ("racingkings", "8/8/8/8/8/8/k7/7K w - - 0 1"),
    ] {
        let variant = Catalogue::shipped().get(game).expect("shipped");
        let position =
            variant.position(fen, false).unwrap_or_else(|error| panic!("{game}: {error}"));
        assert_eq!(position.find_mate(3, MAX_POSITIONS), None, "{game}");
    }
    let two = Catalogue::shipped().get("bughouse2").expect("shipped").start();
    assert_eq!(two.find_mate(3, MAX_POSITIONS), None);
}

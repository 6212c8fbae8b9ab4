//! Mates by checks alone, and kings that are taken: each that is found is one, and none in one move is missed.

use menagerie::rules::{Mate, Move, MoveList, Position, Reason, Side};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Enough for any mate in three that there is.
const PLENTY: u32 = 100_000;

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

/// Plays at random from the start, and shows the positions until the end with their plies and legal moves.
fn random_game(
    game: &str,
    seed: u64,
    plies: usize,
    mut show: impl FnMut(usize, &Position, &[Move]),
) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut position = Catalogue::shipped().get(game).expect("it is shipped").start();
    for ply in 0..plies {
        let moves = legal(&position);
        if moves.is_empty() {
            break;
        }
        show(ply, &position, &moves);
        position.play_unchecked(moves[rng.random_range(0..moves.len())]);
    }
}

/// Whether `mate` is one: each answer is mated in fewer turns.
fn check(position: &Position, mate: Mate) {
    assert!(legal(position).contains(&mate.m), "{:?} in {}", mate, position.fen());
    let next = after(position, mate.m);
    let replies = legal(&next);
    if mate.turns == 1 {
        assert!(wins(&next, position.turn()), "{mate:?} in {}", position.fen());
        return;
    }
    for &reply in &replies {
        let answered = after(&next, reply);
        let rest = answered.find_mate(mate.turns - 1, PLENTY);
        let rest = rest.unwrap_or_else(|| panic!("{mate:?} in {}", position.fen()));
        check(&answered, rest);
    }
}

#[test]
fn what_is_found_is_a_mate_and_none_in_one_is_missed() {
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
    let (mut in_one, mut longer) = (0, 0);
    for (name, seed) in games.into_iter().flat_map(|name| (0..60).map(move |seed| (name, seed))) {
        random_game(name, seed, 150, |_, position, moves| {
            let found = position.find_mate(3, 500);
            if let Some(mate) = found {
                check(position, mate);
                in_one += usize::from(mate.turns == 1);
                longer += usize::from(mate.turns > 1);
            }
            let mates = |m: &&Move| {
                let next = after(position, **m);
                // Whose king is not in check has lost by another rule, or is stalemated.
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

/// Whether the side to move can take the other's king now.
fn takes_king(position: &Position) -> bool {
    legal(position).into_iter().any(|m| {
        let next = after(position, m);
        let ducks = legal(&next);
        ducks.first().is_some_and(|&duck| wins(&after(&next, duck), position.turn()))
    })
}

/// Whether the side to move loses its king whatever it does, by going through all that its turn may be.
fn king_is_lost(position: &Position) -> bool {
    let moves = legal(position);
    let lost = |next: Position| {
        if next.turn() == position.turn() {
            return king_is_lost(&next);
        }
        next.outcome().is_none() && takes_king(&next)
    };
    !moves.is_empty() && moves.into_iter().all(|m| lost(after(position, m)))
}

/// Whether the side to move can end its turn with the other side's king lost, by going through all ways to.
fn hunts_down(position: &Position) -> bool {
    legal(position).into_iter().any(|m| {
        let next = after(position, m);
        if next.turn() == position.turn() { hunts_down(&next) } else { king_is_lost(&next) }
    })
}

#[test]
fn kings_under_ducks_are_found_to_be_lost_when_they_are() {
    let (mut in_one, mut in_two, mut none, mut lost) = (0, 0, 0, 0);
    for seed in 0..60 {
        random_game("duck", seed, 200, |ply, position, moves| {
            // Once the king is taken, any square for the duck wins.
            let taken = position.mid_turn() && wins(&after(position, moves[0]), position.turn());
            let now = taken || !position.mid_turn() && takes_king(position);
            let found = position.find_mate(2, PLENTY);
            let what = format!("{found:?} in {}", position.fen());
            assert_eq!(found.is_some_and(|mate| mate.turns == 1), now, "{what}");
            assert_eq!(position.is_king_lost(PLENTY), king_is_lost(position), "{what}");
            assert!(!position.is_king_lost(0) || position.mid_turn());
            lost += usize::from(position.is_king_lost(PLENTY));
            match found {
                Some(mate) if mate.turns > 1 => {
                    assert!(moves.contains(&mate.m), "{what}");
                    let mut next = after(position, mate.m);
                    if next.mid_turn() {
                        let duck = next.find_mate(2, PLENTY).expect("a duck");
                        next.play_unchecked(duck.m);
                    }
                    assert!(king_is_lost(&next), "{what}");
                    in_two += 1;
                }
                Some(_) => in_one += 1,
                None if ply % 10 < 2 && seed % 40 == 0 => {
                    assert!(!hunts_down(position), "{what}");
                    none += 1;
                }
                None => {}
            }
        });
    }
    let all = (in_one, in_two, none, lost);
    assert!(in_one > 300 && in_two > 20 && none > 20 && lost > 100, "{all:?}");
}

#[test]
fn a_mate_is_found_within_what_may_be_spent() {
    let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
    // A drop on the last rank mates behind the pawns.
    let position =
        variant.position("6k1/5ppp/8/8/8/8/8/K7[RQ] w - - 0 1", false).expect("a position");
    let mate = position.find_mate(1, 100).expect("a mate");
    assert_eq!(mate.turns, 1);
    assert!(matches!(mate.m, Move::Drop { .. }));
    assert_eq!(position.find_mate(1, 0), None);
    assert_eq!(position.find_mate(0, 100), None);
}

#[test]
fn games_in_which_checks_are_not_answered_by_moves_of_chess_have_none() {
    for (game, fen) in [
        ("antichess", "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"),
        ("atomic", "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"),
        ("racingkings", "8/8/8/8/8/8/k7/7K w - - 0 1"),
    ] {
        let variant = Catalogue::shipped().get(game).expect("it is shipped");
        let position =
            variant.position(fen, false).unwrap_or_else(|error| panic!("{game}: {error}"));
        assert_eq!(position.find_mate(3, PLENTY), None, "{game}");
    }
    let two = Catalogue::shipped().get("bughouse2").expect("it is shipped").start();
    assert_eq!(two.find_mate(3, PLENTY), None);
}

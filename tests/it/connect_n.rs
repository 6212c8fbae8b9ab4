//! Games of n in a row, for two and three sides.

use crate::support::golden;

use menagerie::encoding::Encoding;
use menagerie::nn::Uniform;
use menagerie::rules::{MoveList, Position, Side, perft};
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn game(name: &str, fen: &str) -> Position {
    let variant = Catalogue::shipped().get(name).expect("shipped");
    if fen.is_empty() { variant.start() } else { variant.position(fen, false).expect("a position") }
}

#[test]
fn connect_n_perft_matches_the_literature() {
    let games = [9, 72, 504, 3024, 15_120, 54_720, 148_176, 200_448, 127_872];
    for (depth, paths) in (1..).zip(games) {
        assert_eq!(perft(&game("tictactoe", ""), depth), paths);
    }
    let games = [7, 49, 343, 2_401, 16_807, 117_649, 823_536];
    for (depth, paths) in (1..).zip(games) {
        assert_eq!(perft(&game("connect4", ""), depth), paths);
    }
    // No row is possible before the seventh ply, the third of the first side.
    assert_eq!(perft(&game("tictacmo", ""), 4), 15 * 14 * 13 * 12);
    assert_eq!(perft(&game("connect3", ""), 3), 343);
}

/// Returns the fractions of random games that are drawn and that each side wins.
fn outcome_fractions(name: &str) -> [f64; 4] {
    const GAMES: usize = 20_000;
    let mut rng = SmallRng::seed_from_u64(1);
    let mut won = [0; 4];
    let start = game(name, "");
    let mut legal = MoveList::new();
    for _ in 0..GAMES {
        let mut position = start.clone();
        let outcome = loop {
            position.legal_moves(&mut legal);
            if let Some(outcome) = position.outcome_given(&legal) {
                break outcome;
            }
            position.play_unchecked(legal[rng.random_range(0..legal.len())]);
        };
        won[outcome.winner.map_or(0, |side| side.index() + 1)] += 1;
    }
    won.map(|games| f64::from(games) / GAMES as f64)
}

#[test]
fn connect_n_random_games_match_published_fractions() {
    for (name, wanted) in
        [("tictacmo", [0.217, 0.313, 0.257, 0.214]), ("connect3", [0.0, 0.406, 0.323, 0.271])]
    {
        for (fraction, wanted) in outcome_fractions(name).into_iter().zip(wanted) {
            assert!((fraction - wanted).abs() < 0.012, "{name}: {fraction}, expected {wanted}");
        }
    }
}

#[test]
fn rows_count_in_all_directions_and_end_at_the_edge() {
    for (name, fen, outcome) in [
        ("tictacmo", "aaa2/5/b1c1b c", "a wins"),
        ("tictacmo", "a4/1a3/2a2 b", "a wins"),
        ("tictacmo", "4c/3c1/2c2 b", "c wins"),
        ("tictacmo", "b4/b4/b4 a", "b wins"),
        ("tictacmo", "abbcb/caaca/acbbc a", "draw"),
        ("connect4", "7/7/7/7/7/aaaa3 b", "a wins"),
        ("connect3", "7/7/7/7/b5a/aa3bc a", ""),
    ] {
        let position = game(name, fen);
        assert_eq!(position.fen(), fen);
        let text = position.outcome().map(|outcome| position.outcome_text(outcome));
        assert_eq!(text.unwrap_or_default(), outcome, "{fen}");
    }
    // On eight files, rows do not wrap around the edge.
    let wide = "[wide]\nfamily = lines\nmaxFile = 8\nmaxRank = 3\nstartFen = 8/aa6/7a b\n";
    let wide = Catalogue::parse(wide).expect("a game").get("wide").expect("defined").start();
    assert_eq!(wide.outcome(), None);
}

#[test]
fn connect_n_gravity() {
    let mut position = game("connect3", "");
    for turn in ["d1", "d2", "d3"] {
        let plies = position.parse_turn(turn).expect("a turn");
        assert!(plies.into_iter().all(|ply| position.play(ply)));
    }
    assert_eq!(position.fen(), "7/7/7/3c3/3b3/3a3 a");
    assert_eq!(position.parse_turn("a2"), None);
    assert_eq!(position.parse_turn("d3"), None);
}

#[test]
fn connect_n_errors() {
    for (name, fen, reason) in [
        ("tictacmo", "5/5 a", "expected 3 ranks, found 2"),
        ("tictacmo", "5/5/4 a", "expected 5 files in rank \"4\", found 4"),
        ("tictacmo", "5/5/4d a", "invalid piece 'd'"),
        ("tictacmo", "5/5/5 d", "invalid side to move \"d\""),
        ("tictacmo", "5/5/5 ab", "invalid side to move \"ab\""),
        ("tictacmo", "5/5/5 a 1", "unexpected \"1\" after the last field"),
        ("tictacmo", "aaa2/bbb2/5 a", "more than one side has won"),
        ("connect3", "7/7/7/7/a6/7 b", "a piece is above an empty cell"),
    ] {
        let variant = Catalogue::shipped().get(name).expect("shipped");
        let error = variant.position(fen, false).expect_err(fen).to_string();
        assert!(error.contains(fen) && error.ends_with(reason), "{error}");
    }
    for (keys, wanted) in [
        ("sides = 5", "line 3: [made] sides = 5: expected a number from 2 to 4"),
        ("connectN = 1", "line 3: [made] connectN = 1: expected a number from 2 to 8"),
        ("king = k", "line 3: [made] king = k: unknown key"),
        (
            "maxFile = 3\nmaxRank = 3\nconnectN = 4",
            "line 1: [made] connectN is larger than the board",
        ),
    ] {
        let text = format!("[made]\nfamily = lines\n{keys}\n");
        let error = Catalogue::parse(&text).expect_err(keys).to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn connect_n_proven_moves_for_three_sides_are_sound() {
    // In the data, cells are counted from the top left and pieces are the numbers of the sides.
    let cell = |at: usize| format!("{}{}", char::from(b'a' + (at % 5) as u8), 3 - at / 5);
    let mut proven = 0;
    for [board, player, _, _, sound] in golden::rows(include_str!("../golden/tictacmo_solved.tsv"))
    {
        let fen = golden::tictacmo_fen(board, player);
        let position = game("tictacmo", &fen);
        let mut tree = Tree::new(position.clone(), Params::default(), 1 << 24);
        let mut evaluator = Uniform::new(Encoding::of(&position).shape());
        let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
        for _ in 0..3000 {
            if searcher.tree().is_proven() {
                break;
            }
            searcher.step(1).expect("Uniform never fails");
        }
        if tree.is_proven() {
            proven += 1;
            let best = tree.root_moves().first().expect("a move").m;
            let best = position.move_text(best);
            let sound: Vec<_> =
                sound.split(',').map(|at| cell(at.parse().expect("a cell"))).collect();
            assert!(sound.contains(&best), "{fen}: {best} is not one of {sound:?}");
        }
    }
    assert!(proven > 100, "{proven} positions were proven");
}

/// Returns `true` if `winner` wins in at most `turns` of its turns whatever the others do, by exhaustive search.
fn forces_win(position: &Position, winner: Side, turns: u8) -> bool {
    if let Some(outcome) = position.outcome() {
        return outcome.winner == Some(winner);
    }
    let is_own = position.turn() == winner;
    if is_own && turns == 0 {
        return false;
    }
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let mut results = legal.into_iter().map(|m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        forces_win(&next, winner, turns - u8::from(is_own))
    });
    if is_own { results.any(|wins| wins) } else { results.all(|wins| wins) }
}

#[test]
fn connect_n_forced_wins_match_exhaustive_search() {
    const POSITIONS: u32 = 1000;
    let mut rng = SmallRng::seed_from_u64(2);
    let mut legal = MoveList::new();
    for (name, cells, longest) in
        [("tictactoe", 9, 3), ("tictacmo", 15, 3), ("connect4", 42, 3), ("connect3", 21, 1)]
    {
        let mut found = [0; 4];
        for _ in 0..600 {
            let mut position = game(name, "");
            for free in (0..=cells).rev() {
                position.legal_moves(&mut legal);
                if position.outcome_given(&legal).is_some() {
                    break;
                }
                if free <= 9 || name == "connect4" {
                    assert_eq!(position.find_mate(0, POSITIONS), None);
                    let win = position.find_mate(3, POSITIONS);
                    let turns = win.map_or(0, |mate| mate.turns);
                    let wins = |turns| forces_win(&position, position.turn(), turns);
                    let what = format!("{name}: {win:?} in {}", position.fen());
                    // Only moves that threaten are searched, so that there may be a win when none is found.
                    assert!(turns <= longest, "{what}");
                    assert!(turns == 0 || wins(turns), "{what}");
                    assert_eq!(turns == 1, wins(1), "{what}");
                    if let Some(mate) = win {
                        let mut next = position.clone();
                        next.play_unchecked(mate.m);
                        assert!(forces_win(&next, position.turn(), turns - 1), "{what}");
                    }
                    found[usize::from(turns)] += 1;
                }
                position.play_unchecked(legal[rng.random_range(0..legal.len())]);
            }
        }
        let least = [50, 50, if longest > 1 { 20 } else { 0 }, 0];
        assert!(found.iter().zip(least).all(|(&found, least)| found >= least), "{name}: {found:?}");
    }
}

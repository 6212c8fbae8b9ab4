//! Alpha-beta search: moves, mates and limits in every variant that it supports, with a material evaluation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::naive;

use menagerie::alphabeta::{
    AlphaBeta, Iteration, Request, Score, StaticEvaluator, Verdict, expected_score, supports,
};
use menagerie::nn::EvalError;
use menagerie::rules::{BoardId, Move, MoveList, Position, ProvenValue, Side, Value};
use menagerie::variant::{Catalogue, Variant};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Counts pieces, and prefers moves in their order.
#[derive(Clone)]
struct Material;

impl StaticEvaluator for Material {
    fn score(&mut self, _ply: usize, position: &Position) -> Result<Score, EvalError> {
        let view = position.board();
        let own = view.pieces.by_color(view.turn).count() as Score;
        let other = view.pieces.by_color(!view.turn).count() as Score;
        Ok(100 * (own - other))
    }

    fn policy(
        &mut self,
        _ply: usize,
        _position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        logits.clear();
        logits.extend((0..legal.len()).map(|nth| -(nth as f32) / 8.0));
        Ok(())
    }
}

/// Fails after a number of evaluations.
struct Failing(u32);

impl StaticEvaluator for Failing {
    fn score(&mut self, _ply: usize, _position: &Position) -> Result<Score, EvalError> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| EvalError("it failed".to_owned()))?;
        Ok(0)
    }

    fn policy(
        &mut self,
        _ply: usize,
        _position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        logits.clear();
        logits.resize(legal.len(), 0.0);
        Ok(())
    }
}

fn request(root: &Position, max_depth: u32) -> Request<'_> {
    Request { root, moves: &[], lines: 1, max_depth, max_nodes: u64::MAX, probe: None }
}

fn run(request: Request<'_>) -> Iteration {
    let mut search = AlphaBeta::new(vec![Material], 1 << 20);
    search.search(request, &|_| false, &mut |_| Verdict::Continue).expect("material never fails")
}

fn legal(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

fn variant(name: &str) -> Arc<Variant> {
    Catalogue::shipped().get(name).expect("a shipped variant")
}

fn position(name: &str, fen: &str) -> Position {
    variant(name).position(fen, false).expect("a position")
}

/// Returns positions of a random game.
fn random_positions(start: &Position, seed: u64, plies: usize) -> Vec<Position> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut position = start.clone();
    let mut found = Vec::new();
    for _ in 0..plies {
        found.push(position.clone());
        let moves = legal(&position);
        if moves.is_empty() {
            break;
        }
        position.play_unchecked(moves[rng.random_range(0..moves.len())]);
    }
    found
}

#[test]
fn lines_are_legal_and_searches_repeat_in_every_variant() {
    let mut searched = 0;
    for variant in Catalogue::shipped().iter() {
        let start = variant.start();
        if !supports(&start) {
            continue;
        }
        searched += 1;
        for root in random_positions(&start, 3, 60).iter().step_by(15) {
            let request = Request { max_nodes: 3000, lines: 2, ..request(root, 5) };
            let found = run(request);
            assert_eq!(found, run(request), "{} {}", variant.name(), root.fen());
            let moves = legal(root);
            assert_eq!(found.lines.len(), moves.len(), "{} {}", variant.name(), root.fen());
            assert!(found.nodes <= 3000);
            for (nth, line) in found.lines.iter().enumerate() {
                let mut position = root.clone();
                let mut is_whole = false;
                for &m in &line.moves {
                    assert!(legal(&position).contains(&m), "{} {}", variant.name(), root.fen());
                    position.play_unchecked(m);
                    is_whole |= !position.mid_turn();
                }
                assert!(nth >= 2 || is_whole, "{} {} {line:?}", variant.name(), root.fen());
            }
        }
    }
    assert!(searched > 30, "{searched}");
}

/// What the quiescence search generates is what it would pick from all legal moves.
#[test]
fn tactical_moves_are_those_of_the_legal_moves() {
    let mut compared = 0;
    for variant in Catalogue::shipped().iter() {
        let start = variant.start();
        for seed in 0..4 {
            for root in random_positions(&start, seed, 80) {
                let all = legal(&root);
                if !root.may_stand_pat() {
                    continue;
                }
                let mut found = MoveList::new();
                root.add_tactical_moves(&mut found);
                let is_tactical = |m: &&Move| {
                    let facts = root.move_facts(**m);
                    facts.captured.is_some() || facts.promotion.is_some() || facts.may_win
                };
                let wanted: BTreeSet<_> = all.iter().filter(is_tactical).collect();
                let picked: BTreeSet<_> = found.iter().filter(is_tactical).collect();
                let context = format!("{} {}", variant.name(), root.fen());
                assert_eq!(picked, wanted, "{context}");
                assert!(found.iter().all(|m| all.contains(m)), "{context}");
                compared += wanted.len();
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// Where captures are compulsory a side may stand pat if there are none, and other moves.
#[test]
fn captures_and_stalemate_forbid_standing_pat() {
    for name in ["antichess", "giveaway", "suicide", "codrus"] {
        let start = variant(name).start();
        let (mut may, mut may_not) = (0, 0);
        for seed in 0..8 {
            for position in random_positions(&start, seed, 80) {
                let all = legal(&position);
                let is_capture = |m: &Move| position.move_facts(*m).captured.is_some();
                let captures = all.iter().filter(|m| is_capture(m)).count();
                let may_stand_pat = captures == 0 && !all.is_empty();
                assert_eq!(position.may_stand_pat(), may_stand_pat, "{name} {}", position.fen());
                assert!(captures == 0 || captures == all.len(), "{name} {}", position.fen());
                let count = if may_stand_pat { &mut may } else { &mut may_not };
                *count += 1;
            }
        }
        assert!(may > 50 && may_not > 50, "{name} {may} {may_not}");
    }
}

/// A move that surely gives no check gives none.
#[test]
fn moves_that_cannot_give_check_do_not() {
    let (mut without, mut with) = (0, 0);
    for variant in Catalogue::shipped().iter() {
        let start = variant.start();
        for seed in 0..4 {
            for root in random_positions(&start, seed, 80) {
                for &m in &legal(&root) {
                    let mut after = root.clone();
                    after.play_unchecked(m);
                    let checks = after.checked_king(BoardId::A).is_some();
                    with += usize::from(checks);
                    if !root.may_give_check(m) {
                        without += 1;
                        assert!(!checks, "{} {} {m:?}", variant.name(), root.fen());
                    }
                }
            }
        }
    }
    assert!(without > 100_000 && with > 1_000, "{without} {with}");
}

/// A move that surely compels no capture compels none; where one must capture, only captures are legal.
#[test]
fn moves_that_cannot_compel_a_capture_do_not() {
    let (mut without, mut with) = (0, 0);
    for name in ["antichess", "giveaway", "suicide", "codrus", "losers", "chess"] {
        let start = Catalogue::shipped().get(name).expect("a shipped variant").start();
        for seed in 0..8 {
            for root in random_positions(&start, seed, 80) {
                let moves = legal(&root);
                let captures = moves.iter().filter(|&&m| root.move_facts(m).captured.is_some());
                if root.must_capture() {
                    // In check a capture may be illegal.
                    let count = captures.count();
                    assert!(count == 0 || count == moves.len(), "{name} {}", root.fen());
                } else if name != "chess" {
                    assert_eq!(captures.count(), 0, "{name} {}", root.fen());
                }
                for &m in &moves {
                    let mut after = root.clone();
                    after.play_unchecked(m);
                    with += usize::from(after.must_capture());
                    if !root.may_compel_capture(m) {
                        without += 1;
                        assert!(!after.must_capture(), "{name} {} {m:?}", root.fen());
                    }
                }
            }
        }
    }
    assert!(without > 10_000 && with > 1_000, "{without} {with}");
}

#[test]
fn structure_keys_tell_what_has_changed() {
    let keys = |fen| position("chess", fen).structure_keys();
    let before = keys("4k3/pp3ppp/2n5/8/8/5N2/PP3PPP/4K3 w - - 0 1");
    let pawn = keys("4k3/pp3ppp/2n5/8/8/5N1P/PP3PP1/4K3 b - - 0 1");
    let white = keys("4k3/pp3ppp/2n5/6N1/8/8/PP3PPP/4K3 b - - 0 1");
    let black = keys("4k3/pp3ppp/8/8/1n6/5N2/PP3PPP/4K3 w - - 0 2");
    let changed = |after: [u64; 3]| [0, 1, 2].map(|part| before[part] != after[part]);
    assert_eq!(changed(pawn), [true, false, false]);
    assert_eq!(changed(white), [false, true, false]);
    assert_eq!(changed(black), [false, false, true]);
}

/// The shortest mate of the side to move: each is the only one of its length or shorter.
#[test]
fn mates_are_found() {
    let positions = [
        ("chess", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1),
        ("chess", "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 3),
        ("chess", "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 5),
        ("kingofthehill", "8/8/8/7k/8/2K5/8/8 w - - 0 1", 1),
        ("kingofthehill", "8/8/8/7k/8/8/3K4/8 w - - 0 1", 3),
        ("3check", "7k/8/8/8/8/8/8/K6R w - - 1+3 0 1", 1),
        ("racingkings", "8/6K1/8/8/8/k7/8/8 w - - 0 1", 1),
        // A turn of duck chess has two plies.
        ("duck", "k7/8/8/8/8/8/8/R3K3 w - - 0 1", 2),
        // The game ends before a draw by the counter or for lack of material can be claimed.
        ("chess", "7k/8/6K1/8/8/8/8/R7 w - - 99 80", 1),
        ("atomic", "8/8/8/8/6k1/5r2/8/K4Q2 w - - 0 1", 1),
        ("atomic", "8/8/8/8/6pk/8/5N2/K7 w - - 0 1", 1),
        // A capture that loses an exchange takes the last pawn.
        ("kinglet", "r2rk3/3p4/8/8/8/8/PPP5/K2Q4 w - - 0 1", 1),
    ];
    for (name, fen, plies) in positions {
        let root = position(name, fen);
        let found = run(request(&root, 7));
        let found = found.lines.first().and_then(|line| line.mate_plies());
        assert_eq!(found, Some(plies), "{name} {fen}");
    }
}

/// Mates found in 3x3 chess are wins, and not longer than reported.
#[test]
fn mates_are_sound() {
    let game = variant("3x3");
    let table = naive::table(&game);
    let mut wins = 0;
    let mut losses = 0;
    for seed in 0..60 {
        for root in random_positions(&game.start(), seed, 12) {
            let Some(plies) =
                run(request(&root, 8)).lines.first().and_then(|line| line.mate_plies())
            else {
                continue;
            };
            let fen = root.fen();
            match table.value(&root).expect("all positions are in the table") {
                Value::Win(exact) => {
                    assert!(plies >= exact as i32, "{fen}: {plies} plies, but {exact}");
                    wins += 1;
                }
                Value::Loss(exact) => {
                    assert!(plies <= 0 && -plies >= exact as i32, "{fen}: {plies}, but {exact}");
                    losses += 1;
                }
                Value::Draw => panic!("{fen}: {plies} plies to a mate, but it is a draw"),
            }
        }
    }
    assert!(wins > 20 && losses > 20, "{wins} {losses}");
}

/// Captures of the king that are found in duck chess are those of an exhaustive search.
#[test]
fn mates_in_duck_chess_are_sound() {
    let start = variant("duck").start();
    let (mut wins, mut longer, mut losses) = (0, 0, 0);
    for seed in 0..40 {
        for root in random_positions(&start, seed, 120).iter().step_by(3) {
            let found = run(request(root, 6));
            let Some(plies) = found.lines.first().and_then(|line| line.mate_plies()) else {
                assert!(root.find_mate(1, u32::MAX).is_none(), "{}", root.fen());
                continue;
            };
            let what = format!("{plies} plies in {}", root.fen());
            match (root.find_mate(2, u32::MAX), root.is_king_lost(u32::MAX)) {
                (Some(mate), _) => {
                    let most = 2 * (2 * i32::from(mate.turns) - 1);
                    assert!(plies > 0 && plies >= most - 1, "{what}: {mate:?}");
                    assert!(mate.turns > 1 || plies <= most, "{what}: {mate:?}");
                    wins += 1;
                    longer += usize::from(mate.turns > 1);
                }
                (None, true) => {
                    assert_eq!(plies, if root.mid_turn() { -3 } else { -4 }, "{what}");
                    losses += 1;
                }
                // Longer mates are beyond the other search.
                (None, false) => assert!(plies.abs() > 4, "{what}"),
            }
        }
    }
    assert!(wins > 50 && longer > 0 && losses > 10, "{wins} {longer} {losses}");
}

#[test]
fn repetition_is_a_draw() {
    // White is lost but for the perpetual check from e8 and h5.
    let root = position("chess", "5rk1/5pp1/8/7Q/8/8/1q3PPP/6K1 w - - 0 1");
    let found = run(request(&root, 6));
    assert!(found.lines[0].mate_plies().is_none());
    let root = position("chess", "6k1/6pp/8/8/8/6q1/2r5/Q6K w - - 0 1");
    let found = run(request(&root, 8));
    let best = &found.lines[0];
    assert!(expected_score(best.score) > -0.9 || best.mate_plies().is_some(), "{best:?}");
}

#[test]
fn moves_of_the_root_can_be_restricted() {
    let root = variant("chess").start();
    let moves: Vec<_> = legal(&root).into_iter().skip(5).take(3).collect();
    let found = run(Request { moves: &moves, lines: 5, ..request(&root, 4) });
    let mut first: Vec<_> = found.lines.iter().map(|line| line.moves[0]).collect();
    first.sort();
    let mut wanted = moves.clone();
    wanted.sort();
    assert_eq!(first, wanted);
    assert!(found.lines.is_sorted_by(|a, b| a.score >= b.score), "{:?}", found.lines);
}

#[test]
fn search_ends_by_depth_nodes_stop_and_verdict() {
    let root = variant("chess").start();
    let found = run(request(&root, 3));
    assert_eq!(found.depth, 3);
    for max_nodes in [1, 2, 500] {
        let found = run(Request { max_nodes, ..request(&root, 50) });
        assert!(found.nodes <= max_nodes && found.lines.len() == 20, "{found:?}");
    }
    let mut search = AlphaBeta::new(vec![Material], 1 << 20);
    let asked = AtomicU32::new(0);
    let stop = |_| asked.fetch_add(1, Ordering::Relaxed) >= 3;
    let found = search.search(request(&root, 50), &stop, &mut |_| Verdict::Continue);
    assert!(found.expect("a result").nodes < 2000);
    let mut depths = Vec::new();
    let found = search.search(request(&root, 50), &|_| false, &mut |iteration| {
        depths.push(iteration.depth);
        if iteration.depth == 4 { Verdict::Stop } else { Verdict::Continue }
    });
    assert_eq!((found.expect("a result").depth, depths), (4, vec![1, 2, 3, 4]));
}

#[test]
fn games_that_are_over_have_no_lines() {
    let root = position("chess", "7k/5KQ1/8/8/8/8/8/8 b - - 0 1");
    assert!(run(request(&root, 3)).lines.is_empty());
}

#[test]
fn threads_share_a_search() {
    let root = variant("crazyhouse").start();
    let mut search = AlphaBeta::new(vec![Material, Material, Material], 1 << 20);
    let found = search.search(request(&root, 6), &|_| false, &mut |_| Verdict::Continue);
    let found = found.expect("material never fails");
    assert_eq!((found.depth, found.lines.len()), (6, 20));
    assert!(found.nodes >= found.lines.iter().map(|line| line.nodes).sum::<u64>());
    // A limit of nodes is one for all threads together, which exceed it a little.
    search.clear();
    let limited = Request { max_nodes: 60_000, ..request(&root, 50) };
    let mut reported = 0;
    let found = search.search(limited, &|_| false, &mut |iteration| {
        assert!(iteration.nodes >= reported, "{iteration:?}");
        reported = iteration.nodes;
        Verdict::Continue
    });
    let nodes = found.expect("material never fails").nodes;
    assert!((60_000..70_000).contains(&nodes), "{nodes}");
}

#[test]
fn failures_of_the_evaluator_are_errors() {
    let root = variant("chess").start();
    let mut search = AlphaBeta::new(vec![Failing(100)], 1 << 20);
    let result = search.search(request(&root, 20), &|_| false, &mut |_| Verdict::Continue);
    assert_eq!(result, Err(EvalError("it failed".to_owned())));
}

#[test]
fn endgame_tables_are_probed() {
    let root = position("chess", "8/8/8/4k3/8/8/PPPPPPPP/4K3 w - - 0 1");
    // Black to move has lost, and White to move draws.
    let probe = |position: &Position| {
        let score = if position.turn() == Side::WHITE { 0 } else { -1 };
        Some(ProvenValue { score, plies: None })
    };
    let found = run(Request { probe: Some(&probe), ..request(&root, 4) });
    let line = &found.lines[0];
    assert!(line.mate_plies().is_none() && expected_score(line.score) > 0.999, "{line:?}");
}

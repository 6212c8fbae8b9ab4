//! Evaluators: caches do not change evaluations, and networks are independent of the batch.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use menagerie::encoding::{Encoding, Shape};
use menagerie::nn::network::Backend;
use menagerie::nn::{
    Batch, Cache, Cached, CachedEval, EvalError, Evaluator, Fit, Onnx, Query, UnfitNetwork,
};
use menagerie::rules::{MoveList, Position, Side};
use menagerie::search::{MateSearch, Params};
use menagerie::variant::{Catalogue, Variant};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// An evaluator with different values for different positions.
#[derive(Clone)]
struct KeyEvaluator {
    shape: Shape,
}

impl Evaluator for KeyEvaluator {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn preferred_batch(&self) -> usize {
        3
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        for row in 0..batch.len() {
            let key = batch.key(row).0;
            let win = (key % 1000) as f32 / 1000.0;
            let outcome = [win, 1.0 - win, 0.0];
            let indices = batch.legal(row).to_vec();
            let logit = |nth: usize| f32::from(indices[nth].0) + nth as f32 + win;
            batch.fill(row, &outcome, win * 10.0, logit);
        }
        Ok(())
    }
}

/// Returns positions of random games, with their legal moves.
fn positions(variant: &Variant, count: usize) -> Vec<(Position, MoveList)> {
    let mut rng = SmallRng::seed_from_u64(5);
    let mut position = variant.start();
    let mut found = Vec::new();
    while found.len() < count {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if legal.is_empty() {
            position = variant.start();
            continue;
        }
        let m = legal[rng.random_range(0..legal.len())];
        found.push((position.clone(), legal));
        position.play_unchecked(m);
    }
    found
}

fn fill(batch: &mut Batch, encoding: &Encoding, positions: &[(Position, MoveList)]) {
    batch.clear();
    for (position, legal) in positions {
        batch.push(Query { encoding, position, legal });
    }
}

fn crazyhouse() -> (Arc<Variant>, Encoding, KeyEvaluator) {
    let variant = Catalogue::shipped().get("crazyhouse").expect("crazyhouse is shipped");
    let encoding = Encoding::of(&variant.start());
    let evaluator = KeyEvaluator { shape: encoding.shape() };
    (variant, encoding, evaluator)
}

#[test]
fn cache_returns_what_was_evaluated() {
    let (variant, encoding, one) = crazyhouse();
    let mut cached = Cached::new(one, 1 << 20);
    let mut batch = cached.new_batch();
    let positions = positions(&variant, 40);
    let mut known = CachedEval::default();
    for (position, legal) in &positions {
        assert!(!cached.probe(Query { encoding: &encoding, position, legal }, &mut known));
        fill(&mut batch, &encoding, &[(position.clone(), legal.clone())]);
        cached.evaluate(&mut batch).expect("evaluated");
        assert!(cached.probe(Query { encoding: &encoding, position, legal }, &mut known));
        assert_eq!(known.evaluation(), batch.evaluation(0));
        assert!(
            !cached.probe(Query { encoding: &encoding, position, legal: &legal[1..] }, &mut known)
        );
    }
    cached.clear_caches();
    for (position, legal) in &positions {
        assert!(!cached.probe(Query { encoding: &encoding, position, legal }, &mut known));
    }
}

#[test]
fn cache_of_small_size_keeps_the_newest() {
    let (variant, encoding, one) = crazyhouse();
    let mut known = CachedEval::default();
    for bytes in [0, 300, 2000, 20_000] {
        let mut cached = Cached::new(one.clone(), bytes);
        let mut batch = cached.new_batch();
        let positions = positions(&variant, 300);
        for one in &positions {
            fill(&mut batch, &encoding, std::slice::from_ref(one));
            cached.evaluate(&mut batch).expect("evaluated");
            let is_cached = cached
                .probe(Query { encoding: &encoding, position: &one.0, legal: &one.1 }, &mut known);
            assert!(is_cached || bytes < 2000);
            assert!(!is_cached || known.evaluation() == batch.evaluation(0));
        }
        // Entries are intact after any number of overwrites.
        let mut kept = 0;
        for one in &positions {
            fill(&mut batch, &encoding, std::slice::from_ref(one));
            let is_cached = cached
                .probe(Query { encoding: &encoding, position: &one.0, legal: &one.1 }, &mut known);
            if is_cached {
                kept += 1;
                let before = known.clone();
                cached.evaluate(&mut batch).expect("evaluated");
                assert_eq!(before.evaluation(), batch.evaluation(0));
            }
        }
        assert!(kept <= bytes / 100 && (kept > 5 || bytes < 20_000), "{bytes}: {kept}");
    }
}

#[test]
fn cache_is_shared_between_evaluators() {
    let (variant, encoding, one) = crazyhouse();
    let cache = Arc::new(Mutex::new(Cache::new(1 << 20)));
    let mut first = Cached::sharing(one.clone(), Arc::clone(&cache));
    let second = Cached::sharing(one, cache);
    let mut batch = first.new_batch();
    let mut known = CachedEval::default();
    let positions = positions(&variant, 10);
    fill(&mut batch, &encoding, &positions);
    first.evaluate(&mut batch).expect("evaluated");
    for (row, (position, legal)) in positions.iter().enumerate() {
        assert!(
            second.probe(Query { encoding: &encoding, position, legal }, &mut known),
            "{row} {}",
            position.fen()
        );
        assert_eq!(known.evaluation(), batch.evaluation(row));
    }
}

/// ONNX Runtime registers the domain of the operators in two steps, so that the first sessions of a process
/// collide unless they are created one after the other.
#[test]
fn sessions_open_at_once_in_a_new_process() {
    let executable = std::env::current_exe().expect("the path of this test");
    for _ in 0..20 {
        let done = std::process::Command::new(&executable)
            .args(["--exact", "nn::open_eight_sessions", "--ignored"])
            .output()
            .expect("this test's executable starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}

#[test]
#[ignore = "run by sessions_open_at_once_in_a_new_process in separate processes"]
fn open_eight_sessions() {
    let start = Catalogue::shipped().get("3x3").expect("3x3 is shipped").start();
    let encoding = Encoding::of(&start);
    let file = include_bytes!("../../nets/3x3.onnx");
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                Onnx::open(file, &encoding, "3x3", Backend::Cpu, 1).map(|_| ()).expect("a network")
            });
        }
    });
}

/// Evaluations of the two-board network are the same with cached boards.
#[test]
fn two_board_network_joins_cached_boards() {
    let variant = Catalogue::shipped().get("bughouse2").expect("bughouse2 is shipped");
    let encoding = Encoding::of(&variant.start());
    let file = include_bytes!("../../nets/bughouse2.onnx");
    let open = || Onnx::open(file, &encoding, "bughouse2", Backend::Cpu, 1).expect("a network");
    let mut fresh = open();
    let mut cached = open().with_cache(Cache::shared(64 << 20));
    let mut batch = fresh.new_batch();
    let mut known = CachedEval::default();
    let close = |a: &[f32], b: &[f32]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3)
    };
    let mut hits = 0;
    for (root, legal) in &positions(&variant, 40)[20..] {
        // Positions after one and two plies have other pairs of the same boards.
        let mut found = vec![(root.clone(), legal.clone())];
        for at in 0..40 {
            let (position, legal) = &found[at / 4];
            let mut position = position.clone();
            position.play_unchecked(legal[(at % 4 * legal.len()) / 4]);
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            found.extend((!legal.is_empty()).then_some((position, legal)));
            if at / 4 + 1 >= found.len() {
                break;
            }
        }
        for pair in found.chunks(2) {
            let all = pair.iter().map(|(position, legal)| {
                cached
                    .probe(Query { encoding: &encoding, position, legal }, &mut known)
                    .then(|| known.clone())
            });
            let probed: Vec<_> = all.collect();
            fill(&mut batch, &encoding, pair);
            fresh.evaluate(&mut batch).expect("evaluated");
            for (row, probed) in probed.iter().enumerate() {
                let Some(probed) = probed else { continue };
                let one = probed.evaluation();
                let other = batch.evaluation(row);
                assert!(close(one.outcome, other.outcome) && close(one.logits, other.logits));
                assert!((one.moves_left - other.moves_left).abs() < 1e-2);
                hits += 1;
            }
            let wanted: Vec<_> = (0..pair.len())
                .map(|row| {
                    (batch.evaluation(row).outcome.to_vec(), batch.evaluation(row).logits.to_vec())
                })
                .collect();
            cached.evaluate(&mut batch).expect("evaluated");
            for (row, (outcome, logits)) in wanted.iter().enumerate() {
                let evaluation = batch.evaluation(row);
                assert!(close(evaluation.outcome, outcome) && close(evaluation.logits, logits));
            }
            for (position, legal) in pair {
                assert!(
                    cached.probe(Query { encoding: &encoding, position, legal }, &mut known),
                    "{}",
                    position.fen()
                );
            }
        }
    }
    assert!(hits > 20, "{hits} positions of cached boards");
    cached.clear_caches();
    let (position, legal) = &positions(&variant, 1)[0];
    assert!(!cached.probe(Query { encoding: &encoding, position, legal }, &mut known));
}

/// Networks without ONNX Runtime return the same numbers, also base networks and positions with many moves, and
/// whatever they have evaluated before.
#[test]
fn direct_networks_agree_with_onnx_runtime() {
    let shipped = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("nets/{name}.int8.onnx"));
        fs::read(path).expect("a shipped network")
    };
    let networks = [
        ("chess", "chess"),
        ("crazyhouse", "crazyhouse"),
        ("giveaway", "giveaway"),
        ("nocheckatomic", "nocheckatomic"),
        ("atomic", "nocheckatomic"),
        ("horde", "horde"),
        ("duck", "duck"),
        ("chess", "base"),
        ("extinction", "base"),
        ("loop", "crazyhouse"),
        ("antichess", "giveaway"),
        ("pocketknight", "chess"),
    ];
    for (game, network) in networks {
        let variant = Catalogue::shipped().get(game).expect("a shipped variant");
        let encoding = Encoding::of(&variant.start());
        let made_for = if network == "base" { game } else { network };
        let fit = if made_for == game { Fit::Exact } else { Fit::Partial };
        let file = shipped(network);
        let mut onnx = Onnx::open_related(&file, &encoding, made_for, fit, Backend::Cpu, 1)
            .unwrap_or_else(|error| panic!("{network}: {error}"));
        let mut direct = onnx.direct().expect("an int8 network");
        let mut batch = onnx.new_batch();
        let mut logits = Vec::new();
        for (nth, one) in positions(&variant, 120).iter().enumerate() {
            let (position, legal) = one;
            if nth % 7 > 0 {
                // What it knows of other positions changes nothing.
                direct.outcome(nth % 5, position).expect("evaluated");
                continue;
            }
            fill(&mut batch, &encoding, std::slice::from_ref(one));
            onnx.evaluate(&mut batch).expect("evaluated");
            let expected = batch.evaluation(0);
            for ply in [nth % 5, 1000] {
                let found = direct.outcome(ply, position).expect("evaluated");
                assert_eq!(found[..], *expected.outcome, "{network} {ply} {}", position.fen());
                direct.policy(ply, position, legal, &mut logits).expect("evaluated");
                assert_eq!(logits, expected.logits, "{network} {ply} {}", position.fen());
            }
            let found = direct.evaluate(position, legal).expect("evaluated");
            assert_eq!(found, expected, "{network} {}", position.fen());
            let found = direct.evaluate(position, &[]).expect("evaluated");
            assert_eq!((found.outcome, found.moves_left), (expected.outcome, expected.moves_left));
            assert!(found.logits.is_empty());
        }
    }
    // Networks of planes and of floats have no such form.
    let variant = Catalogue::shipped().get("3x3").expect("a shipped variant");
    let encoding = Encoding::of(&variant.start());
    let onnx = Onnx::open(
        &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/3x3.onnx")).expect("a network"),
        &encoding,
        "3x3",
        Backend::Cpu,
        1,
    );
    assert!(onnx.expect("a network").direct().is_none());
}

#[test]
fn related_networks_fit_by_their_inputs() {
    let open = |game: &str, made_for: &str, fit: Fit| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = fs::read(path.join(format!("nets/{made_for}.int8.onnx"))).expect("a network");
        let variant = Catalogue::shipped().get(game).expect("a shipped variant");
        let encoding = Encoding::of(&variant.start());
        let network = Onnx::open_related(&file, &encoding, made_for, fit, Backend::Cpu, 1);
        network.map(|network| network.unseen())
    };
    // Crazyhouse has all inputs of loop, and further ones.
    let error = open("loop", "crazyhouse", Fit::Exact).expect_err("another layout");
    assert!(matches!(error, UnfitNetwork::SparseLayout { .. }), "{error}");
    assert_eq!(open("loop", "crazyhouse", Fit::Complete).expect("all inputs"), None);
    // Chess does not know pockets.
    let error = open("pocketknight", "chess", Fit::Complete).expect_err("no pockets");
    assert!(matches!(error, UnfitNetwork::Incomplete { .. }), "{error}");
    assert!(error.to_string().contains("pocket(Pawn,own)"), "{error}");
    let unseen = open("pocketknight", "chess", Fit::Partial).expect("most moves");
    assert!(unseen.is_some_and(|unseen| unseen.contains("pocket(Pawn,own)")));
    // Squares of other boards mean something else.
    let error = open("losalamos", "chess", Fit::Partial).expect_err("another board");
    assert!(matches!(error, UnfitNetwork::Board { .. }), "{error}");
}

/// Where the rules of two variants allow the same, a network sees the same.
#[test]
fn related_network_evaluates_shared_positions_equally() {
    let fens = [
        "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
        "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQ1RK1 b - - 3 7",
    ];
    let file = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/chess.int8.onnx"));
    let file = file.expect("a shipped network");
    for fen in fens {
        let found = ["chess", "nocastle"].map(|game| {
            let variant = Catalogue::shipped().get(game).expect("a shipped variant");
            let encoding = Encoding::of(&variant.start());
            let onnx =
                Onnx::open_related(&file, &encoding, "chess", Fit::Complete, Backend::Cpu, 1);
            let mut direct = onnx.expect("it fits").direct().expect("an int8 network");
            let position = variant.position(fen, false).expect("a position");
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            let evaluation = direct.evaluate(&position, &legal).expect("evaluated");
            (evaluation.outcome.to_vec(), evaluation.logits.to_vec(), evaluation.moves_left)
        });
        assert_eq!(found[0], found[1], "{fen}");
    }
}

/// Returns the evaluation of a position in a search, from a mate search, a probe or a batch: outcome, most probable move and
/// moves left.
fn evaluate(game: &str, file: &[u8], fen: &str) -> ([f32; 3], String, f32) {
    let variant = Catalogue::shipped().get(game).expect("it is shipped");
    let encoding = Encoding::of(&variant.start());
    let network = Onnx::open(file, &encoding, game, Backend::Cpu, 1).expect("a network");
    let mut cached = network.with_cache(Cache::shared(1 << 20));
    let position = variant.position(fen, false).unwrap_or_else(|error| panic!("{error}"));
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let query = Query { encoding: &encoding, position: &position, legal: &legal };
    let mut known = CachedEval::default();
    let is_mate = MateSearch::new(&Params::default()).evaluate(query, &mut known);
    if !is_mate && !cached.probe(query, &mut known) {
        let mut batch = cached.new_batch();
        batch.push(query);
        cached.evaluate(&mut batch).expect("evaluated");
        assert!(cached.probe(query, &mut known), "{fen}");
        assert_eq!(known.evaluation(), batch.evaluation(0), "{fen}");
    }
    let evaluation = known.evaluation();
    let logits = legal.iter().zip(evaluation.logits);
    let (best, _) = logits.max_by(|(_, a), (_, b)| a.total_cmp(b)).expect("a move");
    let outcome = evaluation.outcome.try_into().expect("two sides");
    (outcome, position.move_text(*best), evaluation.moves_left)
}

#[test]
fn mate_search_decides_evaluations() {
    let crazyhouse = include_bytes!("../../nets/crazyhouse.int8.onnx");
    let (outcome, m, turns) =
        evaluate("crazyhouse", crazyhouse, "6k1/5ppp/8/8/8/8/8/K7[R] w - - 0 1");
    assert!(outcome[0] == 0.99 && turns == 1.0 && m.starts_with("R@"), "{outcome:?} {m} {turns}");
    let (outcome, ..) = evaluate("crazyhouse", crazyhouse, "6k1/5ppp/8/8/8/8/8/K7[N] w - - 0 1");
    assert_ne!(outcome[0], 0.99);

    let duck = include_bytes!("../../nets/duck.int8.onnx");
    let evaluate_duck = |fen| evaluate("duck", duck, fen);
    let (outcome, m, turns) = evaluate_duck("3rk3/8/8/8/8/8/8/K2R4 w - - 0 1");
    assert!(outcome[0] < 0.99, "{outcome:?} {m} {turns}");
    let (outcome, m, turns) = evaluate_duck("3k4/8/8/8/8/8/8/K2R4 w - - 0 1");
    assert!(outcome[0] == 0.99 && turns == 1.0 && m == "d1d8", "{outcome:?} {m} {turns}");
    // No duck can block the check of a knight, and the king has no square.
    let (outcome, m, turns) = evaluate_duck("6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1");
    assert!(outcome[0] == 0.99 && turns == 2.0 && m == "g5f7", "{outcome:?} {m} {turns}");
    let (outcome, _, turns) = evaluate_duck("6rk/5Npp/8/8/8/8/8/K3*3 b - - 0 1");
    assert!(outcome[1] == 0.99 && turns == 1.0, "{outcome:?} {turns}");

    let bughouse = include_bytes!("../../nets/bughouse2.onnx");
    let calm = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
    let mated = |turn| format!("6k1/5ppp/8/8/8/8/8/K7[R] {turn} - - 0 1");
    let of = |a: &str, b: &str, team| evaluate("bughouse2", bughouse, &format!("{a}|{b}|{team}"));
    // The team with White on board A mates there, or is mated on board B.
    let (outcome, m, turns) = of(&mated("w"), calm, "w");
    assert!(outcome[0] == 0.99 && turns == 1.0 && m.starts_with("1R@"), "{outcome:?} {m} {turns}");
    let (outcome, m, _) = of(calm, &mated("w"), "w");
    assert!(outcome[1] == 0.99 && m.starts_with('1'), "{outcome:?} {m}");
    // Of equally quick mates, that of the side to move is first.
    let (outcome, ..) = of(&mated("w"), &mated("w"), "w");
    assert_eq!(outcome[0], 0.99);
    // On board B it is Black's turn, so White cannot drop the rook yet.
    let (outcome, ..) = of(calm, &mated("b"), "w");
    assert!(outcome.iter().all(|&probability| probability < 0.99), "{outcome:?}");
}

#[test]
fn network_outputs_do_not_depend_on_the_batch() {
    let catalogue = Catalogue::shipped();
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets");
    let mut networks = 0;
    for path in fs::read_dir(nets).expect("networks").map(|entry| entry.expect("a file").path()) {
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        let Some(game) = name.strip_suffix(".onnx") else { continue };
        // A base network plays every game, including chess.
        let game = match game.trim_end_matches(".int8") {
            "base" => "chess",
            game => game,
        };
        let variant = catalogue.get(game).expect("a shipped game");
        let encoding = Encoding::of(&variant.start());
        let file = fs::read(&path).expect("read");
        let mut network = Onnx::open(&file, &encoding, game, Backend::Cpu, 1).expect("a network");
        let positions = positions(&variant, 24);
        let mut all = network.new_batch();
        let mut some = network.new_batch();
        fill(&mut all, &encoding, &positions);
        network.evaluate(&mut all).expect("evaluated");
        for rows in [1, 2, 3, 5, 6, 7, 11] {
            let mut row = 0;
            for chunk in positions.chunks(rows) {
                fill(&mut some, &encoding, chunk);
                network.evaluate(&mut some).expect("evaluated");
                for nth in 0..chunk.len() {
                    let expected = all.evaluation(row);
                    let found = some.evaluation(nth);
                    assert_eq!(expected, found, "{name}, row {row} in batches of {rows}");
                    row += 1;
                }
            }
        }
        for (row, (position, _)) in positions.iter().enumerate() {
            let evaluation = all.evaluation(row);
            assert!((evaluation.outcome.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{name}");
            assert!(evaluation.moves_left >= 0.0, "{name}");
            if let [_, _, draw] = evaluation.outcome {
                let scores = Side::all(2).map(|side| evaluation.score(side, position.turn()));
                assert!(scores.sum::<f32>().abs() < 1e-5 && *draw >= 0.0, "{name}");
            }
        }
        networks += 1;
    }
    assert!(networks > 12, "{networks} networks");
}

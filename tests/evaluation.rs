//! The contract of evaluators: what decorates one changes nothing of what it says.

use menagerie::encoding::{Encoding, Shape};
use menagerie::evaluation::network::Backend;
use menagerie::evaluation::{Batch, Cached, EvalError, Evaluator, Onnx, Pooled};
use menagerie::rules::{MoveList, Position, Side};
use menagerie::variant::{Catalogue, Variant};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// An evaluator whose numbers tell positions apart, and that counts what it is asked.
#[derive(Clone)]
struct Telling {
    shape: Shape,
    asked: usize,
    fails: bool,
}

impl Evaluator for Telling {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn preferred_batch(&self) -> usize {
        3
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.asked += batch.len();
        for row in 0..batch.len() {
            let key = batch.key(row).0;
            let win = (key % 1000) as f32 / 1000.0;
            let outcome = [win, 1.0 - win, 0.0];
            let logit = |nth: usize, index: u16| f32::from(index) + nth as f32 + win;
            batch.fill(row, &outcome, win * 10.0, |nth, index| logit(nth, index.0));
        }
        if self.fails { Err(EvalError("it fails".to_owned())) } else { Ok(()) }
    }
}

/// Positions of a random game, with their legal moves.
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
    positions.iter().for_each(|(position, legal)| _ = batch.push(encoding, position, legal));
}

fn crazyhouse() -> (std::sync::Arc<Variant>, Encoding, Telling) {
    let variant = Catalogue::shipped().get("crazyhouse").expect("crazyhouse is shipped");
    let encoding = Encoding::of(&variant.start());
    let telling = Telling { shape: encoding.shape(), asked: 0, fails: false };
    (variant, encoding, telling)
}

#[test]
fn a_pool_says_what_one_says() {
    let (variant, encoding, mut one) = crazyhouse();
    for others in 0..4 {
        let mut pool = Pooled::new(one.clone(), vec![one.clone(); others]).expect("threads");
        assert_eq!(pool.preferred_batch(), 3 * (others + 1));
        for count in [0, 1, 2, 7, 16] {
            let positions = positions(&variant, count);
            let (mut alone, mut together) = (one.new_batch(), pool.new_batch());
            fill(&mut alone, &encoding, &positions);
            fill(&mut together, &encoding, &positions);
            one.evaluate(&mut alone).expect("evaluated");
            pool.evaluate(&mut together).expect("evaluated");
            for row in 0..count {
                assert_eq!(alone.evaluation(row), together.evaluation(row), "{others} {row}");
            }
        }
    }
}

#[test]
fn a_pool_that_failed_works_again() {
    let (variant, encoding, one) = crazyhouse();
    let failing = Telling { fails: true, ..one.clone() };
    let mut pool = Pooled::new(one, vec![failing]).expect("threads");
    let mut batch = pool.new_batch();
    for _ in 0..3 {
        fill(&mut batch, &encoding, &positions(&variant, 4));
        assert_eq!(pool.evaluate(&mut batch), Err(EvalError("it fails".to_owned())));
        fill(&mut batch, &encoding, &positions(&variant, 1));
        let first = batch.planes_of(0).to_vec();
        assert_eq!(pool.evaluate(&mut batch), Err(EvalError("it fails".to_owned())));
        assert_eq!(batch.planes_of(0), first);
    }
}

#[test]
fn a_cache_gives_back_what_it_was_told() {
    let (variant, encoding, one) = crazyhouse();
    let mut cached = Cached::new(one, 1 << 20);
    let mut batch = cached.new_batch();
    let positions = positions(&variant, 40);
    for (position, legal) in &positions {
        let key = encoding.input_key(position);
        assert_eq!(cached.recall(key, legal.len()), None);
        fill(&mut batch, &encoding, &[(position.clone(), legal.clone())]);
        cached.evaluate(&mut batch).expect("evaluated");
        let known = cached.recall(key, legal.len()).expect("remembered");
        assert_eq!(known.evaluation(), batch.evaluation(0));
        assert_eq!(cached.recall(key, legal.len() + 1), None);
    }
    cached.forget();
    let forgotten = |(position, legal): &(Position, MoveList)| {
        cached.recall(encoding.input_key(position), legal.len()).is_none()
    };
    assert!(positions.iter().all(forgotten));
}

#[test]
fn a_small_cache_keeps_few_and_the_newest() {
    let (variant, encoding, one) = crazyhouse();
    for bytes in [0, 300, 2000, 20_000] {
        let mut cached = Cached::new(one.clone(), bytes);
        let mut batch = cached.new_batch();
        let positions = positions(&variant, 100);
        for one in &positions {
            fill(&mut batch, &encoding, std::slice::from_ref(one));
            cached.evaluate(&mut batch).expect("evaluated");
            assert!(cached.recall(batch.key(0), one.1.len()).is_some());
        }
        let kept = positions.iter().filter(|(position, legal)| {
            cached.recall(encoding.input_key(position), legal.len()).is_some()
        });
        assert!(kept.count() <= 1 + bytes / 200, "{bytes}");
    }
}

#[test]
fn a_network_says_the_same_in_any_batch() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let encoding = Encoding::of(&variant.start());
    let file = include_bytes!("../nets/3x3.onnx");
    let mut network = Onnx::open(file, &encoding, "3x3", Backend::Cpu, 1).expect("a network");
    let positions = positions(&variant, 20);
    let (mut all, mut one) = (network.new_batch(), network.new_batch());
    fill(&mut all, &encoding, &positions);
    network.evaluate(&mut all).expect("evaluated");
    for (row, single) in positions.iter().enumerate() {
        fill(&mut one, &encoding, std::slice::from_ref(single));
        network.evaluate(&mut one).expect("evaluated");
        let (together, alone) = (all.evaluation(row), one.evaluation(0));
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(close(together.outcome, alone.outcome) && close(together.logits, alone.logits));
        assert!((alone.outcome.iter().sum::<f32>() - 1.0).abs() < 1e-5 && alone.moves_left >= 0.0);
        let scores = [Side::WHITE, Side::BLACK].map(|side| alone.score(side, single.0.turn()));
        assert!((scores[0] + scores[1]).abs() < 1e-5);
    }
}

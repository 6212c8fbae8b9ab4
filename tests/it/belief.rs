//! What a side of blind chess believes, against how things are.

use std::collections::BTreeSet;

use menagerie::belief::{
    Belief, Certainty, Habits, OpponentModel, Prediction, SensePolicy, Uniform, Values,
};
use menagerie::recon::{Player, Preset};
use menagerie::rules::blind::{Army, Played, Truth, steps};
use menagerie::rules::{Bitboard, Color, Role, Square};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Whether the true men are among the boards.
fn knows(belief: &Belief, truth: &Truth) -> bool {
    let (color, theirs) = (!belief.color(), truth.army(!belief.color()));
    let same = |army: &Army| {
        army.planes() == theirs.planes() && army.castling(color) == theirs.castling(color)
    };
    assert_eq!(belief.own(), truth.army(belief.color()), "one's own men are known");
    belief.armies().iter().any(same)
}

/// Plays a game of random requests; both sides look by a policy.
fn random_game(
    seed: u64,
    policy: SensePolicy,
    capacity: usize,
    threads: usize,
    model: &impl OpponentModel,
    mut each: impl FnMut(&Belief, &Truth),
) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut truth = Truth::default();
    let mut beliefs = Color::ALL.map(|color| Belief::new(&truth, color, capacity, threads));
    for turn in 0..150 {
        let mover = truth.turn();
        for belief in beliefs.iter_mut().filter(|belief| belief.color() == mover) {
            let center = belief.best_sense(policy, &Values::default(), turn);
            belief.sensed(&truth.sense(Some(center)));
            each(belief, &truth);
        }
        let requests = truth.requests();
        let request = requests.get(rng.random_range(0..=requests.len())).copied();
        let Played { requested, taken, capture } =
            truth.play(request).expect("it may be requested");
        if truth.end().is_some() {
            break;
        }
        for belief in &mut beliefs {
            if belief.color() == mover {
                belief.moved(requested, taken, capture);
            } else {
                // Working ahead changes nothing.
                for _ in 0..rng.random_range(0..3) {
                    belief.anticipate(7, model);
                }
                belief.heard(capture, model);
            }
            each(belief, &truth);
        }
    }
}

#[test]
fn the_true_board_is_never_lost() {
    // More of them than a test has time for: MENAGERIE_RANDOM_GAMES=1000.
    let games = std::env::var("MENAGERIE_RANDOM_GAMES").ok().and_then(|text| text.parse().ok());
    let (mut exact, mut all) = (0, 0);
    for seed in 0..games.unwrap_or(30) {
        let policy = [SensePolicy::Entropy, SensePolicy::Reduction][seed as usize % 2];
        random_game(seed, policy, 300_000, 2, &Habits, |belief, truth| {
            all += 1;
            if belief.certainty() == Certainty::Exact {
                exact += 1;
                assert!(knows(belief, truth), "seed {seed}: {}", truth.fen());
            }
            let sum: f64 = belief.weights().iter().copied().map(f64::from).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            assert!(belief.weights().iter().all(|&weight| weight > 0.0));
        });
    }
    println!("{exact} of {all} sets were exact");
    assert!(exact * 10 > all * 9, "{exact} of {all} sets were exact");
}

#[test]
fn what_became_of_a_lost_answer_is_found() {
    let (mut found, mut unknown) = (0, 0);
    for seed in 0..20 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut truth = Truth::default();
        let settings = Preset::Best.settings();
        let mut players = Color::ALL.map(|color| Player::new(settings, &truth, color, seed));
        for turn in 0..60 {
            let mover = usize::from(truth.turn().is_black());
            let policy = SensePolicy::Entropy;
            let center = players[mover].belief().best_sense(policy, &Values::default(), turn);
            let seen = truth.sense(Some(center));
            players[mover].sensed(&seen);
            let requests = truth.requests();
            let request = requests.get(rng.random_range(0..=requests.len())).copied();
            let played = truth.play(request).expect("it may be requested");
            if truth.end().is_some() {
                break;
            }
            if rng.random_range(0..3) == 0 {
                players[mover].unheard(request);
                assert!(players[mover].is_unsure());
            } else {
                players[mover].moved(played.requested, played.taken, played.capture);
            }
            let other = &mut players[1 - mover];
            if other.is_unsure() {
                unknown += 1;
                found += usize::from(other.probe(played.capture, &truth.requests()));
            }
            other.heard(played.capture);
            assert!(knows(other.belief(), &truth), "seed {seed}: {}", truth.fen());
        }
    }
    assert!(unknown > 50 && found == unknown, "{found} of {unknown}");
}

#[test]
fn boards_are_told_apart_and_counted_once() {
    random_game(3, SensePolicy::Entropy, 1_000_000, 1, &Uniform, |belief, _| {
        let key = |army: &Army| {
            (army.planes(), army.castling(!belief.color()).0, army.passed(!belief.color()))
        };
        let all: BTreeSet<_> = belief.armies().iter().map(key).collect();
        assert_eq!(all.len(), belief.armies().len());
    });
}

#[test]
fn what_fits_no_longer_is_a_sample_and_says_so() {
    let mut worst = Certainty::Exact;
    for seed in 0..6 {
        random_game(seed, SensePolicy::Naive, 200, 1, &Uniform, |belief, _| {
            assert!(belief.armies().len() <= 200, "{}", belief.armies().len());
            assert!(!belief.armies().is_empty());
            let crowned = |army: &Army| army.by_role(Role::King).count() == 1;
            assert!(belief.armies().iter().all(crowned), "{:?}", belief.certainty());
            worst = worst.max(belief.certainty());
        });
    }
    assert_eq!(worst, Certainty::Repaired, "so few boards lose the true one at some time");
}

#[test]
fn the_first_replies_are_counted() {
    let mut truth = Truth::default();
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    truth.play(None).expect("anybody may pass");
    belief.moved(None, None, None);
    belief.heard(None, &Uniform);
    // Twenty steps and a pass.
    assert_eq!(belief.armies().len(), 21);
    assert!(belief.weights().iter().all(|weight| (weight - 1.0 / 21.0).abs() < 1e-6));
    // Where something is taken, only what can take remains.
    let start = "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 2";
    let truth = Truth::from_fen(start).expect("a FEN");
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    belief.heard(Some(Square::E4), &Uniform);
    assert_eq!(belief.armies().len(), 1);
    assert_eq!(belief.own().occupied().count(), 15);
}

#[test]
fn threads_change_nothing() {
    let start = Truth::default();
    let grown = |threads: usize| {
        let mut belief = Belief::new(&start, Color::White, 1_000_000, threads);
        for _ in 0..4 {
            belief.moved(None, None, None);
            belief.heard(None, &Habits);
        }
        let key = |(army, weight): (&Army, &f32)| {
            (army.planes(), army.castling(Color::Black).0, (weight * 1e9) as u64 / 100)
        };
        let mut all: Vec<_> = belief.armies().iter().zip(belief.weights()).map(key).collect();
        all.sort_unstable();
        all
    };
    let (one, three) = (grown(1), grown(3));
    assert!(one.len() > 20_000, "{}", one.len());
    let boards = |all: &[([u64; 3], u64, u64)]| {
        all.iter().map(|&(planes, rights, _)| (planes, rights)).collect::<Vec<_>>()
    };
    assert_eq!(boards(&one), boards(&three));
    assert!(one.iter().zip(&three).all(|(a, b)| a.2.abs_diff(b.2) <= 1 + a.2 / 1000));
}

#[test]
fn the_likely_weighs_more_and_nothing_is_impossible() {
    // The queen can be taken for nothing.
    let start = "4k3/8/8/3q4/8/2N5/8/3QK3 w - - 0 1";
    let truth = Truth::from_fen(start).expect("a FEN");
    let mut belief = Belief::new(&truth, Color::Black, 1000, 1);
    let theirs = truth.army(Color::White);
    let mut all = Vec::new();
    let own = truth.army(Color::Black).occupied();
    steps(theirs, Color::White, own, None, Bitboard::FULL, &mut all);
    let quiet = all.iter().filter(|step| step.capture.is_none()).count() + 1;
    belief.heard(None, &Habits);
    assert_eq!(belief.armies().len(), quiet);
    assert!(belief.weights().iter().all(|&weight| weight > 0.0));
}

#[test]
fn what_is_predicted_weighs_more_on_every_board() {
    let mut truth = Truth::default();
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    truth.play(None).expect("anybody may pass");
    belief.moved(None, None, None);
    let step = |text: &str| text.parse().expect("a request");
    let likely = [(step("e7e5"), 0.7), (step("d7d5"), 0.2)];
    let prediction = Prediction::new([(belief.armies()[0], 1.0, &likely[..])]);
    belief.heard(None, &prediction);
    let on = |belief: &Belief, square: Square| -> f32 {
        let armies = belief.armies().iter().zip(belief.weights());
        armies.filter(|(army, _)| army.role_at(square).is_some()).map(|(_, weight)| weight).sum()
    };
    // A tenth is shared out evenly among 20 steps and a pass; 18 of them and it were not told of.
    let told = 0.7 + 0.2 + 18.0 * 0.01 + 0.05;
    for (square, chance) in [(Square::E5, 0.7), (Square::D5, 0.2), (Square::A6, 0.01)] {
        let there = match square {
            // A knight goes there, too.
            Square::A6 => 2.0 * (0.9 * chance / told + 0.1 / 21.0),
            _ => 0.9 * chance / told + 0.1 / 21.0,
        };
        assert!((on(&belief, square) - there).abs() < 1e-4, "{square}: {}", on(&belief, square));
    }
    // It holds on the boards that come of that as well, where the step is possible.
    belief.moved(None, None, None);
    belief.heard(None, &prediction);
    let pawns = on(&belief, Square::E5);
    assert!((0.8..0.95).contains(&pawns), "{pawns}");
}

#[test]
fn good_senses_leave_fewer_boards() {
    let mean = |policy: SensePolicy| {
        let (mut sum, mut count) = (0.0, 0.0);
        for seed in 0..3 {
            random_game(seed, policy, 20_000, 1, &Uniform, |belief, _| {
                sum += (belief.armies().len() as f64).ln();
                count += 1.0;
            });
        }
        sum / count
    };
    let naive = mean(SensePolicy::Naive);
    for policy in [SensePolicy::Entropy, SensePolicy::Reduction] {
        assert!(mean(policy) + 1.0 < naive, "{policy:?}");
    }
}

#[test]
fn knowing_is_worth_what_it_changes() {
    // Where the other side's king has gone to decides what is best.
    let truth = Truth::from_fen("7k/8/8/8/8/8/8/K6R b - - 0 1").expect("a FEN");
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    belief.heard(None, &Uniform);
    let boards: Vec<usize> = (0..belief.armies().len()).collect();
    assert_eq!(boards.len(), 4, "three squares and a pass");
    let on_file = |&at: &usize| {
        belief.armies()[at].king().is_some_and(|king| king.file() == Square::H1.file())
    };
    let values = Values {
        weights: boards.iter().map(|&at| belief.weights()[at]).collect(),
        values: boards
            .iter()
            .map(|at| if on_file(at) { vec![1.0, 0.5] } else { vec![0.0, 0.5] })
            .collect(),
        boards,
    };
    let center = belief.best_sense(SensePolicy::Gain, &values, 0);
    assert_eq!(center, Square::G7, "it tells the files apart");
}

//! The set of possible boards of an RBC player, compared with the true board.

use std::collections::BTreeSet;

use menagerie::rbc::{
    Belief, Certainty, Habits, OpponentModel, Player, Prediction, Preset, RequestValues,
    SensePolicy, Settings, UniformOpponent,
};
use menagerie::rules::rbc::{Army, Played, Request, Truth, generate_steps};
use menagerie::rules::{Bitboard, Color, Role, Square};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Returns `true` if the true board is in the set.
fn contains_true_board(belief: &Belief, truth: &Truth) -> bool {
    assert_eq!(belief.own(), truth.army(belief.color()), "the own pieces are known");
    let opponent = !belief.color();
    let theirs = truth.army(opponent);
    belief.armies().iter().any(|army| {
        army.planes() == theirs.planes()
            && army.castling_rooks(opponent) == theirs.castling_rooks(opponent)
    })
}

fn random_request(truth: &Truth, rng: &mut StdRng) -> Option<Request> {
    let requests = truth.requests();
    requests.get(rng.random_range(0..=requests.len())).copied()
}

/// Plays a game of random requests in which both sides sense by a policy. Calls `check` after each sense and
/// move.
fn play_random_game(
    seed: u64,
    policy: SensePolicy,
    capacity: usize,
    threads: usize,
    model: &impl OpponentModel,
    mut check: impl FnMut(&Belief, &Truth),
) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut truth = Truth::default();
    let mut beliefs = Color::ALL.map(|color| Belief::new(&truth, color, capacity, threads));
    for turn in 0..150 {
        let mover = truth.turn();
        for belief in beliefs.iter_mut().filter(|belief| belief.color() == mover) {
            let center = belief.best_sense(policy, &RequestValues::default(), turn);
            belief.sensed(&truth.sense(Some(center)));
            check(belief, &truth);
        }
        let request = random_request(&truth, &mut rng);
        let Played { requested, taken, capture } =
            truth.play(request).expect("one of the requests");
        if truth.end().is_some() {
            break;
        }
        for belief in &mut beliefs {
            if belief.color() == mover {
                belief.moved(requested, taken, capture);
            } else {
                // Anticipation does not change the result.
                for _ in 0..rng.random_range(0..3) {
                    belief.anticipate(7, model);
                }
                belief.opponent_moved(capture, model);
            }
            check(belief, &truth);
        }
    }
}

#[test]
fn belief_never_loses_the_true_board() {
    // A longer test: MENAGERIE_RANDOM_GAMES=1000.
    let games = std::env::var("MENAGERIE_RANDOM_GAMES").ok().and_then(|text| text.parse().ok());
    let mut exact = 0;
    let mut sets = 0;
    for seed in 0..games.unwrap_or(30) {
        let policy = [SensePolicy::Entropy, SensePolicy::Reduction][seed as usize % 2];
        play_random_game(seed, policy, 300_000, 2, &Habits, |belief, truth| {
            sets += 1;
            if belief.certainty() == Certainty::Exact {
                exact += 1;
                assert!(contains_true_board(belief, truth), "seed {seed}: {}", truth.fen());
            }
            let sum: f64 = belief.weights().iter().copied().map(f64::from).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            assert!(belief.weights().iter().all(|&weight| weight > 0.0));
        });
    }
    println!("{exact} of {sets} sets were exact");
    assert!(exact * 10 > sets * 9, "{exact} of {sets} sets were exact");
}

#[test]
fn player_recovers_lost_results() {
    assert_lost_results_are_recovered(Preset::Best.settings());
    // One board is nearly never the true one.
    assert_lost_results_are_recovered(Settings { capacity: 1, ..Preset::Best.settings() });
}

/// Plays random games in which results of requests are lost, and asserts that the own pieces are found.
fn assert_lost_results_are_recovered(settings: Settings) {
    let mut recovered = 0;
    let mut lost = 0;
    for seed in 0..20 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut truth = Truth::default();
        let mut players = Color::ALL.map(|color| Player::new(settings, &truth, color, seed));
        for turn in 0..60 {
            let mover = usize::from(truth.turn().is_black());
            let policy = SensePolicy::Entropy;
            let center =
                players[mover].belief().best_sense(policy, &RequestValues::default(), turn);
            let seen = truth.sense(Some(center));
            players[mover].sensed(&seen);
            let request = random_request(&truth, &mut rng);
            let played = truth.play(request).expect("one of the requests");
            if truth.end().is_some() {
                break;
            }
            if rng.random_range(0..3) == 0 {
                players[mover].lost_result(request);
                assert!(players[mover].has_lost_result());
            } else {
                players[mover].moved(played.requested, played.taken, played.capture);
            }
            let other = &mut players[1 - mover];
            if other.has_lost_result() {
                lost += 1;
                recovered +=
                    usize::from(other.recover_lost_result(played.capture, &truth.requests()));
            }
            other.opponent_moved(played.capture);
            if settings.capacity > 1 {
                assert!(
                    contains_true_board(other.belief(), &truth),
                    "seed {seed}: {}",
                    truth.fen()
                );
            }
        }
    }
    assert!(lost > 50 && recovered == lost, "{recovered} of {lost}");
}

#[test]
fn belief_has_no_duplicates() {
    play_random_game(3, SensePolicy::Entropy, 1_000_000, 1, &UniformOpponent, |belief, _| {
        let opponent = !belief.color();
        let key = |army: &Army| {
            (army.planes(), army.castling_rooks(opponent).0, army.en_passant(opponent))
        };
        let boards: BTreeSet<_> = belief.armies().iter().map(key).collect();
        assert_eq!(boards.len(), belief.armies().len());
    });
}

#[test]
fn belief_above_capacity_is_sampled_and_repaired() {
    let mut worst = Certainty::Exact;
    for seed in 0..6 {
        play_random_game(seed, SensePolicy::Naive, 200, 1, &UniformOpponent, |belief, _| {
            assert!(belief.armies().len() <= 200, "{}", belief.armies().len());
            assert!(!belief.armies().is_empty());
            let has_one_king = |army: &Army| army.by_role(Role::King).count() == 1;
            assert!(belief.armies().iter().all(has_one_king), "{:?}", belief.certainty());
            worst = worst.max(belief.certainty());
        });
    }
    assert_eq!(worst, Certainty::Repaired, "200 boards do not always contain the true one");
}

#[test]
fn belief_counts_the_first_replies() {
    let mut truth = Truth::default();
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    truth.play(None).expect("a pass");
    belief.moved(None, None, None);
    belief.opponent_moved(None, &UniformOpponent);
    // Twenty moves and a pass.
    assert_eq!(belief.armies().len(), 21);
    assert!(belief.weights().iter().all(|weight| (weight - 1.0 / 21.0).abs() < 1e-6));
}

#[test]
fn belief_keeps_only_boards_that_can_capture() {
    let start = "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 2";
    let truth = Truth::from_fen(start).expect("a FEN");
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    belief.opponent_moved(Some(Square::E4), &UniformOpponent);
    assert_eq!(belief.armies().len(), 1);
    assert_eq!(belief.own().occupied().count(), 15);
}

#[test]
fn belief_does_not_depend_on_threads() {
    let start = Truth::default();
    let boards_with = |threads: usize| {
        let mut belief = Belief::new(&start, Color::White, 1_000_000, threads);
        for _ in 0..4 {
            belief.moved(None, None, None);
            belief.opponent_moved(None, &Habits);
        }
        let mut boards = Vec::new();
        for (army, weight) in belief.armies().iter().zip(belief.weights()) {
            let rooks = army.castling_rooks(Color::Black);
            boards.push((army.planes(), rooks.0, (weight * 1e9) as u64 / 100));
        }
        boards.sort_unstable();
        boards
    };
    let one = boards_with(1);
    let three = boards_with(3);
    assert!(one.len() > 20_000, "{}", one.len());
    assert_eq!(one.len(), three.len());
    for (a, b) in one.iter().zip(&three) {
        assert_eq!((a.0, a.1), (b.0, b.1));
        assert!(a.2.abs_diff(b.2) <= 1 + a.2 / 1000, "{a:?} {b:?}");
    }
}

#[test]
fn habits_exclude_no_move() {
    // The queen can be captured for nothing.
    let start = "4k3/8/8/3q4/8/2N5/8/3QK3 w - - 0 1";
    let truth = Truth::from_fen(start).expect("a FEN");
    let mut belief = Belief::new(&truth, Color::Black, 1000, 1);
    let theirs = truth.army(Color::White);
    let occupied = truth.army(Color::Black).occupied();
    let mut steps = Vec::new();
    generate_steps(theirs, Color::White, occupied, None, Bitboard::FULL, &mut steps);
    let quiet_moves = steps.iter().filter(|step| step.capture.is_none()).count() + 1;
    belief.opponent_moved(None, &Habits);
    assert_eq!(belief.armies().len(), quiet_moves);
    assert!(belief.weights().iter().all(|&weight| weight > 0.0));
}

/// Returns the total weight of the boards with a piece on `square`.
fn weight_of_piece_on(belief: &Belief, square: Square) -> f32 {
    let boards = belief.armies().iter().zip(belief.weights());
    boards.filter(|(army, _)| army.role_at(square).is_some()).map(|(_, weight)| weight).sum()
}

#[test]
fn prediction_weights_moves_on_every_board() {
    let mut truth = Truth::default();
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    truth.play(None).expect("a pass");
    belief.moved(None, None, None);
    let request = |text: &str| text.parse().expect("a request");
    let policy = [(request("e7e5"), 0.7), (request("d7d5"), 0.2)];
    let prediction = Prediction::new([(belief.armies()[0], 1.0, &policy[..])]);
    belief.opponent_moved(None, &prediction);
    // A tenth is distributed evenly over 20 moves and a pass; 18 moves were not in the policy.
    let sum = 0.7 + 0.2 + 18.0 * 0.01 + 0.1;
    // Two moves go to a6, of a pawn and a knight.
    for (square, moves, probability) in
        [(Square::E5, 1.0, 0.7), (Square::D5, 1.0, 0.2), (Square::A6, 2.0, 0.01)]
    {
        let expected = moves * (0.9 * probability / sum + 0.1 / 21.0);
        let weight = weight_of_piece_on(&belief, square);
        assert!((weight - expected).abs() < 1e-4, "{square}: {weight}");
    }
    // The prediction applies to the boards after that, too, where the move is possible.
    belief.moved(None, None, None);
    belief.opponent_moved(None, &prediction);
    let weight = weight_of_piece_on(&belief, Square::E5);
    assert!((0.75..0.95).contains(&weight), "{weight}");
}

#[test]
fn prediction_mixes_the_policy_of_a_board_with_the_mean() {
    let truths = ["r3k3/8/8/8/8/8/8/7K b - - 0 1", "r6k/8/8/8/8/8/8/7K b - - 0 1"]
        .map(|fen| Truth::from_fen(fen).expect("a FEN"));
    let armies = truths.each_ref().map(|truth| *truth.army(Color::Black));
    let request: Request = "a8a5".parse().expect("a request");
    let policies = [[(request, 0.8)], [(request, 0.2)]];
    let prediction = Prediction::new(
        armies.iter().zip(&policies).map(|(&army, policy)| (army, 1.0, &policy[..])),
    );
    // The mean is 1/2.
    for (truth, probability) in truths.iter().zip([0.65, 0.35]) {
        let mut belief = Belief::new(truth, Color::White, 1000, 1);
        belief.opponent_moved(None, &prediction);
        // One board a move, and one for the pass.
        let moves = belief.armies().len() as f32 - 1.0;
        let sum = probability + (moves - 1.0) * 0.01 + 0.1;
        let expected = 0.9 * probability / sum + 0.1 / (moves + 1.0);
        let weight = weight_of_piece_on(&belief, Square::A5);
        assert!((weight - expected).abs() < 1e-4, "{weight}, not {expected}");
    }
}

/// Returns the mean logarithm of the number of boards.
fn mean_log_boards(policy: SensePolicy) -> f64 {
    let mut sum = 0.0;
    let mut sets = 0.0;
    for seed in 0..3 {
        play_random_game(seed, policy, 20_000, 1, &UniformOpponent, |belief, _| {
            sum += (belief.armies().len() as f64).ln();
            sets += 1.0;
        });
    }
    sum / sets
}

#[test]
fn sense_policies_leave_fewer_boards_than_naive_senses() {
    let naive = mean_log_boards(SensePolicy::Naive);
    for policy in [SensePolicy::Entropy, SensePolicy::Reduction] {
        assert!(mean_log_boards(policy) + 1.0 < naive, "{policy:?}");
    }
}

#[test]
fn sense_by_gain_shows_what_changes_the_best_request() {
    // The best request depends on the file of the king.
    let truth = Truth::from_fen("7k/8/8/8/8/8/8/K6R b - - 0 1").expect("a FEN");
    let mut belief = Belief::new(&truth, Color::White, 1000, 1);
    belief.opponent_moved(None, &UniformOpponent);
    assert_eq!(belief.armies().len(), 4, "three squares and a pass");
    let row = |army: &Army| {
        let is_on_file = army.king().is_some_and(|king| king.file() == Square::H1.file());
        vec![if is_on_file { 1.0 } else { 0.0 }, 0.5]
    };
    let values = RequestValues {
        boards: (0..belief.armies().len()).collect(),
        weights: belief.weights().to_vec(),
        values: belief.armies().iter().map(row).collect(),
    };
    let center = belief.best_sense(SensePolicy::Gain, &values, 0);
    assert_eq!(center, Square::G7, "it distinguishes the files");
}

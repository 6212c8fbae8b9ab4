//! Blind chess: the referee's rules, and what its player asks for. rbc-client/tests compares the rules with
//! the reference program, reconchess 1.6.9.

use std::collections::BTreeSet;
use std::time::Duration;

use menagerie::recon::{Player, Preset, Settings, Weighing};
use menagerie::rules::blind::{
    Clocks, Request, Step, Taken, Truth, WinReason, attackers, steps, window,
};
use menagerie::rules::{Bitboard, ByColor, Color, Square};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Plays a game of random requests; calls `each` at every turn.
fn random_game(seed: u64, mut each: impl FnMut(&Truth)) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut truth = Truth::default();
    while truth.end().is_none() {
        each(&truth);
        let requests = truth.requests();
        let request = requests.get(rng.random_range(0..=requests.len())).copied();
        truth.play(request).expect("it may be requested");
    }
}

#[test]
fn every_request_becomes_a_step_and_every_step_is_requested() {
    for seed in 0..60 {
        random_game(seed, |truth| {
            let (color, mut all) = (truth.turn(), Vec::new());
            let (own, theirs) = (truth.army(color), truth.army(!color));
            let passed = theirs.passed(!color);
            steps(own, color, theirs.occupied(), passed, Bitboard::FULL, &mut all);
            let key = |taken: Taken| (taken.step, taken.capture);
            let made: BTreeSet<(Request, Option<Square>)> =
                all.iter().map(|step: &Step| key(step.taken())).collect();
            assert_eq!(made.len(), all.len(), "{}: a step is there twice", truth.fen());
            let requests = truth.requests().into_iter();
            let taken: BTreeSet<_> = requests
                .filter_map(|request| truth.take(Some(request)).expect("it may be requested"))
                .map(key)
                .collect();
            assert_eq!(made, taken, "{}", truth.fen());
            for step in all {
                let (mut mover, mut other) = (*own, *theirs);
                mover.make(color, Some(step.taken()), &mut other);
                assert_eq!(step.after(own, color), mover, "{}", truth.fen());
            }
            assert_eq!(Truth::from_fen(&truth.fen()).expect("a FEN").fen(), truth.fen());
        });
    }
}

#[test]
fn time_outranks_a_king_that_was_taken() {
    let clocks = Clocks { left: ByColor { white: 1000, black: 500 }, increment: 5 };
    let mut truth =
        Truth::from_fen("4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1").expect("a FEN").with_clocks(clocks);
    truth.play(Some(Request::new(Square::E7, Square::E8))).expect("it may be requested");
    let end = truth.end().expect("the king is gone");
    assert_eq!((end.winner, end.reason), (Some(Color::White), WinReason::KingCapture));
    truth.spend(Color::White, 1005);
    let end = truth.end().expect("time is up");
    assert_eq!((end.winner, end.reason), (Some(Color::Black), WinReason::Timeout));
    let mut truth = Truth::default().with_turn_limit(1);
    for _ in 0..2 {
        assert_eq!(truth.end(), None);
        truth.play(None).expect("anybody may pass");
    }
    assert_eq!(truth.end().map(|end| end.reason), Some(WinReason::TurnLimit));
    truth.resign(Color::White);
    assert_eq!(truth.end().map(|end| end.winner), Some(Some(Color::Black)));
}

#[test]
fn what_may_not_be_requested_changes_nothing() {
    let mut truth = Truth::default();
    for text in ["e2e5", "e7e5", "e1g1", "a1a2", "e4e5", "e2e3q"] {
        let request = text.parse().expect("a move");
        let error = truth.play(Some(request)).expect_err("it may not be requested");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(truth, Truth::default());
    }
    // Men of the other side are not known of.
    truth.play(Some(Request::new(Square::E2, Square::F3))).expect("it may be requested");
}

#[test]
fn windows_are_clipped() {
    assert_eq!(window(Square::A1).count(), 4);
    assert_eq!(window(Square::A4).count(), 6);
    assert_eq!(window(Square::B7).count(), 9);
    let truth = Truth::default();
    assert!(truth.sense(None).is_empty());
    let seen: String =
        truth.sense(Some(Square::H8)).iter().map(|(square, _)| square.to_string()).collect();
    assert_eq!(seen, "g8h8g7h7");
    let rook = attackers(truth.army(Color::Black), Color::Black, Square::H7, Bitboard::EMPTY);
    assert_eq!(rook, Bitboard::from(Square::H8));
}

/// Plays White against a king that walks to and fro; tells the most often that White's men stood alike.
fn most_alike(fen: &str, [here, there]: [Square; 2], turns: usize) -> usize {
    let mut truth = Truth::from_fen(fen).expect("a FEN");
    let settings = Settings {
        weighing: Weighing::Habits,
        samples: 64,
        depth: 2,
        turn: Duration::from_secs(60),
        ..Preset::Best.settings()
    };
    let left = Duration::from_secs(100_000);
    let mut player = Player::new(settings, &truth, Color::White, 1);
    let mut stood: Vec<[u64; 3]> = Vec::new();
    for _ in 0..turns {
        let center = player.sense(left);
        player.sensed(&truth.sense(Some(center)));
        let request = player.request(left);
        let played = truth.play(request).expect("it may be requested");
        player.moved(played.requested, played.taken, played.capture);
        stood.push(truth.army(Color::White).planes());
        let king = truth.army(Color::Black).king();
        let walks =
            Request::new(king.unwrap_or(here), if king == Some(here) { there } else { here });
        if truth.end().is_some() || !truth.requests().contains(&walks) {
            break;
        }
        let played = truth.play(Some(walks)).expect("it may be requested");
        player.heard(played.capture);
    }
    let alike = |men: &[u64; 3]| stood.iter().filter(|other| *other == men).count();
    stood.iter().map(alike).max().unwrap_or(0)
}

#[test]
fn a_check_that_is_always_answered_is_not_given_for_ever() {
    // A queen gave check from e5 and f5 in turn until the game was a draw.
    let fen = "rnbqkbnr/pp3ppp/2p5/3N1Q2/3pP3/8/PPPP1PPP/R1B1KBNR w KQ - 0 1";
    let most = most_alike(fen, [Square::E8, Square::D7], 40);
    assert!(most <= 8, "{most} times");
}

/// The first requests of a player of White against somebody who passes.
fn beginning(seed: u64) -> Vec<Option<Request>> {
    let mut truth = Truth::default();
    let best = Preset::Best.settings();
    let settings = Settings { weighing: Weighing::Habits, samples: 16, depth: 1, ..best };
    let left = Duration::from_secs(100_000);
    let mut player = Player::new(settings, &truth, Color::White, seed);
    let turn = |_| {
        let center = player.sense(left);
        player.sensed(&truth.sense(Some(center)));
        let request = player.request(left);
        let played = truth.play(request).expect("it may be requested");
        player.moved(played.requested, played.taken, played.capture);
        truth.play(None).expect("a pass");
        player.heard(None);
        request
    };
    (0..3).map(turn).collect()
}

#[test]
fn who_asks_for_what_is_as_good_does_not_always_ask_for_the_same() {
    let games: BTreeSet<_> = (0..8).map(beginning).collect();
    assert!(games.len() > 1, "{games:?}");
    assert_eq!(beginning(5), beginning(5));
}

proptest! {
    #[test]
    fn requests_are_read_as_they_are_written(text in "[a-h0-9qrbnkp]{0,6}") {
        match text.parse::<Request>() {
            Ok(request) => prop_assert_eq!(request.to_string(), text),
            Err(error) => prop_assert!(error.contains(&text)),
        }
    }
}

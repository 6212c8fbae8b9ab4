//! The rules of RBC, and requests of the player in whole games. rbc-client/tests compares the rules with the
//! reference program, reconchess 1.6.9.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use menagerie::rbc::{
    BoardScorer, Player, PolicyNetwork, PolicyNetworkError, Preset, RequestPolicy, Settings,
    SharedNetwork, Weighting,
};
use menagerie::rules::rbc::{
    RbcClocks, Request, Taken, Truth, WinReason, attackers, generate_steps, sense_window,
};
use menagerie::rules::{Bitboard, ByColor, Color, Square};
use parking_lot::FairMutex;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The time left of players that must not run out of time.
const ENOUGH_TIME: Duration = Duration::from_secs(100_000);

/// Plays a game of random requests and calls `check` in each turn.
fn play_random_game(seed: u64, mut check: impl FnMut(&Truth)) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut truth = Truth::default();
    while truth.end().is_none() {
        check(&truth);
        let requests = truth.requests();
        let request = requests.get(rng.random_range(0..=requests.len())).copied();
        truth.play(request).expect("one of the requests");
    }
}

/// Checks that the steps are the results of the requests.
fn check_steps(truth: &Truth) {
    let color = truth.turn();
    let own = truth.army(color);
    let theirs = truth.army(!color);
    let fen = truth.fen();
    let mut steps = Vec::new();
    let en_passant = theirs.en_passant(!color);
    generate_steps(own, color, theirs.occupied(), en_passant, Bitboard::FULL, &mut steps);
    let key = |taken: Taken| (taken.step, taken.capture);
    let from_steps: BTreeSet<_> = steps.iter().map(|step| key(step.taken())).collect();
    assert_eq!(from_steps.len(), steps.len(), "{fen}: duplicate step");
    let mut from_requests = BTreeSet::new();
    for request in truth.requests() {
        from_requests.extend(truth.resolve(Some(request)).expect("one of the requests").map(key));
    }
    assert_eq!(from_steps, from_requests, "{fen}");
    for step in steps {
        let mut mover = *own;
        let mut other = *theirs;
        mover.make_move(color, Some(step.taken()), &mut other);
        assert_eq!(step.after(own, color), mover, "{fen}");
    }
    assert_eq!(Truth::from_fen(&fen).expect("a FEN").fen(), fen);
}

#[test]
fn rbc_requests_become_steps_and_every_step_is_requested() {
    for seed in 0..60 {
        play_random_game(seed, check_steps);
    }
}

#[test]
fn rbc_timeout_takes_precedence_over_king_capture() {
    let clocks = RbcClocks { left: ByColor { white: 1000, black: 500 }, increment: 5 };
    let mut truth =
        Truth::from_fen("4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1").expect("a FEN").with_clocks(clocks);
    truth.play(Some(Request::new(Square::E7, Square::E8))).expect("one of the requests");
    let end = truth.end().expect("the king is captured");
    assert_eq!((end.winner, end.reason), (Some(Color::White), WinReason::KingCapture));
    truth.spend(Color::White, 1005);
    let end = truth.end().expect("no time left");
    assert_eq!((end.winner, end.reason), (Some(Color::Black), WinReason::Timeout));
}

#[test]
fn rbc_game_ends_by_resignation() {
    let mut truth = Truth::default();
    assert_eq!(truth.end(), None);
    truth.play(None).expect("a pass");
    truth.resign(Color::White);
    assert_eq!(truth.end().map(|end| end.winner), Some(Some(Color::Black)));
}

#[test]
fn rbc_invalid_request_changes_nothing() {
    let mut truth = Truth::default();
    for text in ["e2e5", "e7e5", "e1g1", "a1a2", "e4e5", "e2e3q"] {
        let request = text.parse().expect("a move");
        let error = truth.play(Some(request)).expect_err("not one of the requests");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(truth, Truth::default());
    }
    // Diagonal steps of pawns are always possible requests.
    truth.play(Some(Request::new(Square::E2, Square::F3))).expect("one of the requests");
}

#[test]
fn rbc_sense_window_is_clipped() {
    assert_eq!(sense_window(Square::A1).count(), 4);
    assert_eq!(sense_window(Square::A4).count(), 6);
    assert_eq!(sense_window(Square::B7).count(), 9);
    let truth = Truth::default();
    assert!(truth.sense(None).is_empty());
    let seen: String =
        truth.sense(Some(Square::H8)).iter().map(|(square, _)| square.to_string()).collect();
    assert_eq!(seen, "g8h8g7h7");
}

#[test]
fn rbc_attackers_of_a_square() {
    let truth = Truth::default();
    let rook = attackers(truth.army(Color::Black), Color::Black, Square::H7, Bitboard::EMPTY);
    assert_eq!(rook, Bitboard::from(Square::H8));
}

/// Plays a turn of the player and returns its request.
fn play_turn(player: &mut Player, truth: &mut Truth) -> Option<Request> {
    let center = player.sense(ENOUGH_TIME);
    player.sensed(&truth.sense(Some(center)));
    let request = player.request(ENOUGH_TIME);
    let played = truth.play(request).expect("one of the requests");
    player.moved(played.requested, played.taken, played.capture);
    request
}

/// Plays White against a king that moves between two squares. Returns the maximum number of times that
/// White's pieces stood on the same squares.
fn max_repetitions(fen: &str, [first, second]: [Square; 2], turns: usize) -> usize {
    let mut truth = Truth::from_fen(fen).expect("a FEN");
    let settings = Settings {
        weighting: Weighting::Habits,
        samples: 64,
        depth: 2,
        turn: Duration::from_secs(60),
        ..Preset::Best.settings()
    };
    let mut player = Player::new(settings, &truth, Color::White, 1);
    let mut armies: Vec<[u64; 3]> = Vec::new();
    for _ in 0..turns {
        play_turn(&mut player, &mut truth);
        armies.push(truth.army(Color::White).planes());
        let king = truth.army(Color::Black).king().unwrap_or(first);
        let king_move = Request::new(king, if king == first { second } else { first });
        if truth.end().is_some() || !truth.requests().contains(&king_move) {
            break;
        }
        let played = truth.play(Some(king_move)).expect("one of the requests");
        player.opponent_moved(played.capture);
    }
    let count = |army: &[u64; 3]| armies.iter().filter(|other| *other == army).count();
    armies.iter().map(count).max().unwrap_or(0)
}

#[test]
fn rbc_player_does_not_repeat_an_answered_check_forever() {
    // Without a penalty for repetitions the queen checked from e5 and f5 until the game was drawn.
    let fen = "rnbqkbnr/pp3ppp/2p5/3N1Q2/3pP3/8/PPPP1PPP/R1B1KBNR w KQ - 0 1";
    let repetitions = max_repetitions(fen, [Square::E8, Square::D7], 40);
    assert!(repetitions <= 8, "{repetitions} times");
}

/// Returns the first requests of White against an opponent that passes.
fn first_requests(seed: u64) -> Vec<Option<Request>> {
    let mut truth = Truth::default();
    let best = Preset::Best.settings();
    let settings = Settings { weighting: Weighting::Habits, samples: 16, depth: 1, ..best };
    let mut player = Player::new(settings, &truth, Color::White, seed);
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(play_turn(&mut player, &mut truth));
        truth.play(None).expect("a pass");
        player.opponent_moved(None);
    }
    requests
}

#[test]
fn rbc_player_varies_equal_requests_by_seed() {
    let games: BTreeSet<_> = (0..8).map(first_requests).collect();
    assert!(games.len() > 1, "{games:?}");
    assert_eq!(first_requests(5), first_requests(5));
}

#[test]
fn rbc_player_does_not_hope_that_a_check_is_overlooked_in_the_opening() {
    // White is a rook down. The king would recapture the bishop on f7, which is rarely overlooked in the first turns.
    let fen = "rnbqkb1r/pppp1ppp/5n2/4p3/2B1P3/8/PPPP1PPP/RNBQK1N1 w Qkq - 0 1";
    let mut truth = Truth::from_fen(fen).expect("a FEN");
    let best = Preset::Best.settings();
    let settings = Settings { weighting: Weighting::Habits, depth: 3, nodes: 0, ..best };
    let mut player = Player::new(settings, &truth, Color::White, 1);
    let request = play_turn(&mut player, &mut truth);
    assert!(truth.army(Color::Black).role_at(Square::F7).is_some(), "{request:?}");
}

/// A network whose search prefers boards with a rank as in FENs for White.
#[derive(Clone, Debug)]
struct RankLover {
    rank: &'static str,
    /// The number of searches, and after how many they fail.
    searches: Arc<AtomicUsize>,
    max_searches: usize,
}

impl PolicyNetwork for RankLover {
    fn predict(&mut self, fens: &[String]) -> Result<Vec<RequestPolicy>, PolicyNetworkError> {
        Ok(vec![RequestPolicy::new(); fens.len()])
    }

    fn scorer(&self) -> Option<Box<dyn BoardScorer>> {
        Some(Box::new(self.clone()))
    }

    fn search(&mut self, _: &str, _: u32) -> Result<Option<Request>, PolicyNetworkError> {
        Ok(None)
    }
}

impl BoardScorer for RankLover {
    fn score(&mut self, fen: &str, _: u64, _: Instant) -> Result<Option<f32>, PolicyNetworkError> {
        if self.searches.fetch_add(1, Ordering::Relaxed) >= self.max_searches {
            return Err(PolicyNetworkError::Evaluation("no more searches".into()));
        }
        let for_white = if fen.contains(self.rank) { 0.9 } else { 0.5 };
        Ok(Some(if fen.contains(" w ") { for_white } else { 1.0 - for_white }))
    }
}

/// Plays the first turn of White with a network, and returns the request.
fn first_request(network: &RankLover, settings: Settings) -> Option<Request> {
    let mut truth = Truth::default();
    let network: SharedNetwork = Arc::new(FairMutex::new(network.clone()));
    let player = Player::new(settings, &truth, Color::White, 1);
    play_turn(&mut player.with_network(Some(network)), &mut truth)
}

#[test]
fn rbc_player_requests_what_the_network_prefers() {
    let best = Settings { weighting: Weighting::Habits, ..Preset::Best.settings() };
    for (rank, to, threads) in [("/2N5/", Square::C3, 1), ("/5N2/", Square::F3, 2)] {
        let network = RankLover { rank, searches: Arc::default(), max_searches: usize::MAX };
        let request = first_request(&network, Settings { threads, ..best });
        assert_eq!(request.map(|request| request.to), Some(to));
        assert!(network.searches.load(Ordering::Relaxed) > 0);
    }
    let network = RankLover { rank: "/2N5/", searches: Arc::default(), max_searches: 0 };
    first_request(&network, Settings { nodes: 0, ..best });
    assert_eq!(network.searches.load(Ordering::Relaxed), 0, "without nodes there is no search");
}

#[test]
fn rbc_player_does_without_a_network_that_fails() {
    let best = Settings { weighting: Weighting::Habits, ..Preset::Best.settings() };
    for max_searches in [0, 5, 12] {
        let network = RankLover { rank: "/2N5/", searches: Arc::default(), max_searches };
        assert!(first_request(&network, best).is_some(), "a request in spite of the failure");
        let searches = network.searches.load(Ordering::Relaxed);
        assert_eq!(searches, max_searches + 1, "a search that failed is not repeated");
    }
}

proptest! {
    #[test]
    fn rbc_request_round_trips(text in "[a-h0-9qrbnkp]{0,6}") {
        match text.parse::<Request>() {
            Ok(request) => prop_assert_eq!(request.to_string(), text),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
    }
}

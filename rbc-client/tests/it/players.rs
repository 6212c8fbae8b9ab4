//! Players with the shipped network.

use std::time::Duration;

use menagerie::rules::rbc::{Request, Truth};
use menagerie::rules::{Color, Square};
use menagerie_rbc::PlayerOptions;

#[test]
fn players_of_the_preset_paper_vote_by_simulations() {
    let options = PlayerOptions::from_pairs([("preset", "paper"), ("simulations", "64")]);
    let players = options.expect("valid options").players();
    assert!(players.has_requested_network(), "{:?}", players.notes());

    let truth = Truth::from_fen("4k3/8/8/3q4/8/8/8/3R2K1 w - - 0 1").expect("a FEN");
    let mut player = players.create_player(&truth, Color::White, 1);
    let time_left = Duration::from_secs(900);
    let square = player.sense(time_left);
    player.sensed(&truth.sense(Some(square)));
    assert_eq!(player.request(time_left), Some(Request::new(Square::D1, Square::D5)));
}

#[test]
fn players_search_by_the_network_of_chess() {
    for threads in ["1", "2"] {
        let options = [("nodes", "256"), ("threads", threads)];
        let players = PlayerOptions::from_pairs(options).expect("valid options").players();
        assert!(players.has_requested_network(), "{:?}", players.notes());
        assert!(players.notes().iter().any(|note| note.contains("chess network")));

        // The pawn is defended by the bishop, so that the queen must not take it.
        let truth = Truth::from_fen("4k3/8/3b4/4p3/8/8/4Q3/4K3 w - - 0 1").expect("a FEN");
        let mut player = players.create_player(&truth, Color::White, 1);
        let time_left = Duration::from_secs(900);
        let square = player.sense(time_left);
        player.sensed(&truth.sense(Some(square)));
        let request = player.request(time_left);
        assert_ne!(request, Some(Request::new(Square::E2, Square::E5)), "{threads} threads");
    }
}

#[test]
fn players_report_a_network_that_is_missing() {
    let options = PlayerOptions::from_pairs([("network", "no/such/file.onnx")]);
    let players = options.expect("valid options").players();
    assert!(!players.has_requested_network());
    let notes = players.notes();
    assert!(notes.iter().any(|note| note.contains("no/such/file.onnx")), "{notes:?}");
}

#[test]
fn players_without_network_have_no_notes() {
    let options = [("weights", "habits"), ("nodes", "0"), ("network", "no/such/file")];
    let options = PlayerOptions::from_pairs(options);
    let players = options.expect("valid options").players();
    assert!(players.has_requested_network());
    assert!(players.notes().is_empty());
}

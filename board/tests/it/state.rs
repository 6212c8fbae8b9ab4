//! Whole games through `state`, ply by ply.

use menagerie::variant::Catalogue;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::client::{Client, TestServer};

const MAX_TURNS: usize = 30;

/// Plays random plies from the start until the end or [`MAX_TURNS`]. Returns the number of turns.
fn play_random_game(client: &mut Client, variant: &str, rng: &mut SmallRng) -> usize {
    let mut moves: Vec<String> = Vec::new();
    let mut sans: Vec<String> = Vec::new();
    let mut plies: Vec<String> = Vec::new();
    loop {
        let position = json!({"variant": variant, "moves": moves, "plies": plies});
        let state = client.accepted("state", json!({ "position": position }));
        assert_eq!(state["san"].as_array().expect("a list").len(), moves.len());
        if let Some(turn) = state["complete"].as_str() {
            moves.push(turn.to_owned());
            sans.push(state["completeSan"].as_str().expect("a text").to_owned());
            plies.clear();
            continue;
        }
        if plies.is_empty() {
            assert_eq!(state["san"], json!(sans), "{variant}");
        }
        check_boards(&state, variant);
        let legal = state["legal"].as_array().expect("a list");
        if !state["outcome"].is_null() {
            assert!(legal.is_empty(), "{variant}: {state}");
            return moves.len();
        }
        if moves.len() == MAX_TURNS {
            return moves.len();
        }
        let ply = legal.choose(rng).unwrap_or_else(|| panic!("{variant}: {state}"));
        if ply["pass"] == false {
            assert!(ply["to"].is_string(), "{variant}: {ply}");
        }
        plies.push(ply["ply"].as_str().expect("a text").to_owned());
    }
}

fn check_boards(state: &Value, variant: &str) {
    let boards = state["boards"].as_array().expect("a list");
    assert_eq!(boards.len(), if variant.starts_with("bughouse2") { 2 } else { 1 });
    for board in boards {
        assert!(["white", "black"].contains(&board["turn"].as_str().expect("a color")));
    }
}

#[test]
fn every_variant_is_played_through_state() {
    let server = TestServer::start();
    let mut client = server.connect();
    let mut rng = SmallRng::seed_from_u64(38);
    for variant in Catalogue::shipped().iter() {
        assert!(play_random_game(&mut client, variant.name(), &mut rng) > 0, "{}", variant.name());
    }
}

#[test]
fn bughouse_pieces_go_to_the_other_board() {
    let server = TestServer::start();
    let mut client = server.connect();
    let moves = ["2e2e4", "1e2e4", "2d7d5", "1d7d5", "2e4d5"];
    let position =
        json!({"variant": "bughouse2", "moves": moves, "clocks": [60e3, 59.5e3, 6e4, 6e4]});
    let state = client.accepted("state", json!({ "position": position }));
    assert_eq!(state["boards"][0]["pockets"], json!({"white": {}, "black": {"p": 1}}));
    assert_eq!(state["seats"], json!(["B", "A", "b", "a", "B"]));
    assert_eq!(state["lastMoves"].as_array().map(Vec::len), Some(2));
    // White on the first board, and Black on the second, are partners.
    let boards: Vec<_> = state["legal"].as_array().expect("a list").iter().collect();
    for (board, color) in [(0, "white"), (1, "black")] {
        assert_eq!(state["boards"][board]["turn"], color);
        assert_eq!(state["boards"][board]["mayMove"], true);
        assert!(boards.iter().any(|ply| ply["board"] == board));
    }
    let dropped = [&moves[..], &["1e4d5"]].concat();
    let position = json!({"variant": "bughouse2", "moves": dropped});
    let state = client.accepted("state", json!({ "position": position }));
    let drops = state["legal"].as_array().expect("a list").iter().filter(|ply| ply["drop"] == "P");
    assert!(drops.clone().count() > 0 && drops.clone().all(|ply| ply["from"].is_null()));
    let san =
        json!({"position": {"variant": "bughouse2", "moves": dropped}, "text": "P@e4", "board": 0});
    assert_eq!(client.accepted("san", san)["move"], "1P@e4");
}

#[test]
fn notation_is_read_and_castling_has_alternatives() {
    let server = TestServer::start();
    let mut client = server.connect();
    let san = json!({"position": {"variant": "duck"}, "text": "Nf3,d5"});
    assert_eq!(client.accepted("san", san)["move"], "g1f3,f3d5");
    let fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1";
    let state = client.accepted("state", json!({"position": {"variant": "chess", "fen": fen}}));
    let legal = state["legal"].as_array().expect("a list");
    let castling = legal.iter().find(|ply| ply["ply"] == "e1g1").expect("castling");
    assert_eq!((&castling["to"], &castling["alternatives"]), (&json!("g1"), &json!(["h1"])));
    let san = json!({"position": {"variant": "chess", "fen": fen}, "text": "O-O"});
    assert_eq!(client.accepted("san", san)["move"], "e1g1");
}

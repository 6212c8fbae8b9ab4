//! Games of RBC: whole games, and what their replies reveal.

use std::collections::BTreeMap;

use menagerie::rules::Square;
use menagerie::rules::rbc::{Truth, sense_window};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::client::{Client, TestServer};

/// The client resigns after this number of own turns.
const MAX_TURNS: usize = 60;

/// A game as its client sees it.
struct Observer {
    is_white: bool,
    /// The pieces of the opponent where they were sensed last.
    sensed: BTreeMap<String, char>,
    /// The number of turns before each sense, its center, and the squares that it showed.
    senses: Vec<(usize, Square, BTreeMap<String, char>)>,
}

impl Observer {
    fn is_own(&self, piece: char) -> bool {
        piece.is_ascii_uppercase() == self.is_white
    }

    fn opponent_pieces(&self, view: &Value) -> BTreeMap<String, char> {
        let pieces = view["pieces"].as_object().expect("pieces").iter();
        let pieces = pieces.map(|(square, piece)| {
            let letter = piece.as_str().and_then(|text| text.chars().next());
            (square.clone(), letter.expect("a letter"))
        });
        pieces.filter(|&(_, piece)| !self.is_own(piece)).collect()
    }

    /// Checks that a view before the end has nothing that was not sensed.
    fn check(&self, view: &Value) {
        assert!(view["truth"].is_null() && view["outcome"].is_null(), "{view}");
        for (square, piece) in self.opponent_pieces(view) {
            assert_eq!(self.sensed.get(&square), Some(&piece), "{square}: {view}");
        }
        let own = if self.is_white { "white" } else { "black" };
        for entry in view["log"].as_array().expect("a list") {
            if entry["color"] != own {
                let hidden = ["sense", "request", "taken"].map(|key| entry[key].is_null());
                assert_eq!(hidden, [true; 3], "{entry}");
            }
        }
        if view["phase"] != "move" {
            assert_eq!(view["requests"], json!([]));
        }
    }

    /// Adds what a sense showed.
    fn sense(&mut self, center: Square, view: &Value) {
        let pieces = self.opponent_pieces(view);
        let mut shown = BTreeMap::new();
        for square in sense_window(center) {
            let name = square.to_string();
            self.sensed.remove(&name);
            if let Some(&piece) = pieces.get(&name) {
                shown.insert(name.clone(), piece);
                self.sensed.insert(name, piece);
            }
        }
        let turns = view["log"].as_array().map_or(0, Vec::len);
        self.senses.push((turns, center, shown));
    }

    /// Checks what the senses showed by the truth.
    fn check_truth(&self, view: &Value) {
        let fens = view["truth"]["fens"].as_array().expect("the truth");
        assert_eq!(fens.len(), view["log"].as_array().map_or(0, Vec::len) + 1);
        for (turns, center, shown) in &self.senses {
            let truth = Truth::from_fen(fens[*turns].as_str().expect("a FEN")).expect("a position");
            let mut expected = BTreeMap::new();
            for (square, piece) in truth.sense(Some(*center)) {
                if let Some(piece) = piece
                    && !self.is_own(piece.char())
                {
                    expected.insert(square.to_string(), piece.char());
                }
            }
            assert_eq!(*shown, expected, "sense of {center} after {turns} turns");
        }
    }
}

/// Returns the view once the engine has moved.
fn wait_for_turn(client: &mut Client, view: Value) -> Value {
    if view["phase"] != "wait" { view } else { client.event("rbc.turn")["view"].clone() }
}

fn play_game(client: &mut Client, color: &str, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let begun = client.accepted("rbc.new", json!({"color": color, "seconds": 900}));
    let token = begun["token"].clone();
    let mut observer =
        Observer { is_white: color == "white", sensed: BTreeMap::new(), senses: Vec::new() };
    let mut view = begun["view"].clone();
    for turn in 0.. {
        if view["phase"] == "wait" {
            observer.check(&view);
        }
        view = wait_for_turn(client, view);
        if view["phase"] == "over" {
            break;
        }
        observer.check(&view);
        assert_eq!(view["phase"], "sense", "{view}");
        if turn == 1 {
            let early = client.refused("rbc.move", json!({"token": token, "request": "e2e4"}));
            assert!(early.contains("sense"), "{early}");
            let resumed = client.accepted("rbc.resume", json!({ "token": token }));
            assert_eq!(resumed["view"]["pieces"], view["pieces"]);
        }
        if turn == MAX_TURNS {
            view = client.accepted("rbc.resign", json!({ "token": token }))["view"].clone();
            break;
        }
        let center = Square::new(rng.random_range(0..64));
        let sense = json!({"token": token, "square": center.to_string()});
        view = client.accepted("rbc.sense", sense)["view"].clone();
        observer.sense(center, &view);
        observer.check(&view);
        let illegal = client.refused("rbc.move", json!({"token": token, "request": "a1a1"}));
        assert!(illegal.contains("a1a1"), "{illegal}");
        let requests = view["requests"].as_array().expect("a list").clone();
        let request = requests.choose(&mut rng).cloned().unwrap_or(Value::Null);
        view = client.accepted("rbc.move", json!({"token": token, "request": request}))["view"]
            .clone();
    }
    assert!(view["outcome"]["text"].is_string(), "{view}");
    observer.check_truth(&view);
    let refusal = client.refused("rbc.sense", json!({"token": token, "square": "e4"}));
    assert!(refusal.contains("over"), "{refusal}");
}

#[test]
fn game_reveals_only_what_was_sensed() {
    let server = TestServer::start();
    let mut client = server.connect();
    play_game(&mut client, "white", 1);
}

#[test]
fn game_is_resumed_by_another_connection() {
    let server = TestServer::start();
    let mut first = server.connect();
    let begun = first.accepted("rbc.new", json!({"color": "black"}));
    let token = begun["token"].clone();
    assert_eq!(begun["view"]["clock"], json!([]));
    drop(first);
    let mut second = server.connect();
    let resumed = second.accepted("rbc.resume", json!({ "token": token }));
    let view = wait_for_turn(&mut second, resumed["view"].clone());
    assert_eq!(view["phase"], "sense");
    assert!(view["log"][0]["request"].is_null());
    let refusal = second.refused("rbc.sense", json!({"token": token, "square": "e9"}));
    assert!(refusal.contains("\"e9\""), "{refusal}");
    second.accepted("rbc.sense", json!({"token": token, "square": null}));
    let refusal = second.refused("rbc.sense", json!({"token": token, "square": "e4"}));
    assert!(refusal.contains("sense"), "{refusal}");
    let over = second.accepted("rbc.resign", json!({ "token": token }));
    assert_eq!(over["view"]["outcome"]["text"], "1-0 resignation");
    assert!(over["view"]["log"][0]["sense"].is_string());
}

#[test]
fn game_of_two_connections_sends_turns_to_both() {
    let server = TestServer::start();
    let mut first = server.connect();
    let begun = first.accepted("rbc.new", json!({"color": "black"}));
    let token = begun["token"].clone();
    first.event("rbc.turn");
    let mut second = server.connect();
    second.accepted("rbc.resume", json!({ "token": token }));
    second.accepted("rbc.sense", json!({"token": token, "square": null}));
    second.accepted("rbc.move", json!({"token": token, "request": null}));
    for client in [&mut first, &mut second] {
        assert_eq!(client.event("rbc.turn")["view"]["phase"], "sense");
    }
}

#[test]
fn game_ends_when_the_clock_has_run_out() {
    let server = TestServer::start();
    let mut client = server.connect();
    let begun = client.accepted("rbc.new", json!({"color": "white", "seconds": 0.001}));
    std::thread::sleep(std::time::Duration::from_millis(1200));
    let resumed = client.accepted("rbc.resume", json!({"token": begun["token"]}));
    assert_eq!(resumed["view"]["outcome"]["text"], "0-1 time");
}

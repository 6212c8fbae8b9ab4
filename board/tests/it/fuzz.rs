//! Random messages: each text gets exactly one reply, and the session lives.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tungstenite::Message;

use crate::client::TestServer;

const SEED: u64 = 20;
const MESSAGES: usize = 400;

/// Valid messages to change.
const TEMPLATES: [&str; 12] = [
    r#"{"type":"hello","id":1}"#,
    r#"{"type":"state","id":2,"position":{"variant":"3x3","moves":[],"plies":[]}}"#,
    r#"{"type":"state","id":3,"position":{"variant":"duck","moves":["e2e4,e4d5"],"plies":["e7e5"]}}"#,
    r#"{"type":"state","id":4,"position":{"variant":"bughouse2","moves":["1e2e4","2d2d4"],"clocks":[1,2,3,4]}}"#,
    r#"{"type":"state","id":5,"position":{"variant":"crazyhouse","fen":"4k3/8/8/8/8/8/8/4K3[QRp] w - - 0 1","chess960":true}}"#,
    r#"{"type":"state","id":6,"position":{"variant":"tictacmo","fen":"5/1a3/b1c2 a"}}"#,
    r#"{"type":"san","id":7,"position":{"variant":"chess","moves":["e2e4"]},"text":"Nf6","board":0}"#,
    r#"{"type":"go","id":8,"position":{"variant":"3x3"},"limits":{"nodes":20,"movetime":50},"multipv":2,"elo":1000,"team":0}"#,
    r#"{"type":"stop","id":9}"#,
    r#"{"type":"eval","id":10,"position":{"variant":"3x3"}}"#,
    r#"{"type":"option","id":11,"name":"Hash","value":8}"#,
    r#"{"type":"rbc.move","id":12,"token":"0","request":"e2e4"}"#,
];

const FRAGMENTS: [&str; 16] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "-1",
    "1e308",
    "é",
    "\\u0000",
    "|",
    " w - -",
    "e2e4",
    "99999999999999999999",
];

/// Returns a template with a few parts removed, repeated, replaced or added.
fn mutate(template: &str, rng: &mut SmallRng) -> String {
    let mut letters: Vec<char> = template.chars().collect();
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=letters.len());
        let end = (at + rng.random_range(0..6)).min(letters.len());
        match rng.random_range(0..4) {
            0 => drop(letters.drain(at..end)),
            1 => {
                let part = letters[at..end].to_vec();
                letters.splice(at..at, part);
            }
            2 => {
                let fragment = FRAGMENTS.choose(rng).copied().unwrap_or_default();
                letters.splice(at..end, fragment.chars());
            }
            _ => letters.insert(at, char::from(rng.random_range(b' '..b'~'))),
        }
    }
    letters.into_iter().collect()
}

#[test]
fn random_messages_are_answered() {
    let server = TestServer::start();
    let mut client = server.connect();
    let mut rng = SmallRng::seed_from_u64(SEED);
    let mut accepted = 0;
    for _ in 0..MESSAGES {
        let template = TEMPLATES.choose(&mut rng).copied().unwrap_or_default();
        let text = mutate(template, &mut rng);
        client.send(Message::text(text.clone()));
        let reply = client.read_reply();
        assert!(reply["type"].is_string(), "{text}: {reply}");
        accepted += usize::from(reply["type"] != "error");
    }
    assert!(accepted > MESSAGES / 50, "{accepted} messages were accepted");
    client.accepted("hello", json!({}));
}

//! Messages that are refused, and the number of sessions.

use std::thread;
use std::time::Duration;

use menagerie::variant::Catalogue;
use serde_json::{Value, json};
use tungstenite::Message;

use crate::client::TestServer;

#[test]
fn hello_lists_every_variant() {
    let server = TestServer::start();
    let hello = server.connect().accepted("hello", json!({}));
    let listed = hello["variants"].as_array().expect("a list");
    let find = |name: &str| {
        listed.iter().find(|variant| variant["name"] == name).unwrap_or_else(|| panic!("{name}"))
    };
    for variant in Catalogue::shipped().iter() {
        let entry = find(variant.name());
        assert!(!entry["title"].as_str().expect("a title").is_empty());
        assert_eq!(entry["hidden"], false);
        assert!(variant.position(entry["fen"].as_str().expect("a FEN"), false).is_ok());
    }
    assert_eq!(listed.len(), Catalogue::shipped().iter().count() + 1);
    assert_eq!(find("rbc")["hidden"], true);
    assert_eq!(find("bughouse2")["boards"], 2);
    assert_eq!(find("tictacmo")["sides"], 3);
    assert_eq!(find("crazyhouse")["drops"], "pnbrq");
    assert_eq!(find("duck")["walls"], true);
    assert_eq!((&find("3x3")["files"], &find("3x3")["ranks"]), (&json!(3), &json!(3)));
    assert_eq!(hello["engine"]["hash"], 64);
}

#[test]
fn bad_messages_are_refused_and_the_session_lives() {
    let server = TestServer::start();
    let mut client = server.connect();
    let nested = "[".repeat(20_000);
    let deep = format!("{{\"type\":\"hello\",\"id\":1,\"x\":{nested}");
    let long = format!("{{\"type\":\"hello\",\"id\":1,\"x\":\"{}\"}}", "x".repeat(70_000));
    for text in ["", "x", "null", "[]", "{}", "{\"type\":\"hello\"}", &nested, &deep, &long] {
        client.send(Message::text(text));
        let reply = client.read_reply();
        assert_eq!((&reply["type"], &reply["id"]), (&json!("error"), &Value::Null), "{reply}");
        assert!(reply["message"].as_str().expect("a message").len() < 1000, "{reply}");
    }
    client.send(Message::binary(vec![0, 159, 255]));
    assert_eq!(client.read_reply()["type"], "error");
    client.send(Message::Ping(vec![1].into()));
    let chess = |fields: Value| {
        let mut position = json!({"variant": "chess"});
        for (key, value) in fields.as_object().expect("fields") {
            position[key] = value.clone();
        }
        json!({ "position": position })
    };
    for (kind, body, quote) in [
        ("fly", json!({}), "`fly`"),
        ("state", json!({}), "`position`"),
        ("state", json!({"position": []}), "invalid"),
        ("state", json!({"position": {"variant": "go"}}), "\"go\""),
        ("state", json!({"position": {"variant": "x".repeat(500)}}), "xxx.."),
        ("state", json!({"position": {"variant": "rbc"}}), "rbc.new"),
        ("state", chess(json!({"fen": 1})), "expected"),
        ("state", chess(json!({"fen": "x".repeat(5000)})), "5000"),
        ("state", chess(json!({"fen": "8/8/8 w"})), "8/8/8 w"),
        ("state", chess(json!({"moves": "e2e4"})), "e2e4"),
        ("state", chess(json!({"moves": ["e2e4", "e2e4"]})), "\"e2e4\", number 2"),
        ("state", chess(json!({"moves": vec!["e2e4"; 2001]})), "2001"),
        ("state", chess(json!({"moves": ["é".repeat(100)]})), "illegal move"),
        ("state", chess(json!({"plies": ["e2e5"]})), "\"e2e5\""),
        ("state", chess(json!({"plies": ["e2e4", "e7e5"]})), "\"e7e5\""),
        ("state", chess(json!({"plies": vec!["e2e4"; 9]})), "9 plies"),
        ("state", chess(json!({"clocks": [1, 2]})), "clocks"),
        ("san", json!({"position": {"variant": "chess"}, "text": "Nd5"}), "\"Nd5\""),
        ("san", json!({"position": {"variant": "bughouse2"}, "text": "e4"}), "board is missing"),
        ("san", json!({"position": {"variant": "bughouse2"}, "text": "e4", "board": 2}), "not 2"),
        ("go", json!({"position": {"variant": "chess"}, "limits": {}}), "limits must"),
        ("go", json!({"position": {"variant": "go"}, "limits": {"nodes": 1}}), "\"go\""),
        ("go", json!({"position": {"variant": "chess"}, "limits": {"nodes": "1"}}), "\"1\""),
        (
            "go",
            json!({"position": {"variant": "chess", "moves": ["e2e5"]}, "limits": {"nodes": 1}}),
            "\"e2e5\"",
        ),
        (
            "go",
            json!({"position": {"variant": "chess"}, "limits": {"nodes": 1}, "team": 2}),
            "not 2",
        ),
        ("eval", chess(json!({"fen": ""})), "\"\""),
        ("eval", chess(json!({"plies": ["e2e4"]})), "\"e2e4\""),
        ("option", json!({"name": "VariantPath", "value": "/etc/passwd"}), "\"VariantPath\""),
        ("option", json!({"name": "Debug Log File", "value": "x"}), "\"Debug Log File\""),
        ("option", json!({"name": "WeightsFile", "value": "x"}), "\"WeightsFile\""),
        ("option", json!({"name": "Hash", "value": "many"}), "\"many\""),
        ("option", json!({"name": "Hash", "value": [1]}), "\"[1]\""),
        ("rbc.new", json!({"color": "red"}), "\"red\""),
        ("rbc.new", json!({"color": "white", "preset": "x"}), "\"x\""),
        ("rbc.move", json!({"token": "nothing", "request": "e2e4"}), "\"nothing\""),
    ] {
        let message = client.refused(kind, body);
        assert!(message.contains(quote), "{kind}: {message}");
    }
    client.accepted("state", json!({"position": {"variant": "chess"}}));
    let capped = client.accepted("option", json!({"name": "hash", "value": 100_000}));
    assert_eq!((&capped["name"], &capped["value"]), (&json!("Hash"), &json!("1024")));
}

#[test]
fn sessions_are_limited() {
    let server = TestServer::with_sessions(2);
    let mut first = server.connect();
    first.accepted("hello", json!({}));
    let mut second = server.connect();
    second.accepted("hello", json!({}));
    let mut third = server.connect();
    let refusal = third.read().expect("an error");
    assert_eq!(refusal["type"], "error");
    assert!(refusal["message"].as_str().expect("a message").contains("all 2 sessions"));
    assert_eq!(third.read(), None);
    drop(second);
    // The server learns of the end a little later.
    let is_open = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        let mut client = server.connect();
        client.send(Message::text(r#"{"type":"hello","id":1}"#));
        client.read().is_some_and(|reply| reply["type"] == "hello")
    });
    assert!(is_open, "no session was freed");
    first.accepted("hello", json!({}));
}

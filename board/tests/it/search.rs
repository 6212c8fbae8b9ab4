//! Searches of the engine.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, TestServer};

fn is_legal(client: &mut Client, variant: &str, turn: &str) -> bool {
    let position = json!({"variant": variant, "moves": [turn]});
    client.request("state", json!({ "position": position }))["type"] == "state"
}

#[test]
fn search_reports_and_ends() {
    let server = TestServer::start();
    let mut client = server.connect();
    for variant in ["chess", "3x3", "duck", "tictacmo", "bughouse2", "crazyhouse"] {
        let go = json!({
            "position": {"variant": variant}, "limits": {"nodes": 200}, "multipv": 3,
        });
        let id = client.accepted("go", go)["id"].clone();
        let info = client.event("info");
        assert_eq!(info["id"], id);
        assert!(info["score"]["cp"].is_i64() || info["score"]["mate"].is_i64(), "{info}");
        let wdl = info["wdl"].as_array().expect("a list").iter().filter_map(|it| it.as_u64());
        assert_eq!(wdl.sum::<u64>(), 1000, "{info}");
        let pv = info["pv"].as_array().expect("a list");
        assert_eq!(info["pvSan"].as_array().map(Vec::len), Some(pv.len().min(20)), "{info}");
        let moves = client.event("moves");
        let first = &moves["moves"][0];
        assert!(first["move"].is_string() && first["visits"].is_u64(), "{moves}");
        let best = client.event("bestmove");
        assert_eq!(best["id"], id);
        assert!(is_legal(&mut client, variant, best["move"].as_str().expect("a move")), "{best}");
    }
}

#[test]
fn search_is_stopped_and_replaced() {
    let server = TestServer::start();
    let mut client = server.connect();
    let go = |moves: &[&str]| json!({"position": {"variant": "3x3", "moves": moves}, "limits": {"infinite": true}});
    let first = client.accepted("go", go(&[]))["id"].clone();
    client.event("info");
    // A state does not wait for the search.
    client.accepted("state", json!({"position": {"variant": "chess"}}));
    let eval = client.accepted("eval", json!({"position": {"variant": "3x3"}}));
    let policy = eval["policy"].as_array().expect("a list");
    let sum: f64 = policy.iter().filter_map(|ply| ply["p"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 0.01, "{eval}");
    let second = client.accepted("go", go(&[]))["id"].clone();
    assert_eq!(client.event("bestmove")["id"], first);
    client.accepted("stop", json!({}));
    let best = client.event("bestmove");
    assert_eq!(best["id"], second);
    // Without a search there is nothing to stop.
    client.accepted("stop", json!({}));
}

#[test]
fn search_goes_on_after_refused_requests() {
    let server = TestServer::start();
    let mut client = server.connect();
    let go = json!({"position": {"variant": "3x3"}, "limits": {"infinite": true}});
    let search = client.accepted("go", go)["id"].clone();
    let infinite = json!({"infinite": true});
    for (kind, body, expected) in [
        ("option", json!({"name": "Hash", "value": "many"}), "\"many\""),
        ("option", json!({"name": "Mode", "value": "run"}), "\"run\""),
        (
            "go",
            json!({"position": {"variant": "chess", "fen": "garbage"}, "limits": infinite}),
            "garbage",
        ),
        (
            "go",
            json!({"position": {"variant": "chess", "moves": ["e2e5"]}, "limits": infinite}),
            "illegal move \"e2e5\"",
        ),
        (
            "go",
            json!({"position": {"variant": "duck", "plies": ["e2e5"]}, "limits": infinite}),
            "illegal ply \"e2e5\"",
        ),
        (
            "go",
            json!({"position": {"variant": "bughouse2", "plies": ["1e2e5"]}, "limits": infinite}),
            "illegal move \"1e2e5\"",
        ),
    ] {
        let error = client.refused(kind, body);
        assert!(error.contains(expected), "{error}");
        assert!(!client.has_received("bestmove"), "{kind}: {error}");
    }
    client.accepted("stop", json!({}));
    assert_eq!(client.event("bestmove")["id"], search);
}

#[test]
fn search_is_limited_by_strength_time_and_plies() {
    let server = TestServer::start();
    let mut client = server.connect();
    let go = json!({
        "position": {"variant": "chess"}, "limits": {"wtime": 2000, "btime": 2000.5}, "elo": 600,
    });
    client.accepted("go", go);
    assert!(client.event("bestmove")["move"].is_string());
    let go = json!({
        "position": {"variant": "duck", "plies": ["a2a3"]}, "limits": {"movetime": 200},
    });
    let begun = Instant::now();
    client.accepted("go", go);
    let best = client.event("bestmove");
    assert!(best["move"].as_str().is_some_and(|turn| turn.starts_with("a2a3,")), "{best}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let go = json!({
        "position": {"variant": "chess", "moves": ["f2f3", "e7e5", "g2g4", "d8h4"]},
        "limits": {"nodes": 10},
    });
    client.accepted("go", go);
    assert!(client.event("bestmove")["move"].is_null());
}

#[test]
fn bughouse_team_that_is_not_on_turn_has_no_move() {
    let server = TestServer::start();
    let mut client = server.connect();
    let mut best_of = |team: usize, moves: &[&str]| {
        let go = json!({
            "position": {"variant": "bughouse2", "moves": moves, "clocks": [6e4, 6e4, 6e4, 6e4]},
            "limits": {"nodes": 50},
            "team": team,
        });
        client.accepted("go", go);
        client.event("bestmove")["move"].clone()
    };
    assert!(best_of(0, &[]).is_string() && best_of(1, &[]).is_string());
    assert!(best_of(0, &["1e2e4", "2e2e4"]).is_string());
    // Black on the first board and White on the second have moved.
    assert!(best_of(1, &["1e2e4", "1e7e5", "2e2e4"]).is_null());
}

#[test]
fn sessions_search_at_once() {
    let server = TestServer::start();
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        let go = json!({"position": {"variant": "3x3"}, "limits": {"infinite": true}});
        client.accepted("go", go);
    }
    for client in &mut clients {
        client.event("info");
        client.event("moves");
    }
    for client in &mut clients {
        client.accepted("stop", json!({}));
        assert!(client.event("bestmove")["move"].is_string());
    }
}

//! UCI engines: each request has an answer or an error. The engines are shell scripts.
#![cfg(unix)]

use crate::support::script;

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use trainer::eval_scale::EngineScore;
use trainer::uci_engine::{EngineError, UciEngine};

/// Writes an engine: a shell script with a `case` over the first word of each line.
fn engine(folder: &TempDir, cases: &str) -> PathBuf {
    let path = folder.path().join("engine");
    let script = format!(
        "#!/bin/sh\nwhile read -r word rest; do case $word in\n{cases}\n\
         isready) echo readyok;; quit) exit;; esac; done\n"
    );
    script::executable(&path, &script);
    path
}

const HANDSHAKE: &str = "uci) echo id name Script; \
    echo option name UCI_Variant type combo default chess var chess var duck; \
    echo option name Hash type spin default 16 min 1 max 64; echo uciok;;";
const SOON: Duration = Duration::from_secs(60);

#[test]
fn uci_engine_answers() {
    let folder = TempDir::new().expect("a folder");
    let go = "go) echo info depth 2 multipv 1 score cp 31 pv e2e4 e7e5; \
              echo info depth 2 multipv 2 score mate -4 pv a2a3; echo noise; \
              echo bestmove e2e4 ponder e7e5;;";
    let path = engine(&folder, &format!("{HANDSHAKE}\n{go}"));
    let mut engine = UciEngine::start_with_timeout(&path, SOON).expect("started");
    engine.set_option("UCI_Variant", "duck").expect("an option");
    engine.set_option("hash", "32").expect("an option");
    engine.new_game().expect("ready");
    let answer = engine.go("startpos", "nodes 10", SOON).expect("an answer");
    assert_eq!(answer.best, "e2e4");
    assert_eq!(answer.score(), Some(EngineScore::Centipawns(31)));
    assert_eq!(answer.lines[1].score, Some(EngineScore::Mate(-4)));
    for (name, value) in [("UCI_Variant", "xiangqi"), ("Contempt", "1")] {
        let error = engine.set_option(name, value).expect_err("no such option");
        assert!(matches!(error, EngineError::Option { .. }));
        assert!(error.to_string().contains(name) && error.to_string().contains(value));
    }
}

#[test]
fn uci_engine_that_ends_is_an_error() {
    let folder = TempDir::new().expect("a folder");
    let path = engine(&folder, &format!("{HANDSHAKE}\ngo) exit 1;;"));
    let mut engine = UciEngine::start_with_timeout(&path, SOON).expect("started");
    let error = engine.go("startpos", "nodes 10", SOON).expect_err("it died");
    assert!(matches!(error, EngineError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("bestmove"), "{error}");
    assert!(engine.set_option("Hash", "2").is_err());
}

#[test]
fn uci_engine_that_does_not_answer_is_an_error() {
    let folder = TempDir::new().expect("a folder");
    let path = engine(&folder, HANDSHAKE);
    let mut engine = UciEngine::start_with_timeout(&path, SOON).expect("started");
    let error = engine.go("startpos", "infinite", Duration::from_millis(20)).expect_err("silence");
    assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
}

#[test]
fn uci_engine_that_cannot_be_started_is_an_error() {
    let missing = UciEngine::start(&PathBuf::from("/no/such/engine")).expect_err("nothing there");
    assert!(missing.to_string().contains("/no/such/engine"), "{missing}");
    let folder = TempDir::new().expect("a folder");
    let path = engine(&folder, &format!("{HANDSHAKE}\ngo) echo bestmove;;"));
    let mut engine = UciEngine::start_with_timeout(&path, SOON).expect("started");
    let error = engine.go("startpos", "nodes 1", SOON).expect_err("no move");
    assert!(matches!(&error, EngineError::Line { line } if line == "bestmove"), "{error}");
}

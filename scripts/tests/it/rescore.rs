//! Rescored games: the evaluator's scores replace those of the records, side positions are added, and errors
//! quote the evaluator. The evaluators are shell scripts.
#![cfg(unix)]

use crate::support::script;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use menagerie::rules::{PackedMove, Position};
use menagerie::variant::{Catalogue, Variant};
use tempfile::TempDir;
use trainer::record::GameRecord;
use trainer::rescore::{Evaluator, RescoreConfig, RescoreError, Rescored, rescore};

/// Returns settings with an evaluator whose process runs shell commands.
fn config(folder: &Path, commands: &str) -> RescoreConfig {
    let path = folder.join("evaluator");
    script::executable(&path, &format!("#!/bin/sh\n{commands}\n"));
    RescoreConfig {
        evaluator: Evaluator::Program { file: path, arguments: vec![] },
        side_positions: 2,
        only_games: false,
        seed: 3,
        score_scale: Some(400.0),
        parts: None,
    }
}

fn variant() -> Arc<Variant> {
    Catalogue::shipped().get("atomic").expect("it is shipped")
}

/// Returns a game with scores of 0.
fn game() -> GameRecord {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("game.tsv");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    std::fs::write(&file, format!("atomic\t{start}\t1-0\te2e4:0 e7e5:0 g1f3:0/d2d4 b8c6:0\n"))
        .expect("written");
    let mut games = trainer::readers::read_all(&[&file], &variant()).expect("read").games;
    games.remove(0)
}

fn run(config: &RescoreConfig, games: &[GameRecord]) -> Result<Rescored, RescoreError> {
    let rescored = rescore(&variant(), config, games, &AtomicBool::new(false), &|_| ())?;
    Ok(rescored.expect("it was not stopped"))
}

/// Prints 400 if White is to move, else -400.
const WHITE_LEADS: &str =
    "while read -r fen; do case $fen in *' w '*) echo 400;; *) echo -400;; esac; done";

#[test]
fn rescored_games_have_the_scores_of_the_evaluator() {
    let folder = TempDir::new().expect("a folder");
    let rescored = run(&config(folder.path(), WHITE_LEADS), &[game(), game()]).expect("scores");
    assert_eq!(rescored.bad_games, 0);
    let variant = variant();
    // A logistic function of 400 centipawns, from -1 to 1.
    let lead = 0.5f32.tanh();
    let check = |position: &Position, score: f32| {
        let sign = if position.turn().index() == 0 { 1.0 } else { -1.0 };
        assert!((score - sign * lead).abs() < 1e-4, "{score}");
    };
    assert_eq!(rescored.games.len(), 2);
    for found in &rescored.games {
        assert_eq!(found.end, game().end);
        for (nth, (ply, before)) in found.plies.iter().zip(&game().plies).enumerate() {
            assert_eq!((ply.played, &ply.policy), (before.played, &before.policy));
            let position = found.position(&variant, nth).expect("it replays");
            check(&position, ply.score.expect("a score"));
        }
        // Two side positions for each of four plies.
        assert_eq!(found.side_positions.len(), 8);
        for (nth, side) in found.side_positions.iter().enumerate() {
            assert_eq!(side.ply as usize, nth / 2);
            let mut position = found.position(&variant, nth / 2).expect("it replays");
            for &m in &side.moves {
                assert!(position.play(PackedMove(m).unpack().expect("a move")));
            }
            check(&position, side.score);
        }
    }
    // Recorded side positions are scored again.
    let zero = "while read -r fen; do echo 0; done";
    let config = RescoreConfig { side_positions: 0, ..config(folder.path(), zero) };
    let again = run(&config, &rescored.games).expect("scores");
    for (found, before) in again.games.iter().zip(&rescored.games) {
        assert_eq!(found.side_positions.len(), before.side_positions.len());
        for (side, before) in found.side_positions.iter().zip(&before.side_positions) {
            assert_eq!((side.ply, &side.moves, side.score), (before.ply, &before.moves, 0.0));
        }
    }
    let config = RescoreConfig { only_games: true, ..config };
    let games = run(&config, &rescored.games).expect("scores").games;
    for game in &games {
        assert!(game.side_positions.is_empty());
        assert!(game.plies.iter().all(|ply| ply.score == Some(0.0)));
    }
}

#[test]
fn rescoring_goes_on_from_its_parts() {
    let folder = TempDir::new().expect("a folder");
    let parts = Some(folder.path().join("parts"));
    let broken = folder.path().join("broken");
    let commands = format!("test -e {} && exit 1\n{WHITE_LEADS}", broken.display());
    let config = RescoreConfig { parts, ..config(folder.path(), &commands) };
    let stopped = rescore(&variant(), &config, &[game()], &AtomicBool::new(true), &|_| ());
    assert!(stopped.expect("no error").is_none());
    let rescored = run(&config, &[game()]).expect("scores");
    // The program, which fails now, is not asked again.
    std::fs::write(&broken, "").expect("written");
    assert_eq!(run(&config, &[game()]).expect("scores").games, rescored.games);
    // Scores of other settings or games are not mixed with them.
    for (other, games) in [
        (RescoreConfig { side_positions: 1, ..config.clone() }, vec![game()]),
        (config.clone(), vec![game(), game()]),
    ] {
        let error = run(&other, &games).expect_err("other parts").to_string();
        assert!(error.contains("side positions 2, only games false, seed 3, 1 games"), "{error}");
    }
    // Nor are those of another program of this name.
    let other = RescoreConfig { parts: config.parts.clone(), ..self::config(folder.path(), "cat") };
    let error = run(&other, &[game()]).expect_err("other parts").to_string();
    assert!(error.contains("has scores of \"a program evaluator "), "{error}");
    let folder = config.parts.as_ref().expect("a folder");
    std::fs::remove_file(folder.join("settings.txt")).expect("removed");
    let error = run(&config, &[game()]).expect_err("unknown parts").to_string();
    assert!(error.contains("unknown settings"), "{error}");
}

#[test]
fn rescoring_by_a_uci_engine_searches() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("engine");
    // 100 centipawns if White is to move, else the mover mates in 2; no score of a bound.
    let commands = r#"#!/bin/sh
while read -r line; do case $line in
uci) echo 'option name UCI_Variant type combo default chess var chess var atomic'; echo uciok;;
isready) echo readyok;;
*' w '*) score='cp 100';;
position*) score='mate 2';;
'go nodes 70') echo "info depth 3 score $score pv e2e4"; echo bestmove e2e4;;
esac; done
"#;
    script::executable(&file, commands);
    let evaluator = Evaluator::Engine { file, options: vec![], nodes: 70 };
    let config = RescoreConfig { evaluator, ..config(folder.path(), "cat") };
    let rescored = run(&config, &[game()]).expect("scores");
    let scores: Vec<_> = rescored.games[0].plies.iter().map(|ply| ply.score).collect();
    // A logistic function of 400 centipawns, from -1 to 1.
    let pawn = 0.125f32.tanh();
    for (score, expected) in scores.iter().zip([pawn, 1.0, pawn, 1.0]) {
        assert!((score.expect("a score") - expected).abs() < 1e-4, "{scores:?}");
    }
    assert_eq!(rescored.games[0].side_positions.len(), 8);
}

#[test]
fn rescoring_by_a_network_searches_by_alpha_beta() {
    let folder = TempDir::new().expect("a folder");
    let chess = Catalogue::shipped().get("chess").expect("it is shipped");
    let file = folder.path().join("games.tsv");
    // After the fool's mate begins, Black mates in one; White can only be mated.
    let start = "rnbqkbnr/pppp1ppp/4p3/8/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2";
    std::fs::write(&file, format!("chess\t{start}\t0-1\ta7a6:0 a2a3:0 d8h4:0\n")).expect("written");
    let games = trainer::readers::read_all(&[&file], &chess).expect("read").games;
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
    let config = |file: &str, nodes| RescoreConfig {
        evaluator: Evaluator::Network { file: nets.join(file), nodes },
        side_positions: 0,
        ..config(folder.path(), "cat")
    };
    let score = |config: &RescoreConfig| {
        let rescored = rescore(&chess, config, &games, &AtomicBool::new(false), &|_| ())?;
        let game = rescored.expect("it was not stopped").games.remove(0);
        Ok::<_, RescoreError>(game.plies.into_iter().map(|ply| ply.score).collect::<Vec<_>>())
    };
    let scores = score(&config("chess.int8.onnx", 2000)).expect("scores");
    let scores: Vec<f32> = scores.into_iter().map(|score| score.expect("a score")).collect();
    assert_eq!((scores[0], scores[2]), (1.0, 1.0), "{scores:?}");
    assert!(scores[1] < 1.0 && scores[1] > -1.0, "{scores:?}");
    for (file, reason) in [("missing.onnx", "missing.onnx"), ("crazyhouse.int8.onnx", "crazyhouse")]
    {
        let error = score(&config(file, 10)).expect_err(file).to_string();
        assert!(error.starts_with("the network ") && error.contains(reason), "{error}");
    }
}

#[test]
fn rescored_games_have_no_score_where_the_evaluator_has_none() {
    let folder = TempDir::new().expect("a folder");
    let commands = "while read -r fen; do case $fen in *' w '*) echo m3;; *) echo -;; esac; done";
    let rescored = run(&config(folder.path(), commands), &[game()]).expect("scores");
    let scores: Vec<_> = rescored.games[0].plies.iter().map(|ply| ply.score).collect();
    assert_eq!(scores, [Some(1.0), None, Some(1.0), None]);
}

#[test]
fn rescoring_leaves_out_games_that_do_not_replay() {
    let folder = TempDir::new().expect("a folder");
    let mut bad = game();
    bad.plies[2].played = bad.plies[0].played;
    let config = RescoreConfig { side_positions: 0, ..config(folder.path(), WHITE_LEADS) };
    let rescored = run(&config, &[bad, game()]).expect("scores");
    assert_eq!((rescored.bad_games, rescored.games.len()), (1, 1));
}

#[test]
fn rescoring_fits_the_scale_to_the_results() {
    let folder = TempDir::new().expect("a folder");
    let config = RescoreConfig { score_scale: None, ..config(folder.path(), WHITE_LEADS) };
    // White leads and wins: the steeper the better.
    let rescored = run(&config, &[game()]).expect("scores");
    assert!(rescored.steepness > 5.0, "{}", rescored.steepness);
}

#[test]
fn rescoring_errors_quote_the_evaluator() {
    let folder = TempDir::new().expect("a folder");
    let error = |commands: &str| {
        run(&config(folder.path(), commands), &[game()]).expect_err(commands).to_string()
    };
    let greeting = error("echo Stockfish 15.1; cat");
    assert!(greeting.contains("\"Stockfish 15.1\"") && greeting.contains("rnbqkbnr"), "{greeting}");
    let early = error("read -r fen; echo 3");
    assert!(early.contains("1 lines for 12 positions"), "{early}");
    let file = folder.path().join("missing");
    let missing = RescoreConfig {
        evaluator: Evaluator::Program { file, arguments: vec![] },
        ..config(folder.path(), "cat")
    };
    let missing = run(&missing, &[game()]).expect_err("no such file").to_string();
    assert!(missing.contains("missing"), "{missing}");
    let tictacmo = Catalogue::shipped().get("tictacmo").expect("it is shipped");
    let config = config(folder.path(), "cat");
    let unfit = rescore(&tictacmo, &config, &[], &AtomicBool::new(false), &|_| ())
        .expect_err("three sides")
        .to_string();
    assert!(unfit.contains("tictacmo"), "{unfit}");
}

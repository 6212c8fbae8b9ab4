//! UCI lines of any bytes.
//!
//! Before each search the engine prints the legal turns, by `go perft 1`, to check the best move. Long searches
//! are stopped.

use crate::talk::{Script, Step, hostile, talk, token, words};

/// The maximum number of searches.
const MAX_SEARCHES: usize = 16;
/// The maximum number of nodes of a short search.
const MAX_SHORT_NODES: u64 = 200;

/// Sends lines of any bytes to the engine, which must be able to search afterwards.
///
/// # Panics
/// If an answer is missing or invalid.
pub fn send_lines(data: &[u8]) {
    let (lines, quits) = hostile(data);
    let fence = format!("fence-{}", token(data));
    let (mut script, mut fences) = (Script::new("debug on", "stop"), 0);
    let mut request_turns = |script: &mut Script| {
        fences += 1;
        let name = format!("{fence}-{fences}.");
        script.end();
        script.steps.push(Step::say("go perft 1"));
        // Waits for the end of the perft, and has no other effect.
        script.steps.push(Step::say(&format!("setoption name {name}")));
        script.steps.push(Step::Await(name));
    };
    let (mut searches, mut ready) = (0, 0);
    for line in lines {
        let words = words(line);
        match words.first().map(String::as_str) {
            // The bench takes seconds.
            Some("bench") => continue,
            Some("go") if searches == MAX_SEARCHES => continue,
            Some("go") => {
                searches += 1;
                request_turns(&mut script);
                script.line(&shallow(line, words.clone()));
                if !is_short(&words) {
                    script.end_after(1 + searches % 4);
                }
            }
            first => {
                ready += usize::from(first == Some("isready"));
                script.line(line);
            }
        }
    }
    if !quits {
        request_turns(&mut script);
        script.line(b"go nodes 8");
        script.line(b"isready");
        ready += 1;
        // The variant may be any, and must still be known.
        script.line(b"position startpos");
        request_turns(&mut script);
        script.line(b"go nodes 8");
    }
    let answers = talk(script.steps);
    let bestmoves = check_answers(&answers, &fence);
    if !quits {
        let readies = answers.iter().filter(|line| *line == "readyok").count();
        assert_eq!(readies, ready, "isready: {answers:#?}");
        assert!(bestmoves.ends_with(&[1, 1]), "no answer: {answers:#?}");
    }
}

/// Returns the line of a search, with the depth of a perft limited to one turn.
fn shallow(line: &[u8], mut words: Vec<String>) -> Vec<u8> {
    let mut deep = false;
    for at in 1..words.len() {
        if words[at - 1] == "perft" && words[at].parse().is_ok_and(|depth: f64| depth > 1.0) {
            words[at] = "1".to_owned();
            deep = true;
        }
    }
    if deep { words.join(" ").into_bytes() } else { line.to_vec() }
}

/// Returns `true` if a search certainly ends soon.
fn is_short(words: &[String]) -> bool {
    let endless = ["infinite", "ponder", "perft"];
    let named = words.iter().any(|word| endless.contains(&word.as_str()));
    let nodes = words.iter().rposition(|word| word == "nodes");
    let nodes = nodes.and_then(|at| words.get(at + 1)?.parse::<u64>().ok());
    !named && nodes.is_some_and(|nodes| nodes <= MAX_SHORT_NODES)
}

/// Checks that each line is valid and each turn is legal. Returns the number of best moves between each fence and
/// the next.
fn check_answers(answers: &[String], fence: &str) -> Vec<usize> {
    let fence = format!("info string unknown option \"{fence}");
    let (mut paths, mut legal, mut bestmoves) = (Vec::new(), Vec::new(), vec![0]);
    for line in answers {
        assert!(is_valid(line), "{line:?} is not a line of UCI: {answers:#?}");
        assert!(!line.starts_with("info string search failed"), "{answers:#?}");
        if let Some(turn) = perft_turn(line) {
            paths.push(turn);
        } else if let Some(count) = line.strip_prefix("Nodes searched: ") {
            let count: usize = count.parse().unwrap_or_else(|_| panic!("{line}"));
            legal = paths.split_off(paths.len().saturating_sub(count));
            paths.clear();
        } else if line.starts_with(&fence) {
            bestmoves.push(0);
        } else if let Some(turns) = line.strip_prefix("bestmove ") {
            *bestmoves.last_mut().expect("there is one") += 1;
            let turn = turns.split(' ').next().unwrap_or_default();
            let none = turn == "(none)" && legal.is_empty();
            assert!(none || legal.contains(&turn), "{line} is not one of {legal:?}");
        } else if line.starts_with("info depth ")
            && let Some((_, turns)) = line.split_once(" pv ")
        {
            let turn = turns.split(' ').next().unwrap_or_default();
            assert!(legal.contains(&turn), "{line} is not one of {legal:?}");
        }
    }
    assert!(bestmoves.iter().all(|&count| count <= 1), "two answers: {answers:#?}");
    bestmoves
}

/// Returns the turn of a line of `go perft`.
fn perft_turn(line: &str) -> Option<&str> {
    let (turn, count) = line.split_once(": ")?;
    let is_turn_char = |c: char| c.is_ascii_alphanumeric() || "@,".contains(c);
    let is_number = !count.is_empty() && count.chars().all(|c| c.is_ascii_digit());
    (is_number && turn.len() >= 4 && turn.chars().all(is_turn_char)).then_some(turn)
}

/// Returns `true` if the engine may print this line.
fn is_valid(line: &str) -> bool {
    const WHOLE: [&str; 4] = ["", "uciok", "readyok", "Policy:"];
    const PREFIXES: [&str; 21] = [
        "info string ",
        "info depth ",
        "bestmove ",
        "id name ",
        "id author ",
        "option name ",
        "Nodes searched: ",
        // Commands for humans.
        " +---+",
        " | ",
        "   a",
        "In hand: [",
        "Fen: ",
        "Outcome: ",
        "The game is over: ",
        "Value: white ",
        "WDL: ",
        "Moves left: ",
        "  ",
        "Menagerie",
        "Further commands:",
        "UCI commands: ",
    ];
    WHOLE.contains(&line)
        || PREFIXES.iter().any(|prefix| line.starts_with(prefix))
        || perft_turn(line).is_some()
}

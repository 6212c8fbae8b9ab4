//! Hostile lines of UCI.
//!
//! Before each search the engine is asked for the legal turns, by `go perft 1`, so that its answer
//! can be held against them. Searches that would be long are told to stop.

use crate::talk::{Script, Step, hostile, talk, token, words};

/// So many searches are asked for, at most.
const SEARCHES: usize = 16;
/// A search for so many nodes is short.
const FEW: u64 = 200;

/// Says lines of any bytes to the engine; whatever they were, it must go on to play.
///
/// # Panics
/// If what it says is not as it should be.
pub fn speak(data: &[u8]) {
    let (lines, quits) = hostile(data);
    let fence = format!("fence-{}", token(data));
    let (mut script, mut fences) = (Script::new("debug on", "stop"), 0);
    let mut ask = |script: &mut Script| {
        fences += 1;
        let name = format!("{fence}-{fences}.");
        script.end();
        script.steps.push(Step::say("go perft 1"));
        // Waits for the counting to be over, and has no effect.
        script.steps.push(Step::say(&format!("setoption name {name}")));
        script.steps.push(Step::Await(name));
    };
    let (mut searches, mut ready) = (0, 0);
    for line in lines {
        let words = words(line);
        match words.first().map(String::as_str) {
            // It takes seconds.
            Some("bench") => continue,
            Some("go") if searches == SEARCHES => continue,
            Some("go") => {
                searches += 1;
                ask(&mut script);
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
        ask(&mut script);
        script.line(b"go nodes 8");
        script.line(b"isready");
        ready += 1;
        // It may have been told of any game, and must still know it.
        script.line(b"position startpos");
        ask(&mut script);
        script.line(b"go nodes 8");
    }
    let said = talk(script.steps);
    let bestmoves = judge(&said, &fence);
    if !quits {
        let answers = said.iter().filter(|line| *line == "readyok").count();
        assert_eq!(answers, ready, "isready: {said:#?}");
        assert!(bestmoves.ends_with(&[1, 1]), "no answer: {said:#?}");
    }
}

/// The line of a search; its paths are not counted deeper than one turn.
fn shallow(line: &[u8], mut words: Vec<String>) -> Vec<u8> {
    let mut deep = false;
    for at in 1..words.len() {
        if words[at - 1] == "perft" && words[at].parse().is_ok_and(|depth: f64| depth > 1.0) {
            (words[at], deep) = ("1".to_owned(), true);
        }
    }
    if deep { words.join(" ").into_bytes() } else { line.to_vec() }
}

/// Whether a search surely ends soon.
fn is_short(words: &[String]) -> bool {
    let endless = ["infinite", "ponder", "perft"];
    let named = words.iter().any(|word| endless.contains(&word.as_str()));
    let nodes = words.iter().rposition(|word| word == "nodes");
    let nodes = nodes.and_then(|at| words.get(at + 1)?.parse::<u64>().ok());
    !named && nodes.is_some_and(|nodes| nodes <= FEW)
}

/// Holds each line against what it may be, and turns against the legal ones. Returns how many best
/// moves were told between each fence and the next.
fn judge(said: &[String], fence: &str) -> Vec<usize> {
    let fence = format!("info string no option is called \"{fence}");
    let (mut paths, mut legal, mut bestmoves) = (Vec::new(), Vec::new(), vec![0]);
    for line in said {
        assert!(is_valid(line), "{line:?} is no line of UCI: {said:#?}");
        assert!(!line.starts_with("info string the search failed"), "{said:#?}");
        if let Some(turn) = counted(line) {
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
            assert!(none || legal.contains(&turn), "{line}, but there are {legal:?}");
        } else if line.starts_with("info depth ")
            && let Some((_, turns)) = line.split_once(" pv ")
        {
            let turn = turns.split(' ').next().unwrap_or_default();
            assert!(legal.contains(&turn), "{line}, but there are {legal:?}");
        }
    }
    assert!(bestmoves.iter().all(|&count| count <= 1), "two answers: {said:#?}");
    bestmoves
}

/// The turn of a line of `go perft`.
fn counted(line: &str) -> Option<&str> {
    let (turn, count) = line.split_once(": ")?;
    let sign = |c: char| c.is_ascii_alphanumeric() || "@,".contains(c);
    let number = !count.is_empty() && count.chars().all(|c| c.is_ascii_digit());
    (number && turn.len() >= 4 && turn.chars().all(sign)).then_some(turn)
}

/// Whether it is a line that the engine may say.
fn is_valid(line: &str) -> bool {
    const WHOLE: [&str; 4] = ["", "uciok", "readyok", "Policy:"];
    const BEGUN: [&str; 22] = [
        "info string ",
        "info depth ",
        "bestmove ",
        "id name ",
        "id author ",
        "option name ",
        "Nodes searched: ",
        // What is for people.
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
        "uci, isready,",
        "d (the position), ",
        "check FILE (",
    ];
    WHOLE.contains(&line)
        || BEGUN.iter().any(|begin| line.starts_with(begin))
        || counted(line).is_some()
}

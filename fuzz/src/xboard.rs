//! XBoard lines of any bytes.

use menagerie::variant::Catalogue;

use crate::talk::{Script, Step, hostile, talk, token, words};

/// The maximum number of searches.
const MAX_SEARCHES: usize = 16;
/// The commands for short searches, whatever the clocks are.
const SHORT_SEARCH_COMMANDS: [&str; 2] = ["nps 0", "st 0.01"];

/// Sends lines of any bytes to the engine, which must answer and play a new game afterwards.
///
/// # Panics
/// If an answer is missing or invalid.
pub fn send_lines(data: &[u8]) {
    let (lines, quits) = hostile(data);
    let token = token(data);
    let mut script = Script::new("xboard", "?");
    let (mut searches, mut pings) = (0, 0);
    for line in lines {
        let words = words(line);
        let first = words.first().map_or("", String::as_str);
        pings += usize::from(first == "ping");
        if !may_search(first) {
            script.line(line);
        } else if searches < MAX_SEARCHES {
            searches += 1;
            script.end();
            // Every other search is short, the others are stopped.
            if searches % 2 == 1 {
                script.steps.extend(SHORT_SEARCH_COMMANDS.map(Step::say));
                script.line(line);
            } else {
                script.line(line);
                script.end_after(1 + searches % 4);
            }
        }
    }
    script.end();
    let (old, new) = (format!("ping {token}"), format!("ping {}", token + 1));
    if !quits {
        script.steps.extend(["ping 7", &old, "new"].map(Step::say));
        script.steps.extend(SHORT_SEARCH_COMMANDS.map(Step::say));
        script.steps.extend(["usermove e2e4", &new].map(Step::say));
        pings += 3;
    }
    let answers = talk(script.steps);
    for line in &answers {
        assert!(is_valid(line), "{line:?} in {answers:#?}");
        assert!(!line.starts_with("Error (search failed)"), "{answers:#?}");
    }
    if quits {
        return;
    }
    assert!(answers.iter().any(|line| line == "pong 7"), "{answers:#?}");
    assert_eq!(answers.iter().filter(|line| line.starts_with("pong")).count(), pings, "{answers:#?}");
    let index_of_pong = |number: u64| answers.iter().rposition(|line| *line == format!("pong {number}"));
    let (Some(begin), Some(end)) = (index_of_pong(token), index_of_pong(token + 1)) else {
        panic!("no answer in order: {answers:#?}")
    };
    let moves = answers[begin..end].iter().filter_map(|line| line.strip_prefix("move "));
    let moves: Vec<&str> = moves.collect();
    let [text] = moves[..] else { panic!("{} moves: {answers:#?}", moves.len()) };
    let chess = Catalogue::shipped().get("chess").expect("chess is shipped");
    let mut position = chess.start();
    for text in ["e2e4", text] {
        let turn = position.parse_turn(text).unwrap_or_else(|| panic!("{text} is not legal"));
        for ply in turn {
            position.play_unchecked(ply);
        }
    }
}

/// Returns `true` if the engine may start to search its own turn after this word: some commands, and moves, which
/// are not lower-case letters alone.
fn may_search(first: &str) -> bool {
    let is_command = first.chars().all(|c| c.is_ascii_lowercase());
    ["go", "holding", "partner", "ptell", "resume", "usermove"].contains(&first) || !is_command
}

/// Returns `true` if the engine may print this line.
fn is_valid(line: &str) -> bool {
    const PREFIXES: [&str; 18] = [
        "# ",
        "Error (",
        "Illegal move",
        "tellusererror Illegal position: ",
        "tellics ",
        "feature ",
        "pong",
        "move ",
        "offer draw",
        "Hint: ",
        "stat01: ",
        "highlight ",
        "setup (",
        "piece ",
        "1-0 {",
        "0-1 {",
        "1/2-1/2 {",
        " ",
    ];
    let mut numbers = line.split(' ').map(|word| word.parse::<i64>().is_ok());
    PREFIXES.iter().any(|prefix| line.starts_with(prefix))
        || (0..4).all(|_| numbers.next() == Some(true))
}

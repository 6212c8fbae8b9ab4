//! Hostile lines of XBoard.

use menagerie::variant::Catalogue;

use crate::talk::{Script, Step, hostile, talk, token, words};

/// So many searches are asked for, at most.
const SEARCHES: usize = 16;
/// Makes them short, whatever was said of clocks.
const SHORT: [&str; 2] = ["nps 0", "st 0.01"];

/// Says lines of any bytes to the engine; whatever they were, it must answer and play a new game.
///
/// # Panics
/// If what it says is not as it should be.
pub fn speak(data: &[u8]) {
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
        } else if searches < SEARCHES {
            searches += 1;
            script.end();
            // Every other search is short, the others are told to end.
            if searches % 2 == 1 {
                script.steps.extend(SHORT.map(Step::say));
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
        script.steps.extend(SHORT.map(Step::say));
        script.steps.extend(["usermove e2e4", &new].map(Step::say));
        pings += 3;
    }
    let said = talk(script.steps);
    said.iter().for_each(|line| assert!(is_valid(line), "{line:?} in {said:#?}"));
    let failed = said.iter().any(|line| line.starts_with("Error (the search failed)"));
    assert!(!failed, "{said:#?}");
    if quits {
        return;
    }
    assert!(said.iter().any(|line| line == "pong 7"), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.starts_with("pong")).count(), pings, "{said:#?}");
    let place = |wanted: u64| said.iter().rposition(|line| *line == format!("pong {wanted}"));
    let (Some(begin), Some(end)) = (place(token), place(token + 1)) else {
        panic!("no answer in order: {said:#?}")
    };
    let moves = said[begin..end].iter().filter_map(|line| line.strip_prefix("move "));
    let moves: Vec<&str> = moves.collect();
    let [text] = moves[..] else { panic!("{} moves: {said:#?}", moves.len()) };
    let chess = Catalogue::shipped().get("chess").expect("chess is shipped");
    let mut position = chess.start();
    for text in ["e2e4", text] {
        let turn = position.parse_turn(text).unwrap_or_else(|| panic!("{text} is not legal"));
        turn.into_iter().for_each(|ply| position.play_unchecked(ply));
    }
}

/// Whether the engine may begin to think about its own turn after such a word: a command that says
/// so, what comes from another table, or a move, which is no word of small letters alone.
fn may_search(first: &str) -> bool {
    let word = first.chars().all(|c| c.is_ascii_lowercase());
    ["go", "holding", "partner", "ptell", "resume", "usermove"].contains(&first) || !word
}

/// Whether it is a line that the engine may say.
fn is_valid(line: &str) -> bool {
    const BEGUN: [&str; 19] = [
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
        " There is no book of openings.",
        " ",
    ];
    let mut numbers = line.split(' ').map(|word| word.parse::<i64>().is_ok());
    BEGUN.iter().any(|begin| line.starts_with(begin))
        || (0..4).all(|_| numbers.next() == Some(true))
}

//! Hostile lines and histories of blind chess.

use std::time::Duration;

use menagerie::protocol::rbc::{GameHistory, check_text};
use menagerie::protocol::run_rbc;
use menagerie::recon::{Preset, Settings};
use menagerie::rules::blind::{Request, Truth};

use crate::talk::{Script, Step, hostile, talk_to, token, words};

/// So many senses and requests are asked for, at most.
const QUESTIONS: usize = 16;

/// A player that thinks little.
fn quick() -> Settings {
    Settings {
        capacity: 400,
        samples: 4,
        depth: 1,
        turn: Duration::from_millis(20),
        ..Preset::Best.settings()
    }
}

/// Says lines of any bytes to the player; whatever they were, it must answer and play a new game.
///
/// # Panics
/// If what it says is not as it should be.
pub fn speak(data: &[u8]) {
    let (lines, quits) = hostile(data);
    let mut script = Script::new("rbc", "isready");
    let (mut questions, mut ready) = (0, 0);
    for line in lines {
        match words(line).first().map_or("", String::as_str) {
            "gosense" | "gomove" if questions == QUESTIONS => continue,
            "gosense" | "gomove" => questions += 1,
            "isready" => ready += 1,
            _ => {}
        }
        script.line(line);
    }
    let token = token(data);
    if !quits {
        // Its answer quotes the token, and so tells the old game from the new one.
        let new = [
            &format!("fence-{token}"),
            &format!("newgame white other {}", Truth::default().fen()),
            "oppmove -",
            "gosense 100",
            "senseresult -",
            "gomove 100",
            "moveresult 0000 0000 -",
            "isready",
        ];
        script.steps.extend(new.map(Step::say));
        ready += 1;
    }
    let said = talk_to(script.steps, |input, output| run_rbc(input, output, quick()));
    said.iter().for_each(|line| assert!(is_valid(line), "{line:?} in {said:#?}"));
    if quits {
        return;
    }
    assert_eq!(said.iter().filter(|line| *line == "readyok").count(), ready, "{said:#?}");
    let fence = format!("info error unknown command \"fence-{token}\"");
    let new = said.iter().rposition(|line| *line == fence);
    let new = &said[new.unwrap_or_else(|| panic!("no answer: {said:#?}"))..];
    assert!(!new[1..].iter().any(|line| line.starts_with("info error")), "{said:#?}");
    for word in ["sense ", "move "] {
        assert_eq!(new.iter().filter(|line| line.starts_with(word)).count(), 1, "{said:#?}");
    }
}

/// Whether it is a line that the player may say.
fn is_valid(line: &str) -> bool {
    if let Some(square) = line.strip_prefix("sense ") {
        return square.parse::<menagerie::rules::Square>().is_ok();
    }
    if let Some(request) = line.strip_prefix("move ") {
        return request == "0000" || request.parse::<Request>().is_ok();
    }
    ["rbcok", "readyok"].contains(&line)
        || ["id name ", "info "].iter().any(|begin| line.starts_with(begin))
}

/// Reads bytes as histories and cases; what can be read is written and read again the same.
///
/// # Panics
/// If it is not, or if two readings differ.
pub fn histories(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let checked = check_text("fuzzed", &text);
    assert_eq!(checked, check_text("fuzzed", &text));
    let sums = checked.lines.last().expect("the last line has the sums");
    assert!(sums.starts_with("games "), "{sums}");
    let Ok(value) = serde_json::from_str(&text) else { return };
    if let Ok(history) = GameHistory::from_json(&value) {
        let again = GameHistory::from_json(&history.to_json());
        assert_eq!(again.as_ref(), Ok(&history), "{value}");
    }
}

//! Lines and histories of RBC from any bytes.

use std::time::Duration;

use menagerie::rbc::{Preset, Settings, Weighting};
use menagerie::rules::Square;
use menagerie::rules::rbc::{Request, Truth};
use menagerie_rbc::{GameHistory, Players, check_text, run_line_protocol};

use crate::talk::{Script, Step, hostile, talk_to, token, words};

/// The maximum number of senses and moves that are requested.
const MAX_REQUESTS: usize = 16;

/// Returns players that move fast and need no network.
fn fast_players() -> Players {
    let settings = Settings {
        weighting: Weighting::Habits,
        capacity: 400,
        samples: 4,
        depth: 1,
        turn: Duration::from_millis(20),
        ..Preset::Best.settings()
    };
    Players::new(settings, String::new())
}

/// Sends lines of any bytes to the player, which must answer and play a new game afterwards.
///
/// # Panics
/// If an answer is missing or invalid.
pub fn send_lines(data: &[u8]) {
    let (lines, quits) = hostile(data);
    let mut script = Script::new("rbc", "isready");
    let mut requests = 0;
    let mut readies = 0;
    for line in lines {
        match words(line).first().map_or("", String::as_str) {
            "gosense" | "gomove" if requests == MAX_REQUESTS => continue,
            "gosense" | "gomove" => requests += 1,
            "isready" => readies += 1,
            _ => {}
        }
        script.line(line);
    }
    // The error that quotes the token separates the old game from the new one.
    let token = token(data);
    if !quits {
        let new_game = [
            &format!("fence-{token}"),
            &format!("newgame white other {}", Truth::default().fen()),
            "oppmove -",
            "gosense 100",
            "senseresult -",
            "gomove 100",
            "moveresult 0000 0000 -",
            "isready",
        ];
        script.steps.extend(new_game.map(Step::say));
        readies += 1;
    }
    let players = fast_players();
    let answers = talk_to(script.steps, |input, output| run_line_protocol(input, output, &players));
    for line in &answers {
        assert!(is_valid_answer(line), "{line:?} in {answers:#?}");
    }
    if quits {
        return;
    }
    assert_eq!(count_lines(&answers, "readyok"), readies, "{answers:#?}");
    let fence = format!("info error unknown command \"fence-{token}\"");
    let fence_index = answers.iter().rposition(|line| *line == fence);
    let fence_index = fence_index.unwrap_or_else(|| panic!("no answer: {answers:#?}"));
    let new_game = &answers[fence_index + 1..];
    assert_eq!(count_lines(new_game, "info error"), 0, "{answers:#?}");
    assert_eq!(count_lines(new_game, "sense "), 1, "{answers:#?}");
    assert_eq!(count_lines(new_game, "move "), 1, "{answers:#?}");
}

/// Returns the number of lines that begin with `prefix`.
fn count_lines(lines: &[String], prefix: &str) -> usize {
    lines.iter().filter(|line| line.starts_with(prefix)).count()
}

/// Returns `true` if the player may send this line.
fn is_valid_answer(line: &str) -> bool {
    if let Some(square) = line.strip_prefix("sense ") {
        return square.parse::<Square>().is_ok();
    }
    if let Some(request) = line.strip_prefix("move ") {
        return request == "0000" || request.parse::<Request>().is_ok();
    }
    ["rbcok", "readyok"].contains(&line)
        || ["id name ", "info "].iter().any(|prefix| line.starts_with(prefix))
}

/// Reads any bytes as histories and cases. A valid history is the same after it was written and read.
///
/// # Panics
/// If it is not, or if two checks differ.
pub fn check_histories(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let report = check_text("fuzzed", &text);
    assert_eq!(report, check_text("fuzzed", &text));
    let totals = report.lines.last().expect("the last line has the totals");
    assert!(totals.starts_with("games "), "{totals}");
    let Ok(value) = serde_json::from_str(&text) else { return };
    if let Ok(history) = GameHistory::from_json(&value) {
        let parsed_again = GameHistory::from_json(&history.to_json());
        assert_eq!(parsed_again.as_ref(), Ok(&history), "{value}");
    }
}

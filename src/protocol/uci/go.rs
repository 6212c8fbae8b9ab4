//! The parameters of `go`.

use std::time::Duration;

use crate::engine::Limits;
use crate::rules::{PerSide, Side};
use crate::search::Clock;

/// The parsed parameters of `go`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct GoCommand<'a> {
    /// The limits, except for the moves of `searchmoves`.
    pub(super) limits: Limits,
    /// The clocks of White and Black at the second board.
    pub(super) second_clocks: PerSide<Option<Clock>>,
    /// The turns of `searchmoves`.
    pub(super) search_moves: Vec<&'a str>,
    /// The depth of a perft, which takes the place of a search.
    pub(super) perft: Option<u32>,
    /// A message for each invalid parameter.
    pub(super) errors: Vec<String>,
    /// Whether at least one parameter is valid, or there are none.
    pub(super) is_valid: bool,
}

/// The names of all parameters.
const PARAMETERS: [&str; 17] = [
    "searchmoves",
    "ponder",
    "wtime",
    "btime",
    "winc",
    "binc",
    "wtime2",
    "btime2",
    "winc2",
    "binc2",
    "movestogo",
    "depth",
    "nodes",
    "mate",
    "movetime",
    "infinite",
    "perft",
];

/// The maximum depth of a perft. A count recurses once a turn, on the stack of its thread; in no variant does one
/// of 20 turns end.
const MAX_PERFT_DEPTH: u64 = 100;

impl<'a> GoCommand<'a> {
    /// Parses the words after `go`.
    pub(super) fn parse(words: &[&'a str]) -> GoCommand<'a> {
        let mut go = GoCommand {
            limits: Limits::default(),
            second_clocks: PerSide::all(None),
            search_moves: Vec::new(),
            perft: None,
            errors: Vec::new(),
            is_valid: words.is_empty(),
        };
        // Of White and Black at the first board, then at the second.
        let mut times = [None; 4];
        let mut increments = [None; 4];
        let mut turns_to_go = None;
        let mut words = words.iter().copied().peekable();
        while let Some(word) = words.next() {
            match word {
                "infinite" => go.limits.infinite = true,
                "ponder" => go.limits.ponder = true,
                "searchmoves" => {
                    while let Some(text) = words.next_if(|word| !PARAMETERS.contains(word)) {
                        go.search_moves.push(text);
                    }
                }
                _ if !PARAMETERS.contains(&word) => {
                    go.errors.push(format!("unknown go parameter \"{word}\""));
                    continue;
                }
                _ => {
                    let text = words.next_if(|word| !PARAMETERS.contains(word)).unwrap_or("");
                    let Some(number) = parse_integer(text) else {
                        go.errors.push(format!("go {word} must be an integer, not \"{text}\""));
                        continue;
                    };
                    if text.contains(|c: char| !c.is_ascii_digit() && c != '-' && c != '+') {
                        go.errors.push(format!(
                            "go {word} must be an integer: using {number} for \"{text}\""
                        ));
                    }
                    let count = u64::try_from(number).unwrap_or(0);
                    if word == "perft" && count > MAX_PERFT_DEPTH {
                        go.errors.push(format!(
                            "go perft must be at most {MAX_PERFT_DEPTH}, not \"{text}\""
                        ));
                        continue;
                    }
                    match word {
                        "wtime" => times[0] = Some(number),
                        "btime" => times[1] = Some(number),
                        "winc" => increments[0] = Some(number),
                        "binc" => increments[1] = Some(number),
                        "wtime2" => times[2] = Some(number),
                        "btime2" => times[3] = Some(number),
                        "winc2" => increments[2] = Some(number),
                        "binc2" => increments[3] = Some(number),
                        "movestogo" => turns_to_go = u32::try_from(count).ok().filter(|&n| n > 0),
                        "depth" => go.limits.depth = Some(count),
                        "nodes" => go.limits.nodes = Some(count),
                        "mate" => go.limits.mate = Some(count),
                        "movetime" => go.limits.time = Some(Duration::from_millis(count)),
                        _ => go.perft = Some(count.try_into().unwrap_or(u32::MAX)),
                    }
                }
            }
            go.is_valid = true;
        }
        let clock = |seat: usize| {
            let increment = increments[seat].unwrap_or(0);
            times[seat].map(|remaining| Clock { remaining, increment, turns_to_go })
        };
        let board_clocks =
            |first_seat: usize| {
                PerSide::from_fn(|side: Side| {
                    if side.index() < 2 { clock(first_seat + side.index()) } else { None }
                })
            };
        go.limits.clocks = board_clocks(0);
        go.second_clocks = board_clocks(2);
        go
    }
}

/// Parses an integer. A number that is out of range becomes the greatest or the smallest `i64`, and
/// the fraction of a decimal number is dropped.
fn parse_integer(text: &str) -> Option<i64> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match text.parse::<i64>() {
        Ok(number) => Some(number),
        Err(error) if *error.kind() == PosOverflow => Some(i64::MAX),
        Err(error) if *error.kind() == NegOverflow => Some(i64::MIN),
        // The cast saturates.
        Err(_) => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|n| n as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> GoCommand<'_> {
        GoCommand::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn limits_are_parsed() {
        let go =
            parse("ponder wtime 1000 btime -5 winc 10 movestogo 7 searchmoves e2e4 N@f3 depth 300");
        assert!(go.limits.ponder && go.errors.is_empty());
        let white = Clock { remaining: 1000, increment: 10, turns_to_go: Some(7) };
        assert_eq!(go.limits.clocks[Side::WHITE], Some(white));
        let black = Clock { remaining: -5, increment: 0, turns_to_go: Some(7) };
        assert_eq!(go.limits.clocks[Side::BLACK], Some(black));
        assert_eq!((go.search_moves, go.limits.depth), (vec!["e2e4", "N@f3"], Some(300)));
        let four = parse("wtime 1 btime 2 wtime2 3 btime2 4 winc2 5");
        let second = Clock { remaining: 3, increment: 5, turns_to_go: None };
        assert_eq!(four.second_clocks[Side::WHITE], Some(second));
        assert_eq!(four.second_clocks[Side::BLACK].map(|clock| clock.remaining), Some(4));
        assert_eq!(parse("perft 3").perft, Some(3));
        assert_eq!(parse("nodes 99999999999999999999").limits.nodes, Some(i64::MAX as u64));
        assert_eq!(parse("nodes -4").limits.nodes, Some(0));
        assert!(parse("").is_valid && parse("infinite").is_valid);
    }

    #[test]
    fn errors_quote_the_input() {
        let go = parse("depth wtime 5 fast nodes x1 movetime");
        assert_eq!(
            go.errors,
            [
                "go depth must be an integer, not \"\"",
                "unknown go parameter \"fast\"",
                "go nodes must be an integer, not \"x1\"",
                "go movetime must be an integer, not \"\"",
            ]
        );
        assert!(go.is_valid);
        let perft = parse("perft 20000");
        assert_eq!(perft.errors, ["go perft must be at most 100, not \"20000\""]);
        assert_eq!((perft.perft, perft.is_valid), (None, false));
        assert!(!parse("deep").is_valid);
    }

    #[test]
    fn fractions_are_dropped() {
        let go = parse("wtime 1000.9 btime -0.5 movetime 1e3");
        let clock = |side| go.limits.clocks[side].map(|clock: Clock| clock.remaining);
        assert_eq!([clock(Side::WHITE), clock(Side::BLACK)], [Some(1000), Some(0)]);
        assert_eq!(go.limits.time, Some(Duration::from_secs(1)));
        assert_eq!(go.errors[0], "go wtime must be an integer: using 1000 for \"1000.9\"");
        assert_eq!(go.errors.len(), 3);
        for text in ["nan", "inf", "-infinity", "1.5x", ".", "1,5"] {
            assert_eq!(parse_integer(text), None, "{text}");
        }
    }
}

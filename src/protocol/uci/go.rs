//! The words after `go`.

use std::time::Duration;

use crate::engine::Limits;
use crate::rules::{PerSide, Side};
use crate::search::Clock;

/// What `go` asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Go<'a> {
    /// How far to search; without the moves.
    pub(super) limits: Limits,
    /// The first turns to choose from.
    pub(super) moves: Vec<&'a str>,
    /// The depth of a perft, which takes the place of a search.
    pub(super) perft: Option<u32>,
    /// Error messages, one for each parameter that was not understood.
    pub(super) bad: Vec<String>,
    /// Whether at least one parameter was understood, or none was given.
    pub(super) limited: bool,
}

const WORDS: [&str; 17] = [
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

impl<'a> Go<'a> {
    /// Reads the words after `go`.
    pub(super) fn read(words: &[&'a str]) -> Go<'a> {
        let mut go = Go {
            limits: Limits::default(),
            moves: Vec::new(),
            perft: None,
            bad: Vec::new(),
            limited: words.is_empty(),
        };
        // White's and Black's, at the first table and at the second.
        let (mut times, mut increments) = ([None; 4], [None; 4]);
        let mut turns_to_go = None;
        let mut words = words.iter().copied().peekable();
        while let Some(word) = words.next() {
            match word {
                "infinite" => go.limits.infinite = true,
                "ponder" => go.limits.ponder = true,
                "searchmoves" => {
                    while let Some(text) = words.next_if(|word| !WORDS.contains(word)) {
                        go.moves.push(text);
                    }
                }
                _ if !WORDS.contains(&word) => {
                    go.bad.push(format!("unknown go parameter \"{word}\""));
                    continue;
                }
                _ => {
                    let text = words.next_if(|word| !WORDS.contains(word)).unwrap_or("");
                    let Some(number) = number(text) else {
                        go.bad.push(format!("go {word} takes an integer, not \"{text}\""));
                        continue;
                    };
                    if text.contains(|c: char| !c.is_ascii_digit() && c != '-' && c != '+') {
                        let note =
                            format!("go {word} takes an integer: \"{text}\" read as {number}");
                        go.bad.push(note);
                    }
                    let count = u64::try_from(number).unwrap_or(0);
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
            go.limited = true;
        }
        let clock = |seat: usize| {
            let increment = increments[seat].unwrap_or(0);
            times[seat].map(|remaining| Clock { remaining, increment, turns_to_go })
        };
        let at_table = |first: usize| {
            PerSide::from_fn(
                |side: Side| if side.index() < 2 { clock(first + side.index()) } else { None },
            )
        };
        (go.limits.clocks, go.limits.second) = (at_table(0), at_table(2));
        go
    }
}

/// Reads an integer. A number that is out of range becomes the greatest or the smallest `i64`, and
/// the fraction of a decimal number is dropped.
fn number(text: &str) -> Option<i64> {
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

    fn read(line: &str) -> Go<'_> {
        Go::read(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn limits_are_read() {
        let go =
            read("ponder wtime 1000 btime -5 winc 10 movestogo 7 searchmoves e2e4 N@f3 depth 300");
        assert!(go.limits.ponder && go.bad.is_empty());
        let white = Clock { remaining: 1000, increment: 10, turns_to_go: Some(7) };
        assert_eq!(go.limits.clocks[Side::WHITE], Some(white));
        let black = Clock { remaining: -5, increment: 0, turns_to_go: Some(7) };
        assert_eq!(go.limits.clocks[Side::BLACK], Some(black));
        assert_eq!((go.moves, go.limits.depth), (vec!["e2e4", "N@f3"], Some(300)));
        let four = read("wtime 1 btime 2 wtime2 3 btime2 4 winc2 5").limits;
        let second = Clock { remaining: 3, increment: 5, turns_to_go: None };
        assert_eq!(four.second[Side::WHITE], Some(second));
        assert_eq!(four.second[Side::BLACK].map(|clock| clock.remaining), Some(4));
        assert_eq!(read("perft 3").perft, Some(3));
        assert_eq!(read("nodes 99999999999999999999").limits.nodes, Some(i64::MAX as u64));
        assert_eq!(read("nodes -4").limits.nodes, Some(0));
        assert!(read("").limited && read("infinite").limited);
    }

    #[test]
    fn what_is_wrong_is_quoted() {
        let go = read("depth wtime 5 fast nodes x1 movetime");
        assert_eq!(
            go.bad,
            [
                "go depth takes an integer, not \"\"",
                "unknown go parameter \"fast\"",
                "go nodes takes an integer, not \"x1\"",
                "go movetime takes an integer, not \"\"",
            ]
        );
        assert!(go.limited);
        assert!(!read("deep").limited);
    }

    #[test]
    fn decimal_numbers_are_read_up_to_the_point() {
        let go = read("wtime 1000.9 btime -0.5 movetime 1e3");
        let clock = |side| go.limits.clocks[side].map(|clock: Clock| clock.remaining);
        assert_eq!([clock(Side::WHITE), clock(Side::BLACK)], [Some(1000), Some(0)]);
        assert_eq!(go.limits.time, Some(Duration::from_secs(1)));
        assert_eq!(go.bad[0], "go wtime takes an integer: \"1000.9\" read as 1000");
        assert_eq!(go.bad.len(), 3);
        for text in ["nan", "inf", "-infinity", "1.5x", ".", "1,5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}

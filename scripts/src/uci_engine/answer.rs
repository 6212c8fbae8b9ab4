//! The lines of a UCI engine: options, search information, best moves.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::eval_scale::EngineScore;

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best move, as the engine prints it; `(none)` or `0000` if there is none.
    pub best: String,
    /// The move to ponder on, if the engine named one.
    pub ponder: Option<String>,
    /// The last `info` line of each number of MultiPV, the best first.
    pub lines: Vec<InfoLine>,
}

/// An `info` line with a score or moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InfoLine {
    /// The number of MultiPV, from 1.
    pub multipv: u32,
    /// The depth of the search; 0 if unknown.
    pub depth: u32,
    /// The nodes of the search; 0 if unknown.
    pub nodes: u64,
    /// The score for the side to move.
    pub score: Option<EngineScore>,
    /// The score is only a bound.
    pub bound: bool,
    /// The principal variation, as the engine prints it.
    pub pv: Vec<String>,
}

impl Answer {
    /// Returns the answer of a `bestmove` line and the `info` lines before it; `None` if it has no move.
    pub(super) fn new(best: &str, lines: BTreeMap<u32, InfoLine>) -> Option<Answer> {
        let mut words = best.split_whitespace().skip(1);
        let best = words.next()?.to_owned();
        let has_ponder_move = words.next() == Some("ponder");
        let ponder = if has_ponder_move { words.next() } else { None };
        Some(Answer {
            best,
            ponder: ponder.map(str::to_owned),
            lines: lines.into_values().collect(),
        })
    }

    /// Returns the score of the best move for the side to move: that of the line that begins with it.
    pub fn score(&self) -> Option<EngineScore> {
        let begins = |line: &&InfoLine| line.pv.first() == Some(&self.best);
        let line = self.lines.iter().find(begins).or_else(|| {
            // Some engines print scores without moves.
            self.lines.first().filter(|line| line.pv.is_empty())
        });
        line.and_then(|line| line.score)
    }
}

impl InfoLine {
    /// Parses an `info` line; `None` for other lines and for lines without a score or moves. Unknown words are
    /// ignored.
    pub(super) fn parse(text: &str) -> Option<InfoLine> {
        let mut words = text.split_whitespace();
        if words.next() != Some("info") {
            return None;
        }
        let mut line =
            InfoLine { multipv: 1, depth: 0, nodes: 0, score: None, bound: false, pv: Vec::new() };
        while let Some(word) = words.next() {
            match word {
                "multipv" => line.multipv = words.next()?.parse().ok()?,
                "depth" => line.depth = words.next()?.parse().ok()?,
                "nodes" => line.nodes = words.next()?.parse().ok()?,
                "score" => {
                    let kind: fn(i32) -> EngineScore = match words.next()? {
                        "cp" => EngineScore::Centipawns,
                        "mate" => EngineScore::Mate,
                        _ => continue,
                    };
                    line.score = Some(kind(words.next()?.parse().ok()?));
                }
                "lowerbound" | "upperbound" => line.bound = true,
                "pv" => line.pv = words.by_ref().map(str::to_owned).collect(),
                // The rest of the line is free text.
                "string" => break,
                _ => {}
            }
        }
        (line.score.is_some() || !line.pv.is_empty()).then_some(line)
    }

    /// Replaces the earlier line of the same number, unless this one is a bound and the earlier one is exact.
    pub(super) fn store_in(self, lines: &mut BTreeMap<u32, InfoLine>) {
        let exact = lines.get(&self.multipv).is_some_and(|earlier| !earlier.bound);
        if !(self.bound && exact) {
            lines.insert(self.multipv, self);
        }
    }
}

/// The values that an option of an engine accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OptionValues {
    /// `true` and `false`.
    Check,
    /// The numbers of a range.
    Spin(RangeInclusive<i64>),
    /// These.
    Combo(Vec<String>),
    /// Any.
    Any,
}

impl OptionValues {
    /// Returns `true` if a value is one of these.
    pub(super) fn contain(&self, value: &str) -> bool {
        match self {
            OptionValues::Check => ["true", "false"].contains(&value),
            OptionValues::Spin(range) => value.parse().is_ok_and(|number| range.contains(&number)),
            OptionValues::Combo(values) => values.iter().any(|known| known == value),
            OptionValues::Any => true,
        }
    }
}

/// Parses an `option` line: the name, and the values.
pub(super) fn parse_option(text: &str) -> Option<(String, OptionValues)> {
    let rest = text.trim().strip_prefix("option name ")?;
    let (name, rest) = rest.split_once(" type ")?;
    let limit = |word: &str| {
        let mut words = rest.split_whitespace().skip_while(|it| *it != word).skip(1);
        words.next().and_then(|number| number.parse().ok())
    };
    let values = match rest.split_whitespace().next() {
        Some("check") => OptionValues::Check,
        Some("spin") => {
            OptionValues::Spin(limit("min").unwrap_or(i64::MIN)..=limit("max").unwrap_or(i64::MAX))
        }
        Some("combo") => {
            // Values may contain spaces.
            let values = rest.split(" var ").skip(1);
            let values = values.map(|part| part.split(" default ").next().unwrap_or(part).trim());
            OptionValues::Combo(values.map(str::to_owned).collect())
        }
        _ => OptionValues::Any,
    };
    Some((name.trim().to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_lines_are_parsed() {
        let text = "info depth 7 seldepth 9 multipv 2 score cp -35 upperbound nodes 4001 \
                    wdl 1 2 3 pv e2e4 P@d5";
        let line = InfoLine::parse(text).expect("a line");
        assert_eq!((line.multipv, line.depth, line.nodes, line.bound), (2, 7, 4001, true));
        assert_eq!(line.score, Some(EngineScore::Centipawns(-35)));
        assert_eq!(line.pv, ["e2e4", "P@d5"]);
        let mate = InfoLine::parse("info score mate -2").expect("a line");
        assert_eq!(mate.score, Some(EngineScore::Mate(-2)));
        for nothing in [
            "info string score cp 3",
            "info depth 3 currmove e2e4",
            "info score cp many",
            "info score cp",
            "info",
            "",
            "score cp 3 pv e2e4",
        ] {
            assert_eq!(InfoLine::parse(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn info_lines_keep_exact_scores_over_bounds() {
        let mut lines = BTreeMap::new();
        for text in [
            "info multipv 1 score cp 9 lowerbound pv a2a3",
            "info multipv 1 score cp 5 pv e2e4 e7e5",
            "info multipv 2 score cp 1 pv d2d4",
            "info multipv 1 score cp 7 lowerbound pv a2a4",
        ] {
            InfoLine::parse(text).expect("a line").store_in(&mut lines);
        }
        let answer = Answer::new("bestmove e2e4 ponder e7e5", lines).expect("an answer");
        assert_eq!(answer.score(), Some(EngineScore::Centipawns(5)));
        assert_eq!((answer.best.as_str(), answer.ponder.as_deref()), ("e2e4", Some("e7e5")));
        assert_eq!(answer.lines.len(), 2);
        let other = Answer { best: "h2h4".to_owned(), ..answer };
        assert_eq!(other.score(), None);
        assert_eq!(Answer::new("bestmove", BTreeMap::new()), None);
    }

    #[test]
    fn options_are_parsed_with_their_values() {
        let combo = "option name UCI_Variant type combo default chess var chess var 3x3 full";
        let values = OptionValues::Combo(vec!["chess".to_owned(), "3x3 full".to_owned()]);
        assert_eq!(parse_option(combo), Some(("UCI_Variant".to_owned(), values.clone())));
        assert!(values.contain("3x3 full") && !values.contain("full"));
        let spin = "option name Move Overhead type spin default 10 min 0 max 5000";
        let values = OptionValues::Spin(0..=5000);
        assert_eq!(parse_option(spin), Some(("Move Overhead".to_owned(), values.clone())));
        assert!(values.contain("5000") && !values.contain("5001") && !values.contain("many"));
        let check = parse_option("option name Ponder type check default false");
        assert_eq!(check, Some(("Ponder".to_owned(), OptionValues::Check)));
        assert!(OptionValues::Check.contain("true") && !OptionValues::Check.contain("yes"));
        let string = parse_option("option name EvalFile type string default <empty>");
        assert_eq!(string, Some(("EvalFile".to_owned(), OptionValues::Any)));
        assert_eq!(parse_option("id name Fairy"), None);
    }
}

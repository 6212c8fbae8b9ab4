//! What a UCI engine says: options, lines of thought, best moves.

use std::collections::BTreeMap;

use crate::eval_scale::Score;

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best move, as the engine writes it; `(none)` or `0000` if it says that there is none.
    pub best: String,
    /// The reply that it would ponder on, if it named one.
    pub ponder: Option<String>,
    /// The last line of thought for each number of MultiPV, the best first.
    pub lines: Vec<Line>,
}

/// A line of thought: an `info` with a score or moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its number under MultiPV, from 1.
    pub multipv: u32,
    /// How deep it was searched; 0 if not said.
    pub depth: u32,
    /// Nodes of the search until then; 0 if not said.
    pub nodes: u64,
    /// What it is worth to the mover, if said.
    pub score: Option<Score>,
    /// Whether the score is a bound only.
    pub bound: bool,
    /// Its moves, as the engine writes them.
    pub pv: Vec<String>,
}

impl Answer {
    /// Of the `bestmove` line and the lines of thought; `None` if it names no move.
    pub(super) fn new(best: &str, lines: BTreeMap<u32, Line>) -> Option<Answer> {
        let mut words = best.split_whitespace().skip(1);
        let best = words.next()?.to_owned();
        let ponder = words.next().filter(|word| *word == "ponder").and_then(|_| words.next());
        Some(Answer {
            best,
            ponder: ponder.map(str::to_owned),
            lines: lines.into_values().collect(),
        })
    }

    /// What the best move is worth to the mover, if a line of thought that begins with it says.
    pub fn score(&self) -> Option<Score> {
        let begins = |line: &&Line| line.pv.first() == Some(&self.best);
        let line = self.lines.iter().find(begins).or_else(|| {
            // Some engines tell scores without moves.
            self.lines.first().filter(|line| line.pv.is_empty())
        });
        line.and_then(|line| line.score)
    }
}

impl Line {
    /// Reads an `info` line; `None` if it is none, or tells neither score nor moves. Words that are
    /// not understood are passed over.
    pub(super) fn read(text: &str) -> Option<Line> {
        let mut words = text.split_whitespace();
        if words.next() != Some("info") {
            return None;
        }
        let (score, pv) = (None, Vec::new());
        let mut line = Line { multipv: 1, depth: 0, nodes: 0, score, bound: false, pv };
        while let Some(word) = words.next() {
            match word {
                "multipv" => line.multipv = words.next()?.parse().ok()?,
                "depth" => line.depth = words.next()?.parse().ok()?,
                "nodes" => line.nodes = words.next()?.parse().ok()?,
                "score" => {
                    let kind: fn(i32) -> Score = match words.next()? {
                        "cp" => Score::Centipawns,
                        "mate" => Score::Mate,
                        _ => continue,
                    };
                    line.score = Some(kind(words.next()?.parse().ok()?));
                }
                "lowerbound" | "upperbound" => line.bound = true,
                "pv" => line.pv = words.by_ref().map(str::to_owned).collect(),
                // All the rest is free text.
                "string" => break,
                _ => {}
            }
        }
        (line.score.is_some() || !line.pv.is_empty()).then_some(line)
    }

    /// Puts it in the place of the earlier line of its number, unless it is a bound where the
    /// earlier one is exact.
    pub(super) fn put_into(self, lines: &mut BTreeMap<u32, Line>) {
        let exact = lines.get(&self.multipv).is_some_and(|earlier| !earlier.bound);
        if !(self.bound && exact) {
            lines.insert(self.multipv, self);
        }
    }
}

/// Reads an `option` line: the name, and the values if it tells them.
pub(super) fn option(text: &str) -> Option<(String, Vec<String>)> {
    let rest = text.trim().strip_prefix("option name ")?;
    let (name, rest) = rest.split_once(" type ")?;
    let mut values = Vec::new();
    // Values may have blanks in them.
    for part in rest.split(" var ").skip(1) {
        values.push(part.split(" default ").next().unwrap_or(part).trim().to_owned());
    }
    Some((name.trim().to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_thought_are_read() {
        let text = "info depth 7 seldepth 9 multipv 2 score cp -35 upperbound nodes 4001 \
                    wdl 1 2 3 pv e2e4 P@d5";
        let line = Line::read(text).expect("a line");
        assert_eq!((line.multipv, line.depth, line.nodes, line.bound), (2, 7, 4001, true));
        assert_eq!(line.score, Some(Score::Centipawns(-35)));
        assert_eq!(line.pv, ["e2e4", "P@d5"]);
        let mate = Line::read("info score mate -2").expect("a line");
        assert_eq!(mate.score, Some(Score::Mate(-2)));
        for nothing in [
            "info string score cp 3",
            "info depth 3 currmove e2e4",
            "info score cp many",
            "info score cp",
            "info",
            "",
            "score cp 3 pv e2e4",
        ] {
            assert_eq!(Line::read(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn exact_scores_are_kept_over_bounds() {
        let mut lines = BTreeMap::new();
        for text in [
            "info multipv 1 score cp 9 lowerbound pv a2a3",
            "info multipv 1 score cp 5 pv e2e4 e7e5",
            "info multipv 2 score cp 1 pv d2d4",
            "info multipv 1 score cp 7 lowerbound pv a2a4",
        ] {
            Line::read(text).expect("a line").put_into(&mut lines);
        }
        let answer = Answer::new("bestmove e2e4 ponder e7e5", lines).expect("an answer");
        assert_eq!(answer.score(), Some(Score::Centipawns(5)));
        assert_eq!((answer.best.as_str(), answer.ponder.as_deref()), ("e2e4", Some("e7e5")));
        assert_eq!(answer.lines.len(), 2);
        let other = Answer { best: "h2h4".to_owned(), ..answer };
        assert_eq!(other.score(), None);
        assert_eq!(Answer::new("bestmove", BTreeMap::new()), None);
    }

    #[test]
    fn options_are_read_with_their_values() {
        let combo = "option name UCI_Variant type combo default chess var chess var 3x3 full";
        let values = vec!["chess".to_owned(), "3x3 full".to_owned()];
        assert_eq!(option(combo), Some(("UCI_Variant".to_owned(), values)));
        let spin = "option name Move Overhead type spin default 10 min 0 max 5000";
        assert_eq!(option(spin), Some(("Move Overhead".to_owned(), vec![])));
        assert_eq!(option("id name Fairy"), None);
    }
}

//! Reports in the words of XBoard.

use super::legs;
use crate::engine::{Score, SearchInfo};
use crate::protocol::centipawns::centipawns;
use crate::rules::Position;

/// A mate is worth so much, and its turns are added.
const MATE: i64 = 100_000;

fn score(score: Score) -> i64 {
    match score {
        Score::Expected(score) => centipawns(score).into(),
        Score::Won(turns) => MATE + i64::from(turns),
        Score::Lost(turns) => -MATE - i64::from(turns),
    }
}

/// Turns in sequence from `position`, as XBoard writes them.
pub(super) fn turns(position: &Position, turns: &[String]) -> Vec<String> {
    let mut position = position.clone();
    let written = turns.iter().map_while(|text| {
        let plies = position.parse_turn(text)?;
        let text = legs::written(&position.turn_text_with_castling(&plies));
        plies.into_iter().for_each(|ply| position.play_unchecked(ply));
        Some(text)
    });
    written.collect()
}

/// How a line from `position` stands: depth, score, centiseconds, nodes and the line.
pub(super) fn searcher(report: &SearchInfo, position: &Position) -> String {
    let line = turns(position, &report.line).join(" ");
    let (depth, score) = (report.depth, score(report.score));
    let time = report.time.as_millis() / 10;
    format!("{depth} {score} {time} {} {line}", report.nodes)
}

/// How an analysis stands, as the answer to `.`; `turns` are those to choose from.
pub(super) fn stat(report: &SearchInfo, turns: usize) -> String {
    let time = report.time.as_millis() / 10;
    format!("stat01: {time} {} {} 0 {turns}", report.nodes, report.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_stand_beyond_all_scores() {
        assert_eq!(score(Score::Expected(0.5)), 89);
        assert_eq!(score(Score::Expected(-2.0)), -12_780);
        assert_eq!(score(Score::Won(3)), 100_003);
        assert_eq!(score(Score::Lost(2)), -100_002);
    }
}

//! Search reports in the format of XBoard.

use super::legs;
use crate::engine::{Score, SearchInfo};
use crate::protocol::centipawns;
use crate::rules::Position;

/// The score of a mate, to which its turns are added.
const MATE_SCORE: i64 = 100_000;

fn score(score: Score) -> i64 {
    match score {
        Score::Expected(score) => centipawns(score).into(),
        Score::Won(turns) => MATE_SCORE + i64::from(turns),
        Score::Lost(turns) => -MATE_SCORE - i64::from(turns),
    }
}

/// Converts a sequence of turns from `position` to the notation of XBoard.
pub(super) fn xboard_turns(position: &Position, turns: &[String]) -> Vec<String> {
    let mut position = position.clone();
    let converted = turns.iter().map_while(|text| {
        let plies = position.parse_turn(text)?;
        let text = legs::to_xboard(&position.turn_text_with_castling(&plies));
        for ply in plies {
            position.play_unchecked(ply);
        }
        Some(text)
    });
    converted.collect()
}

/// Returns the line of a report from `position`: depth, score, centiseconds, nodes and PV.
pub(super) fn thinking_line(info: &SearchInfo, position: &Position) -> String {
    let pv = xboard_turns(position, &info.pv).join(" ");
    let centiseconds = info.time.as_millis() / 10;
    format!("{} {} {centiseconds} {} {pv}", info.depth, score(info.score), info.nodes)
}

/// Returns the answer to `.` in an analysis of `turns` turns.
pub(super) fn stat_line(info: &SearchInfo, turns: usize) -> String {
    let centiseconds = info.time.as_millis() / 10;
    format!("stat01: {centiseconds} {} {} 0 {turns}", info.nodes, info.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mate_scores_exceed_all_others() {
        assert_eq!(score(Score::Expected(0.5)), 89);
        assert_eq!(score(Score::Expected(-2.0)), -12_780);
        assert_eq!(score(Score::Won(3)), 100_003);
        assert_eq!(score(Score::Lost(2)), -100_002);
    }
}

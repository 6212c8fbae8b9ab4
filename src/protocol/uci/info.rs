//! What a search tells, in the words of UCI.

use crate::engine::{EvalOutput, EvalStats, Score, SearchInfo, SearchResult, Shown};
use crate::protocol::centipawns::centipawns;
use crate::rules::{PerSide, Side};

fn score(score: Score) -> String {
    match score {
        Score::Expected(score) => format!("cp {}", centipawns(score)),
        Score::Won(turns) => format!("mate {turns}"),
        Score::Lost(0) => "mate 0".to_owned(),
        Score::Lost(turns) => format!("mate -{turns}"),
    }
}

/// A line as it stands. What GUIs may not know comes before `pv`: they take all that follows it
/// for moves.
pub(super) fn report(report: &SearchInfo, show_wdl: bool) -> String {
    let wdl = if show_wdl {
        let [win, draw, loss] = report.chances.permille();
        format!(" wdl {win} {draw} {loss}")
    } else {
        String::new()
    };
    let hits = if report.hits > 0 { format!(" tbhits {}", report.hits) } else { String::new() };
    let depth = if report.line.is_empty() { 0 } else { report.depth };
    let pv = report.line.iter().map(|turn| format!(" {turn}")).collect::<String>();
    let pv = if pv.is_empty() { pv } else { format!(" pv{pv}") };
    format!(
        "info depth {depth} seldepth {} multipv {} score {}{wdl} nodes {} nps {} hashfull {}{hits} time {}{pv}",
        report.deepest,
        report.rank,
        score(report.score),
        report.nodes,
        report.speed(),
        report.full,
        report.time.as_millis(),
    )
}

/// What a line is worth to each side, where there are more than two.
pub(super) fn sides(report: &SearchInfo) -> Option<String> {
    (report.sides > 2).then(|| format!("scores {}", values(&report.values, report.sides)))
}

/// The turn to play, and the reply that is expected.
pub(super) fn best(best: &SearchResult) -> String {
    match (&best.turn, &best.reply) {
        (None, _) => "bestmove (none)".to_owned(),
        (Some(turn), None) => format!("bestmove {turn}"),
        (Some(turn), Some(reply)) => format!("bestmove {turn} ponder {reply}"),
    }
}

/// What is known of the first plies, a line each.
pub(super) fn choices(best: &SearchResult) -> impl Iterator<Item = String> + '_ {
    best.choices.iter().map(|(text, choice)| {
        format!(
            "{text}: visits {} prior {:.2}% value {:.4} draw {:.4} left {:.1} {:?}",
            choice.visits,
            100.0 * choice.prior,
            choice.value[best.mover],
            choice.draw,
            choice.moves_left,
            choice.proof
        )
    })
}

/// What the evaluator was asked.
pub(super) fn asked(asked: EvalStats) -> String {
    format!("{} positions evaluated in {} batches", asked.positions, asked.batches)
}

/// The name of a side.
fn name(side: Side, sides: usize) -> String {
    match (sides, side) {
        (2, Side::WHITE) => "white".to_owned(),
        (2, _) => "black".to_owned(),
        _ => side.letter().to_string(),
    }
}

fn values(values: &PerSide<f32>, sides: usize) -> String {
    let each = Side::all(sides).map(|side| format!("{} {:+.4}", name(side, sides), values[side]));
    each.collect::<Vec<_>>().join(", ")
}

/// What the evaluator alone says, in lines for people to read.
pub(super) fn assessment(assessment: &EvalOutput) -> String {
    if let Some(outcome) = assessment.outcome {
        return format!("The game is over: {outcome}");
    }
    let [win, draw, loss] = assessment.chances.permille();
    let mut text = format!(
        "Value: {}\nWDL: {win} {draw} {loss} (side to move)\nMoves left: {:.1}\nPolicy:",
        values(&assessment.values, assessment.sides),
        assessment.moves_left
    );
    for (turn, probability) in &assessment.policy {
        text.push_str(&format!("\n  {turn} {:.2}%", 100.0 * probability));
    }
    text
}

/// Returns what the network is shown: planes, or the active inputs of a sparse network, one a line.
pub(super) fn shown(assessment: &EvalOutput) -> String {
    match &assessment.shown {
        Shown::Planes { planes, width } => planes_text(planes, *width),
        Shown::ActiveInputs(names) => {
            let lines = names.iter().map(|name| format!("\n  {name}"));
            format!("A sparse network has no planes. Active inputs:{}", lines.collect::<String>())
        }
    }
}

/// What the network is shown, plane by plane: in one line where all squares are alike, else as a
/// board with the mover's first rank below.
fn planes_text(planes: &[(String, Vec<f32>)], width: usize) -> String {
    let mut text = String::from("Planes, from the mover's side:");
    for (name, squares) in planes {
        let first = squares.first().copied().unwrap_or(0.0);
        if squares.iter().all(|&square| square == first) {
            text.push_str(&format!("\n  {name}: {first} everywhere"));
            continue;
        }
        text.push_str(&format!("\n  {name}:"));
        for rank in squares.chunks(width).rev() {
            let cells = rank
                .iter()
                .map(|&square| if square == 0.0 { ".".into() } else { square.to_string() });
            text.push_str(&format!("\n    {}", cells.collect::<Vec<String>>().join(" ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_whole_numbers() {
        assert_eq!(score(Score::Expected(0.0)), "cp 0");
        assert_eq!(score(Score::Expected(0.5)), "cp 89");
        assert_eq!(score(Score::Expected(-2.0)), "cp -12780");
        assert_eq!(score(Score::Won(3)), "mate 3");
        assert_eq!(score(Score::Lost(2)), "mate -2");
        assert_eq!(score(Score::Lost(0)), "mate 0");
    }
}

//! Search reports and evaluations, in the format of UCI.

use crate::engine::{EvalOutput, EvalStats, NetworkInput, Score, SearchInfo, SearchResult};
use crate::protocol::centipawns;
use crate::rules::{PerSide, Side};

fn score(score: Score) -> String {
    match score {
        Score::Expected(score) => format!("cp {}", centipawns(score)),
        Score::Won(turns) => format!("mate {turns}"),
        Score::Lost(0) => "mate 0".to_owned(),
        Score::Lost(turns) => format!("mate -{turns}"),
    }
}

/// Returns the `info` line of a report. `pv` comes last: GUIs take everything after it for moves.
pub(super) fn info_line(info: &SearchInfo, show_wdl: bool) -> String {
    let wdl = if show_wdl {
        let [win, draw, loss] = info.wdl.permille();
        format!(" wdl {win} {draw} {loss}")
    } else {
        String::new()
    };
    let tb_hits =
        if info.tb_hits > 0 { format!(" tbhits {}", info.tb_hits) } else { String::new() };
    let depth = if info.pv.is_empty() { 0 } else { info.depth };
    let turns = info.pv.iter().map(|turn| format!(" {turn}")).collect::<String>();
    let pv = if turns.is_empty() { String::new() } else { format!(" pv{turns}") };
    format!(
        "info depth {depth} seldepth {} multipv {} score {}{wdl} nodes {} nps {} hashfull {}{tb_hits} time {}{pv}",
        info.seldepth,
        info.rank,
        score(info.score),
        info.nodes,
        info.nps(),
        info.hashfull,
        info.time.as_millis(),
    )
}

/// Returns the expected score of each side; `None` if there are two sides.
pub(super) fn side_scores(info: &SearchInfo) -> Option<String> {
    (info.sides > 2).then(|| format!("scores {}", values(&info.values, info.sides)))
}

/// Returns the `bestmove` line.
pub(super) fn best_move(result: &SearchResult) -> String {
    match (&result.turn, &result.reply) {
        (None, _) => "bestmove (none)".to_owned(),
        (Some(turn), None) => format!("bestmove {turn}"),
        (Some(turn), Some(reply)) => format!("bestmove {turn} ponder {reply}"),
    }
}

/// Returns a line for each root move.
pub(super) fn root_moves(result: &SearchResult) -> impl Iterator<Item = String> + '_ {
    result.root_moves.iter().map(|(text, root_move)| {
        format!(
            "{text}: visits {} prior {:.2}% value {:.4} draw {:.4} left {:.1} {:?}",
            root_move.visits,
            100.0 * root_move.prior,
            root_move.value[result.mover],
            root_move.draw,
            root_move.moves_left,
            root_move.proof
        )
    })
}

pub(super) fn eval_stats(stats: EvalStats) -> String {
    format!("{} positions evaluated in {} batches", stats.positions, stats.batches)
}

fn side_name(side: Side, sides: usize) -> String {
    match (sides, side) {
        (2, Side::WHITE) => "white".to_owned(),
        (2, _) => "black".to_owned(),
        _ => side.letter().to_string(),
    }
}

fn values(values: &PerSide<f32>, sides: usize) -> String {
    let each =
        Side::all(sides).map(|side| format!("{} {:+.4}", side_name(side, sides), values[side]));
    each.collect::<Vec<_>>().join(", ")
}

/// Returns the lines of `eval`.
pub(super) fn evaluation(output: &EvalOutput) -> String {
    if let Some(outcome) = output.outcome {
        return format!("The game is over: {outcome}");
    }
    let [win, draw, loss] = output.wdl.permille();
    let mut text = format!(
        "Value: {}\nWDL: {win} {draw} {loss} (side to move)\nMoves left: {:.1}\nPolicy:",
        values(&output.values, output.sides),
        output.moves_left
    );
    for (turn, probability) in &output.policy {
        text.push_str(&format!("\n  {turn} {:.2}%", 100.0 * probability));
    }
    text
}

/// Returns the lines of `eval planes`: the planes, or the active inputs of a sparse network.
pub(super) fn network_input(output: &EvalOutput) -> String {
    match &output.input {
        NetworkInput::Planes { planes, width } => planes_text(planes, *width),
        NetworkInput::ActiveInputs(names) => {
            let lines = names.iter().map(|name| format!("\n  {name}"));
            format!("A sparse network has no planes. Active inputs:{}", lines.collect::<String>())
        }
    }
}

/// Returns the planes: in one line if all squares have the same value, else as a board with the mover's first
/// rank at the bottom.
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
    fn score_is_centipawns_or_mate() {
        assert_eq!(score(Score::Expected(0.0)), "cp 0");
        assert_eq!(score(Score::Expected(0.5)), "cp 89");
        assert_eq!(score(Score::Expected(-2.0)), "cp -12780");
        assert_eq!(score(Score::Won(3)), "mate 3");
        assert_eq!(score(Score::Lost(2)), "mate -2");
        assert_eq!(score(Score::Lost(0)), "mate 0");
    }
}

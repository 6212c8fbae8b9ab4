//! Tables III and IV in Markdown: the results played here and, in square brackets, the printed ones.

use std::fmt::Write;

use crate::paper;
use crate::participants::Participant;
use crate::score::Score;

/// The scores of all pairs that have been played.
#[derive(Clone, Debug)]
pub struct ResultTables {
    participants: Vec<Participant>,
    /// By row and column.
    cells: Vec<Vec<Option<Score>>>,
}

impl ResultTables {
    /// Creates tables without results.
    pub fn new(participants: &[Participant]) -> ResultTables {
        let cells = vec![vec![None; participants.len()]; participants.len()];
        ResultTables { participants: participants.to_vec(), cells }
    }

    /// Sets the score of the participant `row` against the participant `column`, and the reversed
    /// score of the opposite cell.
    pub fn set(&mut self, row: usize, column: usize, score: Score) {
        self.cells[row][column] = Some(score);
        self.cells[column][row] = Some(score.reversed());
    }

    /// Returns Tables III and IV in Markdown.
    pub fn markdown(&self) -> String {
        let games = self.table(games_text);
        let elo = self.table(elo_text);
        format!(
            "Table III: games won by row against column, drawn ones in round brackets; in square \
             brackets what the paper printed.\n\n{games}\n\
             Table IV: the same as differences in Elo, by (w + d/2) / n.\n\n{elo}"
        )
    }

    /// Returns a table whose cells are written by `score_text`.
    fn table(&self, score_text: fn(Score) -> String) -> String {
        let columns: Vec<usize> = (0..self.participants.len())
            .filter(|&index| !self.participants[index].row_only)
            .collect();
        let headers: Vec<&str> =
            columns.iter().map(|&index| self.participants[index].short_name.as_str()).collect();
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| | {} |", headers.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(headers.len()));
        for (row, participant) in self.participants.iter().enumerate() {
            let cells = columns.iter().map(|&column| {
                let header = &self.participants[column].short_name;
                let printed = paper::printed_score(&participant.short_name, header);
                cell_text(self.cells[row][column], printed, score_text)
            });
            write_row(&mut text, &participant.long_name, cells);
        }
        for (name, scores) in paper::rows_without_column() {
            let cells = headers.iter().map(|header| {
                let column = paper::COLUMNS.iter().position(|column| column == header);
                cell_text(None, column.and_then(|column| scores[column]), score_text)
            });
            write_row(&mut text, name, cells);
        }
        text
    }
}

/// The games won, and those drawn in round brackets.
fn games_text(score: Score) -> String {
    if score.drawn > 0 { format!("{} ({})", score.won, score.drawn) } else { score.won.to_string() }
}

/// The Elo difference, rounded.
fn elo_text(score: Score) -> String {
    let rounded = score.elo().map_or(0.0, f64::round);
    if rounded == 0.0 { "0".to_owned() } else { format!("{rounded:+.0}") }
}

/// The score played here, and the printed one in square brackets.
fn cell_text(
    played: Option<Score>,
    printed: Option<Score>,
    score_text: fn(Score) -> String,
) -> String {
    let played = played.map(score_text);
    let printed = printed.map(|score| format!("[{}]", score_text(score)));
    played.into_iter().chain(printed).collect::<Vec<_>>().join(" ")
}

fn write_row(text: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
}

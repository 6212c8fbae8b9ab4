//! The results that the paper printed in its Table III; its Table IV follows from them.

use crate::score::Score;

/// The paper's opponents by their column headers.
pub const COLUMNS: [&str; 6] = ["RM", "MM", "LR", "EN", "DT", "RF"];

/// The number of games per cell.
pub const GAMES_PER_CELL: u64 = 20;

/// A row of Table III.
struct Row {
    /// The header of the same player's column; empty if it has none.
    short_name: &'static str,
    long_name: &'static str,
    /// The scores against the players of the columns, where the paper prints one.
    cells: [Option<Score>; 6],
}

const ROWS: [Row; 8] = [
    row("RM", "Random Move", [None, won(0), drawn(0, 1), drawn(17, 3), drawn(16, 4), drawn(7, 2)]),
    row("MM", "MinMax Baseline", [won(20), None, won(20), won(20), won(20), won(20)]),
    row("LR", "Linear Regression", [drawn(19, 1), won(0), None, won(20), won(20), won(20)]),
    row("EN", "Elastic Net", [drawn(0, 3), won(0), won(0), None, drawn(0, 20), drawn(0, 20)]),
    row("DT", "Decision Tree", [drawn(0, 4), won(0), won(0), drawn(0, 20), None, won(0)]),
    row("RF", "Random Forest", [drawn(11, 2), won(0), won(0), drawn(0, 20), won(20), None]),
    row("", "A0 Reinforcement (the paper's)", [won(1), won(0), None, None, None, None]),
    row("", "A0 Supervised (the paper's)", [won(19), won(4), None, None, None, None]),
];

const fn row(short_name: &'static str, long_name: &'static str, cells: [Option<Score>; 6]) -> Row {
    Row { short_name, long_name, cells }
}

/// The score of a cell without draws.
const fn won(won: u64) -> Option<Score> {
    drawn(won, 0)
}

/// The score of a cell with draws.
const fn drawn(won: u64, drawn: u64) -> Option<Score> {
    Some(Score { won, drawn, lost: GAMES_PER_CELL - won - drawn })
}

/// Returns the printed score of the player `row` against the player `column`, both by their column
/// headers.
pub fn printed_score(row: &str, column: &str) -> Option<Score> {
    let column = COLUMNS.iter().position(|&header| header == column)?;
    ROWS.iter().find(|candidate| candidate.short_name == row)?.cells[column]
}

/// Returns the rows of the paper's own players, which have no column: names, and scores by column.
pub fn rows_without_column() -> impl Iterator<Item = (&'static str, [Option<Score>; 6])> {
    ROWS.into_iter().filter(|row| row.short_name.is_empty()).map(|row| (row.long_name, row.cells))
}

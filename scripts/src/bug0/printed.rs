//! What the paper printed in its Table III; Table IV follows from it.

/// The paper's opponents, as their columns are headed.
pub const COLUMNS: [&str; 6] = ["RM", "MM", "LR", "EN", "DT", "RF"];

/// Its rows: the head of the same player's column, if it has one, and its name; then the games that
/// were won and drawn against each column, where something is printed.
type Row = (&'static str, &'static str, [Option<(u64, u64)>; 6]);

/// The games of each cell.
pub const GAMES: u64 = 20;

const ROWS: [Row; 8] = [
    ("RM", "Random Move", [None, won(0), drawn(0, 1), drawn(17, 3), drawn(16, 4), drawn(7, 2)]),
    ("MM", "MinMax Baseline", [won(20), None, won(20), won(20), won(20), won(20)]),
    ("LR", "Linear Regression", [drawn(19, 1), won(0), None, won(20), won(20), won(20)]),
    ("EN", "Elastic Net", [drawn(0, 3), won(0), won(0), None, drawn(0, 20), drawn(0, 20)]),
    ("DT", "Decision Tree", [drawn(0, 4), won(0), won(0), drawn(0, 20), None, won(0)]),
    ("RF", "Random Forest", [drawn(11, 2), won(0), won(0), drawn(0, 20), won(20), None]),
    ("", "A0 Reinforcement (the paper's)", [won(1), won(0), None, None, None, None]),
    ("", "A0 Supervised (the paper's)", [won(19), won(4), None, None, None, None]),
];

const fn won(games: u64) -> Option<(u64, u64)> {
    Some((games, 0))
}

const fn drawn(won: u64, drawn: u64) -> Option<(u64, u64)> {
    Some((won, drawn))
}

/// The games that were won and drawn by the player of a row against that of a column.
pub fn cell(row: &str, column: &str) -> Option<(u64, u64)> {
    let column = COLUMNS.iter().position(|&it| it == column)?;
    ROWS.iter().find(|(short, ..)| *short == row)?.2[column]
}

/// The rows of players that nobody plays here: names, and games won and drawn by column.
pub fn rows_of_their_own() -> impl Iterator<Item = (&'static str, [Option<(u64, u64)>; 6])> {
    ROWS.into_iter().filter(|(short, ..)| short.is_empty()).map(|(_, long, cells)| (long, cells))
}

//! The paper's figures are consistent.

use bug0::paper::{self, COLUMNS, GAMES_PER_CELL};
use bug0::score::Score;

/// The paper's Table IV, where it prints a difference.
const TABLE_FOUR: [(&str, [Option<i32>; 6]); 6] = [
    ("RM", [None, Some(-700), Some(-636), Some(436), Some(382), Some(-70)]),
    ("MM", [Some(700), None, Some(700), Some(700), Some(700), Some(700)]),
    ("LR", [Some(636), Some(-700), None, Some(700), Some(700), Some(700)]),
    ("EN", [Some(-436), Some(-700), Some(-700), None, Some(0), Some(0)]),
    ("DT", [Some(-382), Some(-700), Some(-700), Some(0), None, Some(-700)]),
    ("RF", [Some(70), Some(-700), Some(-700), Some(0), Some(700), None]),
];

fn rounded_elo(score: Score) -> i32 {
    score.elo().expect("games").round() as i32
}

#[test]
fn paper_table_four_follows_from_table_three() {
    for (row, differences) in TABLE_FOUR {
        for (column, difference) in COLUMNS.into_iter().zip(differences) {
            let computed = paper::printed_score(row, column).map(rounded_elo);
            assert_eq!(computed, difference, "{row} against {column}");
        }
    }
    let alpha_zero: Vec<Vec<i32>> = paper::rows_without_column()
        .map(|(_, cells)| cells.into_iter().flatten().map(rounded_elo).collect())
        .collect();
    assert_eq!(alpha_zero, [[-512, -700], [512, -241]]);
}

#[test]
fn paper_opposite_cells_agree() {
    for row in COLUMNS {
        for column in COLUMNS {
            let score = paper::printed_score(row, column);
            let opposite = paper::printed_score(column, row);
            assert_eq!(score.map(Score::reversed), opposite, "{row} against {column}");
            let games = score.map(|score| score.won + score.drawn + score.lost);
            assert!(games.is_none_or(|games| games == GAMES_PER_CELL));
        }
    }
}

#[test]
fn score_elo_follows_from_the_share_of_points() {
    let elo = |won, drawn, lost| Score { won, drawn, lost }.elo();
    assert_eq!(elo(0, 0, 0), None);
    assert_eq!(elo(0, 20, 0), Some(0.0));
    assert_eq!(elo(20, 0, 0), Some(700.0));
    assert_eq!(elo(0, 0, 20), Some(-700.0));
    assert!((elo(15, 0, 5).expect("games") - 190.85).abs() < 0.01);
    assert_eq!(Score { won: 3, drawn: 2, lost: 1 }.reversed(), Score { won: 1, drawn: 2, lost: 3 });
}

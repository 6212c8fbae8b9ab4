//! The tables of Bug0: their arithmetic against the paper's own, and a small one played.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use trainer::bug0::entrants::{self, Entrant, Search};
use trainer::bug0::tables::{Cell, Tables};
use trainer::bug0::{self, Conditions, models, printed};
use trainer::regression::fit::Kind;
use trainer::regression::model::Model;
use trainer::regression::planes::NUMBERS;

/// The paper's Table IV, where it has a figure.
const PRINTED: [(&str, [Option<i32>; 6]); 6] = [
    ("RM", [None, Some(-700), Some(-636), Some(436), Some(382), Some(-70)]),
    ("MM", [Some(700), None, Some(700), Some(700), Some(700), Some(700)]),
    ("LR", [Some(636), Some(-700), None, Some(700), Some(700), Some(700)]),
    ("EN", [Some(-436), Some(-700), Some(-700), None, Some(0), Some(0)]),
    ("DT", [Some(-382), Some(-700), Some(-700), Some(0), None, Some(-700)]),
    ("RF", [Some(70), Some(-700), Some(-700), Some(0), Some(700), None]),
];

fn elo((won, drawn): (u64, u64)) -> i32 {
    let cell = Cell { won, drawn, lost: printed::GAMES - won - drawn };
    cell.elo().expect("games").round() as i32
}

#[test]
fn table_four_follows_from_table_three() {
    for (row, wanted) in PRINTED {
        for (column, wanted) in printed::COLUMNS.into_iter().zip(wanted) {
            let found = printed::cell(row, column).map(elo);
            assert_eq!(found, wanted, "{row} against {column}");
        }
    }
    let alpha_zero: Vec<Vec<i32>> = printed::rows_of_their_own()
        .map(|(_, cells)| cells.into_iter().flatten().map(elo).collect())
        .collect();
    assert_eq!(alpha_zero, [[-512, -700], [512, -241]]);
}

/// The same in each half of the printed table, as wins of one are losses of the other.
#[test]
fn printed_halves_agree() {
    for row in printed::COLUMNS {
        for column in printed::COLUMNS {
            let (one, other) = (printed::cell(row, column), printed::cell(column, row));
            let turned = one.map(|(won, drawn)| (printed::GAMES - won - drawn, drawn));
            assert_eq!(turned, other, "{row} {column}");
        }
    }
}

#[test]
fn elo_is_by_the_share_of_the_points() {
    let elo = |won, drawn, lost| Cell { won, drawn, lost }.elo();
    assert_eq!(elo(0, 0, 0), None);
    assert_eq!(elo(0, 20, 0), Some(0.0));
    assert_eq!((elo(20, 0, 0), elo(0, 0, 20)), (Some(700.0), Some(-700.0)));
    assert!((elo(15, 0, 5).expect("games") - 190.85).abs() < 0.01);
    assert_eq!(Cell { won: 3, drawn: 2, lost: 1 }.turned(), Cell { won: 1, drawn: 2, lost: 3 });
}

/// Models that like or dislike where men stand.
fn some_models(folder: &Path) {
    for (nth, kind) in Kind::ALL.into_iter().enumerate() {
        let weights = (0..NUMBERS).map(|it| ((it * (nth + 7)) % 11) as f32 - 5.0).collect();
        let model = Model::Linear { weights, bias: 0.0 };
        fs::write(models::file(folder, kind), model.bytes().expect("bytes")).expect("written");
    }
}

fn everybody(folder: &Path) -> Vec<Entrant> {
    let search = Search { visits: vec![2], network: None, trained_for: "bughouse2".to_owned() };
    entrants::all(folder, &search, &[1, 2])
}

#[test]
fn everybody_plays_everybody_once_and_not_again() {
    let folder = TempDir::new().expect("a folder");
    some_models(folder.path());
    // Not all, as that would take long.
    let entrants: Vec<Entrant> = everybody(folder.path())
        .into_iter()
        .filter(|it| ["RM", "MM", "LR", "U2"].contains(&it.short.as_str()))
        .collect();
    let conditions = Conditions {
        games: 2,
        plies: 4,
        seed: 1,
        longest: 300,
        threads: 2,
        folder: folder.path().join("out"),
    };
    let mut cells = Vec::new();
    let play = |cells: &mut Vec<(String, Cell)>| {
        let tables = bug0::play(&entrants, &conditions, "About it.\n", &mut |a, b, cell| {
            cells.push((format!("{}-{}", a.short, b.short), cell));
        });
        tables.expect("played").markdown()
    };
    let text = play(&mut cells);
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["RM-MM", "RM-LR", "MM-LR", "RM-U2", "MM-U2", "LR-U2"]);
    assert!(cells.iter().all(|(_, cell)| cell.won + cell.drawn + cell.lost == 2));
    let written = fs::read_to_string(conditions.folder.join(bug0::FILE)).expect("a file");
    assert_eq!(written, format!("About it.\n\n{text}"));
    let games = || fs::metadata(conditions.folder.join("RM-MM/games.csv")).expect("a file").len();
    let before = games();
    let mut again = Vec::new();
    assert_eq!(play(&mut again), text);
    assert_eq!((again, games()), (cells, before));
}

#[test]
fn tables_show_both_figures() {
    let folder = TempDir::new().expect("a folder");
    let entrants = everybody(folder.path());
    let heads: Vec<&str> = entrants.iter().map(|it| it.short.as_str()).collect();
    assert_eq!(heads, ["RM", "MM", "LR", "EN", "DT", "RF", "U2", "MM2"]);
    let mut tables = Tables::new(&entrants);
    tables.add(0, 2, Cell { won: 1, drawn: 2, lost: 17 });
    tables.add(0, 6, Cell { won: 0, drawn: 0, lost: 20 });
    let text = tables.markdown();
    for line in [
        "| | RM | MM | LR | EN | DT | RF | MM2 |",
        "| Random Move |  | [0] | 1 (2) [0 (1)] | [17 (3)] | [16 (4)] | [7 (2)] |  |",
        "| Linear Regression | 17 (2) [19 (1)] | [0] |  | [20] | [20] | [20] |  |",
        "| A0 without a network, 2 simulations | 20 |  |  |  |  |  |  |",
        "| A0 Supervised (the paper's) | [19] | [4] |  |  |  |  |  |",
        "| Random Move |  | [-700] | -382 [-636] | [+436] | [+382] | [-70] |  |",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
}

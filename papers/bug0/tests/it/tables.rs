//! Tables III and IV in Markdown.

use std::path::Path;

use bug0::participants::{SearchSettings, participants};
use bug0::score::Score;
use bug0::tables::ResultTables;

#[test]
fn tables_show_played_and_printed_figures() {
    let search =
        SearchSettings { visits: vec![2], network: None, trained_for: "bughouse2".to_owned() };
    let participants = participants(Path::new("models"), &search, &[1, 2]);
    let headers: Vec<&str> =
        participants.iter().map(|participant| participant.short_name.as_str()).collect();
    assert_eq!(headers, ["RM", "MM", "LR", "EN", "DT", "RF", "U2", "MM2"]);
    let mut tables = ResultTables::new(&participants);
    tables.set(0, 2, Score { won: 1, drawn: 2, lost: 17 });
    tables.set(0, 6, Score { won: 0, drawn: 0, lost: 20 });
    let text = tables.markdown();
    for line in [
        "| | RM | MM | LR | EN | DT | RF | MM2 |",
        "| Random Move |  | [0] | 1 (2) [0 (1)] | [17 (3)] | [16 (4)] | [7 (2)] |  |",
        "| Linear Regression | 17 (2) [19 (1)] | [0] |  | [20] | [20] | [20] |  |",
        "| A0 without a network, 2 simulations | 20 |  |  |  |  |  |  |",
        "| A0 Supervised (the paper's) | [19] | [4] |  |  |  |  |  |",
        "| Random Move |  | [-700] | -382 [-636] | [+436] | [+382] | [-70] |  |",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line} in\n{text}");
    }
}

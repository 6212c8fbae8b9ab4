//! Move generation against the reference: every row of the tables of a game we know.

mod golden;

use menagerie::rules::perft;
use menagerie::variant::Catalogue;

/// Games of `perft_builtins_extra.tsv` that the catalogue does not hold: counted checks, material
/// that decides, placing of the men, and queens that are royal.
const NOT_YET: [&str; 4] = ["5check", "armageddon", "coregal", "placement"];

/// Counts every row of a table; gives how many there were of games that are known.
fn check(table: &str) -> usize {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for [name, fen, depth, nodes] in golden::rows(table) {
        if NOT_YET.contains(&name) {
            continue;
        }
        let (name, chess960) = golden::variant(name);
        let variant = Catalogue::shipped().get(name).expect("it is in the catalogue");
        let position = variant.position(fen, chess960).expect("a golden FEN is read");
        let depth = depth.parse().expect("a depth");
        let counted = perft(&position, depth);
        rows += 1;
        if counted.to_string() != nodes {
            wrong.push(format!("{name} \"{fen}\" {depth}: {counted}, not {nodes}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    rows
}

#[test]
fn every_row_is_equal() {
    assert_eq!(check(include_str!("golden/perft.tsv")), 15 * 41);
}

#[test]
fn every_row_of_other_games_is_equal() {
    assert_eq!(check(include_str!("golden/perft_builtins_extra.tsv")), 16 * 8);
}

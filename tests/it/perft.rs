//! Move generation against the reference: every row of the tables.

use crate::support::golden;

use menagerie::rules::perft;
use menagerie::variant::Catalogue;

/// Counts every row of a table; gives how many there were.
fn check<'a>(catalogue: &Catalogue, rows: impl Iterator<Item = [&'a str; 4]>) -> usize {
    let (mut wrong, mut counted) = (Vec::new(), 0);
    for [name, fen, depth, nodes] in rows {
        let (name, chess960) = golden::variant(name);
        let variant = catalogue.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let position = variant.position(fen, chess960).unwrap_or_else(|error| panic!("{error}"));
        let depth = depth.parse().expect("a depth");
        let paths = perft(&position, depth);
        counted += 1;
        if paths.to_string() != nodes {
            wrong.push(format!("{name} \"{fen}\" {depth}: {paths}, not {nodes}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {counted} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    counted
}

#[test]
fn every_row_is_equal() {
    let rows = golden::rows(include_str!("../golden/perft.tsv"));
    assert_eq!(check(Catalogue::shipped(), rows), 15 * 41);
}

#[test]
fn every_row_of_other_games_is_equal() {
    let rows = golden::rows(include_str!("../golden/perft_builtins_extra.tsv"));
    assert_eq!(check(Catalogue::shipped(), rows), 20 * 8);
}

#[test]
fn every_row_of_games_in_a_file_is_equal() {
    let text = include_str!("../golden/more_variants.ini");
    let (catalogue, faults) = Catalogue::shipped().extended(text);
    assert!(faults.is_empty(), "{faults:?}");
    let rows = golden::rows(include_str!("../golden/perft_variants_ini.tsv"));
    assert_eq!(check(&catalogue, rows), 20 * 8);
}

//! Move generation against the perft counts of reference programs.

use crate::support::golden;

use menagerie::rules::perft;
use menagerie::variant::Catalogue;

/// Checks all rows. Returns their number.
fn check<'a>(catalogue: &Catalogue, rows: impl Iterator<Item = [&'a str; 4]>) -> usize {
    let mut wrong = Vec::new();
    let mut counted = 0;
    for [name, fen, depth, nodes] in rows {
        let (name, chess960) = golden::variant(name);
        let variant = catalogue.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let position = variant.position(fen, chess960).unwrap_or_else(|error| panic!("{error}"));
        let depth = depth.parse().expect("a depth");
        let paths = perft(&position, depth);
        counted += 1;
        if paths.to_string() != nodes {
            wrong.push(format!("{name} \"{fen}\" {depth}: {paths}, expected {nodes}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {counted} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    counted
}

#[test]
fn perft_of_lichess_variants() {
    let rows = golden::rows(include_str!("../golden/perft.tsv"));
    assert_eq!(check(Catalogue::shipped(), rows), 15 * 41);
}

#[test]
fn perft_of_other_variants() {
    let rows = golden::rows(include_str!("../golden/perft_builtins_extra.tsv"));
    assert_eq!(check(Catalogue::shipped(), rows), 20 * 8);
}

#[test]
fn perft_of_variants_in_a_file() {
    let text = include_str!("../golden/more_variants.ini");
    let (catalogue, errors) = Catalogue::shipped().extended(text);
    assert!(errors.is_empty(), "{errors:?}");
    let rows = golden::rows(include_str!("../golden/perft_variants_ini.tsv"));
    assert_eq!(check(&catalogue, rows), 20 * 8 + 14);
}

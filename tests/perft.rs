//! Move generation against the reference: every row of `golden/perft.tsv`.

mod golden;

use menagerie::rules::perft;
use menagerie::variant::Catalogue;

#[test]
fn every_row_is_equal() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for [name, fen, depth, nodes] in golden::rows(include_str!("golden/perft.tsv")) {
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
    assert!(rows >= 15 * 41);
}

//! Readers of the golden data: facts from reference programs, as tables of tabs.

/// The rows of a table with at least `N` columns; the rest of a row is left out.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table.lines().map(|line| {
        let columns: Vec<&str> = line.split('\t').take(N).collect();
        columns.try_into().unwrap_or_else(|_| panic!("a row of {N} columns: {line}"))
    })
}

/// A variant's name in the catalogue, and whether its castling is that of Chess960.
pub(crate) fn variant(name: &str) -> (&str, bool) {
    if name == "chess960" { ("chess", true) } else { (name, false) }
}

/// The FEN of a row of `tictacmo_solved.tsv`: men are the sides' numbers there.
pub(crate) fn tictacmo_fen(board: &str, player: &str) -> String {
    let letters = |text: &str| text.replace('1', "a").replace('2', "b").replace('3', "c");
    let men = letters(board);
    let rows = [&men[..5], &men[5..10], &men[10..]].join("/").replace('.', "1");
    format!("{rows} {}", letters(player))
}

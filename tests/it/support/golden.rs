//! Golden data: results of reference programs in tab-separated files.

/// Returns the first `N` columns of the rows of a file.
pub(crate) fn rows<const N: usize>(text: &str) -> impl Iterator<Item = [&str; N]> {
    text.lines().map(|line| {
        let columns: Vec<&str> = line.split('\t').take(N).collect();
        columns.try_into().unwrap_or_else(|_| panic!("a row of {N} columns: {line}"))
    })
}

/// Returns the name of a variant in the catalogue, and whether it is played as Chess960.
pub(crate) fn variant(name: &str) -> (&str, bool) {
    if name == "chess960" { ("chess", true) } else { (name, false) }
}

/// Returns the FEN of a row of `tictacmo_solved.tsv`, in which pieces are the numbers of the sides.
pub(crate) fn tictacmo_fen(board: &str, player: &str) -> String {
    let letters = |text: &str| text.replace('1', "a").replace('2', "b").replace('3', "c");
    let cells = letters(board);
    let rows = [&cells[..5], &cells[5..10], &cells[10..]].join("/").replace('.', "1");
    format!("{rows} {}", letters(player))
}

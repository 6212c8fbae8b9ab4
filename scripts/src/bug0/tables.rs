//! Tables III and IV: what was played here, and in brackets what the paper printed.

use std::fmt::Write;

use super::entrants::Entrant;
use super::printed;
use crate::arena::statistics;

/// What the player of a row has come to against that of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost.
    pub lost: u64,
}

/// What the paper writes for a match in which one side got nothing.
const ALL_OR_NOTHING: f64 = 700.0;

impl Cell {
    /// The same seen from the column.
    pub fn turned(self) -> Cell {
        Cell { won: self.lost, drawn: self.drawn, lost: self.won }
    }

    /// As printed: of so many games, those won and drawn.
    fn printed((won, drawn): (u64, u64)) -> Cell {
        Cell { won, drawn, lost: printed::GAMES - won - drawn }
    }

    /// The difference in Elo by the share of the points, `(w + d/2) / n`, which is what the paper's
    /// program and its Table IV have (its text has `(w + d) / n`); 700 where one side has all.
    pub fn elo(self) -> Option<f64> {
        let Cell { won, drawn, lost } = self;
        let games = won + drawn + lost;
        let share = (won as f64 + drawn as f64 / 2.0) / games as f64;
        (games > 0).then(|| match share {
            0.0 => -ALL_OR_NOTHING,
            1.0 => ALL_OR_NOTHING,
            _ => statistics::elo(share),
        })
    }

    /// Games won, and those drawn in round brackets.
    fn games_text(self) -> String {
        let drawn = if self.drawn > 0 { format!(" ({})", self.drawn) } else { String::new() };
        format!("{}{drawn}", self.won)
    }

    fn elo_text(self) -> String {
        let rounded = self.elo().map_or(0.0, f64::round);
        if rounded == 0.0 { "0".to_owned() } else { format!("{rounded:+.0}") }
    }
}

/// All cells that have been played.
#[derive(Clone, Debug)]
pub struct Tables {
    entrants: Vec<Entrant>,
    /// By row and column.
    cells: Vec<Vec<Option<Cell>>>,
}

impl Tables {
    /// Tables in which nothing has been played.
    pub fn new(entrants: &[Entrant]) -> Tables {
        let cells = vec![vec![None; entrants.len()]; entrants.len()];
        Tables { entrants: entrants.to_vec(), cells }
    }

    /// Puts a cell in its place, and turned round in the other's row.
    pub fn add(&mut self, row: usize, column: usize, cell: Cell) {
        self.cells[row][column] = Some(cell);
        self.cells[column][row] = Some(cell.turned());
    }

    /// Both tables in Markdown.
    pub fn markdown(&self) -> String {
        let heads = [
            "Table III: games won by row against column, drawn ones in round brackets; in square \
             brackets what the paper printed.",
            "Table IV: the same as differences in Elo, by (w + d/2) / n.",
        ];
        let texts: [fn(Cell) -> String; 2] = [Cell::games_text, Cell::elo_text];
        let tables = heads.iter().zip(texts);
        tables
            .map(|(head, text)| format!("{head}\n\n{}", self.table(text)))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn table(&self, text: fn(Cell) -> String) -> String {
        let columns: Vec<usize> =
            (0..self.entrants.len()).filter(|&at| !self.entrants[at].ours).collect();
        let heads: Vec<&str> = columns.iter().map(|&at| self.entrants[at].short.as_str()).collect();
        let mut out = String::new();
        // Writing into a String cannot fail.
        let _ = writeln!(out, "| | {} |", heads.join(" | "));
        let _ = writeln!(out, "|---|{}", "---|".repeat(heads.len()));
        for (row, entrant) in self.entrants.iter().enumerate() {
            let cells = columns.iter().map(|&column| {
                let printed = printed::cell(&entrant.short, &self.entrants[column].short);
                both(self.cells[row][column], printed, text)
            });
            line(&mut out, &entrant.long, cells);
        }
        for (long, cells) in printed::rows_of_their_own() {
            let cells = heads.iter().map(|head| {
                let column = printed::COLUMNS.iter().position(|it| it == head);
                both(None, column.and_then(|column| cells[column]), text)
            });
            line(&mut out, long, cells);
        }
        out
    }
}

/// What was played here, and what the paper printed.
fn both(played: Option<Cell>, printed: Option<(u64, u64)>, text: fn(Cell) -> String) -> String {
    let printed = printed.map(|cell| format!("[{}]", text(Cell::printed(cell))));
    played.map(text).into_iter().chain(printed).collect::<Vec<_>>().join(" ")
}

fn line(out: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let _ = writeln!(out, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
}

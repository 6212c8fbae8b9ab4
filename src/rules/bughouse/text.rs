//! Text of moves and turns at two tables, and both boards drawn for people to read.

use std::fmt::Write;

use super::{Tables, color_of, opponents};
use crate::rules::{Move, Rules, Side, Table, notation};

/// A ply that leaves the table to the clock.
pub(in crate::rules) const PASS: &str = "pass";

impl Tables {
    /// A legal ply: the number of the table and the move as that table's own game writes it.
    pub(super) fn ply_text(&self, m: Move) -> String {
        match m.split() {
            (_, Move::Pass) => PASS.to_owned(),
            (table, m) => format!("{}{}", number(table), self.game(table).chess.move_text(m)),
        }
    }

    /// Both boards beside one another, with the hands, the clocks and who is on turn.
    pub(super) fn draw(&self) -> String {
        let game_spec = self.games[0].chess.game_spec();
        let boards = Table::ALL.map(|table| {
            let view = self.game(table).chess.view();
            let drawn = notation::diagram(view, &game_spec);
            let mut lines: Vec<String> = vec![format!(" Table {table:?}")];
            lines.extend(drawn.lines().map(str::to_owned));
            let game = self.game(table);
            let state =
                if game.is_drawn() { "drawn" } else { game.color().fold_wb("White", "Black") };
            lines.push(format!("On turn: {state}"));
            if !self.clocks.unknown() {
                let [white, black] = shakmaty::Color::ALL.map(|color| {
                    let seconds = self.clocks.at(table, color) / 100;
                    format!("{}.{}", seconds / 10, seconds % 10)
                });
                lines.push(format!("Seconds: White {white}, Black {black}"));
            }
            lines
        });
        let [left, right] = boards;
        let width = left.iter().map(String::len).max().unwrap_or(0) + 3;
        let mut text = String::new();
        for (left, right) in left.iter().zip(&right) {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{}", format!("{left:<width$}{right}").trim_end());
        }
        let team = |team: Side| {
            let seats = Table::ALL.map(|table| format!("{} at {table:?}", color_of(team, table)));
            seats.join(" and ")
        };
        let _ = writeln!(
            text,
            "\nTo move: {} (against {})",
            team(self.team),
            team(opponents(self.team))
        );
        text
    }
}

/// The table that the text of a ply names by its number, and the rest of the text.
pub(in crate::rules) fn of_table(text: &str) -> Option<(Table, &str)> {
    Table::ALL.into_iter().find_map(|table| Some((table, text.strip_prefix(number(table))?)))
}

fn number(table: Table) -> char {
    match table {
        Table::A => '1',
        Table::B => '2',
    }
}

/// A team's turn: its move at each table, or `pass` where it makes none: `(e2e4,pass)`.
pub(super) fn turn(plies: &[Move], texts: &[String]) -> String {
    let at = |table: Table| {
        let ply = plies.iter().position(|&ply| ply != Move::Pass && ply.split().0 == table);
        // Without the number of its table.
        ply.and_then(|nth| texts.get(nth)?.get(1..)).unwrap_or(PASS)
    };
    format!("({},{})", at(Table::A), at(Table::B))
}

/// The plies that a text may stand for, the likeliest first: `(e2e4,pass)` for both tables, or plies
/// with the number of their table and commas between.
pub(super) fn spellings(text: &str) -> Vec<Vec<String>> {
    let both = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')?.split_once(','));
    let Some((a, b)) = both else {
        return vec![text.split(',').map(str::to_owned).collect()];
    };
    let (first, second) = (format!("{}{a}", number(Table::A)), format!("{}{b}", number(Table::B)));
    let pass = PASS.to_owned();
    match (a, b) {
        (PASS, PASS) => vec![vec![pass]],
        (_, PASS) => vec![vec![first.clone(), pass], vec![first]],
        (PASS, _) => vec![vec![second.clone(), pass], vec![second]],
        _ => vec![vec![first.clone(), second.clone()], vec![second, first]],
    }
}

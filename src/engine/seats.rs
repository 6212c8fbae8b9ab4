//! What a game of two tables asks of a session besides others: which team plays, and whose clocks
//! are longer.

use super::limits::Limits;
use super::options::Options;
use crate::rules::{ByColor, Clocks, Color, PerSide, Position, Side, Table};
use crate::search::Clock;

/// A minute more, where a team is said to have more time.
const MORE: u32 = 60_000;

/// As many turns a seat has still to play, as far as anybody knows: a game at two tables has some 17 of
/// each, about half as many as a game of one.
const TURNS: u32 = 16;

/// The team that plays, if the options say so.
pub(super) fn team(options: &Options) -> Option<Side> {
    match &*options.team {
        "white" => Some(Side::WHITE),
        "black" => Some(Side::BLACK),
        _ => None,
    }
}

/// Gives `position` the clocks that the options or the limits tell, if there are two tables; and
/// `limits` the clock of the side to move: the shortest of those that run.
pub(super) fn take_clocks(position: &mut Position, options: &Options, limits: &mut Limits) {
    let Some(known) = position.clocks() else { return };
    let told = Table::ALL.map(|table| Color::ALL.map(|color| clock(limits, table, color)));
    let told_any = told.as_flattened().iter().any(Option::is_some);
    let team = position.turn();
    let left = |table: Table, color: Color| {
        let at = |table: Table| told[table as usize][usize::from(color.is_black())];
        // Who is not told has as much as the opponent with whom it is compared.
        let clock = at(table).or(at(table.other()));
        clock.map_or(0, |clock| u32::try_from(clock.remaining.max(0)).unwrap_or(u32::MAX))
    };
    let clocks = match &*options.mode {
        mode @ ("sit" | "go") => clocks_by(|table, color| {
            let ours = (table == Table::A) == (color.is_white() == (team == Side::WHITE));
            MORE + if ours == (mode == "sit") { MORE } else { 0 }
        }),
        _ if told_any => clocks_by(left),
        _ => known,
    };
    position.set_clocks(clocks);
    let view = position.view();
    let running = Color::ALL.into_iter().filter(|&color| view.table_of(color).seat.asked);
    let running = running.filter_map(|color| {
        let table = if view.turn == color { Table::A } else { Table::B };
        let at = |table: Table| told[table as usize][usize::from(color.is_black())];
        at(table).or(at(table.other()))
    });
    let shortest = running.min_by_key(|clock| clock.remaining);
    limits.clocks = PerSide::all(
        shortest.map(|clock| Clock { turns_to_go: clock.turns_to_go.or(Some(TURNS)), ..clock }),
    );
}

/// What was told of the clock of a seat.
fn clock(limits: &Limits, table: Table, color: Color) -> Option<Clock> {
    let clocks = if table == Table::A { &limits.clocks } else { &limits.second };
    clocks[Side::from(color)]
}

fn clocks_by(left: impl Fn(Table, Color) -> u32) -> Clocks {
    Clocks(Table::ALL.map(|table| ByColor::new_with(|color| left(table, color))))
}

//! FEN of two tables: `A|B`, and what two boards do not tell: `A|B|b A= 60000 59000 60000 58000`.

use std::sync::Arc;

use shakmaty::ByColor;

use super::game::Game;
use super::{Bughouse, Clocks, Order, Tables};
use crate::rules::chess::ChessPosition;
use crate::rules::{FenError, FenRepair, Rules, Side, Table};

/// What the third part of a FEN tells.
#[derive(Default)]
struct Rest {
    /// The team that is asked: `w` has White at table A, `b` at table B.
    team: Option<Side>,
    /// The table that is asked for, in the fixed order: `A` or `B`.
    due: Option<Table>,
    /// The tables whose games are drawn by repetition: `A=`, `B=`.
    drawn: [bool; 2],
    /// White's and Black's time at table A and theirs at table B, in milliseconds.
    clocks: Clocks,
}

impl Tables {
    /// Reads a FEN of the game of `rules`: those of both tables, and if need be the rest. What is
    /// left out is added to `repairs`.
    pub(in crate::rules) fn from_fen(
        rules: &Arc<Bughouse>,
        fen: &str,
        chess960: bool,
        repairs: &mut Vec<FenRepair>,
    ) -> Result<Tables, FenError> {
        let parts: Vec<&str> = fen.split('|').collect();
        let (a, b, rest) = match parts[..] {
            [a, b] => (a, b, ""),
            [a, b, rest] => (a, b, rest),
            _ => return Err(FenError::syntax(fen, "it is not that of two tables, as \"A|B\"")),
        };
        let rest = Rest::read(rest.trim_end_matches(';'))
            .map_err(|reason| FenError::syntax(fen, reason))?;
        let mut read = |part: &str, table: Table| {
            let mut dropped = Vec::new();
            let chess = ChessPosition::from_fen(&rules.board, part.trim(), chess960, &mut dropped);
            let chess = chess.map_err(|error| error.within(fen))?;
            let board = Some(table);
            repairs.extend(dropped.into_iter().map(|dropped| FenRepair { board, dropped }));
            Ok(Game::new(chess, rest.drawn[table as usize], rules.blockable))
        };
        let mut tables = Tables {
            rules: Arc::clone(rules),
            games: [read(a, Table::A)?, read(b, Table::B)?],
            clocks: rest.clocks,
            team: Side::WHITE,
            mid_turn: false,
            due: Table::A,
            quiet: true,
            over: None,
        };
        tables.settle();
        tables.begin();
        if let Some(team) = rest.team {
            tables.turn_to_team(team);
        }
        if let Some(due) = rest.due.filter(|_| rules.order == Order::Fixed) {
            tables.turn_to_due(due);
        }
        Ok(tables)
    }

    /// Asks whoever is asked if nothing is said.
    fn begin(&mut self) {
        match self.rules.order {
            _ if self.over.is_some() => {}
            Order::Timed => {
                (self.team, self.mid_turn) = (Side::BLACK, false);
                self.turn_to_team(Side::WHITE);
            }
            Order::Fixed => self.call(0),
        }
    }

    /// Asks the seat on turn at `table`, if it can move.
    fn turn_to_due(&mut self, table: Table) {
        if self.game(table).is_open() {
            (self.due, self.team) = (table, self.on_turn(table));
        }
    }

    pub(super) fn to_fen(&self) -> String {
        let mut usual = self.clone();
        usual.begin();
        let mut rest = Vec::new();
        match self.rules.order {
            Order::Timed if self.team == usual.team => {}
            Order::Timed if self.team == Side::WHITE => rest.push("w".to_owned()),
            Order::Timed => rest.push("b".to_owned()),
            Order::Fixed if (self.due, self.team) == (usual.due, usual.team) => {}
            Order::Fixed => rest.push(format!("{:?}", self.due)),
        }
        let drawn = Table::ALL.into_iter().filter(|&table| self.game(table).is_drawn());
        rest.extend(drawn.map(|table| format!("{table:?}=")));
        if !self.clocks.unknown() {
            let times = self.clocks.0.iter().flat_map(|clock| [clock.white, clock.black]);
            rest.extend(times.map(|time| time.to_string()));
        }
        let boards = self.games.each_ref().map(|game| game.chess.fen()).join("|");
        if rest.is_empty() { boards } else { format!("{boards}|{}", rest.join(" ")) }
    }
}

impl Rest {
    fn read(text: &str) -> Result<Rest, String> {
        let mut rest = Rest::default();
        let mut times = Vec::new();
        for word in text.split_ascii_whitespace() {
            match word {
                "w" => rest.team = Some(Side::WHITE),
                "b" => rest.team = Some(Side::BLACK),
                "A" => rest.due = Some(Table::A),
                "B" => rest.due = Some(Table::B),
                "A=" => rest.drawn[0] = true,
                "B=" => rest.drawn[1] = true,
                _ => times.push(word.parse().map_err(|_| format!("behind the tables \"{word}\""))?),
            }
        }
        match times[..] {
            [] => {}
            [white_a, black_a, white_b, black_b] => {
                let clock = |white, black| ByColor { white, black };
                rest.clocks = Clocks([clock(white_a, black_a), clock(white_b, black_b)]);
            }
            _ => return Err(format!("there are {} clocks, not 4", times.len())),
        }
        Ok(rest)
    }
}

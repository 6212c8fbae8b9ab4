//! Who moves when.
//!
//! In the fixed order the four seats follow one another. In the order of time any seat that is on
//! turn may move at any moment; so that there is a game to search, the teams take turns: a turn is
//! a move at each table where the team is on turn, in either order, and instead of the last of them
//! it may sit, if its clock there is longer than that of the opponent who is on turn at the other
//! table. So whoever is sat upon has less time and must move: no game can pass for ever.

use shakmaty::Color;

use super::clocks::Lead;
use super::{Standing, Tables, color_of, opponents, team_of};
use crate::rules::{Side, Table};

/// Who moves when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Teams take turns at all tables where they are on turn, and sit where their clocks allow it.
    Timed,
    /// White at A, White at B, Black at B, Black at A (Bug0, section III.A).
    Fixed,
}

const SEATS: [(Table, Color); 4] = [
    (Table::A, Color::White),
    (Table::B, Color::White),
    (Table::B, Color::Black),
    (Table::A, Color::Black),
];

impl Tables {
    /// Whether `team` can move at `table`, and the order of play does not speak against it.
    pub(super) fn is_asked(&self, table: Table, team: Side) -> bool {
        let due = self.rules.order == Order::Timed || table == self.due;
        self.over.is_none() && due && self.can_move(table, team)
    }

    fn can_move(&self, table: Table, team: Side) -> bool {
        self.game(table).is_open() && self.on_turn(table) == team
    }

    fn moves_somewhere(&self, team: Side) -> bool {
        Table::ALL.into_iter().any(|table| self.can_move(table, team))
    }

    /// The table at which the team could sit, as far as its clocks allow it: the only one where it
    /// can move, while the opponents can move at the other.
    fn sits_at(&self) -> Option<Table> {
        let timed = self.rules.order == Order::Timed && self.over.is_none();
        let alone = |table: &Table| {
            self.can_move(*table, self.team) && self.can_move(table.other(), opponents(self.team))
        };
        Table::ALL.into_iter().find(alone).filter(|_| timed)
    }

    fn lead(&self, team: Side, table: Table) -> Lead {
        self.clocks.compare(table, color_of(team, table))
    }

    /// Whether the team may sit: it would not be the one to run out of time.
    pub(super) fn may_sit(&self) -> bool {
        self.sits_at().is_some_and(|table| self.lead(self.team, table) == Lead::Ahead)
    }

    /// Whether the team could sit for a while though that is no move: nobody knows who would run
    /// out of time.
    pub(super) fn could_sit(&self) -> bool {
        self.sits_at().is_some_and(|table| self.lead(self.team, table) == Lead::Level)
    }

    /// Whether a team that is in check at `table` and has no move there cannot hope for a man: the
    /// partner does not play any more, or the opponent who is on turn with the partner just waits.
    pub(super) fn is_hopeless(&self, table: Table) -> bool {
        let (team, other) = (self.on_turn(table), table.other());
        let waited = self.rules.order == Order::Timed
            && self.on_turn(other) != team
            && self.lead(team, table) == Lead::Behind;
        self.game(other).standing != Standing::Open || waited
    }

    /// Ends the turn without a move at the table where one could be made.
    pub(super) fn sit(&mut self) {
        self.quiet |= !self.mid_turn;
        self.pass_on();
    }

    /// Says who is asked after a move at `table`.
    pub(super) fn follow(&mut self, table: Table) {
        match self.rules.order {
            Order::Timed if self.moves_somewhere(self.team) => self.mid_turn = true,
            Order::Timed => self.pass_on(),
            Order::Fixed => {
                let mover = (table, !self.game(table).color());
                self.call(SEATS.iter().position(|&seat| seat == mover).unwrap_or(0) + 1);
            }
        }
    }

    /// Asks the opponents, or the same team again if they cannot move.
    fn pass_on(&mut self) {
        self.mid_turn = false;
        let others = opponents(self.team);
        if self.moves_somewhere(others) {
            self.team = others;
        }
    }

    /// Asks the first seat from the one numbered `first` on that can move.
    pub(super) fn call(&mut self, first: usize) {
        let seats = (first..first + SEATS.len()).map(|nth| SEATS[nth % SEATS.len()]);
        let mut able = seats
            .map(|(table, color)| (table, team_of(table, color)))
            .filter(|&(table, team)| self.can_move(table, team));
        if let Some((table, team)) = able.next() {
            (self.due, self.team) = (table, team);
        }
    }

    /// Asks `team` for its turn, if it can move at all and there is a choice of who moves first.
    pub(super) fn turn_to_team(&mut self, team: Side) -> bool {
        let able = self.rules.order == Order::Timed && self.over.is_none();
        let able = able && self.moves_somewhere(team);
        if able && team != self.team {
            (self.team, self.mid_turn) = (team, false);
        }
        able
    }

    /// Asks whoever is on turn at `table`, even if a draw might have been claimed there.
    pub(super) fn turn_to_table(&mut self, table: Table) -> bool {
        if self.rules.order != Order::Timed {
            return false;
        }
        self.games[table as usize].reopen();
        self.settle();
        self.turn_to_team(self.on_turn(table))
    }
}

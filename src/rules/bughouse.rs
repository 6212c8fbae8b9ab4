//! Bughouse: two tables of one game, four seats, two teams of partners who sit at different tables
//! with different colours. What is taken at one table goes to the partner's hand at the other; a
//! mate at either table ends the game, and a draw at one only that table's part of it.
//!
//! `docs/bughouse.md` says what is played where programs and servers differ, and why the order of
//! play is what it is.

mod clocks;
mod fen;
mod game;
mod order;
mod text;

use std::sync::Arc;

pub use clocks::Clocks;
pub use order::Order;
use shakmaty::Color;
pub(super) use text::{PASS, of_table};

use self::game::{Game, Standing};
use super::chess::{ChessPosition, VariantRules};
use super::{
    GameSpec, Key, Move, MoveList, Outcome, Reason, Rules, Seat, Side, Symmetry, Table, View,
};

/// The rules of one game of this family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bughouse {
    /// What is played at each table: chess with drops whose captures leave the table.
    pub board: Arc<VariantRules>,
    /// Who moves when.
    pub order: Order,
    /// Whether a check that leaves no move is no mate yet where the partner may still bring a man
    /// to drop in between.
    pub blockable: bool,
}

/// A position of a game of this family. Side 0 is the team that has White at table A, side 1 the
/// one that has White at table B.
#[derive(Debug)]
pub(super) struct Tables {
    rules: Arc<Bughouse>,
    games: [Game; 2],
    clocks: Clocks,
    /// The team that is asked for a move.
    team: Side,
    /// It has moved at one table and is asked for the other.
    mid_turn: bool,
    /// Where a move is asked for, in the fixed order; else table A.
    due: Table,
    /// Whether the turn has changed nothing for good so far.
    quiet: bool,
    over: Option<Outcome>,
}

impl Clone for Tables {
    fn clone(&self) -> Tables {
        Tables { rules: Arc::clone(&self.rules), games: self.games.clone(), ..*self }
    }

    fn clone_from(&mut self, source: &Tables) {
        let Tables { rules, games, clocks, team, mid_turn, due, quiet, over } = source;
        if !Arc::ptr_eq(&self.rules, rules) {
            self.rules = Arc::clone(rules);
        }
        self.games[0].clone_from(&games[0]);
        self.games[1].clone_from(&games[1]);
        self.clocks = *clocks;
        (self.team, self.mid_turn, self.due) = (*team, *mid_turn, *due);
        (self.quiet, self.over) = (*quiet, *over);
    }
}

/// The team that has `color` at `table`.
fn team_of(table: Table, color: Color) -> Side {
    if (table == Table::A) == color.is_white() { Side::WHITE } else { Side::BLACK }
}

/// The colour of `team` at `table`.
fn color_of(team: Side, table: Table) -> Color {
    Color::from_white((table == Table::A) == (team == Side::WHITE))
}

fn opponents(team: Side) -> Side {
    team.after(1, 2)
}

impl Tables {
    fn game(&self, table: Table) -> &Game {
        &self.games[table as usize]
    }

    /// The team that is on turn at `table`.
    fn on_turn(&self, table: Table) -> Side {
        team_of(table, self.game(table).color())
    }

    /// The position at a table, as that of a game of its own.
    pub(super) fn at(&self, table: Table) -> ChessPosition {
        self.game(table).chess.clone()
    }

    /// The four clocks.
    pub(super) fn clocks(&self) -> Clocks {
        self.clocks
    }

    /// Sets the four clocks.
    pub(super) fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = clocks;
        self.settle();
    }

    /// Plays a move at a table: whoever is on turn there makes it.
    fn play_at(&mut self, table: Table, m: Move) {
        let team = self.on_turn(table);
        self.quiet |= !self.mid_turn || team != self.team;
        self.team = team;
        if self.rules.order == Order::Timed {
            let other = self.game(table.other());
            let waiting = (!other.is_drawn()).then(|| other.color());
            self.clocks.run(table, self.game(table).color(), waiting);
        }
        let blockable = self.rules.blockable;
        let taken = self.game(table).chess.taken_by(m);
        let game = &mut self.games[table as usize];
        game.play(m, blockable);
        self.quiet &= game.chess.quiet_plies() > 0;
        let other = &mut self.games[table.other() as usize];
        if let Some(man) = taken {
            other.chess.receive(man);
            if matches!(other.standing, Standing::Stuck { .. }) {
                other.judge(blockable);
            }
        }
        self.settle();
        if self.over.is_none() {
            self.follow(table);
        }
    }

    /// Sees whether the game is over; whoever has lost it is on turn then, so that the same end is
    /// the same position.
    fn settle(&mut self) {
        self.over = Table::ALL.into_iter().find_map(|table| self.decision(table));
        if self.over.is_none() && !Table::ALL.iter().any(|&table| self.game(table).is_open()) {
            let drawn = |table: &Table| match self.game(*table).standing {
                Standing::Drawn(reason) => Some(reason),
                _ => None,
            };
            let reason = Table::ALL.iter().find_map(drawn).unwrap_or(Reason::Stalemate);
            self.over = Some(Outcome::draw(reason));
        }
        if let Some(over) = self.over {
            self.team = over.winner.map_or(Side::WHITE, opponents);
            (self.mid_turn, self.due) = (false, Table::A);
        }
    }

    /// The end of the game by what stands at a table.
    fn decision(&self, table: Table) -> Option<Outcome> {
        let team = self.on_turn(table);
        match self.game(table).standing {
            Standing::Lost(reason) => Some(Outcome::win(opponents(team), reason)),
            Standing::Won => Some(Outcome::win(team, Reason::Stalemate)),
            Standing::Stuck { mated: true } if self.is_hopeless(table) => {
                Some(Outcome::win(opponents(team), Reason::Checkmate))
            }
            _ => None,
        }
    }
}

impl Rules for Tables {
    fn game_spec(&self) -> GameSpec {
        let board = self.games[0].chess.game_spec();
        let symmetry = Symmetry { colours: self.rules.order == Order::Timed, ..board.symmetry };
        GameSpec { tables: true, symmetry, ..board }
    }

    fn turn(&self) -> Side {
        self.team
    }

    fn mid_turn(&self) -> bool {
        self.mid_turn
    }

    fn count_turns(&self, legal: &mut MoveList) -> Option<u64> {
        self.legal_moves(legal);
        // In the order of time a turn may be two plies.
        (self.rules.order == Order::Fixed || legal.is_empty()).then_some(legal.len() as u64)
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        for table in Table::ALL {
            if self.is_asked(table, self.team) {
                let before = out.len();
                self.game(table).chess.add_moves(out);
                out[before..].iter_mut().for_each(|m| *m = m.at(table));
            }
        }
        if self.may_sit() {
            out.push(Move::Pass);
        }
    }

    fn play_unchecked(&mut self, m: Move) {
        match m.split() {
            (_, Move::Pass) => self.sit(),
            (table, m) => self.play_at(table, m),
        }
    }

    fn outcome(&self, _legal: &[Move]) -> Option<Outcome> {
        self.over
    }

    fn claim(&self) -> Option<Outcome> {
        None
    }

    fn may_wait(&self) -> bool {
        self.could_sit()
    }

    fn ask(&mut self, side: Side) -> bool {
        self.turn_to_team(side)
    }

    fn turn_to(&mut self, table: Table) -> bool {
        self.turn_to_table(table)
    }

    fn opponent_in_check(&self) -> bool {
        self.games.iter().any(|game| game.chess.opponent_in_check())
    }

    fn reversible(&self) -> u32 {
        u32::from(self.quiet)
    }

    fn key(&self) -> Key {
        let [a, b] = &self.games;
        let flags = [self.team == Side::BLACK, self.due == Table::B, a.is_drawn(), b.is_drawn()];
        let flags = flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag));
        Key::of([a.chess.key().0, b.chess.key().0, flags])
    }

    fn key_at(&self, table: Table) -> Option<Key> {
        Some(self.game(table).chess.key())
    }

    fn view(&self) -> View<'_> {
        let [a, b] = Table::ALL.map(|table| {
            let (game, color) = (self.game(table), color_of(self.team, table));
            View {
                turn: color,
                mover: self.team,
                repeated: game.repeated(),
                seat: Seat {
                    asked: self.is_asked(table, self.team),
                    on_turn: game.color() == color,
                    drawn: game.is_drawn(),
                    lead: self.clocks.lead(table, color),
                },
                ..game.chess.view()
            }
        });
        View { second: Some(b.beside()), ..a }
    }

    fn fen(&self) -> String {
        self.to_fen()
    }

    fn move_text(&self, m: Move) -> String {
        self.ply_text(m)
    }

    fn turn_text(&self, plies: &[Move], texts: &[String]) -> String {
        text::turn(plies, texts)
    }

    fn spellings(&self, turn: &str) -> Vec<Vec<String>> {
        text::spellings(turn)
    }

    fn breaks_off(&self) -> bool {
        self.rules.order == Order::Timed
    }

    fn write_chess960(&mut self, chess960: bool) {
        self.games.iter_mut().for_each(|game| game.chess.write_chess960(chess960));
    }

    fn diagram(&self) -> Option<String> {
        Some(self.draw())
    }
}

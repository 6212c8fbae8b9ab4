//! What the referee asks of a team, and what a team says.

use std::time::Instant;

use menagerie::rules::{Color, Move, Position, Role, Side, Table};

use super::clocks::Watch;
use crate::readers::bpgn::Seat;
use crate::tables::Board;

/// A game as all seats see it.
#[derive(Debug)]
pub(super) struct Situation {
    /// The FEN of the opening.
    pub(super) start: String,
    /// The plies since then, as UCI writes them: `2N@f3`.
    pub(super) plies: Vec<String>,
    pub(super) position: Position,
    pub(super) boards: [Board; 2],
    pub(super) watch: Watch,
}

/// A ply that was played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ply<'a> {
    pub(super) seat: Seat,
    /// As the table's own game has it.
    pub(super) m: Move,
    /// How the table stood before.
    pub(super) before: &'a Position,
    /// The man that it gives to the other table, and to whose hand there.
    pub(super) gives: Option<(Color, Role)>,
}

/// What a team says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Moves at tables, as UCI writes each without its table: first the one that is legal first.
    Moves(Vec<(Table, String)>),
    /// It gives up, or makes the game impossible: why, as matches call it, the words about it, and
    /// the table where, if it is of one.
    Fails(&'static str, String, Option<Table>),
}

/// Two partners at work: one process, or two. Whatever goes wrong with them is said by
/// [`Team::hear`].
pub(super) trait Team {
    /// A game begins in which it is that side.
    ///
    /// # Errors
    /// If it cannot play at all.
    fn begin(&mut self, side: Side, game: &Situation) -> anyhow::Result<()>;

    /// A ply was played by anybody; `game` is what came of it.
    fn played(&mut self, ply: Ply<'_>, game: &Situation, now: Instant);

    /// Asks for what is to be asked for, after anything has happened.
    fn ask(&mut self, game: &Situation, now: Instant);

    /// When it wants to be asked again though nothing happens.
    fn wake(&self) -> Option<Instant> {
        None
    }

    /// What it has said, and when.
    fn hear(&mut self) -> Vec<(Instant, Said)>;

    /// The game is over: PGN's result for White at each table, and why.
    fn end(&mut self, results: [&str; 2], why: &str);
}

impl Situation {
    /// A game from its opening; the clocks run from now on.
    pub(super) fn new(start: &Position, watch: impl FnOnce([Color; 2]) -> Watch) -> Situation {
        let boards = Board::both(start);
        let watch = watch(boards.each_ref().map(|board| board.color));
        let (start, position) = (start.fen(), start.clone());
        Situation { start, plies: Vec::new(), position, boards, watch }
    }

    pub(super) fn board(&self, table: Table) -> &Board {
        &self.boards[table as usize]
    }

    /// Whether a seat of `side` is on turn at `table` and has a move.
    pub(super) fn may_move(&self, side: Side, table: Table) -> bool {
        let board = self.board(table);
        board.open && Seat { board: table, color: board.color }.team() == side
    }

    /// The ply that a text names at a table, in the words of that table's own game.
    pub(super) fn ply(&self, table: Table, text: &str) -> Option<Move> {
        let m = self.board(table).ply(text)?;
        let mut position = self.position.clone();
        position.play(m.at(table)).then_some(m)
    }

    /// Plays a ply that [`Situation::ply`] gave; says what the mover has left, in milliseconds.
    pub(super) fn play(&mut self, seat: Seat, m: Move, at: Instant) -> u64 {
        let text = self.board(seat.board).position.move_text(m);
        self.plies.push(format!("{}{text}", seat.board as usize + 1));
        self.position.set_clocks(self.watch.all(at));
        self.position.play(m.at(seat.board));
        self.boards = Board::both(&self.position);
        let board = self.board(seat.board);
        let next = (!board.drawn).then_some(board.color);
        self.watch.moved(seat, next, at)
    }
}

//! The interface between the referee and a team.

use std::time::Instant;

use menagerie::rules::{BoardId, Color, Move, Position, Role, Side};

use super::clocks::BughouseClocks;
use crate::boards::BoardState;
use crate::readers::bpgn::Seat;

/// A game of bughouse, which all four players see.
#[derive(Debug)]
pub(super) struct BughouseGame {
    /// The FEN of the opening.
    pub(super) start: String,
    /// The plies after the opening, in the notation of UCI: `2N@f3`.
    pub(super) plies: Vec<String>,
    pub(super) position: Position,
    pub(super) boards: [BoardState; 2],
    pub(super) clocks: BughouseClocks,
}

/// A ply that was played.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlayedPly<'a> {
    pub(super) seat: Seat,
    /// The move, in the game of the board.
    pub(super) m: Move,
    /// The position of the board before the ply.
    pub(super) before: &'a Position,
    /// The piece that goes to a pocket of the other board, and the colour of that pocket.
    pub(super) captured: Option<(Color, Role)>,
}

/// What a team has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TeamEvent {
    /// Moves, each with its board and in the notation of UCI without the number of the board. The first legal
    /// one is played first.
    Moves(Vec<(BoardId, String)>),
    /// The team loses: the reason as in [`Played::end`](crate::arena::game::Played::end), details, and the
    /// board, if only one is affected.
    Fault(&'static str, String, Option<BoardId>),
}

/// Two partners: one process or two. Failures of a process are [`TeamEvent::Fault`].
pub(super) trait Team {
    /// Starts a game in which the team plays `side`.
    ///
    /// # Errors
    /// If the team cannot play at all.
    fn begin(&mut self, side: Side, game: &BughouseGame) -> anyhow::Result<()>;

    /// Receives a ply that any player has played; `game` is the game after it.
    fn on_ply(&mut self, ply: PlayedPly<'_>, game: &BughouseGame, now: Instant);

    /// Starts or stops searches, as the state of the game requires. Called after every event.
    fn update(&mut self, game: &BughouseGame, now: Instant);

    /// Returns the time at which [`Team::update`] has to be called even without an event.
    fn next_update(&self) -> Option<Instant> {
        None
    }

    /// Returns the events since the last call, with their times.
    fn events(&mut self) -> Vec<(Instant, TeamEvent)>;

    /// Ends the game. `results` are those of White on each board, in the form of PGN.
    fn end(&mut self, results: [&str; 2], reason: &str);
}

impl BughouseGame {
    /// Returns a game at its opening. `create_clocks` gets the side to move of each board.
    pub(super) fn new(
        start: &Position,
        create_clocks: impl FnOnce([Color; 2]) -> BughouseClocks,
    ) -> BughouseGame {
        let boards = BoardState::both(start);
        let clocks = create_clocks(boards.each_ref().map(|board| board.color));
        BughouseGame {
            start: start.fen(),
            plies: Vec::new(),
            position: start.clone(),
            boards,
            clocks,
        }
    }

    pub(super) fn board(&self, board: BoardId) -> &BoardState {
        &self.boards[board as usize]
    }

    /// Returns `true` if `side` is to move on `board` and has a legal move.
    pub(super) fn may_move(&self, side: Side, board: BoardId) -> bool {
        let state = self.board(board);
        state.has_moves && Seat { board, color: state.color }.team() == side
    }

    /// Returns the legal move that a text names, in the notation of the board's own game.
    pub(super) fn parse_ply(&self, board: BoardId, text: &str) -> Option<Move> {
        let m = self.board(board).parse_ply(text)?;
        let mut position = self.position.clone();
        position.play(m.on(board)).then_some(m)
    }

    /// Plays a legal move, and returns the milliseconds left to the mover.
    pub(super) fn play(&mut self, seat: Seat, m: Move, at: Instant) -> u64 {
        let text = self.board(seat.board).position.move_text(m);
        self.plies.push(format!("{}{text}", seat.board as usize + 1));
        self.position.set_clocks(self.clocks.all(at));
        self.position.play(m.on(seat.board));
        self.boards = BoardState::both(&self.position);
        let board = self.board(seat.board);
        let next = if board.drawn { None } else { Some(board.color) };
        self.clocks.on_move(seat, next, at)
    }
}

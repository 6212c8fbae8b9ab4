//! The game at one of the tables.

use shakmaty::Color;

use crate::rules::chess::{ChessPosition, Stand};
use crate::rules::history::History;
use crate::rules::{Move, Reason, Rules, Verdict};

/// A table's board, what it must remember, and how things stand there.
#[derive(Debug)]
pub(super) struct Game {
    pub(super) chess: ChessPosition,
    past: History,
    pub(super) standing: Standing,
    /// A draw could have been claimed, and the players have played on.
    waived: bool,
}

/// How things stand at a table, for the seat that is on turn there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It has a move.
    Open,
    /// It has none as long as its partner gives it no man. It is in check if `mated`.
    Stuck {
        /// Whether its king is attacked.
        mated: bool,
    },
    /// It has lost.
    Lost(Reason),
    /// It has won, where stalemate wins.
    Won,
    /// The table's game is drawn.
    Drawn(Reason),
}

impl Clone for Game {
    fn clone(&self) -> Game {
        Game { chess: self.chess.clone(), past: self.past.clone(), ..*self }
    }

    fn clone_from(&mut self, source: &Game) {
        let Game { chess, past, standing, waived } = source;
        self.chess.clone_from(chess);
        self.past.clone_from(past);
        (self.standing, self.waived) = (*standing, *waived);
    }
}

impl Game {
    /// A game that begins with a position. `blockable` says whether a mate is none as long as a man
    /// could be dropped against the check.
    pub(super) fn new(chess: ChessPosition, drawn: bool, blockable: bool) -> Game {
        let past = History::new(chess.key());
        let mut game = Game { chess, past, standing: Standing::Open, waived: false };
        game.judge(blockable);
        if drawn && game.standing == Standing::Open {
            game.standing = Standing::Drawn(Reason::Repetition);
        }
        game
    }

    /// The colour on turn.
    pub(super) fn color(&self) -> Color {
        self.chess.color()
    }

    /// Whether the seat on turn has a move that it may make.
    pub(super) fn is_open(&self) -> bool {
        self.standing == Standing::Open
    }

    /// Whether the table's game is drawn.
    pub(super) fn is_drawn(&self) -> bool {
        matches!(self.standing, Standing::Drawn(_))
    }

    /// Whether the board stood before.
    pub(super) fn repeated(&self) -> bool {
        self.past.repetitions() > 0
    }

    /// Plays a move as this table's own game has it, on a drawn table, too, if nobody has claimed
    /// the draw.
    pub(super) fn play(&mut self, m: Move, blockable: bool) {
        self.waived |= self.is_drawn();
        self.chess.play_unchecked(m);
        let quiet = self.chess.quiet_plies();
        self.waived &= quiet > 0;
        self.past.push(self.chess.key(), quiet);
        self.judge(blockable);
    }

    /// Lets a drawn game be played on.
    pub(super) fn reopen(&mut self) {
        if self.is_drawn() {
            self.waived = true;
            self.standing = Standing::Open;
        }
    }

    /// Sees how things stand now.
    pub(super) fn judge(&mut self, blockable: bool) {
        self.standing = match self.chess.stand(&mut Vec::new()) {
            Stand::Moves => self.draw().map_or(Standing::Open, Standing::Drawn),
            Stand::Mate { blockable: true } if blockable => Standing::Stuck { mated: true },
            Stand::Mate { .. } => Standing::Lost(Reason::Checkmate),
            Stand::Stalemate => match self.chess.stalemate() {
                Verdict::Loss => Standing::Lost(Reason::Stalemate),
                Verdict::Draw => Standing::Stuck { mated: false },
                Verdict::Win => Standing::Won,
            },
        };
    }

    /// Why the table's game is drawn though there are moves, if it is.
    fn draw(&self) -> Option<Reason> {
        let (plies, folds) = self.chess.draws();
        if self.waived {
            None
        } else if folds > 0 && self.past.repetitions() + 1 >= folds as usize {
            Some(Reason::Repetition)
        } else if plies > 0 && self.chess.quiet_plies() >= plies {
            Some(Reason::FiftyMoves)
        } else {
            None
        }
    }
}

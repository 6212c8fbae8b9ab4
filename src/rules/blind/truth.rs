//! The referee: how things are.

use std::str::FromStr;

use shakmaty::fen::Fen;
use shakmaty::{Bitboard, Board, ByColor, Color, Piece, Rank, Setup, Square};

use super::army::Army;
use super::request::{Request, Taken};
use super::window;
use crate::rules::FenError;

/// So many turns of a side without a pawn's step or a capture, both sides' counted, are a draw.
const MOVE_LIMIT: u32 = 100;

/// How things are: the whole board, and what ends the game. No player may see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    armies: ByColor<Army>,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
    clocks: Option<Clocks>,
    resigned: Option<Color>,
    turn_limit: Option<u32>,
}

/// Time as data: nothing here looks at a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// What each side has left, in milliseconds.
    pub left: ByColor<i64>,
    /// What a turn adds, in milliseconds.
    pub increment: i64,
}

/// What was asked, what became of it, and where a man was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Played {
    /// As it was asked; `None` is a pass.
    pub requested: Option<Request>,
    /// As it was made; `None` if nothing was.
    pub taken: Option<Request>,
    /// Where a man was taken; both sides are told.
    pub capture: Option<Square>,
}

/// What sensing shows of a square.
pub type Sensed = (Square, Option<Piece>);

/// How a game ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Who won; `None` if nobody did.
    pub winner: Option<Color>,
    /// Why.
    pub reason: WinReason,
}

/// Why a game ended, by the names of the reference program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WinReason {
    /// A king was taken.
    KingCapture,
    /// Somebody had no time left; this outranks a king that was taken.
    Timeout,
    /// Somebody gave up.
    Resign,
    /// Too many turns of each side.
    TurnLimit,
    /// Too long without a pawn's step or a capture.
    MoveLimit,
}

impl WinReason {
    /// All reasons.
    pub const ALL: [WinReason; 5] = [
        WinReason::KingCapture,
        WinReason::Timeout,
        WinReason::Resign,
        WinReason::TurnLimit,
        WinReason::MoveLimit,
    ];

    /// Its name in the reference program.
    pub const fn name(self) -> &'static str {
        match self {
            WinReason::KingCapture => "KING_CAPTURE",
            WinReason::Timeout => "TIMEOUT",
            WinReason::Resign => "RESIGN",
            WinReason::TurnLimit => "TURN_LIMIT",
            WinReason::MoveLimit => "MOVE_LIMIT",
        }
    }
}

/// A request that a player may not make, knowing its own men.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} may not be requested")]
pub struct NotRequestable(pub Request);

impl Default for Truth {
    fn default() -> Truth {
        let armies =
            ByColor::new_with(|color| Army::new(&Board::default(), color, Bitboard::CORNERS));
        Truth {
            armies,
            turn: Color::White,
            halfmoves: 0,
            fullmoves: 1,
            clocks: None,
            resigned: None,
            turn_limit: None,
        }
    }
}

/// The FEN of a board with these men, one side to move.
pub fn board_fen(armies: &ByColor<Army>, turn: Color, halfmoves: u32, fullmoves: u32) -> String {
    let mut setup = Setup::empty();
    for color in Color::ALL {
        armies[color].onto(color, &mut setup.board);
        setup.castling_rights |= armies[color].castling(color);
    }
    setup.turn = turn;
    setup.ep_square = armies[!turn].passed(!turn);
    setup.halfmoves = halfmoves;
    setup.fullmoves = std::num::NonZeroU32::new(fullmoves).unwrap_or(std::num::NonZeroU32::MIN);
    match Fen::try_from_setup(setup) {
        Ok(fen) => fen.to_string(),
        // Only counters can be beyond what a FEN holds.
        Err(error) => error.ignore().to_string(),
    }
}

impl Truth {
    /// Reads a FEN. Kings may be missing, attacked or exposed: there is no check.
    ///
    /// # Errors
    /// If the text is no FEN, or tells of a double step that cannot have been.
    pub fn from_fen(fen: &str) -> Result<Truth, FenError> {
        let setup = Fen::from_str(fen).map_err(|error| FenError::syntax(fen, error))?.into_setup();
        let passed = setup.ep_square;
        let rank = setup.turn.fold_wb(Rank::Sixth, Rank::Third);
        if passed.is_some_and(|square| square.rank() != rank) {
            return Err(FenError::illegal(fen, "no double step of the other side passed there"));
        }
        let army = |color| {
            let army = Army::new(&setup.board, color, setup.castling_rights);
            army.with_passed(passed.filter(|_| color != setup.turn))
        };
        Ok(Truth {
            armies: ByColor::new_with(army),
            turn: setup.turn,
            halfmoves: setup.halfmoves,
            fullmoves: setup.fullmoves.get(),
            ..Truth::default()
        })
    }

    /// The same with clocks.
    pub fn with_clocks(self, clocks: Clocks) -> Truth {
        Truth { clocks: Some(clocks), ..self }
    }

    /// The same with a draw after so many turns of each side.
    pub fn with_turn_limit(self, turns: u32) -> Truth {
        Truth { turn_limit: Some(turns), ..self }
    }

    /// The position as a FEN; a square that was passed over is always told, as in the reference
    /// program.
    pub fn fen(&self) -> String {
        board_fen(&self.armies, self.turn, self.halfmoves, self.fullmoves)
    }

    /// Who is to move.
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// The men of a side.
    pub fn army(&self, color: Color) -> &Army {
        &self.armies[color]
    }

    /// What a side has left of its time, if the game has clocks.
    pub fn clocks(&self) -> Option<Clocks> {
        self.clocks
    }

    /// The man on a square.
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let of = |color| self.armies.get(color).role_at(square).map(|role| Piece { color, role });
        of(Color::White).or_else(|| of(Color::Black))
    }

    /// What the mover sees if it senses at a square, from the top left on; nothing if it senses
    /// nowhere.
    pub fn sense(&self, center: Option<Square>) -> Vec<Sensed> {
        let mut seen: Vec<Square> = center.map_or(Bitboard::EMPTY, window).into_iter().collect();
        seen.sort_by_key(|square| (std::cmp::Reverse(square.rank()), square.file()));
        seen.into_iter().map(|square| (square, self.piece_at(square))).collect()
    }

    /// What the mover may request beside passing, in no order that means anything.
    pub fn requests(&self) -> Vec<Request> {
        self.armies[self.turn].requests(self.turn)
    }

    /// What becomes of a request of the mover's; `None` is a pass.
    ///
    /// # Errors
    /// If it may not be requested.
    pub fn take(&self, request: Option<Request>) -> Result<Option<Taken>, NotRequestable> {
        let Some(request) = request else { return Ok(None) };
        let (mover, other) = (&self.armies[self.turn], &self.armies[!self.turn]);
        // Without its promotion a step straight onto the last rank is understood, but not listed.
        if !mover.requests(self.turn).contains(&mover.meant(request)) {
            return Err(NotRequestable(request));
        }
        Ok(mover.take(self.turn, request, other.occupied(), other.passed(!self.turn)))
    }

    /// Plays the mover's turn; `None` is a pass.
    ///
    /// # Errors
    /// If it may not be requested; nothing has happened then.
    pub fn play(&mut self, request: Option<Request>) -> Result<Played, NotRequestable> {
        let taken = self.take(request)?;
        let mut other = self.armies[!self.turn];
        let pawns = self.armies[self.turn].by_role(shakmaty::Role::Pawn);
        self.armies.get_mut(self.turn).make(self.turn, taken, &mut other);
        *self.armies.get_mut(!self.turn) = other;
        let zeroes =
            taken.is_some_and(|taken| taken.capture.is_some() || pawns.contains(taken.step.from));
        self.halfmoves = if zeroes { 0 } else { self.halfmoves.saturating_add(1) };
        self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn == Color::Black));
        self.turn = !self.turn;
        Ok(Played {
            requested: request,
            taken: taken.map(|taken| taken.step),
            capture: taken.and_then(|taken| taken.capture),
        })
    }

    /// Takes the time of a turn of `color`'s from its clock, in milliseconds, and adds what a turn
    /// adds.
    pub fn spend(&mut self, color: Color, spent: i64) {
        if let Some(clocks) = &mut self.clocks {
            let left = clocks.left.get_mut(color);
            *left = left.saturating_sub(spent).saturating_add(clocks.increment);
        }
    }

    /// A side gives up.
    pub fn resign(&mut self, color: Color) {
        self.resigned = Some(color);
    }

    /// The end of the game, if it has ended.
    pub fn end(&self) -> Option<End> {
        let lost = |color: Color, reason| End { winner: Some(!color), reason };
        if let Some(color) = self.resigned {
            return Some(lost(color, WinReason::Resign));
        }
        let timed_out =
            |clocks: Clocks| Color::ALL.into_iter().find(|&color| clocks.left[color] <= 0);
        if let Some(color) = self.clocks.and_then(timed_out) {
            return Some(lost(color, WinReason::Timeout));
        }
        let headless = |color: &Color| self.armies.get(*color).king().is_none();
        if let Some(color) = Color::ALL.into_iter().find(headless) {
            return Some(lost(color, WinReason::KingCapture));
        }
        if self.turn_limit.is_some_and(|limit| self.fullmoves > limit) {
            return Some(End { winner: None, reason: WinReason::TurnLimit });
        }
        let long = self.halfmoves >= MOVE_LIMIT;
        long.then_some(End { winner: None, reason: WinReason::MoveLimit })
    }
}

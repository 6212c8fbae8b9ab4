//! The referee: the true position and the end of the game.

use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::str::FromStr;

use shakmaty::attacks::king_attacks;
use shakmaty::fen::Fen;
use shakmaty::{Bitboard, Board, ByColor, Color, Piece, Rank, Role, Setup, Square};

use super::army::Army;
use super::request::{Request, Taken};
use crate::rules::FenError;

/// The game is drawn after this number of half-moves without a pawn move or a capture.
const MAX_IDLE_HALFMOVES: u32 = 100;

/// The true position and what ends the game. No player may see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    armies: ByColor<Army>,
    turn: Color,
    halfmoves: u32,
    fullmoves: u32,
    clocks: Option<RbcClocks>,
    resigned: Option<Color>,
}

/// The clocks of a game. Nothing here measures time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RbcClocks {
    /// The time left of each side, in milliseconds.
    pub left: ByColor<i64>,
    /// The increment of a turn, in milliseconds.
    pub increment: i64,
}

/// The result of a requested move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Played {
    /// The requested move; `None` is a pass.
    pub requested: Option<Request>,
    /// The move that was made; `None` if none was.
    pub taken: Option<Request>,
    /// The square of the captured piece, which both sides learn.
    pub capture: Option<Square>,
}

/// A sensed square and the piece on it.
pub type Sensed = (Square, Option<Piece>);

/// The end of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The winner; `None` after a draw.
    pub winner: Option<Color>,
    /// The reason.
    pub reason: WinReason,
}

/// Why a game ended. The names are those of the reference program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WinReason {
    /// A king was captured.
    KingCapture,
    /// A side has no time left. This takes precedence over the capture of a king.
    Timeout,
    /// A side resigned.
    Resign,
    /// Each side has made the maximum number of turns, which the game of [`Truth`] does not have.
    TurnLimit,
    /// 100 half-moves without a pawn move or a capture.
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

    /// Returns its name in the reference program.
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

/// A request that is not one of [`Truth::requests`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} may not be requested")]
pub struct NotRequestable(pub Request);

impl Default for Truth {
    fn default() -> Truth {
        let start = |color| Army::new(&Board::default(), color, Bitboard::CORNERS);
        Truth {
            armies: ByColor::new_with(start),
            turn: Color::White,
            halfmoves: 0,
            fullmoves: 1,
            clocks: None,
            resigned: None,
        }
    }
}

/// Returns the squares that a sense of `center` shows: three by three, clipped at the edges of the board.
pub fn sense_window(center: Square) -> Bitboard {
    king_attacks(center).with(center)
}

/// Returns the FEN of a position. The en passant square is written after every double step, as in the
/// reference program.
pub fn board_fen(armies: &ByColor<Army>, turn: Color, halfmoves: u32, fullmoves: u32) -> String {
    let mut setup = Setup::empty();
    for color in Color::ALL {
        armies[color].put_on(color, &mut setup.board);
        setup.castling_rights |= armies[color].castling_rooks(color);
    }
    setup.turn = turn;
    setup.ep_square = armies[!turn].en_passant(!turn);
    setup.halfmoves = halfmoves;
    setup.fullmoves = NonZeroU32::new(fullmoves).unwrap_or(NonZeroU32::MIN);
    match Fen::try_from_setup(setup) {
        Ok(fen) => fen.to_string(),
        // Only the counters can exceed what a FEN holds.
        Err(error) => error.ignore().to_string(),
    }
}

impl Truth {
    /// Parses a FEN. Kings may be missing or attacked, since there is no check.
    ///
    /// # Errors
    /// `FenError` if `fen` is not a FEN, or its en passant square is on the wrong rank.
    pub fn from_fen(fen: &str) -> Result<Truth, FenError> {
        let setup = Fen::from_str(fen).map_err(|error| FenError::syntax(fen, error))?.into_setup();
        let rank = setup.turn.fold_wb(Rank::Sixth, Rank::Third);
        if setup.ep_square.is_some_and(|square| square.rank() != rank) {
            return Err(FenError::illegal(fen, "the en passant square is on the wrong rank"));
        }
        let mut armies =
            ByColor::new_with(|color| Army::new(&setup.board, color, setup.castling_rights));
        let other = armies.get_mut(!setup.turn);
        *other = other.with_en_passant(setup.ep_square);
        Ok(Truth {
            armies,
            turn: setup.turn,
            halfmoves: setup.halfmoves,
            fullmoves: setup.fullmoves.get(),
            ..Truth::default()
        })
    }

    /// Returns the game with clocks.
    pub fn with_clocks(self, clocks: RbcClocks) -> Truth {
        Truth { clocks: Some(clocks), ..self }
    }

    /// Returns the position as a FEN (see [`board_fen`]).
    pub fn fen(&self) -> String {
        board_fen(&self.armies, self.turn, self.halfmoves, self.fullmoves)
    }

    /// Returns the side to move.
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// Returns the pieces of a side.
    pub fn army(&self, color: Color) -> &Army {
        &self.armies[color]
    }

    /// Returns the clocks, if the game has any.
    pub fn clocks(&self) -> Option<RbcClocks> {
        self.clocks
    }

    /// Returns the piece on a square.
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let army_piece = |color| {
            let role = self.armies.get(color).role_at(square)?;
            Some(Piece { color, role })
        };
        army_piece(Color::White).or_else(|| army_piece(Color::Black))
    }

    /// Returns the result of a sense: the squares of the window from the top left to the bottom right with
    /// their pieces, or nothing if nothing is sensed.
    pub fn sense(&self, center: Option<Square>) -> Vec<Sensed> {
        let window = center.map_or(Bitboard::EMPTY, sense_window);
        let mut squares: Vec<Square> = window.into_iter().collect();
        squares.sort_by_key(|square| (Reverse(square.rank()), square.file()));
        squares.into_iter().map(|square| (square, self.piece_at(square))).collect()
    }

    /// Returns all requests of the side to move except the pass.
    pub fn requests(&self) -> Vec<Request> {
        self.armies[self.turn].requests(self.turn)
    }

    /// Returns the move that a request of the side to move becomes; `None` is a pass.
    ///
    /// # Errors
    /// `NotRequestable` if it is not one of [`Truth::requests`]. A pawn move to the last rank without a
    /// promotion is always accepted.
    pub fn resolve(&self, request: Option<Request>) -> Result<Option<Taken>, NotRequestable> {
        let Some(request) = request else { return Ok(None) };
        let mover = &self.armies[self.turn];
        let other = &self.armies[!self.turn];
        if !mover.requests(self.turn).contains(&mover.with_default_promotion(request)) {
            return Err(NotRequestable(request));
        }
        Ok(mover.resolve(self.turn, request, other.occupied(), other.en_passant(!self.turn)))
    }

    /// Plays a request of the side to move; `None` is a pass.
    ///
    /// # Errors
    /// `NotRequestable` as of [`Truth::resolve`]; the game is unchanged then.
    pub fn play(&mut self, request: Option<Request>) -> Result<Played, NotRequestable> {
        let taken = self.resolve(request)?;
        let mut other = self.armies[!self.turn];
        let pawns = self.armies[self.turn].by_role(Role::Pawn);
        self.armies.get_mut(self.turn).make_move(self.turn, taken, &mut other);
        *self.armies.get_mut(!self.turn) = other;
        let is_irreversible =
            taken.is_some_and(|taken| taken.capture.is_some() || pawns.contains(taken.step.from));
        self.halfmoves = if is_irreversible { 0 } else { self.halfmoves.saturating_add(1) };
        self.fullmoves = self.fullmoves.saturating_add(u32::from(self.turn == Color::Black));
        self.turn = !self.turn;
        Ok(Played {
            requested: request,
            taken: taken.map(|taken| taken.step),
            capture: taken.and_then(|taken| taken.capture),
        })
    }

    /// Subtracts the time of a turn in milliseconds from the clock of `color`, and adds the increment.
    pub fn spend(&mut self, color: Color, spent: i64) {
        if let Some(clocks) = &mut self.clocks {
            let left = clocks.left.get_mut(color);
            *left = left.saturating_sub(spent).saturating_add(clocks.increment);
        }
    }

    /// Lets a side resign.
    pub fn resign(&mut self, color: Color) {
        self.resigned = Some(color);
    }

    /// Returns the end of the game, or `None` if it has not ended.
    pub fn end(&self) -> Option<End> {
        if let Some(color) = self.resigned {
            return Some(End { winner: Some(!color), reason: WinReason::Resign });
        }
        if let Some(clocks) = self.clocks {
            for color in Color::ALL {
                if clocks.left[color] <= 0 {
                    return Some(End { winner: Some(!color), reason: WinReason::Timeout });
                }
            }
        }
        for color in Color::ALL {
            if self.armies[color].king().is_none() {
                return Some(End { winner: Some(!color), reason: WinReason::KingCapture });
            }
        }
        let is_drawn = self.halfmoves >= MAX_IDLE_HALFMOVES;
        is_drawn.then_some(End { winner: None, reason: WinReason::MoveLimit })
    }
}

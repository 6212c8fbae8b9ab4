//! FEN of bughouse: `A|B`, with what the boards do not show after them: `A|B|b A= 60000 59000 60000 58000`.

use std::sync::Arc;

use shakmaty::ByColor;

use super::board::BoardState;
use super::{Bughouse, BughousePosition, Clocks, TurnOrder};
use crate::rules::chess::ChessPosition;
use crate::rules::{BoardId, FenError, FenFault, FenRepair, Rules, Side};

/// The optional third part of a FEN.
#[derive(Default)]
struct FenSuffix {
    /// The team to move in the timed order: `w` has white at board A, `b` at board B.
    team: Option<Side>,
    /// The board to move at in the fixed order: `A` or `B`.
    next_board: Option<BoardId>,
    /// The boards that are drawn by repetition: `A=`, `B=`.
    drawn: [bool; 2],
    /// The clocks of white and black at A and at B, in milliseconds.
    clocks: Clocks,
}

impl BughousePosition {
    /// Parses a FEN of the game of `rules`. What is dropped is added to `repairs`.
    pub(in crate::rules) fn from_fen(
        rules: &Arc<Bughouse>,
        fen: &str,
        chess960: bool,
        repairs: &mut Vec<FenRepair>,
    ) -> Result<BughousePosition, FenError> {
        let parts: Vec<&str> = fen.split('|').collect();
        let (a, b, suffix) = match parts[..] {
            [a, b] => (a, b, ""),
            [a, b, suffix] => (a, b, suffix),
            _ => return Err(FenError::syntax(fen, FenFault::BoardCount)),
        };
        let suffix = FenSuffix::parse(suffix.trim_end_matches(';'))
            .map_err(|fault| FenError::syntax(fen, fault))?;
        let mut parse_board = |part: &str, board: BoardId| {
            let mut dropped = Vec::new();
            let chess = ChessPosition::from_fen(&rules.board, part.trim(), chess960, &mut dropped)
                .map_err(|error| error.within(fen))?;
            let drawn = suffix.drawn[board as usize];
            let board = Some(board);
            repairs.extend(dropped.into_iter().map(|dropped| FenRepair { board, dropped }));
            Ok(BoardState::new(chess, drawn, rules.mate_blockable))
        };
        let mut position = BughousePosition {
            rules: Arc::clone(rules),
            boards: [parse_board(a, BoardId::A)?, parse_board(b, BoardId::B)?],
            clocks: suffix.clocks,
            team: Side::WHITE,
            mid_turn: false,
            next_board: BoardId::A,
            reversible: true,
            over: None,
        };
        position.update_outcome();
        position.set_default_turn();
        if let Some(team) = suffix.team {
            position.set_team_to_move(team);
        }
        if let Some(board) = suffix.next_board
            && rules.order == TurnOrder::Fixed
            && position.board(board).is_open()
        {
            position.next_board = board;
            position.team = position.on_turn(board);
        }
        Ok(position)
    }

    /// Sets the team to move that a FEN without a suffix stands for.
    fn set_default_turn(&mut self) {
        if self.over.is_some() {
            return;
        }
        match self.rules.order {
            TurnOrder::Timed => {
                self.team = Side::BLACK;
                self.mid_turn = false;
                self.set_team_to_move(Side::WHITE);
            }
            TurnOrder::Fixed => self.select_player(0),
        }
    }

    pub(super) fn to_fen(&self) -> String {
        let mut default = self.clone();
        default.set_default_turn();
        let mut suffix = Vec::new();
        match self.rules.order {
            TurnOrder::Timed if self.team == default.team => {}
            TurnOrder::Timed if self.team == Side::WHITE => suffix.push("w".to_owned()),
            TurnOrder::Timed => suffix.push("b".to_owned()),
            TurnOrder::Fixed
                if self.next_board == default.next_board && self.team == default.team => {}
            TurnOrder::Fixed => suffix.push(format!("{:?}", self.next_board)),
        }
        let drawn = BoardId::ALL.into_iter().filter(|&board| self.board(board).is_drawn());
        suffix.extend(drawn.map(|board| format!("{board:?}=")));
        if !self.clocks.unknown() {
            let times = self.clocks.0.iter().flat_map(|clock| [clock.white, clock.black]);
            suffix.extend(times.map(|time| time.to_string()));
        }
        let boards = self.boards.each_ref().map(|board| board.chess.fen()).join("|");
        if suffix.is_empty() { boards } else { format!("{boards}|{}", suffix.join(" ")) }
    }
}

impl FenSuffix {
    fn parse(text: &str) -> Result<FenSuffix, FenFault> {
        let mut suffix = FenSuffix::default();
        let mut times = Vec::new();
        for word in text.split_ascii_whitespace() {
            match word {
                "w" => suffix.team = Some(Side::WHITE),
                "b" => suffix.team = Some(Side::BLACK),
                "A" => suffix.next_board = Some(BoardId::A),
                "B" => suffix.next_board = Some(BoardId::B),
                "A=" => suffix.drawn[0] = true,
                "B=" => suffix.drawn[1] = true,
                _ => {
                    let time = word.parse().map_err(|_| FenFault::BoardSuffix(word.to_owned()))?;
                    times.push(time);
                }
            }
        }
        match times[..] {
            [] => {}
            [white_a, black_a, white_b, black_b] => {
                suffix.clocks = Clocks([
                    ByColor { white: white_a, black: black_a },
                    ByColor { white: white_b, black: black_b },
                ]);
            }
            _ => return Err(FenFault::ClockCount(times.len())),
        }
        Ok(suffix)
    }
}

//! Checks of recorded games: what a network learns from a record must be possible in its variant.

use menagerie::rules::{BoardId, FenError, Move, MoveList, PackedMove, Position};
use menagerie::variant::Variant;

use super::{End, GameRecord, PlyRecord};

/// Greatest amount of a score. Rounding errors of a search may take it beyond 1.
const MAX_SCORE: f32 = 1.001;

/// What is wrong with a recorded game.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum GameFault {
    /// The start position is invalid.
    #[error("the start position is invalid: {0}")]
    Start(Box<FenError>),
    /// The game is won by a side that its variant does not have.
    #[error("the winner is side {winner}, counted from 0, of {sides}")]
    Winner {
        /// The number of the winner.
        winner: u8,
        /// The number of sides.
        sides: usize,
    },
    /// A ply is invalid.
    #[error("ply {number}: {fault}")]
    Ply {
        /// The number of the ply, from 1.
        number: usize,
        /// What is wrong with it.
        fault: PlyFault,
    },
    /// A side position is invalid.
    #[error("side position {number}: {fault}")]
    SidePosition {
        /// The number of the position, from 1.
        number: usize,
        /// What is wrong with it.
        fault: SidePositionFault,
    },
}

/// What is wrong with a recorded ply.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlyFault {
    /// The move that was played is illegal.
    #[error("the move played is illegal")]
    Move,
    /// The policy has an illegal move.
    #[error("the policy has an illegal move")]
    PolicyMove,
    /// The policy has moves, but each share is 0.
    #[error("the shares of the policy sum to 0")]
    PolicySum,
    /// The score is none.
    #[error("the score is {0}, not between -1 and 1")]
    Score(f32),
    /// The surprise is negative, infinite or not a number.
    #[error("the surprise is {0}, not a finite number from 0")]
    Surprise(f32),
    /// The proven winner is a side that the variant does not have.
    #[error("the proven winner is side {winner}, counted from 0, of {sides}")]
    Proven {
        /// The number of the winner.
        winner: u8,
        /// The number of sides.
        sides: usize,
    },
}

/// What is wrong with a side position.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SidePositionFault {
    /// An earlier one has a later ply, or the game does not have its ply.
    #[error("its ply {0} is out of order or beyond the game")]
    Ply(u32),
    /// One of its moves is illegal.
    #[error("a move is illegal")]
    Move,
    /// The score is none.
    #[error("the score is {0}, not between -1 and 1")]
    Score(f32),
}

impl From<FenError> for GameFault {
    fn from(error: FenError) -> GameFault {
        GameFault::Start(Box::new(error))
    }
}

impl GameRecord {
    /// Checks the side positions of a game whose plies have been checked.
    pub(super) fn check_side_positions(&self, variant: &Variant) -> Result<(), GameFault> {
        if self.side_positions.is_empty() {
            return Ok(());
        }
        let mut position = variant.position(&self.start, true)?;
        let mut sides = (1..).zip(&self.side_positions).peekable();
        for (nth, ply) in self.plies.iter().enumerate() {
            while let Some((number, side)) = sides.next_if(|(_, side)| side.ply as usize == nth) {
                let fault = if side.position(&position).is_none() {
                    SidePositionFault::Move
                } else if !is_score(side.score) {
                    SidePositionFault::Score(side.score)
                } else {
                    continue;
                };
                return Err(GameFault::SidePosition { number, fault });
            }
            PackedMove(ply.played).unpack().map(|m| position.play(m));
        }
        match sides.next() {
            Some((number, side)) => {
                let fault = SidePositionFault::Ply(side.ply);
                Err(GameFault::SidePosition { number, fault })
            }
            None => Ok(()),
        }
    }

    /// Checks what is recorded of ply `nth` next to the move that was played. `position` is that before the ply, and
    /// `legal` has its moves.
    pub(super) fn check_ply(
        &self,
        nth: usize,
        position: &Position,
        legal: &MoveList,
    ) -> Result<(), PlyFault> {
        let ply = &self.plies[nth];
        if let Some(score) = ply.score.filter(|score| !is_score(*score)) {
            return Err(PlyFault::Score(score));
        }
        let is_surprise = |surprise: f32| surprise.is_finite() && surprise >= 0.0;
        if let Some(surprise) = ply.surprise.filter(|surprise| !is_surprise(*surprise)) {
            return Err(PlyFault::Surprise(surprise));
        }
        let sides = position.game_spec().sides;
        if let Some(winner) = ply.proven.and_then(|end| unknown_winner(end, sides)) {
            return Err(PlyFault::Proven { winner, sides });
        }
        if ply.policy.is_empty() {
            return Ok(());
        }
        // In bughouse, another seat may have moved, and clocks decide who may sit.
        if self.clocks.is_empty() && is_legal(ply.played, legal) {
            return self.check_policy(ply, legal);
        }
        let mut position = position.clone();
        self.prepare(&mut position, nth);
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        self.check_policy(ply, &legal)
    }

    /// Checks a policy that is not empty.
    fn check_policy(&self, ply: &PlyRecord, legal: &MoveList) -> Result<(), PlyFault> {
        let board = moved_board(self, ply);
        let mut has_share = false;
        for &(packed, share) in &ply.policy {
            let m = PackedMove(packed).unpack().filter(|m| legal.contains(m));
            let m = m.ok_or(PlyFault::PolicyMove)?;
            has_share |= share > 0 && is_choice(m, board);
        }
        if has_share { Ok(()) } else { Err(PlyFault::PolicySum) }
    }
}

/// Returns the board of bughouse with recorded clocks on which the ply was played: its player did not
/// choose between the boards, or whether to sit.
pub(super) fn moved_board(game: &GameRecord, ply: &PlyRecord) -> Option<BoardId> {
    if game.clocks.is_empty() {
        return None;
    }
    match PackedMove(ply.played).unpack()? {
        Move::Pass => None,
        m => Some(m.board()),
    }
}

/// Returns `true` if a player who moves on `board`, or any player, chooses among moves of which this is one.
pub(super) fn is_choice(m: Move, board: Option<BoardId>) -> bool {
    board.is_none_or(|board| m != Move::Pass && m.board() == board)
}

/// Checks that a game can end like this.
pub(super) fn check_end(end: Option<End>, sides: usize) -> Result<(), GameFault> {
    match end.and_then(|end| unknown_winner(end, sides)) {
        Some(winner) => Err(GameFault::Winner { winner, sides }),
        None => Ok(()),
    }
}

/// Returns the winner if it is none of the sides.
fn unknown_winner(end: End, sides: usize) -> Option<u8> {
    end.winner.filter(|winner| usize::from(*winner) >= sides)
}

fn is_score(score: f32) -> bool {
    score.abs() <= MAX_SCORE
}

fn is_legal(packed: u16, legal: &MoveList) -> bool {
    PackedMove(packed).unpack().is_some_and(|m| legal.contains(&m))
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::record::{NO_MOVE, SidePosition};

    /// A game of chess in which the first legal move is played twice, with a side position.
    fn game(variant: &Variant) -> GameRecord {
        let mut position = variant.start();
        let mut game = GameRecord { start: position.fen(), ..GameRecord::default() };
        let mut legal = MoveList::new();
        for ply in 0..2 {
            position.legal_moves(&mut legal);
            let [played, other] = [legal[0], legal[1]].map(|m| m.pack().0);
            game.side_positions.push(SidePosition { ply, moves: vec![other], score: 0.5 });
            game.plies.push(PlyRecord {
                played,
                policy: vec![(played, 2), (other, 1)],
                score: Some(0.25),
                proven: Some(End { winner: Some(1), turns: 1 }),
                surprise: Some(0.1),
            });
            position.play_unchecked(legal[0]);
        }
        game.end = Some(End { winner: Some(0), turns: 0 });
        game
    }

    /// Returns the fault of a game that `change` damages.
    fn fault(change: impl FnOnce(&mut GameRecord)) -> String {
        let variant = Catalogue::shipped().get("chess").expect("it is shipped");
        let mut game = game(&variant);
        game.check(&variant).expect("a valid game");
        change(&mut game);
        game.check(&variant).expect_err("damaged").to_string()
    }

    #[test]
    fn checks_name_the_fault_of_a_game() {
        let winner = Some(End { winner: Some(9), turns: 0 });
        assert_eq!(fault(|game| game.end = winner), "the winner is side 9, counted from 0, of 2");
        let text = fault(|game| game.start = "none".to_owned());
        assert!(text.starts_with("the start position is invalid: "), "{text}");
    }

    #[test]
    fn checks_name_the_fault_of_a_ply() {
        let fault = |change: fn(&mut PlyRecord)| {
            let text = fault(|game| change(&mut game.plies[1]));
            text.strip_prefix("ply 2: ").expect("its number").to_owned()
        };
        assert_eq!(fault(|ply| ply.played = NO_MOVE), "the move played is illegal");
        assert_eq!(fault(|ply| ply.policy[1].0 = NO_MOVE), "the policy has an illegal move");
        let no_share = |ply: &mut PlyRecord| ply.policy = vec![(ply.played, 0)];
        assert_eq!(fault(no_share), "the shares of the policy sum to 0");
        for (score, quote) in [(f32::NAN, "NaN"), (f32::NEG_INFINITY, "-inf"), (1.1, "1.1")] {
            let text = self::fault(|game| game.plies[1].score = Some(score));
            assert_eq!(text, format!("ply 2: the score is {quote}, not between -1 and 1"));
        }
        let no_surprise = "not a finite number from 0";
        assert_eq!(
            fault(|ply| ply.surprise = Some(-1.0)),
            format!("the surprise is -1, {no_surprise}")
        );
        assert_eq!(
            fault(|ply| ply.surprise = Some(f32::INFINITY)),
            format!("the surprise is inf, {no_surprise}")
        );
        let proven = |ply: &mut PlyRecord| ply.proven = Some(End { winner: Some(2), turns: 0 });
        assert_eq!(fault(proven), "the proven winner is side 2, counted from 0, of 2");
    }

    #[test]
    fn checks_name_the_fault_of_a_side_position() {
        let text = fault(|game| game.side_positions[1].moves.push(NO_MOVE));
        assert_eq!(text, "side position 2: a move is illegal");
        let text = fault(|game| game.side_positions[0].score = f32::NAN);
        assert_eq!(text, "side position 1: the score is NaN, not between -1 and 1");
        let late = "its ply 2 is out of order or beyond the game";
        let text = fault(|game| game.side_positions[1].ply = 2);
        assert_eq!(text, format!("side position 2: {late}"));
        let text = fault(|game| game.side_positions.swap(0, 1));
        assert_eq!(text, "side position 2: its ply 0 is out of order or beyond the game");
    }
}

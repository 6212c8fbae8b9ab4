//! Recorded games whose moves have been checked, so that positions of them are cheap to set up.

use std::fmt;
use std::sync::Arc;

use menagerie::rules::{MoveList, PackedMove, Position};
use menagerie::variant::Variant;

use super::checks::{GameFault, PlyFault, check_end};
use super::{End, GameRecord};

/// A recorded game that is possible in its variant: start and moves are legal, those of the policies as well, scores are
/// scores, and winners are sides. Side positions are not checked.
///
/// A game in which each ply is legal for the side to move is replayed without checks. Not so a game with
/// recorded clocks, as they decide who may sit, or one in which several seats of bughouse could move: it is
/// replayed with checks for each sample.
#[derive(Clone, Debug)]
pub struct CheckedGame {
    variant: Arc<Variant>,
    record: GameRecord,
    place: GamePlace,
    /// What comes after each ply; `None` if the game is replayed with checks.
    continuations: Option<Vec<Continuation>>,
}

/// Where a recorded game is: `FILE, game N`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GamePlace {
    /// The file.
    pub file: Arc<str>,
    /// The number of the game among those of the file that could be read, from 1.
    pub number: usize,
}

impl fmt::Display for GamePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, game {}", self.file, self.number)
    }
}

/// A recorded game that is not possible in its variant.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{place}, from \"{start}\": {fault}")]
pub struct InvalidGame {
    /// Where it is.
    pub place: GamePlace,
    /// The FEN of its start.
    pub start: String,
    /// What is wrong with it.
    pub fault: GameFault,
}

/// How a recorded game goes on from a ply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Continuation {
    /// Turns that end from here to the end of the record.
    pub(super) turns: u16,
    /// Score of the mover, -1 to 1, just before the next move that the reference engine did not choose, if
    /// there is such a move and its score is recorded: the end of the game is then little evidence about this position.
    pub(super) mistake: Option<f32>,
}

impl CheckedGame {
    /// Checks the game at `place`. A last ply that is no legal move (as [`NO_MOVE`](super::NO_MOVE)) is allowed if the
    /// end of the game is unknown.
    ///
    /// # Errors
    /// [`InvalidGame`] with its first fault.
    pub fn new(
        variant: Arc<Variant>,
        record: GameRecord,
        place: GamePlace,
    ) -> Result<CheckedGame, InvalidGame> {
        match check(&record, &variant) {
            Ok(continuations) => Ok(CheckedGame { variant, record, place, continuations }),
            Err(fault) => Err(InvalidGame { place, start: record.start, fault }),
        }
    }

    /// The game.
    pub fn record(&self) -> &GameRecord {
        &self.record
    }

    /// Where the game is.
    pub fn place(&self) -> &GamePlace {
        &self.place
    }

    /// Returns the position before ply `nth`; `None` if there is no such ply.
    pub(super) fn position(&self, nth: usize) -> Option<Position> {
        if self.continuations.is_none() {
            return self.record.position(&self.variant, nth);
        }
        let mut position = self.variant.position(&self.record.start, true).ok()?;
        for ply in self.record.plies.get(..nth)? {
            position.play_unchecked(PackedMove(ply.played).unpack()?);
        }
        Some(position)
    }

    /// Returns how the game goes on from `position`, before ply `nth`.
    pub(super) fn continuation(&self, position: &Position, nth: usize) -> Option<Continuation> {
        match &self.continuations {
            Some(continuations) => continuations.get(nth).copied(),
            None => self.record.continuation(position.clone(), nth),
        }
    }
}

/// Checks a game but for its side positions. Returns what comes after each ply; `None` if the game must be replayed
/// with checks.
pub(super) fn check(
    record: &GameRecord,
    variant: &Variant,
) -> Result<Option<Vec<Continuation>>, GameFault> {
    let mut position = variant.position(&record.start, true)?;
    check_end(record.end, position.game_spec().sides)?;
    let mut legal = MoveList::new();
    let mut in_order = record.clocks.is_empty();
    let mut movers = Vec::with_capacity(record.plies.len());
    let mut ends_turn = Vec::with_capacity(record.plies.len());
    for (nth, ply) in record.plies.iter().enumerate() {
        let m = PackedMove(ply.played).unpack();
        position.legal_moves(&mut legal);
        movers.push(position.turn());
        let in_ply = |fault| GameFault::Ply { number: nth + 1, fault };
        record.check_ply(nth, &position, &legal).map_err(in_ply)?;
        match m {
            Some(m) if legal.contains(&m) => position.play_unchecked(m),
            Some(m) if position.play(m) => in_order = false,
            _ if record.end.is_none() && nth + 1 == record.plies.len() => {}
            _ => return Err(in_ply(PlyFault::Move)),
        }
        ends_turn.push(!position.mid_turn());
    }
    if !in_order {
        return Ok(None);
    }
    let mut continuations = vec![Continuation { turns: 0, mistake: None }; record.plies.len()];
    let mut turns = 0_u16;
    let mut mistake = None;
    for (nth, ply) in record.plies.iter().enumerate().rev() {
        turns = turns.saturating_add(u16::from(ends_turn[nth]));
        if ply.mistaken() {
            mistake = ply.score.map(|score| (score, movers[nth]));
        }
        let score_of_mover =
            |(score, mover): (f32, _)| if mover == movers[nth] { score } else { -score };
        continuations[nth] = Continuation { turns, mistake: mistake.map(score_of_mover) };
    }
    Ok(Some(continuations))
}

impl GameRecord {
    /// Checks that the game and its side positions are possible in `variant`.
    ///
    /// # Errors
    /// The first [`GameFault`].
    pub fn check(&self, variant: &Variant) -> Result<(), GameFault> {
        check(self, variant)?;
        self.check_side_positions(variant)
    }

    /// Returns how the game goes on from `position`, before ply `nth`; `None` if a move is illegal.
    pub(super) fn continuation(&self, mut position: Position, nth: usize) -> Option<Continuation> {
        let mover = position.turn();
        let mut turns = 0_u16;
        let mut mistake = None;
        let mut mistake_found = false;
        for ply in self.plies.get(nth..)? {
            let m = PackedMove(ply.played).unpack()?;
            if !mistake_found && ply.mistaken() {
                mistake_found = true;
                // In bughouse it may be the turn of another seat.
                position.select_side_to_move(m);
                let same = position.turn() == mover;
                mistake = ply.score.map(|score| if same { score } else { -score });
            }
            position.play(m).then_some(())?;
            turns = turns.saturating_add(u16::from(!position.mid_turn()));
        }
        Some(Continuation { turns, mistake })
    }

    /// Returns the end of the game as seen from a ply with this continuation.
    pub(super) fn end_after(&self, continuation: Continuation) -> Option<End> {
        let end = self.end?;
        Some(End { turns: end.turns.saturating_add(continuation.turns), ..end })
    }
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::record::{NO_MOVE, PlyRecord};

    fn ply(played: u16) -> PlyRecord {
        PlyRecord { played, policy: vec![], score: None, proven: None, surprise: None }
    }

    /// A game of crazyhouse in which the first legal move is played ten times.
    fn game() -> (Arc<Variant>, GameRecord) {
        let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
        let mut position = variant.start();
        let mut record = GameRecord { start: position.fen(), ..GameRecord::default() };
        let mut legal = MoveList::new();
        for nth in 0..10 {
            position.legal_moves(&mut legal);
            let score = Some(nth as f32 / 20.0);
            // Ply 6 is a move that the reference engine did not choose.
            let best = if nth == 6 { legal[1] } else { legal[0] };
            let policy = vec![(best.pack().0, 1)];
            record.plies.push(PlyRecord { score, policy, ..ply(legal[0].pack().0) });
            position.play_unchecked(legal[0]);
        }
        record.end = Some(End { winner: Some(1), turns: 3 });
        (variant, record)
    }

    fn place() -> GamePlace {
        GamePlace { file: "some.games".into(), number: 3 }
    }

    fn check(variant: &Arc<Variant>, record: GameRecord) -> Result<CheckedGame, InvalidGame> {
        CheckedGame::new(Arc::clone(variant), record, place())
    }

    #[test]
    fn continuations_are_those_of_a_replay() {
        let (variant, record) = game();
        let checked = check(&variant, record.clone()).expect("a valid game");
        assert!(checked.continuations.is_some());
        for nth in 0..record.plies.len() {
            let position = record.position(&variant, nth).expect("a position");
            assert_eq!(checked.position(nth).expect("a position").fen(), position.fen());
            let found = checked.continuation(&position, nth).expect("a continuation");
            assert_eq!(Some(found), record.continuation(position, nth));
            assert_eq!(found.turns as usize, 10 - nth);
            let sign = if nth % 2 == 0 { 1.0 } else { -1.0 };
            assert_eq!(found.mistake, (nth <= 6).then_some(sign * 0.3));
            assert_eq!(record.end_after(found).expect("an end").turns as usize, 13 - nth);
        }
        assert!(checked.position(11).is_none());
    }

    #[test]
    fn illegal_moves_are_refused_but_for_a_last_one_without_end() {
        let (variant, record) = game();
        let check = |record: &GameRecord| check(&variant, record.clone());
        let mut illegal = record.clone();
        illegal.plies[4].played = NO_MOVE;
        let error = check(&illegal).expect_err("an illegal move");
        let fault = GameFault::Ply { number: 5, fault: PlyFault::Move };
        assert_eq!(error, InvalidGame { place: place(), start: record.start.clone(), fault });
        let text = error.to_string();
        let ending = ": ply 5: the move played is illegal";
        assert!(text.starts_with("some.games, game 3, from ") && text.ends_with(ending), "{text}");
        let mut open = record.clone();
        open.plies.push(ply(NO_MOVE));
        assert!(check(&open).is_err());
        open.end = None;
        assert!(check(&open).is_ok());
        assert!(check(&GameRecord { start: "none".into(), ..record }).is_err());
    }
}

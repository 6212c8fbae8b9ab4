//! From records to samples: what a network should learn at a ply.

use menagerie::encoding::Encoding;
use menagerie::rules::{Move, MoveList, Position, Side, Square};
use menagerie::variant::Variant;

use super::checked::{CheckedGame, Continuation};
use super::checks::{is_choice, moved_board};
use super::{End, GameRecord, PlyRecord, Targets};
use crate::learner::TrainingSample;

/// Makes samples of the games of one variant.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// Its encoding.
    pub encoding: &'a Encoding,
    /// What is to be learned.
    pub targets: Targets,
}

/// What became of a position.
#[derive(Clone, Copy, Debug)]
struct GameResult {
    end: End,
    /// Replaces the end of the game: see [`Continuation::mistake`].
    mistake: Option<f32>,
}

impl GameRecord {
    /// Returns the sample of ply `nth` by the default [`Targets`]; see [`Sampler::sample`].
    pub fn sample(
        &self,
        variant: &Variant,
        encoding: &Encoding,
        nth: usize,
    ) -> Option<TrainingSample> {
        let targets = Targets::default();
        Sampler { variant, encoding, targets }.sample(self, nth, false)
    }
}

impl Sampler<'_> {
    /// Returns the sample of ply `nth`; `None` if there is no such ply, or the record does not replay.
    /// The sample has no targets for heads of which the record knows nothing.
    ///
    /// The outcome is the proven one where the search proved it, else the result of the game mixed with
    /// the score ([`Targets::score_share`]). Scores count in games of two sides only: with more sides they
    /// do not determine how the others share what the mover loses. Where a later move is one that the
    /// reference engine did not choose, the score before it replaces the result of the game.
    ///
    /// `mirrored` swaps the left and the right of the board if no castling rights are left. The position
    /// is then worth the same in every game whose rules do not distinguish files.
    pub fn sample(&self, game: &GameRecord, nth: usize, mirrored: bool) -> Option<TrainingSample> {
        let position = game.position(self.variant, nth)?;
        self.sample_position(game, nth, mirrored, &position, || {
            game.continuation(position.clone(), nth)
        })
    }

    /// Returns the sample that [`Sampler::sample`] does, at a lower cost. `game` must be one of the
    /// sampler's variant.
    pub fn sample_checked(
        &self,
        game: &CheckedGame,
        nth: usize,
        mirrored: bool,
    ) -> Option<TrainingSample> {
        let position = game.position(nth)?;
        self.sample_position(game.record(), nth, mirrored, &position, || {
            game.continuation(&position, nth)
        })
    }

    /// Returns the sample of ply `nth` of a game, which has `position`. `continuation` is asked for if the
    /// end of the game counts.
    fn sample_position(
        &self,
        game: &GameRecord,
        nth: usize,
        mirrored: bool,
        position: &Position,
        continuation: impl FnOnce() -> Option<Continuation>,
    ) -> Option<TrainingSample> {
        let ply = game.plies.get(nth)?;
        let shape = self.encoding.shape();
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let board = moved_board(game, ply);
        legal.retain(|m| is_choice(*m, board));
        let policy = self.policy(ply, &legal)?;
        let view = position.view();
        let mut planes = vec![0.0; shape.input()];
        self.encoding.write_planes(&view, &mut planes);
        let can_castle = view.boards.iter().any(|board| board.castling.any());
        if mirrored && !can_castle {
            for row in planes.chunks_exact_mut(shape.width) {
                row.reverse();
            }
            for m in &mut legal {
                *m = mirror(*m, shape.width);
            }
        }
        let indices = legal.iter().map(|&m| self.encoding.index(position, m).0).collect();
        let result = match ply.proven {
            Some(end) => Some(GameResult { end, mistake: None }),
            None if game.end.is_some() => {
                let continuation = continuation()?;
                let end = game.end_after(continuation)?;
                Some(GameResult { end, mistake: continuation.mistake })
            }
            None => None,
        };
        Some(TrainingSample {
            planes,
            legal: if policy.is_empty() { Vec::new() } else { indices },
            policy,
            outcome: self.outcome(ply, result, position.turn())?,
            moves_left: result.map(|result| f32::from(result.end.turns)),
            weight: 1.0,
        })
    }

    /// Returns the policy target over the legal moves; empty if the record has none, `None` if it is of
    /// other moves.
    fn policy(&self, ply: &PlyRecord, legal: &[Move]) -> Option<Vec<f32>> {
        if ply.policy.is_empty() {
            return Some(Vec::new());
        }
        let share = |m: &Move| {
            let packed = m.pack().0;
            let found = ply.policy.iter().find(|(known, _)| *known == packed);
            found.map_or(0.0, |(_, share)| f32::from(*share))
        };
        let mut policy: Vec<f32> = legal.iter().map(share).collect();
        let total: f32 = policy.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let even = self.targets.smoothing / legal.len() as f32;
        let factor = (1.0 - self.targets.smoothing) / total;
        for share in &mut policy {
            *share = *share * factor + even;
        }
        Some(policy)
    }

    /// Returns the outcome target, relative to the mover; empty if nothing is known, `None` if the record
    /// names a side that the game does not have.
    fn outcome(
        &self,
        ply: &PlyRecord,
        result: Option<GameResult>,
        mover: Side,
    ) -> Option<Vec<f32>> {
        let sides = self.encoding.shape().outcomes - 1;
        let wdl = |score: f32| self.targets.wdl(score).to_vec();
        let scored = if sides == 2 && ply.proven.is_none() { ply.score.map(wdl) } else { None };
        let became = match result {
            Some(GameResult { mistake: Some(score), .. }) if sides == 2 => Some(wdl(score)),
            Some(GameResult { end, .. }) => {
                let class = match end.winner.map(usize::from) {
                    None => sides,
                    Some(winner) if winner < sides => Side::new(winner).seat_from(mover, sides),
                    Some(_) => return None,
                };
                let mut one_hot = vec![0.0; sides + 1];
                one_hot[class] = 1.0;
                Some(one_hot)
            }
            None => None,
        };
        let share = self.targets.score_share;
        Some(match (scored, became) {
            (Some(scored), Some(became)) => {
                let mix = |(scored, became)| share * scored + (1.0 - share) * became;
                scored.into_iter().zip(became).map(mix).collect()
            }
            (scored, became) => scored.or(became).unwrap_or_default(),
        })
    }
}

/// Returns the move on the board with left and right swapped.
fn mirror(m: Move, files: usize) -> Move {
    let swap = |square: Square| {
        // Squares are counted from a1, eight a rank for every width of the board.
        let rank = u32::from(square) / 8;
        let file = u32::from(square) % 8;
        Square::new(8 * rank + files as u32 - 1 - file)
    };
    match m {
        Move::Step { board, from, to, promotion } => {
            Move::Step { board, from: swap(from), to: swap(to), promotion }
        }
        Move::Drop { board, role, to } => Move::Drop { board, role, to: swap(to) },
        Move::Place(to) => Move::Place(swap(to)),
        Move::Wall(to) => Move::Wall(swap(to)),
        Move::Pass => m,
    }
}

//! From records to samples: what a network should learn at a ply.

use menagerie::encoding::Encoding;
use menagerie::rules::{
    ByColor, Clocks, Move, MoveList, PackedMove, Position, Side, Square, Table,
};
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use super::{End, GameRecord, PlyRecord};
use crate::learner::Sample;

/// How records become targets. The default is what self-play learns: its policy as it stands, and
/// the games' results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Targets {
    /// How much of the outcome's target is the score told at the ply, 0 to 1; the rest is the
    /// game's result. Where one of the two is not known, the other is all of it.
    pub score_share: f32,
    /// How much of the policy's target is spread evenly over all legal moves, 0 to 1 (label
    /// smoothing).
    pub smoothing: f32,
    /// By what the log odds of a score are multiplied before it is learnt, above 0: a score told of `s`
    /// stands for one of `tanh(steepness * artanh(s))`. Engines' scores are worth more in some games
    /// than in others.
    pub steepness: f32,
    /// The chance of a draw where both sides expect the same, 0 to 0.5. A score of `s` stands for
    /// a draw with the chance `draws * (1 - s * s)`; the rest is shared by win and loss so that
    /// their difference is `s`.
    pub draws: f32,
}

impl Default for Targets {
    fn default() -> Targets {
        Targets { score_share: 0.0, smoothing: 0.0, steepness: 1.0, draws: 0.0 }
    }
}

impl Targets {
    /// Says in words what is wrong with them, if anything.
    ///
    /// # Errors
    /// The name and the value that is out of its range.
    pub fn check(&self) -> Result<(), String> {
        for (name, value, most) in [
            ("score_share", self.score_share, 1.0),
            ("smoothing", self.smoothing, 1.0),
            ("draws", self.draws, 0.5),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(format!("{name} is {value}, not between 0 and {most}"));
            }
        }
        let steepness = self.steepness;
        if !(steepness.is_finite() && steepness > 0.0) {
            return Err(format!("steepness is {steepness}, not above 0"));
        }
        Ok(())
    }

    /// What a score stands for, both from -1 to 1.
    pub(super) fn expected(&self, score: f32) -> f32 {
        let score = score.clamp(-1.0, 1.0);
        // A certain win is one however steep: its log odds are infinite.
        (self.steepness * score.atanh()).tanh()
    }

    /// A score, -1 to 1, as chances of win, loss and draw.
    fn chances(&self, score: f32) -> [f32; 3] {
        let score = self.expected(score);
        let draw = self.draws * (1.0 - score * score);
        [(1.0 - draw + score) / 2.0, (1.0 - draw - score) / 2.0, draw]
    }
}

/// Makes samples of one game's records.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'a> {
    /// The game.
    pub variant: &'a Variant,
    /// Its encoding.
    pub encoding: &'a Encoding,
    /// What is to be learnt.
    pub targets: Targets,
}

impl GameRecord {
    /// The number of the side that won, if one did and it is known.
    pub fn winner(&self) -> Option<u8> {
        self.end.and_then(|end| end.winner)
    }

    /// What a network should learn at ply `nth` by the default [`Targets`]; see
    /// [`Sampler::sample`].
    pub fn sample(&self, variant: &Variant, encoding: &Encoding, nth: usize) -> Option<Sample> {
        let targets = Targets::default();
        Sampler { variant, encoding, targets }.sample(self, nth, false)
    }

    /// The position before ply `nth`; `None` if there is no such ply, or the record does not replay.
    pub fn position(&self, variant: &Variant, nth: usize) -> Option<Position> {
        let mut position = variant.position(&self.start, true).ok()?;
        for ply in self.plies.get(..nth)? {
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        if position.clocks().is_some() {
            // Several seats may move next: it is the one that did.
            if let Some(&[white_a, black_a, white_b, black_b]) = self.clocks.get(nth) {
                let clock = |white, black| ByColor { white, black };
                position.set_clocks(Clocks([clock(white_a, black_a), clock(white_b, black_b)]));
            }
            let next = self.plies.get(nth).and_then(|ply| PackedMove(ply.played).unpack());
            next.map(|m| position.admit(m));
        }
        Some(position)
    }

    /// How the game goes on from `position`, before ply `nth`.
    fn rest(&self, mut position: Position, nth: usize) -> Option<Rest> {
        let end = self.end?;
        let (mover, mut turns) = (position.turn(), end.turns);
        let (mut clean, mut mistake) = (true, None);
        for ply in &self.plies[nth..] {
            let m = PackedMove(ply.played).unpack()?;
            if clean && ply.mistaken() {
                clean = false;
                // Of two tables it may be the turn of another seat.
                position.admit(m);
                let turned = |score: f32| if position.turn() == mover { score } else { -score };
                mistake = ply.score.map(turned);
            }
            position.play(m).then_some(())?;
            turns = turns.saturating_add(u16::from(!position.mid_turn()));
        }
        Some(Rest { end: End { turns, ..end }, mistake })
    }
}

impl PlyRecord {
    /// Whether another move was played than its teacher would have, as in games of a teacher that are
    /// to show what is right after mistakes. Self-play chooses among what its search finds.
    pub(crate) fn mistaken(&self) -> bool {
        let share = |(m, _): &(u16, u16)| *m == self.played;
        self.surprise.is_none() && !self.policy.is_empty() && !self.policy.iter().any(share)
    }
}

/// What became of a position.
#[derive(Clone, Copy, Debug)]
struct Rest {
    end: End,
    /// What its mover could still expect just before the first move that was a mistake, if there was
    /// one: what came of it says little of the position.
    mistake: Option<f32>,
}

impl Sampler<'_> {
    /// What a network should learn at ply `nth`; `None` if there is no such ply, or the record
    /// does not replay. Heads of which the record knows nothing are left out of the sample.
    ///
    /// The outcome is the proven one where the search proved it, else that of the game mixed with
    /// the score ([`Targets::score_share`]); scores count in games of two sides only, as they tell
    /// nothing of how the others share what the mover loses. Where a move still comes that the
    /// teacher would not have played, the score before it stands for the game's outcome.
    ///
    /// `mirrored` turns the board's left and right round, if nobody may castle any more: the
    /// position is then as good as the other in every game whose rules do not tell files apart.
    pub fn sample(&self, game: &GameRecord, nth: usize, mirrored: bool) -> Option<Sample> {
        let position = game.position(self.variant, nth)?;
        let ply = game.plies.get(nth)?;
        let shape = self.encoding.shape();
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if let Some(table) = asked_at(game, ply) {
            legal.retain(|m| *m != Move::Pass && m.split().0 == table);
        }
        let policy = self.policy(ply, &legal)?;
        let mut planes = vec![0.0; shape.input()];
        self.encoding.write_planes(position.view(), &mut planes);
        let view = position.view();
        let rights = view.second.map_or(view.castling, |second| view.castling | second.castling);
        let mirrored = mirrored && rights.is_empty();
        if mirrored {
            planes.chunks_exact_mut(shape.width).for_each(<[f32]>::reverse);
            legal.iter_mut().for_each(|m| *m = mirror(*m, shape.width));
        }
        let indices = legal.iter().map(|&m| self.encoding.index(&position, m).0).collect();
        let rest = match ply.proven {
            Some(end) => Some(Rest { end, mistake: None }),
            // A record that knows its end replays to it.
            None if game.end.is_some() => Some(game.rest(position.clone(), nth)?),
            None => None,
        };
        Some(Sample {
            planes,
            legal: if policy.is_empty() { Vec::new() } else { indices },
            policy,
            outcome: self.outcome(ply, rest, position.turn())?,
            moves_left: rest.map(|rest| f32::from(rest.end.turns)),
            weight: 1.0,
        })
    }

    /// The policy's target over the legal moves; empty if the record has none, `None` if it is of
    /// other moves.
    fn policy(&self, ply: &PlyRecord, legal: &[Move]) -> Option<Vec<f32>> {
        if ply.policy.is_empty() {
            return Some(Vec::new());
        }
        let share = |m: PackedMove| ply.policy.iter().find(|(packed, _)| *packed == m.0);
        let shares = legal.iter().map(|m| share(m.pack()).map_or(0.0, |(_, it)| f32::from(*it)));
        let mut policy: Vec<f32> = shares.collect();
        let total: f32 = policy.iter().sum();
        (total > 0.0).then_some(())?;
        let even = self.targets.smoothing / legal.len() as f32;
        let rest = (1.0 - self.targets.smoothing) / total;
        policy.iter_mut().for_each(|share| *share = *share * rest + even);
        Some(policy)
    }

    /// The outcome's target, relative to the mover; empty if nothing is known, `None` if the record
    /// names a side that the game does not have.
    fn outcome(&self, ply: &PlyRecord, rest: Option<Rest>, mover: Side) -> Option<Vec<f32>> {
        let sides = self.encoding.shape().outcomes - 1;
        let chances = |score| self.targets.chances(score).to_vec();
        let told = ply.score.filter(|_| sides == 2 && ply.proven.is_none()).map(chances);
        let became = match rest {
            Some(Rest { mistake: Some(score), .. }) if sides == 2 => Some(chances(score)),
            Some(Rest { end, .. }) => {
                let class = match end.winner.map(usize::from) {
                    None => sides,
                    Some(winner) if winner < sides => Side::new(winner).seat_from(mover, sides),
                    Some(_) => return None,
                };
                Some((0..=sides).map(|of| f32::from(u8::from(of == class))).collect::<Vec<_>>())
            }
            None => None,
        };
        let share = self.targets.score_share;
        Some(match (told, became) {
            (Some(told), Some(became)) => {
                let mix = |(told, became)| share * told + (1.0 - share) * became;
                told.into_iter().zip(became).map(mix).collect()
            }
            (told, became) => told.or(became).unwrap_or_default(),
        })
    }
}

/// The table at which somebody was asked for the move of a ply, in a game of two tables by real
/// clocks: nobody was asked which of them to move at, or whether to sit.
fn asked_at(game: &GameRecord, ply: &PlyRecord) -> Option<Table> {
    let m = PackedMove(ply.played).unpack().filter(|m| *m != Move::Pass)?;
    (!game.clocks.is_empty()).then(|| m.split().0)
}

/// The move on the board with left and right turned round.
fn mirror(m: Move, files: usize) -> Move {
    let turn = |square: Square| {
        // Squares are counted from a1, eight to a rank whatever the board's width.
        let (rank, file) = (u32::from(square) / 8, u32::from(square) % 8);
        Square::new(8 * rank + files as u32 - 1 - file)
    };
    let (table, m) = m.split();
    let mirrored = match m {
        Move::Step { from, to, promotion } => {
            Move::Step { from: turn(from), to: turn(to), promotion }
        }
        Move::Drop { role, to } => Move::Drop { role, to: turn(to) },
        Move::Place(to) => Move::Place(turn(to)),
        Move::Wall(to) => Move::Wall(turn(to)),
        Move::Second(_) | Move::Pass => m,
    };
    mirrored.at(table)
}

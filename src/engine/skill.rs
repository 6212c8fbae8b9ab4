//! Strength limits: fewer visits, and moves that are not the best.

use rand::{Rng, RngExt};

use crate::search::{Proof, RootMove};

/// The level without a limit.
pub(super) const MAX_LEVEL: u64 = 20;
/// Visits of level 0.
const BASE_VISITS: f64 = 2.0;
/// The factor from the visits of one level to those of the next.
const VISITS_FACTOR: f64 = 1.5;

/// The Elo of levels, of which the lowest is defined as 500. Matches of 200 games of crazyhouse between
/// neighbouring levels with the shipped network gave differences of 225 (169 to 294), 478 (398 to 615),
/// 531 (441 to 705) and 700 (577 to 1508). The Elo of the last level, which is limited by time alone, is a
/// guess.
const ELO_OF_LEVEL: [(f64, f64); 6] =
    [(500.0, 0.0), (725.0, 4.0), (1203.0, 8.0), (1734.0, 12.0), (2434.0, 16.0), (2850.0, 20.0)];

/// The minimum of `UCI_Elo`.
pub(super) const MIN_ELO: u64 = 500;
/// The maximum of `UCI_Elo`.
pub(super) const MAX_ELO: u64 = 2850;

/// Returns the level for a strength in Elo, by linear interpolation.
pub(super) fn level_of_elo(elo: f64) -> f64 {
    let segment = ELO_OF_LEVEL.windows(2).find(|pair| elo <= pair[1].0);
    segment.map_or(MAX_LEVEL as f64, |pair| {
        let [(low_elo, low), (high_elo, high)] = [pair[0], pair[1]];
        low + (high - low) * ((elo - low_elo) / (high_elo - low_elo)).max(0.0)
    })
}

/// A limited strength: few visits, and not always the best move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Skill {
    /// The maximum number of visits of a turn.
    pub(super) visits: u64,
    /// Moves are played in proportion to visits^(1 / temperature).
    temperature: f32,
}

impl Skill {
    /// Returns the strength of a level, fractions included; `None` from [`MAX_LEVEL`] on.
    pub(super) fn new(level: f64) -> Option<Skill> {
        if level >= MAX_LEVEL as f64 {
            return None;
        }
        let visits = (BASE_VISITS * VISITS_FACTOR.powf(level)) as u64;
        let temperature = (1.0 - level / MAX_LEVEL as f64) as f32;
        Some(Skill { visits, temperature })
    }

    /// Returns the index of the root move to play; the best move has index 0. A proven win is always
    /// played, and a proven loss only if there is no other move.
    pub(super) fn pick(&self, root_moves: &[RootMove], rng: &mut impl Rng) -> usize {
        let Some(best) = root_moves.first() else { return 0 };
        let max_visits = root_moves.iter().map(|root_move| root_move.visits).max().unwrap_or(0);
        if matches!(best.proof, Proof::Won(_) | Proof::Lost(_)) || max_visits == 0 {
            return 0;
        }
        let weight = |root_move: &RootMove| {
            if matches!(root_move.proof, Proof::Lost(_)) {
                return 0.0;
            }
            (root_move.visits as f32 / max_visits as f32).powf(1.0 / self.temperature)
        };
        let total: f32 = root_moves.iter().map(weight).sum();
        let mut remaining = rng.random::<f32>() * total;
        let picked = root_moves.iter().position(|root_move| {
            remaining -= weight(root_move);
            remaining < 0.0
        });
        picked.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;
    use crate::rules::{Move, PerSide, Square};

    fn root_move(visits: u32, proof: Proof) -> RootMove {
        let m = Move::Place(Square::A1);
        let value = PerSide::all(0.0);
        RootMove { m, prior: 0.1, visits, value, draw: 0.0, moves_left: 10.0, proof }
    }

    #[test]
    fn levels_pick_the_best_move_more_often() {
        let choices = [60, 0, 30, 10].map(|visits| root_move(visits, Proof::Open));
        let mut rng = SmallRng::seed_from_u64(1);
        let mut share = |level| {
            let skill = Skill::new(level).expect("limited");
            let mut counts = [0; 4];
            for _ in 0..4000 {
                counts[skill.pick(&choices, &mut rng)] += 1;
            }
            assert_eq!(counts[1], 0);
            counts[0] as f32 / 4000.0
        };
        let shares = [0.0, 5.0, 10.0, 15.0, 19.5].map(&mut share);
        assert!((shares[0] - 0.6).abs() < 0.03, "{shares:?}");
        assert!(shares.is_sorted() && shares[4] > 0.99, "{shares:?}");
        assert_eq!(Skill::new(20.0), None);
        let visits = [0.0, 10.0, 19.0].map(|level| Skill::new(level).map(|skill| skill.visits));
        assert_eq!(visits, [Some(2), Some(115), Some(4433)]);
    }

    #[test]
    fn level_grows_with_elo() {
        assert_eq!([MIN_ELO, MAX_ELO].map(|elo| level_of_elo(elo as f64)), [0.0, MAX_LEVEL as f64]);
        assert_eq!([1203.0, 1468.5].map(level_of_elo), [8.0, 10.0]);
        let levels: Vec<_> = (MIN_ELO..=MAX_ELO).map(|elo| level_of_elo(elo as f64)).collect();
        assert!(levels.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn proofs_decide_the_pick() {
        let mut rng = SmallRng::seed_from_u64(1);
        let skill = Skill::new(0.0).expect("limited");
        let won = [root_move(1, Proof::Won(3)), root_move(50, Proof::Open)];
        let lost = [root_move(1, Proof::Open), root_move(50, Proof::Lost(Some(2)))];
        let all_lost = [root_move(1, Proof::Lost(Some(4))), root_move(50, Proof::Lost(Some(2)))];
        let none = [root_move(0, Proof::Open), root_move(0, Proof::Open)];
        for _ in 0..200 {
            for choices in [&won, &lost, &all_lost, &none] {
                assert_eq!(skill.pick(choices, &mut rng), 0);
            }
        }
        assert_eq!(skill.pick(&[], &mut rng), 0);
    }
}

//! Strength limits: how to play less well than one can.

use rand::{Rng, RngExt};

use crate::search::{Proof, RootMove};

/// The level that knows no limit.
pub(super) const BEST: u64 = 20;
/// Visits of level 0, and by how much each level multiplies them.
const VISITS: f64 = 2.0;
const GROWTH: f64 = 1.5;

/// What levels are worth in Elo, the lowest called 500: matches of 200 games of crazyhouse between
/// neighbours with the shipped network had 225 (169 to 294), 478 (398 to 615), 531 (441 to 705) and
/// 700 (577 to 1508). What the last level, which is limited by time alone, is worth is a guess.
const ELO: [(f64, f64); 6] =
    [(500.0, 0.0), (725.0, 4.0), (1203.0, 8.0), (1734.0, 12.0), (2434.0, 16.0), (2850.0, 20.0)];

/// The least and the greatest Elo that can be asked for.
pub(super) const RANGE: [u64; 2] = [500, 2850];

/// The level of so many Elo.
pub(super) fn level(elo: f64) -> f64 {
    let part = ELO.windows(2).find(|pair| elo <= pair[1].0);
    part.map_or(BEST as f64, |pair| {
        let [(low, from), (high, to)] = [pair[0], pair[1]];
        from + (to - from) * ((elo - low) / (high - low)).max(0.0)
    })
}

/// A limited strength: few visits, and not always the best move found by them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Skill {
    /// The most visits that a turn may take.
    pub(super) visits: u64,
    /// Moves are played in proportion to their visits to the power of one by this.
    temperature: f32,
}

impl Skill {
    /// The strength of a level from 0 to [`BEST`], fractions included; `None` from [`BEST`] on.
    pub(super) fn new(level: f64) -> Option<Skill> {
        let visits = (VISITS * GROWTH.powf(level)) as u64;
        let temperature = (1.0 - level / BEST as f64) as f32;
        (level < BEST as f64).then_some(Skill { visits, temperature })
    }

    /// Which of the root's moves is played, the best being the first. A proven win is always played,
    /// and a proven loss only if there is nothing else.
    pub(super) fn pick(&self, choices: &[RootMove], rng: &mut impl Rng) -> usize {
        let won = |choice: &RootMove| matches!(choice.proof, Proof::Won(_));
        let lost = |choice: &RootMove| matches!(choice.proof, Proof::Lost(_));
        let most = choices.iter().map(|choice| choice.visits).max().unwrap_or(0);
        if choices.first().is_none_or(|first| won(first) || lost(first)) || most == 0 {
            return 0;
        }
        let weight = |choice: &RootMove| match lost(choice) {
            true => 0.0,
            false => (choice.visits as f32 / most as f32).powf(1.0 / self.temperature),
        };
        let total: f32 = choices.iter().map(weight).sum();
        let mut left = rng.random::<f32>() * total;
        let past = choices.iter().position(|choice| {
            left -= weight(choice);
            left < 0.0
        });
        past.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;
    use crate::rules::{Move, PerSide, Square};

    fn choice(visits: u32, proof: Proof) -> RootMove {
        let m = Move::Place(Square::A1);
        let (value, prior, draw) = (PerSide::all(0.0), 0.1, 0.0);
        RootMove { m, prior, visits, value, draw, moves_left: 10.0, proof }
    }

    #[test]
    fn each_level_is_more_certain_than_the_one_below() {
        let choices = [60, 0, 30, 10].map(|visits| choice(visits, Proof::Open));
        let mut rng = SmallRng::seed_from_u64(1);
        let mut share = |level| {
            let skill = Skill::new(level).expect("limited");
            let mut counts = [0; 4];
            (0..4000).for_each(|_| counts[skill.pick(&choices, &mut rng)] += 1);
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
    fn more_elo_is_a_higher_level() {
        assert_eq!(RANGE.map(|elo| level(elo as f64)), [0.0, BEST as f64]);
        assert_eq!([1203.0, 1468.5].map(level), [8.0, 10.0]);
        let levels: Vec<_> = (RANGE[0]..=RANGE[1]).map(|elo| level(elo as f64)).collect();
        assert!(levels.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn proofs_come_before_chance() {
        let mut rng = SmallRng::seed_from_u64(1);
        let skill = Skill::new(0.0).expect("limited");
        let won = [choice(1, Proof::Won(3)), choice(50, Proof::Open)];
        let lost = [choice(1, Proof::Open), choice(50, Proof::Lost(Some(2)))];
        let all_lost = [choice(1, Proof::Lost(Some(4))), choice(50, Proof::Lost(Some(2)))];
        let none = [choice(0, Proof::Open), choice(0, Proof::Open)];
        for _ in 0..200 {
            for choices in [&won, &lost, &all_lost, &none] {
                assert_eq!(skill.pick(choices, &mut rng), 0);
            }
        }
        assert_eq!(skill.pick(&[], &mut rng), 0);
    }
}

//! Ratings that make the results of many matches likeliest.
//!
//! The model is that of Bradley and Terry in Elo's scale: a player is expected to take
//! 1 / (1 + 10^(-d/400)) of the points from one whose rating is lower by d. A draw is half a point.
//! Every match counts one drawn game more than was played, as Bayeselo (R. Coulom) has it, so that
//! no rating is infinite.

use nalgebra::{DMatrix, DVector};

/// What two players came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairing {
    /// The two, by number.
    pub players: [usize; 2],
    /// Points of the first: 1 for a win and 1/2 for a draw.
    pub points: f64,
    /// Games played.
    pub games: f64,
}

impl Pairing {
    /// Of games that the first won, drew and lost.
    pub fn of(players: [usize; 2], games: [u64; 3]) -> Pairing {
        let [won, drawn, lost] = games.map(|count| count as f64);
        Pairing { players, points: won + drawn / 2.0, games: won + drawn + lost }
    }
}

/// A rating and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// In Elo, over the anchor.
    pub elo: f64,
    /// Its standard error in Elo, if games were drawn independently of one another.
    pub error: f64,
}

/// The half of an interval that is 95% sure, in standard errors.
const SURE: f64 = 1.96;

impl Rating {
    /// The half of the interval that is 95% sure, in Elo.
    pub fn margin(&self) -> f64 {
        SURE * self.error
    }
}

/// Elo in a unit of the logistic curve.
const SCALE: f64 = 400.0 / std::f64::consts::LN_10;
/// Newton's method needs some ten steps; it is over long before these.
const STEPS: usize = 200;
/// No step of it is longer, so that it cannot leap over the summit for ever.
const LONGEST: f64 = 1.0;

/// The ratings of so many players, that of `anchor` being 0. `None` for whoever has not been
/// matched with it, if only through others.
pub fn ratings(players: usize, anchor: usize, pairings: &[Pairing]) -> Vec<Option<Rating>> {
    let joined = joined(players, anchor, pairings);
    let free: Vec<usize> =
        (0..players).filter(|&player| player != anchor && joined[player]).collect();
    let place = |player: usize| free.iter().position(|&other| other == player);
    let mut found = DVector::<f64>::zeros(free.len());
    let mut information = DMatrix::<f64>::zeros(free.len(), free.len());
    for _ in 0..STEPS {
        let mut slope = DVector::<f64>::zeros(free.len());
        information.fill(0.0);
        for pairing in pairings.iter().filter(|pairing| joined[pairing.players[0]]) {
            let [first, second] = pairing.players.map(place);
            let [a, b] = [first, second].map(|at| at.map_or(0.0, |at| found[at]));
            let (games, points) = (pairing.games + 1.0, pairing.points + 0.5);
            let expected = 1.0 / (1.0 + (b - a).exp());
            let weight = games * expected * (1.0 - expected);
            for (at, sign) in [(first, 1.0), (second, -1.0)] {
                let Some(at) = at else { continue };
                slope[at] += sign * (points - games * expected);
                information[(at, at)] += weight;
            }
            if let (Some(a), Some(b)) = (first, second) {
                information[(a, b)] -= weight;
                information[(b, a)] -= weight;
            }
        }
        let Some(step) = information.clone().cholesky().map(|matrix| matrix.solve(&slope)) else {
            break;
        };
        found += step.map(|part| part.clamp(-LONGEST, LONGEST));
        if step.amax() < 1e-9 {
            break;
        }
    }
    let covariance = information.cholesky().map(|matrix| matrix.inverse());
    let rating = |player: usize| {
        if player == anchor {
            return Some(Rating { elo: 0.0, error: 0.0 });
        }
        let at = place(player)?;
        let variance = covariance.as_ref()?[(at, at)];
        Some(Rating { elo: SCALE * found[at], error: SCALE * variance.sqrt() })
    };
    (0..players).map(rating).collect()
}

/// Who can be compared with the anchor.
fn joined(players: usize, anchor: usize, pairings: &[Pairing]) -> Vec<bool> {
    let mut joined: Vec<bool> = (0..players).map(|player| player == anchor).collect();
    // Each round reaches one match further, and no chain is longer than there are players.
    for _ in 0..players {
        for &Pairing { players: [a, b], .. } in pairings {
            let reached = joined[a] || joined[b];
            (joined[a], joined[b]) = (reached, reached);
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, wanted: f64, by: f64) {
        assert!((found - wanted).abs() <= by, "{found}, not {wanted}");
    }

    /// 74.5 and half a draw of 100 games are 75 of 101 points; the error follows from the curve's
    /// slope there.
    #[test]
    fn two_players_stand_as_their_score_says() {
        let pairings = [Pairing { players: [1, 0], points: 74.5, games: 99.0 }];
        let found = ratings(2, 0, &pairings)[1].unwrap();
        near(found.elo, 190.85, 0.01);
        near(found.error, SCALE / (100.0f64 * 0.75 * 0.25).sqrt(), 1e-6);
        assert_eq!(ratings(2, 0, &pairings)[0], Some(Rating { elo: 0.0, error: 0.0 }));
        // From the other's side it is the same.
        near(ratings(2, 1, &pairings)[0].unwrap().elo, -190.85, 0.01);
    }

    #[test]
    fn who_met_nobody_of_them_has_no_rating() {
        let pairings = [
            Pairing { players: [0, 1], points: 5.0, games: 10.0 },
            Pairing { players: [2, 3], points: 5.0, games: 10.0 },
        ];
        let found = ratings(5, 0, &pairings);
        assert!(found[1].is_some());
        assert_eq!(found[2..], [None; 3]);
    }

    #[test]
    fn a_clean_score_is_finite_and_unsure() {
        let pairings = [Pairing { players: [0, 1], points: 0.0, games: 20.0 }];
        let found = ratings(2, 0, &pairings)[1].unwrap();
        near(found.elo, 400.0 * (20.5f64 / 0.5).log10(), 1e-6);
        assert!(found.error > 200.0);
    }

    proptest! {
        /// Where results are just what given ratings expect, those ratings are found, but for what the
        /// drawn game of each match draws them together.
        #[test]
        fn what_made_the_scores_is_found(wanted in prop::collection::vec(-600.0..600.0f64, 4)) {
            let games = 1e7;
            let met = [[0, 1], [1, 2], [2, 3], [0, 3]];
            let pairings = met.map(|players| {
                let [a, b] = players.map(|player| wanted[player]);
                let points = games / (1.0 + 10f64.powf((b - a) / 400.0));
                Pairing { players, points, games }
            });
            for (player, found) in ratings(4, 0, &pairings).into_iter().enumerate() {
                near(found.unwrap().elo, wanted[player] - wanted[0], 0.1);
            }
        }
    }
}

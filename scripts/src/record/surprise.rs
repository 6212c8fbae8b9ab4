//! How much a search surprised the network, and what that makes of a game's positions: policy
//! surprise weighting, as in KataGo (docs/KataGoMethods.md of its repository).

use super::GameRecord;

/// No prior counts as less: the least that a tree tells from nought.
const LEAST_PRIOR: f32 = 1.0 / (1u32 << 31) as f32;

/// The Kullback-Leibler divergence from a network's policy to the one that its search came to, in
/// nats: pairs of a move's share of the search's policy and its prior, each summing to 1.
pub(crate) fn divergence(moves: impl Iterator<Item = (f32, f32)>) -> f32 {
    let part = |(share, prior): (f32, f32)| match share > 0.0 {
        true => share * (share / prior.max(LEAST_PRIOR)).ln(),
        false => 0.0,
    };
    moves.map(part).sum::<f32>().max(0.0)
}

impl GameRecord {
    /// How often each ply is to be learnt from, beside the others of the game; the mean is 1.
    ///
    /// Among the plies of which it is known how much the search surprised the network, `share` of
    /// the weight goes by that, and the rest evenly. The other plies weigh 1.
    pub fn weights(&self, share: f64) -> Vec<f64> {
        let known = || self.plies.iter().filter_map(|ply| ply.surprise).map(f64::from);
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        let weight = |surprise: f32| 1.0 - share + share * f64::from(surprise) / mean;
        let plies = self.plies.iter().map(|ply| ply.surprise.filter(|_| mean > 0.0));
        plies.map(|surprise| surprise.map_or(1.0, weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PlyRecord;

    fn game(surprises: &[Option<f32>]) -> GameRecord {
        let ply = |&surprise| PlyRecord {
            played: 0,
            policy: Vec::new(),
            score: None,
            proven: None,
            surprise,
        };
        GameRecord {
            start: String::new(),
            plies: surprises.iter().map(ply).collect(),
            end: None,
            ..GameRecord::default()
        }
    }

    #[test]
    fn a_search_that_agrees_surprises_nobody() {
        let agreed = [(0.5, 0.5), (0.25, 0.25), (0.25, 0.25)];
        assert_eq!(divergence(agreed.into_iter()), 0.0);
        let sharp = [(1.0, 0.25), (0.0, 0.75)];
        assert!((divergence(sharp.into_iter()) - 4f32.ln()).abs() < 1e-6);
        let unforeseen = divergence([(1.0, 0.0), (0.0, 1.0)].into_iter());
        assert!(unforeseen > 21.0 && unforeseen.is_finite());
    }

    #[test]
    fn weight_moves_to_what_surprised_and_stays_the_same_in_all() {
        let plies = game(&[Some(3.0), None, Some(1.0), Some(0.0)]);
        assert_eq!(plies.weights(0.0), [1.0; 4]);
        assert_eq!(plies.weights(0.5), [0.5 + 0.5 * 2.25, 1.0, 0.5 + 0.5 * 0.75, 0.5]);
        assert_eq!(plies.weights(1.0), [2.25, 1.0, 0.75, 0.0]);
        assert_eq!(game(&[Some(0.0), None, Some(0.0)]).weights(0.5), [1.0; 3]);
        assert_eq!(game(&[None; 2]).weights(1.0), [1.0; 2]);
        assert!(game(&[]).weights(0.5).is_empty());
    }
}

//! Policy surprise weighting, as in KataGo (docs/KataGoMethods.md of its repository): positions whose
//! search changed the policy most are drawn more often.

use super::GameRecord;

/// Lower bound of priors: the least that a tree distinguishes from 0.
const MIN_PRIOR: f32 = 1.0 / (1u32 << 31) as f32;

/// Returns the Kullback-Leibler divergence from the policy of a network to that of its search, in nats.
/// `moves` are pairs of a share of the policy of the search and a prior, each of which sum to 1.
pub(crate) fn divergence(moves: impl Iterator<Item = (f32, f32)>) -> f32 {
    let part = |(share, prior): (f32, f32)| {
        if share > 0.0 { share * (share / prior.max(MIN_PRIOR)).ln() } else { 0.0 }
    };
    moves.map(part).sum::<f32>().max(0.0)
}

impl GameRecord {
    /// Returns the weight of each ply among those of the game; the mean is 1.
    ///
    /// Of the weight of the plies whose surprise is known, `share` is proportional to the surprise, and the
    /// rest even. The other plies have a weight of 1.
    pub fn weights(&self, share: f64) -> Vec<f64> {
        let known = || self.plies.iter().filter_map(|ply| ply.surprise).map(f64::from);
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        let weight = |surprise: f32| 1.0 - share + share * f64::from(surprise) / mean;
        let surprises = self.plies.iter().map(|ply| if mean > 0.0 { ply.surprise } else { None });
        surprises.map(|surprise| surprise.map_or(1.0, weight)).collect()
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
    fn divergence_is_zero_for_equal_policies() {
        let agreed = [(0.5, 0.5), (0.25, 0.25), (0.25, 0.25)];
        assert_eq!(divergence(agreed.into_iter()), 0.0);
        let sharp = [(1.0, 0.25), (0.0, 0.75)];
        assert!((divergence(sharp.into_iter()) - 4f32.ln()).abs() < 1e-6);
        let unexpected = divergence([(1.0, 0.0), (0.0, 1.0)].into_iter());
        assert!(unexpected > 21.0 && unexpected.is_finite());
    }

    #[test]
    fn weights_follow_surprise_and_have_mean_one() {
        let plies = game(&[Some(3.0), None, Some(1.0), Some(0.0)]);
        assert_eq!(plies.weights(0.0), [1.0; 4]);
        assert_eq!(plies.weights(0.5), [0.5 + 0.5 * 2.25, 1.0, 0.5 + 0.5 * 0.75, 0.5]);
        assert_eq!(plies.weights(1.0), [2.25, 1.0, 0.75, 0.0]);
        assert_eq!(game(&[Some(0.0), None, Some(0.0)]).weights(0.5), [1.0; 3]);
        assert_eq!(game(&[None; 2]).weights(1.0), [1.0; 2]);
        assert!(game(&[]).weights(0.5).is_empty());
    }
}

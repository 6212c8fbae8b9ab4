//! Strength from the results of a match between two players.
//!
//! Games come in pairs: one opening, with colors swapped. The two results of a pair are correlated, so the
//! pairs are counted, in five classes (pentanomial), as fishtest and fastchess do. The formulas are those of
//! M. Van den Bergh, "Comparing the approximations for the generalized log likelihood ratio of a multinomial
//! distribution" (cantate.be/Fishtest), with the exact maximum-likelihood distribution of a given mean.
//!
//! A few pairs that all have the same score are no certainty: an empty class counts as a quarter of a pair in the
//! variance, which changes nothing once all classes occur.

use statrs::distribution::{ContinuousCDF, Normal};

/// The numbers of pairs with 0, 1/2, 1, 3/2 and 2 points for the first player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pentanomial(pub [u64; 5]);

/// An estimate and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The maximum-likelihood estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The weight of an empty class in the variance of the score of a pair.
const EMPTY_CLASS_PAIRS: f64 = 0.25;

/// Converts a score, a share of the points, to an Elo difference; infinite for 0 and 1.
pub fn elo(score: f64) -> f64 {
    -400.0 * (1.0 / score.clamp(0.0, 1.0) - 1.0).log10()
}

/// Returns the expected score, a share of the points, for an Elo difference.
pub fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

impl Pentanomial {
    /// Adds a pair, by the scores of the first player, each -1, 0 or 1.
    pub fn add(&mut self, scores: [i8; 2]) {
        let class = i32::from(scores[0].signum()) + i32::from(scores[1].signum()) + 2;
        self.0[class as usize] += 1;
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the mean score, and its standard deviation.
    fn moments(&self) -> (f64, f64) {
        let pairs = self.pairs() as f64;
        let shares = [0.0, 0.25, 0.5, 0.75, 1.0];
        let counts = self.0.map(|n| n as f64);
        let mean = shares.iter().zip(counts).map(|(share, n)| share * n).sum::<f64>() / pairs;
        let weights = counts.map(|n| if n == 0.0 { EMPTY_CLASS_PAIRS } else { n });
        let squares = shares.iter().zip(weights).map(|(share, n)| (share - mean).powi(2) * n);
        let variance = squares.sum::<f64>() / weights.iter().sum::<f64>();
        (mean, (variance / pairs).sqrt())
    }

    /// Returns the Elo difference; `None` without pairs.
    pub fn elo(&self) -> Option<Estimate> {
        let (mean, deviation) = self.moments();
        let margin = Normal::standard().inverse_cdf(0.975) * deviation;
        let value = elo(mean);
        (self.pairs() > 0).then(|| Estimate {
            value,
            low: elo(mean - margin),
            high: elo(mean + margin),
        })
    }

    /// Returns the likelihood of superiority of the first player; `None` without pairs.
    pub fn los(&self) -> Option<f64> {
        if self.pairs() == 0 {
            return None;
        }
        let (mean, deviation) = self.moments();
        Some(Normal::standard().cdf((mean - 0.5) / deviation))
    }
}

/// A sequential probability ratio test of two Elo differences.
#[derive(
    Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Sprt {
    /// Elo difference of the null hypothesis.
    pub elo0: f64,
    /// Elo difference of the alternative hypothesis.
    pub elo1: f64,
    /// Probability, below 0.5, of accepting `elo1` wrongly.
    pub alpha: f64,
    /// Probability, below 0.5, of accepting `elo0` wrongly.
    pub beta: f64,
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `elo0` is accepted.
    Elo0,
    /// `elo1` is accepted.
    Elo1,
}

/// Why a test is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SprtError {
    /// The text is no test.
    #[error(
        "invalid SPRT \"{0}\", expected ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA, such as 0,10,0.05,0.05"
    )]
    Syntax(String),
    /// The differences are not finite, or not in ascending order.
    #[error("elo0 {elo0} must be below elo1 {elo1}")]
    Elo {
        /// The difference of the null hypothesis.
        elo0: f64,
        /// The difference of the alternative hypothesis.
        elo1: f64,
    },
    /// A probability of an error is out of range.
    #[error("alpha {alpha} and beta {beta} must be above 0 and below 0.5")]
    Risk {
        /// The probability of a false positive.
        alpha: f64,
        /// The probability of a false negative.
        beta: f64,
    },
}

/// Parses `elo0,elo1` or `elo0,elo1,alpha,beta`; alpha and beta default to 0.05.
impl std::str::FromStr for Sprt {
    type Err = SprtError;

    fn from_str(text: &str) -> Result<Sprt, SprtError> {
        let syntax = || SprtError::Syntax(text.to_owned());
        let numbers: Result<Vec<f64>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        let (elo0, elo1, alpha, beta) = match numbers.map_err(|_| syntax())?[..] {
            [elo0, elo1] => (elo0, elo1, 0.05, 0.05),
            [elo0, elo1, alpha, beta] => (elo0, elo1, alpha, beta),
            _ => return Err(syntax()),
        };
        let sprt = Sprt { elo0, elo1, alpha, beta };
        sprt.check().map(|()| sprt)
    }
}

impl Sprt {
    /// Checks that the test can be decided.
    ///
    /// # Errors
    /// [`SprtError::Elo`] or [`SprtError::Risk`].
    pub fn check(&self) -> Result<(), SprtError> {
        let Sprt { elo0, elo1, alpha, beta } = *self;
        let is_ordered = elo0 < elo1 && elo0.is_finite() && elo1.is_finite();
        if !is_ordered {
            return Err(SprtError::Elo { elo0, elo1 });
        }
        let is_risk = |risk: f64| risk > 0.0 && risk < 0.5;
        if !is_risk(alpha) || !is_risk(beta) {
            return Err(SprtError::Risk { alpha, beta });
        }
        Ok(())
    }

    /// Returns the bounds of the log likelihood ratio: at the lower one `elo0` is accepted, at the upper one `elo1`.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// Returns the generalized log likelihood ratio of `elo1` to `elo0`.
    pub fn ratio(&self, pairs: &Pentanomial) -> f64 {
        ratio(&pairs.0, expected(self.elo0), expected(self.elo1))
    }

    /// Returns the result, if the test is decided.
    pub fn verdict(&self, pairs: &Pentanomial) -> Option<Verdict> {
        let (low, high) = self.bounds();
        match self.ratio(pairs) {
            ratio if ratio >= high => Some(Verdict::Elo1),
            ratio if ratio <= low => Some(Verdict::Elo0),
            _ => None,
        }
    }
}

/// Returns the log likelihood ratio of the maximum-likelihood distributions with means `s1` and `s0`. `counts`
/// are those of classes that score 0 to 1 in equal steps. An empty class counts as a thousandth, as in
/// fishtest, so that it is not impossible.
fn ratio(counts: &[u64], s0: f64, s1: f64) -> f64 {
    let counts: Vec<f64> = counts.iter().map(|&n| if n == 0 { 1e-3 } else { n as f64 }).collect();
    let total: f64 = counts.iter().sum();
    let last = counts.len() as f64 - 1.0;
    let classes: Vec<(f64, f64)> =
        counts.iter().enumerate().map(|(class, n)| (class as f64 / last, n / total)).collect();
    let theta0 = multiplier(&classes, s0);
    let theta1 = multiplier(&classes, s1);
    let part = |&(share, p): &(f64, f64)| {
        p * ((1.0 + theta0 * (share - s0)) / (1.0 + theta1 * (share - s1))).ln()
    };
    total * classes.iter().map(part).sum::<f64>()
}

/// Returns the Lagrange multiplier of the maximum-likelihood distribution with mean `s`, in which the frequency
/// of each class is divided by 1 + multiplier (share - s). The sum decreases monotonically between the poles,
/// so bisection finds its zero.
fn multiplier(classes: &[(f64, f64)], s: f64) -> f64 {
    let excess = |theta: f64| -> f64 {
        classes.iter().map(|(share, p)| p * (share - s) / (1.0 + theta * (share - s))).sum()
    };
    let mut low = -1.0 / (1.0 - s);
    let mut high = 1.0 / s;
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found - wanted).abs() <= tolerance, "{found}, not {wanted}");
    }

    #[test]
    fn elo_is_inverse_of_expected() {
        assert_near(elo(0.75), 190.85, 0.01);
        assert_near(expected(elo(0.3)), 0.3, 1e-12);
        assert_eq!((elo(0.0), elo(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }

    /// The figures of fastchess's own tests (app/tests/elo_test.cpp).
    #[test]
    fn elo_equals_fastchess() {
        for (pairs, value, error, los) in [
            ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 0.99999),
            ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, 0.0505),
            ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, 0.0),
        ] {
            let pairs = Pentanomial(pairs);
            let found = pairs.elo().unwrap();
            assert_near(found.value, value, 0.01);
            assert_near((found.high - found.low) / 2.0, error, 0.01);
            assert_near(pairs.los().unwrap(), los, 1e-4);
        }
    }

    /// By hand: a thousand pairs of 1 and a thousand of 3/2 points have the mean 5/8 and the variance 1/64.
    #[test]
    fn elo_equals_manual_computation() {
        let pairs = Pentanomial([0, 0, 1000, 1000, 0]);
        let found = pairs.elo().unwrap();
        let margin = 1.959_964 * 0.125 / 2000f64.sqrt();
        assert_near(found.value, 88.739, 1e-3);
        assert_near(found.low, elo(0.625 - margin), 0.03);
        assert_near(found.high, elo(0.625 + margin), 0.03);
        assert_near(pairs.los().unwrap(), 1.0, 1e-6);
    }

    #[test]
    fn few_equal_pairs_have_wide_intervals() {
        for class in [3, 4] {
            let mut pairs = Pentanomial::default();
            for count in 1..=2 {
                pairs.0[class] = count;
                let Estimate { low, high, .. } = pairs.elo().unwrap();
                assert!(low < 0.0 && high > 0.0, "{pairs:?}: {low} to {high}");
                assert!(pairs.los().unwrap() < 0.98, "{pairs:?}");
            }
            pairs.0[class] = 10;
            assert!(pairs.elo().unwrap().low > 0.0, "{pairs:?}");
        }
        let draws = Pentanomial([0, 0, 1, 0, 0]).elo().unwrap();
        assert!(draws.value == 0.0 && draws.low < -100.0 && draws.high > 100.0, "{draws:?}");
    }

    /// The interval without the weight of empty classes.
    #[test]
    fn intervals_of_long_matches_stay() {
        for pairs in [[0, 10, 75, 15, 0], [2, 20, 60, 18, 0], [0, 0, 50, 50, 0]] {
            let mean =
                (0..5).map(|class| class as f64 / 4.0 * pairs[class] as f64).sum::<f64>() / 100.0;
            let square = |class: usize| (class as f64 / 4.0 - mean).powi(2) * pairs[class] as f64;
            let variance = (0..5).map(square).sum::<f64>() / 100.0;
            let margin = 1.959_964 * (variance / 100.0).sqrt();
            let found = Pentanomial(pairs).elo().unwrap();
            assert_near(found.low, elo(mean - margin), 1.0);
            assert_near(found.high, elo(mean + margin), 1.0);
        }
    }

    #[test]
    fn pairs_are_counted_by_points() {
        let mut pairs = Pentanomial::default();
        assert_eq!((pairs.elo(), pairs.los()), (None, None));
        for scores in [[1, 1], [1, -1], [0, 0], [0, 1], [-1, -1], [-1, 0]] {
            pairs.add(scores);
        }
        assert_eq!(pairs, Pentanomial([1, 1, 2, 1, 1]));
        assert_eq!(Pentanomial([0, 0, 3, 0, 0]).los(), Some(0.5));
        assert_eq!(Pentanomial([0, 0, 0, 0, 50]).los(), Some(1.0));
    }

    /// The figures of fastchess's own tests (app/tests/sprt_test.cpp), logistic model.
    #[test]
    fn sprt_ratio_equals_fastchess() {
        for (pairs, elo0, elo1, wanted) in [
            ([223, 9863, 20279 + 1000, 10037, 246], 0.5, 2.5, -3.07),
            ([871, 26175, 55003 + 980, 26678, 821], 0.0, 2.0, -4.98),
        ] {
            let sprt = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05 };
            assert_near(sprt.ratio(&Pentanomial(pairs)), wanted, 0.01);
            assert_eq!(sprt.verdict(&Pentanomial(pairs)), Some(Verdict::Elo0));
        }
        for (games, elo0, elo1, wanted) in
            [([21184, 40708, 21404], 0.5, 2.5, -1.57), ([57030, 106593, 57433], 0.0, 2.0, -2.59)]
        {
            assert_near(ratio(&games, expected(elo0), expected(elo1)), wanted, 0.01);
        }
    }

    #[test]
    fn sprt_is_parsed_and_decided() {
        let sprt: Sprt = "0,10".parse().unwrap();
        assert_eq!(sprt, Sprt { elo0: 0.0, elo1: 10.0, alpha: 0.05, beta: 0.05 });
        assert_near(sprt.bounds().0, -2.944, 1e-3);
        assert_near(sprt.bounds().1, 2.944, 1e-3);
        assert_eq!(sprt.verdict(&Pentanomial::default()), None);
        assert_eq!(sprt.verdict(&Pentanomial([0, 0, 0, 0, 200])), Some(Verdict::Elo1));
        assert_eq!(sprt.verdict(&Pentanomial([200, 0, 0, 0, 0])), Some(Verdict::Elo0));
        for bad in ["", "0", "0,x", "5,5", "10,0", "0,10,0.7,0.05", "0,10,0.05", "0,inf"] {
            assert!(bad.parse::<Sprt>().is_err(), "{bad}");
        }
    }
}

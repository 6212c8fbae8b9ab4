//! What the results of a match between two say of their strength.
//!
//! Games come in pairs, one opening with colours changed, and the results of a pair lean on one
//! another. So it is the pairs that are counted, in five classes (pentanomial), as fishtest and
//! fastchess do. The formulae are those of M. Van den Bergh, "Comparing the approximations for the
//! generalized log likelihood ratio of a multinomial distribution" (cantate.be/Fishtest), in which
//! the likeliest distribution of a given mean is found exactly.

use statrs::distribution::{ContinuousCDF, Normal};

/// How many pairs gave 0, 1/2, 1, 3/2 and 2 points to the first player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pentanomial(pub [u64; 5]);

/// A number and what is 95% sure of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The likeliest.
    pub value: f64,
    /// The least of the interval.
    pub low: f64,
    /// The greatest of the interval.
    pub high: f64,
}

/// A share of the points as a difference of Elo; infinite for none or all.
pub fn elo(score: f64) -> f64 {
    -400.0 * (1.0 / score.clamp(0.0, 1.0) - 1.0).log10()
}

/// The share of the points that is expected at a difference of Elo.
pub fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

impl Pentanomial {
    /// Counts a pair by the first player's scores, each -1, 0 or 1.
    pub fn add(&mut self, scores: [i8; 2]) {
        let class = i32::from(scores[0].signum()) + i32::from(scores[1].signum()) + 2;
        self.0[class as usize] += 1;
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The mean share of the points and the variance of a pair's.
    fn moments(&self) -> (f64, f64) {
        let total = self.pairs() as f64;
        let classes =
            || self.0.iter().enumerate().map(|(class, &n)| (class as f64 / 4.0, n as f64));
        let mean = classes().map(|(share, n)| share * n).sum::<f64>() / total;
        let variance = classes().map(|(share, n)| (share - mean).powi(2) * n).sum::<f64>() / total;
        (mean, variance)
    }

    /// The difference of Elo; `None` without a pair.
    pub fn elo(&self) -> Option<Estimate> {
        let (mean, variance) = self.moments();
        let margin =
            Normal::standard().inverse_cdf(0.975) * (variance / self.pairs() as f64).sqrt();
        let value = elo(mean);
        (self.pairs() > 0).then(|| Estimate {
            value,
            low: elo(mean - margin),
            high: elo(mean + margin),
        })
    }

    /// How likely the first player is the stronger one; `None` without a pair. Where all pairs are
    /// alike nothing is known of the spread, and it is 0, 1/2 or 1.
    pub fn los(&self) -> Option<f64> {
        let (mean, variance) = self.moments();
        let deviation = (variance / self.pairs() as f64).sqrt();
        let z =
            if deviation > 0.0 { (mean - 0.5) / deviation } else { (mean - 0.5) * f64::INFINITY };
        let known = self.pairs() > 0;
        known.then(|| if z.is_nan() { 0.5 } else { Normal::standard().cdf(z) })
    }
}

/// A sequential probability ratio test of two differences of Elo.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sprt {
    /// The difference that is not enough.
    pub elo0: f64,
    /// The difference that is hoped for.
    pub elo1: f64,
    /// How likely `elo0` may be taken for `elo1`.
    pub alpha: f64,
    /// How likely `elo1` may be taken for `elo0`.
    pub beta: f64,
}

/// What a test has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The difference is not there.
    Elo0,
    /// It is.
    Elo1,
}

/// `elo0,elo1`, or `elo0,elo1,alpha,beta`, which are else 0.05.
impl std::str::FromStr for Sprt {
    type Err = String;

    fn from_str(text: &str) -> Result<Sprt, String> {
        let bad = || format!("\"{text}\" is no test as 0,10 or 0,10,0.05,0.05");
        let numbers: Result<Vec<f64>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        let (elo0, elo1, alpha, beta) = match numbers.map_err(|_| bad())?[..] {
            [elo0, elo1] => (elo0, elo1, 0.05, 0.05),
            [elo0, elo1, alpha, beta] => (elo0, elo1, alpha, beta),
            _ => return Err(bad()),
        };
        let sprt = Sprt { elo0, elo1, alpha, beta };
        sprt.check().map(|()| sprt)
    }
}

impl Sprt {
    /// Whether it can be decided.
    ///
    /// # Errors
    /// In words, if it cannot.
    pub fn check(&self) -> Result<(), String> {
        let risk = |risk: f64| risk > 0.0 && risk < 0.5;
        let sane = self.elo0 < self.elo1 && self.elo0.is_finite() && self.elo1.is_finite();
        if !sane {
            return Err(format!("elo0 {} must be below elo1 {}", self.elo0, self.elo1));
        }
        if risk(self.alpha) && risk(self.beta) {
            Ok(())
        } else {
            Err(format!("alpha {} and beta {} must be below 0.5", self.alpha, self.beta))
        }
    }

    /// The bounds of the log likelihood ratio: at the first `elo0` is accepted, at the other `elo1`.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// The generalised log likelihood ratio of `elo1` to `elo0`.
    pub fn ratio(&self, pairs: &Pentanomial) -> f64 {
        ratio(&pairs.0, expected(self.elo0), expected(self.elo1))
    }

    /// What it has come to, if it has.
    pub fn verdict(&self, pairs: &Pentanomial) -> Option<Verdict> {
        let (low, high) = self.bounds();
        match self.ratio(pairs) {
            ratio if ratio >= high => Some(Verdict::Elo1),
            ratio if ratio <= low => Some(Verdict::Elo0),
            _ => None,
        }
    }
}

/// The log likelihood ratio of the likeliest distributions with means `s1` and `s0`, for counts of
/// classes that are worth 0 to 1 in even steps. An empty class counts as a thousandth, as fishtest
/// has it, so that what has not been seen is not held impossible.
fn ratio(counts: &[u64], s0: f64, s1: f64) -> f64 {
    let counts: Vec<f64> = counts.iter().map(|&n| if n == 0 { 1e-3 } else { n as f64 }).collect();
    let total: f64 = counts.iter().sum();
    let last = counts.len() as f64 - 1.0;
    let classes: Vec<(f64, f64)> =
        counts.iter().enumerate().map(|(class, n)| (class as f64 / last, n / total)).collect();
    let (theta0, theta1) = (multiplier(&classes, s0), multiplier(&classes, s1));
    let part = |&(share, p): &(f64, f64)| {
        p * ((1.0 + theta0 * (share - s0)) / (1.0 + theta1 * (share - s1))).ln()
    };
    total * classes.iter().map(part).sum::<f64>()
}

/// The Lagrange multiplier by which the likeliest distribution with mean `s` follows from the
/// frequencies: each class is divided by 1 + multiplier (share - s). Found by halving, since the sum
/// falls all the way between the poles.
fn multiplier(classes: &[(f64, f64)], s: f64) -> f64 {
    let excess = |theta: f64| -> f64 {
        classes.iter().map(|(share, p)| p * (share - s) / (1.0 + theta * (share - s))).sum()
    };
    let (mut low, mut high) = (-1.0 / (1.0 - s), 1.0 / s);
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

    fn near(found: f64, wanted: f64, by: f64) {
        assert!((found - wanted).abs() <= by, "{found}, not {wanted}");
    }

    #[test]
    fn elo_and_score_are_one_another_turned_round() {
        near(elo(0.75), 190.85, 0.01);
        near(expected(elo(0.3)), 0.3, 1e-12);
        assert_eq!((elo(0.0), elo(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }

    /// The figures of fastchess's own tests (app/tests/elo_test.cpp).
    #[test]
    fn estimates_are_those_of_fastchess() {
        for (pairs, value, error, los) in [
            ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 0.99999),
            ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, 0.0505),
            ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, 0.0),
        ] {
            let pairs = Pentanomial(pairs);
            let found = pairs.elo().unwrap();
            near(found.value, value, 0.01);
            near((found.high - found.low) / 2.0, error, 0.01);
            near(pairs.los().unwrap(), los, 1e-4);
        }
    }

    /// By hand: ten pairs of 1 and ten of 3/2 points have the mean 5/8 and the variance 1/64.
    #[test]
    fn an_estimate_by_hand() {
        let pairs = Pentanomial([0, 0, 10, 10, 0]);
        let found = pairs.elo().unwrap();
        let margin = 1.959_964 * 0.125 / 20f64.sqrt();
        near(found.value, 88.739, 1e-3);
        near(found.low, elo(0.625 - margin), 1e-3);
        near(found.high, elo(0.625 + margin), 1e-3);
        near(pairs.los().unwrap(), 0.999_996, 1e-6);
    }

    #[test]
    fn pairs_are_counted_by_their_sum() {
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
    fn ratios_are_those_of_fastchess() {
        for (pairs, elo0, elo1, wanted) in [
            ([223, 9863, 20279 + 1000, 10037, 246], 0.5, 2.5, -3.07),
            ([871, 26175, 55003 + 980, 26678, 821], 0.0, 2.0, -4.98),
        ] {
            let sprt = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05 };
            near(sprt.ratio(&Pentanomial(pairs)), wanted, 0.01);
            assert_eq!(sprt.verdict(&Pentanomial(pairs)), Some(Verdict::Elo0));
        }
        for (games, elo0, elo1, wanted) in
            [([21184, 40708, 21404], 0.5, 2.5, -1.57), ([57030, 106593, 57433], 0.0, 2.0, -2.59)]
        {
            near(ratio(&games, expected(elo0), expected(elo1)), wanted, 0.01);
        }
    }

    #[test]
    fn a_test_is_read_and_decided() {
        let sprt: Sprt = "0,10".parse().unwrap();
        assert_eq!(sprt, Sprt { elo0: 0.0, elo1: 10.0, alpha: 0.05, beta: 0.05 });
        near(sprt.bounds().0, -2.944, 1e-3);
        near(sprt.bounds().1, 2.944, 1e-3);
        assert_eq!(sprt.verdict(&Pentanomial::default()), None);
        assert_eq!(sprt.verdict(&Pentanomial([0, 0, 0, 0, 200])), Some(Verdict::Elo1));
        assert_eq!(sprt.verdict(&Pentanomial([200, 0, 0, 0, 0])), Some(Verdict::Elo0));
        for bad in ["", "0", "0,x", "5,5", "10,0", "0,10,0.7,0.05", "0,10,0.05", "0,inf"] {
            assert!(bad.parse::<Sprt>().is_err(), "{bad}");
        }
    }
}

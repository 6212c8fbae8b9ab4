//! CPU seconds in the states of training runs.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The greatest CPU time of a run: 30,000 years.
pub(crate) const MAX_CPU_SECONDS: f64 = 1e12;

/// Reads the field `cpu_seconds` of a state, which a [`Duration`](std::time::Duration) can hold.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    if (0.0..=MAX_CPU_SECONDS).contains(&seconds) {
        return Ok(seconds);
    }
    let range = format_args!("cpu_seconds is {seconds}, not between 0 and {MAX_CPU_SECONDS:e}");
    Err(D::Error::custom(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct State {
        #[serde(deserialize_with = "deserialize")]
        cpu_seconds: f64,
    }

    #[test]
    fn cpu_seconds_are_a_duration() {
        for (text, seconds) in [("0", 0.0), ("0.0", 0.0), ("7", 7.0), ("2.5", 2.5), ("1e12", 1e12)]
        {
            let state: State = toml::from_str(&format!("cpu_seconds = {text}")).expect(text);
            assert_eq!(state.cpu_seconds, seconds);
        }
        for (text, quote) in
            [("-1.0", "-1"), ("nan", "NaN"), ("inf", "inf"), ("1.1e12", "1100000000000")]
        {
            let error =
                toml::from_str::<State>(&format!("cpu_seconds = {text}")).err().expect(text);
            let expected = format!("cpu_seconds is {quote}, not between 0 and 1e12");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
}

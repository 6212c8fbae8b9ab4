//! How a player of blind chess thinks, in words.

use std::time::Duration;

use crate::belief::SensePolicy;
use crate::recon::{Combination, Preset, Settings, Weighing};

/// How boards may be weighted, by name.
const WEIGHINGS: [(&str, Weighing); 3] =
    [("even", Weighing::Even), ("habits", Weighing::Habits), ("network", Weighing::Network)];
/// How values over boards may become one, by name.
const COMBINATIONS: [(&str, Combination); 2] =
    [("mean", Combination::MeanAndQuantile), ("vote", Combination::Vote)];
/// More simulations of a board would leave no time for others, and fill the tree.
const MOST_SIMULATIONS: usize = 10_000;
/// More boards would not fit into most machines.
const MOST_BOARDS: usize = 20_000_000;

/// Settings from options with their values, of which later ones prevail: `preset`, `sense`,
/// `weights`, `combine`, `boards`, `threads`, `samples`, `depth`, `simulations`, and `turn` in milliseconds.
///
/// # Errors
/// If an option is not known or cannot have its value, which is quoted.
pub(super) fn settings(options: &[(String, String)]) -> Result<Settings, String> {
    let mut settings = Preset::Best.settings();
    for (name, value) in options {
        match name.as_str() {
            "preset" => settings = one_of(name, value, &Preset::ALL)?.settings(),
            "sense" => settings.sense = one_of(name, value, &SensePolicy::ALL)?,
            "weights" => settings.weighing = one_of(name, value, &WEIGHINGS)?,
            "combine" => settings.combination = one_of(name, value, &COMBINATIONS)?,
            "boards" => settings.capacity = number(name, value, MOST_BOARDS)?,
            "threads" => settings.threads = number(name, value, 256)?,
            "samples" => settings.samples = number(name, value, MOST_BOARDS)?,
            "depth" => settings.depth = number(name, value, 20)? as u32,
            "simulations" => settings.simulations = up_to(name, value, MOST_SIMULATIONS)? as u32,
            "turn" => settings.turn = Duration::from_millis(number(name, value, 3_600_000)? as u64),
            _ => return Err(format!("rbc has no option \"--{name}\"")),
        }
    }
    Ok(settings)
}

fn one_of<T: Copy>(name: &str, value: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == value);
    let known = || all.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
    found
        .map(|&(_, value)| value)
        .ok_or_else(|| format!("--{name} \"{value}\": there are {}", known()))
}

/// Reads a number from 0 to `most`.
fn up_to(name: &str, value: &str, most: usize) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("--{name} \"{value}\": a number from 0 to {most} is needed"))
}

/// Reads a number from 1 to `most`.
pub(super) fn number(name: &str, value: &str, most: usize) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("--{name} \"{value}\": a number from 1 to {most} is needed"))
}

//! The options of the player.

use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use menagerie::rbc::{Combination, Preset, SensePolicy, Settings, Weighting};

use crate::players::Players;

/// More simulations of one board would leave no time for the others, and fill the tree.
const MAX_SIMULATIONS: u64 = 10_000;
/// More boards do not fit into the memory of most machines.
const MAX_BOARDS: u64 = 20_000_000;
const MAX_NODES: u64 = 1_000_000_000;
const MAX_THREADS: u64 = 256;
const MAX_DEPTH_PLIES: u64 = 20;
const MAX_TURN_MILLISECONDS: u64 = 3_600_000;

/// How the player thinks. Every option overrides the preset.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(next_help_heading = "Player")]
pub struct PlayerOptions {
    /// Settings that go together
    #[arg(long, value_enum)]
    preset: Option<PresetName>,
    /// How the square of a sense is chosen
    #[arg(long, value_enum)]
    sense: Option<SenseName>,
    /// How boards are weighted
    #[arg(long, value_enum)]
    weights: Option<WeightsName>,
    /// Network for weights, simulations and nodes, instead of the shipped one
    #[arg(long, value_name = "FILE")]
    network: Option<String>,
    /// How values over boards are combined into one
    #[arg(long, value_enum)]
    combine: Option<CombineName>,
    /// Maximum number of boards that are kept [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BOARDS))]
    boards: Option<u64>,
    /// Maximum number of boards on which requests are evaluated [default: 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BOARDS))]
    samples: Option<u64>,
    /// Maximum number of nodes that a network searches on a board after a request, 0 for a search by depth
    /// [default: 1048576, paper: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_NODES))]
    nodes: Option<u64>,
    /// Maximum search depth in plies after a request, without a network [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_DEPTH_PLIES))]
    depth: Option<u64>,
    /// Simulations with the network on each board that votes, 0 for a search by depth [default: 0, paper: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SIMULATIONS))]
    simulations: Option<u64>,
    /// Number of threads [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_THREADS))]
    threads: Option<u64>,
    /// Maximum time of a turn in milliseconds [default: 10000]
    #[arg(
        long,
        value_name = "MILLISECONDS",
        value_parser = clap::value_parser!(u64).range(1..=MAX_TURN_MILLISECONDS)
    )]
    turn: Option<u64>,
}

/// An option of the player is unknown or has an invalid value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct OptionsError(String);

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PresetName {
    /// The strongest settings
    Best,
    /// The agent of A. Krishnakumar and G. Gutow
    Paper,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum SenseName {
    /// Improves the value of the best request by the most
    Gain,
    /// Gains the most information
    Entropy,
    /// Leaves the fewest boards
    Reduction,
    /// Any square
    Naive,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum WeightsName {
    /// By a network's policy, by habits if there is no network
    Network,
    /// By fixed rules
    Habits,
    /// All boards alike
    Even,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum CombineName {
    /// Mean and lower quantile
    Mean,
    /// One vote a board
    Vote,
}

/// The options as the only arguments of a command line.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
struct Arguments {
    #[command(flatten)]
    player: PlayerOptions,
}

impl PlayerOptions {
    /// Parses options from names without dashes and their values.
    ///
    /// # Errors
    /// If a name is unknown, or its value is invalid; the message quotes it.
    pub fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<PlayerOptions, OptionsError> {
        let arguments = pairs.into_iter().map(|(name, value)| format!("--{name}={value}"));
        match Arguments::try_parse_from(arguments) {
            Ok(arguments) => Ok(arguments.player),
            Err(error) => Err(OptionsError(summarize(&error))),
        }
    }

    /// Returns the settings that these options stand for.
    pub fn settings(&self) -> Settings {
        let preset = self.preset.map_or(Preset::Best, Preset::from);
        let mut settings = preset.settings();
        if let Some(sense) = self.sense {
            settings.sense = sense.into();
        }
        if let Some(weights) = self.weights {
            settings.weighting = weights.into();
        }
        if let Some(combine) = self.combine {
            settings.combination = combine.into();
        }
        if let Some(boards) = self.boards {
            settings.capacity = boards as usize;
        }
        if let Some(samples) = self.samples {
            settings.samples = samples as usize;
        }
        if let Some(depth) = self.depth {
            settings.depth = depth as u32;
        }
        if let Some(nodes) = self.nodes {
            settings.nodes = nodes;
        }
        if let Some(simulations) = self.simulations {
            settings.simulations = simulations as u32;
        }
        if let Some(threads) = self.threads {
            settings.threads = threads as usize;
        }
        if let Some(milliseconds) = self.turn {
            settings.turn = Duration::from_millis(milliseconds);
        }
        settings
    }

    /// Creates players with these options.
    pub fn players(&self) -> Players {
        Players::new(self.settings(), self.network.clone().unwrap_or_default())
    }
}

/// Returns the first paragraph of an error message of clap as one line.
fn summarize(error: &clap::Error) -> String {
    let message = error.to_string();
    let lines = message.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Preset {
        match name {
            PresetName::Best => Preset::Best,
            PresetName::Paper => Preset::Paper,
        }
    }
}

impl From<SenseName> for SensePolicy {
    fn from(name: SenseName) -> SensePolicy {
        match name {
            SenseName::Gain => SensePolicy::Gain,
            SenseName::Entropy => SensePolicy::Entropy,
            SenseName::Reduction => SensePolicy::Reduction,
            SenseName::Naive => SensePolicy::Naive,
        }
    }
}

impl From<WeightsName> for Weighting {
    fn from(name: WeightsName) -> Weighting {
        match name {
            WeightsName::Network => Weighting::Network,
            WeightsName::Habits => Weighting::Habits,
            WeightsName::Even => Weighting::Even,
        }
    }
}

impl From<CombineName> for Combination {
    fn from(name: CombineName) -> Combination {
        match name {
            CombineName::Mean => Combination::MeanAndQuantile,
            CombineName::Vote => Combination::Vote,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_preset() {
        let options = PlayerOptions::from_pairs([("depth", "2"), ("preset", "paper")]);
        let settings = options.expect("valid options").settings();
        assert_eq!(settings, Settings { depth: 2, ..Preset::Paper.settings() });
        let options = PlayerOptions::from_pairs([]).expect("no options");
        assert_eq!(options.settings(), Preset::Best.settings());
    }

    #[test]
    fn options_that_are_invalid_are_quoted() {
        for (name, value, quote) in [
            ("boards", "0", "'0' for '--boards <N>'"),
            ("turn", "soon", "'soon' for '--turn"),
            ("sense", "smell", "'smell' for '--sense"),
            ("simulations", "10001", "'10001' for '--simulations"),
            ("color", "red", "'--color'"),
            ("help", "me", "'--help'"),
            ("", "x", "unexpected"),
        ] {
            let error = PlayerOptions::from_pairs([(name, value)]).expect_err(name).to_string();
            assert!(error.contains(quote) && !error.contains('\n'), "{name}: {error}");
        }
    }

    #[test]
    fn options_that_are_repeated_take_the_last_value() {
        let options = PlayerOptions::from_pairs([("depth", "2"), ("depth", "3")]);
        assert_eq!(options.expect("valid options").settings().depth, 3);
    }
}

//! Makes a network for CPUs that computes in integers of eight bits: `export NETWORK.onnx`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use menagerie::encoding::Encoding;
use menagerie::evaluation::{Passport, Weights};
use menagerie::variant::Catalogue;
use trainer::calibration::{from_games, from_random_play};
use trainer::{onnx, record};

/// Quantises a network that the trainer wrote: NAME.onnx to NAME.int8.onnx beside it, which the
/// engine then runs in its place on a CPU.
#[derive(Debug, Parser)]
struct Arguments {
    /// The network.
    network: PathBuf,
    /// Files of recorded games, by which it is calibrated; random play if none are given.
    #[arg(long, num_args = 1..)]
    records: Vec<PathBuf>,
    /// Positions to calibrate by.
    #[arg(long, default_value_t = 2000)]
    positions: usize,
    /// The seed of random play.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let path = &arguments.network;
    let quantised = Weights::quantised_path(path)
        .with_context(|| format!("{}: its name does not end in .onnx", path.display()))?;
    let named = || path.display().to_string();
    let file = std::fs::read(path).with_context(named)?;
    let (network, metadata) = onnx::read(&file).with_context(named)?;
    let passport = Passport::read(|key| {
        let found = metadata.iter().find(|(found, _)| found == key);
        found.map(|(_, value)| value.clone())
    })?;
    let name = passport.variants.split_whitespace().next().unwrap_or_default();
    let variant = Catalogue::shipped().require(name)?;
    let encoding = Encoding::of(&variant.start());
    passport.check(&encoding, name)?;
    let planes = if arguments.records.is_empty() {
        from_random_play(&variant, &encoding, arguments.positions, arguments.seed)
    } else {
        let mut games = Vec::new();
        for path in &arguments.records {
            games.extend(record::read(path)?);
        }
        from_games(&variant, &encoding, games.iter(), arguments.positions)
    };
    let bytes = onnx::quantise(&file, &planes).with_context(named)?;
    record::replace(&quantised, &bytes)?;
    println!(
        "{}: {:?}, calibrated by {} positions of {name}",
        quantised.display(),
        network.architecture(),
        planes.len() / encoding.shape().input()
    );
    Ok(())
}

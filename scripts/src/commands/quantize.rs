//! Makes a network for CPUs that computes in integers of eight bits: `export NETWORK.onnx`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{NetworkMetadata, Onnx, Weights};
use trainer::calibration::{from_games, from_random_play, planes};
use trainer::quantization_check::Agreement;
use trainer::variants::{find_variant, read_sections};
use trainer::{onnx, readers, record};

/// Quantises a network that the trainer wrote: NAME.onnx to NAME.int8.onnx beside it, which the
/// engine then runs in its place on a CPU.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The network.
    network: PathBuf,
    /// Files of games, of any form that `train` reads, by which it is calibrated; random play if
    /// none are given.
    #[arg(long, num_args = 1..)]
    records: Vec<PathBuf>,
    /// Positions to calibrate by.
    #[arg(long, default_value_t = 2000)]
    positions: usize,
    /// A file of your own games, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The seed of random play.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let path = &arguments.network;
    let quantised = Weights::quantised_path(path)
        .with_context(|| format!("{}: its name does not end in .onnx", path.display()))?;
    let named = || path.display().to_string();
    let file = std::fs::read(path).with_context(named)?;
    let (network, metadata) = onnx::read(&file).with_context(named)?;
    let network_metadata = NetworkMetadata::read(|key| {
        let found = metadata.iter().find(|(found, _)| found == key);
        found.map(|(_, value)| value.clone())
    })?;
    let name = network_metadata.variants.split_whitespace().next().unwrap_or_default();
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(name, &sections)?;
    let encoding = Encoding::of(&variant.start());
    network_metadata.check(&encoding, name)?;
    // Half to calibrate by, half to see by what came of it.
    let wanted = 2 * arguments.positions;
    let positions = if arguments.records.is_empty() {
        from_random_play(&variant, wanted, arguments.seed)
    } else {
        let read = readers::read_all(&arguments.records, &variant)?;
        read.faults.iter().for_each(|fault| eprintln!("{fault}"));
        from_games(&variant, read.games.iter(), wanted)
    };
    let (seen, unseen) = positions.split_at(positions.len() / 2);
    let bytes = onnx::quantise(&file, &planes(&encoding, seen)).with_context(named)?;
    record::replace(&quantised, &bytes)?;
    println!(
        "{}: {:?}, calibrated by {} positions of {name}",
        quantised.display(),
        network.architecture(),
        seen.len()
    );
    let open = |bytes: &[u8]| Onnx::open(bytes, &encoding, name, Backend::Cpu, 1);
    let Agreement { positions, same_move, mean_gap, greatest_gap } =
        Agreement::of(&mut open(&file)?, &mut open(&bytes)?, &encoding, unseen)?;
    println!(
        "in {positions} others the likeliest move is the same in {:.2}%; the expected scores are \
         {mean_gap:.4} apart on average, {greatest_gap:.3} at most",
        100.0 * same_move
    );
    Ok(())
}

//! `trainer quantize NETWORK.onnx`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{NetworkMetadata, Onnx, Weights};
use trainer::calibration::{from_games, from_random_play, planes};
use trainer::print_line;
use trainer::quantization_check::Agreement;
use trainer::variants::find_variant_in;
use trainer::{onnx, readers, record};

/// Quantizes a network of the trainer to int8: NAME.onnx to NAME.int8.onnx in the same folder, which the engine
/// then uses on a CPU.
#[derive(Debug, Args)]
pub(crate) struct QuantizeArguments {
    /// The network.
    network: PathBuf,
    /// Files of games for the calibration, in any format of `trainer train`; random play if not given.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    records: Vec<PathBuf>,
    /// Positions for the calibration.
    #[arg(long, default_value_t = 2000)]
    positions: usize,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// Seed of random play.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: QuantizeArguments) -> anyhow::Result<()> {
    let path = &arguments.network;
    let quantised = Weights::quantised_path(path).with_context(|| {
        format!("{}: the name must end with .onnx, and not with .int8.onnx", path.display())
    })?;
    let file_name = || path.display().to_string();
    let file = std::fs::read(path).with_context(file_name)?;
    let (network, metadata) = onnx::read(&file).with_context(file_name)?;
    let network_metadata = NetworkMetadata::read(|key| {
        let found = metadata.iter().find(|(found, _)| found == key);
        found.map(|(_, value)| value.clone())
    })?;
    let name = network_metadata.variants.split_whitespace().next().unwrap_or_default();
    let variant = find_variant_in(name, arguments.variants.as_deref())?;
    let encoding = Encoding::of(&variant.start());
    network_metadata.check(&encoding, name)?;
    // One half for the calibration, the other one to measure the loss.
    let wanted = 2 * arguments.positions;
    let positions = if arguments.records.is_empty() {
        from_random_play(&variant, wanted, arguments.seed)
    } else {
        let read = readers::read_all(&arguments.records, &variant)?;
        for error in &read.errors {
            eprintln!("{error}");
        }
        from_games(&variant, read.games.iter(), wanted)
    };
    let (calibration, held_out) = positions.split_at(positions.len() / 2);
    let bytes = onnx::quantise(&file, &planes(&encoding, calibration)).with_context(file_name)?;
    record::replace(&quantised, &bytes)?;
    print_line!(
        "{}: {:?}, calibrated with {} positions of {name}",
        quantised.display(),
        network.architecture(),
        calibration.len()
    );
    let open = |bytes: &[u8]| Onnx::open(bytes, &encoding, name, Backend::Cpu, 1);
    let Agreement { positions, same_move, mean_gap, greatest_gap } =
        Agreement::of(&mut open(&file)?, &mut open(&bytes)?, &encoding, held_out)?;
    print_line!(
        "{positions} other positions: same likeliest move {:.2} %, difference of expected scores {mean_gap:.4} on \
         average, {greatest_gap:.3} at most",
        100.0 * same_move
    );
    Ok(())
}

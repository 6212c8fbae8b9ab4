//! `trainer accuracy VARIANT NETWORKS.. --records GAMES..`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use menagerie::encoding::Encoding;
use menagerie::nn::Onnx;
use menagerie::nn::network::Backend;
use trainer::print_line;
use trainer::sparse::{HeldOut, Measures};
use trainer::variants::find_variant_in;

/// Measures networks on the labelled games that training of sparse networks holds out.
#[derive(Debug, Args)]
pub(crate) struct AccuracyArguments {
    /// The variant.
    variant: String,
    /// Networks of the variant.
    #[arg(required = true)]
    networks: Vec<PathBuf>,
    /// Labelled games (tsv, tsv.gz), games of self-play (games), and histories of RBC (json, json.gz).
    #[arg(long, required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// One game in this number is held out, by a hash of its start.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    held_out_of: u32,
    /// Positions at most.
    #[arg(long, default_value_t = 12_288)]
    positions: usize,
}

pub(crate) fn run(arguments: AccuracyArguments) -> anyhow::Result<()> {
    let AccuracyArguments { variant, networks, records, variants, held_out_of, positions } =
        arguments;
    let variant = find_variant_in(&variant, variants.as_deref())?;
    let held_out = HeldOut::read(&variant, &records, held_out_of, positions)?;
    let (positions, bad_games) = (held_out.len(), held_out.bad_games());
    print_line!("{positions} positions held out ({bad_games} games unreadable)");
    print_line!("  top-1    top-3  policy CE   sign  value error  network");
    for path in &networks {
        let name = path.display();
        let bytes = std::fs::read(path).with_context(|| name.to_string())?;
        let encoding = Encoding::of(&variant.start());
        let mut network = Onnx::open(&bytes, &encoding, variant.name(), Backend::Cpu, 1)
            .with_context(|| name.to_string())?;
        let Measures { top1, top3, policy, sign, error, .. } = held_out.measure(&mut network)?;
        print_line!(
            "{:>6.2} % {:>6.2} % {policy:>9.4} {:>5.1} % {error:>11.4}  {name}",
            100.0 * top1,
            100.0 * top3,
            100.0 * sign,
        );
    }
    Ok(())
}

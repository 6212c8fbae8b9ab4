//! The executable of the trainer. Each command is a module of `commands`.

#![warn(clippy::print_stdout)]

mod commands;

use std::io::{Write, stdout};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use commands::{
    accuracy, campaign, datagen, gather, gauntlet, matches, measure_speed, plot, quantize, rescore,
    selfplay, solve, train, train_sparse, verify,
};
use menagerie::protocol::VersionReport;
use trainer::console;

/// Trains networks for Menagerie, and plays matches.
#[derive(Debug, Parser)]
#[command(name = "trainer", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Train(train::TrainArguments),
    Sparse(train_sparse::SparseArguments),
    Selfplay(selfplay::SelfplayArguments),
    Datagen(datagen::DatagenArguments),
    Gather(gather::GatherArguments),
    Rescore(rescore::RescoreArguments),
    Campaign(campaign::CampaignArguments),
    Quantize(quantize::QuantizeArguments),
    Match(matches::MatchArguments),
    Gauntlet(gauntlet::GauntletArguments),
    Accuracy(accuracy::AccuracyArguments),
    Verify(verify::VerifyArguments),
    Solve(solve::SolveArguments),
    Plot(plot::PlotArguments),
    Speed(measure_speed::SpeedArguments),
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = match Arguments::try_parse() {
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            let report = VersionReport::collect(concat!("trainer ", env!("CARGO_PKG_VERSION")));
            writeln!(stdout(), "{report}")?;
            return Ok(ExitCode::SUCCESS);
        }
        arguments => arguments.unwrap_or_else(|error| error.exit()),
    };
    let code = run(arguments.command)?;
    match console::take_error() {
        Some(error) => Err(error).context("standard output"),
        None => Ok(code),
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Campaign(arguments) => return campaign::run(arguments),
        Command::Train(arguments) => return train::run(arguments),
        Command::Sparse(arguments) => train_sparse::run(arguments),
        Command::Selfplay(arguments) => return selfplay::run(arguments),
        Command::Datagen(arguments) => return datagen::run(arguments),
        Command::Gather(arguments) => gather::run(arguments),
        Command::Rescore(arguments) => return rescore::run(arguments),
        Command::Quantize(arguments) => quantize::run(arguments),
        Command::Match(arguments) => return matches::run(arguments),
        Command::Gauntlet(arguments) => return gauntlet::run(arguments),
        Command::Accuracy(arguments) => accuracy::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Solve(arguments) => solve::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Speed(arguments) => measure_speed::run(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

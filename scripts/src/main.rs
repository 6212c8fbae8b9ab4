//! The trainer's executable: one command line, a module a command.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use commands::{
    accuracy, campaign, datagen, gauntlet, matches, measure_speed, plot, quantize, selfplay, solve,
    train, train_sparse, verify,
};

/// Trains networks for Menagerie, and plays matches.
#[derive(Debug, Parser)]
#[command(name = "trainer", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Train(train::Arguments),
    Sparse(train_sparse::Arguments),
    Selfplay(selfplay::Arguments),
    Datagen(datagen::Arguments),
    Campaign(campaign::Arguments),
    Quantize(quantize::Arguments),
    Match(matches::Arguments),
    Gauntlet(gauntlet::Arguments),
    Accuracy(accuracy::Arguments),
    Verify(verify::Arguments),
    Solve(solve::Arguments),
    Plot(plot::Arguments),
    Speed(measure_speed::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Campaign(arguments) => return campaign::run(arguments),
        Command::Train(arguments) => train::run(arguments),
        Command::Sparse(arguments) => train_sparse::run(arguments),
        Command::Selfplay(arguments) => selfplay::run(arguments),
        Command::Datagen(arguments) => datagen::run(arguments),
        Command::Quantize(arguments) => quantize::run(arguments),
        Command::Match(arguments) => matches::run(arguments),
        Command::Gauntlet(arguments) => gauntlet::run(arguments),
        Command::Accuracy(arguments) => accuracy::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Solve(arguments) => solve::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Speed(arguments) => measure_speed::run(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

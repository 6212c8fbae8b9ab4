//! The engine's executable.

use std::error::Error;
use std::io::{BufReader, Write, stdin, stdout};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use menagerie::protocol;

/// An engine for chess variants.
///
/// Without a command it speaks a protocol over standard input and output: XBoard if the first line is `xboard`,
/// otherwise UCI. The environment variable RUST_LOG enables diagnostics on standard error.
#[derive(Debug, Parser)]
#[command(name = "menagerie", display_name = "Menagerie", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Search fixed positions and print a signature of the search
    Bench {
        /// The number of threads
        #[arg(default_value_t = 1)]
        threads: usize,
    },
    /// Check a file of variants
    Check {
        /// The file, or several separated as in PATH
        file: String,
    },
}

fn main() -> ExitCode {
    env_logger::init();
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<Command>) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        None => protocol::run(BufReader::new(stdin()), stdout())?,
        Some(Command::Bench { threads }) => {
            let mut lines = Vec::new();
            protocol::bench(threads, |line| lines.push(line.to_owned()))?;
            writeln!(stdout(), "{}", lines.join("\n"))?;
        }
        Some(Command::Check { file }) => {
            let check = protocol::check(&file);
            if !check.is_valid() {
                eprintln!("{check}");
                return Ok(ExitCode::FAILURE);
            }
            writeln!(stdout(), "{check}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

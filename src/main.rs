//! The engine's executable.

use std::error::Error;
use std::io::{BufReader, Write, stdin, stdout};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use menagerie::protocol::{self, VersionReport};

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
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: u16,
    },
    /// Check a file of variants
    Check {
        /// The file, or several separated as in PATH
        file: String,
    },
}

fn main() -> ExitCode {
    env_logger::init();
    let arguments = match Arguments::try_parse() {
        Err(error) if error.kind() == ErrorKind::DisplayVersion => return print_version(),
        arguments => arguments.unwrap_or_else(|error| error.exit()),
    };
    match run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the version of the engine and of what it finds.
fn print_version() -> ExitCode {
    let report = VersionReport::collect(concat!("Menagerie ", env!("CARGO_PKG_VERSION")));
    match writeln!(stdout(), "{report}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(command: Option<Command>) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        None => protocol::run(BufReader::new(stdin()), stdout())?,
        Some(Command::Bench { threads }) => {
            let mut lines = Vec::new();
            protocol::bench(threads.into(), |line| lines.push(line.to_owned()))?;
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

//! The executable: reconnaissance blind chess over the line protocol or on a server, and replay of histories.

mod server;

use std::io::{BufReader, Write, stdin, stdout};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use menagerie::protocol::VersionReport;
use menagerie_rbc::{PlayerOptions, check_files, run_line_protocol};

use server::{ServerOptions, run_server};

/// Plays reconnaissance blind chess (RBC).
///
/// Without a command it plays over standard input and output, as with `play`. The environment variable
/// RUST_LOG enables a log on standard error.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, args_override_self = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    player: PlayerOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Plays over standard input and output by the line protocol (the default)
    #[command(args_override_self = true)]
    Play {
        #[command(flatten)]
        player: PlayerOptions,
    },
    /// Plays on a server
    ///
    /// User and password are the values of the environment variables MENAGERIE_RBC_USER and
    /// MENAGERIE_RBC_PASSWORD, or the two lines of the file --credentials. SIGINT or SIGTERM lets the games
    /// in progress end first; the second signal ends the client at once.
    #[command(args_override_self = true)]
    Server {
        #[command(flatten)]
        server: ServerOptions,
        #[command(flatten)]
        player: PlayerOptions,
    },
    /// Replays histories and test cases of reconchess; the exit code is 1 if anything differs
    Check {
        /// Histories, test cases, or lists of histories
        #[arg(required = true)]
        files: Vec<String>,
    },
}

fn main() -> ExitCode {
    env_logger::init();
    let result = match Arguments::try_parse() {
        Err(error) if error.kind() == ErrorKind::DisplayVersion => print_version(),
        arguments => run(arguments.unwrap_or_else(|error| error.exit())),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("menagerie-rbc: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the version of the executable and of what it finds.
fn print_version() -> anyhow::Result<ExitCode> {
    let report = VersionReport::collect(concat!("menagerie-rbc ", env!("CARGO_PKG_VERSION")));
    writeln!(stdout(), "{report}")?;
    Ok(ExitCode::SUCCESS)
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command.unwrap_or(Command::Play { player: arguments.player }) {
        Command::Play { player } => {
            run_line_protocol(BufReader::new(stdin()), stdout(), &player.players())?;
        }
        Command::Server { server, player } => run_server(&server, &player.players(), stdout())?,
        Command::Check { files } => {
            let report = check_files(&files);
            writeln!(stdout(), "{}", report.lines.join("\n"))?;
            if !report.passed {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

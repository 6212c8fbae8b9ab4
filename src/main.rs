//! The engine's executable.

use std::io::{BufReader, Write, stdin, stdout};
use std::process::ExitCode;

use lexopt::prelude::*;
use menagerie::protocol;

const HELP: &str = "\
Menagerie, an engine for chess variants.

Usage: menagerie             speaks over standard input and output: the protocol of XBoard
                             if the first line is xboard, otherwise UCI
       menagerie bench [N]   searches fixed positions with N threads, ends with a signature
       menagerie check FILE  tells what is wrong with a file of variants
       menagerie --version
       menagerie --help

Diagnostics go to standard error if the environment variable RUST_LOG asks for them.";

fn main() -> ExitCode {
    env_logger::init();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("menagerie: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), lexopt::Error> {
    let mut arguments = lexopt::Parser::from_env();
    let said = match arguments.next()? {
        None => {
            protocol::run(BufReader::new(stdin()), stdout()).map_err(words)?;
            return Ok(());
        }
        Some(Long("version") | Short('V')) => {
            concat!("Menagerie ", env!("CARGO_PKG_VERSION")).to_owned()
        }
        Some(Long("help") | Short('h')) => HELP.to_owned(),
        Some(Value(command)) if command == "bench" => {
            let threads = match arguments.next()? {
                None => 1,
                Some(Value(threads)) => threads.parse()?,
                Some(other) => return Err(other.unexpected()),
            };
            let mut lines = Vec::new();
            protocol::bench(threads, |line| lines.push(line.to_owned()))?;
            lines.join("\n")
        }
        Some(Value(command)) if command == "check" => {
            protocol::check(&arguments.value()?.string()?)?
        }
        Some(other) => return Err(other.unexpected()),
    };
    if let Some(other) = arguments.next()? {
        return Err(other.unexpected());
    }
    writeln!(stdout(), "{said}").map_err(words)?;
    Ok(())
}

fn words(error: std::io::Error) -> lexopt::Error {
    error.to_string().into()
}

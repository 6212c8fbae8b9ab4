//! The engine's executable.

use std::io::{BufReader, Write, stdin, stdout};
use std::process::ExitCode;

use lexopt::prelude::*;
use menagerie::protocol;

const HELP: &str = "\
Menagerie, an engine for chess variants.

Usage: menagerie             speaks over standard input and output: the protocol of XBoard
                             if the first line is xboard, that of blind chess if it is rbc,
                             otherwise UCI
       menagerie bench [N]   searches fixed positions with N threads, ends with a signature
       menagerie check FILE  tells what is wrong with a file of variants
       menagerie rbc [--preset best|paper] [--sense gain|entropy|reduction|naive]
                     [--weights network|habits|even] [--network FILE]
                     [--combine mean|vote] [--simulations N]
                     [--boards N] [--samples N] [--depth N] [--threads N]
                     [--turn MILLISECONDS]
                             plays reconnaissance blind chess over standard input and output
       menagerie rbc --server URL [--user NAME] [--credentials FILE] [--games N]
                     [--invite NAME,..] [--ranked [--new-version]] [--total N] [--once]
                     [--state FOLDER] [options of the player]
                             plays it on a server; name and password are those of the environment
                             variables MENAGERIE_RBC_USER and MENAGERIE_RBC_PASSWORD, or the two
                             lines of FILE
       menagerie rbc check FILES...
                             replays games and cases of reconnaissance blind chess
       menagerie --version
       menagerie --help

Diagnostics go to standard error if the environment variable RUST_LOG asks for them.";

fn main() -> ExitCode {
    env_logger::init();
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("menagerie: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, lexopt::Error> {
    let mut arguments = lexopt::Parser::from_env();
    let said = match arguments.next()? {
        None => {
            protocol::run(BufReader::new(stdin()), stdout()).map_err(words)?;
            return Ok(ExitCode::SUCCESS);
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
        Some(Value(command)) if command == "rbc" => return rbc(arguments),
        Some(Value(command)) if command == "check" => {
            protocol::check(&arguments.value()?.string()?)?
        }
        Some(other) => return Err(other.unexpected()),
    };
    if let Some(other) = arguments.next()? {
        return Err(other.unexpected());
    }
    writeln!(stdout(), "{said}").map_err(words)?;
    Ok(ExitCode::SUCCESS)
}

/// What follows the word `rbc`: options of the player, or files to check.
fn rbc(mut arguments: lexopt::Parser) -> Result<ExitCode, lexopt::Error> {
    let mut options = Vec::new();
    let mut files: Option<Vec<String>> = None;
    while let Some(argument) = arguments.next()? {
        match (argument, &mut files) {
            (Value(file), Some(files)) => files.push(file.string()?),
            (Value(command), None) if command == "check" => files = Some(Vec::new()),
            (Long(name), None) => {
                let name = name.to_owned();
                let value = match protocol::rbc::is_flag(&name) {
                    true => String::new(),
                    false => arguments.value()?.string()?,
                };
                options.push((name, value));
            }
            (other, _) => return Err(other.unexpected()),
        }
    }
    if options.iter().any(|(name, _)| name == "server") {
        if files.is_some() {
            return Err("--server plays, and check replays: which of them?".into());
        }
        protocol::rbc::serve(&options, stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(files) = files else {
        let players = protocol::rbc::Players::read(&options)?;
        protocol::run_rbc(BufReader::new(stdin()), stdout(), &players).map_err(words)?;
        return Ok(ExitCode::SUCCESS);
    };
    let checked = protocol::rbc::check(&files);
    writeln!(stdout(), "{}", checked.lines.join("\n")).map_err(words)?;
    Ok(if checked.same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(error: std::io::Error) -> lexopt::Error {
    error.to_string().into()
}

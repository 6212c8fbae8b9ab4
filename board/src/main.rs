//! The executable `board`: serves the page and opens it in the browser.

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, bail};
use board::{Server, ServerOptions, locate_page};
use clap::Parser;
use menagerie::engine::add_variant_files;
use menagerie::variant::Catalogue;
use tokio::net::TcpListener;

/// A web board to play every game of Menagerie and to analyse it.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Port of the page; 0 for any free port
    #[arg(long, default_value_t = 8017)]
    port: u16,
    /// Address to listen on; other machines also need --allow-remote
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Lets other machines use the engine
    #[arg(long)]
    allow_remote: bool,
    /// Does not open the browser
    #[arg(long)]
    no_open: bool,
    /// Maximum number of tabs, each with an engine session
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    sessions: u16,
    /// Files of further variants, in the syntax of variants.ini, separated as in VariantPath
    #[arg(long, default_value = "")]
    variants: String,
}

fn main() -> ExitCode {
    env_logger::init();
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("board: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let page = locate_page()?;
    let is_local = arguments.host == "localhost"
        || arguments.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if !is_local && !arguments.allow_remote {
        bail!("other machines could use the engine at {}, add --allow-remote", arguments.host);
    }
    let server = Server::new(ServerOptions {
        page,
        catalogue: read_variants(&arguments.variants),
        sessions: usize::from(arguments.sessions),
        remote_host: if is_local { None } else { Some(arguments.host.clone()) },
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = (&*arguments.host, arguments.port);
        let listener = TcpListener::bind(host)
            .await
            .with_context(|| format!("cannot listen on {}:{}", arguments.host, arguments.port))?;
        let address = Server::page_address(listener.local_addr()?);
        println!("{address}");
        if !is_local {
            println!(
                "warning: everyone who reaches {} can use the engine; there are no passwords",
                arguments.host
            );
        }
        if !arguments.no_open
            && let Err(error) = opener::open_browser(&address)
        {
            println!("open {address} in a browser ({error})");
        }
        server.serve(listener).await?;
        Ok(())
    })
}

/// Returns the shipped variants and those of `paths`, for the life of the process.
fn read_variants(paths: &str) -> &'static Catalogue {
    if paths.is_empty() {
        return Catalogue::shipped();
    }
    let (catalogue, errors) = add_variant_files(Catalogue::shipped(), paths);
    for error in errors {
        eprintln!("board: {error}");
    }
    Box::leak(Box::new(catalogue))
}

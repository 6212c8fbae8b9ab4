//! Marks networks of a solved game against its exact solution: `oracle VARIANT NETWORK...`.

use std::path::PathBuf;

use clap::Parser;
use menagerie::encoding::Encoding;
use menagerie::evaluation::network::Backend;
use menagerie::evaluation::{Cached, Onnx};
use menagerie::search::Params;
use menagerie::variant::Catalogue;
use trainer::oracle::mark;
use trainer::retrograde::Solution;

/// Marks the play of networks in all positions of a solved game.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, which must be small enough to be solved.
    variant: String,
    /// Networks of it.
    networks: Vec<PathBuf>,
    /// Visits of a search; 1 is the bare network.
    #[arg(long, value_delimiter = ',', default_value = "1,50,400")]
    visits: Vec<u32>,
    /// Names the positions that were played wrong.
    #[arg(long)]
    faults: bool,
    /// Parameters of the search, as name=value.
    #[arg(long = "set", value_parser = setting)]
    settings: Vec<(String, f32)>,
}

fn setting(text: &str) -> Result<(String, f32), String> {
    let (name, value) = text.split_once('=').ok_or("it is not name=value")?;
    Ok((name.to_owned(), value.parse().map_err(|_| format!("\"{value}\" is no number"))?))
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let variant = Catalogue::shipped().get(&arguments.variant);
    let variant =
        variant.ok_or_else(|| anyhow::anyhow!("no variant is called \"{}\"", arguments.variant))?;
    let solution = Solution::of(&variant)?;
    let mut params = Params::default();
    for (name, value) in &arguments.settings {
        params.set(name, *value).map_err(anyhow::Error::msg)?;
    }
    let encoding = Encoding::of(&variant.start());
    println!("network,visits,positions,result_kept,wins,won_quickest");
    for path in &arguments.networks {
        let file = std::fs::read(path)?;
        let network = Onnx::open(&file, &encoding, variant.name(), Backend::Cpu, 1)?;
        let mut evaluator = Cached::new(network, 64 << 20);
        for &visits in &arguments.visits {
            let marks = mark(&solution, &mut evaluator, params, visits)?;
            let (kept, quickest) = (marks.kept_share(), marks.quickest_share());
            let (positions, wins) = (marks.positions, marks.wins);
            println!("{},{visits},{positions},{kept:.5},{wins},{quickest:.5}", path.display());
            if arguments.faults {
                marks.faults.iter().for_each(|fault| println!("# {fault}"));
            }
        }
    }
    Ok(())
}

//! Marks networks of a solved game, or a UCI engine, against its exact solution:
//! `oracle VARIANT NETWORK...`, `oracle VARIANT --engine EXECUTABLE`.

use std::path::{Path, PathBuf};

use clap::Parser;
use menagerie::encoding::Encoding;
use menagerie::evaluation::network::Backend;
use menagerie::evaluation::{Cached, Opened, Weights};
use menagerie::search::Params;
use menagerie::variant::Catalogue;
use trainer::oracle::{Marks, mark, mark_engine};
use trainer::retrograde::Solution;
use trainer::uci_engine::UciEngine;

/// Marks the play of networks in all positions of a solved game.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, which must be small enough to be solved.
    variant: String,
    /// Networks of it.
    networks: Vec<PathBuf>,
    /// A UCI engine to mark.
    #[arg(long)]
    engine: Option<PathBuf>,
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
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    let solution = Solution::of(&variant)?;
    let mut params = Params::default();
    for (name, value) in &arguments.settings {
        params.set(name, *value).map_err(anyhow::Error::msg)?;
    }
    let encoding = Encoding::of(&variant.start());
    println!("player,visits,positions,result_kept,wins,won_quickest");
    if let Some(path) = &arguments.engine {
        let mut engine = UciEngine::start(path)?;
        engine.set("UCI_Variant", variant.name())?;
        for &visits in &arguments.visits {
            let marks = mark_engine(&solution, &mut engine, visits)?;
            tell(path, visits, &marks, arguments.faults);
        }
    }
    for path in &arguments.networks {
        let weights = Weights::read(path, &path.display().to_string())?;
        let Opened { network, file, notes } =
            weights.open(&encoding, variant.name(), Backend::Cpu)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        let path = Path::new(&file.name);
        let mut evaluator = Cached::new(network, 64 << 20);
        for &visits in &arguments.visits {
            tell(path, visits, &mark(&solution, &mut evaluator, params, visits)?, arguments.faults);
        }
    }
    Ok(())
}

fn tell(player: &Path, visits: u32, marks: &Marks, faults: bool) {
    let (kept, quickest) = (marks.kept_share(), marks.quickest_share());
    let (positions, wins) = (marks.positions, marks.wins);
    println!("{},{visits},{positions},{kept:.5},{wins},{quickest:.5}", player.display());
    if faults {
        marks.faults.iter().for_each(|fault| println!("# {fault}"));
    }
}

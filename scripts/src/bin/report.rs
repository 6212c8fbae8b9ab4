//! The story of a run of a solved game: `report VARIANT RUN` writes a table and a picture.

use std::path::{Path, PathBuf};

use clap::Parser;
use menagerie::variant::Catalogue;
use trainer::report::{draw, moments, samples};
use trainer::retrograde::Solution;
use trainer::store::Store;

/// Marks the networks of a run against the exact solution of its game, and draws how they learned.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, which must be small enough to be solved.
    variant: String,
    /// The folder of the run.
    run: String,
    /// Every so many networks are marked.
    #[arg(long, default_value_t = 8)]
    step: u64,
    /// Visits of the search that is marked beside the bare network.
    #[arg(long, default_value_t = 50)]
    visits: u32,
    /// Where the picture goes; RUN/report.svg if not given.
    #[arg(long)]
    picture: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    let solution = Solution::of(&variant)?;
    let samples = samples(&variant, &solution);
    samples.iter().for_each(|sample| println!("# {}, {:?}", sample.name, sample.value));
    let store = Store::open(&arguments.run)?;
    let moments = moments(&store, &variant, &solution, arguments.step, arguments.visits)?;
    println!("iteration,cpu_minutes,bare_kept,search_kept,search_quickest,values,winning");
    for moment in &moments {
        let list = |numbers: &[f32]| {
            numbers.iter().map(|number| format!("{number:.3}")).collect::<Vec<_>>().join(" ")
        };
        println!(
            "{},{:.3},{:.5},{:.5},{:.5},{},{}",
            moment.iteration,
            moment.cpu_minutes,
            moment.bare_kept,
            moment.search_kept,
            moment.search_quickest,
            list(&moment.values),
            list(&moment.winning)
        );
    }
    let picture = arguments.picture.unwrap_or_else(|| Path::new(&arguments.run).join("report.svg"));
    draw(&picture, &samples, &moments, arguments.visits)?;
    println!("# {}", picture.display());
    Ok(())
}

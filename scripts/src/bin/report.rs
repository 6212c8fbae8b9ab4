//! What came of runs and matches: `report solved|accuracy|run|matches|ladders|curves`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Parser, Subcommand};
use menagerie::encoding::Encoding;
use menagerie::evaluation::Onnx;
use menagerie::evaluation::network::Backend;
use menagerie::variant::Catalogue;
use trainer::ladder;
use trainer::report::{curves, ladders, matches, run, solved};
use trainer::retrograde::Solution;
use trainer::sparse::{HeldOut, Measures};
use trainer::store::Store;

/// Tells in tables and pictures what came of runs and matches.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Marks the networks of a run against the exact solution of its game.
    Solved {
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
    },
    /// Measures networks on the labelled games that training of sparse networks holds out.
    Accuracy {
        /// The variant.
        variant: String,
        /// Networks of the variant.
        #[arg(required = true)]
        networks: Vec<PathBuf>,
        /// Labelled games, tsv or tsv.gz.
        #[arg(long, required = true, num_args = 1..)]
        records: Vec<PathBuf>,
        /// One game in this number is held out, by a hash of its start.
        #[arg(long, default_value_t = 50)]
        held_out_of: u32,
        /// Positions at most.
        #[arg(long, default_value_t = 12_288)]
        positions: usize,
    },
    /// Draws the log of a run: RUN/report.html.
    Run {
        /// The folder of the run.
        run: String,
        /// Folders of matches, in which networks of the run (nets/00040.onnx) play first.
        #[arg(long, num_args = 1..)]
        matches: Vec<PathBuf>,
    },
    /// Draws matches of the arena over the visits of their second players.
    Matches {
        /// Folders of matches.
        #[arg(required = true)]
        matches: Vec<PathBuf>,
        /// Where the picture goes.
        #[arg(long)]
        picture: PathBuf,
    },
    /// Draws how strong the networks of games became, over the CPU time of learning.
    Curves {
        /// A file that has the networks of each game, with their games against the ones before.
        file: PathBuf,
        /// Where the picture goes.
        #[arg(long)]
        picture: PathBuf,
    },
    /// Draws ladders of the arena beside one another.
    Ladders {
        /// Folders of ladders, or files of their results.
        #[arg(required = true)]
        ladders: Vec<PathBuf>,
        /// Where the picture goes.
        #[arg(long)]
        picture: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().subject {
        Subject::Solved { variant, run, step, visits, picture } => {
            let picture = picture.unwrap_or_else(|| Path::new(&run).join("report.svg"));
            tell_solved(&variant, &run, step, visits, &picture)
        }
        Subject::Accuracy { variant, networks, records, held_out_of, positions } => {
            tell_accuracy(&variant, &networks, &records, held_out_of, positions)
        }
        Subject::Run { run, matches } => {
            let store = Store::open(&run)?;
            store.write("report.html", run::page(&store, &matches)?.into_bytes())?;
            println!("{run}/report.html");
            Ok(())
        }
        Subject::Matches { matches, picture } => {
            println!("variant,player,opponent,visits,won,drawn,lost,mean_score,margin");
            for standing in matches::draw(&matches, &picture)? {
                let ([won, drawn, lost], (score, margin)) = (standing.games, standing.score());
                let matches::Standing { variant, player, opponent, visits, .. } = standing;
                println!(
                    "{variant},{player},{opponent},{visits},{won},{drawn},{lost},{score:.3},\
                     {margin:.3}"
                );
            }
            println!("# {}", picture.display());
            Ok(())
        }
        Subject::Curves { file, picture } => {
            let curves = curves::read(&file)?;
            println!("variant,cpu_minutes,elo,margin");
            for curves::Curve { variant, points } in &curves {
                for (minutes, rating) in points {
                    let (elo, margin) = (rating.elo, rating.margin());
                    println!("{variant},{minutes:.1},{elo:.0},{margin:.0}");
                }
            }
            curves::draw(&curves, &picture)?;
            println!("# {}", picture.display());
            Ok(())
        }
        Subject::Ladders { ladders, picture } => {
            let ladders = ladders.iter().map(|path| ladder::results(path));
            let ladders = ladders.collect::<anyhow::Result<Vec<_>>>()?;
            for standings in ladders::draw(&ladders, &picture)? {
                println!("{standings}");
            }
            println!("# {}", picture.display());
            Ok(())
        }
    }
}

/// Prints how networks do on games held out.
fn tell_accuracy(
    variant: &str,
    networks: &[PathBuf],
    records: &[PathBuf],
    held_out_of: u32,
    positions: usize,
) -> anyhow::Result<()> {
    anyhow::ensure!(held_out_of > 0, "held-out-of is 0");
    let variant = Catalogue::shipped().require(variant)?;
    let held_out = HeldOut::read(&variant, records, held_out_of, positions)?;
    println!("{} positions held out", held_out.len());
    println!("  top-1    top-3  policy CE   sign  value error  network");
    for path in networks {
        let name = path.display();
        let bytes = std::fs::read(path).with_context(|| name.to_string())?;
        let encoding = Encoding::of(&variant.start());
        let mut network = Onnx::open(&bytes, &encoding, variant.name(), Backend::Cpu, 1)
            .with_context(|| name.to_string())?;
        let Measures { top1, top3, policy, sign, error, .. } = held_out.measure(&mut network)?;
        println!(
            "{:>6.2} % {:>6.2} % {policy:>9.4} {:>5.1} % {error:>11.4}  {name}",
            100.0 * top1,
            100.0 * top3,
            100.0 * sign,
        );
    }
    Ok(())
}

fn tell_solved(
    variant: &str,
    run: &str,
    step: u64,
    visits: u32,
    picture: &Path,
) -> anyhow::Result<()> {
    let variant = Catalogue::shipped().require(variant)?;
    let solution = Solution::of(&variant)?;
    let samples = solved::samples(&variant, &solution);
    samples.iter().for_each(|sample| println!("# {}, {:?}", sample.name, sample.value));
    let moments = solved::moments(&Store::open(run)?, &variant, &solution, step, visits)?;
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
    solved::draw(picture, &samples, &moments, visits)?;
    println!("# {}", picture.display());
    Ok(())
}

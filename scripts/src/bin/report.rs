//! What came of runs and matches: `report solved|run|matches|ladders|curves`.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use menagerie::variant::Catalogue;
use trainer::ladder;
use trainer::report::{curves, ladders, matches, run, solved};
use trainer::retrograde::Solution;
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

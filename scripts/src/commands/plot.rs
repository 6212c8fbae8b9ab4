//! `trainer plot solved|run|matches`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use menagerie::variant::Catalogue;
use trainer::plot::{matches, run as run_page, solved};
use trainer::print_line;
use trainer::retrograde::Solution;
use trainer::store::Store;

/// Draws runs and matches, and prints the numbers.
#[derive(Debug, Args)]
pub(crate) struct PlotArguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Measures the networks of a run against the exact solution of its variant.
    Solved {
        /// The variant, which must be small enough to be solved.
        variant: String,
        /// Folder of the run.
        run: String,
        /// Measures every STEP-th network only.
        #[arg(long, default_value_t = 8)]
        step: u64,
        /// Visits of the search, which is measured in addition to the network without search.
        #[arg(long, default_value_t = 50)]
        visits: u32,
        /// File of the picture; RUN/report.svg if not given.
        #[arg(long)]
        picture: Option<PathBuf>,
    },
    /// Draws the metrics of a run: RUN/report.html.
    Run {
        /// Folder of the run.
        run: String,
        /// Folders of matches whose first players are networks of the run (nets/00040.onnx).
        #[arg(long, num_args = 1..)]
        matches: Vec<PathBuf>,
    },
    /// Draws the results of matches over the visits of their second players.
    Matches {
        /// Folders of matches.
        #[arg(required = true)]
        matches: Vec<PathBuf>,
        /// File of the picture.
        #[arg(long)]
        picture: PathBuf,
    },
}

pub(crate) fn run(arguments: PlotArguments) -> anyhow::Result<()> {
    match arguments.subject {
        Subject::Solved { variant, run, step, visits, picture } => {
            let picture = picture.unwrap_or_else(|| Path::new(&run).join("report.svg"));
            plot_solved(&variant, &run, step, visits, &picture)
        }
        Subject::Run { run, matches } => {
            let store = Store::open(&run)?;
            store.write("report.html", run_page::page(&store, &matches)?.into_bytes())?;
            print_line!("{run}/report.html");
            Ok(())
        }
        Subject::Matches { matches, picture } => {
            print_line!("variant,player,opponent,visits,won,drawn,lost,mean_score,margin");
            for result in matches::draw(&matches, &picture)? {
                let [won, drawn, lost] = result.games;
                let (score, margin) = result.score();
                let matches::MatchResult { variant, player, opponent, visits, .. } = result;
                print_line!(
                    "{variant},{player},{opponent},{visits},{won},{drawn},{lost},{score:.3},\
                     {margin:.3}"
                );
            }
            print_line!("# {}", picture.display());
            Ok(())
        }
    }
}

fn plot_solved(
    variant: &str,
    run: &str,
    step: u64,
    visits: u32,
    picture: &Path,
) -> anyhow::Result<()> {
    let variant = Catalogue::shipped().require(variant)?;
    let solution = Solution::of(&variant)?;
    let samples = solved::samples(&variant, &solution);
    for sample in &samples {
        print_line!("# {}, {:?}", sample.name, sample.value);
    }
    let rows = solved::measure_run(&Store::open(run)?, &variant, &solution, step, visits)?;
    print_line!("iteration,cpu_minutes,bare_kept,search_kept,search_quickest,values,winning");
    for row in &rows {
        print_line!(
            "{},{:.3},{:.5},{:.5},{:.5},{},{}",
            row.iteration,
            row.cpu_minutes,
            row.bare_kept,
            row.search_kept,
            row.search_quickest,
            join(&row.values),
            join(&row.winning)
        );
    }
    solved::draw(picture, &samples, &rows, visits)?;
    print_line!("# {}", picture.display());
    Ok(())
}

fn join(numbers: &[f32]) -> String {
    numbers.iter().map(|number| format!("{number:.3}")).collect::<Vec<_>>().join(" ")
}

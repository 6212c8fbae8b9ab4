//! `trainer solve VARIANT --table FILE`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cpu_time::ProcessTime;
use menagerie::rules::Value;
use menagerie::tablebase::Counts;
use trainer::retrograde::Solution;
use trainer::variants::find_variant_in;

use super::threads;
use trainer::print_line;

/// Solves a small game exactly, prints how its positions end, and writes the table with which the engine plays it
/// (option TablePath).
#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// The variant, which must be small enough to be solved.
    variant: String,
    /// File of the table.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// Threads; one for each core if not given.
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: SolveArguments) -> anyhow::Result<()> {
    let variant = find_variant_in(&arguments.variant, arguments.variants.as_deref())?;
    let threads = threads(arguments.threads);
    let begun = ProcessTime::now();
    let solution = Solution::with_threads(&variant, threads, |pieces, positions| {
        let spent = begun.elapsed().as_secs_f64();
        eprintln!(
            "{pieces} pieces and the kings: {positions} placements, {spent:.1} CPU seconds so far"
        );
    })?;
    print_line!("positions,{}", solution.len());
    print_line!(
        "to_move,positions,won,drawn,lost,mated,stalemated,longest_win_plies,longest_win_moves"
    );
    for (side, counts) in ["white", "black"].into_iter().zip(solution.table().counts()) {
        print_line!("{side},{}", row(&counts));
    }
    print_line!("cpu_minutes,{:.2}", minutes(begun.elapsed()));
    if let Some(path) = &arguments.table {
        let bytes = solution.save(&variant, path)?;
        print_line!("table,{},{bytes} bytes", path.display());
    }
    Ok(())
}

fn row(counts: &Counts) -> String {
    let score = |wanted: i8| counts.of(|value| value.score() == wanted);
    let longest = counts.longest_win().unwrap_or(0);
    let numbers = [
        counts.of(|_| true),
        score(1),
        score(0),
        score(-1),
        counts.of(|value| value == Value::Loss(0)),
        counts.ended_drawn(),
        longest.into(),
        longest.div_ceil(2).into(),
    ];
    numbers.map(|number| number.to_string()).join(",")
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

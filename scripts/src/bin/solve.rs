//! Solves a game of few positions: `solve VARIANT --table FILE`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cpu_time::ProcessTime;
use menagerie::rules::Value;
use menagerie::table::Counts;
use menagerie::variant::Catalogue;
use trainer::retrograde::Solution;

/// Solves a game exactly, tells how its positions end, and writes the table by which the engine
/// plays it (option TablePath).
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, which must be small enough to be solved.
    variant: String,
    /// Where the table goes.
    #[arg(long)]
    table: Option<PathBuf>,
    /// Files of games beside those that are shipped.
    #[arg(long, default_value = "")]
    variants: String,
    /// Threads to work with.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (catalogue, errors) =
        menagerie::engine::with_files(Catalogue::shipped(), &arguments.variants);
    errors.iter().for_each(|error| eprintln!("{error}"));
    let variant = catalogue.require(&arguments.variant)?;
    let begun = ProcessTime::now();
    let solution = Solution::with_threads(&variant, arguments.threads, |men, numbers| {
        let spent = begun.elapsed().as_secs_f64();
        eprintln!("{men} men beside the kings: {numbers} placings, {spent:.1} CPU seconds so far");
    })?;
    println!("positions,{}", solution.len());
    println!(
        "to_move,positions,won,drawn,lost,mated,stalemated,longest_win_plies,longest_win_moves"
    );
    for (side, counts) in ["white", "black"].into_iter().zip(solution.table().counts()) {
        println!("{side},{}", told(&counts));
    }
    println!("cpu_minutes,{:.2}", minutes(begun.elapsed()));
    if let Some(path) = &arguments.table {
        let bytes = solution.save(&variant, path)?;
        println!("table,{},{bytes} bytes", path.display());
    }
    Ok(())
}

fn told(counts: &Counts) -> String {
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

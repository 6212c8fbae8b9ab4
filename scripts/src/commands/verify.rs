//! `trainer verify VARIANT NETWORK..`, or with `--engine EXECUTABLE`, or with `--puzzles FILE`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cache, Evaluator, Opened, Uniform, Weights};
use menagerie::rules::{Position, Value};
use menagerie::search::{Params, Tree};
use menagerie::variant::Variant;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use trainer::ground_truth::{
    SolvedGameScore, best_move, engine_move, measure_engine, measure_search,
};
use trainer::print_line;
use trainer::puzzles::{Puzzle, PuzzleScore, play_puzzles};
use trainer::retrograde::Solution;
use trainer::uci_engine::{UciEngine, parse_name_value};
use trainer::variants::find_variant_in;

/// Measures networks and engines in all positions of a solved game, or in positions with known best moves.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The variant, which must be small enough to be solved, unless --puzzles is given.
    variant: String,
    /// Networks of the variant.
    networks: Vec<PathBuf>,
    /// A file of your own variants, in the syntax of variants.ini. An engine gets it as VariantPath.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// A UCI engine to measure.
    #[arg(long, value_name = "FILE")]
    engine: Option<PathBuf>,
    /// A file of positions with their best moves, for games of n in a row that are too large to be solved. Columns are
    /// separated by tabs: cells by rank from the top (`.` or the number of a side), side to move, outcomes, moves that
    /// keep the score, and best moves, as numbers of cells from 0 with commas between.
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// A table that `trainer solve` wrote, instead of solving the variant again.
    #[arg(long, value_name = "FILE", conflicts_with = "puzzles")]
    table: Option<PathBuf>,
    /// Number of random positions to measure, instead of all positions.
    #[arg(long)]
    sample: Option<usize>,
    /// Seed of the random positions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Options of the engine.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_name_value)]
    options: Vec<(String, String)>,
    /// Measures the search without a network, too.
    #[arg(long)]
    uniform: bool,
    /// Visits of the search; 1 is the network without search.
    #[arg(long, value_delimiter = ',', default_value = "1,50,400")]
    visits: Vec<u32>,
    /// Prints the positions with wrong moves.
    #[arg(long)]
    faults: bool,
    /// Parameters of the search.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    settings: Vec<(String, f32)>,
}

fn parse_parameter(text: &str) -> anyhow::Result<(String, f32)> {
    let (name, value) = parse_name_value(text)?;
    let number = value.parse();
    Ok((name, number.map_err(|_| anyhow::anyhow!("\"{value}\" is not a number"))?))
}

pub(crate) fn run(arguments: VerifyArguments) -> anyhow::Result<()> {
    let variant = find_variant_in(&arguments.variant, arguments.variants.as_deref())?;
    let mut params = Params::default();
    for (name, value) in &arguments.settings {
        params.set(name, *value).map_err(|error| anyhow::anyhow!("{error}"))?;
    }
    let mut engines = Vec::new();
    if let Some(path) = &arguments.engine {
        let mut engine = UciEngine::start(path)?;
        if let Some(variants) = &arguments.variants {
            engine.set_option("VariantPath", &variants.display().to_string())?;
        }
        engine.set_option("UCI_Variant", variant.name())?;
        for (name, value) in &arguments.options {
            engine.set_option(name, value)?;
        }
        engines.push((path.display().to_string(), engine));
    }
    let encoding = Encoding::of(&variant.start());
    let mut evaluators: Vec<(String, Box<dyn Evaluator>)> = Vec::new();
    if arguments.uniform {
        evaluators.push(("uniform".to_owned(), Box::new(Uniform::new(encoding.shape()))));
    }
    for path in &arguments.networks {
        let weights = Weights::read(path, &path.display().to_string())
            .with_context(|| path.display().to_string())?;
        let Opened { network, file, notes } = weights
            .open(&encoding, variant.name(), Backend::Cpu)
            .with_context(|| path.display().to_string())?;
        for note in notes {
            eprintln!("{note}");
        }
        evaluators.push((file.name.clone(), network.with_cache(Cache::shared(64 << 20))));
    }
    let reference = match &arguments.puzzles {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            let puzzles = Puzzle::read(&variant, &text);
            Reference::Puzzles(
                puzzles.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?,
            )
        }
        None => {
            let solution = match &arguments.table {
                Some(path) => Solution::read(&variant, path)?,
                None => Solution::of(&variant)?,
            };
            let mut rng = ChaCha8Rng::seed_from_u64(arguments.seed);
            let positions = match arguments.sample {
                Some(count) => solution.sample(count, &mut rng),
                None => solution.iter().collect(),
            };
            Reference::Solution(Box::new(solution), positions)
        }
    };
    print_line!("{}", reference.columns());
    for &visits in &arguments.visits {
        for (name, engine) in &mut engines {
            let result = reference.measure_engine(engine, visits)?;
            result.print(name, visits, arguments.faults);
        }
        for (name, evaluator) in &mut evaluators {
            let result = reference.measure_search(&variant, evaluator.as_mut(), params, visits)?;
            result.print(name, visits, arguments.faults);
        }
    }
    Ok(())
}

/// The positions to play, with their best moves.
enum Reference {
    Solution(Box<Solution>, Vec<(Position, Value)>),
    Puzzles(Vec<Puzzle>),
}

/// The result of one player.
enum Measurement {
    Solution(SolvedGameScore),
    Puzzles(PuzzleScore),
}

impl Reference {
    fn columns(&self) -> &'static str {
        match self {
            Reference::Solution(..) => "player,visits,positions,result_kept,wins,won_quickest",
            Reference::Puzzles(_) => "player,visits,positions,sound,safe",
        }
    }

    fn measure_engine(&self, engine: &mut UciEngine, nodes: u32) -> anyhow::Result<Measurement> {
        Ok(match self {
            Reference::Solution(solution, positions) => {
                Measurement::Solution(measure_engine(solution, positions.clone(), engine, nodes)?)
            }
            Reference::Puzzles(puzzles) => {
                Measurement::Puzzles(play_puzzles(puzzles, |position| {
                    engine_move(position, engine, nodes).map(Some)
                })?)
            }
        })
    }

    fn measure_search(
        &self,
        variant: &Variant,
        evaluator: &mut dyn Evaluator,
        params: Params,
        visits: u32,
    ) -> anyhow::Result<Measurement> {
        Ok(match self {
            Reference::Solution(solution, positions) => Measurement::Solution(measure_search(
                solution,
                positions.clone(),
                evaluator,
                params,
                visits,
            )?),
            Reference::Puzzles(puzzles) => {
                let mut tree = Tree::new(variant.start(), params, 1 << 22);
                Measurement::Puzzles(play_puzzles(puzzles, |position| {
                    tree.restart(position.clone());
                    best_move(&mut tree, evaluator, visits)
                })?)
            }
        })
    }
}

impl Measurement {
    fn print(&self, player: &str, visits: u32, with_faults: bool) {
        let faults = match self {
            Measurement::Solution(score) => {
                let kept = score.kept_share();
                let quickest = score.quickest_share();
                let SolvedGameScore { positions, wins, .. } = score;
                print_line!("{player},{visits},{positions},{kept:.5},{wins},{quickest:.5}");
                &score.faults
            }
            Measurement::Puzzles(score) => {
                let share = |part: usize| part as f64 / score.puzzles.max(1) as f64;
                let sound = share(score.sound);
                let safe = share(score.safe);
                print_line!("{player},{visits},{},{sound:.5},{safe:.5}", score.puzzles);
                &score.faults
            }
        };
        if with_faults {
            for fault in faults {
                print_line!("# {fault}");
            }
        }
    }
}

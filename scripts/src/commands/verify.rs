//! Marks networks of a solved game, or a UCI engine, against its exact solution:
//! `oracle VARIANT NETWORK...`, `oracle VARIANT --engine EXECUTABLE`; or against a table of right
//! moves, `--puzzles FILE`.

use std::path::PathBuf;

use clap::Args;
use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cached, Evaluator, Opened, Uniform, Weights};
use menagerie::rules::{Position, Value};
use menagerie::search::{Params, Tree};
use menagerie::variant::{Catalogue, Variant};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use trainer::ground_truth::{Marks, best_move, engine_move, mark, mark_engine};
use trainer::puzzles::{self, Puzzle, Score};
use trainer::retrograde::Solution;
use trainer::uci_engine::{UciEngine, name_and_value};

/// Marks the play of networks in all positions of a solved game, or in those of a table.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The game, which must be small enough to be solved.
    variant: String,
    /// Networks of it.
    networks: Vec<PathBuf>,
    /// A UCI engine to mark.
    #[arg(long)]
    engine: Option<PathBuf>,
    /// A table of positions with their right moves, where the game is too large to be solved.
    #[arg(long)]
    puzzles: Option<PathBuf>,
    /// A table of the solved game, as solve writes it; the game is not solved anew.
    #[arg(long, conflicts_with = "puzzles")]
    table: Option<PathBuf>,
    /// Marks so many positions drawn at random, not all.
    #[arg(long)]
    sample: Option<usize>,
    /// The random numbers by which they are drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Options of the engine, as name=value.
    #[arg(long = "option", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Plays without a network as well: the search alone.
    #[arg(long)]
    uniform: bool,
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
    let (name, value) = name_and_value(text)?;
    Ok((name, value.parse().map_err(|_| format!("\"{value}\" is no number"))?))
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    let mut params = Params::default();
    for (name, value) in &arguments.settings {
        params.set(name, *value).map_err(anyhow::Error::msg)?;
    }
    let mut engines = Vec::new();
    if let Some(path) = &arguments.engine {
        let mut engine = UciEngine::start(path)?;
        engine.set("UCI_Variant", variant.name())?;
        for (name, value) in &arguments.options {
            engine.set(name, value)?;
        }
        engines.push((path.display().to_string(), engine));
    }
    let encoding = Encoding::of(&variant.start());
    let mut evaluators: Vec<(String, Box<dyn Evaluator>)> = Vec::new();
    if arguments.uniform {
        evaluators.push(("uniform".to_owned(), Box::new(Uniform::new(encoding.shape()))));
    }
    for path in &arguments.networks {
        let weights = Weights::read(path, &path.display().to_string())?;
        let Opened { network, file, notes } =
            weights.open(&encoding, variant.name(), Backend::Cpu)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        evaluators.push((file.name.clone(), Box::new(Cached::new(network, 64 << 20))));
    }
    let exam = match &arguments.puzzles {
        Some(path) => {
            let text = std::fs::read_to_string(path)?;
            let puzzles = Puzzle::read(&variant, &text);
            Exam::Puzzles(puzzles.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?)
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
            Exam::Solution(Box::new(solution), positions)
        }
    };
    println!("{}", exam.columns());
    for &visits in &arguments.visits {
        for (name, engine) in &mut engines {
            let result = exam.engine(engine, visits)?;
            result.tell(name, visits, arguments.faults);
        }
        for (name, evaluator) in &mut evaluators {
            let result = exam.evaluator(&variant, evaluator.as_mut(), params, visits)?;
            result.tell(name, visits, arguments.faults);
        }
    }
    Ok(())
}

/// What is asked.
enum Exam {
    Solution(Box<Solution>, Vec<(Position, Value)>),
    Puzzles(Vec<Puzzle>),
}

/// How it went.
enum Marked {
    Solution(Marks),
    Puzzles(Score),
}

impl Exam {
    fn columns(&self) -> &'static str {
        match self {
            Exam::Solution(..) => "player,visits,positions,result_kept,wins,won_quickest",
            Exam::Puzzles(_) => "player,visits,positions,sound,safe",
        }
    }

    fn engine(&self, engine: &mut UciEngine, visits: u32) -> anyhow::Result<Marked> {
        Ok(match self {
            Exam::Solution(solution, positions) => {
                Marked::Solution(mark_engine(solution, positions.clone(), engine, visits)?)
            }
            Exam::Puzzles(puzzles) => Marked::Puzzles(puzzles::ask(puzzles, |position| {
                engine_move(position, engine, visits).map(Some)
            })?),
        })
    }

    fn evaluator(
        &self,
        variant: &Variant,
        evaluator: &mut dyn Evaluator,
        params: Params,
        visits: u32,
    ) -> anyhow::Result<Marked> {
        Ok(match self {
            Exam::Solution(solution, positions) => {
                Marked::Solution(mark(solution, positions.clone(), evaluator, params, visits)?)
            }
            Exam::Puzzles(puzzles) => {
                let mut tree = Tree::new(variant.start(), params, 1 << 22);
                Marked::Puzzles(puzzles::ask(puzzles, |position| {
                    tree.restart(position.clone());
                    best_move(&mut tree, evaluator, visits)
                })?)
            }
        })
    }
}

impl Marked {
    fn tell(&self, player: &str, visits: u32, tell_faults: bool) {
        let faults = match self {
            Marked::Solution(marks) => {
                let (kept, quickest) = (marks.kept_share(), marks.quickest_share());
                let (positions, wins) = (marks.positions, marks.wins);
                println!("{player},{visits},{positions},{kept:.5},{wins},{quickest:.5}");
                &marks.faults
            }
            Marked::Puzzles(score) => {
                let share = |part: usize| part as f64 / score.puzzles.max(1) as f64;
                let (sound, safe) = (share(score.sound), share(score.safe));
                println!("{player},{visits},{},{sound:.5},{safe:.5}", score.puzzles);
                &score.faults
            }
        };
        if tell_faults {
            faults.iter().for_each(|fault| println!("# {fault}"));
        }
    }
}

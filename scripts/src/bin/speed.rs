//! How much of the network's speed self-play uses: `speed VARIANT`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use cpu_time::ThreadTime;
use menagerie::encoding::Encoding;
use menagerie::evaluation::network::{Backend, Session, seal};
use menagerie::evaluation::{Onnx, Passport};
use menagerie::variant::{Catalogue, Variant};
use trainer::calibration::{from_random_play, planes};
use trainer::network::{Architecture, Network};
use trainer::onnx;
use trainer::selfplay::{SelfPlayConfig, play};

/// Positions by which the network is quantised; how well does not matter to its speed.
const CALIBRATION: usize = 200;

/// Measures self-play on one thread, in turns with the bare network at the same batch.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game.
    variant: String,
    /// A network of it; if not given, a fresh residual one of 6 blocks and 64 channels.
    #[arg(long)]
    network: Option<PathBuf>,
    /// Runs the network in floats, though there were integers of eight bits.
    #[arg(long)]
    floats: bool,
    /// Games at once, which is the batch.
    #[arg(long, default_value_t = 64)]
    parallel: usize,
    /// Games of a round.
    #[arg(long, default_value_t = 64)]
    games: u64,
    /// Plies after which a game is broken off.
    #[arg(long, default_value_t = 10)]
    longest: usize,
    /// Visits of a ply.
    #[arg(long, default_value_t = 32)]
    visits: usize,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    let encoding = Encoding::of(&variant.start());
    let floats = match &arguments.network {
        Some(path) => std::fs::read(path).with_context(|| path.display().to_string())?,
        None => fresh(&variant, &encoding)?,
    };
    let file = match arguments.floats {
        true => floats,
        false => {
            let positions = from_random_play(&variant, CALIBRATION, 1);
            onnx::quantise(&floats, &planes(&encoding, &positions))?
        }
    };
    let mut network = Onnx::open(&file, &encoding, variant.name(), Backend::Cpu, 1)?;
    let config = SelfPlayConfig {
        parallel: arguments.parallel,
        longest: arguments.longest,
        visits: arguments.visits,
        ..SelfPlayConfig::default()
    };
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        let wall = Instant::now();
        let games: Vec<u64> = (round * arguments.games..(round + 1) * arguments.games).collect();
        let players = std::slice::from_mut(&mut network);
        let (records, spent) = play(&variant, players, &config, &games, 1, &|_, _| ())?;
        let wall = wall.elapsed().as_secs_f64();
        let played = spent.evaluations as f64 / spent.cpu.as_secs_f64();
        let raw = raw_rate(&file, &encoding, arguments.parallel, spent.evaluations)?;
        println!(
            "round {round}: self-play {played:.0} evaluations, {:.0} visits and {:.2} games a CPU \
             second ({:.2} a second), raw {raw:.0}, ratio {:.3}",
            spent.visits as f64 / spent.cpu.as_secs_f64(),
            records.len() as f64 / spent.cpu.as_secs_f64(),
            records.len() as f64 / wall,
            played / raw,
        );
        ratios.push(played / raw);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.3}", ratios[ratios.len() / 2]);
    Ok(())
}

/// A network that knows nothing, which costs as much as one that knows all.
fn fresh(variant: &Variant, encoding: &Encoding) -> anyhow::Result<Vec<u8>> {
    let architecture = Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 };
    let network = Network::new(encoding.shape(), &architecture, 1)?;
    let passport = Passport::new(encoding, variant.name(), "fresh");
    let entries = passport.entries();
    Ok(seal(onnx::export(encoding.shape(), &architecture, &network.tensors(), &entries)?))
}

/// Evaluations a CPU second of ONNX Runtime alone, in batches of `size`.
fn raw_rate(
    file: &[u8],
    encoding: &Encoding,
    size: usize,
    evaluations: u64,
) -> anyhow::Result<f64> {
    let shape = encoding.shape();
    let mut session = Session::open(file, Backend::Cpu, 1)?;
    let planes = vec![0.5; size * shape.input()];
    let (mut policy, mut outcome) =
        (vec![0.0; size * shape.policy()], vec![0.0; size * shape.outcomes]);
    let mut moves_left = vec![0.0; size];
    let rounds = evaluations.div_ceil(size as u64);
    let clock = ThreadTime::now();
    for _ in 0..rounds {
        session.run(&planes, size, &mut policy, &mut outcome, &mut moves_left)?;
    }
    Ok((rounds * size as u64) as f64 / clock.elapsed().as_secs_f64())
}

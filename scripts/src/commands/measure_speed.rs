//! `trainer speed VARIANT`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use cpu_time::{ProcessTime, ThreadTime};
use menagerie::encoding::Encoding;
use menagerie::engine::{self, EvalStats, Event, Limits};
use menagerie::nn::network::{Backend, PlaneSession, append_checksum};
use menagerie::nn::{NetworkMetadata, Onnx};
use menagerie::variant::{Catalogue, Variant};
use trainer::calibration::{from_random_play, planes};
use trainer::network::{Architecture, Network};
use trainer::network_speed::{self, NetworkFile};
use trainer::onnx;
use trainer::print_line;
use trainer::selfplay::{SelfPlayConfig, play_games};
use trainer::variants::find_variant_in;

/// Positions for the calibration of a quantized network, whose accuracy does not matter here.
const CALIBRATION_POSITIONS: usize = 200;

/// Measures the speed of networks: self-play on one thread, or with --play the engine, compared with the network
/// alone at the same batch size.
#[derive(Debug, Args)]
pub(crate) struct SpeedArguments {
    /// The variant.
    variant: String,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// A network of planes of the variant; an untrained residual network of 6 blocks and 64 channels if not given.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Runs the network with floats instead of int8.
    #[arg(long)]
    floats: bool,
    /// Games at a time, which is the batch size.
    #[arg(long, default_value_t = 64)]
    parallel: usize,
    /// Games of each round.
    #[arg(long, default_value_t = 64)]
    games: u64,
    /// Plies after which a game is aborted.
    #[arg(long, alias = "longest", default_value_t = 10)]
    max_plies: usize,
    /// Visits of each ply.
    #[arg(long, default_value_t = 32)]
    visits: usize,
    /// Measures the engine's search of the start position with this number of threads, instead of self-play.
    #[arg(long, value_name = "THREADS")]
    play: Option<usize>,
    /// Milliseconds of each search.
    #[arg(long, default_value_t = 5000)]
    time: u64,
    /// Measures these networks alone, in turns, in evaluations per CPU second of one thread. Sparse networks are
    /// measured with the kernels of the engine and with those of ONNX Runtime.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    alone: Vec<PathBuf>,
    /// Batch sizes of --alone.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32])]
    batches: Vec<usize>,
    /// Rounds; the result is their median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
}

pub(crate) fn run(arguments: SpeedArguments) -> anyhow::Result<()> {
    let variant = find_variant_in(&arguments.variant, arguments.variants.as_deref())?;
    if !arguments.alone.is_empty() {
        return measure_alone(&variant, &arguments);
    }
    let encoding = Encoding::of(&variant.start());
    let float_file = match &arguments.network {
        Some(path) => std::fs::read(path).with_context(|| path.display().to_string())?,
        None => untrained_network(&variant, &encoding)?,
    };
    let file = if arguments.floats {
        float_file
    } else {
        let positions = from_random_play(&variant, CALIBRATION_POSITIONS, 1);
        onnx::quantise(&float_file, &planes(&encoding, &positions))?
    };
    if let Some(threads) = arguments.play {
        return measure_play(&variant, &file, threads.max(1), &arguments);
    }
    let mut network = Onnx::open(&file, &encoding, variant.name(), Backend::Cpu, 1)?;
    let config = SelfPlayConfig {
        parallel: arguments.parallel,
        max_plies: arguments.max_plies,
        visits: arguments.visits,
        ..SelfPlayConfig::default()
    };
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        let wall = Instant::now();
        let games: Vec<u64> = (round * arguments.games..(round + 1) * arguments.games).collect();
        let players = std::slice::from_mut(&mut network);
        let (records, spent) = play_games(&variant, players, &config, &games, 1, &|_, _| ())?;
        let wall = wall.elapsed().as_secs_f64();
        let played = spent.evaluations as f64 / spent.cpu.as_secs_f64();
        let [raw, _] = raw_rate(&file, arguments.parallel, spent.evaluations)?;
        print_line!(
            "round {round}: self-play {played:.0} evaluations, {:.0} visits and {:.2} games per CPU \
              second ({:.2} games per second), network alone {raw:.0}, ratio {:.3}",
            spent.visits as f64 / spent.cpu.as_secs_f64(),
            records.len() as f64 / spent.cpu.as_secs_f64(),
            records.len() as f64 / wall,
            played / raw,
        );
        ratios.push(played / raw);
    }
    ratios.sort_by(f64::total_cmp);
    print_line!("median ratio {:.3}", ratios[ratios.len() / 2]);
    Ok(())
}

/// Measures networks alone and prints a table.
fn measure_alone(variant: &Variant, arguments: &SpeedArguments) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for path in &arguments.alone {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        files.push(NetworkFile { name: path.display().to_string(), bytes });
    }
    let batches = &arguments.batches;
    let speeds = network_speed::measure(variant, &files, batches, 0.5, arguments.rounds as usize)?;
    let names: BTreeSet<&str> = speeds.iter().map(|speed| &*speed.name).collect();
    print_line!("evaluations per CPU second, {}, one thread", variant.name());
    let head: String = batches.iter().map(|batch| format!("{batch:>10}")).collect();
    print_line!("{head}  network");
    for name in names {
        let own = speeds.iter().filter(|speed| speed.name == name);
        let row: String = own.map(|speed| format!("{:>10.0}", speed.evaluations)).collect();
        print_line!("{row}  {name}");
    }
    Ok(())
}

/// Measures the evaluations of the engine's search, compared with those of its network alone.
fn measure_play(
    variant: &Variant,
    file: &[u8],
    threads: usize,
    arguments: &SpeedArguments,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("network.onnx");
    std::fs::write(&path, file)?;
    let mut session = engine::Session::new(Catalogue::shipped());
    if let Some(variants) = &arguments.variants {
        session.set_option("VariantPath", &variants.display().to_string())?;
    }
    let weights = path.display().to_string();
    for (name, value) in [
        ("UCI_Variant", variant.name()),
        ("WeightsFile", &weights),
        ("Threads", &threads.to_string()),
        ("Hash", "1024"),
    ] {
        session.set_option(name, value)?;
    }
    for note in session.ready() {
        eprintln!("{note}");
    }
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        session.new_game();
        let limits =
            Limits { time: Some(Duration::from_millis(arguments.time)), ..Limits::default() };
        let (sender, receiver) = std::sync::mpsc::channel();
        let sink = Arc::new(move |event| {
            if let Event::Best(best) = event {
                // The receiver is gone if the search could not be started.
                let _ = sender.send(best.eval_stats);
            }
        });
        let started = Instant::now();
        let clock = ProcessTime::now();
        session.go(limits, started, sink)?;
        let EvalStats { positions, batches } = receiver.recv()?;
        let wall = started.elapsed();
        let cpu = clock.elapsed();
        session.wait();
        let size = (positions as f64 / batches.max(1) as f64).round().max(1.0) as usize;
        let [by_cpu, by_wall] = raw_rates(file, size, positions, threads)?;
        let played = positions as f64 / cpu.as_secs_f64();
        let timed = positions as f64 / wall.as_secs_f64();
        print_line!(
            "round {round}: play, {threads} threads, batch {size}: {played:.0} evaluations per CPU second, \
             network alone {by_cpu:.0}, ratio {:.3}; {timed:.0} per second, network alone {by_wall:.0}, ratio {:.3}",
            played / by_cpu,
            timed / by_wall,
        );
        ratios.push(played / by_cpu);
    }
    ratios.sort_by(f64::total_cmp);
    print_line!("median ratio {:.3}", ratios[ratios.len() / 2]);
    Ok(())
}

/// Runs [`raw_rate`] on `threads` threads in parallel, and returns the mean of the first number and the sum of the
/// second.
fn raw_rates(
    file: &[u8],
    size: usize,
    evaluations: u64,
    threads: usize,
) -> anyhow::Result<[f64; 2]> {
    let share = evaluations / threads as u64;
    let rates = std::thread::scope(|scope| {
        let spawn = || scope.spawn(|| raw_rate(file, size, share));
        let handles: Vec<_> = (0..threads).map(|_| spawn()).collect();
        let rates = handles
            .into_iter()
            .map(|handle| handle.join().map_err(|_| anyhow!("a thread panicked"))?);
        rates.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let sum = |nth: usize| rates.iter().map(|rates| rates[nth]).sum::<f64>();
    Ok([sum(0) / threads as f64, sum(1)])
}

/// Returns an untrained network. Its speed is that of a trained one.
fn untrained_network(variant: &Variant, encoding: &Encoding) -> anyhow::Result<Vec<u8>> {
    let architecture = Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 };
    let network = Network::new(encoding.shape(), &architecture, 1)?;
    let metadata = NetworkMetadata::new(encoding, variant.name(), "fresh").entries();
    Ok(append_checksum(onnx::export(
        encoding.shape(),
        &architecture,
        &network.tensors(),
        &metadata,
    )?))
}

/// Returns the evaluations per CPU second and per second of ONNX Runtime alone, in batches of `size`.
fn raw_rate(file: &[u8], size: usize, evaluations: u64) -> anyhow::Result<[f64; 2]> {
    let mut session = PlaneSession::open(file, Backend::Cpu, 1)?;
    let planes = vec![0.5; size * session.sizes().planes()];
    let mut outputs: Vec<Vec<f32>> =
        session.outputs().iter().map(|(_, each)| vec![0.0; size * each]).collect();
    let mut outputs: Vec<&mut [f32]> = outputs.iter_mut().map(|output| &mut output[..]).collect();
    let rounds = evaluations.div_ceil(size as u64);
    let wall = Instant::now();
    let clock = ThreadTime::now();
    for _ in 0..rounds {
        session.run(&planes, size, &mut outputs)?;
    }
    let evaluations = (rounds * size as u64) as f64;
    Ok([clock.elapsed(), wall.elapsed()].map(|time| evaluations / time.as_secs_f64()))
}

//! Speed of networks, and how much of it self-play or play uses: `speed VARIANT`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use cpu_time::{ProcessTime, ThreadTime};
use menagerie::encoding::Encoding;
use menagerie::engine::{self, EvalStats, Event, Limits};
use menagerie::nn::network::{Backend, Session, append_checksum};
use menagerie::nn::{NetworkMetadata, Onnx};
use menagerie::variant::{Catalogue, Variant};
use trainer::calibration::{from_random_play, planes};
use trainer::network::{Architecture, Network};
use trainer::network_speed::{self, NetworkFile};
use trainer::onnx;
use trainer::selfplay::{SelfPlayConfig, play};

/// Positions by which the network is quantised; how well does not matter to its speed.
const CALIBRATION: usize = 200;

/// Measures self-play on one thread, or with --play the engine, in turns with the bare network at the
/// same batch.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
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
    /// Measures the engine's search of the first position in place of self-play, by so many threads.
    #[arg(long, value_name = "THREADS")]
    play: Option<usize>,
    /// Milliseconds of a search.
    #[arg(long, default_value_t = 5000)]
    time: u64,
    /// Measures these networks alone, in turns, in evaluations per CPU second of one thread: sparse ones with
    /// our kernels and with those of ONNX Runtime.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    alone: Vec<PathBuf>,
    /// Batch sizes of --alone.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32])]
    batches: Vec<usize>,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: u64,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    if !arguments.alone.is_empty() {
        return measure_alone(&variant, &arguments);
    }
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
    if let Some(threads) = arguments.play {
        return measure_play(&variant, &file, threads.max(1), &arguments);
    }
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
        let [raw, _] = raw_rate(&file, arguments.parallel, spent.evaluations)?;
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

/// Measures networks alone, and prints a table.
fn measure_alone(variant: &Variant, arguments: &Arguments) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for path in &arguments.alone {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        files.push(NetworkFile { name: path.display().to_string(), bytes });
    }
    let batches = &arguments.batches;
    let speeds = network_speed::measure(variant, &files, batches, 0.5, arguments.rounds as usize)?;
    let names: BTreeSet<&str> = speeds.iter().map(|speed| &*speed.name).collect();
    println!("evaluations per CPU second, {}, one thread", variant.name());
    let head: String = batches.iter().map(|batch| format!("{batch:>10}")).collect();
    println!("{head}  network");
    for name in names {
        let own = speeds.iter().filter(|speed| speed.name == name);
        let row: String = own.map(|speed| format!("{:>10.0}", speed.evaluations)).collect();
        println!("{row}  {name}");
    }
    Ok(())
}

/// Lets the engine search, and compares what it asks its network with what that gives alone.
fn measure_play(
    variant: &Variant,
    file: &[u8],
    threads: usize,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("network.onnx");
    std::fs::write(&path, file)?;
    let mut session = engine::Session::new(Catalogue::shipped());
    let weights = path.display().to_string();
    for (name, value) in [
        ("UCI_Variant", variant.name()),
        ("WeightsFile", &weights),
        ("Threads", &threads.to_string()),
        ("Hash", "1024"),
    ] {
        session.set_option(name, value)?;
    }
    session.ready().iter().for_each(|note| eprintln!("{note}"));
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        session.new_game();
        let limits =
            Limits { time: Some(Duration::from_millis(arguments.time)), ..Limits::default() };
        let (tell, told) = std::sync::mpsc::channel();
        let sink = Arc::new(move |event| {
            if let Event::Best(best) = event {
                // Whoever asked has gone.
                let _ = tell.send(best.asked);
            }
        });
        let (wall, clock) = (Instant::now(), ProcessTime::now());
        session.go(limits, wall, sink)?;
        let EvalStats { positions, batches } = told.recv()?;
        let (wall, cpu) = (wall.elapsed(), clock.elapsed());
        session.wait();
        let size = (positions as f64 / batches.max(1) as f64).round().max(1.0) as usize;
        let [by_cpu, by_wall] = raw_rates(file, size, positions, threads)?;
        let (played, timed) =
            (positions as f64 / cpu.as_secs_f64(), positions as f64 / wall.as_secs_f64());
        println!(
            "round {round}: play, {threads} threads, batch {size}: {played:.0} evaluations a CPU \
             second, raw {by_cpu:.0}, ratio {:.3}; {timed:.0} a second, raw {by_wall:.0}, ratio {:.3}",
            played / by_cpu,
            timed / by_wall,
        );
        ratios.push(played / by_cpu);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.3}", ratios[ratios.len() / 2]);
    Ok(())
}

/// [`raw_rate`] of `threads` side by side: the mean of the first number, the sum of the second.
fn raw_rates(
    file: &[u8],
    size: usize,
    evaluations: u64,
    threads: usize,
) -> anyhow::Result<[f64; 2]> {
    let share = evaluations / threads as u64;
    let rates = std::thread::scope(|scope| {
        let part = || scope.spawn(|| raw_rate(file, size, share));
        let parts: Vec<_> = (0..threads).map(|_| part()).collect();
        let rates =
            parts.into_iter().map(|part| part.join().map_err(|_| anyhow!("a thread ended"))?);
        rates.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let sum = |nth: usize| rates.iter().map(|rates| rates[nth]).sum::<f64>();
    Ok([sum(0) / threads as f64, sum(1)])
}

/// A network that knows nothing, which costs as much as one that knows all.
fn fresh(variant: &Variant, encoding: &Encoding) -> anyhow::Result<Vec<u8>> {
    let architecture = Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 };
    let network = Network::new(encoding.shape(), &architecture, 1)?;
    let network_metadata = NetworkMetadata::new(encoding, variant.name(), "fresh");
    let entries = network_metadata.entries();
    Ok(append_checksum(onnx::export(
        encoding.shape(),
        &architecture,
        &network.tensors(),
        &entries,
    )?))
}

/// Evaluations a CPU second and a second of ONNX Runtime alone, in batches of `size`.
fn raw_rate(file: &[u8], size: usize, evaluations: u64) -> anyhow::Result<[f64; 2]> {
    let mut session = Session::open(file, Backend::Cpu, 1)?;
    let planes = vec![0.5; size * session.sizes().planes()];
    let mut outputs: Vec<Vec<f32>> =
        session.outputs().iter().map(|(_, each)| vec![0.0; size * each]).collect();
    let mut outputs: Vec<&mut [f32]> = outputs.iter_mut().map(|output| &mut output[..]).collect();
    let rounds = evaluations.div_ceil(size as u64);
    let (wall, clock) = (Instant::now(), ThreadTime::now());
    for _ in 0..rounds {
        session.run(&planes, size, &mut outputs)?;
    }
    let evaluations = (rounds * size as u64) as f64;
    Ok([clock.elapsed(), wall.elapsed()].map(|time| evaluations / time.as_secs_f64()))
}

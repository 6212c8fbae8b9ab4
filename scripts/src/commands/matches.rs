//! `trainer match VARIANT PLAYER PLAYER..`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use trainer::arena::config::MatchConfig;
use trainer::arena::spec::PlayerSpec;
use trainer::arena::statistics::Sprt;
use trainer::arena::{self, Arena, folder};
use trainer::store::Store;

use super::stop::{STOPPED, STORE_GRACE, stop_flag};
use super::threads;
use trainer::print_line;

/// Plays a match between networks, searches without a network, and engines. The same command continues a
/// match that was stopped.
///
/// With --store, any number of processes on any machines run the same command and play the match together.
///
/// Players: net:FILE,visits=100 | alphabeta:FILE,nodes=10000 | uniform:visits=100 | plain:visits=1000 | random |
/// uci:FILE,nodes=10000,option.Hash=16 | xboard:FILE,movetime=100; movetime=MS, depth=N and tc=60+0.6 limit
/// engines, too; name=TEXT names a player, and any other key is a parameter of Monte-Carlo tree search.
///
/// Bughouse teams with clocks (tc) play in real time: uci:FILE is one process for both seats, xboard:FILE one
/// a board, xboard:FILE,partner=FILE two different ones.
///
/// The game rbc, reconnaissance blind chess, is for rbc:KEY=VALUE,.. (options of menagerie-rbc), attacker and
/// random.
#[derive(Debug, Args)]
pub(crate) struct MatchArguments {
    /// The variant.
    #[arg(required_unless_present_any = ["config", "results"])]
    variant: Option<String>,
    /// The players, as many as the variant has sides.
    #[arg(value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// A match in TOML; the other arguments replace its settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Games to play, rounded up to whole rounds of seatings.
    #[arg(long)]
    games: Option<u64>,
    /// Seed of everything random.
    #[arg(long)]
    seed: Option<u64>,
    /// Openings, one FEN or EPD a line.
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Random plies at the start, without a book; by default 4 for two players without random starts in
    /// self-play, otherwise 0.
    #[arg(long)]
    plies: Option<u32>,
    /// Turns after which a game is a draw.
    #[arg(long, alias = "longest")]
    max_turns: Option<u64>,
    /// Plays Chess960.
    #[arg(long)]
    chess960: bool,
    /// A sequential probability ratio test that ends the match: elo0,elo1 or elo0,elo1,alpha,beta.
    #[arg(long, allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// Keeps game histories in the JSON format of reconchess (rbc only).
    #[arg(long)]
    histories: bool,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// Folder of the match; matches/VARIANT-CHECKSUM if not given.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Folder, or s3://bucket/folder, that processes on any machines share.
    #[arg(long, value_name = "PLACE", conflicts_with = "out")]
    store: Option<String>,
    /// Prints the results of the match in --store or --out, and plays no game.
    #[arg(long, conflicts_with_all = ["variant", "config"])]
    results: bool,
    /// Games at a time; by default one a core, or one for two cores in real-time bughouse.
    #[arg(long)]
    concurrency: Option<usize>,
}

impl MatchArguments {
    fn config(self) -> anyhow::Result<MatchConfig> {
        let mut config = match (&self.config, self.variant) {
            (Some(path), None) => MatchConfig::read(path)?,
            (Some(path), Some(variant)) => MatchConfig { variant, ..MatchConfig::read(path)? },
            (None, variant) => MatchConfig::new(&variant.unwrap_or_default(), Vec::new()),
        };
        if !self.players.is_empty() {
            config.players = self.players;
        }
        config.games = self.games.unwrap_or(config.games);
        config.seed = self.seed.unwrap_or(config.seed);
        config.book = self.book.or(config.book);
        config.plies = self.plies.or(config.plies);
        config.max_turns = self.max_turns.or(config.max_turns);
        config.chess960 |= self.chess960;
        config.sprt = self.sprt.or(config.sprt);
        config.histories |= self.histories;
        config.variants = self.variants.or(config.variants);
        Ok(config)
    }
}

fn progress_bar(games: u64) -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed} {eta}")?;
    Ok(ProgressBar::new(games).with_style(style))
}

pub(crate) fn run(mut arguments: MatchArguments) -> anyhow::Result<ExitCode> {
    let out = arguments.out.take();
    let store = arguments.store.take().map(|place| Store::open(&place)).transpose()?;
    if arguments.results {
        print_line!("{}", results(store.as_ref(), out.as_deref())?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let concurrency = arguments.concurrency;
    let stop = stop_flag(STORE_GRACE)?;
    let config = arguments.config()?;
    let (place, mut arena) = match store {
        Some(store) => (store.place().to_owned(), Arena::open_shared(&store, config, &stop)?),
        None => {
            let out = out.map_or_else(|| folder::default_folder(&config), Ok)?;
            (out.display().to_string(), Arena::open(&out, config)?)
        }
    };
    let games = arena.schedule().games;
    let rounds = arena.schedule().seatings.len() as u64;
    print_line!("{place}: {} of {games} games done", arena.done());
    if let Some(count) = arena.openings()
        && count * rounds < games
    {
        print_line!("the book has only {count} openings; some are played more than once");
    }
    let bar = progress_bar(games)?.with_position(arena.done() as u64);
    // In real-time bughouse two players think at any time.
    let default = if arena.timed() { (threads(None) / 2).max(1) } else { threads(None) };
    let played = arena.play_until(concurrency.unwrap_or(default), &stop, &mut |game| {
        bar.inc(1);
        if !game.detail.is_empty() {
            bar.suspend(|| eprintln!("game {}: {}, {}", game.number + 1, game.end, game.detail));
        }
    });
    bar.finish_and_clear();
    // The games before a failure are reported, too.
    print_line!("{}", arena.report()?.trim_end());
    played?;
    let is_stopped = stop.load(Ordering::Relaxed);
    Ok(if is_stopped { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// Returns the results of the match in a store or folder.
fn results(store: Option<&Store>, folder: Option<&Path>) -> anyhow::Result<String> {
    match (store, folder) {
        (Some(store), _) => arena::shared_results(store),
        (None, Some(folder)) => arena::folder_results(folder),
        (None, None) => anyhow::bail!("--results needs --store PLACE or --out FOLDER"),
    }
}

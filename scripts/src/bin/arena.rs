//! Plays matches: `arena VARIANT PLAYER PLAYER...`.

use std::path::PathBuf;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use trainer::arena::config::MatchConfig;
use trainer::arena::spec::PlayerSpec;
use trainer::arena::statistics::Sprt;
use trainer::arena::{Arena, folder};

/// Plays a match between networks, plain searches and engines. The same command goes on with a match
/// that was stopped.
///
/// Players: net:FILE,visits=100 | uniform:visits=100 | plain:visits=1000 | random |
/// uci:FILE,nodes=10000,option.Hash=16 | xboard:FILE,movetime=100; movetime=MS, depth=N and tc=60+0.6
/// limit engines, too; name=TEXT names a player, and any other key is a parameter of the search.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, as the catalogue calls it.
    #[arg(required_unless_present = "config")]
    variant: Option<String>,
    /// As many players as the game has sides.
    #[arg(value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// A match in TOML, of which the other arguments replace parts.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Games to play, in whole rounds of seatings.
    #[arg(long)]
    games: Option<u64>,
    /// The seed of all that is random.
    #[arg(long)]
    seed: Option<u64>,
    /// Openings, a FEN or EPD a line.
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Random plies to begin with, if there is no book; 4 unless more than two play or self-play
    /// has random starts.
    #[arg(long)]
    plies: Option<u32>,
    /// Castling is that of Chess960.
    #[arg(long)]
    chess960: bool,
    /// A sequential test, elo0,elo1 or elo0,elo1,alpha,beta, that ends the match.
    #[arg(long, allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// A file of games beside those that are shipped.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// The match's folder; matches/VARIANT-CHECKSUM if not given.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Games at a time; one for each core if not given.
    #[arg(long)]
    concurrency: Option<usize>,
}

impl Arguments {
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
        config.chess960 |= self.chess960;
        config.sprt = self.sprt.or(config.sprt);
        config.variants = self.variants.or(config.variants);
        Ok(config)
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = Arguments::parse();
    let (out, concurrency) = (arguments.out.take(), arguments.concurrency);
    let config = arguments.config()?;
    let out = out.map_or_else(|| folder::usual(&config), Ok)?;
    let mut arena = Arena::open(&out, config)?;
    let (games, rounds) = (arena.schedule().games, arena.schedule().seatings.len() as u64);
    println!("{}: {} of {games} games done", out.display(), arena.done());
    if let Some(count) = arena.openings().filter(|count| count * rounds < games) {
        println!("the book has {count} openings only, they are played more than once");
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed} {eta}")?;
    let bar = ProgressBar::new(games).with_position(arena.done() as u64).with_style(style);
    let threads =
        concurrency.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let played = arena.play(threads, &mut |game| {
        bar.inc(1);
        if !game.detail.is_empty() {
            bar.suspend(|| eprintln!("game {}: {}, {}", game.number + 1, game.end, game.detail));
        }
    });
    bar.finish_and_clear();
    // What was played until something failed counts, too.
    print!("{}", arena.report()?);
    played
}

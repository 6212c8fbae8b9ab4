//! Plays matches: `arena VARIANT PLAYER PLAYER...`, and ladders of them: `arena ladder VARIANT`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use trainer::arena::config::MatchConfig;
use trainer::arena::spec::{Kind, PlayerSpec};
use trainer::arena::statistics::Sprt;
use trainer::arena::{Arena, folder};
use trainer::ladder::{Ladder, Limits};
use trainer::uci_engine::name_and_value;

/// Plays a match between networks, plain searches and engines. The same command goes on with a match
/// that was stopped.
///
/// Players: net:FILE,visits=100 | uniform:visits=100 | plain:visits=1000 | random |
/// uci:FILE,nodes=10000,option.Hash=16 | xboard:FILE,movetime=100; movetime=MS, depth=N and tc=60+0.6
/// limit engines, too; name=TEXT names a player, and any other key is a parameter of the search.
///
/// At two tables teams with clocks (tc) play in real time: uci:FILE is one process for both seats,
/// xboard:FILE one for each table, xboard:FILE,partner=FILE two different ones.
///
/// The game rbc, reconnaissance blind chess, is for rbc:KEY=VALUE,.. (options of menagerie rbc),
/// attacker and random.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    ladder: Option<Climb>,
    #[command(flatten)]
    single: Match,
}

#[derive(Debug, Subcommand)]
enum Climb {
    /// Measures how strong a player is, against ever stronger opponents.
    Ladder(Rungs),
}

#[derive(Debug, Args)]
struct Rungs {
    /// The game, as the catalogue calls it.
    variant: String,
    /// Who climbs; the engine of this build with MOVETIME, if not given.
    player: Option<PlayerSpec>,
    /// A UCI engine for the upper rungs.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Options of that engine, as name=value.
    #[arg(long, value_parser = name_and_value, num_args = 1..)]
    options: Vec<(String, String)>,
    /// Milliseconds a turn, of the player and of the last rung.
    #[arg(long, default_value_t = 1000)]
    movetime: u64,
    /// Games at each rung.
    #[arg(long, default_value_t = 20)]
    games: u64,
    /// Games at the first rung that is not beaten by nine points to one.
    #[arg(long, default_value_t = 100)]
    close: u64,
    /// Games between each rung and the one below it.
    #[arg(long, default_value_t = 40)]
    rungs: u64,
    /// Openings, a FEN or EPD a line; four random plies if there is no book.
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// The seed of all that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The ladder's folder; ladders/VARIANT if not given. Other players may have climbed there.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Games at a time; one for each core if not given.
    #[arg(long)]
    concurrency: Option<usize>,
}

#[derive(Debug, Args)]
struct Match {
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
    /// Turns after which a game is drawn.
    #[arg(long)]
    longest: Option<u64>,
    /// Castling is that of Chess960.
    #[arg(long)]
    chess960: bool,
    /// A sequential test, elo0,elo1 or elo0,elo1,alpha,beta, that ends the match.
    #[arg(long, allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// Keeps histories in the JSON of reconchess; blind chess only.
    #[arg(long)]
    histories: bool,
    /// A file of games beside those that are shipped.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// The match's folder; matches/VARIANT-CHECKSUM if not given.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Games at a time; one for each core if not given, one for two of them by clocks at two tables.
    #[arg(long)]
    concurrency: Option<usize>,
}

impl Match {
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
        config.longest = self.longest.or(config.longest);
        config.chess960 |= self.chess960;
        config.sprt = self.sprt.or(config.sprt);
        config.histories |= self.histories;
        config.variants = self.variants.or(config.variants);
        Ok(config)
    }
}

impl Rungs {
    fn climb(self) -> anyhow::Result<()> {
        let engine = self.against.map(|file| PlayerSpec {
            file: Some(file),
            options: self.options.into_iter().collect(),
            ..PlayerSpec::new(Kind::Uci)
        });
        let ladder = Ladder {
            book: self.book,
            seed: self.seed,
            ..Ladder::new(&self.variant, engine.as_ref(), self.movetime)
        };
        let player = match self.player {
            Some(player) => player,
            None => PlayerSpec {
                file: Some(own_engine()?),
                movetime: Some(self.movetime),
                ..PlayerSpec::new(Kind::Uci)
            },
        };
        let out = self.out.unwrap_or_else(|| Path::new("ladders").join(&self.variant));
        let limits = Limits {
            games: self.games,
            close: self.close,
            rungs: self.rungs,
            threads: threads(self.concurrency),
        };
        let bar = bar(0)?;
        let standings = ladder.climb(&out, &player, limits, &mut |name, done, games| {
            bar.set_length(games);
            bar.set_position(done as u64);
            bar.set_message(name.to_owned());
        })?;
        bar.finish_and_clear();
        print!("{standings}");
        Ok(())
    }
}

/// The engine beside this executable.
fn own_engine() -> anyhow::Result<PathBuf> {
    let name = format!("menagerie{}", std::env::consts::EXE_SUFFIX);
    let file = std::env::current_exe()?.with_file_name(name);
    let missing = || anyhow::anyhow!("{} is not there: say who is to climb", file.display());
    file.exists().then(|| file.clone()).ok_or_else(missing)
}

fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn bar(games: u64) -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed} {eta}")?;
    Ok(ProgressBar::new(games).with_style(style))
}

fn main() -> anyhow::Result<()> {
    let Arguments { ladder, single: mut arguments } = Arguments::parse();
    if let Some(Climb::Ladder(rungs)) = ladder {
        return rungs.climb();
    }
    let (out, concurrency) = (arguments.out.take(), arguments.concurrency);
    let config = arguments.config()?;
    let out = out.map_or_else(|| folder::usual(&config), Ok)?;
    let mut arena = Arena::open(&out, config)?;
    let (games, rounds) = (arena.schedule().games, arena.schedule().seatings.len() as u64);
    println!("{}: {} of {games} games done", out.display(), arena.done());
    if let Some(count) = arena.openings().filter(|count| count * rounds < games) {
        println!("the book has {count} openings only, they are played more than once");
    }
    let bar = bar(games)?.with_position(arena.done() as u64);
    // At two tables two seats think at any time.
    let usual = if arena.timed() { Some((threads(None) / 2).max(1)) } else { None };
    let played = arena.play(threads(concurrency.or(usual)), &mut |game| {
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

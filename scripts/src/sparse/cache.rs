//! Position cache: encoded positions on disk, in shards that are random samples of all.
//!
//! Games are read and encoded once. Each position goes to a shard drawn by lot, so that a shard, shuffled in
//! memory, is a sample of all games, and memory depends on the size of a shard only. Shards hold 16-bit
//! little-endian words, position after position ([`Labelled`]).

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::config::SparseConfig;
use super::labels::{Labeler, Labelled};
use super::sources::{Sources, VariantSource};
use crate::readers::{ScoredGame, SkipReport, SkippedGame, stream_scored};
use crate::record::{GameRecord, Targets, fitted_draws};
use crate::rescore::steepness_of_scale;

/// Number of the format of shards; 3 has the probability of draws.
const FORMAT: u32 = 3;

const INDEX: &str = "index.toml";
/// What [`replace`](crate::record::replace) leaves if the process is killed as the index is written.
const NEW_INDEX: &str = "index.toml.new";
const EXTENSION: &str = "positions";
const HELD_OUT: &str = "held-out.positions";

/// Games that are parsed and encoded at a time.
const GAMES_PER_CHUNK: usize = 2048;

/// Games from which the scale of the scores is fitted.
const GAMES_TO_FIT: usize = 4096;

/// Bytes of the records, unpacked, for each shard.
const BYTES_PER_SHARD: u64 = 2_000_000;

/// What gzip makes of records, roughly.
const GZIP_RATIO: u64 = 4;

const MAX_SHARDS: u64 = 512;

/// What is in a cache, and what it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    source: Source,
    /// Positions of each shard.
    shards: Vec<u64>,
    /// In the order in which the positions held out are.
    variants: Vec<VariantCounts>,
}

/// What a cache holds of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantCounts {
    /// The variant.
    pub variant: String,
    /// Factor on the log odds of recorded scores that the labels were made with.
    pub steepness: f32,
    /// Probability of a draw at an expected score of 1/2 that the labels were made with.
    pub draws: f32,
    /// Positions to learn from.
    pub positions: u64,
    /// Positions held out.
    pub held_out: u64,
    /// Games read.
    pub games: u64,
    /// Games that could not be read or replayed.
    pub bad_games: u64,
}

/// All that the content of a cache depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// [`FORMAT`].
    format: u32,
    /// Files of records with their sizes in bytes; those of a base as `VARIANT=FILE`.
    files: Vec<(String, u64)>,
    layout: String,
    seed: u64,
    held_out_of: u32,
    score_scale: Option<f32>,
}

/// An open cache.
#[derive(Debug)]
pub struct PositionCache {
    folder: PathBuf,
    index: Index,
    rows_per_move: usize,
}

/// Removes a cache, which may be incomplete.
fn remove_cache(folder: &Path) -> anyhow::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| folder.display().to_string())?,
    };
    for entry in entries {
        let path = entry?.path();
        let is_own = path.file_name().is_some_and(|name| name == INDEX || name == NEW_INDEX)
            || path.extension().is_some_and(|extension| extension == EXTENSION);
        anyhow::ensure!(
            is_own && path.is_file(),
            "{} is not part of a cache of positions: move it, or choose another folder",
            path.display()
        );
    }
    fs::remove_dir_all(folder).with_context(|| folder.display().to_string())
}

impl PositionCache {
    /// Opens the cache in `folder`, and makes it from the records of `sources` if there is none, or one of
    /// other records or settings. `progress` gets the number of positions so far.
    ///
    /// # Errors
    /// If records cannot be read or the cache cannot be written.
    pub fn open(
        folder: &Path,
        sources: &Sources,
        config: &SparseConfig,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<PositionCache> {
        let source = Source::new(sources, config)?;
        let rows_per_move = sources.layout().shape().rows_per_move;
        let index_path = folder.join(INDEX);
        if let Ok(text) = fs::read_to_string(&index_path)
            && let Ok(index) = toml::from_str::<Index>(&text)
            && index.source == source
        {
            return Ok(PositionCache { folder: folder.to_owned(), index, rows_per_move });
        }
        remove_cache(folder)?;
        fs::create_dir_all(folder)?;
        let mut builder = Builder::new(folder, &source)?;
        for variant in &sources.variants {
            let Targets { steepness, draws, .. } = fitted_targets(variant, source.score_scale)?;
            let mut counts = VariantCounts {
                variant: variant.variant.name().to_owned(),
                steepness,
                draws,
                positions: 0,
                held_out: 0,
                games: 0,
                bad_games: 0,
            };
            let before = builder.positions();
            for path in &variant.files {
                let mut skipped = SkipReport::new(path);
                let encode = |games: Vec<ScoredGame>| {
                    builder.add(variant, &games, &mut counts, &mut skipped)?;
                    progress(before + counts.positions + counts.held_out);
                    Ok(())
                };
                stream_scored(path, &variant.variant, GAMES_PER_CHUNK, encode)?;
                counts.bad_games += skipped.finish() as u64;
            }
            builder.variants.push(counts);
        }
        let index = builder.finish(source)?;
        // Written last: a cache without an index is made again.
        crate::record::replace(&index_path, toml::to_string(&index)?.as_bytes())?;
        Ok(PositionCache { folder: folder.to_owned(), index, rows_per_move })
    }

    /// Returns the number of positions to learn from.
    pub fn positions(&self) -> u64 {
        self.index.shards.iter().sum()
    }

    /// Returns the number of positions held out.
    pub fn held_out(&self) -> u64 {
        self.index.variants.iter().map(|counts| counts.held_out).sum()
    }

    /// Returns what there is of each variant.
    pub fn variants(&self) -> &[VariantCounts] {
        &self.index.variants
    }

    /// Reads at most `most` positions held out, evenly spread, in batches of at most `batch`.
    pub(super) fn held_out_batches(&self, most: usize, batch: usize) -> anyhow::Result<Vec<Batch>> {
        let shard = self.held_out_shard()?;
        self.batches(&shard, 0..shard.starts.len(), most, batch)
    }

    /// Reads at most `most` positions held out of each variant, as [`PositionCache::held_out_batches`] does.
    pub(super) fn held_out_by_variant(
        &self,
        most: usize,
        batch: usize,
    ) -> anyhow::Result<Vec<(&VariantCounts, Vec<Batch>)>> {
        let shard = self.held_out_shard()?;
        let mut first = 0;
        let mut all = Vec::new();
        for counts in &self.index.variants {
            let range = first..first + counts.held_out as usize;
            first = range.end;
            all.push((counts, self.batches(&shard, range, most, batch)?));
        }
        Ok(all)
    }

    fn held_out_shard(&self) -> anyhow::Result<Shard> {
        Shard::read(&self.folder.join(HELD_OUT), self.held_out())
    }

    fn batches(
        &self,
        shard: &Shard,
        range: Range<usize>,
        most: usize,
        batch: usize,
    ) -> anyhow::Result<Vec<Batch>> {
        let chosen = most.min(range.len());
        let mut batches: Vec<Batch> = Vec::new();
        for nth in 0..chosen {
            if nth % batch == 0 {
                batches.push(Batch::new(self.rows_per_move));
            }
            let position = shard.position(range.start + nth * range.len() / chosen)?;
            if let Some(batch) = batches.last_mut() {
                batch.push(&position);
            }
        }
        Ok(batches)
    }

    fn shard(&self, nth: usize) -> anyhow::Result<Shard> {
        Shard::read(&self.folder.join(shard_name(nth)), self.index.shards[nth])
    }
}

/// Returns `true` if games from the start of this one are held out: one in `held_out_of`, by a hash, so that no
/// opening occurs both in training and in what is held out. Parts of a game are held out together.
pub(super) fn is_held_out(game: &GameRecord, held_out_of: u32) -> bool {
    let hash = game.part_of.unwrap_or_else(|| crc32fast::hash(game.start.as_bytes()));
    hash.is_multiple_of(held_out_of)
}

fn shard_name(nth: usize) -> String {
    format!("shard-{nth:04}.positions")
}

impl Source {
    fn new(sources: &Sources, config: &SparseConfig) -> anyhow::Result<Source> {
        let mut files = Vec::new();
        for source in &sources.variants {
            for path in &source.files {
                let name = path.display().to_string();
                let size =
                    fs::metadata(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?.len();
                let variant = source.variant.name();
                let is_base = sources.layout().is_base();
                files.push((if is_base { format!("{variant}={name}") } else { name }, size));
            }
        }
        Ok(Source {
            format: FORMAT,
            files,
            layout: sources.fingerprint(),
            seed: config.seed,
            held_out_of: config.held_out_of,
            score_scale: config.score_scale,
        })
    }

    fn shard_count(&self) -> u64 {
        let unpacked = |(name, size): &(String, u64)| {
            if name.ends_with(".gz") { size * GZIP_RATIO } else { *size }
        };
        let bytes: u64 = self.files.iter().map(unpacked).sum();
        (bytes / BYTES_PER_SHARD).clamp(1, MAX_SHARDS)
    }
}

/// Writes a cache.
struct Builder {
    held_out_of: u32,
    rng: ChaCha8Rng,
    shards: Vec<BufWriter<File>>,
    counts: Vec<u64>,
    held_out_file: BufWriter<File>,
    variants: Vec<VariantCounts>,
}

impl Builder {
    fn new(folder: &Path, source: &Source) -> anyhow::Result<Builder> {
        let create = |name: &str| Ok(BufWriter::new(File::create(folder.join(name))?));
        let shard_count = source.shard_count() as usize;
        let shards = (0..shard_count).map(|nth| create(&shard_name(nth)));
        Ok(Builder {
            held_out_of: source.held_out_of,
            rng: ChaCha8Rng::seed_from_u64(source.seed),
            shards: shards.collect::<anyhow::Result<_>>()?,
            counts: vec![0; shard_count],
            held_out_file: create(HELD_OUT)?,
            variants: Vec::new(),
        })
    }

    /// Returns the number of positions of the variants that are done.
    fn positions(&self) -> u64 {
        self.variants.iter().map(|counts| counts.positions + counts.held_out).sum()
    }

    /// Adds the positions of games of a variant. Invalid games are skipped.
    fn add(
        &mut self,
        source: &VariantSource,
        games: &[ScoredGame],
        counts: &mut VariantCounts,
        skipped: &mut SkipReport,
    ) -> std::io::Result<()> {
        let VariantSource { variant, encoding, map, .. } = source;
        let recorded = Targets { draws: counts.draws, ..Targets::default() };
        let labelled = Targets { steepness: counts.steepness, ..recorded };
        let held_out_of = self.held_out_of;
        let encoded: Vec<Result<(bool, Vec<u16>), SkippedGame>> = games
            .par_iter()
            .map_init(
                // Scores of self-play are expected results already.
                || [labelled, recorded].map(|targets| Labeler::new(variant, encoding, targets)),
                |[labelled, recorded], raw| {
                    let games = raw.records(variant)?;
                    let first = games.first().ok_or_else(|| raw.no_position())?;
                    let held_out = is_held_out(first, held_out_of);
                    let labeler = match raw {
                        ScoredGame::Labelled { .. } => labelled,
                        ScoredGame::Record(..) | ScoredGame::Invalid(_) => recorded,
                    };
                    let mut words = Vec::new();
                    for game in games.iter() {
                        let labelled = labeler.label(game, map.as_ref(), &mut words);
                        labelled.ok_or_else(|| raw.no_position())?;
                    }
                    Ok((held_out, words))
                },
            )
            .collect();
        for game in encoded {
            counts.games += 1;
            let (held_out, words) = match game {
                Ok(game) => game,
                Err(error) => {
                    skipped.add(&error);
                    continue;
                }
            };
            let mut rest = &words[..];
            while let Some((_, length)) = Labelled::read(rest) {
                let (position, others) = rest.split_at(length);
                rest = others;
                let bytes: Vec<u8> = position.iter().flat_map(|word| word.to_le_bytes()).collect();
                if held_out {
                    counts.held_out += 1;
                    self.held_out_file.write_all(&bytes)?;
                } else {
                    let shard = self.rng.random_range(0..self.shards.len());
                    counts.positions += 1;
                    self.counts[shard] += 1;
                    self.shards[shard].write_all(&bytes)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self, source: Source) -> anyhow::Result<Index> {
        for file in self.shards.into_iter().chain([self.held_out_file]) {
            file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        }
        Ok(Index { source, shards: self.counts, variants: self.variants })
    }
}

/// Fits the targets to the first games of each file.
fn fitted_targets(source: &VariantSource, score_scale: Option<f32>) -> anyhow::Result<Targets> {
    let VariantSource { variant, files, .. } = source;
    let mut labelled: Vec<GameRecord> = Vec::new();
    let mut recorded: Vec<GameRecord> = Vec::new();
    for path in files {
        if labelled.len() + recorded.len() >= GAMES_TO_FIT {
            break;
        }
        let mut first = true;
        stream_scored(path, variant, GAMES_TO_FIT, |chunk| {
            if std::mem::take(&mut first) {
                let records: Vec<(bool, Vec<GameRecord>)> = chunk
                    .par_iter()
                    .filter_map(|game| {
                        let is_labelled = matches!(game, ScoredGame::Labelled { .. });
                        Some((is_labelled, game.records(variant).ok()?.into_owned()))
                    })
                    .collect();
                for (is_labelled, games) in records {
                    if is_labelled { &mut labelled } else { &mut recorded }.extend(games);
                }
            }
            Ok(())
        })?;
    }
    let steepness = match score_scale {
        Some(scale) => steepness_of_scale(scale),
        None => Targets::default().fitted(labelled.iter(), variant).steepness,
    };
    // Scores of self-play are expected results already.
    let draws = fitted_draws(&[(&labelled, steepness), (&recorded, 1.0)], variant);
    Ok(Targets { steepness, draws, ..Targets::default() })
}

/// A shard in memory.
struct Shard {
    words: Vec<u16>,
    starts: Vec<usize>,
}

impl Shard {
    fn read(path: &Path, positions: u64) -> anyhow::Result<Shard> {
        let name = path.display();
        let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let (pairs, _) = bytes.as_chunks::<2>();
        let words: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some((_, length)) = words.get(at..).and_then(Labelled::read) {
            starts.push(at);
            at += length;
        }
        let whole = at == words.len() && starts.len() as u64 == positions;
        anyhow::ensure!(whole, "{name}: damaged; remove its folder to make it again");
        Ok(Shard { words, starts })
    }

    fn position(&self, nth: usize) -> anyhow::Result<Labelled<'_>> {
        let position = Labelled::read(&self.words[self.starts[nth]..]);
        position.map(|(position, _)| position).ok_or_else(|| anyhow::anyhow!("damaged shard"))
    }
}

/// The positions of a cache, round after round, each round in an order of its own. The order depends on the
/// seed and on nothing else.
pub(super) struct Stream<'a> {
    cache: &'a PositionCache,
    seed: u64,
    round: u64,
    /// Shards of the round that are still to be read, the next one last.
    shards: Vec<usize>,
    shard: Shard,
    /// Positions of the shard that are still to be given, the next one last.
    order: Vec<u32>,
}

impl<'a> Stream<'a> {
    /// Returns the stream from position number `first` on.
    pub(super) fn new(
        cache: &'a PositionCache,
        seed: u64,
        first: u64,
    ) -> anyhow::Result<Stream<'a>> {
        anyhow::ensure!(cache.positions() > 0, "the records hold no positions to learn from");
        let round = first / cache.positions();
        let mut skipped = first % cache.positions();
        let shard = Shard { words: vec![], starts: vec![] };
        let shards = shard_order(cache, seed, round);
        let mut stream = Stream { cache, seed, round, shards, shard, order: vec![] };
        while let Some(&next) = stream.shards.last()
            && skipped >= cache.index.shards[next]
        {
            skipped -= cache.index.shards[next];
            stream.shards.pop();
        }
        if skipped > 0 {
            stream.open_next()?;
            stream.order.truncate(stream.order.len() - skipped as usize);
        }
        Ok(stream)
    }

    /// Fills `batch` with the next `count` positions.
    pub(super) fn fill(&mut self, batch: &mut Batch, count: usize) -> anyhow::Result<()> {
        batch.clear();
        while batch.len() < count {
            match self.order.pop() {
                Some(nth) => batch.push(&self.shard.position(nth as usize)?),
                None => self.open_next()?,
            }
        }
        Ok(())
    }

    fn open_next(&mut self) -> anyhow::Result<()> {
        if self.shards.is_empty() {
            self.round += 1;
            self.shards = shard_order(self.cache, self.seed, self.round);
        }
        let Some(nth) = self.shards.pop() else { return Ok(()) };
        self.shard = self.cache.shard(nth)?;
        self.order = (0..self.shard.starts.len() as u32).collect();
        let seed = self.seed ^ self.round.rotate_left(40) ^ (nth as u64).rotate_left(20);
        self.order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        Ok(())
    }
}

fn shard_order(cache: &PositionCache, seed: u64, round: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cache.index.shards.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(!seed ^ round.rotate_left(32)));
    order
}

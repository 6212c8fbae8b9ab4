//! Exact solutions of games with few positions by retrograde analysis, over all placements of the pieces: the
//! reference for networks, and the source of tablebases.
//!
//! The moves are those of the rules. Time and memory are bounded because captured pieces never return: positions
//! with fewer pieces are solved first, in layers, and only the moves of a layer that capture nothing are kept in
//! memory while it is solved. On a full board there are none.

mod layer;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use menagerie::rules::Position;
pub use menagerie::rules::Value;
use menagerie::tablebase::{Index, IndexError, SolvedTable, TableEntry};
use menagerie::variant::Variant;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use layer::SolvedLayer;

use crate::record::replace;

/// All positions of a game of two sides with a given set of pieces, solved.
///
/// Counters and repetition are ignored: play without progress is a draw.
#[derive(Debug)]
pub struct Solution {
    table: SolvedTable,
    size: usize,
}

/// Why a game cannot be solved.
#[derive(Debug, thiserror::Error)]
pub enum UnsolvableGame {
    /// The positions of the game cannot be numbered.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A move leads to other pieces, for example by a promotion.
    #[error("a move in \"{fen}\" leads to pieces that are not in the set to be solved")]
    Open {
        /// The position before the move.
        fen: String,
    },
    /// A win takes more plies than a table can hold.
    #[error("a win takes more than {} plies, the limit of a table", TableEntry::MOST_PLIES)]
    Long,
    /// The threads cannot be started.
    #[error("{0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A file that is not a table of the game.
#[derive(Debug, thiserror::Error)]
#[error("the table {}: {reason}", path.display())]
pub struct UnreadableTable {
    path: PathBuf,
    reason: String,
}

/// Attempts to draw each position of a sample. Games in which hardly any position is not over give fewer
/// positions.
const MAX_SAMPLE_ATTEMPTS: usize = 10_000;

impl From<SolvedTable> for Solution {
    fn from(table: SolvedTable) -> Solution {
        let size = table.counts().iter().map(|counts| counts.of(|_| true)).sum::<u64>() as usize;
        Solution { table, size }
    }
}

impl Solution {
    /// Solves the positions with at most the pieces of `selfPlayMen`, always with the kings; without that key, the
    /// positions with any number of all pieces.
    ///
    /// # Errors
    /// If the variant has too many positions or is not a game of kings, or a move leads to other pieces.
    pub fn of(variant: &Variant) -> Result<Solution, UnsolvableGame> {
        Solution::with_threads(variant, 1, |_, _| ())
    }

    /// [`Solution::of`] on `threads` threads, whose number does not affect the result. Calls `progress` after each
    /// layer with the number of pieces, not counting the kings, and the number of positions.
    ///
    /// # Errors
    /// As for [`Solution::of`], or if the threads cannot be started.
    pub fn with_threads(
        variant: &Variant,
        threads: usize,
        mut progress: impl FnMut(usize, u64),
    ) -> Result<Solution, UnsolvableGame> {
        let index = Index::new(variant)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        let mut entries = vec![TableEntry::NONE; index.len() as usize];
        for (pieces, numbers) in index.layers().enumerate() {
            let size = numbers.end - numbers.start;
            let layer = SolvedLayer::new(&index, numbers);
            pool.install(|| layer.solve(&variant.start(), &mut entries))?;
            progress(pieces, size);
        }
        let table = SolvedTable::new(variant, index, entries);
        Ok(Solution::from(table))
    }

    /// Reads a file that [`Solution::save`] wrote.
    ///
    /// # Errors
    /// If it cannot be read or is not a table of `variant`.
    pub fn read(variant: &Variant, path: &Path) -> Result<Solution, UnreadableTable> {
        let unreadable = |reason: String| UnreadableTable { path: path.to_owned(), reason };
        let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let table =
            SolvedTable::read(variant, &bytes).map_err(|error| unreadable(error.to_string()))?;
        Ok(Solution::from(table))
    }

    /// Returns up to `count` different positions in which the game is not over, drawn uniformly.
    pub fn sample(&self, count: usize, rng: &mut impl Rng) -> Vec<(Position, Value)> {
        let is_open = |(position, _): &(Position, Value)| position.outcome().is_none();
        if count > self.size / 8 {
            let mut all: Vec<_> = self.iter().filter(is_open).collect();
            all.shuffle(rng);
            all.truncate(count);
            return all;
        }
        let numbers = self.table.index().len();
        let mut chosen = HashSet::new();
        let mut found = Vec::new();
        for _ in 0..count * MAX_SAMPLE_ATTEMPTS {
            if found.len() == count {
                break;
            }
            // At most four symmetric positions share a number. A number with fewer is drawn less often.
            let mut positions = self.table.positions_of(rng.random_range(0..numbers));
            let image = rng.random_range(0..4);
            if image >= positions.len() {
                continue;
            }
            let position = positions.swap_remove(image);
            if is_open(&position) && chosen.insert(position.0.key()) {
                found.push(position);
            }
        }
        found
    }

    /// Returns all positions with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Position, Value)> + '_ {
        self.table.positions()
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Returns `true` if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the value of a position; `None` if its pieces are not in the set.
    pub fn value(&self, position: &Position) -> Option<Value> {
        self.table.value(position)
    }

    /// Writes the table of `variant` to a file atomically, and returns its length in bytes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, variant: &Variant, path: &Path) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.table.write(variant, &mut bytes)?;
        replace(path, &bytes)?;
        Ok(bytes.len())
    }

    /// Returns the table of the values.
    pub fn table(&self) -> &SolvedTable {
        &self.table
    }
}

//! Exact solution of games of few positions: every placing of the men, worked backwards from the
//! ends of the game. The oracle against which learning is measured, and the maker of tables.
//!
//! The moves are those of the rules themselves. What bounds time and memory is that men never come
//! back: positions with fewer men are solved first, in layers, and of the moves of a layer only
//! those that take nothing are kept in memory while it is solved. With every square full there are
//! none.

mod layer;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use menagerie::rules::Position;
pub use menagerie::rules::Value;
use menagerie::tablebase::{Entry, Index, IndexError, SolvedTable};
use menagerie::variant::Variant;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use layer::Layer;

use crate::record::replace;

/// All positions of a game of two sides with a given set of men, solved.
///
/// Counters and repetition do not enter: a draw by them is what play without progress comes to.
#[derive(Debug)]
pub struct Solution {
    table: SolvedTable,
    size: usize,
}

/// Why a game cannot be solved here.
#[derive(Debug, thiserror::Error)]
pub enum UnsolvableGame {
    /// Its positions are not numbered.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A move leads out of the set: a promotion, say, to a man that is not in it.
    #[error("a move from \"{fen}\" leads to a position that is not of the men to be solved")]
    Open {
        /// Where the move starts.
        fen: String,
    },
    /// A win takes more plies than a table can say.
    #[error("a win takes more than {} plies, so that no table can hold it", Entry::MOST_PLIES)]
    Long,
    /// There are no threads to work with.
    #[error("{0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A file that is no table of the game.
#[derive(Debug, thiserror::Error)]
#[error("the table {}: {reason}", path.display())]
pub struct UnreadableTable {
    path: PathBuf,
    reason: String,
}

/// So often a number is drawn for each position of a sample, until games are given up in which
/// hardly any position goes on.
const TRIES: usize = 10_000;

impl From<SolvedTable> for Solution {
    fn from(table: SolvedTable) -> Solution {
        let size = table.counts().iter().map(|counts| counts.of(|_| true)).sum::<u64>() as usize;
        Solution { table, size }
    }
}

impl Solution {
    /// Solves the positions with at most the men of `selfPlayMen`, kings always among them; without
    /// such a list, those with any number of all men.
    ///
    /// # Errors
    /// If the variant has too many positions or is no game of kings, or its moves lead out of the
    /// positions that the men make.
    pub fn of(variant: &Variant) -> Result<Solution, UnsolvableGame> {
        Solution::with_threads(variant, 1, |_, _| ())
    }

    /// [`Solution::of`] on so many threads, which make no difference to the result. `progress` is
    /// told when the positions with so many men beside the kings are solved, and how many numbers
    /// they have.
    ///
    /// # Errors
    /// The same; and if the threads cannot be started.
    pub fn with_threads(
        variant: &Variant,
        threads: usize,
        mut progress: impl FnMut(usize, u64),
    ) -> Result<Solution, UnsolvableGame> {
        let index = Index::new(variant)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        let mut entries = vec![Entry::NOBODY; index.len() as usize];
        for (men, numbers) in index.layers().enumerate() {
            let size = numbers.end - numbers.start;
            pool.install(|| Layer::new(&index, numbers).solve(&variant.start(), &mut entries))?;
            progress(men, size);
        }
        let table = SolvedTable::new(variant, index, entries);
        Ok(Solution::from(table))
    }

    /// What a file has that [`Solution::save`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, or is no table of `variant`; in words.
    pub fn read(variant: &Variant, path: &Path) -> Result<Solution, UnreadableTable> {
        let wrong = |reason: String| UnreadableTable { path: path.to_owned(), reason };
        let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let table = SolvedTable::read(variant, &bytes).map_err(|error| wrong(error.to_string()))?;
        Ok(Solution::from(table))
    }

    /// So many different positions in which the game is not over, each as likely as any other;
    /// fewer if there are not so many.
    pub fn sample(&self, count: usize, rng: &mut impl Rng) -> Vec<(Position, Value)> {
        let goes_on = |(position, _): &(Position, Value)| position.outcome().is_none();
        if count > self.size / 8 {
            let mut all: Vec<_> = self.iter().filter(goes_on).collect();
            all.shuffle(rng);
            all.truncate(count);
            return all;
        }
        let numbers = self.table.index().len();
        let (mut chosen, mut found) = (HashSet::new(), Vec::new());
        for _ in 0..count * TRIES {
            if found.len() == count {
                break;
            }
            // Four images share a number at most; where there are fewer, it is chosen less often.
            let mut positions = self.table.positions_of(rng.random_range(0..numbers));
            let image = rng.random_range(0..4);
            if image >= positions.len() {
                continue;
            }
            let position = positions.swap_remove(image);
            if goes_on(&position) && chosen.insert(position.0.key()) {
                found.push(position);
            }
        }
        found
    }

    /// All positions with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Position, Value)> + '_ {
        self.table.positions()
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The value of a position; `None` if its men are not of the set.
    pub fn value(&self, position: &Position) -> Option<Value> {
        self.table.value(position)
    }

    /// Writes the table of `variant` to a file, whole or not at all, and gives its length in bytes.
    ///
    /// # Errors
    /// If writing fails.
    pub fn save(&self, variant: &Variant, path: &Path) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.table.write(variant, &mut bytes)?;
        replace(path, &bytes)?;
        Ok(bytes.len())
    }

    /// The values, to be written down or looked up.
    pub fn table(&self) -> &SolvedTable {
        &self.table
    }
}

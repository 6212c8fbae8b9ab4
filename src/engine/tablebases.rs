//! Perfect play: the table of a solved game, and Syzygy tables.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::syzygy::{RootProbe, SyzygyProbe};
use crate::encoding::Shape;
use crate::files::open_regular;
use crate::nn::{Batch, CachedEval, EvalError, Evaluator, Query};
use crate::rules::{Move, Position, ProvenValue};
use crate::tablebase::{SolvedTable, TableError};
use crate::variant::Variant;

/// The bytes of a file that show whether it is a table, and of which variant.
const HEADER_BYTES: u64 = 256;
/// The maximum size of a file: larger than any table.
const MAX_FILE_BYTES: u64 = 1 << 33;

/// Why a file cannot be used as the table of a solved game.
#[derive(Debug, thiserror::Error)]
enum SolvedTableError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is not a table of the variant.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The table of a solved game in the file of `TablePath`.
#[derive(Debug, Default)]
pub(super) struct SolvedTableFile {
    variant: String,
    path: String,
    table: Option<Arc<SolvedTable>>,
}

impl SolvedTableFile {
    /// Opens the table of `variant` in the file `path`; none if that is empty. Also returns a message for
    /// the user.
    pub(super) fn open(variant: &Variant, path: &str) -> (SolvedTableFile, Option<String>) {
        let name = variant.name();
        let mut file =
            SolvedTableFile { variant: name.to_owned(), path: path.to_owned(), table: None };
        if path.is_empty() {
            return (file, None);
        }
        let note = match read_table(variant, path) {
            Ok(table) => {
                let positions = table.index().len();
                file.table = Some(Arc::new(table));
                format!("{name}: using the solved table \"{path}\", {positions} entries")
            }
            Err(error) => format!("{name}: cannot use the solved table \"{path}\": {error}"),
        };
        (file, Some(note))
    }

    /// Returns `true` if this is the table of `variant` in the file `path`.
    pub(super) fn serves(&self, variant: &Variant, path: &str) -> bool {
        self.path == path && (path.is_empty() || self.variant == variant.name())
    }

    pub(super) fn table(&self) -> Option<Arc<SolvedTable>> {
        self.table.clone()
    }
}

fn read_table(variant: &Variant, path: &str) -> Result<SolvedTable, SolvedTableError> {
    let mut file = open_regular(Path::new(path))?;
    let mut bytes = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut bytes)?;
    // A long file of another kind is not read to its end.
    if SolvedTable::variant_of(&bytes).is_some_and(|found| found == variant.name()) {
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(SolvedTable::read(variant, &bytes)?)
}

/// The tables that a search probes, and the number of its hits.
#[derive(Default)]
pub(super) struct Tablebases {
    solved: Option<Arc<SolvedTable>>,
    /// Not probed while the root itself is in them: a win of unknown length would hide quicker mates.
    syzygy: Option<Arc<dyn SyzygyProbe>>,
    /// The results of the root's moves, if the root is in the Syzygy tables.
    root_probe: Option<RootProbe>,
    hits: AtomicU64,
}

impl Tablebases {
    pub(super) fn new(
        solved: Option<Arc<SolvedTable>>,
        syzygy: Option<Arc<dyn SyzygyProbe>>,
        root_probe: Option<RootProbe>,
    ) -> Tablebases {
        let hits = root_probe.as_ref().map_or(0, |probe| probe.scores.len() as u64);
        let syzygy = if root_probe.is_some() { None } else { syzygy };
        Tablebases { solved, syzygy, root_probe, hits: AtomicU64::new(hits) }
    }

    /// Returns the table of a solved game.
    pub(super) fn solved_table(&self) -> Option<&SolvedTable> {
        self.solved.as_deref()
    }

    /// Returns the score of the mover after a move of the root, 1, 0 or -1, if the Syzygy tables contain
    /// it.
    pub(super) fn root_score(&self, m: Move) -> Option<i8> {
        let scores = &self.root_probe.as_ref()?.scores;
        scores.iter().find(|&&(other, _)| other == m).map(|&(_, score)| score)
    }

    /// Returns the number of positions found so far.
    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns `true` if there are Syzygy tables to probe.
    pub(super) fn has_syzygy(&self) -> bool {
        self.syzygy.is_some()
    }

    /// Returns the value of a position in the tables.
    pub(super) fn probe(&self, position: &Position) -> Option<ProvenValue> {
        let value =
            self.probe_solved(position).or_else(|| self.syzygy.as_ref()?.probe(position))?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(value)
    }

    fn probe_solved(&self, position: &Position) -> Option<ProvenValue> {
        Some(ProvenValue::from(self.solved.as_ref()?.value(position)?))
    }
}

/// An evaluator that finds proven values in tablebases.
pub(super) struct TablebaseEvaluator<'a> {
    evaluator: &'a mut dyn Evaluator,
    tablebases: &'a Tablebases,
}

impl<'a> TablebaseEvaluator<'a> {
    pub(super) fn new(
        evaluator: &'a mut dyn Evaluator,
        tablebases: &'a Tablebases,
    ) -> TablebaseEvaluator<'a> {
        TablebaseEvaluator { evaluator, tablebases }
    }
}

impl Evaluator for TablebaseEvaluator<'_> {
    fn shape(&self) -> Shape {
        self.evaluator.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.evaluator.preferred_batch()
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.evaluator.evaluate(batch)
    }

    fn probe(&self, query: Query<'_>, into: &mut CachedEval) -> bool {
        self.evaluator.probe(query, into)
    }

    fn proven_value(&self, position: &Position) -> Option<ProvenValue> {
        self.tablebases.probe(position)
    }

    fn clear_caches(&mut self) {
        self.evaluator.clear_caches();
    }

    fn new_batch(&self) -> Batch {
        self.evaluator.new_batch()
    }
}

//! What is known for certain of a game beside its rules: the table of a solved one, and those of
//! endings.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::syzygy::{Probe, RootProbe};
use crate::encoding::Shape;
use crate::nn::{Batch, CachedEval, EvalError, Evaluator, Query};
use crate::rules::{Move, Position, ProvenValue};
use crate::tablebase::SolvedTable;
use crate::variant::Variant;

/// The bytes of a file by which it is told whether it is a table, and of which game.
const HEAD: u64 = 256;
/// The most bytes of a file: more than any table has.
const MOST: u64 = 1 << 33;

/// What came of looking for a table.
#[derive(Debug, Default)]
pub(super) struct SolvedTableFile {
    variant: String,
    path: String,
    table: Option<Arc<SolvedTable>>,
}

impl SolvedTableFile {
    /// Looks for the table of `variant` in the file `path`, none if that is empty; and what there
    /// is to know about it.
    pub(super) fn new(variant: &Variant, path: &str) -> (SolvedTableFile, Option<String>) {
        let lookup = |table: Option<SolvedTable>| SolvedTableFile {
            variant: variant.name().to_owned(),
            path: path.to_owned(),
            table: table.map(Arc::new),
        };
        if path.is_empty() {
            return (lookup(None), None);
        }
        let name = variant.name();
        match read(variant, path) {
            Ok(table) => {
                let numbers = table.index().len();
                let note = format!("{name}: played by the table \"{path}\", {numbers} entries");
                (lookup(Some(table)), Some(note))
            }
            Err(reason) => {
                let note = format!("{name}: the table \"{path}\" is not used: {reason}");
                (lookup(None), Some(note))
            }
        }
    }

    /// Whether it is still what is asked for.
    pub(super) fn serves(&self, variant: &Variant, path: &str) -> bool {
        self.path == path && (path.is_empty() || self.variant == variant.name())
    }

    pub(super) fn table(&self) -> Option<Arc<SolvedTable>> {
        self.table.clone()
    }
}

/// Reads a table; why not, in words.
fn read(variant: &Variant, path: &str) -> Result<SolvedTable, String> {
    let words = |error: io::Error| error.to_string();
    let mut file = File::open(path).map_err(words)?;
    let mut bytes = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut bytes).map_err(words)?;
    // A long file of something else is not read to its end.
    if SolvedTable::variant_of(&bytes).is_some_and(|found| found == variant.name()) {
        file.take(MOST).read_to_end(&mut bytes).map_err(words)?;
    }
    SolvedTable::read(variant, &bytes).map_err(|error| error.to_string())
}

/// What is known for certain while one search lasts, and how often it was of use.
#[derive(Default)]
pub(super) struct Tablebases {
    /// The table of a solved game.
    pub(super) table: Option<Arc<SolvedTable>>,
    /// Tables of endings. Not probed while the root itself is in them: a win known without its
    /// length would hide quicker mates.
    endings: Option<Arc<dyn Probe>>,
    /// What they know of the root's moves, if it is in them.
    root: Option<RootProbe>,
    hits: AtomicU64,
}

impl Tablebases {
    pub(super) fn new(
        table: Option<Arc<SolvedTable>>,
        endings: Option<Arc<dyn Probe>>,
        root: Option<RootProbe>,
    ) -> Tablebases {
        let hits = root.as_ref().map_or(0, |root| root.scores.len() as u64);
        let endings = endings.filter(|_| root.is_none());
        Tablebases { table, endings, root, hits: AtomicU64::new(hits) }
    }

    /// The score of the mover after a move of the root, if the tables of endings know it: 1, 0 or -1.
    pub(super) fn root_score(&self, m: Move) -> Option<i8> {
        let scores = &self.root.as_ref()?.scores;
        scores.iter().find(|&&(other, _)| other == m).map(|&(_, score)| score)
    }

    /// How many positions were known so far.
    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    fn known(&self, position: &Position) -> Option<ProvenValue> {
        let in_table = || Some(ProvenValue::from(self.table.as_ref()?.value(position)?));
        let in_endings = || self.endings.as_ref()?.known(position);
        let known = in_table().or_else(in_endings)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(known)
    }
}

/// An evaluator beside what is known for certain.
pub(super) struct TablebaseEvaluator<'a> {
    evaluator: &'a mut dyn Evaluator,
    tablebases: &'a Tablebases,
}

impl<'a> TablebaseEvaluator<'a> {
    /// Puts `tablebases` beside `evaluator`.
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

    fn known(&self, position: &Position) -> Option<ProvenValue> {
        self.tablebases.known(position)
    }

    fn forget(&mut self) {
        self.evaluator.forget();
    }

    fn new_batch(&self) -> Batch {
        self.evaluator.new_batch()
    }
}

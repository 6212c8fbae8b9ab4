//! The table of a solved game: its file, and an evaluator that looks into it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::encoding::Shape;
use crate::evaluation::{Batch, EvalError, Evaluator, Remembered};
use crate::rules::{Key, Position, Value};
use crate::table::Table;
use crate::variant::Variant;

/// The bytes of a file by which it is told whether it is a table, and of which game.
const HEAD: u64 = 256;
/// The most bytes of a file: more than any table has.
const MOST: u64 = 1 << 33;

/// What came of looking for a table.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    variant: String,
    path: String,
    table: Option<Arc<Table>>,
}

impl Lookup {
    /// Looks for the table of `variant` in the file `path`, none if that is empty; and what there
    /// is to know about it.
    pub(super) fn new(variant: &Variant, path: &str) -> (Lookup, Option<String>) {
        let lookup = |table: Option<Table>| Lookup {
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

    pub(super) fn table(&self) -> Option<Arc<Table>> {
        self.table.clone()
    }
}

/// Reads a table; why not, in words.
fn read(variant: &Variant, path: &str) -> Result<Table, String> {
    let words = |error: io::Error| error.to_string();
    let mut file = File::open(path).map_err(words)?;
    let mut bytes = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut bytes).map_err(words)?;
    // A long file of something else is not read to its end.
    if Table::variant_of(&bytes).is_some_and(|found| found == variant.name()) {
        file.take(MOST).read_to_end(&mut bytes).map_err(words)?;
    }
    Table::read(variant, &bytes).map_err(|error| error.to_string())
}

/// An evaluator beside a table, which knows for certain what the table has.
pub(super) struct Tabled<'a> {
    evaluator: &'a mut dyn Evaluator,
    table: Option<&'a Table>,
}

impl<'a> Tabled<'a> {
    /// Puts a table, if there is one, beside `evaluator`.
    pub(super) fn new(evaluator: &'a mut dyn Evaluator, table: Option<&'a Table>) -> Tabled<'a> {
        Tabled { evaluator, table }
    }
}

impl Evaluator for Tabled<'_> {
    fn shape(&self) -> Shape {
        self.evaluator.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.evaluator.preferred_batch()
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.evaluator.evaluate(batch)
    }

    fn recall(&self, key: Key, legal_moves: usize, into: &mut Remembered) -> bool {
        self.evaluator.recall(key, legal_moves, into)
    }

    fn known(&self, position: &Position) -> Option<Value> {
        self.table?.value(position)
    }

    fn forget(&mut self) {
        self.evaluator.forget();
    }
}

//! Tables of int8 rows, aligned to cache lines and shared by all sessions of a process.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::memory::HugePages;

/// The numbers of a cache line.
pub(super) const LINE: usize = 64;

/// A cache line of int8 numbers.
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CacheLine(pub(super) [i8; LINE]);

/// A matrix of int8 numbers whose rows are whole cache lines.
#[derive(PartialEq, Debug)]
pub(super) struct ByteTable {
    lines: HugePages<CacheLine>,
    lines_per_row: usize,
}

/// Tables in use. A process has as many as it has networks open, a handful.
static SHARED: Mutex<Vec<Weak<ByteTable>>> = Mutex::new(Vec::new());

impl ByteTable {
    /// Returns the table of `numbers`, row by row of `columns` numbers, or an equal one that another
    /// session holds. `None` if `columns` is not a positive multiple of [`LINE`] or the rows are not
    /// whole.
    pub(super) fn shared(numbers: &[i8], columns: usize) -> Option<Arc<ByteTable>> {
        if columns == 0 || !columns.is_multiple_of(LINE) || !numbers.len().is_multiple_of(columns) {
            return None;
        }
        let (lines, _) = numbers.as_chunks::<LINE>();
        let mut tables = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|table| table.strong_count() > 0);
        let lines_per_row = columns / LINE;
        let equal = |table: &ByteTable| {
            table.lines_per_row == lines_per_row
                && table.lines.len() == lines.len()
                && table.lines.iter().zip(lines).all(|(line, new)| line.0 == *new)
        };
        if let Some(table) = tables.iter().filter_map(Weak::upgrade).find(|table| equal(table)) {
            return Some(table);
        }
        let lines: Vec<CacheLine> = lines.iter().map(|&line| CacheLine(line)).collect();
        let table = Arc::new(ByteTable { lines: HugePages::copy_of(&lines), lines_per_row });
        tables.push(Arc::downgrade(&table));
        Some(table)
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.lines.len() / self.lines_per_row
    }

    /// Returns the cache lines of a row.
    pub(super) fn lines_per_row(&self) -> usize {
        self.lines_per_row
    }

    /// Returns the numbers of a row.
    pub(super) fn columns(&self) -> usize {
        self.lines_per_row * LINE
    }

    /// Returns row `nth`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub(super) fn row(&self, nth: usize) -> &[CacheLine] {
        &self.lines[nth * self.lines_per_row..][..self.lines_per_row]
    }

    /// Returns all cache lines, row by row.
    #[inline(always)]
    pub(super) fn lines(&self) -> &[CacheLine] {
        &self.lines
    }

    /// Returns all numbers, row by row.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i8> + '_ {
        self.lines.iter().flat_map(|line| line.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_shared_while_in_use() {
        let numbers: Vec<i8> = (0..4 * LINE).map(|nth| nth as i8).collect();
        let table = ByteTable::shared(&numbers, 2 * LINE).expect("whole rows");
        assert_eq!((table.rows(), table.columns()), (2, 2 * LINE));
        assert!(table.numbers().eq(numbers.iter().copied()));
        assert_eq!(table.row(1)[1].0[63], -1);
        let same = ByteTable::shared(&numbers, 2 * LINE).expect("whole rows");
        assert!(Arc::ptr_eq(&table, &same));
        let wider = ByteTable::shared(&numbers, 4 * LINE).expect("whole rows");
        assert_eq!(wider.rows(), 1);
        let mut changed = numbers.clone();
        changed[200] ^= 1;
        let other = ByteTable::shared(&changed, 2 * LINE).expect("whole rows");
        assert!(!Arc::ptr_eq(&table, &other));
    }

    #[test]
    fn table_has_whole_lines_and_rows() {
        for (count, columns) in [(LINE, 0), (LINE, 32), (2 * LINE, LINE + 1), (3 * LINE, 2 * LINE)]
        {
            assert_eq!(ByteTable::shared(&vec![0; count], columns), None, "{count} {columns}");
        }
    }
}

//! Logs of runs: a CSV file whose rows are of one type, and which survives a kill.

use std::fs::{self, OpenOptions};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::replace;

/// Reads all rows; none if there is no file.
///
/// # Errors
/// What is wrong with the file.
pub fn read<Row: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<Row>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows = csv::Reader::from_path(path)?.into_deserialize();
    rows.map(|row| row.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))).collect()
}

/// Leaves out the rows that are not to be kept, and one that a kill cut short.
///
/// # Errors
/// If the file cannot be read or written.
pub fn cut<Row>(path: &Path, keep: impl Fn(&Row) -> bool) -> anyhow::Result<()>
where
    Row: DeserializeOwned + Serialize,
{
    if !path.exists() {
        return Ok(());
    }
    let rows = csv::Reader::from_path(path)?.into_deserialize::<Row>();
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows.filter_map(Result::ok).filter(keep) {
        writer.serialize(row)?;
    }
    Ok(replace(path, &writer.into_inner()?)?)
}

/// Adds a row at the end, after the names of the columns if it is the first.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, row: &impl Serialize) -> anyhow::Result<()> {
    let fresh = fs::metadata(path).map_or(true, |file| file.len() == 0);
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut writer = csv::WriterBuilder::new().has_headers(fresh).from_writer(file);
    writer.serialize(row)?;
    Ok(writer.flush()?)
}

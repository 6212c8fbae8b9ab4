//! Logs of runs: CSV whose rows are of one type.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::Store;

/// Reads all rows; none if there is no log.
///
/// # Errors
/// What is wrong with the log.
pub fn read<Row: DeserializeOwned>(store: &Store, name: &str) -> anyhow::Result<Vec<Row>> {
    let bytes = store.find(name)?.unwrap_or_default();
    let rows = csv::Reader::from_reader(bytes.as_slice()).into_deserialize();
    rows.map(|row| row.map_err(|error| anyhow::anyhow!("{}/{name}: {error}", store.place())))
        .collect()
}

/// Writes all rows, after the names of the columns.
///
/// # Errors
/// If the log cannot be written.
pub fn write<Row: Serialize>(store: &Store, name: &str, rows: &[Row]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    Ok(store.write(name, writer.into_inner()?)?)
}

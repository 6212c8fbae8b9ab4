//! Logs of runs as CSV files with rows of one type.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::Store;

/// Reads all rows; none if there is no log.
///
/// # Errors
/// If the log is damaged or cannot be read.
pub fn read_rows<Row: DeserializeOwned>(store: &Store, name: &str) -> anyhow::Result<Vec<Row>> {
    let bytes = store.find(name)?.unwrap_or_default();
    let rows = csv::Reader::from_reader(bytes.as_slice()).into_deserialize();
    rows.map(|row| row.map_err(|error| anyhow::anyhow!("{}/{name}: {error}", store.place())))
        .collect()
}

/// Writes a header and all rows.
///
/// # Errors
/// If the log cannot be written.
pub fn write_rows<Row: Serialize>(store: &Store, name: &str, rows: &[Row]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(store.write(name, writer.into_inner()?)?)
}

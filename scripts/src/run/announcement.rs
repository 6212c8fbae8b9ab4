//! What a learner publishes for its workers: the newest network with its checksum.

use std::fmt::Write;

use menagerie::nn::{NetworkFile, Weights};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::store::{Store, StoreError};

/// The object of the announcement. It is written after the network and the state of the run.
const NAME: &str = "network.toml";

/// The newest network of a run, and whether the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Announcement {
    /// The number of finished iterations, after which the network was written.
    pub(super) iteration: u64,
    /// All iterations are finished.
    pub(super) finished: bool,
    /// The network.
    pub(super) network: AnnouncedFile,
    /// The network in int8, if the run uses int8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) int8: Option<AnnouncedFile>,
}

/// An object and its checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnnouncedFile {
    /// The name of the object.
    pub(super) name: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub(super) sha256: String,
}

/// Why an announced network cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{place}/{name} has the SHA-256 {found}, not {announced}")]
    Checksum { place: String, name: String, found: String, announced: String },
}

impl Announcement {
    /// Reads the announcement of the run in `store`; `None` if there is none.
    pub(super) fn read(store: &Store) -> Result<Option<Announcement>, StoreError> {
        store.find_toml(NAME)
    }

    /// Writes the announcement, unless it is there.
    pub(super) fn publish(&self, store: &Store) -> Result<(), StoreError> {
        // One that cannot be read is replaced.
        if let Ok(Some(found)) = Announcement::read(store)
            && found == *self
        {
            return Ok(());
        }
        store.write_toml(NAME, self)
    }

    /// Fetches the network and checks it.
    pub(super) fn fetch(&self, store: &Store) -> Result<Weights, FetchError> {
        let int8 = self.int8.as_ref().map(|file| file.fetch(store)).transpose()?;
        Ok(Weights::new(self.network.fetch(store)?, int8))
    }
}

impl AnnouncedFile {
    /// Announces the object `name` with its present content.
    pub(super) fn of(store: &Store, name: String) -> Result<AnnouncedFile, StoreError> {
        let sha256 = sha256(&store.read(&name)?);
        Ok(AnnouncedFile { name, sha256 })
    }

    fn fetch(&self, store: &Store) -> Result<NetworkFile, FetchError> {
        let bytes = store.read(&self.name)?;
        let found = sha256(&bytes);
        if found != self.sha256 {
            return Err(FetchError::Checksum {
                place: store.place().to_owned(),
                name: self.name.clone(),
                found,
                announced: self.sha256.clone(),
            });
        }
        Ok(NetworkFile { name: self.name.clone(), bytes: bytes.into() })
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

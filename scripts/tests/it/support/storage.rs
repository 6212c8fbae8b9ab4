//! The places of the tests of distributed work: a folder, and a bucket of a server in this process.

use std::process::Command;

use tempfile::TempDir;
use trainer::store::Store;

use super::s3_server::{BUCKET, S3Server};

/// A folder or a bucket.
pub(crate) enum TestPlace {
    /// A folder.
    Folder(TempDir),
    /// A bucket with the folder `run`.
    Bucket(S3Server),
}

/// The names in a page of a listing of the bucket.
const PAGE_NAMES: usize = 7;

impl TestPlace {
    /// Returns an empty folder and an empty bucket.
    pub(crate) fn all() -> [TestPlace; 2] {
        [TestPlace::folder(), TestPlace::Bucket(S3Server::start(PAGE_NAMES))]
    }

    /// Returns an empty folder.
    pub(crate) fn folder() -> TestPlace {
        TestPlace::Folder(TempDir::new().expect("a folder"))
    }

    /// The path or URL.
    pub(crate) fn name(&self) -> String {
        match self {
            TestPlace::Folder(folder) => folder.path().display().to_string(),
            TestPlace::Bucket(_) => format!("s3://{BUCKET}/run"),
        }
    }

    /// Opens the place.
    pub(crate) fn store(&self) -> Store {
        Store::open_with(&self.name(), self.settings()).expect("a store")
    }

    /// Returns the command of the trainer, with the credentials of the place.
    pub(crate) fn trainer(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
        command.envs(self.settings());
        command
    }

    /// The server of a bucket.
    pub(crate) fn server(&self) -> Option<&S3Server> {
        match self {
            TestPlace::Folder(_) => None,
            TestPlace::Bucket(server) => Some(server),
        }
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.server().map_or_else(Vec::new, S3Server::settings)
    }
}

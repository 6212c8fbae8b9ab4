//! The storage of runs, matches and jobs: a folder, or a bucket of an object store.
//!
//! Objects are replaced atomically and never appended to, so that a run survives a kill at any moment, and
//! `s3://bucket/run` uses the same code as a folder.
//!
//! - `patience`: repeats requests while a store cannot be reached.
//! - `s3`: buckets and their credentials.
//! - `traffic`: counts requests and bytes.

mod patience;
#[cfg(feature = "s3")]
mod s3;
mod traffic;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Name;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use patience::Patience;
use traffic::Counters;
pub use traffic::Traffic;

/// Number of objects that are read at the same time.
const CONCURRENT_READS: usize = 32;

/// Number of names in a page of a listing, as S3 has it.
const PAGE_NAMES: u64 = 1000;

/// A folder or bucket of named objects; names may contain slashes.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    root: Name,
    place: String,
    folder: Option<PathBuf>,
    counters: Arc<Counters>,
    patience: Patience,
    runtime: Arc<Runtime>,
}

/// Why a store could not be opened, or an object could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The path or URL is invalid or unreachable.
    #[error("cannot open \"{place}\": {source}")]
    Place {
        /// The path or URL.
        place: String,
        /// Why it cannot be opened.
        source: PlaceError,
    },
    /// An object could not be read, written or removed.
    #[error("{place}/{name}: {source}")]
    Object {
        /// The store.
        place: String,
        /// The object.
        name: String,
        /// The error.
        source: Box<Error>,
    },
    /// An object is not the TOML document that it should be.
    #[error("{place}/{name}: {reason}")]
    Text {
        /// The store.
        place: String,
        /// The object.
        name: String,
        /// Why it is not.
        reason: String,
    },
}

impl StoreError {
    /// Returns `true` if the store refused the credentials: they are wrong, have expired, or do not permit the
    /// request.
    pub fn is_refused(&self) -> bool {
        let StoreError::Object { source, .. } = self else { return false };
        match source.as_ref() {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => true,
            // S3 reports some of these errors with status 400.
            other => {
                let text = other.to_string();
                ["ExpiredToken", "InvalidToken"].iter().any(|code| text.contains(code))
            }
        }
    }
}

/// Why a path or URL cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] url::ParseError),
    /// The URL of a file has no path.
    #[error("not a path")]
    NotAPath,
    /// The scheme of the URL is not supported.
    #[error("unknown scheme \"{0}\", expected a path, file:// or s3://")]
    Scheme(String),
    /// The folder cannot be created, or the runtime of the store cannot be started.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The store refuses the path or URL.
    #[error(transparent)]
    ObjectStore(#[from] Error),
}

impl Store {
    /// Opens a folder, which is created if it does not exist, or a URL: `file:///folder`,
    /// `s3://bucket/folder`. The environment variables `AWS_*` are the settings of a bucket.
    ///
    /// # Errors
    /// [`StoreError::Place`].
    pub fn open(place: &str) -> Result<Store, StoreError> {
        let variables = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Store::open_with(place, variables)
    }

    /// Opens a folder or URL as [`Store::open`] does, with `settings` instead of the environment variables:
    /// pairs such as `AWS_REGION` and `eu-central-1`. Others are ignored.
    ///
    /// # Errors
    /// [`StoreError::Place`].
    pub fn open_with(
        place: &str,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Store, StoreError> {
        Store::open_place(place, settings)
            .map_err(|source| StoreError::Place { place: place.to_owned(), source })
    }

    #[cfg_attr(not(feature = "s3"), expect(unused_variables))]
    fn open_place(
        place: &str,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Store, PlaceError> {
        let url = if place.contains("://") { Some(Url::parse(place)?) } else { None };
        let folder = match &url {
            None => Some(PathBuf::from(place)),
            Some(url) if url.scheme() == "file" => {
                Some(url.to_file_path().map_err(|()| PlaceError::NotAPath)?)
            }
            Some(_) => None,
        };
        let (objects, root): (Arc<dyn ObjectStore>, Name) = match (&folder, url) {
            (Some(folder), _) => (Arc::new(open_folder(folder)?), Name::default()),
            #[cfg(feature = "s3")]
            (None, Some(url)) if url.scheme() == "s3" => (
                s3::open_bucket(&url, settings)?,
                Name::from_url_path(url.path()).map_err(Error::from)?,
            ),
            (None, url) => {
                let scheme = url.as_ref().map_or("", Url::scheme);
                return Err(PlaceError::Scheme(scheme.to_owned()));
            }
        };
        // A thread of its own keeps connections alive between requests.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let place = place.trim_end_matches('/').to_owned();
        Ok(Store {
            objects,
            root,
            place,
            folder,
            counters: Arc::default(),
            patience: Patience::default(),
            runtime: Arc::new(runtime),
        })
    }

    /// The path or URL with which it was opened.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the same store, whose requests are repeated for up to `limit` if they fail, with a message to the
    /// standard error for each failure. Once `stop` is set a request that fails is not repeated.
    pub fn patient(&self, limit: Duration, stop: &Arc<AtomicBool>) -> Store {
        Store { patience: Patience::new(limit, stop), ..self.clone() }
    }

    /// The folder, if the store is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The requests and bytes so far, of this store and its clones.
    pub fn traffic(&self) -> Traffic {
        self.counters.traffic()
    }

    /// Returns the content of an object; `None` if there is no object of this name.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.patience.repeat(|| self.runtime.block_on(self.find_object(name)))
    }

    /// Returns the contents of objects in the order of their names; `None` for those that do not exist. Several
    /// are read at the same time.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn find_all(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.patience.repeat(|| {
            let reads = stream::iter(names.iter().map(|name| self.find_object(name)));
            self.runtime.block_on(reads.buffered(CONCURRENT_READS).try_collect())
        })
    }

    async fn find_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        let read = async { self.objects.get(&self.name(name)).await?.bytes().await };
        match read.await {
            Ok(bytes) => {
                self.counters.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(Some(bytes.into()))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    /// Returns the content of an object.
    ///
    /// # Errors
    /// [`StoreError::Object`], also if there is no object of this name.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        self.find(name)?.ok_or_else(|| {
            let source = "no such object".into();
            self.failed(name, Error::NotFound { path: name.to_owned(), source })
        })
    }

    /// Reads an object in TOML; `None` if there is no object of this name.
    ///
    /// # Errors
    /// [`StoreError::Object`] and [`StoreError::Text`].
    pub fn find_toml<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let refused = |reason: String| StoreError::Text {
            place: self.place.clone(),
            name: name.to_owned(),
            reason,
        };
        let Some(bytes) = self.find(name)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
        toml::from_str(&text).map(Some).map_err(|error| refused(error.to_string()))
    }

    /// Writes an object in TOML, atomically.
    ///
    /// # Errors
    /// [`StoreError::Object`], and [`StoreError::Text`] if it cannot be serialised.
    pub fn write_toml(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        self.write(name, self.toml(name, value)?)
    }

    /// Creates an object in TOML, as [`Store::create`] does.
    ///
    /// # Errors
    /// [`StoreError::Object`], and [`StoreError::Text`] if it cannot be serialised.
    pub fn create_toml(&self, name: &str, value: &impl Serialize) -> Result<bool, StoreError> {
        self.create(name, self.toml(name, value)?)
    }

    fn toml(&self, name: &str, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
        let text = toml::to_string(value).map_err(|error| StoreError::Text {
            place: self.place.clone(),
            name: name.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(text.into_bytes())
    }

    /// Writes an object, or replaces it, atomically.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let bytes = Bytes::from(bytes);
        self.patience.repeat(|| {
            let put = self.put(name, bytes.clone(), PutMode::Overwrite);
            put.map_err(|source| self.failed(name, source))
        })
    }

    /// Creates an object, atomically, unless there is one of this name. Returns `true` if the object has this
    /// content now. A request whose answer was lost is repeated, so the content must name its writer if only
    /// one of several writers may succeed.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let bytes = Bytes::from(bytes);
        let created =
            self.patience.repeat(|| match self.put(name, bytes.clone(), PutMode::Create) {
                Ok(()) => Ok(true),
                Err(Error::AlreadyExists { .. }) => Ok(false),
                Err(source) => Err(self.failed(name, source)),
            })?;
        Ok(created || self.find(name)?.is_some_and(|found| found == bytes))
    }

    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), Error> {
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let name = self.name(name);
        let put = self.objects.put_opts(&name, bytes.into(), mode.into());
        self.runtime.block_on(put).map(drop)
    }

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.remove_all(&[name.to_owned()])
    }

    /// Removes those of these objects that exist, 1,000 in a request if the store is a bucket.
    ///
    /// # Errors
    /// [`StoreError::Object`]; others may have been removed.
    pub fn remove_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.patience.repeat(|| self.try_remove_all(names))
    }

    fn try_remove_all(&self, names: &[String]) -> Result<(), StoreError> {
        let requests = if self.folder.is_some() { names.len() } else { names.len().div_ceil(1000) };
        self.counters.removals.fetch_add(requests as u64, Ordering::Relaxed);
        let located: Vec<Result<Name, Error>> =
            names.iter().map(|name| Ok(self.name(name))).collect();
        let removed = self.objects.delete_stream(stream::iter(located).boxed());
        let failures = removed.filter_map(async |result| match result {
            Ok(_) | Err(Error::NotFound { .. }) => None,
            Err(error) => Some(error),
        });
        let failures: Vec<Error> = self.runtime.block_on(failures.collect());
        match (failures.into_iter().next(), names.first()) {
            (Some(source), Some(name)) => Err(self.failed(name, source)),
            _ => Ok(()),
        }
    }

    /// Returns the names of the objects directly in a folder, sorted and without the folder.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        self.list_after(folder, "", usize::MAX)
    }

    /// Returns at most `limit` names of the objects directly in a folder that sort behind `after`, sorted and
    /// without the folder. If there are more of them, a folder on disk does not return the first ones.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn list_after(
        &self,
        folder: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.patience.repeat(|| self.try_list_after(folder, after, limit))
    }

    fn try_list_after(
        &self,
        folder: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let prefix = self.name(folder);
        let entries = if after.is_empty() {
            self.objects.list(Some(&prefix))
        } else {
            self.objects.list_with_offset(Some(&prefix), &prefix.clone().join(after))
        };
        let names = entries.try_filter_map(|object| {
            let inside = object.location.prefix_match(&prefix).map(|parts| parts.count());
            let name = if inside == Some(1) { object.location.filename() } else { None };
            std::future::ready(Ok(name.map(str::to_owned)))
        });
        let names = self.runtime.block_on(names.take(limit).try_collect::<Vec<String>>());
        let mut names = names.map_err(|source| self.failed(folder, source))?;
        let pages = (names.len() as u64).div_ceil(PAGE_NAMES).max(1);
        self.counters.listings.fetch_add(pages, Ordering::Relaxed);
        names.sort();
        Ok(names)
    }

    /// Removes all objects directly in the folder of this object but the object itself.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn remove_others(&self, name: &str) -> Result<(), StoreError> {
        let (folder, kept) = name.rsplit_once('/').unwrap_or(("", name));
        let mut others = self.list(folder)?;
        others.retain(|other| other != kept);
        let others: Vec<String> =
            others.into_iter().map(|other| format!("{folder}/{other}")).collect();
        if others.is_empty() { Ok(()) } else { self.remove_all(&others) }
    }

    fn name(&self, name: &str) -> Name {
        self.root.parts().chain(Name::from(name).parts()).collect()
    }

    fn failed(&self, name: &str, source: Error) -> StoreError {
        StoreError::Object {
            place: self.place.clone(),
            name: name.to_owned(),
            source: Box::new(source),
        }
    }
}

/// Opens a folder, which is created if it does not exist.
fn open_folder(folder: &Path) -> Result<LocalFileSystem, PlaceError> {
    std::fs::create_dir_all(folder)?;
    Ok(LocalFileSystem::new_with_prefix(folder)?.with_fsync(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_finds_lists_replaces_and_removes_objects() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a run");
        let url = Url::from_directory_path(&path).expect("a URL").to_string();
        for place in [path.to_str().expect("a text"), &url] {
            let store = Store::open(place).expect("a store");
            assert_eq!(store.find("games/1").expect("no error"), None);
            assert_eq!(store.list("games").expect("no error"), Vec::<String>::new());
            for (name, content) in [("games/2", "two"), ("games/1", "one"), ("games/1", "eins")] {
                store.write(name, content.into()).expect("written");
            }
            assert_eq!(store.list("games").expect("listed"), ["1", "2"]);
            assert_eq!(store.read("games/1").expect("read"), b"eins");
            assert_eq!(std::fs::read(path.join("games/1")).expect("a file"), b"eins");
            for _ in 0..2 {
                store.remove("games/1").expect("removed");
            }
            let error = store.read("games/1").expect_err("it is gone").to_string();
            assert!(error.contains("games/1"), "{error}");
            for name in ["games/1", "games/3", "games/4/1"] {
                store.write(name, vec![1]).expect("written");
            }
            store.remove_others("games/2").expect("removed");
            assert_eq!(store.list("games").expect("listed"), ["2"]);
            assert_eq!(store.list("games/4").expect("listed"), ["1"]);
            store.remove_others("games/no such").expect("removed");
            store.remove_others("none/2").expect("nothing to remove");
            assert!(store.list("games").expect("listed").is_empty());
            store.remove("games/4/1").expect("removed");
        }
    }

    #[test]
    fn open_quotes_invalid_places() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let inside = file.path().join("run").display().to_string();
        for place in ["what://is/this", "://", inside.as_str()] {
            let error = Store::open(place).expect_err(place).to_string();
            assert!(error.contains(&format!("\"{place}\"")), "{error}");
        }
    }
}

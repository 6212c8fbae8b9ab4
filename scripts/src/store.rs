//! The storage of a run: a folder, or a bucket of an object store.
//!
//! Objects are replaced atomically and never appended to, so that a run survives a kill at any moment, and
//! `s3://bucket/run` uses the same code as a folder (with the feature `s3`; the credentials are those of the
//! environment variables of AWS).

use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path as Name;
use object_store::{Error, ObjectStore, ObjectStoreExt, parse_url_opts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use url::Url;

/// A folder or bucket of named objects; names may contain slashes.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    root: Name,
    place: String,
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

/// Why a path or URL cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] url::ParseError),
    /// The URL of a file has no path.
    #[error("not a path")]
    NotAPath,
    /// The folder cannot be created, or the runtime of the store cannot be started.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The store refuses the path or URL.
    #[error(transparent)]
    ObjectStore(#[from] Error),
}

impl Store {
    /// Opens a folder, which is created if it does not exist, or a URL: `file:///folder`,
    /// `s3://bucket/folder`.
    ///
    /// # Errors
    /// [`StoreError::Place`].
    pub fn open(place: &str) -> Result<Store, StoreError> {
        Store::open_place(place)
            .map_err(|source| StoreError::Place { place: place.to_owned(), source })
    }

    fn open_place(place: &str) -> Result<Store, PlaceError> {
        let url = if place.contains("://") { Some(Url::parse(place)?) } else { None };
        let (objects, root): (Arc<dyn ObjectStore>, Name) = match url {
            None => (Arc::new(open_folder(Path::new(place))?), Name::default()),
            Some(url) if url.scheme() == "file" => {
                let folder = url.to_file_path().map_err(|()| PlaceError::NotAPath)?;
                (Arc::new(open_folder(&folder)?), Name::default())
            }
            Some(url) => {
                let variables = std::env::vars().map(|(key, value)| (key.to_lowercase(), value));
                let (objects, root) = parse_url_opts(&url, variables)?;
                (Arc::from(objects), root)
            }
        };
        let runtime = Arc::new(Builder::new_current_thread().enable_all().build()?);
        let place = place.trim_end_matches('/').to_owned();
        Ok(Store { objects, root, place, runtime })
    }

    /// The path or URL with which it was opened.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the content of an object; `None` if there is no object of this name.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = self
            .runtime
            .block_on(async { self.objects.get(&self.name(name)).await?.bytes().await });
        match read {
            Ok(bytes) => Ok(Some(bytes.into())),
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
        let text = toml::to_string(value).map_err(|error| StoreError::Text {
            place: self.place.clone(),
            name: name.to_owned(),
            reason: error.to_string(),
        })?;
        self.write(name, text.into_bytes())
    }

    /// Writes an object, or replaces it, atomically.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let put = self.runtime.block_on(self.objects.put(&self.name(name), bytes.into()));
        put.map(drop).map_err(|source| self.failed(name, source))
    }

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        match self.runtime.block_on(self.objects.delete(&self.name(name))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    /// Returns the names of the objects directly in a folder, sorted and without the folder.
    ///
    /// # Errors
    /// [`StoreError::Object`].
    pub fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let prefix = self.name(folder);
        let listed = self.runtime.block_on(self.objects.list_with_delimiter(Some(&prefix)));
        let listed = listed.map_err(|source| self.failed(folder, source))?;
        let names = listed.objects.iter().filter_map(|object| object.location.filename());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
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
        for other in others {
            self.remove(&format!("{folder}/{other}"))?;
        }
        Ok(())
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

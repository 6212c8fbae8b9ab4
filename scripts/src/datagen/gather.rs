//! Collects the labelled games of a store in a file.
//!
//! The file only grows. Next to it, `FILE.gathered` has a line for each upload that is in the file: its name and the
//! length of the file after it. If the process is killed, what the file has beyond the last of these lengths is
//! removed, and the uploads that are missing are added.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::read::MultiGzDecoder;

use super::job::{GAMES, SETTINGS, upload_games};
use crate::store::Store;

/// Uploads that are fetched at a time.
const FETCHED_UPLOADS: usize = 64;

/// What [`gather`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Games that were added to the file.
    pub added: u64,
    /// Games in the file.
    pub games: u64,
    /// Uploads that are damaged and left out, with the reason.
    pub errors: Vec<String>,
}

/// The file and the list of uploads in it.
struct Target {
    file: File,
    length: u64,
    list: File,
    uploads: HashSet<String>,
}

/// Adds the games of all uploads of a store to a file, each once.
///
/// # Errors
/// If the store has no job or cannot be read, or the file cannot be written or is not one of this function.
pub fn gather(store: &Store, path: &Path) -> anyhow::Result<Gathered> {
    let name = path.display();
    anyhow::ensure!(
        path.extension().is_none_or(|extension| extension != "gz"),
        "{name}: the games are written without compression, choose a name without .gz"
    );
    anyhow::ensure!(
        store.find(SETTINGS)?.is_some(),
        "{}: no games of trainer datagen --store",
        store.place()
    );
    let mut target = Target::open(path).with_context(|| name.to_string())?;
    let games = target.uploads.iter().filter_map(|upload| upload_games(upload)).sum();
    let mut gathered = Gathered { games, ..Gathered::default() };
    let names = store.list(GAMES)?;
    let missing: Vec<String> = names
        .into_iter()
        .filter(|name| upload_games(name).is_some() && !target.uploads.contains(name))
        .collect();
    for chunk in missing.chunks(FETCHED_UPLOADS) {
        let objects: Vec<String> = chunk.iter().map(|name| format!("{GAMES}/{name}")).collect();
        for (upload, bytes) in chunk.iter().zip(store.find_all(&objects)?) {
            let Some(bytes) = bytes else { continue };
            match unpack(upload, &bytes) {
                Ok(text) => {
                    target.add(upload, &text).with_context(|| name.to_string())?;
                    gathered.added += upload_games(upload).unwrap_or_default();
                }
                Err(reason) => {
                    gathered.errors.push(format!("{}/{GAMES}/{upload}: {reason}", store.place()));
                }
            }
        }
    }
    gathered.games += gathered.added;
    Ok(gathered)
}

/// Returns the lines of an upload, as many as its name says.
fn unpack(upload: &str, bytes: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    MultiGzDecoder::new(bytes).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let lines = text.lines().count() as u64;
    let named = upload_games(upload).unwrap_or_default();
    if lines == named && text.ends_with('\n') {
        Ok(text)
    } else {
        Err(format!("{lines} games, not {named} as its name says"))
    }
}

impl Target {
    fn open(path: &Path) -> anyhow::Result<Target> {
        let mut name = path.as_os_str().to_owned();
        name.push(".gathered");
        let list_path = PathBuf::from(name);
        let text = match fs::read_to_string(&list_path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                anyhow::ensure!(
                    !path.exists(),
                    "the file exists, but {} does not; choose another file",
                    list_path.display()
                );
                String::new()
            }
            text => text?,
        };
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let mut uploads = HashSet::new();
        let mut length = 0;
        for line in text[..whole].lines() {
            let fields = line.split_once('\t');
            let parsed = fields.and_then(|(name, end)| Some((name, end.parse::<u64>().ok()?)));
            let (upload, end) = parsed
                .with_context(|| format!("{}: invalid line \"{line}\"", list_path.display()))?;
            uploads.insert(upload.to_owned());
            length = end;
        }
        let list = OpenOptions::new().append(true).create(true).open(&list_path)?;
        list.set_len(whole as u64)?;
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(false).open(path)?;
        let found = file.metadata()?.len();
        anyhow::ensure!(
            found >= length,
            "the file has {found} bytes, fewer than the {length} of {}",
            list_path.display()
        );
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Target { file, length, list, uploads })
    }

    fn add(&mut self, upload: &str, text: &str) -> std::io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.length += text.len() as u64;
        // One call, so that a killed process leaves at most one partial line.
        self.list.write_all(format!("{upload}\t{}\n", self.length).as_bytes())?;
        self.uploads.insert(upload.to_owned());
        Ok(())
    }
}

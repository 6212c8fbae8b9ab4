//! `match.toml`: what a folder or store keeps of a match, so that it only continues as the same match.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::MatchConfig;

/// The name of the file or object.
pub(super) const NAME: &str = "match.toml";

/// The content of `match.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredMatch {
    #[serde(flatten)]
    pub(super) config: MatchConfig,
    /// Checksums of the files that the match depends on.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl StoredMatch {
    /// Returns the match with the paths of this machine.
    pub(super) fn new(config: &MatchConfig) -> anyhow::Result<StoredMatch> {
        Ok(StoredMatch { config: config.clone(), files: config.checksums()? })
    }

    /// Returns the match with the names of files instead of their paths, which may differ by machine.
    pub(super) fn portable(config: &MatchConfig) -> anyhow::Result<StoredMatch> {
        let mut files = BTreeMap::<String, String>::new();
        for (path, checksum) in config.checksums()? {
            let name = file_name(Path::new(&path)).display().to_string();
            // Files of one name in several folders.
            let checksums = files.entry(name).or_default();
            if !checksums.is_empty() {
                checksums.push(' ');
            }
            checksums.push_str(&checksum);
        }
        let mut config = config.clone();
        config.book = config.book.map(|path| file_name(&path));
        config.variants = config.variants.map(|path| file_name(&path));
        for player in &mut config.players {
            player.file = player.file.as_deref().map(file_name);
            player.partner = player.partner.as_deref().map(file_name);
        }
        Ok(StoredMatch { config, files })
    }

    /// Parses the content of `place`.
    pub(super) fn parse(place: &str, text: &[u8]) -> anyhow::Result<StoredMatch> {
        let text =
            std::str::from_utf8(text).map_err(|error| anyhow::anyhow!("{place}: {error}"))?;
        toml::from_str(text).map_err(|error| anyhow::anyhow!("{place}: {error}"))
    }

    /// Returns the text of the match.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// Checks that `found`, of `place`, is the same match. The number of games may differ: a match may be extended.
    pub(super) fn check_same(&self, place: &str, mut found: StoredMatch) -> anyhow::Result<()> {
        found.config.games = self.config.games;
        if found == *self {
            return Ok(());
        }
        let found = found.text()?;
        let wanted = self.text()?;
        let differing = found.lines().zip(wanted.lines()).find(|(a, b)| a != b);
        let (old, new) = differing.unwrap_or(("fewer lines", "more lines"));
        anyhow::bail!(
            "{place} belongs to another match: it has \"{old}\", this match has \"{new}\"; \
             choose another folder, or remove this one"
        )
    }
}

/// Returns the file name of a path; the path itself if it has none.
fn file_name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.to_owned(), PathBuf::from)
}

//! What was played on a ladder, in numbers that outlive the games.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The games of a ladder, won, drawn and lost: all that ratings follow from. `arena ladder` writes it
/// as `results.toml` into the ladder's folder, and it can be kept without the rest of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The game.
    pub variant: String,
    /// The rung whose rating is 0, by number.
    pub anchor: usize,
    /// The rungs, from the weakest to the strongest.
    pub rungs: Vec<Steps>,
    /// Who has climbed.
    #[serde(default)]
    pub climbers: Vec<Ascent>,
}

/// A rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The opponent's name.
    pub name: String,
    /// Its games against the rung below, if they have met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<[u64; 3]>,
}

/// A player's way up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ascent {
    /// The player's name.
    pub name: String,
    /// Its games at each rung.
    pub games: Vec<[u64; 3]>,
}

impl Results {
    /// Reads a file of results.
    ///
    /// # Errors
    /// If there is none, or what is there makes no sense.
    pub(super) fn read(path: &Path) -> anyhow::Result<Results> {
        let name = path.display();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let results: Results =
            toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        results.check().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(results)
    }

    fn check(&self) -> anyhow::Result<()> {
        let rungs = self.rungs.len();
        anyhow::ensure!(self.anchor < rungs, "there is no rung {} to be the anchor", self.anchor);
        anyhow::ensure!(
            self.rungs[0].over.is_none(),
            "{:?} is the lowest rung, so it is over none",
            self.rungs[0].name
        );
        for Ascent { name, games } in &self.climbers {
            anyhow::ensure!(
                games.len() == rungs,
                "{name:?} has games at {} rungs, not at {rungs}",
                games.len()
            );
        }
        Ok(())
    }
}

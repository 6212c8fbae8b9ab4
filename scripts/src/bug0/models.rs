//! The four regressions, learnt from recorded games into a folder.
//!
//! ```text
//! NAME.regression  the models
//! fit.toml         how they were learnt and what they are worth, written last
//! ```

use std::path::{Path, PathBuf};

use menagerie::variant::Catalogue;
use serde::{Deserialize, Serialize};

use crate::readers;
use crate::record::replace;
use crate::regression::fit::{Fitted, Kind, Learning, Settings};
use crate::regression::planes::NUMBERS;
use crate::regression::states;

/// The game of the records: real players move when they like.
const RECORDED: &str = "bughouse2";

/// What a folder of models says of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How they were learnt.
    pub settings: Settings,
    /// Games that were read.
    pub games: usize,
    /// Games that could not be read.
    pub left_out: usize,
    /// Positions learnt from.
    pub positions: usize,
    /// Positions of other games.
    pub held_back: usize,
    /// How much of the variance of the planes the components explain.
    pub explained: f64,
    /// The models.
    pub models: Vec<Marks>,
}

/// What a model is worth.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// Its name.
    pub name: String,
    /// R squared on what it learnt from.
    pub learnt: f64,
    /// R squared on what was held back.
    pub held_back: f64,
    /// Seconds it took to learn.
    pub seconds: f64,
    /// Bytes of its file.
    pub bytes: usize,
}

const REPORT: &str = "fit.toml";

/// The file of a model.
pub fn file(folder: &Path, kind: Kind) -> PathBuf {
    folder.join(format!("{}.regression", kind.name()))
}

/// What is in a folder, if all models are.
///
/// # Errors
/// If its report cannot be read.
pub fn find(folder: &Path) -> anyhow::Result<Option<Report>> {
    let path = folder.join(REPORT);
    let whole = Kind::ALL.iter().all(|&kind| file(folder, kind).is_file());
    if !whole || !path.is_file() {
        return Ok(None);
    }
    let named = |error: String| anyhow::anyhow!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| named(error.to_string()))?;
    toml::from_str(&text).map(Some).map_err(|error| named(error.to_string()))
}

/// Learns the models from files of games. `told` gets each when it is done.
///
/// # Errors
/// If the files cannot be read or written, or hold too little.
pub fn fit(
    records: &[PathBuf],
    settings: Settings,
    folder: &Path,
    told: &mut dyn FnMut(&Marks),
) -> anyhow::Result<Report> {
    let variant = Catalogue::shipped().require(RECORDED)?;
    let found = readers::read_all(records, &variant)?;
    let [learnt, held_back] = states::draw(&found.games, &variant, settings.states, settings.seed)?;
    let learning = Learning::new(&learnt, NUMBERS, settings)?;
    let mut report = Report {
        settings,
        games: found.games.len(),
        left_out: found.faults.len(),
        positions: learnt.rows.len(),
        held_back: held_back.rows.len(),
        explained: learning.explained(),
        models: Vec::new(),
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| anyhow::anyhow!("{}: {error}", folder.display()))?;
    for kind in Kind::ALL {
        let Fitted { model, learnt, held_back, seconds, .. } = learning.fit(kind, &held_back)?;
        let bytes = model.bytes()?;
        write(&file(folder, kind), &bytes)?;
        let name = kind.name().to_owned();
        let marks = Marks { name, learnt, held_back, seconds, bytes: bytes.len() };
        told(&marks);
        report.models.push(marks);
    }
    write(&folder.join(REPORT), toml::to_string(&report)?.as_bytes())?;
    Ok(report)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace(path, bytes).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

//! The four regressions in a folder, fitted from recorded games.
//!
//! ```text
//! NAME.regression  the models
//! fit.toml         the settings and the quality of the models, written last
//! ```

use std::path::{Path, PathBuf};

use menagerie::variant::{Catalogue, UnknownVariant};
use serde::{Deserialize, Serialize};
use trainer::readers::{self, ReadError};
use trainer::record::replace;

use crate::regression::features::FEATURE_COUNT;
use crate::regression::fit::{FitError, FitSettings, Fitter, RegressionKind};
use crate::regression::model::ModelError;
use crate::regression::samples::{SampleError, draw_samples};

/// The variant of the recorded games, in which the seats move in any order.
const RECORDS_VARIANT: &str = "bughouse2";

const REPORT_FILE: &str = "fit.toml";

/// The report of a folder of models. The aliases are the keys of earlier versions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitReport {
    /// The settings.
    pub settings: FitSettings,
    /// Games that were read.
    pub games: usize,
    /// Games that could not be read.
    #[serde(alias = "left_out")]
    pub skipped_games: usize,
    /// Positions of the training set.
    #[serde(alias = "positions")]
    pub train_positions: usize,
    /// Positions of the test set, which are from other games.
    #[serde(alias = "held_back")]
    pub test_positions: usize,
    /// The share of the variance of the planes that the components explain, 0 to 1.
    #[serde(alias = "explained")]
    pub explained_variance: f64,
    /// The models.
    pub models: Vec<ModelReport>,
}

/// The quality of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelReport {
    /// Its name.
    pub name: String,
    /// R squared on the training set.
    #[serde(alias = "learnt")]
    pub train_r_squared: f64,
    /// R squared on the test set.
    #[serde(alias = "held_back")]
    pub test_r_squared: f64,
    /// Seconds that the fit took.
    pub seconds: f64,
    /// The size of its file.
    pub bytes: usize,
}

/// Errors of a folder of models.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The report is not valid.
    #[error("{}: {source}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<toml::de::Error>,
    },
    /// The report cannot be serialized.
    #[error(transparent)]
    SerializeReport(#[from] toml::ser::Error),
    /// The variant of the records is missing.
    #[error(transparent)]
    Variant(#[from] UnknownVariant),
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] ReadError),
    /// No positions can be drawn from the records.
    #[error(transparent)]
    Samples(#[from] SampleError),
    /// A regression cannot be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A model cannot be serialized.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Returns the path of a model's file.
pub fn model_path(folder: &Path, kind: RegressionKind) -> PathBuf {
    folder.join(format!("{}.regression", kind.name()))
}

/// Returns the report of a folder that holds all models, or `None` if a file is missing.
///
/// # Errors
/// If the report cannot be read.
pub fn read_report(folder: &Path) -> Result<Option<FitReport>, ModelsError> {
    let path = folder.join(REPORT_FILE);
    let complete = RegressionKind::ALL.iter().all(|&kind| model_path(folder, kind).is_file());
    if !complete || !path.is_file() {
        return Ok(None);
    }
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(ModelsError::Io { path, source }),
    };
    match toml::from_str(&text) {
        Ok(report) => Ok(Some(report)),
        Err(source) => Err(ModelsError::Report { path, source: Box::new(source) }),
    }
}

/// Fits the models from files of recorded games and writes them to `folder`. `on_model` is called
/// after each.
///
/// # Errors
/// If a file cannot be read or written, or the records hold too few games.
pub fn fit_models(
    records: &[PathBuf],
    settings: FitSettings,
    folder: &Path,
    on_model: &mut dyn FnMut(&ModelReport),
) -> Result<FitReport, ModelsError> {
    let variant = Catalogue::shipped().require(RECORDS_VARIANT)?;
    let records = readers::read_all(records, &variant)?;
    let samples = draw_samples(&records.games, &variant, settings.positions, settings.seed)?;
    let fitter = Fitter::new(&samples.train, FEATURE_COUNT, settings)?;
    let mut report = FitReport {
        settings,
        games: records.games.len(),
        skipped_games: records.errors.len(),
        train_positions: samples.train.len(),
        test_positions: samples.test.len(),
        explained_variance: fitter.explained_variance(),
        models: Vec::new(),
    };
    if let Err(source) = std::fs::create_dir_all(folder) {
        return Err(ModelsError::Io { path: folder.to_owned(), source });
    }
    for kind in RegressionKind::ALL {
        let fitted = fitter.fit(kind, &samples.test)?;
        let bytes = fitted.model.to_bytes()?;
        write_file(model_path(folder, kind), &bytes)?;
        let model_report = ModelReport {
            name: kind.name().to_owned(),
            train_r_squared: fitted.train_r_squared,
            test_r_squared: fitted.test_r_squared,
            seconds: fitted.seconds,
            bytes: bytes.len(),
        };
        on_model(&model_report);
        report.models.push(model_report);
    }
    write_file(folder.join(REPORT_FILE), toml::to_string(&report)?.as_bytes())?;
    Ok(report)
}

fn write_file(path: PathBuf, bytes: &[u8]) -> Result<(), ModelsError> {
    replace(&path, bytes).map_err(|source| ModelsError::Io { path, source })
}

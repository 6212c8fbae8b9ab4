//! The folder of the scores that a rescoring has so far.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{Evaluator, GAMES_PER_PART, RescoreConfig, RescoreError};
use crate::record::{GameRecord, RecordError};

/// Name of the file in a folder of parts that says what they are of.
const DESCRIPTION: &str = "settings.txt";

/// Returns a line about all that scores depend on but the scale.
///
/// # Errors
/// If the network cannot be read.
pub(super) fn description(
    config: &RescoreConfig,
    games: &[GameRecord],
) -> Result<String, RescoreError> {
    let evaluator = match &config.evaluator {
        Evaluator::Program { file, arguments } => {
            format!("a program {} {arguments:?}", describe_executable(file))
        }
        Evaluator::Engine { file, options, nodes } => {
            format!("an engine {} {options:?} {nodes} nodes", describe_executable(file))
        }
        Evaluator::Network { file, nodes } => {
            let bytes = fs::read(file).map_err(|error| RescoreError::Network {
                file: file.display().to_string(),
                reason: error.to_string(),
            })?;
            format!("a network {:08x} {nodes} nodes", crc32fast::hash(&bytes))
        }
    };
    let mut hasher = crc32fast::Hasher::new();
    for game in games {
        hasher.update(&game.fingerprint().to_le_bytes());
        hasher.update(&game.side_positions.len().to_le_bytes());
    }
    Ok(format!(
        "{evaluator}, side positions {}, only games {}, seed {}, {} games {:08x} by {GAMES_PER_PART}",
        config.side_positions,
        config.only_games,
        config.seed,
        games.len(),
        hasher.finalize()
    ))
}

/// Returns the name of an executable and its CRC-32. A bare name is one in `PATH`.
fn describe_executable(file: &Path) -> String {
    let bytes = if file.components().count() == 1 {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).find_map(|folder| fs::read(folder.join(file)).ok())
    } else {
        fs::read(file).ok()
    };
    let name = file.file_name().unwrap_or(file.as_os_str()).display();
    match bytes {
        Some(bytes) => format!("{name} {:08x}", crc32fast::hash(&bytes)),
        None => format!("{name} (not readable)"),
    }
}

/// Creates a folder of parts, or checks that an existing one is of `description`.
pub(super) fn open(folder: &Path, description: &str) -> Result<(), RescoreError> {
    let path = folder.join(DESCRIPTION);
    let failed = |source| RecordError::Io { path: path.display().to_string(), source };
    let other = |found| {
        let (folder, expected) = (folder.display().to_string(), description.to_owned());
        Err(RescoreError::OtherParts { folder, found, expected })
    };
    fs::create_dir_all(folder).map_err(failed)?;
    match fs::read_to_string(&path) {
        Ok(found) if found == description => Ok(()),
        Ok(found) => other(found),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::read_dir(folder).map_err(failed)?.next().is_some() {
                return other("unknown settings".to_owned());
            }
            fs::write(&path, description).map_err(failed)?;
            Ok(())
        }
        Err(error) => Err(failed(error).into()),
    }
}

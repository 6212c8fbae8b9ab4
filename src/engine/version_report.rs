//! What a bug report needs: version, commit, networks and ONNX Runtime as they are found.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::embedded_nets::network_folders;
use crate::nn::network::{combined_checksum, kernel_instructions, verify};
use crate::nn::runtime::Runtime;

/// The commit of the source code, with `-dirty` if it was changed since; `unknown` if it was built without git. See
/// `build.rs`.
pub const COMMIT: &str = env!("MENAGERIE_COMMIT");

/// The target for which this was compiled.
const TARGET: &str = env!("MENAGERIE_TARGET");

/// The number of hexadecimal digits that identify a set of networks.
const SET_DIGITS: usize = 12;

/// The version of an executable and of what it finds, a line each: see [`VersionReport::collect`].
#[derive(Clone, Debug)]
pub struct VersionReport {
    program: String,
    networks: Vec<NetworkSet>,
    runtime: String,
}

/// The networks of a folder.
#[derive(Clone, Debug)]
struct NetworkSet {
    folder: PathBuf,
    content: Result<NetworkChecksums, String>,
}

/// The checksums of the networks of a folder.
#[derive(Clone, Debug)]
struct NetworkChecksums {
    /// The intact networks, by name.
    intact: Vec<(String, String)>,
    /// The names of the others.
    damaged: Vec<String>,
}

impl VersionReport {
    /// Collects the report of the executable `program`, a name and a version. Reads all networks, and loads ONNX
    /// Runtime if it is not loaded yet: together about 0.1 s. Problems are part of the report.
    pub fn collect(program: &str) -> VersionReport {
        let runtime = match Runtime::load(None) {
            Ok(runtime) => format!("{}, {}", runtime.version(), runtime.path().display()),
            Err(error) => error.to_string(),
        };
        VersionReport { program: program.to_owned(), networks: network_sets(), runtime }
    }
}

impl fmt::Display for VersionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program)?;
        writeln!(f, "commit: {COMMIT}")?;
        writeln!(f, "target: {TARGET}, kernels for {}", kernel_instructions())?;
        if self.networks.is_empty() {
            writeln!(f, "networks: no folder \"nets\", only the embedded ones")?;
        }
        for set in &self.networks {
            writeln!(f, "networks: {set}")?;
        }
        write!(f, "ONNX Runtime: {}", self.runtime)
    }
}

impl fmt::Display for NetworkSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        let checksums = match &self.content {
            Ok(checksums) => checksums,
            Err(error) => return write!(f, "cannot read {folder}: {error}"),
        };
        write!(f, "{}, {} files in {folder}", checksums.identity(), checksums.intact.len())?;
        if !checksums.damaged.is_empty() {
            write!(f, ", damaged: {}", checksums.damaged.join(", "))?;
        }
        Ok(())
    }
}

impl NetworkChecksums {
    /// Reads the networks in `folder`.
    fn read(folder: &Path) -> io::Result<NetworkChecksums> {
        let mut paths = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "onnx") && path.is_file() {
                paths.insert(path);
            }
        }
        let mut checksums = NetworkChecksums { intact: Vec::new(), damaged: Vec::new() };
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match verify(&fs::read(&path)?) {
                Ok(checksum) => checksums.intact.push((name, checksum.to_owned())),
                Err(_) => checksums.damaged.push(name),
            }
        }
        Ok(checksums)
    }

    /// Returns digits that differ if a name or the content of a network differs.
    fn identity(&self) -> String {
        let mut digits = combined_checksum(&self.intact);
        digits.truncate(SET_DIGITS);
        digits
    }
}

/// Returns the networks of each folder in which the engine searches.
fn network_sets() -> Vec<NetworkSet> {
    let mut seen = BTreeSet::new();
    let folders = network_folders().into_iter().filter_map(|folder| folder.canonicalize().ok());
    let folders = folders.filter(|folder| seen.insert(folder.clone()));
    folders
        .map(|folder| {
            let content = NetworkChecksums::read(&folder).map_err(|error| error.to_string());
            NetworkSet { folder, content }
        })
        .collect()
}

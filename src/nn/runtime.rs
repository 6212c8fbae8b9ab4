//! Finds the shared library of ONNX Runtime, checks it and loads it.
//!
//! The library is not part of this program. It is searched for in this order:
//!
//! 1. the path that the caller gives (the engine's option);
//! 2. the path in the environment variable `ORT_DYLIB_PATH`;
//! 3. the folder of the executable;
//! 4. a folder `runtime/` there or in the four folders above, so that an executable in the `target/release`
//!    of a checkout finds the library that `scripts/get-onnxruntime` puts at its root.
//!
//! A path may be that of the library or of its folder. A relative path starts at the folder of the executable
//! or, if it does not exist there, at the working directory. If an explicit path (1, 2) fails, no other is
//! tried. An unusable file in one of the folders (3, 4) is skipped, and [`Runtime::skipped`] returns the
//! reason.
//!
//! A file that could crash the process is refused before the loader maps it: a file that is not a library for
//! this machine, a truncated file, and, in `runtime/` or next to a checksum file of the script, a file with
//! another checksum than in the script's list.
//!
//! A process has one runtime: the first that is loaded stays.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::env::{current_exe, var_os};
use std::error::Error as _;
use std::fmt;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;
use thiserror::Error;

use crate::files::open_regular;

mod checksum;
mod elf;

pub use self::checksum::ChecksumError;
pub use self::elf::ElfError;

/// The environment variable that names the library.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The number of folders that are searched for a `runtime/`, from that of the executable upwards: `deps`,
/// `release`, a target triple, `target` and the checkout.
const SEARCHED_FOLDERS: usize = 5;

/// The runtime of this process.
static STATE: Mutex<RuntimeState> = Mutex::new(RuntimeState::Empty);

enum RuntimeState {
    Empty,
    Loaded(&'static Runtime),
    /// The library is mapped and cannot be replaced, but failed to start.
    Broken(RuntimeError),
}

/// A loaded and started ONNX Runtime.
#[derive(Debug)]
pub struct Runtime {
    path: PathBuf,
    skipped: Vec<Refusal>,
    environment: Environment,
    cuda: OnceLock<CudaBuild>,
}

/// Whether the library can use NVIDIA GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CudaBuild {
    /// It is a CPU build.
    Absent,
    /// It is a GPU build with intact provider libraries. Whether the machine has a GPU and a driver shows
    /// only when a network is opened.
    Present,
    /// One of the provider libraries is unusable.
    Refused(Refusal),
}

/// A library that was not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The library.
    pub path: PathBuf,
    /// The reason.
    pub fault: Fault,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.fault)
    }
}

/// Why a library is unusable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The file does not exist.
    #[error("does not exist")]
    Missing,
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is not a shared library for this machine, or it is damaged.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// It is not the file that the script downloaded.
    #[error("{0}; run scripts/get-onnxruntime again")]
    Checksum(#[from] ChecksumError),
    /// The dynamic loader rejects it.
    #[error("cannot be loaded: {0}")]
    Load(String),
    /// It is a library other than ONNX Runtime.
    #[error("is not ONNX Runtime: it has no OrtGetApiBase")]
    NotOnnxRuntime,
    /// It is an ONNX Runtime of an old version.
    #[error("is ONNX Runtime {0}, older than the 1.{minimum} needed", minimum = ort::MINOR_VERSION)]
    TooOld(String),
}

/// Why ONNX Runtime cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuntimeError {
    /// No candidate is a usable library.
    #[error("no ONNX Runtime: {}; get one with scripts/get-onnxruntime, or set {VARIABLE}", list_refusals(.tried))]
    NotFound {
        /// All candidates, in the order in which they were tried.
        tried: Vec<Refusal>,
    },
    /// Another library is already loaded.
    #[error("ONNX Runtime is already loaded from {loaded} and stays until this process ends; {requested} is not loaded", loaded = .loaded.display(), requested = .requested.display())]
    Taken {
        /// The library in use.
        loaded: PathBuf,
        /// The library requested.
        requested: PathBuf,
    },
    /// The library was loaded but failed to start.
    #[error("ONNX Runtime {} failed to start: {reason}", path.display())]
    Broken {
        /// The library.
        path: PathBuf,
        /// Its error message.
        reason: String,
    },
}

/// Returns all refusals in one line. Files that do not exist come last.
fn list_refusals(tried: &[Refusal]) -> String {
    let (missing, unusable): (Vec<_>, Vec<_>) =
        tried.iter().partition(|refusal| refusal.fault == Fault::Missing);
    let mut parts: Vec<String> = unusable.iter().map(ToString::to_string).collect();
    if !missing.is_empty() {
        let paths: Vec<_> =
            missing.iter().map(|refusal| refusal.path.display().to_string()).collect();
        parts.push(format!("not found: {}", paths.join(", ")));
    }
    one_line(&parts.join("; "))
}

/// Returns `text` in one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text
        .split(|c: char| c.is_control())
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

impl Runtime {
    /// Finds, checks, loads and starts ONNX Runtime, or returns the running one. `explicit` is the path that
    /// the user chose; an empty path counts as none. Takes about 40 ms the first time.
    ///
    /// # Errors
    /// [`RuntimeError::NotFound`] with all candidates tried; [`RuntimeError::Taken`] if `explicit` is another
    /// library than the running one; [`RuntimeError::Broken`] if the library fails to start. Each message is
    /// one line.
    pub fn load(explicit: Option<&Path>) -> Result<&'static Runtime, RuntimeError> {
        let explicit = explicit.filter(|path| !path.as_os_str().is_empty());
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            RuntimeState::Broken(error) => return Err(error.clone()),
            RuntimeState::Loaded(runtime) => return runtime.unless_another(explicit),
            RuntimeState::Empty => {}
        }
        let (path, skipped) = find(explicit)?;
        match start(&path) {
            Ok(environment) => {
                let runtime = Box::leak(Box::new(Runtime {
                    path,
                    skipped,
                    environment,
                    cuda: OnceLock::new(),
                }));
                *state = RuntimeState::Loaded(runtime);
                Ok(runtime)
            }
            Err(error) => {
                let reason = one_line(&error.to_string());
                let error = RuntimeError::Broken { path, reason };
                *state = RuntimeState::Broken(error.clone());
                Err(error)
            }
        }
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version of the library: the package of `scripts/get-onnxruntime` that has it, and the commit
    /// that it names. Takes about 25 ms.
    pub fn version(&self) -> String {
        let package = match checksum::package(&self.path) {
            Ok(package) => package.unwrap_or("a build that is not in scripts/onnxruntime.sha256"),
            Err(_) => "a build that cannot be read again",
        };
        let info = one_line(ort::info());
        let commit = info.split(", ").find(|field| field.starts_with("git-commit-id="));
        format!("{package}, {}", commit.unwrap_or("without a commit"))
    }

    /// Returns the unusable libraries that were found before this one.
    pub fn skipped(&self) -> &[Refusal] {
        &self.skipped
    }

    /// Returns whether the library can use NVIDIA GPUs. The first call on a GPU build checks the provider
    /// libraries, which takes about 0.2 s.
    pub fn cuda(&self) -> &CudaBuild {
        self.cuda.get_or_init(|| {
            let names = ["cuda", "shared"]
                .map(|part| format!("{DLL_PREFIX}onnxruntime_providers_{part}{DLL_SUFFIX}"));
            if !self.path.with_file_name(&names[0]).exists() {
                return CudaBuild::Absent;
            }
            // A damaged provider library would crash the process, too.
            for name in &names {
                let path = self.path.with_file_name(name);
                if let Err(fault) = check(&path, &self.path, name) {
                    return CudaBuild::Refused(Refusal { path, fault });
                }
            }
            CudaBuild::Present
        })
    }

    /// Returns the environment of ONNX Runtime, for sessions outside this crate. A process has only one.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns this runtime unless `explicit` is another library.
    fn unless_another(
        &'static self,
        explicit: Option<&Path>,
    ) -> Result<&'static Runtime, RuntimeError> {
        let Some(path) = explicit else { return Ok(self) };
        let requested = library_path(path);
        match fs::canonicalize(&requested) {
            Ok(path) if path == self.path => Ok(self),
            _ => Err(RuntimeError::Taken { loaded: self.path.clone(), requested }),
        }
    }
}

/// Returns the file name of the library on this platform.
fn file_name() -> String {
    format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}")
}

/// Returns the folder of this executable, not that of a symbolic link to it.
pub fn executable_folder() -> Option<PathBuf> {
    let executable = current_exe().ok()?;
    // Linux and Windows return the file itself.
    let executable =
        if cfg!(target_os = "macos") { fs::canonicalize(executable).ok()? } else { executable };
    Some(executable.parent()?.to_path_buf())
}

/// Returns the absolute path of the library at a path of the user.
fn library_path(path: &Path) -> PathBuf {
    let local = executable_folder().map(|folder| folder.join(path)).filter(|path| path.exists());
    let path = local.or_else(|| path::absolute(path).ok()).unwrap_or_else(|| path.to_path_buf());
    if path.is_dir() { path.join(file_name()) } else { path }
}

/// Returns the paths to try, in order.
fn candidates(
    explicit: Option<&Path>,
    variable: Option<&Path>,
    executable_folder: Option<&Path>,
) -> Vec<PathBuf> {
    if let Some(path) = explicit.or(variable) {
        return vec![library_path(path)];
    }
    let Some(folder) = executable_folder else { return Vec::new() };
    let folders = folder.ancestors().take(SEARCHED_FOLDERS).map(|folder| folder.join("runtime"));
    let folders = std::iter::once(folder.to_path_buf()).chain(folders);
    folders.map(|folder| folder.join(file_name())).collect()
}

/// Maps the first usable candidate. Returns its path and the unusable ones before it.
fn find(explicit: Option<&Path>) -> Result<(PathBuf, Vec<Refusal>), RuntimeError> {
    let variable = var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut tried = Vec::new();
    for path in candidates(explicit, variable.as_deref(), executable_folder().as_deref()) {
        match load(&path) {
            Ok(path) => {
                tried.retain(|refusal: &Refusal| refusal.fault != Fault::Missing);
                return Ok((path, tried));
            }
            Err(fault) => tried.push(Refusal { path, fault }),
        }
    }
    Err(RuntimeError::NotFound { tried })
}

/// Checks a library and maps it into this process. Returns its canonical path.
fn load(path: &Path) -> Result<PathBuf, Fault> {
    let path = fs::canonicalize(path).map_err(read_fault)?;
    check(&path, &path, &file_name())?;
    match ort::init_from(&path) {
        Ok(_) => Ok(path),
        Err(ort::LoadDynamicError::MissingApi { .. }) => Err(Fault::NotOnnxRuntime),
        Err(ort::LoadDynamicError::BadVersion { version_str, .. }) => {
            Err(Fault::TooOld(one_line(&version_str)))
        }
        Err(ort::LoadDynamicError::Dlopen { error, .. }) => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Err(Fault::Load(one_line(&cause)))
        }
        Err(error) => Err(Fault::Load(one_line(&error.to_string()))),
    }
}

fn read_fault(error: std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Missing,
        _ => Fault::Unreadable(error.to_string()),
    }
}

/// Checks the library at `path`, which is the ONNX Runtime library `main` or in the same folder, and is
/// called `name` in the script's list.
fn check(path: &Path, main: &Path, name: &str) -> Result<(), Fault> {
    let mut file = open_regular(path).map_err(read_fault)?;
    if cfg!(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")) {
        elf::check(&mut file)?;
    }
    let is_in_runtime =
        main.parent().and_then(Path::file_name).is_some_and(|folder| folder == "runtime");
    if is_in_runtime || checksum::checksum_path(main).exists() {
        checksum::check(main, name)?;
    }
    Ok(())
}

/// Starts the mapped library. Log messages of ONNX Runtime are dropped, because failures are returned as
/// errors. If the environment variable `ORT_LOG` is one of its levels, they are printed to standard error.
fn start(path: &Path) -> ort::Result<Environment> {
    // The library is already mapped, so this only creates a builder.
    let builder = ort::init_from(path).map_err(|error| ort::Error::new(error.to_string()))?;
    let builder = builder.with_name("menagerie").with_telemetry(false);
    if var_os("ORT_LOG").is_some() {
        return builder.build();
    }
    let environment = builder.with_logger(Arc::new(|_, _, _, _, _| {})).build()?;
    environment.set_log_level(LogLevel::Fatal);
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_of_an_explicit_path() {
        let folder = Path::new("/checkout/target/release");
        let explicit = Path::new("/a/libort.so");
        let variable = Path::new("/b/libort.so");
        assert_eq!(candidates(Some(explicit), Some(variable), Some(folder)), [explicit]);
        assert_eq!(candidates(None, Some(variable), Some(folder)), [variable]);
    }

    #[test]
    fn candidates_from_the_executable_upwards() {
        let found = candidates(None, None, Some(Path::new("/a/b/c/d/e/f")));
        let folders = [
            "/a/b/c/d/e/f",
            "/a/b/c/d/e/f/runtime",
            "/a/b/c/d/e/runtime",
            "/a/b/c/d/runtime",
            "/a/b/c/runtime",
            "/a/b/runtime",
        ];
        assert_eq!(found, folders.map(|folder| Path::new(folder).join(file_name())));
        assert!(candidates(None, None, None).is_empty());
    }

    #[test]
    fn error_lists_all_candidates_in_one_line() {
        let refusal = |path: &str, fault| Refusal { path: path.into(), fault };
        let error = RuntimeError::NotFound {
            tried: vec![
                refusal("/a/x.so", Fault::Missing),
                refusal("/b/x.so", Fault::Load("bad\nluck".into())),
                refusal("/c/x.so", Fault::Missing),
            ],
        };
        assert_eq!(
            error.to_string(),
            "no ONNX Runtime: /b/x.so cannot be loaded: bad luck; not found: /a/x.so, /c/x.so; \
             get one with scripts/get-onnxruntime, or set ORT_DYLIB_PATH"
        );
    }
}

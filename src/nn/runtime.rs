//! ONNX Runtime: finding its shared library, and loading it without harm.
//!
//! The library is no part of this program. It is looked for in this order:
//!
//! 1. the path that the caller names (the engine's option);
//! 2. the path in the environment variable `ORT_DYLIB_PATH`;
//! 3. the executable's own folder;
//! 4. a folder `runtime/` there or in the four folders above, so that an executable in a
//!    checkout's `target/release` finds what `scripts/get-onnxruntime` laid at its root.
//!
//! A path may name the library or the folder that holds it; a relative one starts at the
//! executable's folder and, if nothing is there, at the working directory. A path that was named
//! (1, 2) is an order: if it fails, nothing else is tried. A file that lies in a place of 3 or 4
//! and will not do is passed over, and [`Runtime::skipped`] says why.
//!
//! What could end the process or mislead it is refused before the loader maps the file: what is no
//! library for this machine, what is cut short, and, in `runtime/` or beside a record of the
//! script's, what has another checksum than the script's list.
//!
//! There is one runtime a process: the first that loads stays.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::env::{current_exe, var_os};
use std::error::Error as _;
use std::fmt;
use std::fs::{self, File};
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;
use thiserror::Error;

mod checksum;
mod elf;

pub use self::checksum::ChecksumError;
pub use self::elf::ElfError;

/// The environment variable that names the library.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// How many folders, from the executable's own upwards, are looked at for a `runtime/`:
/// `deps`, `release`, a target triple, `target` and the checkout.
const DEPTH: usize = 5;

/// The runtime of this process.
static STATE: Mutex<State> = Mutex::new(State::Empty);

enum State {
    Empty,
    Loaded(&'static Runtime),
    /// The library is mapped and cannot be replaced, but does not start.
    Broken(RuntimeError),
}

/// ONNX Runtime, loaded and started.
#[derive(Debug)]
pub struct Runtime {
    path: PathBuf,
    skipped: Vec<Refusal>,
    environment: Environment,
    cuda: OnceLock<CudaBuild>,
}

/// Whether the library is one that can use NVIDIA GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CudaBuild {
    /// It is a CPU build.
    Absent,
    /// The libraries that it needs beside it are there and whole. Whether the machine has a GPU
    /// and a driver shows only when a network is opened.
    Present,
    /// One of the libraries that it needs beside it will not do.
    Refused(Refusal),
}

/// A library that was not loaded, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The library.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.fault)
    }
}

/// Why a library will not do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// There is no such file.
    #[error("is not there")]
    Missing,
    /// There is something, but it is no file that can be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is no shared library for this machine, or not a whole one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// It is not the file that was fetched.
    #[error("{0}; fetch it again")]
    Checksum(#[from] ChecksumError),
    /// The dynamic loader does not take it.
    #[error("does not load: {0}")]
    Load(String),
    /// It is a library, but not ONNX Runtime.
    #[error("is not ONNX Runtime: it has no OrtGetApiBase")]
    Stranger,
    /// It is an ONNX Runtime from before what this program needs.
    #[error("is ONNX Runtime {0}, older than the 1.{minimum} needed", minimum = ort::MINOR_VERSION)]
    Old(String),
}

/// Why there is no runtime.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuntimeError {
    /// No candidate is a library that will do.
    #[error("no ONNX Runtime: {}; get one with scripts/get-onnxruntime, or name one in {VARIABLE}", line(.tried))]
    NotFound {
        /// Every candidate, in the order tried.
        tried: Vec<Refusal>,
    },
    /// Another library is loaded already.
    #[error("ONNX Runtime is loaded from {loaded} already and stays until this process ends; {asked} is not loaded", loaded = .loaded.display(), asked = .asked.display())]
    Taken {
        /// The library in use.
        loaded: PathBuf,
        /// The one asked for.
        asked: PathBuf,
    },
    /// The library loads but does not start.
    #[error("the ONNX Runtime {} does not start: {reason}", path.display())]
    Broken {
        /// The library.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
}

/// All refusals in one line, those that merely are not there together at the end.
fn line(tried: &[Refusal]) -> String {
    let (missing, wrong): (Vec<_>, Vec<_>) =
        tried.iter().partition(|refusal| refusal.fault == Fault::Missing);
    let mut parts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    if !missing.is_empty() {
        let paths: Vec<_> =
            missing.iter().map(|refusal| refusal.path.display().to_string()).collect();
        parts.push(format!("not there: {}", paths.join(", ")));
    }
    one_line(&parts.join("; "))
}

/// `text` without line ends and other control characters, for errors that must fit a line.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text
        .split(|c: char| c.is_control())
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

impl Runtime {
    /// Finds, checks, loads and starts ONNX Runtime, or returns the one that runs already.
    /// `explicit` is the path that the user chose, if any; an empty one is none. Takes some 40 ms the first time.
    ///
    /// # Errors
    /// [`RuntimeError::NotFound`] with every candidate tried; [`RuntimeError::Taken`] if
    /// `explicit` names another library than the one that runs; [`RuntimeError::Broken`] if the
    /// library does not start. Each is one line of text.
    pub fn load(explicit: Option<&Path>) -> Result<&'static Runtime, RuntimeError> {
        let explicit = explicit.filter(|path| !path.as_os_str().is_empty());
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Broken(error) => return Err(error.clone()),
            State::Loaded(runtime) => return runtime.still(explicit),
            State::Empty => {}
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
                *state = State::Loaded(runtime);
                Ok(runtime)
            }
            Err(error) => {
                let reason = one_line(&error.to_string());
                let error = RuntimeError::Broken { path, reason };
                *state = State::Broken(error.clone());
                Err(error)
            }
        }
    }

    /// The library's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The libraries that were there and came before this one, but would not do.
    pub fn skipped(&self) -> &[Refusal] {
        &self.skipped
    }

    /// Whether the library can use NVIDIA GPUs. The first call on a GPU build checks the libraries
    /// beside it, which takes some 0.2 s.
    pub fn cuda(&self) -> &CudaBuild {
        self.cuda.get_or_init(|| {
            let names = ["cuda", "shared"]
                .map(|part| format!("{DLL_PREFIX}onnxruntime_providers_{part}{DLL_SUFFIX}"));
            if !self.path.with_file_name(&names[0]).exists() {
                return CudaBuild::Absent;
            }
            // A damaged provider kills the process as a damaged library does.
            for name in &names {
                let path = self.path.with_file_name(name);
                if let Err(fault) = check(&path, &self.path, name) {
                    return CudaBuild::Refused(Refusal { path, fault });
                }
            }
            CudaBuild::Present
        })
    }

    /// Returns the environment of ONNX Runtime, for sessions outside this crate: a process has only one.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// This runtime, unless `explicit` asks for another.
    fn still(&'static self, explicit: Option<&Path>) -> Result<&'static Runtime, RuntimeError> {
        let Some(path) = explicit else { return Ok(self) };
        let asked = named(path);
        match fs::canonicalize(&asked) {
            Ok(path) if path == self.path => Ok(self),
            _ => Err(RuntimeError::Taken { loaded: self.path.clone(), asked }),
        }
    }
}

/// The name of the library's file on this platform.
fn file_name() -> String {
    format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}")
}

/// The folder of this executable.
fn home() -> Option<PathBuf> {
    Some(current_exe().ok()?.parent()?.to_path_buf())
}

/// The library that a path of the user's means, as an absolute path.
fn named(path: &Path) -> PathBuf {
    let beside = home().map(|home| home.join(path)).filter(|path| path.exists());
    let path = beside.or_else(|| path::absolute(path).ok()).unwrap_or_else(|| path.to_path_buf());
    if path.is_dir() { path.join(file_name()) } else { path }
}

/// Where to look, in order.
fn candidates(
    explicit: Option<&Path>,
    variable: Option<&Path>,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    if let Some(path) = explicit.or(variable) {
        return vec![named(path)];
    }
    let Some(home) = home else { return Vec::new() };
    let folders = home.ancestors().take(DEPTH).map(|folder| folder.join("runtime"));
    let folders = std::iter::once(home.to_path_buf()).chain(folders);
    folders.map(|folder| folder.join(file_name())).collect()
}

/// Maps the first candidate that will do; returns its path and what was passed over.
fn find(explicit: Option<&Path>) -> Result<(PathBuf, Vec<Refusal>), RuntimeError> {
    let variable = var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut tried = Vec::new();
    for path in candidates(explicit, variable.as_deref(), home().as_deref()) {
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

/// Checks a library and maps it into this process; returns its path without links.
fn load(path: &Path) -> Result<PathBuf, Fault> {
    let path = fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Missing,
        _ => Fault::Unreadable(error.to_string()),
    })?;
    check(&path, &path, &file_name())?;
    match ort::init_from(&path) {
        Ok(_) => Ok(path),
        Err(ort::LoadDynamicError::MissingApi { .. }) => Err(Fault::Stranger),
        Err(ort::LoadDynamicError::BadVersion { version_str, .. }) => {
            Err(Fault::Old(one_line(&version_str)))
        }
        Err(ort::LoadDynamicError::Dlopen { error, .. }) => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Err(Fault::Load(one_line(&cause)))
        }
        Err(error) => Err(Fault::Load(one_line(&error.to_string()))),
    }
}

/// Checks the library at `path`, which lies beside the ONNX Runtime library `main` (or is it) and
/// is called `name` in the script's list.
fn check(path: &Path, main: &Path, name: &str) -> Result<(), Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Missing,
        _ => Fault::Unreadable(error.to_string()),
    };
    // EvalStats before opening: opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Fault::Unreadable("no plain file".into()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    if cfg!(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")) {
        elf::check(&mut file)?;
    }
    let laid = main.parent().and_then(Path::file_name).is_some_and(|folder| folder == "runtime");
    if laid || checksum::record(main).exists() {
        checksum::check(main, name)?;
    }
    Ok(())
}

/// Starts the library that is mapped. ONNX Runtime's own messages are dropped, as all that fails
/// comes back as an error; `ORT_LOG` set to one of its levels shows them on standard error.
fn start(path: &Path) -> ort::Result<Environment> {
    // The library is mapped already: this only makes a builder.
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
    fn a_named_path_is_the_only_candidate() {
        let home = Path::new("/checkout/target/release");
        let asked = Path::new("/a/libort.so");
        let variable = Path::new("/b/libort.so");
        assert_eq!(candidates(Some(asked), Some(variable), Some(home)), [asked]);
        assert_eq!(candidates(None, Some(variable), Some(home)), [variable]);
    }

    #[test]
    fn the_search_goes_from_the_executable_upwards() {
        let home = Path::new("/a/b/c/d/e/f");
        let found = candidates(None, None, Some(home));
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
    fn an_error_is_one_line_with_every_candidate() {
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
            "no ONNX Runtime: /b/x.so does not load: bad luck; not there: /a/x.so, /c/x.so; \
             get one with scripts/get-onnxruntime, or name one in ORT_DYLIB_PATH"
        );
    }
}

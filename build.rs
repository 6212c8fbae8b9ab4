//! Passes the commit of the source code to the library, for `menagerie --version`.
//!
//! It is the last commit that changed what the executables are built of, with `-dirty` if there were changes since. So
//! other commits do not compile the library and all that depend on it again. The environment variable
//! `MENAGERIE_COMMIT` replaces it, for releases and for builds of a copy without `.git`.

use std::env;
use std::path::Path;
use std::process::Command;

/// The variable that names the commit, here and in the library.
const VARIABLE: &str = "MENAGERIE_COMMIT";

/// What the engine is built of.
const SOURCES: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "build.rs", "src", "variants.ini", "scripts/onnxruntime.sha256"];

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let named = env::var(VARIABLE).ok().filter(|commit| !commit.trim().is_empty());
    let commit = match named {
        Some(commit) => commit.trim().replace(char::is_whitespace, " "),
        None => commit_of_checkout().unwrap_or_else(|| "unknown".to_owned()),
    };
    println!("cargo::rustc-env={VARIABLE}={commit}");
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=MENAGERIE_TARGET={target}");
}

/// Returns the last commit that changed [`SOURCES`]; `None` if this is no checkout, or git is not installed.
fn commit_of_checkout() -> Option<String> {
    let root = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = git(&["rev-parse", "--show-toplevel"])?;
    // An unpacked archive may lie inside another repository.
    if Path::new(&top).canonicalize().ok()? != Path::new(&root).canonicalize().ok()? {
        return None;
    }
    let commit = git(&[&["log", "-1", "--format=%h", "--abbrev=10", "--"][..], &SOURCES].concat())?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &SOURCES].concat())?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Runs git in the package's folder. Returns its output without the line break at the end; `None` if it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}

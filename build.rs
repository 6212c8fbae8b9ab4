//! Passes the commit of the source code to the library, for `menagerie --version`.
//!
//! The commit is recorded in release builds only: a recorded commit means that every commit compiles the library
//! again, which is not worth it while the code is tested. The environment variable `MENAGERIE_COMMIT` replaces it,
//! for builds of a copy without `.git`.

use std::env;
use std::path::Path;
use std::process::Command;

/// The variable that names the commit, here and in the library.
const VARIABLE: &str = "MENAGERIE_COMMIT";

/// What the executables are built of. A commit whose files were changed here is marked as `-dirty`.
const SOURCES: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "build.rs", "src", "variants.ini", "scripts/onnxruntime.sha256"];

/// The files of git that change with the commit that is checked out: a commit appends to the log of HEAD, which
/// some repositories do not have.
const GIT_FILES: [&str; 3] = ["HEAD", "logs/HEAD", "packed-refs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let named = env::var(VARIABLE).ok().filter(|commit| !commit.trim().is_empty());
    let commit = match named {
        Some(commit) => commit.trim().replace(char::is_whitespace, " "),
        None if env::var("PROFILE").is_ok_and(|profile| profile == "release") => {
            commit_of_checkout().unwrap_or_else(|| "unknown".to_owned())
        }
        None => "not recorded (debug build)".to_owned(),
    };
    println!("cargo::rustc-env={VARIABLE}={commit}");
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=MENAGERIE_TARGET={target}");
}

/// Returns the commit that is checked out, and tells cargo what it depends on; `None` if this is no checkout, or
/// git is not installed.
fn commit_of_checkout() -> Option<String> {
    let root = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = git(&["rev-parse", "--show-toplevel"])?;
    // An unpacked archive may lie inside another repository.
    if Path::new(&top).canonicalize().ok()? != Path::new(&root).canonicalize().ok()? {
        return None;
    }
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in GIT_FILES.into_iter().chain(branch.as_deref()) {
        let file = git(&["rev-parse", "--git-path", name])?;
        // Cargo would run this script each time for a file that does not exist.
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &SOURCES[..]].concat())?;
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

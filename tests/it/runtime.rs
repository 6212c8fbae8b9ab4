//! Loading ONNX Runtime, and refusing what would end the process. Every case runs in a process of
//! its own, as a library that is loaded stays.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use menagerie::nn::runtime::Runtime;

/// Tells [`child`] what to load; empty for the search.
const ASK: &str = "MENAGERIE_TEST_LOAD";
const LIBRARY: &str = "libonnxruntime.so";

/// The library that the script laid.
fn laid() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime").join(LIBRARY);
    assert!(path.exists(), "{} is not there: run scripts/get-onnxruntime", path.display());
    path
}

/// A folder for one test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The child's part: loads what it was told and says how it went, in one line.
#[test]
fn child() {
    let Some(asked) = std::env::var_os(ASK) else { return };
    match Runtime::load(Some(Path::new(&asked))) {
        Ok(runtime) => {
            let skipped: Vec<_> = runtime.skipped().iter().map(ToString::to_string).collect();
            println!("\nloaded {} {skipped:?} cuda {:?}", runtime.path().display(), runtime.cuda());
        }
        Err(error) => println!("\nrefused {error}"),
    }
}

/// Runs a copy of this program, `program` or the original, that loads `asked`.
fn run(program: &Path, asked: &str, variable: Option<&Path>) -> String {
    let mut command = Command::new(program);
    command
        .args(["--exact", "runtime::child", "--nocapture"])
        .env(ASK, asked)
        .env_remove("ORT_DYLIB_PATH");
    if let Some(path) = variable {
        command.env("ORT_DYLIB_PATH", path);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{asked}: {} {text}", output.status);
    let said =
        text.lines().find(|line| line.starts_with("loaded ") || line.starts_with("refused "));
    let quiet = String::from_utf8_lossy(&output.stderr);
    assert!(quiet.is_empty(), "{quiet}");
    said.unwrap_or_else(|| panic!("{text}")).to_string()
}

fn load(path: &Path) -> String {
    run(&std::env::current_exe().unwrap(), path.to_str().unwrap(), None)
}

#[test]
fn the_laid_library_loads() {
    let library = laid();
    let wanted = format!("loaded {} []", library.display());
    assert!(load(&library).starts_with(&wanted), "{}", load(&library));
    // Its folder names it too, and so does a link from elsewhere.
    assert!(load(library.parent().unwrap()).starts_with(&wanted));
    let link = folder("link").join("ort.so");
    symlink(&library, &link).unwrap();
    assert!(load(&link).starts_with(&wanted));
    let by_variable = run(&std::env::current_exe().unwrap(), "", Some(&library));
    assert!(by_variable.starts_with(&wanted), "{by_variable}");
}

#[test]
fn a_cut_library_is_refused_and_kills_nobody() {
    let whole = fs::read(laid()).unwrap();
    let path = folder("cut").join("ort.so");
    let lengths =
        [0, 3, 4, 63, 64, 1000, 4096, whole.len() / 2, whole.len() - 4096, whole.len() - 1];
    for length in lengths {
        fs::write(&path, &whole[..length]).unwrap();
        let said = load(&path);
        assert!(said.starts_with("refused no ONNX Runtime: "), "{length}: {said}");
        assert!(said.contains("is cut short") || length < 4, "{length}: {said}");
        assert!(said.contains("scripts/get-onnxruntime"), "{said}");
    }
    // The full length, but never written to the end.
    for written in [64, 4096, whole.len() / 2, whole.len() - 4096] {
        let mut hollow = whole.clone();
        hollow[written..].fill(0);
        fs::write(&path, hollow).unwrap();
        let said = load(&path);
        assert!(said.contains("is damaged"), "{written}: {said}");
    }
}

#[test]
fn what_is_no_library_is_refused() {
    let folder = folder("strange");
    let said = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        load(&path)
    };
    assert!(said("text.so", b"#!/bin/sh\nexit 1\n").contains("text.so is no ELF file"));
    let own = fs::read(std::env::current_exe().unwrap()).unwrap();
    let program = said("program.so", &own);
    assert!(
        program.contains("does not load") || program.contains("no shared library"),
        "{program}"
    );
    let mut foreign = fs::read(laid()).unwrap();
    foreign[18] ^= 1;
    assert!(said("foreign.so", &foreign).contains("is for another machine (ELF machine"));
    assert!(load(Path::new("/dev/zero")).contains("cannot be read: no plain file"));
    assert!(load(&folder).contains(&format!("not there: {}", folder.join(LIBRARY).display())));
    assert!(load(Path::new("/no/such")).contains("not there: /no/such;"));
}

#[test]
fn another_library_is_refused() {
    // The C library of this very process.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps.lines().filter_map(|line| line.split_whitespace().last());
    let libc = own.into_iter().find(|path| path.contains("/libc.so") || path.contains("/libc-"));
    let Some(libc) = libc else { return };
    let said = load(Path::new(libc));
    assert!(said.contains("is not ONNX Runtime: it has no OrtGetApiBase"), "{said}");
}

#[test]
fn a_swapped_library_is_refused() {
    let mut swapped = fs::read(laid()).unwrap();
    *swapped.last_mut().unwrap() ^= 1;
    // In a folder called runtime, with and without a record that agrees with it.
    let folder = folder("swapped").join("runtime");
    fs::create_dir(&folder).unwrap();
    let path = folder.join(LIBRARY);
    fs::write(&path, &swapped).unwrap();
    let said = load(&path);
    assert!(said.contains("was changed: its SHA-256 is"), "{said}");
    let sum = said.split("SHA-256 is ").nth(1).unwrap().split(',').next().unwrap();
    fs::write(folder.join("libonnxruntime.so.sha256"), format!("{sum}  {LIBRARY}\n")).unwrap();
    assert!(load(&path).contains("which is none of scripts/onnxruntime.sha256's"));
    // Elsewhere only with the record: a library that users built themselves has no known sum.
    let other = folder.parent().unwrap().join(LIBRARY);
    fs::rename(&path, &other).unwrap();
    assert!(load(&other).starts_with("loaded "));
    fs::rename(folder.join("libonnxruntime.so.sha256"), other.with_extension("so.sha256")).unwrap();
    assert!(load(&other).contains("was changed"));
}

#[test]
fn the_search_passes_over_what_will_not_do() {
    let root = folder("search");
    let bin = root.join("target/release");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("engine");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    // Nothing anywhere: every place is named.
    let said = run(&program, "", None);
    for place in [&bin, &bin.join("runtime"), &root.join("target/runtime"), &root.join("runtime")] {
        assert!(said.contains(place.join(LIBRARY).to_str().unwrap()), "{said}");
    }
    // Something bad beside the program, something good at the root.
    fs::write(bin.join(LIBRARY), b"\x7fELF").unwrap();
    fs::create_dir(root.join("runtime")).unwrap();
    fs::copy(laid(), root.join("runtime").join(LIBRARY)).unwrap();
    let said = run(&program, "", None);
    assert!(said.starts_with(&format!("loaded {}/runtime/{LIBRARY}", root.display())), "{said}");
    assert!(said.contains("is cut short: its header"), "{said}");
    // A relative path starts at the program's folder.
    let said = run(&program, "../../runtime", None);
    assert!(said.starts_with("loaded "), "{said}");
    // What the user names is an order: nothing else is tried.
    let said = run(&program, "", Some(Path::new("/no/such")));
    assert!(said.starts_with("refused ") && !said.contains("target"), "{said}");
}

#[test]
fn a_damaged_gpu_library_is_refused() {
    // Only what lies beside the library makes it a GPU build.
    let folder = folder("cuda");
    let path = folder.join(LIBRARY);
    fs::copy(laid(), &path).unwrap();
    assert!(load(&path).ends_with("cuda Absent"));
    fs::write(folder.join("libonnxruntime_providers_cuda.so"), b"\x7fELF").unwrap();
    let said = load(&path);
    assert!(said.contains("cuda Refused(") && said.contains("Cut {"), "{said}");
}

//! Loading of ONNX Runtime, and refusal of files that would crash the process. Each case runs in a separate
//! process, because a loaded library stays.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use menagerie::nn::runtime::Runtime;

/// The environment variable with the path that [`child`] loads. Empty for the default search.
const PATH_VARIABLE: &str = "MENAGERIE_TEST_LOAD";
const LIBRARY: &str = "libonnxruntime.so";

/// Returns the library that the script downloaded.
fn downloaded_library() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime").join(LIBRARY);
    assert!(path.exists(), "{} is not found: run scripts/get-onnxruntime", path.display());
    path
}

/// Returns an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The child process: loads the library of [`PATH_VARIABLE`] and prints the result in one line.
#[test]
fn child() {
    let Some(requested) = std::env::var_os(PATH_VARIABLE) else { return };
    match Runtime::load(Some(Path::new(&requested))) {
        Ok(runtime) => {
            let skipped: Vec<_> = runtime.skipped().iter().map(ToString::to_string).collect();
            println!("\nloaded {} {skipped:?} cuda {:?}", runtime.path().display(), runtime.cuda());
        }
        Err(error) => println!("\nrefused {error}"),
    }
}

/// Runs [`child`] in `program`, a copy of this executable, to load `requested`. Returns the line that it
/// prints.
fn run(program: &Path, requested: &str, variable: Option<&Path>) -> String {
    let mut command = Command::new(program);
    command
        .args(["--exact", "runtime::child", "--nocapture"])
        .env(PATH_VARIABLE, requested)
        .env_remove("ORT_DYLIB_PATH");
    if let Some(path) = variable {
        command.env("ORT_DYLIB_PATH", path);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{requested}: {} {text}", output.status);
    let result =
        text.lines().find(|line| line.starts_with("loaded ") || line.starts_with("refused "));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    result.unwrap_or_else(|| panic!("{text}")).to_string()
}

fn load(path: &Path) -> String {
    run(&std::env::current_exe().unwrap(), path.to_str().unwrap(), None)
}

#[test]
fn downloaded_library_loads() {
    let library = downloaded_library();
    let wanted = format!("loaded {} []", library.display());
    assert!(load(&library).starts_with(&wanted), "{}", load(&library));
    // The path may be that of its folder, or a symbolic link.
    assert!(load(library.parent().unwrap()).starts_with(&wanted));
    let link = folder("link").join("ort.so");
    symlink(&library, &link).unwrap();
    assert!(load(&link).starts_with(&wanted));
    let by_variable = run(&std::env::current_exe().unwrap(), "", Some(&library));
    assert!(by_variable.starts_with(&wanted), "{by_variable}");
}

#[test]
fn truncated_library_is_refused() {
    let whole = fs::read(downloaded_library()).unwrap();
    let path = folder("cut").join("ort.so");
    let lengths =
        [0, 3, 4, 63, 64, 1000, 4096, whole.len() / 2, whole.len() - 4096, whole.len() - 1];
    for length in lengths {
        fs::write(&path, &whole[..length]).unwrap();
        let result = load(&path);
        assert!(result.starts_with("refused no ONNX Runtime: "), "{length}: {result}");
        assert!(result.contains("is truncated") || length < 4, "{length}: {result}");
        assert!(result.contains("scripts/get-onnxruntime"), "{result}");
    }
    // The full length, but with an unwritten tail.
    for written in [64, 4096, whole.len() / 2, whole.len() - 4096] {
        let mut unwritten = whole.clone();
        unwritten[written..].fill(0);
        fs::write(&path, unwritten).unwrap();
        let result = load(&path);
        assert!(result.contains("is damaged"), "{written}: {result}");
    }
}

#[test]
fn files_other_than_libraries_are_refused() {
    let folder = folder("strange");
    let load_bytes = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        load(&path)
    };
    assert!(load_bytes("text.so", b"#!/bin/sh\nexit 1\n").contains("text.so is not an ELF file"));
    let own = fs::read(std::env::current_exe().unwrap()).unwrap();
    let program = load_bytes("program.so", &own);
    assert!(
        program.contains("cannot be loaded") || program.contains("not a shared library"),
        "{program}"
    );
    let mut foreign = fs::read(downloaded_library()).unwrap();
    foreign[18] ^= 1;
    assert!(load_bytes("foreign.so", &foreign).contains("is for another machine (ELF machine"));
    assert!(load(Path::new("/dev/zero")).contains("cannot be read: not a regular file"));
    assert!(load(&folder).contains(&format!("not found: {}", folder.join(LIBRARY).display())));
    assert!(load(Path::new("/no/such")).contains("not found: /no/such;"));
}

#[test]
fn library_other_than_onnx_runtime_is_refused() {
    // The C library of this process.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps.lines().filter_map(|line| line.split_whitespace().last());
    let libc = own.into_iter().find(|path| path.contains("/libc.so") || path.contains("/libc-"));
    let Some(libc) = libc else { return };
    let result = load(Path::new(libc));
    assert!(result.contains("is not ONNX Runtime: it has no OrtGetApiBase"), "{result}");
}

#[test]
fn modified_library_is_refused() {
    let mut swapped = fs::read(downloaded_library()).unwrap();
    *swapped.last_mut().unwrap() ^= 1;
    // In a folder called runtime, with and without a matching checksum file.
    let folder = folder("swapped").join("runtime");
    fs::create_dir(&folder).unwrap();
    let path = folder.join(LIBRARY);
    fs::write(&path, &swapped).unwrap();
    let result = load(&path);
    assert!(result.contains("was changed: its SHA-256 is"), "{result}");
    let sum = result.split("SHA-256 is ").nth(1).unwrap().split(',').next().unwrap();
    fs::write(folder.join("libonnxruntime.so.sha256"), format!("{sum}  {LIBRARY}\n")).unwrap();
    assert!(load(&path).contains("which is not in scripts/onnxruntime.sha256"));
    // In other folders only with a checksum file, because users may build the library.
    let other = folder.parent().unwrap().join(LIBRARY);
    fs::rename(&path, &other).unwrap();
    assert!(load(&other).starts_with("loaded "));
    fs::rename(folder.join("libonnxruntime.so.sha256"), other.with_extension("so.sha256")).unwrap();
    assert!(load(&other).contains("was changed"));
}

#[test]
fn search_skips_unusable_libraries() {
    let root = folder("search");
    let bin = root.join("target/release");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("engine");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    // Without any library, the error lists all paths.
    let result = run(&program, "", None);
    for place in [&bin, &bin.join("runtime"), &root.join("target/runtime"), &root.join("runtime")] {
        assert!(result.contains(place.join(LIBRARY).to_str().unwrap()), "{result}");
    }
    // An unusable library in the folder of the program, a good one at the root.
    fs::write(bin.join(LIBRARY), b"\x7fELF").unwrap();
    fs::create_dir(root.join("runtime")).unwrap();
    fs::copy(downloaded_library(), root.join("runtime").join(LIBRARY)).unwrap();
    let result = run(&program, "", None);
    assert!(
        result.starts_with(&format!("loaded {}/runtime/{LIBRARY}", root.display())),
        "{result}"
    );
    assert!(result.contains("is truncated: its header"), "{result}");
    // A relative path starts at the program's folder.
    let result = run(&program, "../../runtime", None);
    assert!(result.starts_with("loaded "), "{result}");
    // After an explicit path, no other is tried.
    let result = run(&program, "", Some(Path::new("/no/such")));
    assert!(result.starts_with("refused ") && !result.contains("target"), "{result}");
}

#[test]
fn damaged_gpu_library_is_refused() {
    // The provider library in the same folder makes it a GPU build.
    let folder = folder("cuda");
    let path = folder.join(LIBRARY);
    fs::copy(downloaded_library(), &path).unwrap();
    assert!(load(&path).ends_with("cuda Absent"));
    fs::write(folder.join("libonnxruntime_providers_cuda.so"), b"\x7fELF").unwrap();
    let result = load(&path);
    assert!(result.contains("cuda Refused(") && result.contains("Truncated {"), "{result}");
}

//! The report of `--version`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use menagerie::nn::network::{combined_checksum, verify};

use crate::support::talk;

/// Returns the output of `command`, which must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the engine starts");
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the value of the line of the report that begins with `key`.
fn value<'a>(report: &'a str, key: &str) -> &'a str {
    let line = report.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {key} in\n{report}"))
}

/// Returns an empty folder outside the checkout's folders of networks, with the engine in it.
fn folder_with_engine(name: &str) -> (PathBuf, PathBuf) {
    // The engine searches its own folder and the four above it.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("version").join(name).join("1/2/3/4");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    let engine = folder.join("menagerie");
    fs::hard_link(talk::executable(), &engine).expect("a second name");
    (folder, engine)
}

#[test]
fn version_names_what_a_bug_report_needs() {
    let report = output(talk::command().arg("--version"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(report.lines().next(), Some(&*format!("Menagerie {version}")));
    assert!(value(&report, "target").contains(std::env::consts::ARCH), "{report}");
    assert!(!value(&report, "commit").is_empty(), "{report}");
    let runtime = value(&report, "ONNX Runtime");
    assert!(
        runtime.starts_with("onnxruntime==") && runtime.contains("git-commit-id="),
        "{runtime}"
    );
    assert!(runtime.ends_with("libonnxruntime.so"), "{runtime}");
    assert_eq!(output(talk::command().arg("-V")), report);
}

#[test]
fn version_identifies_the_networks() {
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets");
    let mut networks = Vec::new();
    for entry in fs::read_dir(nets).expect("the networks") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            let file = fs::read(&path).expect("a network");
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            networks.push((name, verify(&file).expect("a checksum").to_owned()));
        }
    }
    networks.sort();
    let identity = &combined_checksum(&networks)[..12];
    let report = output(talk::command().arg("--version"));
    let expected = format!("{identity}, {} files in ", networks.len());
    assert!(value(&report, "networks").starts_with(&expected), "{expected}\n{report}");
}

#[test]
fn version_reports_what_is_missing_or_damaged() {
    let (folder, engine) = folder_with_engine("damaged");
    let mut command = Command::new(&engine);
    command.arg("--version").current_dir(&folder).env("ORT_DYLIB_PATH", "/nothing/here.so");
    let report = output(&mut command);
    assert_eq!(value(&report, "networks"), "no folder \"nets\", only the embedded ones");
    assert!(value(&report, "ONNX Runtime").starts_with("no ONNX Runtime: "), "{report}");
    assert!(value(&report, "ONNX Runtime").contains("/nothing/here.so"), "{report}");

    let nets = folder.join("nets");
    fs::create_dir(&nets).expect("a folder");
    let network = include_bytes!("../../nets/3x3.onnx");
    fs::write(nets.join("3x3.onnx"), network).expect("a file");
    fs::write(nets.join("cut.onnx"), &network[..network.len() / 2]).expect("a file");
    let report = output(&mut command);
    let networks = value(&report, "networks");
    assert!(
        networks.contains(", 1 files in ") && networks.ends_with("damaged: cut.onnx"),
        "{report}"
    );
}

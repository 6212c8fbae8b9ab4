//! Measurements of variants of the user's own.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// Runs the trainer and returns its output and its errors.
fn trainer(arguments: &[&str]) -> (String, String) {
    let mut trainer = Command::new(env!("CARGO_BIN_EXE_trainer"));
    let output = trainer.args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("a text");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn variants_of_a_file_are_measured() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("my.ini");
    fs::write(&file, "[mini:3x3]\nstalemateValue = loss\n").expect("a file");
    let file = file.to_str().expect("a text");
    let verify = ["verify", "mini", "--uniform", "--visits", "1", "--sample", "40"];
    let (output, errors) = trainer(&[&verify[..], &["--variants", file]].concat());
    assert!(output.contains("\nuniform,1,40,"), "{output} {errors}");
    let (_, errors) = trainer(&verify);
    assert!(errors.contains("mini"), "{errors}");
    let records = folder.path().join("none.tsv");
    let records = records.to_str().expect("a text");
    let accuracy = ["accuracy", "mini", "network.onnx", "--records", records];
    let (_, errors) = trainer(&[&accuracy[..], &["--variants", file]].concat());
    assert!(errors.contains("none.tsv") && !errors.contains("mini"), "{errors}");
}

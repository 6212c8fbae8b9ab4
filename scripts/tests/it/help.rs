//! Texts of `--help`.

use std::process::Command;

fn help(command: &str) -> String {
    let mut trainer = Command::new(env!("CARGO_BIN_EXE_trainer"));
    let output = trainer.args([command, "--help"]).output().expect("it runs");
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
fn help_names_numbers_of_threads() {
    let text = help("solve");
    assert!(text.contains("--threads <THREADS>"), "{text}");
}

#[test]
fn help_says_which_options_are_for_a_new_run() {
    for (command, of_new_run, of_any_run) in [
        ("train", &["--from", "--config", "--seed", "--iterations"][..], &["--positions"][..]),
        (
            "sparse",
            &["--start", "--config", "--batch", "--hidden-size", "--checkpoint-seconds", "--seed"],
            &["--positions", "--threads"],
        ),
    ] {
        let text = help(command);
        let (any, new) = text.split_once("Options of a new run").expect("a heading");
        for option in of_new_run {
            assert!(new.contains(&format!("{option} <")), "{option}: {text}");
        }
        for option in of_any_run {
            assert!(any.contains(&format!("{option} <")), "{option}: {text}");
        }
    }
}

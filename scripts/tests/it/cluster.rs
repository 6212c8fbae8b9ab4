//! The manifests of `scripts/cluster/kubernetes`: the trainer knows their arguments and settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use trainer::run::RunConfig;

fn manifest(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/kubernetes").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the value of the line that begins with `key`, which is there once.
fn value<'a>(manifest: &'a str, key: &str) -> &'a str {
    let mut values = manifest.lines().filter_map(|line| line.trim().strip_prefix(key));
    let value = values.next().unwrap_or_else(|| panic!("no {key} in\n{manifest}"));
    assert!(values.next().is_none(), "more than one {key} in\n{manifest}");
    value.trim()
}

/// Returns the message of the trainer if it does not know the arguments. It starts nothing: `--help` is read after
/// them.
fn refusal(arguments: &[String]) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
    let output = command.args(arguments).arg("--help").output().expect("the trainer starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { None } else { Some(message) }
}

#[test]
fn cluster_manifests_have_arguments_of_the_trainer() {
    for name in ["learner.yaml", "workers.yaml"] {
        let manifest = manifest(name);
        assert_eq!(value(&manifest, "command:"), "[\"trainer\"]");
        // A flow sequence of strings is JSON, too.
        let mut arguments: Vec<String> =
            serde_json::from_str(value(&manifest, "args:")).expect("a list of strings");
        assert_eq!(refusal(&arguments), None, "{name}");
        arguments.push("--unknown".to_owned());
        let message = refusal(&arguments).expect("the trainer refuses");
        assert!(message.contains("'--unknown'"), "{name}: {message}");
    }
}

#[test]
fn cluster_settings_are_those_of_a_run() {
    let settings = manifest("settings.yaml");
    let (_, config) = settings.split_once("  config.toml: |\n").expect("a file of settings");
    let config: String = config.lines().map(|line| format!("{}\n", line.trim())).collect();
    toml::from_str::<RunConfig>(&config).unwrap_or_else(|error| panic!("{config}{error}"));
}

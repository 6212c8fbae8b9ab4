//! The report of a folder of models.

use std::fs;

use bug0::models::{self, ModelsError};
use bug0::regression::fit::RegressionKind;
use tempfile::TempDir;

/// A report with the keys of earlier versions.
const EARLIER_REPORT: &str = "games = 3\nleft_out = 1\npositions = 40\nheld_back = 4\nexplained = 0.5\n\
     [settings]\nstates = 50\ncomponents = 2\npenalty = 0.01\ntrees = 10\nseed = 1\n\
     [[models]]\nname = \"tree\"\nlearnt = 0.75\nheld_back = 0.25\nseconds = 1.5\nbytes = 100\n";

#[test]
fn models_report_is_read_with_earlier_keys() {
    let folder = TempDir::new().expect("a folder");
    let report_file = folder.path().join("fit.toml");
    fs::write(&report_file, EARLIER_REPORT).expect("written");
    assert!(models::read_report(folder.path()).expect("read").is_none(), "no models");
    for kind in RegressionKind::ALL {
        fs::write(models::model_path(folder.path(), kind), b"").expect("written");
    }
    let report = models::read_report(folder.path()).expect("read").expect("complete");
    assert_eq!(report.settings.positions, 50);
    assert_eq!((report.games, report.skipped_games), (3, 1));
    assert_eq!((report.train_positions, report.test_positions), (40, 4));
    assert_eq!(report.models[0].train_r_squared, 0.75);
    assert_eq!(report.models[0].test_r_squared, 0.25);
    fs::write(&report_file, "games = many").expect("written");
    let error = models::read_report(folder.path()).expect_err("invalid");
    assert!(matches!(error, ModelsError::Report { .. }));
    assert!(error.to_string().starts_with(&report_file.display().to_string()), "{error}");
}

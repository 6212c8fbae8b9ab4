//! Pictures and tables of runs and matches.

use std::path::{Path, PathBuf};

use menagerie::variant::Catalogue;
use tempfile::TempDir;
use trainer::arena::Arena;
use trainer::arena::config::MatchConfig;
use trainer::network::Architecture;
use trainer::plot::{matches, run};
use trainer::run::{Run, RunConfig};
use trainer::store::Store;

fn play(folder: &Path, players: [&str; 2]) {
    let players = players.iter().map(|text| text.parse().expect("a player")).collect();
    let config = MatchConfig { games: 8, ..MatchConfig::new("3x3", players) };
    let mut arena = Arena::open(folder, config).expect("an arena");
    arena.play(1, &mut |_| {}).expect("played");
}

fn trained(folder: &Path) -> Store {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let config = RunConfig {
        iterations: 2,
        games: 40,
        threads: 1,
        batch: 16,
        network: Architecture::Mlp { widths: vec![16], policy_channels: 0 },
        ..RunConfig::for_variant(&variant)
    };
    let store = || Store::open(folder.to_str().expect("a text")).expect("a store");
    Run::open(store(), config, None).expect("a run").train().expect("trained");
    store()
}

#[test]
fn plot_run_shows_the_strength_of_its_networks() {
    let folder = TempDir::new().expect("a folder");
    let store = trained(folder.path());
    let page = |matches: &[PathBuf]| run::page(&store, matches);
    let plain = page(&[]).expect("a page");
    assert!(plain.contains("2 iterations, 80 games") && plain.contains("variant = \"3x3\""));
    assert!(!plain.contains("Elo"), "{plain}");

    let folders = ["00000", "00002"].map(|name| {
        let network = folder.path().join(format!("nets/{name}.onnx"));
        let to = folder.path().join("matches").join(name);
        play(&to, [&format!("net:{},visits=2", network.display()), "random"]);
        to
    });
    let with = page(&folders).expect("a page");
    assert!(with.contains("Elo") && with.contains("against random"), "{with}");

    let other = folder.path().join("matches/other");
    play(&other, ["uniform:visits=2", "random"]);
    let error = page(std::slice::from_ref(&other)).expect_err("no network").to_string();
    assert!(error.contains("other") && error.contains("no network of a run"), "{error}");
    let error = page(&[folder.path().join("nothing")]).expect_err("no match").to_string();
    assert!(error.contains("nothing"), "{error}");
}

#[test]
fn plot_matches_shows_results_by_visits() {
    let folder = TempDir::new().expect("a folder");
    let folders = [10, 2].map(|visits| {
        let to = folder.path().join(visits.to_string());
        play(&to, ["uniform:visits=5", &format!("uniform:visits={visits}")]);
        to
    });
    let picture = folder.path().join("picture.svg");
    let results = matches::draw(&folders, &picture).expect("drawn");
    let visits: Vec<u32> = results.iter().map(|result| result.visits).collect();
    assert_eq!(visits, [2, 10]);
    assert!(results.iter().all(|result| result.games.iter().sum::<u64>() == 8));
    assert!(std::fs::read_to_string(&picture).expect("a picture").starts_with("<svg"));

    let endless = folder.path().join("endless");
    play(&endless, ["uniform:visits=5", "random"]);
    let error = matches::draw(&[endless], &picture).expect_err("no visits").to_string();
    assert!(error.contains("no limit of visits"), "{error}");
}

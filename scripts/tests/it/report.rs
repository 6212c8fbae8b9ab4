//! What `report` tells of a run and of matches.

use std::path::{Path, PathBuf};

use menagerie::variant::Catalogue;
use tempfile::TempDir;
use trainer::arena::Arena;
use trainer::arena::config::MatchConfig;
use trainer::network::Architecture;
use trainer::report::{curves, matches, run};
use trainer::run::{Run, RunConfig};
use trainer::store::Store;

fn play(folder: &Path, players: [&str; 2]) {
    let players = players.iter().map(|text| text.parse().expect("a player")).collect();
    let config = MatchConfig { games: 8, ..MatchConfig::new("3x3", players) };
    let mut arena = Arena::open(folder, config).expect("an arena");
    arena.play(1, &mut |_| {}).expect("played");
}

fn learned(folder: &Path) -> Store {
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
    Run::open(store(), config, None).expect("a run").learn().expect("learned");
    store()
}

#[test]
fn a_run_is_told_with_the_strength_of_its_networks() {
    let folder = TempDir::new().expect("a folder");
    let store = learned(folder.path());
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
fn matches_are_drawn_over_the_visits_of_the_opponents() {
    let folder = TempDir::new().expect("a folder");
    let folders = [10, 2].map(|visits| {
        let to = folder.path().join(visits.to_string());
        play(&to, ["uniform:visits=5", &format!("uniform:visits={visits}")]);
        to
    });
    let picture = folder.path().join("picture.svg");
    let standings = matches::draw(&folders, &picture).expect("drawn");
    let visits: Vec<u32> = standings.iter().map(|standing| standing.visits).collect();
    assert_eq!(visits, [2, 10]);
    assert!(standings.iter().all(|standing| standing.games.iter().sum::<u64>() == 8));
    assert!(std::fs::read_to_string(&picture).expect("a picture").starts_with("<svg"));

    let endless = folder.path().join("endless");
    play(&endless, ["uniform:visits=5", "random"]);
    let error = matches::draw(&[endless], &picture).expect_err("no visits").to_string();
    assert!(error.contains("no limit of visits"), "{error}");
}

#[test]
fn networks_are_drawn_over_the_time_that_they_learned() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("learning.toml");
    let text = "duck = [{ cpu_minutes = 41 }, { cpu_minutes = 26.5, over = [30, 0, 10] },\n\
        { cpu_minutes = 7, over = [10, 0, 30] }]\n\
        chess = [{ cpu_minutes = 6 }]\n";
    std::fs::write(&file, text).expect("written");
    let read = curves::read(&file).expect("curves");
    let [chess, duck] = &read[..] else { panic!("{read:?}") };
    assert_eq!((chess.variant.as_str(), chess.points.len()), ("chess", 1));
    let minutes: Vec<f64> = duck.points.iter().map(|(minutes, _)| *minutes).collect();
    assert_eq!(minutes, [41.0, 67.5, 74.5]);
    // Three points of four are 191 Elo, a little less with the drawn game that is added, and what
    // the second gained the third lost.
    let elo: Vec<f64> = duck.points.iter().map(|(_, rating)| rating.elo).collect();
    assert!(elo[0] == 0.0 && (180.0..191.0).contains(&elo[1]) && elo[2].abs() < 1e-6, "{elo:?}");
    assert!(duck.points[2].1.error > duck.points[1].1.error);

    let picture = folder.path().join("picture.svg");
    curves::draw(&read, &picture).expect("drawn");
    let picture = std::fs::read_to_string(&picture).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("duck"), "{picture}");

    for (from, to, words) in [
        (", over = [30, 0, 10]", "", "network 1 has no games"),
        ("41 }", "41, over = [1, 0, 0] }", "network 0 has games"),
        ("26.5", "-26.5", "-26.5 minutes"),
        ("over", "ovre", "ovre"),
        ("26.5", "1e308", "1 has learned for 1"),
        ("26.5", "nan", "NaN minutes"),
        ("[{ cpu_minutes = 6 }]", "[]", "chess: no network"),
        (text, "", "no game"),
    ] {
        std::fs::write(&file, text.replacen(from, to, 1)).expect("written");
        let error = curves::read(&file).expect_err(to).to_string();
        assert!(error.contains("learning.toml") && error.contains(words), "{error}");
    }
}

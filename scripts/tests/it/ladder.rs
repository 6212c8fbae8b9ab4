//! The contract of a ladder: rungs are measured once, players climb one after the other, and what
//! was played is not played again.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;
use trainer::arena::spec::PlayerSpec;
use trainer::ladder::{Ladder, Limits, Standings, results};
use trainer::report::ladders;

const LIMITS: Limits = Limits { games: 4, close: 8, rungs: 6, threads: 2 };

fn ladder() -> Ladder {
    Ladder::new("tictactoe", None, 10)
}

/// Lets a player climb; gives the standings and how many games each match had before and after.
fn climb(folder: &Path, player: &str) -> (Standings, BTreeMap<String, (usize, usize)>) {
    let player: PlayerSpec = player.parse().expect("a player");
    let mut matches = BTreeMap::new();
    let standings = ladder().climb(folder, &player, LIMITS, &mut |name, done, _| {
        matches.entry(name.to_owned()).or_insert((done, done)).1 = done;
    });
    (standings.expect("climbed"), matches)
}

#[test]
fn a_ladder_goes_on_and_serves_the_next_player() {
    let folder = TempDir::new().expect("a folder");
    let (first, matches) = climb(folder.path(), "random");
    // Two who play at random do not beat one another by nine to one, so the first rung is the close
    // one.
    let counts: Vec<_> = matches.iter().map(|(name, counts)| (name.as_str(), *counts)).collect();
    assert_eq!(
        counts,
        [
            ("players/random/01-random", (0, 8)),
            ("players/random/02-uniform-10000", (0, 4)),
            ("rungs/uniform-10000-over-random", (0, 6)),
        ]
    );
    assert_eq!(
        first.climbers[0].games.iter().map(|games| games.iter().sum()).collect::<Vec<u64>>(),
        [8, 4]
    );

    let (again, matches) = climb(folder.path(), "random");
    assert_eq!(again, first);
    assert!(matches.values().all(|(before, after)| before == after), "{matches:?}");

    let (both, matches) = climb(folder.path(), "uniform:visits=2000,name=../../out");
    assert_eq!(matches["rungs/uniform-10000-over-random"], (6, 6));
    assert_eq!(matches["players/______out/01-random"].0, 0);
    let names: Vec<_> = both.climbers.iter().map(|climber| climber.name.as_str()).collect();
    assert_eq!(names, ["../../out", "random"]);
    let [strong, weak] = [0, 1].map(|at| both.climbers[at].rating.expect("a rating").elo);
    assert!(strong > weak + 100.0, "{strong} {weak}");
    assert_eq!(both.anchor, "uniform-10000");
    assert_eq!(both.rungs[1].1.expect("a rating").elo, 0.0);
    assert!(both.rungs[0].1.expect("a rating").elo < 0.0);

    // What is kept of the ladder tells the same as its folder.
    let kept = folder.path().join("results.toml");
    let ladders = [folder.path(), &kept].map(|path| results(path).expect("results"));
    let picture = folder.path().join("picture.svg");
    assert_eq!(ladders::draw(&ladders, &picture).expect("drawn"), [both.clone(), both.clone()]);
    let picture = std::fs::read_to_string(picture).expect("a picture");
    assert_eq!(picture.matches("../../out").count(), 2);
    let text = both.to_string();
    assert!(text.starts_with("| tictactoe | Elo | ../../out | random |\n"), "{text}");
}

#[test]
fn another_ladder_is_refused_and_so_is_nonsense() {
    let folder = TempDir::new().expect("a folder");
    climb(folder.path(), "random");
    let other = Ladder { seed: 2, ..ladder() };
    let player = "random".parse().expect("a player");
    let error = other.climb(folder.path(), &player, LIMITS, &mut |_, _, _| ());
    let error = error.expect_err("another ladder").to_string();
    assert!(error.contains("another ladder"), "{error}");

    let file = folder.path().join("ladder.toml");
    let text = std::fs::read_to_string(&file).expect("a file");
    for (from, to, words) in [
        ("anchor = 1", "anchor = 7", "rung 7"),
        ("seed = 1", "seed = \"x\"", "seed"),
        ("variant", "varaint", "varaint"),
    ] {
        std::fs::write(&file, text.replacen(from, to, 1)).expect("written");
        let error = Ladder::read(folder.path()).expect_err(to).to_string();
        assert!(error.contains("ladder.toml") && error.contains(words), "{error}");
    }
    let error = Ladder::read(&folder.path().join("nowhere")).expect_err("nothing").to_string();
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn results_that_make_no_sense_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("kept.toml");
    let text = "variant = \"duck\"\nanchor = 1\n\
        [[rungs]]\nname = \"random\"\n\
        [[rungs]]\nname = \"engine\"\nover = [20, 0, 0]\n\
        [[climbers]]\nname = \"ours\"\ngames = [[20, 0, 0], [10, 5, 5]]\n";
    std::fs::write(&file, text).expect("written");
    let standings = Standings::of(&results(&file).expect("results"));
    assert!(standings.to_string().contains("| engine | 0 | 10-5-5 |"), "{standings}");
    for (from, to, words) in [
        ("anchor = 1", "anchor = 2", "rung 2"),
        ("name = \"random\"", "name = \"random\"\nover = [1, 0, 0]", "\"random\""),
        (", [10, 5, 5]", "", "\"ours\""),
        ("[10, 5, 5]", "[10, 5, -5]", "-5"),
        ("games", "gmaes", "gmaes"),
    ] {
        std::fs::write(&file, text.replacen(from, to, 1)).expect("written");
        let error = results(&file).expect_err(to).to_string();
        assert!(error.contains("kept.toml") && error.contains(words), "{error}");
    }
}

#[test]
fn an_engine_gives_the_upper_rungs() {
    let engine: PlayerSpec = "uci:ENGINE,option.Hash=16,nodes=1".parse().expect("an engine");
    let engine = PlayerSpec { visits: None, ..engine };
    let ladder = Ladder::new("duck", Some(&engine), 250);
    let names: Vec<_> = ladder.rungs.iter().map(|rung| rung.opponent.name()).collect();
    let wanted = ["random", "uniform-10000", "ENGINE-100", "ENGINE-1000", "ENGINE-10000"];
    assert_eq!(names[..5], wanted);
    assert_eq!(names[5..], ["ENGINE-100000", "ENGINE-250ms"]);
    assert_eq!(ladder.rungs[ladder.anchor].opponent.name(), "ENGINE-10000");
    assert!(ladder.rungs.iter().all(|rung| rung.opponent.check().is_ok()));
    assert!(ladder.rungs[..6].iter().all(|rung| rung.matched) && !ladder.rungs[6].matched);
}

//! Self-play: games are legal, records replay into samples, and a game depends on its number only.

use menagerie::encoding::Encoding;
use menagerie::nn::Uniform;
use menagerie::rules::PackedMove;
use menagerie::variant::{Catalogue, Variant};
use trainer::random_starts::Opening;
use trainer::record::{self, End, GameRecord, RecordError};
use trainer::selfplay::{
    PlayoutCap, Resignation, RootSearch, SelfPlayConfig, SelfPlayStats, SidePositions, play_games,
};

fn gumbel() -> SelfPlayConfig {
    SelfPlayConfig { visits: 8, parallel: 5, max_plies: 30, ..SelfPlayConfig::default() }
}

fn puct() -> SelfPlayConfig {
    let root = RootSearch::Puct { dirichlet: 10.0, noise: 0.25, temperature_plies: 10 };
    SelfPlayConfig { root, stop_when_proven: false, ..gumbel() }
}

fn games(
    variant: &Variant,
    config: &SelfPlayConfig,
    threads: usize,
    count: u64,
) -> Vec<GameRecord> {
    games_and_stats(variant, config, threads, count).0
}

fn games_and_stats(
    variant: &Variant,
    config: &SelfPlayConfig,
    threads: usize,
    count: u64,
) -> (Vec<GameRecord>, SelfPlayStats) {
    let uniform = Uniform::new(Encoding::of(&variant.start()).shape());
    let mut evaluators = vec![uniform; threads];
    let numbers: Vec<u64> = (0..count).collect();
    let (games, stats) =
        play_games(variant, &mut evaluators, config, &numbers, 7, &|_, _| ()).expect("games");
    assert!(stats.evaluations > 0 && stats.visits >= stats.evaluations);
    let (found, games): (Vec<u64>, _) = games.into_iter().unzip();
    assert_eq!(found, numbers);
    (games, stats)
}

#[test]
fn games_of_every_variant_replay_into_samples() {
    for variant in Catalogue::shipped().iter() {
        let encoding = Encoding::of(&variant.start());
        for config in [gumbel(), puct()] {
            for game in games(variant, &config, 1, 12) {
                let mut position = variant.position(&game.start, true).expect("a start");
                for (nth, ply) in game.plies.iter().enumerate() {
                    let sample = game.sample(variant, &encoding, nth).expect("a sample");
                    sample.check(encoding.shape()).expect("a sample that fits");
                    assert!((sample.policy.iter().sum::<f32>() - 1.0).abs() < 1e-3);
                    let m = PackedMove(ply.played).unpack().expect("a move");
                    assert!(position.play(m), "{} {m:?}", position.fen());
                }
                assert_eq!(game.sample(variant, &encoding, game.plies.len()), None);
                if let Some(outcome) = position.outcome() {
                    let winner = outcome.winner.map(|side| side.index() as u8);
                    assert_eq!(game.end, Some(End { winner, turns: 0 }));
                }
            }
        }
    }
}

#[test]
fn side_positions_are_those_of_the_search() {
    for variant in Catalogue::shipped().iter() {
        let side_positions = Some(SidePositions { count: 3, visits: 2 });
        let playout_cap = Some(PlayoutCap { full: 0.5, visits: 4 });
        let config = SelfPlayConfig { visits: 24, side_positions, playout_cap, ..gumbel() };
        let mut found = 0;
        for game in games(variant, &config, 2, 6) {
            let mut numbers = vec![0; game.plies.len()];
            assert!(game.side_positions.is_sorted_by_key(|side| side.ply));
            for side in &game.side_positions {
                let nth = side.ply as usize;
                let mut position = game.position(variant, nth).expect("it replays");
                for &m in &side.moves {
                    let m = PackedMove(m).unpack().expect("a move");
                    assert!(position.play(m), "{} {m:?}", position.fen());
                }
                assert!(position.result().is_none(), "{}", position.fen());
                assert_ne!(side.moves, [game.plies[nth].played]);
                assert!(side.score.abs() <= 1.0);
                // Only plies with all visits have a policy.
                assert!(!game.plies[nth].policy.is_empty());
                numbers[nth] += 1;
            }
            assert!(numbers.iter().all(|number| *number <= 3));
            found += game.side_positions.len();
        }
        assert!(found > 0, "{}", variant.name());
    }
}

#[test]
fn game_depends_on_its_number_only() {
    for name in ["3x3", "crazyhouse"] {
        let variant = Catalogue::shipped().get(name).expect("a shipped variant");
        for config in [gumbel(), puct()] {
            let alone = games(&variant, &config, 1, 12);
            assert_eq!(alone, games(&variant, &config, 2, 12));
            assert_eq!(
                alone[..7],
                games(&variant, &SelfPlayConfig { parallel: 2, ..config }, 3, 7)
            );
            assert!(alone.windows(2).any(|pair| pair[0] != pair[1]));
        }
    }
}

#[test]
fn games_start_with_random_plies() {
    for (name, plies) in [("tictactoe", 4), ("duck", 5)] {
        let variant = Catalogue::shipped().get(name).expect("a shipped variant");
        let opening = Opening { share: 0.5, plies, ..Opening::default() };
        let config = SelfPlayConfig { opening, ..gumbel() };
        let games = games(&variant, &config, 1, 60);
        let mut seen = std::collections::HashSet::new();
        for game in &games {
            let start = variant.position(&game.start, true).expect("a start");
            assert!(start.result().is_none() && !start.mid_turn(), "{}", game.start);
            seen.insert(&game.start);
        }
        let plain = games.iter().filter(|game| game.start == variant.start_fen()).count();
        assert!((15..45).contains(&plain) && seen.len() > 20, "{plain} of {}", seen.len());
    }
}

#[test]
fn games_start_from_given_positions() {
    for (name, starts) in [
        (
            "5check",
            vec![
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1",
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1",
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 5+5 0 1",
            ],
        ),
        // Its own games start from randomly placed pieces.
        ("3x3", vec!["k2/3/R1K w - - 0 1", "k2/3/1RK b - - 0 1"]),
    ] {
        let variant = Catalogue::shipped().get(name).expect("a shipped variant");
        let fens = starts.iter().map(|&fen| fen.to_owned()).collect();
        let opening = Opening { starts: fens, ..Opening::default() };
        let config = SelfPlayConfig { visits: 2, max_plies: 2, opening, ..gumbel() };
        let played = games(&variant, &config, 1, 60);
        let first = played.iter().filter(|game| game.start == starts[0]).count();
        let last = played.iter().filter(|game| game.start == starts[starts.len() - 1]).count();
        assert_eq!(first + last, 60, "{name}");
        let shares = if starts.len() == 3 { 30..50 } else { 20..40 };
        assert!(shares.contains(&first), "{name}: {first} of 60");
    }
    // Random plies are played from there.
    let variant = Catalogue::shipped().get("5check").expect("it is shipped");
    let start = "4k3/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 1+2 0 1".to_owned();
    let opening = Opening { starts: vec![start], share: 1.0, plies: 1, max_score: None };
    let config = SelfPlayConfig { visits: 2, max_plies: 2, opening, ..gumbel() };
    for game in games(&variant, &config, 1, 10) {
        let (board, rest) = game.start.split_once(" b ").expect("Black to move");
        assert!(board.starts_with("4k3/8/8/8/") && rest.contains("1+2"), "{}", game.start);
    }
}

#[test]
fn decided_starts_are_replaced() {
    let variant = Catalogue::shipped().get("3x3").expect("it is shipped");
    let first_scores = |max_score: Option<f32>| -> Vec<f32> {
        let opening = Opening { max_score, ..Opening::default() };
        let config = SelfPlayConfig { visits: 64, opening, ..gumbel() };
        let games = games(&variant, &config, 1, 40);
        games.iter().filter_map(|game| game.plies.first()?.score).map(f32::abs).collect()
    };
    let all = first_scores(None);
    let even = first_scores(Some(0.25));
    let decided = |scores: &[f32]| scores.iter().filter(|score| **score > 0.25).count();
    assert!(all.len() == 40 && even.len() == 40);
    assert!(decided(&all) > 10 && decided(&even) == 0, "{all:?} {even:?}");
    // Where no start is even enough, one is played all the same.
    assert_eq!(first_scores(Some(0.0)).len(), 40);
}

#[test]
fn plies_with_few_visits_have_no_policy() {
    let variant = Catalogue::shipped().get("crazyhouse").expect("a shipped variant");
    let encoding = Encoding::of(&variant.start());
    for config in [gumbel(), puct()] {
        let playout_cap = Some(PlayoutCap { full: 0.25, visits: 2 });
        let (games, stats) =
            games_and_stats(&variant, &SelfPlayConfig { playout_cap, ..config }, 1, 20);
        let mut full = 0;
        let mut plies = 0;
        for game in &games {
            for (nth, ply) in game.plies.iter().enumerate() {
                let sample = game.sample(&variant, &encoding, nth).expect("a sample");
                sample.check(encoding.shape()).expect("a sample that fits");
                assert_eq!(sample.legal.is_empty(), ply.policy.is_empty());
                assert_eq!(ply.surprise.is_none(), ply.policy.is_empty());
                full += usize::from(!ply.policy.is_empty());
                plies += 1;
            }
        }
        let share = full as f64 / plies as f64;
        assert!((0.2..0.3).contains(&share), "{share}");
        // A reused subtree and the visit of the root are counted in addition.
        let visits = stats.visits as f64 / plies as f64;
        assert!((2.0..6.0).contains(&visits), "{visits}");
    }
}

#[test]
fn resignations_are_lost_and_counted() {
    let variant = Catalogue::shipped().get("tictactoe").expect("a shipped variant");
    let opening = Opening { share: 1.0, plies: 5, ..Opening::default() };
    // Without a network only a proven loss has a low score.
    let config = SelfPlayConfig { opening, stop_when_proven: false, visits: 64, ..gumbel() };
    let with = |played_out| {
        let resignation = Some(Resignation { score: -0.9, plies: 1, played_out });
        games_and_stats(&variant, &SelfPlayConfig { resignation, ..config.clone() }, 1, 60)
    };
    let (games, stats) = with(0.0);
    assert!(stats.resigned > 5 && stats.played_out == 0, "{stats:?}");
    let resigned = games.iter().filter(|game| {
        let mut position = variant.position(&game.start, true).expect("a start");
        for ply in &game.plies {
            assert!(position.play(PackedMove(ply.played).unpack().expect("a move")));
        }
        position.outcome().is_none()
    });
    assert_eq!(resigned.count() as u64, stats.resigned);
    let (games, stats) = with(1.0);
    assert!(
        stats.resigned == 0 && stats.played_out > 5 && stats.false_resignations == 0,
        "{stats:?}"
    );
    assert!(games.iter().all(|game| game.end.is_some_and(|end| end.turns == 0)));
}

#[test]
fn invalid_settings_are_errors() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let uniform = Uniform::new(Encoding::of(&variant.start()).shape());
    let mut config = gumbel();
    config.search.insert("c_pukt".to_owned(), 1.0);
    let error =
        play_games(&variant, &mut [uniform], &config, &[0], 7, &|_, _| ()).expect_err("a bad name");
    assert!(error.to_string().contains("c_pukt"), "{error}");
    let mut uniform = [Uniform::new(Encoding::of(&variant.start()).shape())];
    let config = SelfPlayConfig {
        opening: Opening { share: 1.5, plies: 2, ..Opening::default() },
        ..gumbel()
    };
    let error =
        play_games(&variant, &mut uniform, &config, &[0], 7, &|_, _| ()).expect_err("not a share");
    assert!(
        error.to_string().contains("opening.share must be between 0 and 1, got 1.5"),
        "{error}"
    );
    for (fen, reason) in [
        ("k2/3/1RX w - - 0 1", "X"),
        ("4k3/8/8/8/8/8/8/4K2R w - - 0 1", "ranks"),
        ("k2/1Q1/2K b - - 0 1", "the game is over"),
    ] {
        let opening = Opening { starts: vec![fen.to_owned()], ..Opening::default() };
        let config = SelfPlayConfig { opening, ..gumbel() };
        let error =
            play_games(&variant, &mut uniform, &config, &[0], 7, &|_, _| ()).expect_err(fen);
        let message = error.to_string();
        assert!(message.contains("opening.starts") && message.contains(fen), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn damaged_records_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.games");
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let written = games(&variant, &gumbel(), 1, 20);
    record::write(&path, &written).expect("written");
    assert_eq!(record::read(&path).expect("read"), written);
    let intact = std::fs::read(&path).expect("bytes");
    for at in (0..intact.len()).step_by(7) {
        let mut flipped = intact.clone();
        flipped[at] ^= 4;
        for bytes in [&flipped[..], &intact[..at]] {
            std::fs::write(&path, bytes).expect("written");
            let error = record::read(&path).expect_err("damaged");
            assert!(matches!(error, RecordError::Damaged { .. }));
            assert!(error.to_string().contains("some.games"), "{error}");
        }
    }
}

#[test]
fn selfplay_command_writes_and_keeps_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let selfplay = |arguments: &[&str]| {
        let command = std::process::Command::new(env!("CARGO_BIN_EXE_trainer"))
            .arg("selfplay")
            .args(["3x3", "../nets/3x3.onnx", "--threads", "2", "--out"])
            .arg(folder.path())
            .args(arguments)
            .output();
        let output = command.expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (done, text) = selfplay(&["--games", "20", "--seed", "7"]);
    assert!(done && text.contains("7.games: 20 games"), "{text}");
    let file = folder.path().join("7.games");
    let games = record::read(&file).expect("games");
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    assert!(games.len() == 20 && games.iter().all(|game| !game.plies.is_empty()));
    assert!(games.iter().all(|game| variant.position(&game.start, false).is_ok()));
    let (done, text) = selfplay(&["--games", "20", "--seed", "7"]);
    assert!(done && text.contains("20 games exist already"), "{text}");
    let (done, text) = selfplay(&["--games", "20", "--seed", "8", "--variants", "nothing.ini"]);
    assert!(!done && text.contains("nothing.ini"), "{text}");
    assert!(!folder.path().join("8.games").exists());
    let (done, text) = selfplay(&["--games", "21", "--seed", "7"]);
    assert!(!done && text.contains("20 games exist already, not 21"), "{text}");
    // Games of another variant, network or other settings are refused.
    let origin = folder.path().join("7.toml");
    let own = std::fs::read_to_string(&origin).expect("the origin of the games");
    let refused = |origin_text: &str, expected: &str| {
        std::fs::write(&origin, origin_text).expect("written");
        let (done, text) = selfplay(&["--games", "20", "--seed", "7"]);
        assert!(!done && text.contains(expected) && text.contains("7.toml"), "{text}");
    };
    let other = own.replace("variant = \"3x3\"", "variant = \"gardner\"");
    refused(&other, "the existing games are of \"gardner\", not of \"3x3\"");
    refused(&own.replace("network = \"", "network = \"0"), "of the network 0");
    refused(&own.replace("max_plies = ", "max_plies = 1"), "of other settings of self-play");
    std::fs::remove_file(&origin).expect("removed");
    let (done, text) = selfplay(&["--games", "20", "--seed", "7"]);
    assert!(!done && text.contains("7.toml is missing"), "{text}");
    assert_eq!(record::read(&file).expect("games"), games);
    // A slow run writes parts of its games. The folder of the parts may stay, but is empty.
    let parts = std::fs::read_dir(folder.path().join("7"));
    assert!(!parts.is_ok_and(|mut parts| parts.next().is_some()));
}

#[test]
fn surprise_is_divergence_from_uniform_policy() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let encoding = Encoding::of(&variant.start());
    for mut config in [gumbel(), puct()] {
        // A mate that is found changes the priors.
        config.search.insert("mate_turns".to_owned(), 0.0);
        let mut surprised = 0;
        for game in games(&variant, &config, 1, 20) {
            for (nth, ply) in game.plies.iter().enumerate() {
                let policy = game.sample(&variant, &encoding, nth).expect("a sample").policy;
                // The priors of the uniform network are equal, without the noise.
                let part = |share: &f32| if *share > 0.0 { share * share.ln() } else { 0.0 };
                let expected = (policy.len() as f32).ln() + policy.iter().map(part).sum::<f32>();
                let found = ply.surprise.expect("a surprise");
                assert!((found - expected).abs() < 2e-3, "{found} is not {expected}");
                surprised += usize::from(found > 0.1);
            }
        }
        assert!(surprised > 5, "{surprised}");
    }
}

#[test]
fn records_of_other_versions_are_refused() {
    let mut bytes = record::encode(&[]).expect("encoded");
    bytes[8] += 1;
    let error = record::decode("new.games", &bytes).expect_err("unknown").to_string();
    assert!(error.contains("new.games") && error.contains("version 6"), "{error}");
}

/// Starts `trainer selfplay` of 20 games into `7.games` of a folder.
fn start_selfplay(folder: &std::path::Path, stdout: std::process::Stdio) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_trainer"))
        .args(["selfplay", "3x3", "../nets/3x3.onnx", "--games", "20", "--seed", "7", "--out"])
        .arg(folder)
        .stdout(stdout)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it runs")
}

#[test]
fn selfplay_command_does_not_depend_on_a_reader_of_its_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = start_selfplay(folder.path(), std::process::Stdio::piped());
    drop(command.stdout.take());
    assert!(command.wait().expect("it ends").success());
    assert_eq!(record::read(&folder.path().join("7.games")).expect("games").len(), 20);
}

#[cfg(target_os = "linux")]
#[test]
fn selfplay_command_reports_that_its_messages_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let output = start_selfplay(folder.path(), full.into()).wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("standard output"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    assert_eq!(record::read(&folder.path().join("7.games")).expect("games").len(), 20);
}

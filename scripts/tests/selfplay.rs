//! Self-play's contract: games are legal, records replay into samples, and a game depends on
//! nothing but its number.

use menagerie::encoding::Encoding;
use menagerie::evaluation::Uniform;
use menagerie::rules::PackedMove;
use menagerie::variant::{Catalogue, Variant};
use trainer::record::{self, GameRecord, RecordError};
use trainer::selfplay::{RootSearch, SelfPlayConfig, play};

fn gumbel() -> SelfPlayConfig {
    SelfPlayConfig { visits: 8, parallel: 5, longest: 30, ..SelfPlayConfig::default() }
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
    let uniform = Uniform::new(Encoding::of(&variant.start()).shape());
    let mut evaluators = vec![uniform; threads];
    let (games, spent) =
        play(variant, &mut evaluators, config, 0..count, 7, &|_| ()).expect("games");
    assert!(spent.evaluations > 0 && spent.visits >= spent.evaluations);
    assert_eq!(games.len() as u64, count);
    games
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
                    assert_eq!(game.end.winner, outcome.winner.map(|side| side.index() as u8));
                    assert_eq!(game.end.turns, 0);
                }
            }
        }
    }
}

#[test]
fn a_game_depends_on_its_number_alone() {
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
fn settings_that_make_no_sense_are_errors() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let uniform = Uniform::new(Encoding::of(&variant.start()).shape());
    let mut config = gumbel();
    config.search.insert("c_pukt".to_owned(), 1.0);
    let error = play(&variant, &mut [uniform], &config, 0..1, 7, &|_| ()).expect_err("a bad name");
    assert!(error.to_string().contains("c_pukt"), "{error}");
}

#[test]
fn records_come_back_whole_or_not_at_all() {
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
            let error = record::read(&path).expect_err("damage is seen");
            assert!(matches!(error, RecordError::Damaged { .. }));
            assert!(error.to_string().contains("some.games"), "{error}");
        }
    }
}

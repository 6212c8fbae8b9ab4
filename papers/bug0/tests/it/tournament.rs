//! A small tournament.

use std::fs;
use std::path::Path;

use bug0::models;
use bug0::participants::{Participant, SearchSettings, participants};
use bug0::regression::features::FEATURE_COUNT;
use bug0::regression::fit::RegressionKind;
use bug0::regression::model::Model;
use bug0::score::Score;
use bug0::tournament::{TABLES_FILE, TournamentError, TournamentSettings, play_tournament};
use tempfile::TempDir;

/// Writes linear models with arbitrary weights.
fn write_models(folder: &Path) {
    for (index, kind) in RegressionKind::ALL.into_iter().enumerate() {
        let weights =
            (0..FEATURE_COUNT).map(|feature| ((feature * (index + 7)) % 11) as f32 - 5.0).collect();
        let model = Model::Linear { weights, bias: 0.0 };
        let bytes = model.to_bytes().expect("bytes");
        fs::write(models::model_path(folder, kind), bytes).expect("written");
    }
}

/// Four of the participants, as all would take too long.
fn some_participants(models: &Path) -> Vec<Participant> {
    let search =
        SearchSettings { visits: vec![2], network: None, trained_for: "bughouse2".to_owned() };
    let mut participants = participants(models, &search, &[1, 2]);
    participants
        .retain(|participant| ["RM", "MM", "LR", "U2"].contains(&participant.short_name.as_str()));
    participants
}

fn settings(folder: &Path, games: u64) -> TournamentSettings {
    TournamentSettings {
        games,
        opening_plies: 4,
        seed: 1,
        max_turns: 300,
        threads: 2,
        folder: folder.join("out"),
    }
}

/// Plays the tournament. Returns its tables, and names and score of each cell.
fn play(
    participants: &[Participant],
    settings: &TournamentSettings,
) -> (String, Vec<(String, Score)>) {
    let mut cells = Vec::new();
    let tables = play_tournament(participants, settings, "Preface.\n", &mut |a, b, score| {
        cells.push((format!("{}-{}", a.short_name, b.short_name), score));
    });
    (tables.expect("played").markdown(), cells)
}

#[test]
fn tournament_plays_each_pair_once_and_continues() {
    let folder = TempDir::new().expect("a folder");
    write_models(folder.path());
    let participants = some_participants(folder.path());
    let settings = settings(folder.path(), 2);
    let (text, cells) = play(&participants, &settings);
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["RM-MM", "RM-LR", "MM-LR", "RM-U2", "MM-U2", "LR-U2"]);
    assert!(cells.iter().all(|(_, score)| score.won + score.drawn + score.lost == 2));
    let written = fs::read_to_string(settings.folder.join(TABLES_FILE)).expect("a file");
    assert_eq!(written, format!("Preface.\n\n{text}"));
    let games_file = settings.folder.join("RM-MM/games.csv");
    let games_bytes = fs::metadata(&games_file).expect("a file").len();
    assert_eq!(play(&participants, &settings), (text, cells));
    assert_eq!(fs::metadata(&games_file).expect("a file").len(), games_bytes);
}

#[test]
fn tournament_without_games_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let participants = some_participants(folder.path());
    let result = play_tournament(&participants, &settings(folder.path(), 0), "", &mut |_, _, _| ());
    assert!(matches!(result, Err(TournamentError::NoGames)));
}

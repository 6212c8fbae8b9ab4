//! Labelled games: they are legal and differ, a killed process loses no finished game, and errors quote the engine.
//! The engines are shell scripts.
#![cfg(unix)]

use crate::support::script;

use std::fs;
use std::path::Path;

use menagerie::variant::Catalogue;
use tempfile::TempDir;
use trainer::datagen::{DatagenConfig, DatagenError, generate};
use trainer::readers;

/// Writes an engine for a variant that answers `go` by shell commands.
fn engine(folder: &Path, go: &str, game: &str) -> DatagenConfig {
    let path = folder.join("engine");
    let script = format!(
        "#!/bin/sh\nwhile read -r line; do case $line in\n\
         uci) echo option name UCI_Variant type combo default chess var chess var {game};\n\
         echo option name MultiPV type spin default 1 min 1 max 9; echo uciok;;\n\
         isready) echo readyok;;\n position*) position=$line;;\n go*) {go};;\n quit) exit;;\n\
         esac; done\n"
    );
    script::executable(&path, &script);
    DatagenConfig { opening: 3, random: 0.3, ..DatagenConfig::new(path) }
}

/// Tries the cells in turn: one is free if neither the FEN nor a move has it. The FEN is not read:
/// the openings below are empty.
const FIRST_FREE: &str = "for cell in a1 b1 c1 a2 b2 c2 a3 b3 c3; do case $position in \
    *$cell*) ;; *) echo info score cp 12 pv $cell; echo bestmove $cell; break;; esac; done";

#[test]
fn datagen_continues_after_a_kill() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let config = DatagenConfig { opening: 0, ..engine(folder.path(), FIRST_FREE, "tictactoe") };
    let file = folder.path().join("games.tsv");
    let generate_games = |games, engines| {
        generate(&variant, &config, games, engines, &file, &|_| ()).expect("games")
    };
    assert_eq!(generate_games(5, 1), 5);
    let whole = fs::read_to_string(&file).expect("lines");
    // The process was killed in the middle of a line.
    fs::write(&file, &whole[..whole.len() - 9]).expect("written");
    assert_eq!(generate_games(5, 2), 1);
    let mut again: Vec<_> =
        fs::read_to_string(&file).expect("lines").lines().map(str::to_owned).collect();
    again.sort();
    let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(again, lines);
    assert_eq!(generate_games(5, 1), 0);
    assert_eq!(generate_games(12, 3), 7);
    let found = readers::read_all(&[&file], &variant).expect("read");
    assert_eq!((found.games.len(), found.errors.len()), (12, 0));
    assert!(found.games.windows(2).any(|pair| pair[0] != pair[1]));
    for game in &found.games {
        assert!(game.end.is_some() && game.plies.iter().all(|ply| ply.score.is_some()));
    }
}

/// Plays as [`FIRST_FREE`]. The score is 700 for the first side from the second ply on.
const FIRST_SIDE_WINS: &str = "set -- $position; sign=-; [ $(($# % 2)) = 1 ] && sign=; \
    for cell in a1 b1 c1 a2 b2 c2 a3 b3 c3; do case $position in *$cell*) ;; \
    *) echo info score cp ${sign}700 pv $cell; echo bestmove $cell; break;; esac; done";

#[test]
fn datagen_ends_games_that_a_side_wins() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let config = engine(folder.path(), FIRST_SIDE_WINS, "tictactoe");
    let config = DatagenConfig { opening: 0, random: 0.0, ..config };
    let play = |name: &str, config: &DatagenConfig| {
        let file = folder.path().join(name);
        generate(&variant, config, 1, 1, &file, &|_| ()).map(|_| {
            let line = fs::read_to_string(&file).expect("a line");
            assert_eq!(readers::read_all(&[&file], &variant).expect("read").errors, []);
            let fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
            (fields[2].clone(), fields[3].split(' ').count())
        })
    };
    // a1 b1 c1 a2 b2 c2 a3: the first side has a diagonal.
    assert_eq!(play("whole.tsv", &config).expect("a game"), ("1-0".to_owned(), 7));
    // The scores of the second to the fifth ply are in favour of the first side.
    let decided = DatagenConfig { win_score: Some(700), ..config.clone() };
    assert_eq!(play("decided.tsv", &decided).expect("a game"), ("1-0".to_owned(), 4));
    let open = DatagenConfig { win_score: Some(701), ..config.clone() };
    assert_eq!(play("open.tsv", &open).expect("a game").1, 7);
    let even = DatagenConfig { max_opening_score: Some(700), ..config.clone() };
    assert_eq!(play("even.tsv", &even).expect("a game").1, 7);
    let none = DatagenConfig { max_opening_score: Some(699), ..config };
    let error = play("none.tsv", &none).expect_err("no such opening").to_string();
    assert!(error.contains("699 centipawns"), "{error}");
}

#[test]
fn datagen_errors_quote_illegal_moves() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let file = folder.path().join("games.tsv");
    let config = engine(folder.path(), "echo bestmove d9", "tictactoe");
    let error = generate(&variant, &config, 1, 1, &file, &|_| ()).expect_err("no such cell");
    assert!(matches!(error, DatagenError::Illegal { .. }), "{error}");
    assert!(error.to_string().contains("\"d9\""), "{error}");
    let chess = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
    let error = generate(&chess, &config, 1, 1, &file, &|_| ()).expect_err("not its game");
    assert!(error.to_string().contains("crazyhouse"), "{error}");
    let three = Catalogue::shipped().get("tictacmo").expect("it is shipped");
    assert!(generate(&three, &config, 1, 1, &file, &|_| ()).is_err());
}

/// An engine of one board of bughouse that is mated in two moves when it has White.
const FOOLS_MATE: &str = "case $position in \
    *PPPPPPPP/RNBQKBNR*w*) m=f2f3;; *PPPPP1PP/RNBQKBNR*b*) m=e7e5;; \
    *PPPPP1PP/RNBQKBNR*w*) m=g2g4;; *PPPPP2P/RNBQKBNR*b*) m=d8h4;; esac; \
    echo info score cp 30 pv $m; echo bestmove $m";

#[test]
fn datagen_plays_bughouse_with_an_engine_of_one_board() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("bughouse2").expect("it is shipped");
    let config = engine(folder.path(), FOOLS_MATE, "bughouse");
    let config = DatagenConfig { opening: 0, random: 0.0, ..config };
    let file = folder.path().join("games.tsv");
    assert_eq!(generate(&variant, &config, 8, 1, &file, &|_| ()).expect("games"), 8);
    let found = readers::read_all(&[&file], &variant).expect("read");
    assert_eq!((found.games.len(), found.errors.len()), (8, 0), "{:?}", found.errors);
    let mut winners = [0; 2];
    for game in &found.games {
        // Three to six moves of the fool's mate, and the one that gives it.
        assert!((4..=7).contains(&game.plies.len()), "{}", game.plies.len());
        assert!(game.plies.iter().all(|ply| ply.score.is_some()));
        assert_eq!(game.clocks.len(), game.plies.len());
        assert!(game.clocks.is_sorted_by(|one, next| one.iter().sum::<u32>() > next.iter().sum()));
        let winner = game.end.and_then(|end| end.winner).expect("a mate");
        winners[usize::from(winner)] += 1;
    }
    // The random thinking times decide which board ends first.
    assert!(winners.iter().all(|&won| won > 0), "{winners:?}");
}

#[test]
fn datagen_bughouse_labels_random_plies() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("bughouse2").expect("it is shipped");
    let config = engine(folder.path(), FOOLS_MATE, "bughouse");
    let config = DatagenConfig { opening: 1, random: 0.0, max_turns: 1, ..config };
    let file = folder.path().join("games.tsv");
    generate(&variant, &config, 1, 1, &file, &|_| ()).expect("a game");
    let line = fs::read_to_string(&file).expect("a line");
    let plies = line.split('\t').nth(3).expect("plies");
    assert!(plies.contains("f2f3:30:") && plies.contains('/'), "{line}");
    assert_eq!(readers::read_all(&[&file], &variant).expect("read").errors, []);
}

#[test]
fn datagen_rejects_unsuitable_bughouse_settings() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("games.tsv");
    let config = engine(folder.path(), FOOLS_MATE, "bughouse");
    let refusal = |name: &str, config: &DatagenConfig| {
        let variant = Catalogue::shipped().get(name).expect("it is shipped");
        generate(&variant, config, 1, 1, &file, &|_| ()).expect_err(name).to_string()
    };
    assert!(refusal("bughouse2fixed", &config).contains("order of moves"));
    let ended = DatagenConfig { win_score: Some(600), ..config.clone() };
    assert!(refusal("bughouse2", &ended).contains("could end them"));
    let several = DatagenConfig { multipv: 2, ..config };
    assert!(refusal("bughouse2", &several).contains("one best move"));
}

#[test]
fn datagen_refuses_files_of_other_content() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let config = DatagenConfig { opening: 0, ..engine(folder.path(), FIRST_FREE, "tictactoe") };
    let path = folder.path().join("notes.txt");
    let chess = "chess\tstartpos\t1-0\te2e4:0\t1/0\n";
    for content in ["keep me", "line one\n", "line one\nline two", chess, "tictactoe\t3/3/3 a\n"] {
        fs::write(&path, content).expect("written");
        let error = generate(&variant, &config, 1, 1, &path, &|_| ()).expect_err("refused");
        assert!(error.to_string().contains("notes.txt has lines that are not games"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("a file"), content);
    }
    // The begin of a line.
    fs::write(&path, "tictac").expect("written");
    assert_eq!(generate(&variant, &config, 1, 1, &path, &|_| ()).expect("a game"), 1);
}

#[test]
fn datagen_refuses_a_file_that_another_process_writes() {
    let folder = TempDir::new().expect("a folder");
    let variant = Catalogue::shipped().get("tictactoe").expect("it is shipped");
    let config = DatagenConfig { opening: 0, ..engine(folder.path(), FIRST_FREE, "tictactoe") };
    let path = folder.path().join("games.tsv");
    let file = fs::File::create(&path).expect("a file");
    file.lock().expect("locked");
    let play = || generate(&variant, &config, 1, 1, &path, &|_| ());
    let error = play().expect_err("locked");
    assert!(matches!(error, DatagenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains("games.tsv is in use"), "{error}");
    file.unlock().expect("unlocked");
    assert_eq!(play().expect("a game"), 1);
}

//! Matches: they are repeatable, continue after they were stopped, and no player can end them.

use crate::support::script;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use menagerie::rules::{MoveList, PackedMove, Position};
use menagerie::variant::{Catalogue, Variant};
use tempfile::TempDir;
use trainer::arena::config::MatchConfig;
use trainer::arena::game::Played;
use trainer::arena::player::{Player, PlyChooser};
use trainer::arena::spec::{PlayerKind, PlayerSpec};
use trainer::arena::{Arena, folder_results};
use trainer::readers::{self, Games};
use trainer::record::End;

fn config(variant: &str, players: &[&str], games: u64) -> MatchConfig {
    let players = players.iter().map(|text| text.parse().expect("a player")).collect();
    MatchConfig { games, ..MatchConfig::new(variant, players) }
}

/// Plays a match and returns its games and its table.
fn play(folder: &Path, config: &MatchConfig, threads: usize) -> (Vec<Played>, String) {
    let mut arena = Arena::open(folder, config.clone()).expect("opened");
    arena.play(threads, &mut |_| ()).expect("played");
    let table = arena.report().expect("written");
    (arena.games().to_vec(), table)
}

#[test]
fn arena_match_is_repeatable_with_any_number_of_threads() {
    let folder = TempDir::new().expect("a folder");
    let config = config("tictactoe", &["random", "random"], 40);
    let (one, three) = (folder.path().join("one"), folder.path().join("three"));
    let (games, table) = play(&one, &config, 1);
    assert_eq!(play(&three, &config, 3), (games.clone(), table.clone()));
    let pgn = |folder: &Path| fs::read_to_string(folder.join("games.pgn")).expect("a file");
    assert_eq!(pgn(&one), pgn(&three));
    assert_eq!(games.len(), 40);
    // The results vary, and each pair has its own opening.
    let [won, drawn, lost] = [1, 0, -1].map(|wanted| {
        let score = |game: &&Played| game.scores[usize::from(game.seats[0] != 0)] == wanted;
        games.iter().filter(score).count()
    });
    assert!(won > 5 && lost > 5, "{won}-{drawn}-{lost}");
    assert!(table.ends_with(&format!("random:\n{won}-{drawn}-{lost}\n")), "{table}");
    for pair in games.chunks(2) {
        assert_eq!(pair[0].start, pair[1].start);
        assert_eq!((&pair[0].seats[..], &pair[1].seats[..]), (&[0, 1][..], &[1, 0][..]));
    }
    let other = MatchConfig { seed: 2, ..config };
    assert_ne!(play(&folder.path().join("other"), &other, 2).0, games);
}

#[test]
fn arena_results_are_those_of_all_games_of_an_extended_match() {
    let folder = TempDir::new().expect("a folder");
    let of = |games| config("tictactoe", &["random", "random"], games);
    let (_, first) = play(folder.path(), &of(10), 1);
    assert_eq!(folder_results(folder.path()).expect("read"), first);
    let (games, table) = play(folder.path(), &of(24), 1);
    assert_eq!(games.len(), 24);
    assert_ne!(table, first);
    assert_eq!(folder_results(folder.path()).expect("read"), table);
}

#[test]
fn arena_rbc_is_repeatable_and_keeps_valid_histories() {
    let folder = TempDir::new().expect("a folder");
    let player = "rbc:samples=3,depth=1,nodes=300,boards=300,sense=entropy,turn=3600000";
    for (other, worst) in [("random", 0.9), ("attacker", 0.5)] {
        let config = MatchConfig { histories: true, ..config("rbc", &[player, other], 8) };
        let (one, three) = (folder.path().join(other), folder.path().join("three"));
        let (games, table) = play(&one, &config, 1);
        assert_eq!(play(&three, &config, 3), (games.clone(), table.clone()));
        fs::remove_dir_all(three).expect("it is there");
        let won = games.iter().filter(|game| game.scores[usize::from(game.seats[0] != 0)] > 0);
        assert!(won.count() as f64 >= worst * 8.0, "{table}");
        assert!(games[0].turns[..4] == games[1].turns[..4], "a pair has one opening");
        assert!(games[0].turns[..4] != games[2].turns[..4]);
        let files = fs::read_dir(one.join("histories")).expect("a folder");
        let files = files.map(|file| file.expect("a file").path().display().to_string());
        let checked = menagerie_rbc::check_files(&files.collect::<Vec<_>>());
        assert!(checked.passed, "{:?}", checked.lines);
        assert!(checked.lines[0].starts_with("games 8 moves "), "{:?}", checked.lines);
    }
    for (players, words) in [
        (["rbc", "uniform:visits=1"], "does not play rbc"),
        (["attacker", "random"], "no setting book"),
    ] {
        let book = (players[0] == "attacker").then(|| "book.epd".into());
        let config = MatchConfig { book, ..config("rbc", &players, 2) };
        let error = Arena::open(folder.path(), config).expect_err("invalid").to_string();
        assert!(error.contains(words), "{error}");
    }
    // A player without its network would be another player.
    let without = config("rbc", &["rbc:network=no/such/file.onnx", "random"], 2);
    let error = Arena::open(folder.path(), without).expect_err("no such network").to_string();
    assert!(
        error.contains("network not available") && error.contains("no/such/file.onnx"),
        "{error}"
    );
    let variant = config("connect4", &["rbc", "random"], 2);
    let error = Arena::open(folder.path(), variant).expect_err("invalid").to_string();
    assert!(error.contains("rbc does not play connect4"), "{error}");
}

#[test]
fn arena_searches_are_repeatable() {
    let folder = TempDir::new().expect("a folder");
    let players = ["uniform:visits=30", "plain:visits=60", "random"];
    let config = config("tictacmo", &players, 12);
    let games = play(&folder.path().join("one"), &config, 1).0;
    assert_eq!(play(&folder.path().join("two"), &config, 2).0, games);
    let mut seatings: Vec<_> = games.iter().map(|game| game.seats.clone()).collect();
    seatings.sort();
    seatings.dedup();
    assert_eq!(seatings.len(), 6);
}

#[test]
fn arena_match_continues_after_a_cut() {
    let folder = TempDir::new().expect("a folder");
    let config = config("connect4", &["random", "plain:visits=20"], 20);
    let whole = play(&folder.path().join("whole"), &config, 2);
    let cut = folder.path().join("cut");
    play(&cut, &MatchConfig { games: 12, ..config.clone() }, 2);
    let file = cut.join("games.csv");
    let text = fs::read(&file).expect("a file");
    // Within the last line, within the first line, and at the start.
    for length in [text.len() - 7, 9, 0] {
        fs::write(&file, &text[..length]).expect("written");
        let arena = Arena::open(&cut, config.clone()).expect("opened");
        assert!(arena.done() < 12);
        drop(arena);
        assert_eq!(play(&cut, &config, 2), whole);
    }
    // A finished match plays no further games.
    let arena = Arena::open(&cut, config.clone()).expect("opened");
    assert_eq!(arena.done(), 20);
    let error = Arena::open(&cut, config.clone()).expect_err("it is open").to_string();
    assert!(error.contains("another arena"), "{error}");
    drop(arena);
    let other = MatchConfig { seed: 9, ..config };
    let error = Arena::open(&cut, other).expect_err("another match").to_string();
    assert!(error.contains("seed = 1") && error.contains("seed = 9"), "{error}");
}

#[test]
fn arena_sprt_ends_the_match() {
    let folder = TempDir::new().expect("a folder");
    let players = ["uniform:visits=200", "random"];
    let config = MatchConfig {
        sprt: Some("0,100".parse().expect("a test")),
        ..config("connect4", &players, 1000)
    };
    let (games, table) = play(&folder.path().join("one"), &config, 2);
    assert!(games.len() < 200 && games.len() % 2 == 0, "{}", games.len());
    assert!(table.contains("Elo 100 is accepted"), "{table}");
    // The result does not depend on the number of games in progress.
    assert_eq!(play(&folder.path().join("two"), &config, 1), (games, table));
}

#[test]
fn arena_pgn_has_tags_and_turns() {
    let folder = TempDir::new().expect("a folder");
    let players = ["plain:visits=50,name=one", "random", "random"];
    play(folder.path(), &config("tictacmo", &players, 3), 1);
    let pgn = fs::read_to_string(folder.path().join("games.pgn")).expect("a file");
    for tag in [
        "[PlayerA \"one\"]",
        "[PlayerB \"random\"]",
        "[Variant \"tictacmo\"]",
        "[FEN \"5/5/5 a\"]",
        "[Termination \"variant\"]",
        "[Round \"1.3\"]",
    ] {
        assert!(pgn.contains(tag), "{tag} in {pgn}");
    }
    assert!(pgn.contains("\n\n1. "), "{pgn}");
    let table = fs::read_to_string(folder.path().join("table.txt")).expect("a file");
    assert!(table.contains("one") && !table.contains("random (2)"), "{table}");
}

#[test]
fn arena_pgn_is_readable() {
    for (name, chess960) in
        [("chess", true), ("crazyhouse", false), ("duck", false), ("3x3", false)]
    {
        let folder = TempDir::new().expect("a folder");
        let config = MatchConfig { chess960, ..config(name, &["random", "random"], 4) };
        let (games, _) = play(folder.path(), &config, 1);
        let variant = Catalogue::shipped().get(name).expect("a shipped variant");
        let mut found = Games::default();
        readers::read(&folder.path().join("games.pgn"), &variant, &mut found).expect("read");
        assert_eq!((found.games.len(), found.errors), (games.len(), vec![]));
        for (played, read) in games.iter().zip(&found.games) {
            let winner = played.scores.iter().position(|&score| score > 0).map(|side| side as u8);
            assert_eq!(read.end, Some(End { winner, turns: 0 }));
            let mut position = variant.position(&played.start, chess960).expect("a start");
            let mut plies = read.plies.iter().map(|ply| PackedMove(ply.played).unpack());
            for turn in &played.turns {
                let turn = position.parse_turn(turn).expect("a turn");
                for ply in turn {
                    assert_eq!(plies.next(), Some(Some(ply)));
                    position.play_unchecked(ply);
                }
            }
            assert_eq!(plies.next(), None);
        }
    }
}

#[test]
fn arena_plays_own_variants_and_rejects_invalid_settings() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("my.ini");
    // A section that is not supported does not concern another one.
    let sections = "[strange:chess]\nking = x\n[fourbythree:tictactoe]\nmaxFile = 4\n";
    fs::write(&file, sections).expect("written");
    let own = |name: &str| MatchConfig {
        variants: Some(file.clone()),
        ..config(name, &["random"; 2], 4)
    };
    assert_eq!(play(&folder.path().join("mine"), &own("fourbythree"), 1).0.len(), 4);
    let refused = |config: MatchConfig| {
        Arena::open(&folder.path().join("none"), config).expect_err("refused").to_string()
    };
    assert!(refused(config("fourbythree", &["random"; 2], 4)).contains("fourbythree"));
    let error = refused(own("strange"));
    assert!(
        error.contains("\"strange\"") && error.contains("my.ini, line 2: [strange] king"),
        "{error}"
    );
    assert!(refused(config("tictacmo", &["random"; 2], 4)).contains("3 players, not 2"));
    let sprt = Some("0,5".parse().expect("a test"));
    let three = MatchConfig { sprt, ..config("tictacmo", &["random"; 3], 4) };
    assert!(refused(three).contains("two players"));
    let book =
        MatchConfig { book: Some("nowhere.epd".into()), ..config("chess", &["random"; 2], 4) };
    assert!(refused(book).contains("nowhere.epd"));
    let network = config("chess", &["net:nowhere.onnx,visits=5", "random"], 4);
    assert!(refused(network).contains("nowhere.onnx"));
}

#[test]
fn arena_leaves_foreign_files_alone() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("games.csv");
    for content in ["my,own,data", "my,own,data\n1,2,3\n"] {
        fs::write(&file, content).expect("written");
        let players = ["random", "random"];
        let error = Arena::open(folder.path(), config("chess", &players, 2)).expect_err("refused");
        assert!(error.to_string().contains("games.csv"), "{error}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), content);
    }
}

#[test]
fn arena_plays_chess960_from_its_starts() {
    let folder = TempDir::new().expect("a folder");
    let config = MatchConfig {
        chess960: true,
        plies: Some(0),
        max_turns: Some(4),
        ..config("chess", &["random", "random"], 40)
    };
    play(folder.path(), &config, 1);
    let pgn = fs::read_to_string(folder.path().join("games.pgn")).expect("a file");
    let starts: BTreeSet<&str> = pgn.lines().filter(|line| line.starts_with("[FEN ")).collect();
    assert!(starts.len() > 15, "{starts:?}");
    let horde = MatchConfig { variant: "horde".to_owned(), ..config };
    let mut arena = Arena::open(&folder.path().join("horde"), horde).expect("opened");
    let error = arena.play(1, &mut |_| ()).expect_err("refused").to_string();
    assert!(error.contains("horde has no starts of Chess960"), "{error}");
}

#[test]
fn arena_draws_games_after_the_maximum_number_of_turns() {
    let folder = TempDir::new().expect("a folder");
    let short = MatchConfig { max_turns: Some(7), ..config("chess", &["random", "random"], 4) };
    let (games, table) = play(folder.path(), &short, 1);
    assert!(games.iter().all(|game| game.turns.len() == 7 && game.scores == [0, 0]));
    assert!(table.contains("ended by length: 4"), "{table}");
}

#[test]
fn arena_network_plays_another_variant_with_as() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("my.ini");
    fs::write(&file, "[copy:3x3]\n").expect("written");
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/3x3.onnx");
    let game = |settings: &str| {
        let player = format!("net:{network},{settings}visits=2");
        MatchConfig {
            variants: Some(file.clone()),
            ..config("copy", &[&player, "uniform:visits=2"], 2)
        }
    };
    assert_eq!(play(&folder.path().join("as"), &game("as=3x3,"), 1).0.len(), 2);
    let mut strange = Arena::open(&folder.path().join("own"), game("")).expect("opened");
    let error = strange.play(1, &mut |_| ()).expect_err("refused").to_string();
    assert!(error.contains("not for copy"), "{error}");
}

#[test]
fn arena_plays_by_alpha_beta() {
    let folder = TempDir::new().expect("a folder");
    let player = |net: &str, limit: &str| {
        format!("alphabeta:{}/../nets/{net},{limit}", env!("CARGO_MANIFEST_DIR"))
    };
    let net = "chess.int8.onnx";
    let (strong, weak) = (player(net, "nodes=2000"), player(net, "movetime=1"));
    let short =
        |players: [&str; 2]| MatchConfig { max_turns: Some(30), ..config("chess", &players, 2) };
    let match_ = short([&strong, &strong]);
    let (games, _) = play(&folder.path().join("one"), &match_, 1);
    assert_eq!(play(&folder.path().join("two"), &match_, 2).0, games);
    assert_eq!(play(&folder.path().join("timed"), &short([&strong, &weak]), 1).0.len(), 2);
    let duck = player("duck.int8.onnx", "nodes=200");
    let match_ = MatchConfig { max_turns: Some(10), ..config("duck", &[&duck, &duck], 2) };
    assert_eq!(play(&folder.path().join("turns"), &match_, 1).0.len(), 2);
    for (variant, net, words) in
        [("bughouse2", "bughouse2.onnx", "one board"), ("3x3", "3x3.onnx", "sparse int8")]
    {
        let players = [&*player(net, "nodes=9"), "random"];
        let mut arena = Arena::open(&folder.path().join(variant), config(variant, &players, 2));
        let error = arena.as_mut().expect("opened").play(1, &mut |_| ()).expect_err("refused");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// A player of the first legal move.
fn first_move_player(
    _variant: &Arc<Variant>,
    _spec: &PlayerSpec,
) -> anyhow::Result<Box<dyn Player>> {
    let first_move = |position: &Position| {
        let mut moves = MoveList::new();
        position.legal_moves(&mut moves);
        moves.first().copied()
    };
    Ok(Box::new(PlyChooser(first_move)))
}

#[test]
fn arena_plays_custom_players() {
    let folder = TempDir::new().expect("a folder");
    let player =
        PlayerSpec { name: Some("first".to_owned()), ..PlayerSpec::new(PlayerKind::Custom) };
    let config = MatchConfig {
        games: 2,
        plies: Some(0),
        ..MatchConfig::new("tictactoe", vec![player.clone(), player])
    };
    let arena = Arena::open(&folder.path().join("known"), config.clone()).expect("opened");
    let mut arena = arena.with_custom_players(first_move_player);
    arena.play(1, &mut |_| ()).expect("played");
    assert_eq!(arena.games().len(), 2);
    assert_eq!(arena.games()[0].turns, arena.games()[1].turns);
    let mut unknown = Arena::open(&folder.path().join("unknown"), config).expect("opened");
    let error = unknown.play(1, &mut |_| ()).expect_err("no such player").to_string();
    assert!(error.contains("no custom player first"), "{error}");
}

#[cfg(unix)]
mod outside {

    use super::*;

    const UCI: &str = "uci) echo option name UCI_Variant type combo default chess var chess var \
                       tictactoe; echo option name Hash type spin default 16 min 1 max 64; echo \
                       uciok;;\nisready) echo readyok;;\nquit) exit;;";
    const XBOARD: &str = "protover) echo feature done=0; echo 'feature ping=1 setboard=1 usermove=1 \
                          variants=\"normal,tictactoe\" done=1';;\nping) echo pong $rest;;\n\
                          quit) exit;;";

    /// Writes an engine: a shell script with a `case` over the first word of each line.
    fn engine(folder: &TempDir, name: &str, cases: &[&str]) -> String {
        let path = folder.path().join(name);
        let cases = cases.join("\n");
        let script =
            format!("#!/bin/sh\nwhile read -r word rest; do case $word in\n{cases}\nesac; done\n");
        script::executable(&path, &script);
        path.display().to_string()
    }

    /// Plays four games of an engine against a random player, all of which it must lose for this reason.
    fn assert_loses(player: &str, end: &str, words: &str) {
        let folder = TempDir::new().expect("a folder");
        let config = MatchConfig { plies: Some(0), ..config("tictactoe", &[player, "random"], 4) };
        let (games, table) = play(folder.path(), &config, 2);
        assert_eq!(games.len(), 4);
        for game in &games {
            assert_eq!(game.end, end, "{game:?}");
            assert!(game.detail.contains(words), "{game:?}");
            assert_eq!(game.scores[usize::from(game.seats[0] != 0)], -1, "{game:?}");
        }
        assert!(table.ends_with("0-0-4\n"), "{table}");
        assert!(table.contains(&format!("ended by {end} of ")), "{table}");
    }

    #[test]
    fn arena_engine_with_an_illegal_move_loses() {
        let folder = TempDir::new().expect("a folder");
        let uci = engine(&folder, "uci", &["go) echo bestmove z9;;", UCI]);
        assert_loses(&format!("uci:{uci},nodes=5"), "illegal move", "z9");
        let none = engine(&folder, "none", &["go) echo 'bestmove (none)';;", UCI]);
        assert_loses(&format!("uci:{none},depth=5"), "illegal move", "(none)");
        let cases = ["go|usermove) echo move z9;;", XBOARD];
        let xboard = engine(&folder, "xboard", &cases);
        assert_loses(&format!("xboard:{xboard},depth=1"), "illegal move", "z9");
        let claim = engine(&folder, "claim", &["go|usermove) echo '1/2-1/2 {because}';;", XBOARD]);
        assert_loses(&format!("xboard:{claim},depth=1"), "illegal move", "1/2-1/2");
    }

    #[test]
    fn arena_xboard_promotion_follows_the_last_leg() {
        let folder = TempDir::new().expect("a folder");
        let book = folder.path().join("book.epd");
        fs::write(&book, "4k3/P7/8/8/8/8/p7/4K3 w - - 0 1\n").expect("written");
        let duck = "protover) echo 'feature ping=1 setboard=1 usermove=1 variants=duck done=1';;";
        let queen = "go) echo 'move a7a8,'; echo 'move a8c8q';;";
        let white = engine(&folder, "white", &[queen, duck, XBOARD]);
        let received = folder.path().join("received");
        let receives = format!("usermove) echo $rest >> {}; echo resign;;", received.display());
        let black = engine(&folder, "black", &[&receives, queen, duck, XBOARD]);
        let players = [white, black].map(|engine| format!("xboard:{engine},depth=1"));
        let config =
            MatchConfig { book: Some(book), ..config("duck", &[&players[0], &players[1]], 2) };
        let (games, _) = play(folder.path(), &config, 1);
        assert_eq!(
            (games[0].turns[0].as_str(), games[0].end.as_str()),
            ("a7a8q,a8c8", "resignation")
        );
        assert_eq!(
            fs::read_to_string(&received).expect("it received").lines().next(),
            Some("a7a8,a8c8q")
        );
    }

    #[test]
    fn arena_engine_that_ends_loses_and_is_restarted() {
        let folder = TempDir::new().expect("a folder");
        let uci = engine(&folder, "uci", &["go) exit 1;;", UCI]);
        assert_loses(&format!("uci:{uci},nodes=5"), "crash", "bestmove");
        let xboard = engine(&folder, "xboard", &["go|usermove) exit 1;;", XBOARD]);
        // It may end before or after it has received everything.
        assert_loses(&format!("xboard:{xboard},depth=1"), "crash", "the engine");
    }

    #[test]
    fn arena_engine_that_hangs_loses_on_time() {
        let folder = TempDir::new().expect("a folder");
        let uci = engine(&folder, "uci", &["go) ;;", UCI]);
        assert_loses(&format!("uci:{uci},nodes=5,patience=50"), "time", " ms in ");
        assert_loses(&format!("uci:{uci},tc=0.03+0,margin=20"), "time", " ms in ");
        let xboard = engine(&folder, "xboard", &["go|usermove) ;;", XBOARD]);
        assert_loses(&format!("xboard:{xboard},movetime=1000,margin=20"), "time", " ms in ");
    }

    #[test]
    fn arena_records_clocks() {
        let folder = TempDir::new().expect("a folder");
        let moves = "go) case $count in 7) echo bestmove f2f3;; 9) echo bestmove e7e5;; \
                     10) echo bestmove g2g4;; *) echo bestmove d8h4;; esac;;";
        let mate = engine(&folder, "mate", &["position) set -- $rest; count=$#;;", moves, UCI]);
        let player = format!("uci:{mate},tc=60+0.5");
        let config = MatchConfig { plies: Some(0), ..config("chess", &[&player, &player], 2) };
        let (games, table) = play(folder.path(), &config, 1);
        for game in &games {
            assert_eq!((&*game.end, game.turns.len()), ("checkmate", 4), "{game:?}");
            assert!(game.left.len() == 4, "{game:?}");
            assert!(game.left.iter().all(|left| (30_000..=61_000).contains(left)), "{game:?}");
        }
        assert_eq!(table.matches(" % of its time").count(), 2, "{table}");
        let reopened = Arena::open(folder.path(), config).expect("opened");
        assert_eq!(reopened.games(), games);
        let pgn = fs::read_to_string(folder.path().join("games.pgn")).expect("a file");
        assert_eq!(pgn.matches("{[%clk 0:01:0").count() + pgn.matches("{[%clk 0:00:").count(), 8);
        let variant = Catalogue::shipped().get("chess").expect("a shipped variant");
        let found = readers::read_all(&[&folder.path().join("games.pgn")], &variant).expect("read");
        assert!(found.errors.is_empty() && found.games.len() == 2, "{:?}", found.errors);
    }

    #[test]
    fn arena_engine_that_resigns_loses() {
        let folder = TempDir::new().expect("a folder");
        let xboard = engine(&folder, "xboard", &["go|usermove) echo resign;;", XBOARD]);
        assert_loses(&format!("xboard:{xboard},depth=1"), "resignation", "in ");
    }

    #[test]
    fn arena_xboard_options_may_be_refused_or_add_variants() {
        let folder = TempDir::new().expect("a folder");
        let options = "protover) echo 'feature ping=1 setboard=1 usermove=1 variants=\"normal\" \
                       option=\"Variants -file x\" option=\"Level -spin 1 1 9\" done=1';;\n\
                       option) case $rest in Level=99) echo \"Error (Level must be from 1 to 9): \
                       option $rest\";; Variants=*) echo 'feature \
                       variants=\"normal,tictactoe\"';; esac;;\ngo|usermove) echo resign;;";
        let xboard = engine(&folder, "xboard", &[options, XBOARD]);
        let player = |option: &str| format!("xboard:{xboard},depth=1,option.{option}");
        assert_loses(&player("Variants=my.ini"), "resignation", "in ");
        for (player, words) in [
            (player("Level=5"), "does not play tictactoe"),
            (player("Level=99"), "no option \"Level\" with the value \"99\""),
        ] {
            let config = config("tictactoe", &[&player, "random"], 4);
            let folder = TempDir::new().expect("a folder");
            let mut arena = Arena::open(folder.path(), config).expect("opened");
            let error = arena.play(2, &mut |_| ()).expect_err("no engine").to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn arena_engine_that_cannot_play_is_an_error() {
        let folder = TempDir::new().expect("a folder");
        let uci = engine(&folder, "uci", &[UCI]);
        let xboard = engine(&folder, "xboard", &[XBOARD]);
        for (player, variant, words) in [
            (format!("uci:{uci},nodes=5"), "connect4", "connect4"),
            (format!("uci:{uci},nodes=5,option.Contempt=3"), "tictactoe", "Contempt"),
            (format!("uci:{uci},nodes=5,option.Hash=65"), "tictactoe", "\"65\""),
            (format!("xboard:{xboard},depth=5"), "connect4", "connect4"),
            (format!("xboard:{xboard},depth=5,option.memory=9"), "tictactoe", "memory"),
            ("uci:./nowhere/engine,nodes=5".to_owned(), "tictactoe", "nowhere"),
        ] {
            let config = config(variant, &[&player, "random"], 4);
            let folder = TempDir::new().expect("a folder");
            let mut arena = Arena::open(folder.path(), config).expect("opened");
            let error = arena.play(2, &mut |_| ()).expect_err("no engine").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn gauntlet_command_that_is_stopped_leaves_the_document() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("gauntlet.toml");
    let gauntlet = "folder = \"games\"\ngames = 1000000\n[[matches]]\nvariants = [\"3x3\"]\n\
                    conditions = \"\"\nplayers = [\"random\", \"uniform:visits=50\"]\n";
    fs::write(&file, gauntlet).expect("written");
    let document = folder.path().join("strength.md");
    let text = "<!-- gauntlet -->\n<!-- end of gauntlet -->\n";
    fs::write(&document, text).expect("written");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trainer"));
    command.arg("gauntlet").arg(&file).args(["--concurrency", "1", "--document"]).arg(&document);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("started");
    let games = folder.path().join("games/3x3-1/games.csv");
    while fs::read_to_string(&games).map_or(0, |text| text.lines().count()) < 3 {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let signal = std::process::Command::new("kill").arg(child.id().to_string()).status();
    assert!(signal.expect("a signal").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(fs::read_to_string(&document).expect("a document"), text);
}

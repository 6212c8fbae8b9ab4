//! The readers of PGN and EPD.

use crate::support::reading::{read, variant};
use menagerie::encoding::Encoding;
use menagerie::rules::san;
use menagerie::rules::{PackedMove, Position};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use trainer::record::{End, GameRecord, NO_MOVE, PlyRecord};

fn read_well(name: &str, text: &str, game: &str) -> Vec<GameRecord> {
    let found = read(name, text.as_bytes(), game);
    assert_eq!(found.errors, []);
    for record in &found.games {
        samples(record, &variant(game));
    }
    found.games
}

/// Draws every sample of a game.
fn samples(game: &GameRecord, variant: &Variant) {
    let encoding = Encoding::of(&variant.start());
    for nth in 0..game.plies.len() {
        let sample = game.sample(variant, &encoding, nth).expect("a sample");
        sample.check(encoding.shape()).expect("a sample that fits");
    }
}

/// Returns the plies of a game in the notation of UCI, and the final position.
fn replay(game: &GameRecord, variant: &Variant) -> (String, Position) {
    let mut position = variant.position(&game.start, true).expect("a start");
    let mut texts = Vec::new();
    for ply in &game.plies {
        let m = PackedMove(ply.played).unpack().expect("a move");
        texts.push(position.move_text(m));
        assert!(position.play(m), "{} in {}", texts.join(" "), position.fen());
    }
    (texts.join(" "), position)
}

const LICHESS: &str = r#"[Event "Rated Blitz game"]
[Site "https://lichess.org/x"]
[White "A \"B\" \\ C"]
[Black "D"]
[Result "0-1"]
[Variant "Standard"]

1. f3 { [%eval -0.4] [%clk 0:03:00] } 1... e5 { [%eval -0.35,18] } 2. g4?? { (0.00 → #-1) } { [%eval #-1] } (2. e4 {good; (better} (2. d3 ; no ) here
Nf6) 2... d6) 2... Qh4# $1 { White was mated. } 0-1


[Event "Unfinished"]
[Variant "From Position"]
[SetUp "1"]
[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"]
[Result "*"]

1... Kd7 2. e4 !? 2... Ke7 *
"#;

#[test]
fn pgn_games_have_moves_scores_and_results() {
    let chess = variant("chess");
    for text in [LICHESS.to_owned(), LICHESS.replace('\n', "\r\n"), format!("\u{feff}{LICHESS}")] {
        let games = read_well("a.pgn", &text, "chess");
        let (moves, position) = replay(&games[0], &chess);
        assert_eq!(moves, "f2f3 e7e5 g2g4 d8h4");
        assert!(position.outcome().is_some());
        assert_eq!(games[0].end, Some(End { winner: Some(1), turns: 0 }));
        // The scores of the movers, for the positions before their moves.
        let scores: Vec<_> = games[0].plies.iter().map(|ply| ply.score).collect();
        assert_eq!(scores[0], None);
        assert!((scores[1].expect("a score") - 0.0735).abs() < 1e-3, "{scores:?}");
        assert!((scores[2].expect("a score") + 0.0644).abs() < 1e-3, "{scores:?}");
        assert_eq!(scores[3], Some(1.0));
        for PlyRecord { played, policy, .. } in &games[0].plies {
            assert_eq!(policy, &[(*played, u16::MAX)]);
        }
        assert_eq!(replay(&games[1], &chess).0, "e8d7 e2e4 d7e7");
        assert_eq!((games[1].end, games.len()), (None, 2));
    }
}

#[test]
fn pgn_scores_of_cute_chess_are_for_the_mover() {
    let text = "[Variant \"crazyhouse\"]\n[Result \"1-0\"]\n\n1. e4 {+0.35/12 1.2s} d5 {-0.35/11 0.9s} \
                2. exd5 {book} Qxd5 {-M4/20 0.1s} 3. P@e4 {+M3/9 0.2s} Qxe4+ {0.00/1 0s, a draw, 1/2} \
                4. Be2 {1/2 offered} P@e3 1-0\n";
    let games = read_well("a.pgn", text, "crazyhouse");
    let scores: Vec<_> = games[0].plies.iter().map(|ply| ply.score).collect();
    assert!((scores[0].expect("a score") - 0.0644).abs() < 1e-3, "{scores:?}");
    assert!((scores[1].expect("a score") + 0.0644).abs() < 1e-3, "{scores:?}");
    assert_eq!(scores[2..], [None, Some(-1.0), Some(1.0), Some(0.0), None, None]);
    assert_eq!(
        replay(&games[0], &variant("crazyhouse")).0,
        "e2e4 d7d5 e4d5 d8d5 P@e4 d5e4 f1e2 P@e3"
    );
}

#[test]
fn pgn_variant_names_have_aliases() {
    for (tag, name) in [
        ("Crazyhouse", "crazyhouse"),
        ("Three-check", "3check"),
        ("3check", "3check"),
        ("King of the Hill", "kingofthehill"),
        ("Antichess", "antichess"),
        ("Atomic", "atomic"),
        ("Horde", "horde"),
        ("Duck", "duck"),
        ("Standard", "chess"),
        ("losers", "losers"),
    ] {
        let first = if name == "duck" { "1. e3,e6" } else { "1. h3" };
        let first = if name == "horde" { "1. a5" } else { first };
        let games = read_well("a.pgn", &format!("[Variant \"{tag}\"]\n\n{first} *"), name);
        assert_eq!(games.len(), 1, "{tag}");
    }
    let text = "[Variant \"Racing Kings\"]\n\n1. Nxd1 *";
    let found = read("a.pgn", text.as_bytes(), "racingkings");
    assert_eq!(found.games.len() + found.errors.len(), 1);
    // Castling of Chess960, with the rights in the form of Lichess.
    let text = "[Variant \"Chess960\"]\n[FEN \"rk2r3/pppppppp/8/8/8/8/PPPPPPPP/RK2R3 w KQkq - 0 1\"]\n\n\
                1. O-O O-O-O *";
    assert_eq!(replay(&read_well("a.pgn", text, "chess")[0], &variant("chess")).0, "b1e1 b8a8");
    // Checks and pockets in the form of Lichess.
    let text =
        "[Variant \"Three-check\"]\n[FEN \"4k3/8/8/8/8/8/8/Q3K3 w - - 0 1 +1+0\"]\n1. Qa8+ *";
    assert_eq!(read_well("a.pgn", text, "3check").len(), 1);
    let text =
        "[Variant \"Crazyhouse\"]\n[FEN \"4k3/8/8/8/8/8/8/4K3/Qn w - - 0 1\"]\n1. Q@a8+ Kd7 *";
    assert_eq!(read_well("a.pgn", text, "crazyhouse").len(), 1);
}

#[test]
fn pgn_reads_duck_chess_and_three_players() {
    let text = "[Variant \"duck\"]\n[Result \"1/2-1/2\"]\n\n1. e4,e5 {+0.10/3 1s} Nf6,f6e4 2. d2d3,d3d4 1/2-1/2";
    let found = read("a.pgn", text.as_bytes(), "duck");
    assert!(found.errors[0].text == "Nf6,f6e4", "{:?}", found.errors);
    let text = text.replace("f6e4 2", "f6e3 2");
    let games = read_well("a.pgn", &text, "duck");
    assert_eq!(replay(&games[0], &variant("duck")).0, "e2e4 e4e5 g8f6 f6e3 d2d3 d3d4");
    let scores: Vec<_> = games[0].plies.iter().map(|ply| ply.score.is_some()).collect();
    assert_eq!(scores, [true, true, false, false, false, false]);
    let text = "[Result \"*\"]\n[Outcome \"b wins\"]\n[Variant \"tictacmo\"]\n[FEN \"5/5/5 a\"]\n\n1. c2 a1 b1 *";
    let games = read_well("a.pgn", text, "tictacmo");
    assert_eq!(games[0].end, Some(End { winner: Some(1), turns: 0 }));
}

#[test]
fn pgn_errors_quote_the_text_and_keep_other_games() {
    let good = "[Event \"good\"]\n\n1. e4 e5 1-0\n\n";
    for (bad, line, reasons) in [
        ("[Event \"x\"]\n\n1. e4\nKe4 2. d4 1-0\n", 8, ["Ke4", "not a legal move"]),
        ("[Event \"x\"]\n[FEN \"8/8 w\"]\n1. e4 *\n", 5, ["8/8 w", "Event"]),
        ("[Event \"x\"]\n[Variant \"Atomic\"]\n1. e4 *\n", 5, ["Atomic", "of chess"]),
        ("[Event \"x\"]\n[Variant \"Chess960\"]\n1. e4 *\n", 5, ["Chess960", "FEN"]),
        ("[Event \"x\"]\n\n*\n", 5, ["no moves", "Event"]),
        ("[Event \"x\"]\n\n1. e4 {[%eval x]} *\n", 7, ["invalid score \"x\"", "e4"]),
        ("[Event \"x\"]\n[Result \"0-1\"]\n1. e4 1-0\n", 5, ["Result", "end"]),
        ("[Event \"x\"]\n\n1. f3 e5 2. g4 Qh4# 1-0\n", 5, ["another result", "checkmate"]),
        ("[Event x]\n\n1. e4 1-0\n", 5, ["tag", "[Event x]"]),
        ("[Event x]\n[White \"x\"]\n\n1. e4 1-0\n", 5, ["tag", "[Event x]"]),
        ("[Event \"x\"]\n\n{ never closed\n", 7, ["comment", "not closed"]),
        ("[Event \"x\"]\n1. e4 } 1-0\n", 6, ["comment", "}"]),
        ("[Event \"x\"]\n1. e4 ) 1-0\n", 6, ["variation", ")"]),
        ("[Event \"x\"]\n1. e4 (1. d4 1-0\n", 5, ["variation", "not closed"]),
        ("[Event \"x\"]\n1. e4 {no end 1-0\n", 6, ["comment", "not closed"]),
        ("[Event \"x\"]\n1. e4 -- 2. d4 1-0\n", 6, ["--", "not a legal move"]),
    ] {
        let found = read("some.pgn", format!("{good}{bad}\n{good}").as_bytes(), "chess");
        assert_eq!((found.games.len(), found.errors.len()), (2, 1), "{bad}: {:?}", found.errors);
        let message = found.errors[0].to_string();
        assert!(message.contains(&format!("some.pgn, line {line}:")), "{bad}: {message}");
        assert!(reasons.iter().all(|reason| message.contains(reason)), "{bad}: {message}");
    }
}

#[test]
fn pgn_reader_of_epd_reads_best_moves() {
    let text = "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id \"BK.01; or so\";\n\
                # a remark\n\n\
                rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 bm e4, d2d4; am h4; ce 30; acd 12;\n\
                6k1/5ppp/8/8/8/8/8/R3K3 w Q - dm 1; ce 500;\n";
    let games = read_well("a.epd", text, "chess");
    let message: Vec<_> =
        games.iter().map(|it| (it.plies.len(), it.plies[0].policy.len())).collect();
    assert_eq!(message, [(1, 1), (1, 2), (1, 0)]);
    assert!(games.iter().all(|game| game.end.is_none() && game.plies[0].played == NO_MOVE));
    assert!(games[1].plies[0].policy.iter().all(|(_, share)| *share == u16::MAX));
    assert_eq!((games[0].plies[0].score, games[2].plies[0].score), (None, Some(1.0)));
    assert!((games[1].plies[0].score.expect("a score") - 0.0552).abs() < 1e-3);
    assert_eq!(games[2].start, "6k1/5ppp/8/8/8/8/8/R3K3 w Q -");
    for (game, line) in [
        ("crazyhouse", "4k3/8/8/8/8/8/8/4K3[Qn] w - - bm @f3 Q@a8;"),
        ("crazyhouse", "4k3/8/8/8/8/8/8/4K3[Q] w - - bm Q@a8;"),
        ("duck", "rnbqkbnr/pppp1ppp/8/4p3/4P1*1/8/PPPP1PPP/RNBQKBNR w KQkq - bm Nf3,d5;"),
        ("3check", "4k3/8/8/8/8/8/8/Q3K3 w - - 2+3 0 1 bm Qa8+;"),
        ("tictacmo", "5/5/5 a bm c2;"),
    ] {
        let line = line.replace("@f3 ", "");
        assert_eq!(read_well("a.epd", &line, game)[0].plies[0].policy.len(), 1, "{line}");
    }
}

#[test]
fn pgn_reader_of_epd_quotes_errors() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    for (line, reason) in [
        ("8/8 w - - bm e4;", "8/8"),
        (&format!("{start} bm e5;"), "e5"),
        (&format!("{start} bm;"), "no bm, ce or dm"),
        (&format!("{start} am e4; id \"x\";"), "no bm, ce or dm"),
        (&format!("{start} ce high;"), "high"),
        (&format!("{start} bm e4; id \"x;"), "quote"),
        (start, "no bm, ce or dm"),
        ("\u{1f986}", "\u{1f986}"),
    ] {
        let text = format!("{start} bm e4;\n{line}\n{start} ce 5;");
        let found = read("some.epd", text.as_bytes(), "chess");
        assert_eq!((found.games.len(), found.errors.len()), (2, 1), "{line}");
        let message = found.errors[0].to_string();
        assert!(message.contains("some.epd, line 2:") && message.contains(reason), "{message}");
    }
}

/// Returns a game of random turns in PGN and in the notation of UCI.
fn random_game(variant: &Variant, choices: &[prop::sample::Index]) -> (String, String) {
    let (mut position, mut pgn, mut uci) = (variant.start(), Vec::new(), Vec::new());
    for choice in choices {
        let mut turn = Vec::new();
        let mut after = position.clone();
        while turn.is_empty() || after.mid_turn() {
            let mut legal = Vec::new();
            after.legal_moves(&mut legal);
            if legal.is_empty() {
                break;
            }
            let m = *choice.get(&legal);
            uci.push(after.move_text(m));
            after.play_unchecked(m);
            turn.push(m);
        }
        if turn.is_empty() {
            break;
        }
        pgn.push(san::write(&position, &turn));
        position = after;
    }
    let text = format!("[Event \"x\"]\n[Variant \"{}\"]\n\n{} *\n", variant.name(), pgn.join(" "));
    (text, uci.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pgn_readers_survive_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for name in ["a.pgn", "a.epd"] {
            prop_assert!(read(name, &bytes, "chess").games.is_empty());
        }
    }

    #[test]
    fn pgn_games_of_every_variant_are_read_back(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
    ) {
        for variant in Catalogue::shipped().iter() {
            let (text, uci) = random_game(variant, &choices);
            let found = read("a.pgn", text.as_bytes(), variant.name());
            prop_assert_eq!(&found.errors, &[], "{}", text);
            // The texts of castling depend on how the position was set up.
            let words = replay(&found.games[0], variant).0.split(' ').count();
            prop_assert_eq!(words, uci.split(' ').count());
        }
    }

    #[test]
    fn pgn_readers_survive_damaged_files(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = LICHESS.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for game in read("a.pgn", &bytes, "chess").games {
            samples(&game, &variant("chess"));
        }
        for game in read("a.epd", &bytes, "chess").games {
            samples(&game, &variant("chess"));
        }
    }
}

//! Castling rights and castling moves as other programs write them.

use menagerie::rules::{DroppedPart, Move, MoveList, Position};
use menagerie::variant::Catalogue;

/// Parses a FEN of a shipped variant. Returns the position and the dropped castling rights.
fn read(variant: &str, fen: &str, chess960: bool) -> (Position, String) {
    let variant = Catalogue::shipped().get(variant).expect("shipped");
    let (position, repairs) =
        variant.position_with_repairs(fen, chess960).unwrap_or_else(|error| panic!("{error}"));
    let rights = repairs.iter().filter_map(|repair| match repair.dropped {
        DroppedPart::CastlingRight { right, .. } => Some(right),
        DroppedPart::EnPassant { .. } => None,
    });
    (position, rights.collect())
}

fn castling_field(position: &Position) -> String {
    position.fen().split(' ').nth(2).expect("a castling field").to_owned()
}

/// Returns the castling moves of the side to move, sorted.
fn castlings(position: &Position) -> Vec<String> {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let board = position.board();
    let own_rooks = board.castling & board.pieces.by_color(board.turn);
    let castles = |m: &Move| match *m {
        Move::Step { to, .. } => own_rooks.contains(to),
        _ => false,
    };
    let mut texts: Vec<_> =
        legal.into_iter().filter(castles).map(|m| position.move_text(m)).collect();
    texts.sort();
    texts
}

const BARE: &str = "r3k2r/8/8/8/8/8/8/R3K2R";

#[test]
fn castling_rights_without_king_or_rook_are_dropped() {
    for (board, rights, chess960, kept, dropped) in [
        // The rook is on another square, or nowhere.
        ("r3k2r/8/8/8/8/8/8/R3K1R1", "KQkq", false, "Qkq", "K"),
        ("1r2k2r/8/8/8/8/8/8/R3K2R", "KQkq", false, "KQk", "q"),
        ("4k3/8/8/8/8/8/8/4K2R", "KQkq", false, "K", "Qkq"),
        ("4k3/8/8/8/8/8/8/4K3", "KQkq", false, "-", "KQkq"),
        // The king is on another file or rank, or the rook is of the other color.
        ("r3k2r/8/8/8/8/8/8/R4K1R", "KQkq", false, "kq", "KQ"),
        ("4k3/8/8/8/8/8/8/R4K1R", "KQ", false, "-", "KQ"),
        ("r6r/4k3/8/8/8/8/8/R3K2R", "KQkq", false, "KQ", "kq"),
        ("r3k2R/8/8/8/8/8/8/R3K2r", "KQkq", false, "Qq", "Kk"),
        // Files without a rook.
        (BARE, "HGhb", false, "Kk", "Gb"),
        (BARE, "EDed", false, "-", "EDed"),
        ("r3k2r/8/8/8/8/8/8/R3K1R1", "GAha", false, "GQkq", ""),
        // Chess960: the outermost rook, or the one on the file.
        ("r3k2r/8/8/8/8/8/8/R3K1R1", "KQkq", true, "GAha", ""),
        ("4k3/8/8/8/8/8/8/RR2K3", "KQ", true, "A", "K"),
        ("4k3/8/8/8/8/8/8/RR2K3", "B", true, "B", ""),
        ("4k3/8/8/8/8/8/8/RR2K3", "BA", true, "B", "A"),
        ("4k3/8/8/8/8/8/8/RR2K3", "QB", true, "A", "B"),
        ("4k3/8/8/8/8/8/4K3/R6R", "KQ", true, "-", "KQ"),
        // Repeated rights.
        (BARE, "KKQkqq", false, "KQkq", ""),
        (BARE, "KHQAhk", false, "KQk", ""),
    ] {
        for variant in ["chess", "3check", "kingofthehill", "atomic", "crazyhouse", "duck"] {
            let checks = if variant == "3check" { " 3+3" } else { "" };
            let fen = format!("{board} w {rights} -{checks} 0 1");
            let (position, gone) = read(variant, &fen, chess960);
            let found = (castling_field(&position), gone);
            assert_eq!(found, (kept.to_owned(), dropped.to_owned()), "{variant} {fen} {chess960}");
            // The FEN that is written needs no repair.
            let again = read(variant, &position.fen(), chess960);
            assert_eq!((again.0.fen(), again.1.as_str()), (position.fen(), ""), "{variant} {fen}");
        }
    }
}

#[test]
fn castling_rights_in_games_without_castling_are_ignored() {
    for variant in ["antichess", "racingkings", "nocastle"] {
        let board = if variant == "racingkings" { "8/8/8/8/8/8/k6K/8" } else { BARE };
        let (position, dropped) = read(variant, &format!("{board} w KQkq - 0 1"), false);
        assert_eq!((castling_field(&position).as_str(), dropped.as_str()), ("-", ""));
    }
    let (small, dropped) = read("gardner", "rnbqk/ppppp/5/PPPPP/RNBQK w KQkq - 0 1", false);
    assert_eq!((castling_field(&small).as_str(), dropped.as_str()), ("-", ""));
}

#[test]
fn castling_rights_of_chess960_starts_are_recognised_by_symmetry() {
    let start = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR";
    for (rights, kept) in [("KQkq", "HFhf"), ("HFhf", "HFhf"), ("Kkq", "Hhf")] {
        let (position, dropped) = read("chess", &format!("{start} w {rights} - 2 9"), false);
        assert_eq!((castling_field(&position).as_str(), dropped.as_str()), (kept, ""));
    }
    // The rights of one side only could also be those of standard chess.
    let (position, dropped) = read("chess", &format!("{start} w KQ - 2 9"), false);
    assert_eq!((castling_field(&position).as_str(), dropped.as_str()), ("-", "KQ"));
}

#[test]
fn castling_notation_follows_the_option() {
    for (fen, chess960, written) in [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", false, "e1c1 e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", false, "e8c8 e8g8"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", true, "e1a1 e1h1"),
        ("r3k2r/8/8/8/8/8/8/R3K1R1 w KQkq - 0 1", false, "e1c1"),
        // From other squares than the home squares it is written as in Chess960.
        ("r3k2r/8/8/8/8/8/8/R3K1R1 w GQkq - 0 1", false, "e1c1 e1g1"),
        ("r3k2r/8/8/8/8/8/8/1R2K2R w BKkq - 0 1", false, "e1b1 e1g1"),
        ("4k3/8/8/8/8/8/8/R5KR w HA - 0 1", false, "g1a1 g1h1"),
        ("4k3/8/8/8/8/8/8/R4K1R w HA - 0 1", false, "f1a1 f1h1"),
    ] {
        assert_eq!(castlings(&read("chess", fen, chess960).0).join(" "), written, "{fen}");
    }
}

#[test]
fn castling_is_parsed_in_all_notations() {
    let king_side = ["e1g1", "e1h1", "O-O", "0-0", "o-o"];
    let queen_side = ["e1c1", "e1a1", "O-O-O", "0-0-0", "o-o-o"];
    for chess960 in [false, true] {
        for variant in ["chess", "atomic", "crazyhouse", "3check"] {
            let (position, _) = read(variant, &format!("{BARE} w KQkq - 0 1"), chess960);
            let plies = |text: &str| position.parse_turn(text).unwrap_or_else(|| panic!("{text}"));
            for texts in [king_side, queen_side] {
                assert!(texts.iter().all(|text| plies(text) == plies(texts[0])), "{variant}");
            }
        }
        let (duck, _) = read("duck", &format!("{BARE} w KQkq - 0 1"), chess960);
        let first = duck.parse_turn("e1g1,g1f2").expect("it castles");
        for text in ["e1g1,h1f2", "e1h1,h1f2", "e1h1,g1f2", "O-O,g1f2", "0-0,h1f2"] {
            assert_eq!(duck.parse_turn(text).as_ref(), Some(&first), "{text} {chess960}");
        }
    }
}

#[test]
fn castling_differs_from_king_moves() {
    // The king moves from f1 to g1 in both cases; f1g1 is the king move.
    let (position, _) = read("chess", "4k3/8/8/8/8/8/8/R4K1R w HA - 0 1", true);
    let after = |text: &str| {
        let mut after = position.clone();
        let plies = position.parse_turn(text).unwrap_or_else(|| panic!("{text}"));
        for ply in plies {
            after.play_unchecked(ply);
        }
        after.fen()
    };
    assert_eq!(after("f1g1"), "4k3/8/8/8/8/8/8/R5KR b - - 1 1");
    assert_eq!(after("f1h1"), "4k3/8/8/8/8/8/8/R4RK1 b - - 1 1");
    assert_eq!(after("f1c1"), "4k3/8/8/8/8/8/8/2KR3R b - - 1 1");
    // g1g1 is not a notation of castling for a king that stays on g1.
    let (position, _) = read("chess", "4k3/8/8/8/8/8/8/6KR w H - 0 1", true);
    assert_eq!(position.parse_turn("g1g1"), None);
    assert!(position.parse_turn("g1h1").is_some());
    // Without the right the move is illegal.
    let (bare, _) = read("chess", &format!("{BARE} w kq - 0 1"), false);
    for text in ["e1g1", "e1h1", "O-O"] {
        assert_eq!(bare.parse_turn(text), None, "{text}");
    }
}

#[test]
fn en_passant_squares_that_are_impossible_are_dropped() {
    let dropped = |fen: &str| {
        let chess = Catalogue::shipped().get("chess").expect("shipped");
        let (position, repairs) = chess.position_with_repairs(fen, false).expect("a position");
        assert_eq!(position.board().en_passant, None, "{fen}");
        !repairs.is_empty()
    };
    // A wrong rank, no pawn, a pawn of the wrong color, an occupied square behind the pawn.
    assert!(dropped("4k3/8/8/8/4P3/8/8/4K3 w - e3 0 1"));
    assert!(dropped("4k3/8/8/8/8/8/8/4K3 b - e3 0 1"));
    assert!(dropped("4k3/8/8/8/4p3/8/8/4K3 b - e3 0 1"));
    assert!(dropped("4k3/8/8/8/4P3/8/4P3/4K3 b - e3 0 1"));
    // After a double step the square is correct even if no capture is possible.
    assert!(!dropped("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1"));
}

#[test]
fn fen_repairs_in_bughouse_name_their_board() {
    let repairs = |variant: &str, fen: &str| -> Vec<String> {
        let variant = Catalogue::shipped().get(variant).expect("shipped");
        let (_, repairs) = variant.position_with_repairs(fen, false).expect("a position");
        repairs.iter().map(ToString::to_string).collect()
    };
    let whole = "r3k2r/8/8/8/8/8/8/R3K2R[] w KQkq - 0 1";
    let damaged = "r3k2r/8/8/8/8/8/8/R3K3[] w KQkq e3 0 1";
    let right = "castling right \"K\" dropped: no rook on h1";
    let square = "en passant square \"e3\" dropped: no pawn has just passed it";
    let on_board = |board: &str| [right, square].map(|text| format!("board {board}: {text}"));
    let on_a = on_board("A");
    let on_b = on_board("B");
    for variant in ["bughouse2", "bughouse2fixed"] {
        assert_eq!(repairs(variant, &format!("{damaged}|{whole}")), on_a);
        assert_eq!(repairs(variant, &format!("{whole}|{damaged}")), on_b);
        let both = repairs(variant, &format!("{damaged}|{damaged}"));
        assert_eq!(both, [&on_a[..], &on_b[..]].concat());
    }
    // The one-board game.
    assert_eq!(repairs("bughouse", damaged), [right, square]);
}

#[test]
fn fen_ignores_epd_operations() {
    let chess = Catalogue::shipped().get("chess").expect("shipped");
    let three_check = Catalogue::shipped().get("3check").expect("shipped");
    let connect = Catalogue::shipped().get("connect4").expect("shipped");
    let fen = format!("{BARE} w KQkq - 0 1");
    for rest in [
        "",
        " ;",
        ";",
        " 0",
        " - -",
        " - 1",
        " 0 -",
        " 0 1;",
        " bm O-O; id \"x\";",
        " 0 1 bm O-O; id \"the 1st; of 2\";",
        " bm O-O",
        " c0 \"a comment\"; acd 12;",
        " 0 1 our_own 7;",
        " 0 1 id \"the moves; moves e1g1\";",
    ] {
        let text = format!("{BARE} w KQkq -{rest}");
        let position = chess.position(&text, false).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(position.fen(), fen, "{text}");
    }
    for rest in [" 0 1 more", " half 1", " 0 full", " 0 1 2"] {
        let text = format!("{BARE} w KQkq -{rest}");
        let error = chess.position(&text, false).expect_err(&text).to_string();
        assert!(error.contains(&text), "{error}");
    }
    for rest in [" id \"x", " 0 1 bm O-O; id \"x; moves e1g1", " 0 1 id \"x\"\";"] {
        let text = format!("{BARE} w KQkq -{rest}");
        let error = chess.position(&text, false).expect_err(&text).to_string();
        assert_eq!(
            error,
            format!("bad FEN \"{text}\": missing '\"' at the end of a quoted string")
        );
    }
    let counted = "4k3/8/8/8/8/8/8/4K2R w K - 1+2 0 1";
    for text in [format!("{counted} bm O-O;"), "4k3/8/8/8/8/8/8/4K2R w K - 1+2 - -".to_owned()] {
        assert_eq!(three_check.position(&text, false).expect("a position").fen(), counted);
    }
    let start = connect.start().fen();
    assert_eq!(connect.position(&format!("{start};"), false).expect("a position").fen(), start);
}

#[test]
fn castling_notation_can_change_during_a_game() {
    let (mut position, _) = read("chess", "r3k2r/8/8/8/8/8/8/R3K1R1 w KQkq - 0 1", true);
    assert_eq!(castlings(&position).join(" "), "e1a1 e1g1");
    position.write_chess960(false);
    assert_eq!(castlings(&position).join(" "), "e1c1 e1g1");
    assert_eq!(castling_field(&position), "GQkq");
}

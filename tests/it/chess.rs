//! The rules of chess variants one by one, and in combinations that no reference program supports.

use menagerie::rules::{Move, MoveList, Position, Reason, Side, Square, perft};
use menagerie::variant::Catalogue;

fn shipped(name: &str, fen: &str, chess960: bool) -> Position {
    let variant = Catalogue::shipped().get(name).expect("shipped");
    variant.position(fen, chess960).expect("a position")
}

/// Returns the start position of a child of chess with the given keys, one per line.
fn made(keys: &str) -> Position {
    let (catalogue, errors) = Catalogue::shipped().extended(&format!("[made:chess]\n{keys}\n"));
    assert!(errors.is_empty(), "{errors:?}");
    catalogue.get("made").expect("defined").start()
}

fn after(mut position: Position, turns: &str) -> Position {
    for turn in turns.split_ascii_whitespace() {
        let plies = position.parse_turn(turn).unwrap_or_else(|| panic!("{turn} is not legal"));
        for ply in plies {
            position.play_unchecked(ply);
        }
    }
    position
}

fn assert_illegal(position: &Position, turn: &str) {
    assert_eq!(position.parse_turn(turn), None, "{turn} in {}", position.fen());
}

const EMPTY_BACK_RANKS: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";

#[test]
fn duck_is_a_ply_of_the_same_side() {
    let mut duck = Catalogue::shipped().get("duck").expect("shipped").start();
    assert_eq!(perft(&duck, 1), 640);
    let before = duck.key();
    assert!(duck.play(Move::step(Square::E2, Square::E4, None)));
    assert!(duck.mid_turn() && duck.turn() == Side::WHITE && duck.claimable_outcome().is_none());
    let between = duck.key();
    let mut legal = MoveList::new();
    duck.legal_moves(&mut legal);
    assert!(legal.contains(&Move::Wall(Square::E2)), "the origin is empty");
    assert!(legal.iter().all(|m| duck.move_text(*m).starts_with("e4")));
    assert!(duck.play(Move::Wall(Square::E3)));
    assert!(!duck.mid_turn() && duck.turn() == Side::BLACK);
    assert!(before != between && between != duck.key());
    assert_eq!(duck.fen(), "rnbqkbnr/pppppppp/8/8/4P3/4*3/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    assert_illegal(&duck, "e7e5,e5e3");
    assert_illegal(&duck, "e7e5");
    let next = after(duck, "g8f6,f6g8 f1c4,c4e3");
    assert_illegal(&next, "f6e4,e4f6,e4f6");
    assert!(next.diagram().contains("| * |"));
}

#[test]
fn duck_prevents_en_passant() {
    let fen = "4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1";
    let taken = after(shipped("duck", fen, false), "d2d4,d4a1 e4d3,d3d4");
    assert_eq!(taken.fen(), "4k3/8/8/8/3*4/3p4/8/4K3 w - - 0 2");
    let blocked = after(shipped("duck", fen, false), "d2d4,d4d3");
    assert_illegal(&blocked, "e4d3,d3d4");
    assert_eq!(blocked.fen(), "4k3/8/8/8/3Pp3/3*4/8/4K3 b - - 0 1");
}

#[test]
fn duck_castling_passes_attacks_but_not_the_duck() {
    let castled = after(shipped("duck", EMPTY_BACK_RANKS, false), "e1g1,g1f2");
    assert_eq!(castled.fen(), "r3k2r/8/8/8/8/8/5*2/R4RK1 b kq - 1 1");
    let castled = after(shipped("duck", EMPTY_BACK_RANKS, true), "e1h1,h1f2");
    assert_eq!(castled.fen(), "r3k2r/8/8/8/8/8/5*2/R4RK1 b ah - 1 1".replace("ah", "ha"));
    let attacked = "4k3/8/8/8/8/4r3/8/R3K2R w KQ - 0 1";
    after(shipped("duck", attacked, false), "e1c1,c1a8");
    let blocked = shipped("duck", "4k3/8/8/8/8/8/8/R*2K2R w KQ - 0 1", false);
    assert_illegal(&blocked, "e1c1,c1a8");
    after(blocked, "e1g1,g1a8");
}

#[test]
fn duck_is_placed_after_the_winning_king_capture() {
    let won = after(shipped("duck", "4k3/8/8/8/8/8/*7/4R1K1 w - - 0 1", false), "e1e8,e8h3");
    let outcome = won.outcome().expect("the king is gone");
    assert_eq!((outcome.winner, outcome.reason), (Some(Side::WHITE), Reason::Variant));
    assert_eq!(perft(&won, 1), 0);
    let promoted = "3k4/4P3/8/8/8/8/8/*3K3 w - - 0 1";
    let won = after(shipped("duck", promoted, false), "e7d8n,d8e7");
    assert_eq!(won.fen(), "3N4/4*3/8/8/8/8/8/4K3 b - - 0 1");
}

#[test]
fn rules_combine_on_any_board() {
    // Duck with drops, castling and check on 6x6: no reference program supports it.
    let keys = "maxFile = 6\nmaxRank = 6\nwallingRule = duck\npieceDrops = true\n\
                capturesToHand = true\npromotionRegionWhite = *6\npromotionRegionBlack = *1\n\
                doubleStepRegionBlack = *5\ncastlingKingsideFile = e\ncastlingQueensideFile = b\n\
                castlingKingFile = c\n\
                startFen = r1k2r/pppppp/6/6/PPPPPP/R1K2R[Nn] w KQkq - 0 1";
    let start = made(keys);
    let played = after(start, "c1e1,e1c4 N@d3,d3b3 e2d3,d3c4");
    assert_eq!(played.fen(), "r1k2r/pppppp/2*3/3P2/PPPP1P/R2RK1[NN] b kq - 0 2");
    // A captured promoted piece becomes a pawn.
    let keys = "maxFile = 4\nmaxRank = 4\npieceDrops = true\ncapturesToHand = true\n\
                promotionRegionWhite = *4\npromotionRegionBlack = *1\n\
                startFen = r2k/P3/8/K3[] w - - 0 1";
    assert!(
        !Catalogue::shipped().extended(&format!("[made:chess]\n{keys}")).1.is_empty(),
        "8 squares on a rank of 4"
    );
    let start = made(&keys.replace("/8/", "/4/").replace("r2k", "1rk1"));
    let promoted = after(start, "a3b4q");
    assert_eq!(promoted.fen(), "1Q~k1/4/4/K3[R] b - - 0 1");
    assert_eq!(after(promoted, "c4b4").fen(), "1k2/4/4/K3[Rp] w - - 0 2");
    // A drop that answers a check must block it.
    let checked = made("pieceDrops = true\nstartFen = 4k3/8/8/8/4r3/8/8/4K3[N] w - - 0 1");
    let mut legal = MoveList::new();
    checked.legal_moves(&mut legal);
    let drops = legal.iter().filter(|m| matches!(m, Move::Drop { .. })).count();
    assert_eq!((drops, legal.len()), (2, 6));
}

#[test]
fn end_values_follow_the_keys() {
    let white = Some(Side::WHITE);
    let black = Some(Side::BLACK);
    for (name, fen, winner, reason) in [
        ("misere", "R3k3/7R/8/8/8/8/8/4K3 b - - 0 1", black, Reason::Checkmate),
        ("losers", "R3k3/7R/8/8/8/8/p7/4K3 b - - 0 1", black, Reason::Checkmate),
        ("losers", "7k/p4Q2/P7/8/8/8/8/4K3 b - - 0 1", black, Reason::Stalemate),
        ("losers", "4k3/8/8/8/8/8/8/R3K3 b - - 0 1", black, Reason::Variant),
        ("giveaway", "8/8/8/8/8/8/8/R7 b - - 0 1", black, Reason::Variant),
        // Blocked pawns: one piece against one, one against two, and two against one.
        ("suicide", "8/8/8/p7/P7/8/8/8 w - - 0 1", None, Reason::Stalemate),
        ("suicide", "8/8/8/p7/P7/8/7p/8 w - - 0 1", white, Reason::Stalemate),
        ("suicide", "8/8/p7/P7/P7/8/8/8 w - - 0 1", black, Reason::Stalemate),
        ("codrus", "8/8/8/8/8/8/8/R3K3 w - - 0 1", black, Reason::Variant),
        ("extinction", "4k3/8/8/8/8/8/8/RNBQK3 w - - 0 1", white, Reason::Variant),
        ("threekings", "k3k3/8/8/8/8/8/8/K3K2K w - - 0 1", white, Reason::Variant),
        ("bughouse", "7k/8/5KQ1/8/8/8/8/8[] b - - 0 1", white, Reason::Stalemate),
        ("duck", "8/7K/8/8/8/8/ppp5/kb*5 b - - 0 1", black, Reason::Stalemate),
    ] {
        let outcome = shipped(name, fen, false).outcome();
        let outcome = outcome.unwrap_or_else(|| panic!("{name} {fen} goes on"));
        assert_eq!((outcome.winner, outcome.reason), (winner, reason), "{name} {fen}");
    }
}

#[test]
fn blast_spares_pawns_and_immune_pieces() {
    let fen = "r3k2r/1p6/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let blown = after(shipped("nocheckatomic", fen, false), "a1a8");
    assert_eq!(blown.fen(), "4k2r/1p6/8/8/8/8/8/4K2R b Kk - 0 1");
    let near = "3nk2r/8/8/3R4/8/8/8/4K3 w k - 0 1";
    let won = after(shipped("nocheckatomic", near, false), "d5d8");
    assert_eq!(won.fen(), "7r/8/8/8/8/8/8/4K3 b - - 0 1");
    assert_eq!(won.outcome().and_then(|outcome| outcome.winner), Some(Side::WHITE));
    let immune = after(shipped("atomar", near, false), "d5d8");
    assert_eq!(immune.fen(), "4k2r/8/8/8/8/8/8/4K3 b k - 0 1");
    assert_illegal(&shipped("atomar", "8/8/8/8/8/4k3/4K3/8 w - - 0 1", false), "e2e3");
    after(shipped("nocheckatomic", "8/8/8/8/8/4k3/4K3/8 w - - 0 1", false), "e2e3");
}

#[test]
fn compulsory_captures_must_be_legal() {
    let moves = |name: &str, fen: &str| {
        let position = shipped(name, fen, false);
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut texts: Vec<_> = legal.iter().map(|&m| position.move_text(m)).collect();
        texts.sort();
        texts.join(" ")
    };
    assert_eq!(moves("losers", "4k3/8/8/8/8/8/p7/R3K3 w - - 0 1"), "a1a2");
    // En passant is a capture.
    assert_eq!(moves("losers", "4k3/8/8/pP6/8/8/8/4K3 w - a6 0 1"), "b5a6");
    // The capture of the pinned rook is illegal.
    let pinned = moves("losers", "4k3/8/8/8/4r3/8/p3R3/4K3 w - - 0 1");
    assert_eq!(pinned, "e2e4");
    let checked = moves("losers", "k3r3/8/8/8/8/8/p7/R3K3 w - - 0 1");
    assert_eq!(checked, "e1d1 e1d2 e1f1 e1f2");
}

#[test]
fn ini_errors_name_line_and_key() {
    for (keys, wanted) in [
        ("mustFly = true", "line 2: [made] mustFly = true: unknown key"),
        ("maxFile = 9", "line 2: [made] maxFile = 9: expected a number from 1 to 8"),
        ("castling = maybe", "line 2: [made] castling = maybe: expected true or false"),
        ("\nwallingRule = moat", "line 3: [made] wallingRule = moat: expected duck, arrow"),
        ("king = k\ncommoner = k", "line 3: [made] commoner = k: king already has the letter k"),
        (
            "customPiece1 = k:K",
            "line 2: [made] customPiece1 = k:K: not supported: pieces other than",
        ),
        ("gating = true", "line 2: [made] gating = true: not supported: gating"),
        ("connectN = 3", "line 2: [made] connectN = 3: not supported: winning rows of pieces"),
        (
            "mobilityRegionWhiteKing = e1",
            "line 2: [made] mobilityRegionWhiteKing = e1: not supported: ",
        ),
        ("promotionLimit = q", "line 2: [made] promotionLimit = q: expected limits such as"),
        ("castlingWins = x", "line 2: [made] castlingWins = x: expected castling rights"),
        ("flagPiece = kq", "line 2: [made] flagPiece = kq: expected the letter of one piece"),
        ("materialCounting = janggi", "line 2: [made] materialCounting = janggi: expected unwei"),
        (
            "promotionRegionWhite = *3 *4",
            "line 1: [made] pawns could promote by a single and a double step from one square",
        ),
        ("startFen = 8/8 w", "line 1: [made] bad FEN \"8/8 w\": expected 8 ranks, found 2"),
        ("king = w", "line 2: [made] king = w: expected \"k\" or \"-\""),
        ("stalemateValue = 3", "line 2: [made] stalemateValue = 3: expected win, draw or loss"),
        ("dropRegionWhite = e9", "line 2: [made] dropRegionWhite = e9: expected squares, ranks"),
        ("flagRegion = *x", "line 2: [made] flagRegion = *x: expected squares, ranks"),
        ("promotionRegion = *0", "line 2: [made] promotionRegion = *0: expected squares, ranks"),
        ("promotionRegion = **", "line 2: [made] promotionRegion = **: expected squares, ranks"),
        ("promotionLimit = qr:1", "line 2: [made] promotionLimit = qr:1: expected limits such as"),
        ("selfPlayMen = KkX", "line 2: [made] selfPlayMen = KkX: unknown piece 'X'"),
        (
            "extinctionValue = loss\nextinctionPieceTypes = *\nextinctionPieceCount = 40",
            "line 1: [made] the game is over in the start position",
        ),
        ("castlingKingsideFile = z", "line 2: [made] castlingKingsideFile = z: expected a file"),
        ("blastOnCapture = true", "line 2: [made] blastOnCapture = true: requires commoner = k"),
        ("extinctionPieceCount = x", "line 2: [made] extinctionPieceCount = x: expected a number"),
        (
            "extinctionPieceTypes = q\nextinctionPseudoRoyal = true",
            "line 1: [made] extinctionPseudoRoyal requires an extinctionValue",
        ),
        (
            "maxRank = 6\ncastlingRank = 7\n\
             startFen = rnbqkbnr/pppppppp/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "line 1: [made] castlingRank is larger than maxRank",
        ),
    ] {
        let text = format!("[made:chess]\n{keys}\n");
        let (catalogue, errors) = Catalogue::shipped().extended(&text);
        assert!(catalogue.get("made").is_none(), "{keys}");
        let error = errors.first().expect(keys).to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn ini_headers_allow_comments_and_rejected_ones_drop_their_keys() {
    let text = "[first:chess]   # a comment\ndoubleStep = false\n\
                [second:chess] ; another\nstalemateValue = loss\n\
                [third:chess] more\nmaxFile = x\n\
                [fourth:chess]\t\nnMoveRule = 7\n";
    let (catalogue, errors) = Catalogue::shipped().extended(text);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("line 5: cannot parse \"[third:chess] more"), "{errors:?}");
    let start = |name| catalogue.get(name).expect(name).start();
    assert_illegal(&start("first"), "e2e4");
    let stalemate = "7k/8/6Q1/8/8/8/8/K7 b - - 0 1";
    for (name, winner) in [("first", None), ("second", Some(Side::WHITE)), ("fourth", None)] {
        let position = catalogue.get(name).expect(name).position(stalemate, false);
        let outcome = position.expect("a position").outcome().expect("a stalemate");
        assert_eq!(outcome.winner, winner, "{name}");
    }
    assert!(catalogue.get("third").is_none());
}

#[test]
fn castling_of_a_commoner_ignores_the_new_square_of_its_rook() {
    // Fairy-Stockfish tests attacks with the rook at home.
    assert_illegal(&shipped("atomic", "4k3/8/8/8/8/8/8/RK5r w A - 0 1", true), "b1a1");
    assert_illegal(&shipped("atomic", "4k3/8/8/8/8/8/8/r5KR w H - 0 1", true), "g1h1");
    after(shipped("atomic", "4k3/7r/8/8/8/8/8/RK6 w A - 0 1", true), "b1a1");
    // The duck that ends the turn can shield the king.
    let (catalogue, errors) = Catalogue::shipped().extended("[made:atomic]\nwallingRule = duck\n");
    assert!(errors.is_empty(), "{errors:?}");
    let duck = catalogue.get("made").expect("defined");
    let position = || duck.position("4k3/8/8/8/8/8/8/RK5r w A - 0 1", true).expect("a position");
    assert_illegal(&position(), "b1a1,a1h8");
    after(position(), "b1a1,a1e1");
}

#[test]
fn insufficient_material_takes_walls_into_account() {
    let keys = "castling = false\nstartFen = k*6/**6/8/1N6/8/8/8/4K3 w - - 0 1";
    let start = made(keys);
    assert_eq!(start.claimable_outcome(), None);
    let mated = after(start, "b5c7").outcome().expect("a mate");
    assert_eq!((mated.winner, mated.reason), (Some(Side::WHITE), Reason::Checkmate));
}

#[test]
fn fen_allows_pawns_dropped_on_promotion_squares() {
    let (catalogue, errors) =
        Catalogue::shipped().extended("[made:crazyhouse]\npromotionZonePawnDrops = true\n");
    assert!(errors.is_empty(), "{errors:?}");
    let made = catalogue.get("made").expect("defined");
    let start = made.position("4k3/8/8/8/8/8/8/4K3[P] w - - 0 1", false).expect("a position");
    let fen = after(start, "P@a8").fen();
    assert_eq!(fen, "P3k3/8/8/8/8/8/8/4K3[] b - - 0 1");
    assert_eq!(made.position(&fen, false).expect("a position").fen(), fen);
}

#[test]
fn move_counter_is_not_reset_by_reversible_moves() {
    let there_and_back = "g1f3 g8f6 f3g1 f6g8";
    let twice = after(made("nMoveRuleTypes = pn"), there_and_back);
    assert!(twice.fen().ends_with(" 4 3"), "{}", twice.fen());
    let claimed = after(twice, there_and_back).claimable_outcome().expect("a threefold repetition");
    assert_eq!(claimed.reason, Reason::Repetition);
}

#[test]
fn immune_pawns_capture_en_passant() {
    let keys = "mutuallyImmuneTypes = p\nstartFen = 4k3/8/8/8/1p6/1P6/P7/4K3 w - - 0 1";
    let position = after(made(keys), "a2a4");
    // Fairy-Stockfish: five moves of the king and b4a3.
    assert_eq!(perft(&position, 1), 6);
    after(position, "b4a3");
    assert_illegal(
        &made("mutuallyImmuneTypes = p\nstartFen = 4k3/8/8/8/1p6/P7/8/4K3 w - - 0 1"),
        "a3b4",
    );
}

#[test]
fn pocket_does_not_get_a_royal_king() {
    let taken = after(shipped("chessgi", "4k3/8/8/8/8/8/4q3/4K3[] b - - 0 1", false), "e2e1");
    assert_eq!(taken.fen(), "4k3/8/8/8/8/8/8/4q3[] w - - 0 2");
}

#[test]
fn castling_rights_end_with_an_ambiguous_second_king() {
    let fen = "3kbnqr/2k5/8/8/8/8/8/4K3 b h - 0 1";
    assert_eq!(shipped("duck", fen, true).fen(), fen);
    let after = after(shipped("duck", fen, true), "c7c8,c8h3");
    assert_eq!(after.fen(), "2kkbnqr/8/8/8/8/7*/8/4K3 w - - 1 2");
}

#[test]
fn ini_names_of_other_variants_are_not_duplicates() {
    let (catalogue, errors) =
        Catalogue::shipped().extended("[duck]\nking = x\n[own:duck]\n[own:chess]\n");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let wanted = [
        "line 1: there is a variant [duck] already, this section is not used",
        "line 4: duplicate section [own]",
    ];
    assert_eq!(errors, wanted);
    let start = catalogue.get("own").expect("a child of the shipped variant").start();
    after(start, "e2e4,e4e5");
}

#[test]
fn ini_last_line_needs_no_line_end() {
    for (text, wanted) in [
        ("[]", "line 1: cannot parse \"[]\""),
        ("\n[a]x", "line 2: cannot parse"),
        ("[a]\nking = x", "line 2: [a] king = x: expected \"k\""),
    ] {
        let error = Catalogue::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn checks_that_win_follow_the_start_position() {
    let board = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    for (counters, wanted) in [
        ("5+4 0 1", "5+4 0 1"),
        ("0 1", "1+1 0 1"),
        // Checks given, of the three that win.
        ("0 1 +0+0", "3+3 0 1"),
        ("0 1 +2+0", "1+3 0 1"),
    ] {
        let start = made(&format!("checkCounting = true\nstartFen = {board} {counters}"));
        assert_eq!(start.fen(), format!("{board} {wanted}"));
    }
}

#[test]
fn fen_errors_quote_the_fen() {
    for (name, fen) in [
        ("duck", "4k3/8/8/8/8/8/*6*/4K3 w - - 0 1"),
        ("duck", "4k3/8/8/8/8/8/8/4K3[N] w - - 0 1"),
        ("bughouse", "4k3/8/8/8/8/8/8/4K3[N w - - 0 1"),
        ("bughouse", "4k3/8/8/8/8/8/8/4K3[K] w - - 0 1"),
        ("bughouse", "4k3/8/8/8/8/8/8/~4K3[] w - - 0 1"),
        ("bughouse", "4k3/8/8/8/8/8/8/*3K3[] w - - 0 1"),
        ("duck", "4k3/8/8/8/8/8/8/4K3 w X - 0 1"),
        ("duck", "4k3/8/8/8/8/8/8/4K3 w - e9 0 1"),
        ("gardner", "k4/5/5/5/K4 w - e3 0 1"),
    ] {
        let variant = Catalogue::shipped().get(name).expect("shipped");
        let error = variant.position(fen, false).expect_err(fen).to_string();
        assert!(error.contains(&format!("\"{fen}\"")), "{error}");
    }
    let ninth = shipped("bughouse", "4k3/8/8/8/8/8/8/4K3/Nn w - - 0 1", false);
    assert_eq!(ninth.fen(), "4k3/8/8/8/8/8/8/4K3[Nn] w - - 0 1");
    let none = shipped("chess", "4k3/8/8/8/8/8/8/4K3[-] w - - 0 1", false);
    assert_eq!(none.fen(), "4k3/8/8/8/8/8/8/4K3 w - - 0 1");
    let promoted = shipped("loop", "4k3/8/8/8/8/8/8/Q~3K3[] w - - 0 1", false);
    assert_eq!(promoted.fen(), "4k3/8/8/8/8/8/8/Q3K3[] w - - 0 1");
    let empty = shipped("bughouse", "4k3/8/8/8/8/8/8/4K3[-] w - -", false);
    assert_eq!(empty.fen(), "4k3/8/8/8/8/8/8/4K3[] w - - 0 1");
}

#[test]
fn fen_round_trips_in_random_games() {
    use rand::{RngExt, SeedableRng, rngs::SmallRng};
    for variant in Catalogue::shipped().iter() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut position = variant.start();
        let mut legal = MoveList::new();
        for _ in 0..1000 {
            position.legal_moves(&mut legal);
            if legal.is_empty() {
                position = variant.start();
                continue;
            }
            position.play_unchecked(legal[rng.random_range(0..legal.len())]);
            if !position.mid_turn() {
                let fen = position.fen();
                let read = variant.position(&fen, false).expect("its own FEN");
                assert_eq!((read.fen(), read.key()), (fen, position.key()), "{}", variant.name());
            }
        }
    }
}

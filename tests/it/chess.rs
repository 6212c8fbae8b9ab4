//! The variant_rules of `chess` one by one, and combined as no reference program combines them.

use menagerie::rules::{Move, MoveList, Position, Reason, Side, Square, perft};
use menagerie::variant::Catalogue;

fn shipped(name: &str, fen: &str, chess960: bool) -> Position {
    let variant = Catalogue::shipped().get(name).expect("it is shipped");
    variant.position(fen, chess960).expect("a position")
}

/// A child of chess with these keys, one a line.
fn made(keys: &str) -> Position {
    let (catalogue, faults) = Catalogue::shipped().extended(&format!("[made:chess]\n{keys}\n"));
    assert!(faults.is_empty(), "{faults:?}");
    catalogue.get("made").expect("it is there").start()
}

fn after(mut position: Position, turns: &str) -> Position {
    for turn in turns.split_ascii_whitespace() {
        let plies = position.parse_turn(turn).unwrap_or_else(|| panic!("{turn} is not legal"));
        plies.into_iter().for_each(|ply| position.play_unchecked(ply));
    }
    position
}

fn refuses(position: &Position, turn: &str) {
    assert_eq!(position.parse_turn(turn), None, "{turn} in {}", position.fen());
}

const EMPTY_BACK: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";

#[test]
fn the_duck_is_a_ply_of_the_same_side() {
    let mut duck = Catalogue::shipped().get("duck").expect("it is shipped").start();
    assert_eq!(perft(&duck, 1), 640);
    let before = duck.key();
    assert!(duck.play(Move::Step { from: Square::E2, to: Square::E4, promotion: None }));
    assert!(duck.mid_turn() && duck.turn() == Side::WHITE && duck.claim().is_none());
    let between = duck.key();
    let mut legal = MoveList::new();
    duck.legal_moves(&mut legal);
    assert!(legal.contains(&Move::Wall(Square::E2)), "the square that was left is empty");
    assert!(legal.iter().all(|m| duck.move_text(*m).starts_with("e4")));
    assert!(duck.play(Move::Wall(Square::E3)));
    assert!(!duck.mid_turn() && duck.turn() == Side::BLACK);
    assert!(before != between && between != duck.key());
    assert_eq!(duck.fen(), "rnbqkbnr/pppppppp/8/8/4P3/4*3/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    refuses(&duck, "e7e5,e5e3");
    refuses(&duck, "e7e5");
    let next = after(duck, "g8f6,f6g8 f1c4,c4e3");
    refuses(&next, "f6e4,e4f6,e4f6");
    assert!(next.diagram().contains("| * |"));
}

#[test]
fn a_duck_on_its_square_prevents_en_passant() {
    let fen = "4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1";
    let taken = after(shipped("duck", fen, false), "d2d4,d4a1 e4d3,d3d4");
    assert_eq!(taken.fen(), "4k3/8/8/8/3*4/3p4/8/4K3 w - - 0 2");
    let blocked = after(shipped("duck", fen, false), "d2d4,d4d3");
    refuses(&blocked, "e4d3,d3d4");
    assert_eq!(blocked.fen(), "4k3/8/8/8/3Pp3/3*4/8/4K3 b - - 0 1");
}

#[test]
fn the_king_castles_through_attacks_but_not_through_the_duck() {
    let castled = after(shipped("duck", EMPTY_BACK, false), "e1g1,g1f2");
    assert_eq!(castled.fen(), "r3k2r/8/8/8/8/8/5*2/R4RK1 b kq - 1 1");
    let castled = after(shipped("duck", EMPTY_BACK, true), "e1h1,h1f2");
    assert_eq!(castled.fen(), "r3k2r/8/8/8/8/8/5*2/R4RK1 b ah - 1 1".replace("ah", "ha"));
    let attacked = "4k3/8/8/8/8/4r3/8/R3K2R w KQ - 0 1";
    after(shipped("duck", attacked, false), "e1c1,c1a8");
    let blocked = shipped("duck", "4k3/8/8/8/8/8/8/R*2K2R w KQ - 0 1", false);
    refuses(&blocked, "e1c1,c1a8");
    after(blocked, "e1g1,g1a8");
}

#[test]
fn who_takes_the_king_places_the_duck_and_has_won() {
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
    // Duck with drops and castling on 6x6 under check: no reference program plays it.
    let keys = "maxFile = 6\nmaxRank = 6\nwallingRule = duck\npieceDrops = true\n\
                capturesToHand = true\npromotionRegionWhite = *6\npromotionRegionBlack = *1\n\
                doubleStepRegionBlack = *5\ncastlingKingsideFile = e\ncastlingQueensideFile = b\n\
                castlingKingFile = c\n\
                startFen = r1k2r/pppppp/6/6/PPPPPP/R1K2R[Nn] w KQkq - 0 1";
    let start = made(keys);
    let played = after(start, "c1e1,e1c4 N@d3,d3b3 e2d3,d3c4");
    assert_eq!(played.fen(), "r1k2r/pppppp/2*3/3P2/PPPP1P/R2RK1[NN] b kq - 0 2");
    // A promoted man is a pawn in the hand of whoever takes it.
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
    // Where a drop would be the answer to a check it must stand between.
    let checked = made("pieceDrops = true\nstartFen = 4k3/8/8/8/4r3/8/8/4K3[N] w - - 0 1");
    let mut legal = MoveList::new();
    checked.legal_moves(&mut legal);
    let drops = legal.iter().filter(|m| matches!(m, Move::Drop { .. })).count();
    assert_eq!((drops, legal.len()), (2, 6));
}

#[test]
fn ends_are_worth_what_the_game_says() {
    let (white, black) = (Some(Side::WHITE), Some(Side::BLACK));
    for (name, fen, winner, reason) in [
        ("misere", "R3k3/7R/8/8/8/8/8/4K3 b - - 0 1", black, Reason::Checkmate),
        ("losers", "R3k3/7R/8/8/8/8/p7/4K3 b - - 0 1", black, Reason::Checkmate),
        ("losers", "7k/p4Q2/P7/8/8/8/8/4K3 b - - 0 1", black, Reason::Stalemate),
        ("losers", "4k3/8/8/8/8/8/8/R3K3 b - - 0 1", black, Reason::Variant),
        ("giveaway", "8/8/8/8/8/8/8/R7 b - - 0 1", black, Reason::Variant),
        // Blocked pawns: one man against one, against two, and two against one.
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
fn captures_blow_up_what_is_around_but_pawns() {
    let fen = "r3k2r/1p6/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let blown = after(shipped("nocheckatomic", fen, false), "a1a8");
    assert_eq!(blown.fen(), "4k2r/1p6/8/8/8/8/8/4K2R b Kk - 0 1");
    let near = "3nk2r/8/8/3R4/8/8/8/4K3 w k - 0 1";
    let won = after(shipped("nocheckatomic", near, false), "d5d8");
    assert_eq!(won.fen(), "7r/8/8/8/8/8/8/4K3 b - - 0 1");
    assert_eq!(won.outcome().and_then(|outcome| outcome.winner), Some(Side::WHITE));
    let immune = after(shipped("atomar", near, false), "d5d8");
    assert_eq!(immune.fen(), "4k2r/8/8/8/8/8/8/4K3 b k - 0 1");
    refuses(&shipped("atomar", "8/8/8/8/8/4k3/4K3/8 w - - 0 1", false), "e2e3");
    after(shipped("nocheckatomic", "8/8/8/8/8/4k3/4K3/8 w - - 0 1", false), "e2e3");
}

#[test]
fn captures_are_compulsory_unless_they_leave_the_king_in_check() {
    let moves = |name: &str, fen: &str| {
        let position = shipped(name, fen, false);
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut texts: Vec<_> = legal.iter().map(|&m| position.move_text(m)).collect();
        texts.sort();
        texts.join(" ")
    };
    assert_eq!(moves("losers", "4k3/8/8/8/8/8/p7/R3K3 w - - 0 1"), "a1a2");
    // Also en passant.
    assert_eq!(moves("losers", "4k3/8/8/pP6/8/8/8/4K3 w - a6 0 1"), "b5a6");
    // The rook is pinned: its capture is none.
    let pinned = moves("losers", "4k3/8/8/8/4r3/8/p3R3/4K3 w - - 0 1");
    assert_eq!(pinned, "e2e4");
    let checked = moves("losers", "k3r3/8/8/8/8/8/p7/R3K3 w - - 0 1");
    assert_eq!(checked, "e1d1 e1d2 e1f1 e1f2");
}

#[test]
fn what_cannot_be_honoured_is_said_with_its_line() {
    for (keys, wanted) in [
        ("mustFly = true", "line 2: [made] mustFly = true: this key is not known here"),
        ("maxFile = 9", "line 2: [made] maxFile = 9: not from 1 to 8"),
        ("castling = maybe", "line 2: [made] castling = maybe: neither true nor false"),
        ("\nwallingRule = moat", "line 3: [made] wallingRule = moat: none of duck, arrow"),
        ("king = k\ncommoner = k", "line 3: [made] commoner = k: k is the king already"),
        ("customPiece1 = k:K", "line 2: [made] customPiece1 = k:K: the men are those of chess"),
        ("gating = true", "line 2: [made] gating = true: men enter by drops alone"),
        ("connectN = 3", "line 2: [made] connectN = 3: rows of men do not win"),
        ("mobilityRegionWhiteKing = e1", "line 2: [made] mobilityRegionWhiteKing = e1: men go"),
        ("promotionLimit = q", "line 2: [made] promotionLimit = q: limits are said as"),
        ("castlingWins = x", "line 2: [made] castlingWins = x: sides of castling are said as"),
        ("flagPiece = kq", "line 2: [made] flagPiece = kq: not the letter of one man"),
        ("materialCounting = janggi", "line 2: [made] materialCounting = janggi: none of unwei"),
        (
            "promotionRegionWhite = *3 *4",
            "line 1: [made] a pawn could promote by one step and by two from the same square",
        ),
        ("startFen = 8/8 w", "line 1: [made] bad FEN \"8/8 w\": the board has 8 ranks, not 2"),
        ("king = w", "line 2: [made] king = w: only \"k\" and \"-\" are known"),
        ("stalemateValue = 3", "line 2: [made] stalemateValue = 3: neither win, draw nor loss"),
        ("dropRegionWhite = e9", "line 2: [made] dropRegionWhite = e9: squares, ranks and files"),
        ("castlingKingsideFile = z", "line 2: [made] castlingKingsideFile = z: no file"),
        (
            "blastOnCapture = true",
            "line 2: [made] blastOnCapture = true: the king must be a commoner",
        ),
        ("extinctionPieceCount = x", "line 2: [made] extinctionPieceCount = x: not a number"),
        (
            "extinctionPieceTypes = q\nextinctionPseudoRoyal = true",
            "line 1: [made] extinctionPseudoRoyal is for games with an extinctionValue",
        ),
        (
            "maxRank = 6\ncastlingRank = 7\n\
             startFen = rnbqkbnr/pppppppp/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "line 1: [made] castlingRank is beyond maxRank",
        ),
    ] {
        let text = format!("[made:chess]\n{keys}\n");
        let (catalogue, faults) = Catalogue::shipped().extended(&text);
        assert!(catalogue.get("made").is_none(), "{keys}");
        let error = faults.first().expect(keys).to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn a_comment_may_follow_a_header_and_one_that_is_refused_has_no_keys() {
    let text = "[first:chess]   # a comment\ndoubleStep = false\n\
                [second:chess] ; another\nstalemateValue = loss\n\
                [third:chess] more\nmaxFile = x\n\
                [fourth:chess]\t\nnMoveRule = 7\n";
    let (catalogue, faults) = Catalogue::shipped().extended(text);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("line 5: cannot read \"[third:chess] more"), "{faults:?}");
    let start = |name| catalogue.get(name).expect(name).start();
    refuses(&start("first"), "e2e4");
    let stalemate = "7k/8/6Q1/8/8/8/8/K7 b - - 0 1";
    for (name, winner) in [("first", None), ("second", Some(Side::WHITE)), ("fourth", None)] {
        let position = catalogue.get(name).expect(name).position(stalemate, false);
        let outcome = position.expect("a position").outcome().expect("a stalemate");
        assert_eq!(outcome.winner, winner, "{name}");
    }
    assert!(catalogue.get("third").is_none());
}

#[test]
fn a_commoner_castles_out_of_no_check_its_rook_would_hide_it_from() {
    // Fairy-Stockfish asks with the rook at home.
    refuses(&shipped("atomic", "4k3/8/8/8/8/8/8/RK5r w A - 0 1", true), "b1a1");
    refuses(&shipped("atomic", "4k3/8/8/8/8/8/8/r5KR w H - 0 1", true), "g1h1");
    after(shipped("atomic", "4k3/7r/8/8/8/8/8/RK6 w A - 0 1", true), "b1a1");
    // Behind the duck that ends the turn it may hide.
    let (catalogue, faults) = Catalogue::shipped().extended("[made:atomic]\nwallingRule = duck\n");
    assert!(faults.is_empty(), "{faults:?}");
    let duck = catalogue.get("made").expect("it is there");
    let position = || duck.position("4k3/8/8/8/8/8/8/RK5r w A - 0 1", true).expect("a position");
    refuses(&position(), "b1a1,a1h8");
    after(position(), "b1a1,a1e1");
}

#[test]
fn walls_are_material_to_mate_with() {
    let keys = "castling = false\nstartFen = k*6/**6/8/1N6/8/8/8/4K3 w - - 0 1";
    let start = made(keys);
    assert_eq!(start.claim(), None);
    let mated = after(start, "b5c7").outcome().expect("a mate");
    assert_eq!((mated.winner, mated.reason), (Some(Side::WHITE), Reason::Checkmate));
}

#[test]
fn a_pawn_dropped_where_it_promotes_stands_there_in_a_fen() {
    let (catalogue, faults) =
        Catalogue::shipped().extended("[made:crazyhouse]\npromotionZonePawnDrops = true\n");
    assert!(faults.is_empty(), "{faults:?}");
    let made = catalogue.get("made").expect("it is there");
    let start = made.position("4k3/8/8/8/8/8/8/4K3[P] w - - 0 1", false).expect("a position");
    let fen = after(start, "P@a8").fen();
    assert_eq!(fen, "P3k3/8/8/8/8/8/8/4K3[] b - - 0 1");
    assert_eq!(made.position(&fen, false).expect("a position").fen(), fen);
}

#[test]
fn a_man_that_can_go_back_resets_no_clock() {
    let there_and_back = "g1f3 g8f6 f3g1 f6g8";
    let twice = after(made("nMoveRuleTypes = pn"), there_and_back);
    assert!(twice.fen().ends_with(" 4 3"), "{}", twice.fen());
    let claimed = after(twice, there_and_back).claim().expect("it stood three times");
    assert_eq!(claimed.reason, Reason::Repetition);
}

#[test]
fn a_royal_king_that_is_taken_goes_to_no_hand() {
    let taken = after(shipped("chessgi", "4k3/8/8/8/8/8/4q3/4K3[] b - - 0 1", false), "e2e1");
    assert_eq!(taken.fen(), "4k3/8/8/8/8/8/8/4q3[] w - - 0 2");
}

#[test]
fn a_second_king_on_the_rank_of_castling_ends_the_rights_that_no_fen_could_tell() {
    let fen = "3kbnqr/2k5/8/8/8/8/8/4K3 b h - 0 1";
    assert_eq!(shipped("duck", fen, true).fen(), fen);
    let after = after(shipped("duck", fen, true), "c7c8,c8h3");
    assert_eq!(after.fen(), "2kkbnqr/8/8/8/8/7*/8/4K3 w - - 1 2");
}

#[test]
fn a_last_line_needs_no_end() {
    for (text, wanted) in [
        ("[]", "line 1: cannot read \"[]\""),
        ("\n[a]x", "line 2: cannot read"),
        ("[a]\nking = x", "line 2: [a] king = x: only \"k\""),
    ] {
        let error = Catalogue::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn bad_fens_are_refused_in_words() {
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
        let variant = Catalogue::shipped().get(name).expect("it is shipped");
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
fn random_positions_survive_their_fen() {
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
                let read = variant.position(&fen, false).expect("its own FEN is read");
                assert_eq!((read.fen(), read.key()), (fen, position.key()), "{}", variant.name());
            }
        }
    }
}

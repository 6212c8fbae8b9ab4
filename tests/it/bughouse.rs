//! Bughouse on two boards: games of a reference program, and the rules of turns, clocks and draws.

use crate::support::golden;

use menagerie::rules::{
    BoardId, ByColor, Clocks, Color, Move, MoveList, Outcome, PackedMove, Position, Reason, Role,
    Side, perft,
};
use menagerie::search::{Params, Proof, Searcher, Tree};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use proptest::sample::Index;

const A: Side = Side::WHITE;
const B: Side = Side::BLACK;

fn game(name: &str) -> std::sync::Arc<Variant> {
    Catalogue::shipped().get(name).expect("shipped")
}

fn position(fen: &str) -> Position {
    game("bughouse2").position(fen, false).unwrap_or_else(|error| panic!("{error}"))
}

fn legal(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

/// Plays turns, which must be legal.
fn play(position: &mut Position, turns: &str) {
    for text in turns.split_ascii_whitespace() {
        let plies = position.parse_turn(text);
        let plies = plies.unwrap_or_else(|| panic!("{text} in {}", position.fen()));
        for ply in plies {
            position.play_unchecked(ply);
        }
    }
}

fn clocks(times: [u32; 4]) -> Clocks {
    let [white_a, black_a, white_b, black_b] = times;
    Clocks([ByColor { white: white_a, black: black_a }, ByColor { white: white_b, black: black_b }])
}

const BARE: &str = "4k3/8/8/8/8/8/8/4K3[] w - - 0 1";

#[test]
fn bughouse_games_replay_to_their_end() {
    let rows = golden::rows::<6>(include_str!("../golden/games_bughouse_two_boards.tsv"));
    let mut replayed = 0;
    for [result, reason, who, fen_a, fen_b, moves] in rows {
        let mut position = game("bughouse2").start();
        for text in moves.split_ascii_whitespace() {
            assert_eq!(position.outcome(), None, "before {text}");
            let text = text.replace("A:", "1").replace("B:", "2");
            play(&mut position, &text);
        }
        let outcome = position.outcome().map(|outcome| position.outcome_text(outcome));
        assert_eq!(outcome, Some(format!("{result} {reason}")), "{who}");
        let fen = |board| position.board_position(board).expect("two boards").fen();
        assert_eq!((fen(BoardId::A).as_str(), fen(BoardId::B).as_str()), (fen_a, fen_b));
        replayed += 1;
    }
    assert_eq!(replayed, 20);
}

#[test]
fn bughouse_on_one_board_has_the_rules_of_two() {
    let two = game("bughouse").on_two_boards().expect("a board of bughouse");
    assert_eq!(two.start_fen(), game("bughouse2").start_fen());
    assert_eq!(perft(&two.start(), 2), perft(&game("bughouse2").start(), 2));
    // A player without a move waits, who has lost if there is one board.
    let stalemate = "7k/8/5KQ1/8/8/8/8/8[] b - - 0 1|rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1|b";
    assert!(two.position(stalemate, false).expect("a position").outcome().is_none());
    for name in ["crazyhouse", "bughouse2"] {
        assert!(game(name).on_two_boards().is_none(), "{name}");
    }
}

#[test]
fn bughouse_turn_is_a_move_on_each_board_where_the_team_is_on_turn() {
    let mut position = game("bughouse2").start();
    assert_eq!((position.turn(), position.mid_turn(), legal(&position).len()), (A, false, 20));
    play(&mut position, "1e2e4");
    // The other team has white at B and is on turn at A as well.
    assert_eq!((position.turn(), position.mid_turn(), legal(&position).len()), (B, false, 40));
    play(&mut position, "2d2d4");
    assert_eq!((position.turn(), position.mid_turn(), legal(&position).len()), (B, true, 20));
    assert!(legal(&position).iter().all(|m| m.board() == BoardId::A), "the clocks are unknown");
    play(&mut position, "1e7e5");
    assert_eq!((position.turn(), position.mid_turn(), legal(&position).len()), (A, false, 49));
    assert_eq!(perft(&game("bughouse2").start(), 2), 20 * 2 * 400);
}

#[test]
fn bughouse_any_player_on_turn_may_move_next() {
    let mut position = game("bughouse2").start();
    // White and black at B move before the players at A, then white and black at A.
    play(&mut position, "2e2e4 2e7e5 1d2d4 1d7d5 1c1f4 1c8f5");
    assert_eq!(position.parse_turn("1e2e9"), None);
}

#[test]
fn bughouse_turn_text_has_both_boards() {
    let mut position = game("bughouse2").start();
    let plies = position.parse_turn("(e2e4,pass)").expect("a turn");
    assert_eq!((plies.len(), position.turn_text(&plies).as_str()), (1, "(e2e4,pass)"));
    play(&mut position, "1e2e4");
    let plies = position.parse_turn("(e7e5,d2d4)").expect("a turn");
    assert_eq!(plies.iter().map(|&m| position.move_text(m)).collect::<Vec<_>>()[0], "1e7e5");
    assert_eq!(position.turn_text(&plies), "(e7e5,d2d4)");
    assert_eq!(position.parse_turn("2d2d4,1e7e5").map(|plies| plies.len()), Some(2));
    // A piece that white at B captures can be dropped at A in the same turn, although A is written first.
    let mut takes = position.clone();
    play(&mut takes, "2d2d4 2e7e5 1g8f6 1d2d3");
    let turn = takes.parse_turn("(P@e3,d4e5)").expect("the pawn comes from B");
    assert_eq!(takes.turn_text(&turn), "(P@e3,d4e5)");
    assert_eq!(turn[0].board(), BoardId::B);
    assert!(position.parse_turn("1O-O").is_none());
    for text in ["(e2e4)", "(,)", "(pass,pass)", "e7e5", "3e7e5", "(e7e5,e7e5)"] {
        assert_eq!(position.parse_turn(text), None, "{text}");
    }
}

#[test]
fn bughouse_captured_pieces_go_to_the_partner() {
    let mut position = position(&format!("4k3/8/8/3q4/4P3/8/8/4K3[] w - - 0 1|{BARE}"));
    play(&mut position, "1e4d5");
    assert!(position.fen().ends_with("4k3/8/8/8/8/8/8/4K3[q] w - - 0 1"), "{}", position.fen());
    // A promoted piece becomes a pawn; en passant captures a pawn.
    let mut position = self::position(&format!("4k3/8/8/3q~4/4P3/8/8/4K3[] w - - 0 1|{BARE}"));
    play(&mut position, "1e4d5");
    assert!(position.fen().contains("[p]"), "{}", position.fen());
    let mut position = self::position(&format!("4k3/8/8/3pP3/8/8/8/4K3[] w - d6 0 1|{BARE}"));
    play(&mut position, "1e5d6");
    assert!(position.fen().contains("[p]"), "{}", position.fen());
}

#[test]
fn bughouse_player_with_more_time_may_sit() {
    let mut start = game("bughouse2").start();
    for (times, sits, waits) in [
        ([0; 4], false, true),
        ([60_000, 60_000, 60_500, 60_000], false, true),
        ([60_000, 60_000, 50_000, 60_000], true, false),
        ([50_000, 60_000, 60_000, 60_000], false, false),
        // Only the two players with white are on turn.
        ([60_000, 90_000, 60_000, 10_000], false, true),
    ] {
        start.set_clocks(clocks(times));
        assert_eq!(legal(&start).contains(&Move::Pass), sits, "{times:?}");
        assert_eq!(start.can_pass(), waits, "{times:?}");
    }
    start.set_clocks(clocks([60_000, 60_000, 50_000, 60_000]));
    play(&mut start, "pass");
    assert_eq!((start.turn(), start.can_pass()), (B, false));
    assert!(!legal(&start).contains(&Move::Pass));
    play(&mut start, "2e2e4");
    // Now the team is on turn on both boards, so that only its clocks run.
    assert_eq!((start.turn(), legal(&start).len()), (A, 40));
    assert_eq!(start.turn_text(&[Move::Pass]), "(pass,pass)");
}

#[test]
fn bughouse_clocks_run_during_search() {
    let mut position = game("bughouse2").start();
    position.set_clocks(clocks([64_000, 64_000, 50_000, 64_000]));
    play(&mut position, "1e2e4");
    // One second for the player who moved and for the opponent on turn at the other board.
    assert_eq!(position.clocks(), Some(clocks([63_000, 64_000, 49_000, 64_000])));
}

#[test]
fn bughouse_sitting_requires_that_the_opponents_can_move() {
    // Black at A is stalemated and waits for a piece.
    let mut position =
        position(&format!("k7/2Q5/8/8/8/8/8/4K3[] b - - 0 1|{BARE}|b 90000 90000 90000 90000"));
    assert_eq!(position.turn(), B);
    play(&mut position, "2e1e2");
    assert_eq!((position.turn(), position.mid_turn()), (A, false));
    position.set_clocks(clocks([90_000, 10, 10, 90_000]));
    assert!(!legal(&position).contains(&Move::Pass));
    play(&mut position, "2e8e7");
    assert_eq!(position.turn(), B);
}

#[test]
fn bughouse_player_without_a_move_waits_for_a_piece() {
    let stuck = "k7/2Q5/8/8/8/8/8/4K3[] b - - 0 1";
    let mut position = position(&format!("{stuck}|4k3/8/8/8/8/8/3p4/4K3[] w - - 0 1|b"));
    assert_eq!(position.turn(), B);
    assert!(legal(&position).iter().all(|m| m.board() == BoardId::B));
    // White at B captures a black pawn, which black at A may drop.
    play(&mut position, "2e1d2");
    assert_eq!((position.turn(), position.mid_turn()), (B, true));
    assert!(legal(&position).iter().all(|m| matches!(m, Move::Drop { role: Role::Pawn, .. })));
    // If both boards are stuck, no one can ever move.
    let both = self::position(&format!("{stuck}|{stuck}"));
    assert_eq!(both.outcome(), Some(Outcome::draw(Reason::Stalemate)));
}

#[test]
fn bughouse_mate_on_either_board_ends_the_game() {
    let mate = "k7/1Q6/1K6/8/8/8/8/8[] b - - 0 1";
    for (fen, winner) in [(format!("{mate}|{BARE}"), A), (format!("{BARE}|{mate}"), B)] {
        let position = position(&fen);
        assert_eq!(position.outcome(), Some(Outcome::win(winner, Reason::Checkmate)), "{fen}");
        assert_eq!(legal(&position), []);
    }
}

#[test]
fn bughouse_drawn_board_is_frozen() {
    let knights = "1n2k3/8/8/8/8/8/8/1N2K3[] w - - 0 1";
    let mut position = position(&format!("{knights}|{BARE}"));
    for _ in 0..2 {
        assert_eq!(position.outcome(), None);
        play(&mut position, "1b1c3 1b8c6 1c3b1 1c6b8");
    }
    assert_eq!((position.outcome(), position.claimable_outcome()), (None, None));
    let drawn = position.board().team;
    assert!(drawn.drawn && !drawn.may_move);
    assert!(position.fen().ends_with("|A=") || position.fen().ends_with(" A="));
    for turn in [A, B, A, B] {
        let _ = position.set_side_to_move(turn);
        assert!(legal(&position).iter().all(|m| m.board() == BoardId::B));
        let text = position.move_text(legal(&position)[0]);
        play(&mut position, &text);
    }
    // Draws need not be claimed: human players may play on.
    let mut played_on = position.clone();
    play(&mut played_on, "1b1c3");
    assert!(!played_on.board().team.drawn);
    // Bare kings are not a draw, fifty moves of each side are.
    let quiet = "4k3/8/8/8/8/8/8/4K3[] w - - 100 90";
    let both = self::position(&format!("{quiet}|{quiet}"));
    assert_eq!(both.outcome(), Some(Outcome::draw(Reason::FiftyMoves)));
    assert_eq!(self::position(&format!("{BARE}|{BARE}")).outcome(), None);
}

#[test]
fn bughouse_fixed_order_is_that_of_the_paper() {
    let fixed = game("bughouse2fixed");
    let mut position = fixed.start();
    for (turn, text) in
        [(A, "1e2e4"), (B, "2e2e4"), (A, "2e7e5"), (B, "1e7e5"), (A, "1d2d4"), (B, "2d2d4")]
    {
        assert_eq!((position.turn(), legal(&position).contains(&Move::Pass)), (turn, false));
        // Only the team in order can be the one to move, as the option Team asks for.
        for team in [A, B] {
            assert_eq!(position.clone().set_side_to_move(team), team == turn);
        }
        let second_board = text.starts_with('2');
        assert!(legal(&position).iter().all(|m| (m.board() == BoardId::B) == second_board));
        let again = fixed.position(&position.fen(), false).expect("its own FEN");
        assert_eq!((again.fen(), again.key()), (position.fen(), position.key()));
        play(&mut position, text);
        assert!(!position.mid_turn());
    }
    assert_eq!(position.parse_turn("1e5d4"), None, "black at B is to move");
    // A frozen board is skipped.
    let frozen = format!("4k3/8/8/8/8/8/8/4K3[] w - - 100 90|{BARE}");
    let mut position = fixed.position(&frozen, false).expect("a position");
    play(&mut position, "2e1e2 2e8e7 2e2e1 2e7e8");
    assert_eq!(perft(&fixed.start(), 3), 20 * 20 * 20);
}

#[test]
fn bughouse_blockable_mate_is_not_final_with_the_option() {
    let catalogue = "[patient:bughouse2]\nmateBlockable = true\n";
    let (catalogue, errors) = Catalogue::shipped().extended(catalogue);
    assert_eq!(errors, []);
    let patient = catalogue.get("patient").expect("defined");
    // The rook gives check along the rank. A piece on b8 to g8 would block it.
    let check = "k6R/pp6/8/8/8/8/8/4K3[] b - - 0 1";
    let taking = "4k3/8/8/8/8/8/3p4/4K3[] w - - 0 1";
    let fen = format!("{check}|{taking}");
    assert_eq!(position(&fen).outcome(), Some(Outcome::win(A, Reason::Checkmate)));
    let mut stuck = patient.position(&fen, false).expect("a position");
    assert_eq!((stuck.outcome(), stuck.turn()), (None, B));
    assert!(legal(&stuck).iter().all(|m| m.board() == BoardId::B));
    play(&mut stuck, "2e1d2");
    assert!(!legal(&stuck).is_empty() && legal(&stuck).len() < 8, "only blocking drops");
    // If the partner is not on turn, the mate is not final as long as the opponents must move there.
    let waiting = format!("{check}|4k3/8/8/8/8/8/3p4/4K3[] b - - 0 1");
    for (times, over) in [("0 0 0 0", false), ("9 50000 9 9000", false), ("9 9000 9 50000", true)] {
        let fen = format!("{waiting}|{times}");
        let position = patient.position(&fen, false).expect("a position");
        assert_eq!(position.outcome().is_some(), over, "{fen}");
    }
    // The check of a knight or of an adjacent piece cannot be blocked.
    for check in ["k7/pp6/1N6/8/8/8/8/4K3[] b - - 0 1", "k7/1Q6/1K6/8/8/8/8/8[] b - - 0 1"] {
        let fen = format!("{check}|{taking}");
        let mated = patient.position(&fen, false).expect("a position");
        // A pawn can capture the knight.
        assert_eq!(mated.outcome().is_some(), check.contains('Q'), "{fen}");
    }
}

/// Searches a position. Returns the proof of the best move, and whether the root is proven.
fn proof(fen: &str) -> (Proof, bool) {
    let position = position(fen);
    let encoding = menagerie::encoding::Encoding::of(&position);
    let mut evaluator = menagerie::nn::Uniform::new(encoding.shape());
    let mut tree = Tree::new(position, Params::without_network(), 1 << 24);
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
    for _ in 0..2000 {
        searcher.step(8).expect("Uniform never fails");
    }
    (tree.root_moves()[0].proof, tree.is_proven())
}

#[test]
fn bughouse_search_proves_no_loss_if_the_side_could_wait() {
    // Whatever white at A plays, the queen mates. White at B is on turn, too.
    let squeezed = "8/8/8/8/8/2k5/2q4P/K7[] w - - 0 1";
    for (times, proven) in [
        // The moves lose, but the team need not play them.
        ("0 0 0 0", (Proof::Lost(Some(2)), false)),
        ("5000 5000 90000 5000", (Proof::Lost(Some(2)), true)),
        // The team sits: the opponents must move first, then the partner has a move.
        ("90000 5000 5000 5000", (Proof::Open, false)),
    ] {
        assert_eq!(proof(&format!("{squeezed}|{BARE}|{times}")), proven, "{times}");
    }
    // A mate in one is proven with any clocks.
    let mates = "7k/8/6KQ/8/8/8/8/8[] w - - 0 1";
    for times in ["0 0 0 0", "9000 9000 90000 9000"] {
        assert_eq!(proof(&format!("{mates}|{BARE}|{times}")), (Proof::Won(1), true), "{times}");
    }
}

#[test]
fn bughouse_fen_errors_quote_the_fen() {
    for fen in [
        BARE.to_owned(),
        format!("{BARE}|{BARE}|w|b"),
        format!("{BARE}|{BARE}|x"),
        format!("{BARE}|{BARE}|w 1 2 3"),
        format!("{BARE}|{BARE}|1 2 3 -4"),
        format!("{BARE}|4k3/8/8/8/8/8/8/8[] w - - 0 1"),
        format!("{BARE}|nonsense"),
        "|".to_owned(),
    ] {
        let error = game("bughouse2").position(&fen, false).expect_err(&fen).to_string();
        assert!(error.contains(&fen), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bughouse_boards_are_one_board_games_and_keep_all_pieces(
        choices in prop::collection::vec(any::<Index>(), 0..200),
        times in prop::array::uniform4(0_u32..100_000),
    ) {
        let one_board = game("bughouse");
        let mut position = game("bughouse2").start();
        position.set_clocks(clocks(times));
        let mut passed = false;
        for choice in choices {
            let moves = legal(&position);
            let mut pieces = 0;
            for id in BoardId::ALL {
                let board = position.board_position(id).expect("two boards");
                let fen = board.fen();
                let alone = one_board.position(&fen, false).expect("its own FEN");
                let view = position.view();
                let team = view.on(id).team;
                let here = moves.iter().filter(|m| **m != Move::Pass && m.board() == id);
                let here: Vec<_> = here.map(|m| m.on(BoardId::A)).collect();
                prop_assert_eq!(here.is_empty(), !team.may_move);
                if team.may_move {
                    prop_assert_eq!(&here, &legal(&alone));
                }
                let board = board.board();
                let hands = board.hands.expect("drops");
                let held = |color: Color| Role::ALL.iter().map(move |&role| usize::from(hands[color][role]));
                pieces += board.pieces.occupied().count();
                pieces += Color::ALL.into_iter().flat_map(held).sum::<usize>();
            }
            prop_assert_eq!(pieces, 64);
            if moves.is_empty() {
                break;
            }
            let m = *choice.get(&moves);
            prop_assert!(!(passed && m == Move::Pass), "both teams sat in succession");
            passed = m == Move::Pass;
            prop_assert_eq!(PackedMove(m.pack().0).unpack(), Some(m));
            position.play_unchecked(m);
        }
    }
}

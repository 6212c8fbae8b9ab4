//! Algebraic notation: each turn of each variant has its own text, which is read back.

use std::collections::HashSet;

use menagerie::rules::san::{self, SanError};
use menagerie::rules::{Move, MoveList, Position};
use menagerie::variant::Catalogue;
use proptest::prelude::*;

fn position(variant: &str, fen: &str) -> Position {
    let variant = Catalogue::shipped().get(variant).expect("a shipped variant");
    let fen = if fen.is_empty() { variant.start_fen() } else { fen };
    variant.position(fen, false).expect("a position")
}

/// All legal turns.
fn turns(position: &Position) -> Vec<Vec<Move>> {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let mut turns = Vec::new();
    for m in legal {
        let mut after = position.clone();
        after.play_unchecked(m);
        if after.mid_turn() {
            turns.extend(self::turns(&after).into_iter().map(|rest| [vec![m], rest].concat()));
        } else {
            turns.push(vec![m]);
        }
    }
    turns
}

/// Returns the turn that `text` names, in the notation of UCI.
fn read(position: &Position, text: &str) -> String {
    match san::read(position, text) {
        Ok(turn) => position.turn_text(&turn),
        Err(error) => error.to_string(),
    }
}

const CASTLING: &str = "r3k2r/p6p/8/8/8/8/P6P/R3K2R w KQkq - 0 1";
const PASSING: &str = "4k3/8/8/2PpP3/8/8/8/4K3 w - d6 0 1";
const PROMOTION: &str = "3n1k2/4P3/8/8/8/8/8/4K3 w - - 0 1";
const KNIGHTS: &str = "4k3/8/8/N7/8/8/8/N3K1N1 w - - 0 1";
const QUEENS: &str = "4k3/8/8/Q1Q5/8/Q7/8/4K3 w - - 0 1";
const HANDS: &str = "4k3/8/8/8/8/8/8/4K3[NPQ] w - - 0 1";

#[test]
fn san_texts_of_turns() {
    for (variant, fen, turn, text) in [
        ("chess", "", "g1f3", "Nf3"),
        ("chess", "", "e2e4", "e4"),
        ("chess", CASTLING, "e1g1", "O-O"),
        ("chess", CASTLING, "e1c1", "O-O-O"),
        ("chess", CASTLING, "h1g1", "Rg1"),
        ("chess", PASSING, "e5d6", "exd6"),
        ("chess", PASSING, "e5e6", "e6"),
        ("chess", PROMOTION, "e7d8n", "exd8=N"),
        ("chess", PROMOTION, "e7e8q", "e8=Q"),
        ("chess", KNIGHTS, "a1b3", "N1b3"),
        ("chess", KNIGHTS, "g1e2", "Ne2"),
        ("chess", QUEENS, "c5b4", "Qcb4"),
        ("chess", QUEENS, "a5a4", "Q5a4"),
        ("chess", QUEENS, "a5c3", "Qa5c3"),
        ("crazyhouse", HANDS, "N@f3", "N@f3"),
        ("crazyhouse", HANDS, "P@e4", "@e4"),
        ("duck", "", "g1f3,f3d5", "Nf3,d5"),
        ("duck", "", "e2e4,e4e2", "e4,e2"),
        ("antichess", "8/4P3/8/8/8/8/8/k7 w - - 0 1", "e7e8k", "e8=K"),
        ("tictacmo", "", "c2", "c2"),
    ] {
        let position = position(variant, fen);
        let plies = position.parse_turn(turn).expect("a turn");
        assert_eq!(san::write(&position, &plies), text, "{variant} {turn}");
        assert_eq!(read(&position, text), turn, "{variant} {text}");
        assert_eq!(read(&position, turn), turn, "{variant} {turn} in UCI");
    }
}

#[test]
fn san_accepts_variants_of_the_notation() {
    for (variant, fen, text, turn) in [
        ("chess", CASTLING, "0-0", "e1g1"),
        ("chess", CASTLING, "0-0-0+", "e1c1"),
        ("chess", CASTLING, "O-O!?", "e1g1"),
        ("chess", CASTLING, "e1h1", "e1g1"),
        ("chess", "", "Nf3+", "g1f3"),
        ("chess", "", "Ng1f3#", "g1f3"),
        ("chess", "", "Ngf3!!", "g1f3"),
        ("chess", PASSING, "ed6", "e5d6"),
        ("crazyhouse", HANDS, "P@e4+", "P@e4"),
        ("crazyhouse", HANDS, "Q@a7#", "Q@a7"),
        ("duck", "", "Nf3,f3d5", "g1f3,f3d5"),
        ("duck", "", "g1f3,f3d5", "g1f3,f3d5"),
        ("duck", "", "Nf3,d5+", "g1f3,f3d5"),
    ] {
        assert_eq!(read(&position(variant, fen), text), turn, "{variant} {text}");
    }
}

#[test]
fn san_errors_quote_text_and_position() {
    for (variant, fen, text, many) in [
        ("chess", "", "Nf4", false),
        ("chess", "", "Nxf3", false),
        ("chess", "", "", false),
        ("chess", "", "--", false),
        ("chess", "", "Nf3,d5", false),
        ("chess", "", "\u{1f986},d5", false),
        ("chess", CASTLING, "Kg1", false),
        ("chess", PASSING, "d6", false),
        ("chess", PASSING, "xd6", false),
        ("chess", PROMOTION, "e8", false),
        ("chess", KNIGHTS, "Nb3", true),
        ("chess", QUEENS, "Qb4", true),
        ("duck", "", "Nf3", false),
        ("duck", "", "Nf3,f3", false),
        ("duck", "", "Nf3,d5,d6", false),
        ("tictacmo", "", "f2", false),
    ] {
        let position = position(variant, fen);
        let error = san::read(&position, text).expect_err(text);
        assert_eq!(matches!(error, SanError::Ambiguous { .. }), many, "{error}");
        assert!(error.to_string().contains(&format!("\"{text}\"")), "{error}");
        assert!(error.to_string().contains(&position.fen()), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn san_of_every_turn_is_unique(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 60),
        chess960 in any::<bool>(),
    ) {
        for variant in Catalogue::shipped().iter() {
            let mut position = variant.position(variant.start_fen(), chess960).expect("a start");
            for (nth, choice) in choices.iter().enumerate() {
                let turns = turns(&position);
                // Duck chess has many turns, which differ by the duck alone.
                if nth % if turns.len() > 400 { 10 } else { 2 } == 0 {
                    let mut texts = HashSet::new();
                    for turn in &turns {
                        let text = san::write(&position, turn);
                        let context = format!("{} {text} in {}", variant.name(), position.fen());
                        prop_assert_eq!(san::read(&position, &text), Ok(turn.clone()), "{}", context);
                        prop_assert!(texts.insert(text), "{} twice", context);
                    }
                }
                if turns.is_empty() {
                    break;
                }
                choice.get(&turns).iter().for_each(|&m| position.play_unchecked(m));
            }
        }
    }

    #[test]
    fn san_reader_survives_random_text(text in ".{0,12}", uci in "[a-hKQRBNPO0-9x=@,+#-]{0,10}") {
        for variant in ["chess", "crazyhouse", "duck", "3x3full", "tictacmo"] {
            let position = position(variant, "");
            for text in [&text, &uci] {
                if let Ok(turn) = san::read(&position, text) {
                    prop_assert!(turns(&position).contains(&turn));
                }
            }
        }
    }
}

//! Properties of the rules, in random games of every variant of the catalogue and with random text.

use crate::support::laws;

use std::sync::Arc;

use crate::support::laws::{check, legal_moves};
use menagerie::rules::{Move, PackedMove, Position};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn any_variant() -> impl Strategy<Value = Arc<Variant>> {
    select(Catalogue::shipped().iter().cloned().collect::<Vec<_>>())
}

/// Plays a move for each of `choices` until the game ends. Returns all positions.
fn play(start: Position, choices: &[Index]) -> Vec<Position> {
    let mut choices = choices.iter();
    laws::play(start, |moves| choices.next().map(|choice| choice.index(moves)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contract_holds_in_random_games(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..150),
    ) {
        for position in play(variant.start(), &choices) {
            check(&variant, &position, false);
        }
    }

    #[test]
    fn contract_holds_in_random_games_of_chess960(
        pieces in Just(b"RNBQKBNR".to_vec()).prop_shuffle(),
        choices in prop::collection::vec(any::<Index>(), 0..80),
    ) {
        let pieces = String::from_utf8(pieces).expect("ASCII");
        // There are castling rights if the king is between the rooks.
        let files_of = |piece| pieces.match_indices(piece).map(|(at, _)| at).collect::<Vec<_>>();
        let king = files_of('K')[0];
        let rooks = files_of('R');
        let file = |at: usize| char::from(b'A' + at as u8);
        let rights = if rooks[0] < king && king < rooks[1] {
            let white: String = [file(rooks[1]), file(rooks[0])].into_iter().collect();
            let black = white.to_lowercase();
            white + &black
        } else {
            "-".to_owned()
        };
        let black_pieces = pieces.to_lowercase();
        let fen = format!("{black_pieces}/pppppppp/8/8/8/8/PPPPPPPP/{pieces} w {rights} - 0 1");
        for name in ["chess", "crazyhouse", "atomic", "3check"] {
            let variant = Catalogue::shipped().get(name).expect("a shipped variant");
            let start = variant.position(&fen, true).unwrap_or_else(|error| panic!("{error}"));
            for position in play(start, &choices) {
                check(&variant, &position, true);
            }
        }
    }

    #[test]
    fn contract_clone_from_equals_clone(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..60),
    ) {
        let positions = play(variant.start(), &choices);
        let mut reused = variant.start();
        for position in positions.iter().rev() {
            reused.clone_from(position);
            prop_assert_eq!(reused.fen(), position.fen());
            prop_assert_eq!(reused.claimable_outcome(), position.claimable_outcome());
            prop_assert_eq!(legal_moves(&reused), legal_moves(position));
        }
    }

    #[test]
    fn contract_fen_errors_quote_any_text(
        variant in any_variant(),
        text in "\\PC{0,80}",
        chess960 in any::<bool>(),
    ) {
        match variant.position(&text, chess960) {
            Ok(position) => check(&variant, &position, chess960),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
    }

    #[test]
    fn contract_mutated_fens_are_playable_or_errors(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..80),
        changes in prop::collection::vec((any::<Index>(), select(&b"pnbrqkPNBRQK12345678/ wb-KQkqahAH[]~+0369"[..])), 1..6),
        more in prop::collection::vec(any::<Index>(), 0..30),
        chess960 in any::<bool>(),
    ) {
        let positions = play(variant.start(), &choices);
        let mut text = positions[positions.len() - 1].fen().into_bytes();
        for (at, letter) in changes {
            let at = at.index(text.len());
            text[at] = letter;
        }
        let text = String::from_utf8(text).expect("ASCII");
        if let Ok(position) = variant.position(&text, chess960) {
            for position in play(position, &more) {
                let legal = legal_moves(&position);
                let _ = (position.result(), position.fen(), position.diagram());
                for m in legal {
                    let _ = position.move_text(m);
                }
            }
        }
    }

    #[test]
    fn contract_any_text_is_a_turn_or_none(variant in any_variant(), text in "\\PC{0,12}") {
        let position = variant.start();
        if let Some(plies) = position.parse_turn(&text) {
            prop_assert_eq!(position.turn_text(&plies), text);
        }
    }

    #[test]
    fn contract_any_text_is_a_catalogue_or_an_error(text in "(\\[[a-z:]{0,8}\\]?\n|[a-zA-Z]{1,10} ?= ?\\PC{0,10}\n|\\PC{0,20}\n){0,12}") {
        if let Err(error) = Catalogue::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn contract_illegal_moves_are_not_played() {
    let variant = Catalogue::shipped().get("chess").expect("chess is shipped");
    let mut position = variant.start();
    let before = position.fen();
    for bits in 0..=u16::MAX {
        let Some(m) = PackedMove(bits).unpack() else { continue };
        if !legal_moves(&position).contains(&m) {
            assert!(!position.play(m));
        }
    }
    assert_eq!(position.fen(), before);
    let square = |name: &str| name.parse().expect("a square");
    assert!(position.play(Move::step(square("e2"), square("e4"), None)));
}

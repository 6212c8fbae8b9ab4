//! The contract of the rules, over random play in every game of the catalogue and over random
//! text.

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

/// Plays a move for each of `choices` while there are any; gives every position on the way.
fn play(start: Position, choices: &[Index]) -> Vec<Position> {
    let mut choices = choices.iter();
    laws::play(start, |moves| choices.next().map(|choice| choice.index(moves)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_play_keeps_the_contract(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..150),
    ) {
        let way = play(variant.start(), &choices);
        way.iter().for_each(|position| check(&variant, position, false));
    }

    #[test]
    fn random_play_from_any_start_of_chess960_keeps_the_contract(
        men in Just(b"RNBQKBNR".to_vec()).prop_shuffle(),
        choices in prop::collection::vec(any::<Index>(), 0..80),
    ) {
        let men = String::from_utf8(men).expect("ASCII");
        // Rights where the king stands between the rooks, as the rules have it.
        let at = |man| men.match_indices(man).map(|(at, _)| at).collect::<Vec<_>>();
        let (king, rooks) = (at('K')[0], at('R'));
        let file = |at: usize| char::from(b'A' + at as u8);
        let rights: String = match rooks[0] < king && king < rooks[1] {
            true => [file(rooks[1]), file(rooks[0])].into_iter().collect(),
            false => String::new(),
        };
        let rights = if rights.is_empty() { "-".to_owned() } else { rights.clone() + &rights.to_lowercase() };
        let fen = format!("{}/pppppppp/8/8/8/8/PPPPPPPP/{men} w {rights} - 0 1", men.to_lowercase());
        for name in ["chess", "crazyhouse", "atomic", "3check"] {
            let variant = Catalogue::shipped().get(name).expect("a shipped variant");
            let start = variant.position(&fen, true).unwrap_or_else(|error| panic!("{error}"));
            play(start, &choices).iter().for_each(|position| check(&variant, position, true));
        }
    }

    #[test]
    fn a_reused_copy_is_a_copy(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..60),
    ) {
        let way = play(variant.start(), &choices);
        let mut reused = variant.start();
        for position in way.iter().rev() {
            reused.clone_from(position);
            prop_assert_eq!(reused.fen(), position.fen());
            prop_assert_eq!(reused.claim(), position.claim());
            prop_assert_eq!(legal_moves(&reused), legal_moves(position));
        }
    }

    #[test]
    fn any_text_is_a_position_or_an_error_that_quotes_it(
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
    fn a_changed_fen_is_a_position_that_can_be_played_or_an_error(
        variant in any_variant(),
        choices in prop::collection::vec(any::<Index>(), 0..80),
        changes in prop::collection::vec((any::<Index>(), select(&b"pnbrqkPNBRQK12345678/ wb-KQkqahAH[]~+0369"[..])), 1..6),
        more in prop::collection::vec(any::<Index>(), 0..30),
        chess960 in any::<bool>(),
    ) {
        let way = play(variant.start(), &choices);
        let mut text = way[way.len() - 1].fen().into_bytes();
        for (at, letter) in changes {
            let at = at.index(text.len());
            text[at] = letter;
        }
        let text = String::from_utf8(text).expect("ASCII");
        if let Ok(position) = variant.position(&text, chess960) {
            for position in play(position, &more) {
                let legal = legal_moves(&position);
                let _ = (position.result(), position.fen(), position.diagram());
                legal.iter().for_each(|&m| _ = position.move_text(m));
            }
        }
    }

    #[test]
    fn any_text_is_a_turn_or_none(variant in any_variant(), text in "\\PC{0,12}") {
        let position = variant.start();
        if let Some(plies) = position.parse_turn(&text) {
            prop_assert_eq!(position.turn_text(&plies), text);
        }
    }

    #[test]
    fn any_text_is_a_catalogue_or_an_error(text in "(\\[[a-z:]{0,8}\\]?\n|[a-zA-Z]{1,10} ?= ?\\PC{0,10}\n|\\PC{0,20}\n){0,12}") {
        if let Err(error) = Catalogue::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn moves_that_are_not_legal_are_not_played() {
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
    assert!(position.play(Move::Step {
        from: "e2".parse().expect("a square"),
        to: "e4".parse().expect("a square"),
        promotion: None
    }));
}

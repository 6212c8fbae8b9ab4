//! Errors of the arena's custom players.

use bug0::players::{self, MAX_DEPTH_PLIES};
use menagerie::variant::Catalogue;
use trainer::arena::spec::{PlayerKind, PlayerSpec};

fn error(variant: &str, spec: &PlayerSpec) -> String {
    let variant = Catalogue::shipped().require(variant).expect("a variant");
    match players::create(&variant, spec) {
        Ok(_) => panic!("created {spec}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn players_report_invalid_specifications() {
    let deepest = players::minimax(MAX_DEPTH_PLIES);
    assert_eq!(error("tictacmo", &deepest), "minimax is for 2 players, tictacmo has 3");
    let too_deep = players::minimax(MAX_DEPTH_PLIES + 1);
    assert_eq!(error("chess", &too_deep), "minimax depth 33 is above the maximum 32");
    let missing = players::regression("no/such/file.regression".into());
    assert!(error("bughouse2fixed", &missing).starts_with("no/such/file.regression: "));
    let neither = PlayerSpec::new(PlayerKind::Custom);
    assert_eq!(error("chess", &neither), "unknown player \"custom\"");
    let limited = PlayerSpec { visits: Some(9), ..players::minimax(1) };
    assert!(error("chess", &limited).starts_with("unknown player \"custom:visits=9,depth=1"));
}

//! The list of variants for the page.

use menagerie::engine::ships_network;
use menagerie::rules::Role;
use menagerie::rules::rbc::Truth;
use menagerie::variant::{Catalogue, Variant};
use serde::Serialize;

/// The name of reconnaissance blind chess. It is not in the catalogue, since its players see no position.
pub(crate) const HIDDEN_VARIANT: &str = "rbc";

/// The titles of variants whose names do not read well.
const TITLES: [(&str, &str); 36] = [
    ("chess", "Chess"),
    ("crazyhouse", "Crazyhouse"),
    ("nocheckatomic", "Atomic without checks"),
    ("atomic", "Atomic"),
    ("atomar", "Atomar"),
    ("giveaway", "Giveaway"),
    ("antichess", "Antichess"),
    ("suicide", "Suicide"),
    ("blindboard", "Blind chess, seen"),
    ("horde", "Horde"),
    ("kingofthehill", "King of the Hill"),
    ("racingkings", "Racing Kings"),
    ("3check", "Three-check"),
    ("5check", "Five-check"),
    ("3x3", "3x3 chess"),
    ("3x3full", "3x3 chess, all pieces"),
    ("gardner", "Gardner minichess"),
    ("losalamos", "Los Alamos"),
    ("duck", "Duck chess"),
    ("bughouse", "Bughouse, one board"),
    ("bughouse2", "Bughouse"),
    ("bughouse2fixed", "Bughouse, fixed order"),
    ("koedem", "Koedem, one board"),
    ("nocastle", "No castling"),
    ("pocketknight", "Pocket Knight"),
    ("placement", "Placement"),
    ("armageddon", "Armageddon"),
    ("threekings", "Three Kings"),
    ("raazuvaa", "Raazuvaa"),
    ("misere", "Misère"),
    ("loop", "Loop"),
    ("chessgi", "Chessgi"),
    ("tictactoe", "Tic-tac-toe"),
    ("connect4", "Connect Four"),
    ("tictacmo", "Tic-Tac-Mo"),
    ("connect3", "Connect 3x3"),
];

/// What the page needs to know of a variant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct VariantInfo {
    name: String,
    title: String,
    files: usize,
    ranks: usize,
    sides: usize,
    boards: usize,
    /// The letters of the pieces.
    roles: String,
    drops: String,
    promotions: String,
    /// Whether turns claim cells.
    places: bool,
    /// Whether turns place walls.
    walls: bool,
    /// The start.
    fen: String,
    /// Whether it is played by the `rbc` requests.
    hidden: bool,
    /// Whether a network is shipped for it.
    network: bool,
}

/// Returns the variants of a catalogue, and RBC.
pub(crate) fn variant_list(catalogue: &Catalogue) -> Vec<VariantInfo> {
    let mut list: Vec<_> = catalogue.iter().map(|variant| VariantInfo::new(variant)).collect();
    list.push(VariantInfo::hidden());
    list
}

impl VariantInfo {
    fn new(variant: &Variant) -> VariantInfo {
        let game_spec = variant.start().game_spec();
        VariantInfo {
            name: variant.name().to_owned(),
            title: title(variant.name()),
            files: game_spec.files,
            ranks: game_spec.ranks,
            sides: game_spec.sides,
            boards: if game_spec.two_boards { 2 } else { 1 },
            roles: letters(&game_spec.roles),
            drops: letters(&game_spec.drops),
            promotions: letters(&game_spec.promotions),
            places: game_spec.places,
            walls: game_spec.walls,
            fen: variant.start().fen(),
            hidden: false,
            network: ships_network(variant),
        }
    }

    fn hidden() -> VariantInfo {
        VariantInfo {
            name: HIDDEN_VARIANT.to_owned(),
            title: "Reconnaissance blind chess".to_owned(),
            files: 8,
            ranks: 8,
            sides: 2,
            boards: 1,
            roles: letters(&Role::ALL),
            drops: String::new(),
            promotions: "qrbn".to_owned(),
            places: false,
            walls: false,
            fen: Truth::default().fen(),
            hidden: true,
            network: true,
        }
    }
}

fn letters(roles: &[Role]) -> String {
    roles.iter().map(|role| role.char()).collect()
}

/// Returns the title of a variant: its name with a capital if it has no other.
fn title(name: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(known, _)| *known == name) {
        return (*title).to_owned();
    }
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

//! What is said of a game that GUIs may not know, in either handler, as Fairy-Stockfish says it.

use crate::variant::{Catalogue, Variant};

/// XBoard's name, the catalogue's, and whether the men may stand as in Chess960.
const RENAMED: [(&str, &str, bool); 2] =
    [("normal", "chess", false), ("fischerandom", "chess", true)];

/// Games that XBoard knows by the catalogue's name: they are not announced.
const KNOWN: [&str; 9] = [
    "crazyhouse",
    "atomic",
    "3check",
    "duck",
    "bughouse",
    "nocastle",
    "losers",
    "giveaway",
    "suicide",
];

/// The measures of a game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct VariantInfo<'a> {
    name: &'a str,
    files: usize,
    ranks: usize,
    /// How many kinds of men a hand has room for.
    pocket: usize,
    template: &'a str,
    start: &'a str,
}

impl<'a> VariantInfo<'a> {
    /// What is to be said of a game; nothing if XBoard knows it by a name of its own.
    pub(super) fn of(variant: &'a Variant) -> Option<VariantInfo<'a>> {
        let name = variant.name();
        if KNOWN.contains(&name) || RENAMED.iter().any(|&(_, renamed, _)| renamed == name) {
            return None;
        }
        let game_spec = variant.start().game_spec();
        let look = variant.look();
        Some(VariantInfo {
            name,
            files: game_spec.files,
            ranks: game_spec.ranks,
            pocket: match look.pocket as usize {
                _ if game_spec.drops.is_empty() => 0,
                0 => game_spec.roles.len(),
                pocket => pocket,
            },
            template: &look.template,
            start: variant.start_fen(),
        })
    }

    /// In one line, for GUIs that speak UCI.
    pub(super) fn uci(&self) -> String {
        let VariantInfo { name, files, ranks, pocket, template, start } = self;
        let size = format!("files {files} ranks {ranks} pocket {pocket}");
        format!("variant {name} {size} template {template} startpos {start}")
    }

    /// For XBoard, with the letters of the men.
    pub(super) fn setup(&self, letters: &str) -> String {
        let VariantInfo { files, ranks, pocket, template, start, .. } = self;
        format!("setup ({letters}) {files}x{ranks}+{pocket}_{template} {start}")
    }
}

/// XBoard's names of all games, its own first.
pub(super) fn xboard_names(catalogue: &Catalogue) -> Vec<&str> {
    let renamed = RENAMED.iter().filter(|(_, name, _)| catalogue.get(name).is_some());
    let mut names: Vec<&str> = renamed.map(|&(name, ..)| name).collect();
    let others = catalogue.iter().filter(|variant| has_men(variant)).map(|variant| variant.name());
    names.extend(others.filter(|name| RENAMED.iter().all(|(_, renamed, _)| name != renamed)));
    names
}

/// Whether XBoard can show a game: one of two sides, who have men to move, on one board.
fn has_men(variant: &Variant) -> bool {
    let game_spec = variant.start().game_spec();
    game_spec.sides == 2 && !game_spec.places && !game_spec.tables
}

/// The catalogue's name of a game that XBoard calls `name`, and whether castling is that of
/// Chess960.
pub(super) fn find<'a>(catalogue: &Catalogue, name: &'a str) -> Option<(&'a str, bool)> {
    let renamed = RENAMED.iter().find(|(xboard, ..)| *xboard == name);
    let (name, chess960) = renamed.map_or((name, false), |&(_, name, chess960)| (name, chess960));
    catalogue.get(name).filter(|variant| has_men(variant)).map(|_| (name, chess960))
}

//! The description of variants that GUIs may not know, for both protocols, in the format of Fairy-Stockfish.

use crate::rules::{Color, GameSpec, Move, Role};
use crate::variant::{Catalogue, Variant};

/// XBoard's name, the catalogue's name, and whether castling is that of Chess960.
const RENAMED: [(&str, &str, bool); 2] =
    [("normal", "chess", false), ("fischerandom", "chess", true)];

/// Variants that XBoard knows by the catalogue's name. They are not described.
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

/// The order of pieces in XBoard's piece-to-character table, in which the king comes last of 22 of each colour.
const TABLE_ORDER: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// The description of a variant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct VariantInfo<'a> {
    name: &'a str,
    files: usize,
    ranks: usize,
    /// The number of piece types that a pocket has room for.
    pocket: usize,
    template: &'a str,
    start: &'a str,
}

impl<'a> VariantInfo<'a> {
    /// Returns the description of a variant; `None` if XBoard knows it.
    pub(super) fn new(variant: &'a Variant) -> Option<VariantInfo<'a>> {
        let name = variant.name();
        if KNOWN.contains(&name) || RENAMED.iter().any(|&(_, renamed, _)| renamed == name) {
            return None;
        }
        let game_spec = variant.start().game_spec();
        let look = variant.display();
        Some(VariantInfo {
            name,
            files: game_spec.files,
            ranks: game_spec.ranks,
            pocket: match look.pocket as usize {
                _ if game_spec.drops.is_empty() => 0,
                0 => game_spec.roles.len(),
                size => size,
            },
            template: &look.template,
            start: variant.start_fen(),
        })
    }

    /// Returns the line for UCI.
    pub(super) fn uci_line(&self) -> String {
        let VariantInfo { name, files, ranks, pocket, template, start } = self;
        let size = format!("files {files} ranks {ranks} pocket {pocket}");
        format!("variant {name} {size} template {template} startpos {start}")
    }

    /// Returns the `setup` line for XBoard. `letters` is its piece-to-character table.
    fn setup_line(&self, letters: &str) -> String {
        let VariantInfo { files, ranks, pocket, template, start, .. } = self;
        format!("setup ({letters}) {files}x{ranks}+{pocket}_{template} {start}")
    }
}

/// Returns the lines that describe a variant to XBoard; none if XBoard knows it.
pub(super) fn xboard_lines(variant: &Variant) -> Vec<String> {
    let Some(variant_info) = VariantInfo::new(variant) else { return Vec::new() };
    let game_spec = variant.start().game_spec();
    let table = match variant.display().table.as_str() {
        "-" => format!(
            "{}{}",
            piece_letters(&game_spec, Color::White),
            piece_letters(&game_spec, Color::Black)
        ),
        table => table.to_owned(),
    };
    let mut lines = vec![variant_info.setup_line(&table)];
    lines.extend(game_spec.roles.iter().map(|&role| {
        let moves = match role {
            Role::Pawn if game_spec.en_passant => "fmWfceFifmnD",
            Role::Pawn => "fmWfceF",
            Role::Knight => "N",
            Role::Bishop => "B",
            Role::Rook => "R",
            Role::Queen => "Q",
            Role::King if game_spec.castling => "KisO2",
            Role::King => "K",
        };
        format!("piece {}& {moves}{}", role.upper_char(), drop_ranks(variant, role))
    }));
    lines
}

/// Returns the half of a piece-to-character table for one colour.
fn piece_letters(game_spec: &GameSpec, color: Color) -> String {
    let letter = |role: Role| {
        if game_spec.roles.contains(&role) { role.of(color).char() } else { '.' }
    };
    let letters: String = TABLE_ORDER.into_iter().map(letter).collect();
    format!("{letters:.<21}{}", letter(Role::King))
}

/// Returns the ranks on which White may drop a piece, in Betza notation: `@` and the highest rank, after `j` if
/// the first rank is excluded. They are found with only the kings on the board.
fn drop_ranks(variant: &Variant, role: Role) -> String {
    let game_spec = variant.start().game_spec();
    // The kings alone need two ranks.
    if game_spec.drops.is_empty() || game_spec.ranks < 2 {
        return String::new();
    }
    let last_file = game_spec.files - 1;
    let empty = vec![game_spec.files.to_string(); game_spec.ranks - 2].join("/");
    let fen = format!("k{last_file}/{empty}/{last_file}K[{}] w - - 0 1", role.upper_char());
    let Ok(position) = variant.position(&fen, false) else { return String::new() };
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    let ranks = legal.into_iter().filter_map(|m| match m {
        Move::Drop { role: dropped, to, .. } if dropped == role => Some(to.rank().to_u32() + 1),
        _ => None,
    });
    let ranks: Vec<u32> = ranks.collect();
    match (ranks.iter().min(), ranks.iter().max()) {
        (Some(1), Some(highest)) => format!("@{highest}"),
        (Some(_), Some(highest)) => format!("j@{highest}"),
        _ => String::new(),
    }
}

/// Returns XBoard's names of all variants, those that differ from the catalogue's first.
pub(super) fn xboard_names(catalogue: &Catalogue) -> Vec<&str> {
    let renamed = RENAMED.iter().filter(|(_, name, _)| catalogue.get(name).is_some());
    let mut names: Vec<&str> = renamed.map(|&(name, ..)| name).collect();
    let others = catalogue.iter().filter(|variant| is_displayable(variant));
    let others = others.map(|variant| variant.name());
    names.extend(others.filter(|name| RENAMED.iter().all(|(_, renamed, _)| name != renamed)));
    names
}

/// Returns `true` if XBoard can display a variant: two sides move pieces on one board.
fn is_displayable(variant: &Variant) -> bool {
    let game_spec = variant.start().game_spec();
    game_spec.sides == 2 && !game_spec.places && !game_spec.two_boards
}

/// Returns the catalogue's name of the variant that XBoard calls `name`, and whether castling is that of
/// Chess960.
pub(super) fn find_xboard_name<'a>(
    catalogue: &Catalogue,
    name: &'a str,
) -> Option<(&'a str, bool)> {
    let renamed = RENAMED.iter().find(|(xboard, ..)| *xboard == name);
    let (name, chess960) = renamed.map_or((name, false), |&(_, name, chess960)| (name, chess960));
    let variant = catalogue.get(name)?;
    if is_displayable(&variant) { Some((name, chess960)) } else { None }
}

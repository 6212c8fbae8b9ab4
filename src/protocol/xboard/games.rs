//! How a game that XBoard does not know is described to it.

use crate::protocol::variant_info::VariantInfo;
use crate::rules::{Color, Move, Role};
use crate::variant::Variant;

/// The order of men in a piece-to-character table, which has room for 22 of each colour.
const TABLE: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// The lines that describe a game; none if XBoard knows it.
pub(super) fn description(variant: &Variant) -> Vec<String> {
    let Some(variant_info) = VariantInfo::of(variant) else { return Vec::new() };
    let game_spec = variant.start().game_spec();
    let letters = |color: Color| {
        let letter = |role: Role| match game_spec.roles.contains(&role) {
            true => role.of(color).char(),
            false => '.',
        };
        let men: String = TABLE.into_iter().map(letter).collect();
        format!("{men:.<21}{}", letter(Role::King))
    };
    let table = match variant.look().table.as_str() {
        "-" => format!("{}{}", letters(Color::White), letters(Color::Black)),
        table => table.to_owned(),
    };
    let mut lines = vec![variant_info.setup(&table)];
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
        format!("piece {}& {moves}{}", role.upper_char(), drops(variant, role))
    }));
    lines
}

/// The ranks on which White may drop a man, in Betza's notation: `@` and the highest, after `j` if
/// not from the first on. Asks the rules, with the kings alone on the board.
fn drops(variant: &Variant, role: Role) -> String {
    let game_spec = variant.start().game_spec();
    // The kings alone need two ranks.
    if game_spec.drops.is_empty() || game_spec.ranks < 2 {
        return String::new();
    }
    let last = game_spec.files - 1;
    let empty = vec![game_spec.files.to_string(); game_spec.ranks - 2].join("/");
    let probe = |men: String| {
        let fen = format!("k{last}/{empty}/{last}K[{men}] w - - 0 1");
        let mut legal = Vec::new();
        variant.position(&fen, false).ok()?.legal_moves(&mut legal);
        let ranks = legal.into_iter().filter_map(|m| match m {
            Move::Drop { role: dropped, to } if dropped == role => Some(to.rank().to_u32() + 1),
            _ => None,
        });
        let ranks: Vec<u32> = ranks.collect();
        Some((*ranks.iter().min()?, *ranks.iter().max()?))
    };
    match probe(role.upper_char().to_string()) {
        Some((1, highest)) => format!("@{highest}"),
        Some((_, highest)) => format!("j@{highest}"),
        None => String::new(),
    }
}

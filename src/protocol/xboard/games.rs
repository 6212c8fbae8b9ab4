//! The names of games in XBoard, and how a game that it does not know is described to it.

use crate::rules::{Color, Move, Position, Role, Square};
use crate::variant::{Catalogue, Variant};

/// XBoard's name, the catalogue's, and whether the men may stand as in Chess960.
const RENAMED: [(&str, &str, bool); 2] =
    [("normal", "chess", false), ("fischerandom", "chess", true)];

/// Games that XBoard knows by the catalogue's name.
const KNOWN: [&str; 3] = ["crazyhouse", "atomic", "3check"];

/// The order of men in a piece-to-character table, which has room for 22 of each colour.
const TABLE: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// The names of all games, XBoard's own first.
pub(super) fn names(catalogue: &Catalogue) -> Vec<&str> {
    let renamed = RENAMED.iter().filter(|(_, name, _)| catalogue.get(name).is_some());
    let mut names: Vec<&str> = renamed.map(|&(name, ..)| name).collect();
    let others = catalogue.iter().map(|variant| variant.name());
    names.extend(others.filter(|name| RENAMED.iter().all(|(_, renamed, _)| name != renamed)));
    names
}

/// The catalogue's name of a game, and whether castling is that of Chess960.
pub(super) fn find<'a>(catalogue: &Catalogue, name: &'a str) -> Option<(&'a str, bool)> {
    let renamed = RENAMED.iter().find(|(xboard, ..)| *xboard == name);
    let (name, chess960) = renamed.map_or((name, false), |&(_, name, chess960)| (name, chess960));
    catalogue.get(name).map(|_| (name, chess960))
}

/// The lines that describe a game; none if XBoard knows it.
pub(super) fn description(variant: &Variant) -> Vec<String> {
    let ours = RENAMED.iter().any(|(_, name, _)| *name == variant.name());
    if ours || KNOWN.contains(&variant.name()) {
        return Vec::new();
    }
    let anatomy = variant.start().anatomy();
    let letters = |color: Color| {
        let letter = |role: Role| match anatomy.roles.contains(&role) {
            true => role.of(color).char(),
            false => '.',
        };
        let men: String = TABLE.into_iter().map(letter).collect();
        format!("{men:.<21}{}", letter(Role::King))
    };
    let table = format!("{}{}", letters(Color::White), letters(Color::Black));
    let (files, ranks, hand) = (anatomy.files, anatomy.ranks, anatomy.drops.len());
    let fen = variant.start_fen();
    let mut lines = vec![format!("setup ({table}) {files}x{ranks}+{hand}_fairy {fen}")];
    lines.extend(anatomy.roles.iter().map(|&role| {
        let moves = match role {
            Role::Pawn if anatomy.en_passant => "fmWfceFifmnD",
            Role::Pawn => "fmWfcF",
            Role::Knight => "N",
            Role::Bishop => "B",
            Role::Rook => "R",
            Role::Queen => "Q",
            Role::King if anatomy.castling => "KisO2",
            Role::King => "K",
        };
        format!("piece {}& {moves}", role.upper_char())
    }));
    lines
}

/// Where the man on `from` may go, as a FEN of colours: yellow, red to capture, magenta to
/// promote.
pub(super) fn highlight(position: &Position, from: Square) -> String {
    let (anatomy, mut legal) = (position.anatomy(), Vec::new());
    position.legal_moves(&mut legal);
    let mut colours = [None; 64];
    for m in legal {
        let Move::Step { from: start, to, promotion } = m else { continue };
        if start == from {
            let view = position.view();
            let capture = view.board.by_color(!view.turn).contains(to);
            let colour = if capture { 'R' } else { 'Y' };
            colours[to.to_usize()] = Some(if promotion.is_some() { 'M' } else { colour });
        }
    }
    let ranks = (0..anatomy.ranks).rev().map(|rank| {
        let (mut text, mut empty) = (String::new(), 0);
        for colour in &colours[8 * rank..8 * rank + anatomy.files] {
            match colour {
                None => empty += 1,
                Some(colour) => {
                    if empty > 0 {
                        text.push_str(&empty.to_string());
                    }
                    text.push(*colour);
                    empty = 0;
                }
            }
        }
        if empty > 0 { text + &empty.to_string() } else { text }
    });
    ranks.collect::<Vec<_>>().join("/")
}

//! A position with the colours changed.

use crate::rules::{GameSpec, Position, Side};

/// The FEN of the position in which the players have changed sides, at each of two tables if there
/// are two: of what stands behind them, the team that is to move and the clocks change, too.
pub(super) fn flipped(position: &Position) -> String {
    let (fen, game_spec) = (position.fen(), position.game_spec());
    let mut parts: Vec<String> = fen.split('|').map(str::to_owned).collect();
    for board in parts.iter_mut().take(2) {
        *board = flipped_board(board, &game_spec);
    }
    if let [a, b, rest @ ..] = &parts[..] {
        let rest = rest.first().map_or("", String::as_str).split(' ');
        let told = |word: &&str| !matches!(*word, "" | "w" | "b" | "A" | "B");
        let mut words: Vec<&str> = rest.filter(told).collect();
        let clocks = words.len().saturating_sub(4);
        if let [white_a, black_a, white_b, black_b] = &mut words[clocks..] {
            std::mem::swap(white_a, black_a);
            std::mem::swap(white_b, black_b);
        }
        // The other team is to move, at the same table.
        let team = if position.turn() == Side::WHITE { "b" } else { "w" };
        let table = if position.view().seat.asked { "A" } else { "B" };
        return format!("{a}|{b}|{team} {table} {}", words.join(" "));
    }
    parts.join("|")
}

/// The FEN of the position in which the players have changed sides: the board is turned upside
/// down, or from left to right where both run for the same rank, and each man changes its colour.
fn flipped_board(fen: &str, game_spec: &GameSpec) -> String {
    let mut fields: Vec<String> = fen.split(' ').map(str::to_owned).collect();
    if let [men, turn, castling, rest @ ..] = &mut fields[..] {
        let (board, hands) = men.split_at(men.find('[').unwrap_or(men.len()));
        let ranks = board.split('/');
        let board = if game_spec.mirrored {
            ranks.rev().map(str::to_owned).collect::<Vec<_>>()
        } else {
            ranks.map(|rank| rank.chars().rev().collect()).collect()
        };
        *men = swapped(&(board.join("/") + hands));
        *turn = if turn == "w" { "b" } else { "w" }.to_owned();
        *castling = swapped(castling);
        for field in rest.iter_mut() {
            if let Some((white, black)) = field.split_once('+') {
                *field = format!("{black}+{white}");
            }
        }
        if let Some(en_passant) = rest.first_mut()
            && let [file, rank @ b'1'..=b'8'] = en_passant.as_bytes()
        {
            let rank = (game_spec.ranks + 1).saturating_sub(usize::from(rank - b'0'));
            *en_passant = format!("{}{rank}", char::from(*file));
        }
    }
    fields.join(" ")
}

/// Each letter in its other case.
fn swapped(text: &str) -> String {
    let swap = |letter: char| match letter.is_ascii_uppercase() {
        true => letter.to_ascii_lowercase(),
        false => letter.to_ascii_uppercase(),
    };
    text.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::Catalogue;

    #[test]
    fn what_is_flipped_twice_is_what_it_was() {
        for (variant, fen, other) in [
            (
                "chess",
                "rnbqkbnr/pp1ppppp/8/8/2pPP3/8/PPP2PPP/RNBQKBNR b KQq d3 0 3",
                "rnbqkbnr/ppp2ppp/8/2Ppp3/8/8/PP1PPPPP/RNBQKBNR w Qkq d6 0 3",
            ),
            (
                "crazyhouse",
                "4k3/8/8/8/8/8/5Q~2/4K3[Nnp] w - - 4 9",
                "4k3/5q~2/8/8/8/8/8/4K3[NPn] b - - 4 9",
            ),
            ("3check", "4k3/8/8/8/8/8/8/4K2R w K - 2+3 0 1", "4k2r/8/8/8/8/8/8/4K3 b k - 3+2 0 1"),
            (
                "racingkings",
                "8/8/8/8/8/k7/2bnNBRK/qrbnNBRQ w - - 0 1",
                "8/8/8/8/8/7K/krbnNB2/qrbnNBRQ b - - 0 1",
            ),
            (
                "losalamos",
                "rnqknr/pppppp/6/3P2/PPP1PP/RNQKNR b - - 0 1",
                "rnqknr/ppp1pp/3p2/6/PPPPPP/RNQKNR w - - 0 1",
            ),
            (
                "bughouse2",
                "4k3/8/8/8/8/8/5Q~2/4K3[Nnp] w - - 4 9|4k3/8/8/8/8/8/8/4K3[] w - - 0 1|10 20 30 40",
                "4k3/5q~2/8/8/8/8/8/4K3[NPn] b - - 4 9|4k3/8/8/8/8/8/8/4K3[] b - - 0 1|b 20 10 40 30",
            ),
            ("duck", "4k3/8/2*5/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/2*5/8/4K3 b - - 0 1"),
        ] {
            let variant = Catalogue::shipped().get(variant).expect("it is shipped");
            let position = |fen: &str| variant.position(fen, false).expect("a position");
            let flip = |fen: &str| position(&flipped(&position(fen))).fen();
            assert_eq!((flip(fen), flip(other)), (position(other).fen(), position(fen).fen()));
        }
    }
}

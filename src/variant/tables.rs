//! The rules of a game of two tables, from the keys of its section.

use std::sync::Arc;

use super::section::Section;
use super::values::flag;
use crate::rules::{Bughouse, Order, Role, VariantRules, Verdict};

/// Takes the keys of a game whose tables play by `board` from its section.
pub(super) fn read(section: &mut Section<'_>, board: Arc<VariantRules>) -> Bughouse {
    let crosses = board.drops.is_some_and(|drops| {
        drops.two_boards && !drops.captures_to_hand && !drops.keeps_promoted && drops.must.is_none()
    });
    if !crosses {
        section.fault("at two tables what is taken goes to the partner: pieceDrops, twoBoards");
    }
    // What a table asks of chess is told of mate, stalemate, repetition and counters alone.
    let plain = board.royal
        && board.kings.white == 1
        && board.kings.black == 1
        && board.extinction.is_none()
        && board.flag.is_none()
        && board.checks.counted.is_none()
        && board.castling.is_none_or(|castling| {
            [castling.wins.white, castling.wins.black].concat().iter().all(|wins| !wins)
        })
        && !board.ends.full_board;
    if !plain {
        section.fault("at two tables nothing but mate and stalemate ends a game");
    }
    let ends = &board.ends;
    let usual = ends.checkmate == Verdict::Loss
        && ends.fold == Verdict::Draw
        && ends.folds == 3
        && ends.odds.is_none()
        && !ends.stalemate_by_men;
    if !usual {
        section.fault("at two tables mate loses, and three times the same position is a draw");
    }
    if board.walls.is_some() || board.barriers || board.blast.is_some() {
        section.fault("at two tables there are neither walls nor blasts");
    }
    if board.promotions().contains(&Role::King) || board.promotions().contains(&Role::Pawn) {
        section.fault("at two tables nothing promotes to a king or a pawn");
    }
    Bughouse {
        board,
        order: section.take("tableOrder", order).unwrap_or(Order::Timed),
        blockable: section.take("mateBlockable", flag).unwrap_or(false),
    }
}

fn order(value: &str) -> Result<Order, String> {
    match value {
        "timed" => Ok(Order::Timed),
        "fixed" => Ok(Order::Fixed),
        _ => Err("neither timed nor fixed".into()),
    }
}

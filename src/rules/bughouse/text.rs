//! Notation of moves and turns, and diagrams.

use std::fmt::Write;

use shakmaty::Color;

use super::{BughousePosition, color_of, opponents};
use crate::rules::{BoardId, Move, Rules, Side, notation};

/// The notation of [`Move::Pass`].
pub(in crate::rules) const PASS: &str = "pass";

impl BughousePosition {
    /// Returns a legal ply: the number of the board, and the move in the notation of the one-board game.
    pub(super) fn ply_text(&self, m: Move) -> String {
        if m == Move::Pass {
            return PASS.to_owned();
        }
        let board = m.board();
        format!("{}{}", number(board), self.board(board).chess.move_text(m))
    }

    /// Returns a diagram of both boards next to each other, with pockets, clocks and the side to move.
    pub(super) fn draw(&self) -> String {
        let [left, right] = BoardId::ALL.map(|board| self.draw_board(board));
        let width = left.iter().map(String::len).max().unwrap_or(0) + 3;
        let mut text = String::new();
        for (left, right) in left.iter().zip(&right) {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{}", format!("{left:<width$}{right}").trim_end());
        }
        let us = team_text(self.team);
        let them = team_text(opponents(self.team));
        let _ = writeln!(text, "\nTo move: {us} (against {them})");
        text
    }

    /// Returns the lines of the diagram of one board.
    fn draw_board(&self, board: BoardId) -> Vec<String> {
        let state = self.board(board);
        let diagram = notation::diagram(&state.chess.view(), &state.chess.game_spec());
        let mut lines = vec![format!(" Board {board:?}")];
        lines.extend(diagram.lines().map(str::to_owned));
        let status =
            if state.is_drawn() { "drawn" } else { state.color().fold_wb("White", "Black") };
        lines.push(format!("On turn: {status}"));
        if !self.clocks.unknown() {
            let [white, black] = Color::ALL.map(|color| {
                let tenths = self.clocks.at(board, color) / 100;
                format!("{}.{}", tenths / 10, tenths % 10)
            });
            lines.push(format!("Seconds: White {white}, Black {black}"));
        }
        lines
    }
}

fn team_text(team: Side) -> String {
    BoardId::ALL.map(|board| format!("{} at {board:?}", color_of(team, board))).join(" and ")
}

/// Splits the text of a ply into its board, which it names by number, and the move.
pub(in crate::rules) fn split_board_number(text: &str) -> Option<(BoardId, &str)> {
    BoardId::ALL.into_iter().find_map(|board| Some((board, text.strip_prefix(number(board))?)))
}

fn number(board: BoardId) -> char {
    match board {
        BoardId::A => '1',
        BoardId::B => '2',
    }
}

/// Returns the turn of a team: its move on each board, or `pass` if it has none there: `(e2e4,pass)`.
pub(in crate::rules) fn turn_text(plies: &[Move], texts: &[String]) -> String {
    let text_at = |board: BoardId| {
        let ply = plies.iter().position(|&ply| ply != Move::Pass && ply.board() == board);
        // Without the number of the board.
        ply.and_then(|index| texts.get(index)?.get(1..)).unwrap_or(PASS)
    };
    format!("({},{})", text_at(BoardId::A), text_at(BoardId::B))
}

/// Returns the sequences of plies that a text can stand for, the most likely first: `(e2e4,pass)` for
/// both boards, or plies with the number of their board, separated by commas.
pub(in crate::rules) fn parse_candidates(text: &str) -> Vec<Vec<String>> {
    let both = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')?.split_once(','));
    let Some((a, b)) = both else {
        return vec![text.split(',').map(str::to_owned).collect()];
    };
    let first = format!("{}{a}", number(BoardId::A));
    let second = format!("{}{b}", number(BoardId::B));
    let pass = PASS.to_owned();
    match (a, b) {
        (PASS, PASS) => vec![vec![pass]],
        (_, PASS) => vec![vec![first.clone(), pass], vec![first]],
        (PASS, _) => vec![vec![second.clone(), pass], vec![second]],
        _ => vec![vec![first.clone(), second.clone()], vec![second, first]],
    }
}

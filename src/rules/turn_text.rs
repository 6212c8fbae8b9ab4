//! Whole turns and their notation.

use super::{Move, MoveList, Position, Role, notation};

impl Position {
    /// Splits legal plies from here into turns. An incomplete last turn is left out.
    pub fn split_turns(&self, plies: &[Move]) -> Vec<MoveList> {
        let mut position = self.clone();
        let mut turns = Vec::new();
        let mut turn = MoveList::new();
        for &m in plies {
            turn.push(m);
            position.play_unchecked(m);
            if !position.mid_turn() {
                turns.push(std::mem::take(&mut turn));
            }
        }
        turns
    }

    /// Returns the plies of one turn in UCI notation, joined by commas.
    pub fn turn_text(&self, plies: &[Move]) -> String {
        self.write_turn(plies, Position::move_text)
    }

    /// Like [`Position::turn_text`], but with `O-O` and `O-O-O` instead of castling as king takes rook.
    pub fn turn_text_with_castling(&self, plies: &[Move]) -> String {
        self.write_turn(plies, |position, ply| {
            let text = position.move_text(ply);
            match position.castling_text(ply) {
                Some(castling) if text == notation::uci(ply) => castling.to_owned(),
                _ => text,
            }
        })
    }

    fn write_turn(&self, plies: &[Move], text: impl Fn(&Position, Move) -> String) -> String {
        let mut position = self.clone();
        let mut texts = Vec::with_capacity(plies.len());
        for &ply in plies {
            texts.push(text(&position, ply));
            position.play_unchecked(ply);
        }
        self.join_plies(plies, &texts)
    }

    /// Returns `O-O` or `O-O-O` if a legal ply is castling.
    pub(super) fn castling_text(&self, ply: Move) -> Option<&'static str> {
        let view = self.view();
        let board = view.on(ply.board());
        let Move::Step { from, to, promotion: None, .. } = ply else { return None };
        let king = board.pieces.role_at(from) == Some(Role::King);
        let castling =
            king && board.castling.contains(to) && board.pieces.by_color(board.turn).contains(to);
        castling.then_some(if from < to { "O-O" } else { "O-O-O" })
    }

    /// Parses the legal plies of one whole turn. Returns `None` if `text` is not a legal turn. Castling
    /// can be written as the move of the king, as king takes rook, and as `O-O` or `O-O-O`, also with
    /// zeros or small letters, unless this is the text of another legal move.
    pub fn parse_turn(&self, text: &str) -> Option<Vec<Move>> {
        // A wall that is a whole turn is written like a move and a wall.
        if text.contains(',')
            && let Some(ply) = self.parse_ply(text)
        {
            return Some(vec![ply]);
        }
        self.parse_candidates(text).iter().find_map(|parts| self.parse_plies(parts))
    }

    fn parse_plies(&self, parts: &[String]) -> Option<Vec<Move>> {
        let mut position = self.clone();
        let mut plies = Vec::new();
        for part in parts {
            let ply =
                position.parse_ply(part).or_else(|| position.parse_ply_of_other_board(part))?;
            position.play_unchecked(ply);
            plies.push(ply);
            if !position.mid_turn() {
                break;
            }
        }
        let whole = !position.mid_turn() || self.allows_partial_turn();
        (plies.len() == parts.len() && whole).then_some(plies)
    }
}

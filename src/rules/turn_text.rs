//! Text of whole turns: how they are written, and every way in which they are read.

use super::{Move, Position, Role, Table, notation};

impl Position {
    /// The plies of one turn as UCI writes them, joined by commas.
    pub fn turn_text(&self, plies: &[Move]) -> String {
        self.turn_written(plies, Position::move_text)
    }

    /// [`Position::turn_text`], but `O-O` and `O-O-O` for what would be written as a king that
    /// takes its own rook.
    pub fn turn_text_with_castling(&self, plies: &[Move]) -> String {
        self.turn_written(plies, |position, ply| {
            let text = position.move_text(ply);
            let castling = position.castling_text(ply).filter(|_| text == notation::uci(ply));
            castling.map_or(text, str::to_owned)
        })
    }

    fn turn_written(&self, plies: &[Move], text: impl Fn(&Position, Move) -> String) -> String {
        let mut position = self.clone();
        let mut texts = Vec::with_capacity(plies.len());
        for &ply in plies {
            texts.push(text(&position, ply));
            position.play_unchecked(ply);
        }
        self.rules().turn_text(plies, &texts)
    }

    /// `O-O` or `O-O-O`, if a legal ply is castling.
    pub(super) fn castling_text(&self, ply: Move) -> Option<&'static str> {
        let view = self.view();
        let Move::Step { from, to, promotion: None } = ply else { return None };
        let king = view.board.role_at(from) == Some(Role::King);
        let castling =
            king && view.castling.contains(to) && view.board.by_color(view.turn).contains(to);
        castling.then_some(if from < to { "O-O" } else { "O-O-O" })
    }

    /// The legal plies that `text` names, one whole turn of them; `None` if it names none. Castling
    /// may be written as the king's step to its goal, as king takes rook, and as `O-O` or `O-O-O`,
    /// also with zeros or small letters, unless another move is written so.
    pub fn parse_turn(&self, text: &str) -> Option<Vec<Move>> {
        // A wall that is a turn of its own is written like a move and a wall.
        if text.contains(',')
            && let Some(ply) = self.parse_ply(text)
        {
            return Some(vec![ply]);
        }
        self.rules().spellings(text).iter().find_map(|parts| self.parse_plies(parts))
    }

    fn parse_plies(&self, parts: &[String]) -> Option<Vec<Move>> {
        let mut position = self.clone();
        let mut plies = Vec::new();
        for part in parts {
            let ply = position.parse_ply(part).or_else(|| position.parse_of_others(part))?;
            position.play_unchecked(ply);
            plies.push(ply);
            if !position.mid_turn() {
                break;
            }
        }
        let whole = !position.mid_turn() || self.rules().breaks_off();
        (plies.len() == parts.len() && whole).then_some(plies)
    }

    /// A ply of a side that is not the one to move but may.
    fn parse_of_others(&self, text: &str) -> Option<Move> {
        Table::ALL.into_iter().filter(|_| self.rules().breaks_off()).find_map(|table| {
            let mut other = self.clone();
            let turned = other.rules_mut().turn_to(table);
            other.parse_ply(text).filter(|_| turned)
        })
    }
}

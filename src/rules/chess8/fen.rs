//! FEN of boards of any size.

use std::sync::Arc;

use shakmaty::{Board, Color, Piece, Role};

use super::{Axes, Chess8};
use crate::rules::notation::{FenError, square};

impl Chess8 {
    /// Reads a FEN of the game of `axes`; all fields after the board may be missing. A board on
    /// which the mover could take the king is accepted, as the reference program does, though no
    /// game reaches it.
    pub(in crate::rules) fn from_fen(axes: &Arc<Axes>, fen: &str) -> Result<Chess8, FenError> {
        let mut fields = fen.split_ascii_whitespace();
        let board = parse_board(axes, fields.next().unwrap_or_default())
            .map_err(|reason| FenError::syntax(fen, reason))?;
        let turn = match fields.next() {
            None | Some("w") => Color::White,
            Some("b") => Color::Black,
            Some(other) => {
                return Err(FenError::syntax(fen, format!("the side to move is \"{other}\"")));
            }
        };
        for name in ["castling", "en passant"] {
            if let Some(other) = fields.next().filter(|field| *field != "-") {
                let reason =
                    format!("this game has no {name}, so \"-\" stands for it, not \"{other}\"");
                return Err(FenError::syntax(fen, reason));
            }
        }
        let mut counter = |name: &str, default: u32| match fields.next() {
            None => Ok(default),
            Some(text) => text
                .parse::<u32>()
                .map_err(|_| FenError::syntax(fen, format!("the {name} is \"{text}\""))),
        };
        let halfmoves = counter("half-move clock", 0)?;
        let fullmoves = counter("move number", 1)?.max(1);
        if let Some(rest) = fields.next() {
            return Err(FenError::syntax(
                fen,
                format!("nothing may follow the move number, but \"{rest}\""),
            ));
        }
        let area = axes.area();
        let position = Chess8 { axes: Arc::clone(axes), area, board, turn, halfmoves, fullmoves };
        position.check().map_err(|reason| FenError::illegal(fen, reason))?;
        Ok(position)
    }

    /// What the FEN's syntax cannot rule out.
    fn check(&self) -> Result<(), String> {
        for color in Color::ALL {
            let kings = (self.board.kings() & self.board.by_color(color)).count();
            if kings != 1 {
                return Err(format!("{color} has {kings} kings"));
            }
            let pawns = self.board.pawns() & self.board.by_color(color);
            if (pawns & self.axes.promotion_area[color]).any() {
                return Err(format!("a pawn of {color} stands where it promotes"));
            }
        }
        Ok(())
    }

    /// The position as FEN, all six fields.
    pub(super) fn to_fen(&self) -> String {
        let mut text = String::new();
        for rank in (0..self.axes.ranks).rev() {
            let mut gap = 0;
            for file in 0..self.axes.files {
                match self.board.piece_at(square(file, rank)) {
                    None => gap += 1,
                    Some(piece) => {
                        if gap > 0 {
                            text.push_str(&gap.to_string());
                        }
                        gap = 0;
                        text.push(piece.char());
                    }
                }
            }
            if gap > 0 {
                text.push_str(&gap.to_string());
            }
            text.push(if rank > 0 { '/' } else { ' ' });
        }
        let turn = self.turn.char();
        text + &format!("{turn} - - {} {}", self.halfmoves, self.fullmoves)
    }
}

fn parse_board(axes: &Axes, text: &str) -> Result<Board, String> {
    let ranks = text.split('/').collect::<Vec<_>>();
    if ranks.len() != axes.ranks {
        return Err(format!("{} ranks where the board has {}", ranks.len(), axes.ranks));
    }
    let mut board = Board::empty();
    for (line, rank) in ranks.into_iter().zip((0..axes.ranks).rev()) {
        let mut file = 0;
        for letter in line.chars() {
            if let Some(gap) = letter.to_digit(10) {
                file += gap as usize;
            } else {
                let piece = Piece::from_char(letter).filter(|p| is_man(axes, p.role));
                let piece = piece.ok_or_else(|| format!("'{letter}' is no man of this game"))?;
                if file < axes.files {
                    board.set_piece_at(square(file, rank), piece);
                }
                file += 1;
            }
        }
        if file != axes.files {
            return Err(format!("rank \"{line}\" has {file} files, not {}", axes.files));
        }
    }
    Ok(board)
}

fn is_man(axes: &Axes, role: Role) -> bool {
    axes.roles.contains(&role)
}

//! The commands `lift`, `hover` and `put` for the piece that the user moves. The answers
//! show XBoard the legal moves of variants that it does not know.

use crate::rules::{Color, GameSpec, Move, Position, Role, Square};

/// The piece that the user has lifted.
#[derive(Clone, Debug, Default)]
pub(super) struct LiftPut {
    from: Option<Square>,
    /// The first leg of the turn, if another one follows.
    leg: Option<Move>,
}

/// A legal move of the lifted piece.
struct PieceMove {
    m: Move,
    /// The square on which the user puts it.
    to: Square,
    promotion: Option<Role>,
    /// Whether the opponent loses a piece.
    captures: bool,
    /// Whether another leg follows.
    has_next_leg: bool,
    after: Position,
}

impl LiftPut {
    /// `lift`: returns the squares to which the piece on `square` can move.
    pub(super) fn lift(&mut self, position: &Position, square: Square) -> String {
        let leg = self.leg.take();
        self.from = Some(square);
        if let Some(leg) = leg
            && let Some(next) = position_after_leg(position, leg, square)
        {
            self.leg = Some(leg);
            return highlight(&next, &all_moves(&next), &[]);
        }
        highlight(position, &piece_moves(position, square), &[])
    }

    /// `hover`: returns the same with the pieces that a move to `square` would capture elsewhere; `None` if there
    /// are none.
    pub(super) fn hover(&self, position: &Position, square: Square) -> Option<String> {
        let moves = piece_moves(position, self.from?);
        let hovered = moves.iter().find(|piece_move| piece_move.to == square)?;
        let before = position.board().pieces.occupied();
        let after = hovered.after.board().pieces.occupied();
        let captured = (before & !after).into_iter();
        let captured: Vec<_> =
            captured.filter(|&other| other != square && Some(other) != self.from).collect();
        if captured.is_empty() { None } else { Some(highlight(position, &moves, &captured)) }
    }

    /// `put`: returns the piece types to which it can promote on `square`, if it does.
    pub(super) fn put(&mut self, position: &Position, square: Square) -> Option<String> {
        let mut moves = piece_moves(position, self.from?);
        moves.retain(|piece_move| piece_move.to == square);
        let first_leg = moves.iter().find(|piece_move| piece_move.has_next_leg);
        self.leg = first_leg.map(|piece_move| piece_move.m);
        let promotions = position.game_spec().promotions.into_iter();
        let choice: String = promotions
            .filter(|&role| moves.iter().any(|piece_move| piece_move.promotion == Some(role)))
            .map(Role::upper_char)
            .collect();
        if choice.is_empty() { None } else { Some(format!("choice {choice}")) }
    }
}

/// Returns the piece in hand on a square outside the board, and its colour. XBoard draws White's in the second
/// file right of the board from below, Black's in the second left of it from above.
pub(super) fn pocket_piece(game_spec: &GameSpec, text: &str) -> Option<(Color, Role)> {
    if game_spec.drops.is_empty() {
        return None;
    }
    let (file, rank) = text.split_at_checked(1)?;
    let rank: usize = rank.parse().ok()?;
    let left = b'a'.checked_sub(2)?;
    let right = u8::try_from(game_spec.files + 1).ok()?.checked_add(b'a')?;
    let (color, index) = match *file.as_bytes() {
        [file] if file == right => (Color::White, rank.checked_sub(1)?),
        [file] if file == left => (Color::Black, game_spec.ranks.checked_sub(rank)?),
        _ => return None,
    };
    game_spec.roles.get(index).map(|&role| (color, role))
}

/// Returns the squares on which a piece in hand can be dropped.
pub(super) fn lift_from_pocket(position: &Position, color: Color, role: Role) -> String {
    let mut moves = if position.board().turn == color { all_moves(position) } else { Vec::new() };
    moves.retain(|it| matches!(it.m, Move::Drop { role: dropped, .. } if dropped == role));
    highlight(position, &moves, &[])
}

/// Returns the moves of the piece on `from`.
fn piece_moves(position: &Position, from: Square) -> Vec<PieceMove> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    legal.retain(|m| matches!(m, Move::Step { from: start, .. } if *start == from));
    legal.into_iter().filter_map(|m| piece_move(position, m)).collect()
}

/// Returns all moves, as of a second leg, which begins where the first ended.
fn all_moves(position: &Position) -> Vec<PieceMove> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    legal.into_iter().filter_map(|m| piece_move(position, m)).collect()
}

fn piece_move(position: &Position, m: Move) -> Option<PieceMove> {
    let (to, promotion) = match m {
        // Castling has the square of the king or of the rook, by the notation in use.
        Move::Step { promotion, .. } => (position.move_text(m).get(2..4)?.parse().ok()?, promotion),
        Move::Wall(to) | Move::Place(to) | Move::Drop { to, .. } => (to, None),
        Move::Pass => return None,
    };
    let mut after = position.clone();
    after.play_unchecked(m);
    let opponent = !position.board().turn;
    let count = |position: &Position| position.board().pieces.by_color(opponent).count();
    let captures = count(&after) < count(position);
    Some(PieceMove { m, to, promotion, captures, has_next_leg: after.mid_turn(), after })
}

/// Returns the position after a first leg, if that is legal and ends on `square`.
fn position_after_leg(position: &Position, leg: Move, square: Square) -> Option<Position> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    if !legal.contains(&leg) {
        return None;
    }
    let leg = piece_move(position, leg)?;
    if leg.has_next_leg && leg.to == square { Some(leg.after) } else { None }
}

/// Returns the `highlight` line, a FEN of colors: yellow for moves, red for captures, cyan for first legs,
/// magenta for promotions, blue for promotions to one piece type only. Pieces `captured` elsewhere are green,
/// in lower case because they cannot be moved to.
fn highlight(position: &Position, moves: &[PieceMove], captured: &[Square]) -> String {
    let mut colors = [None; 64];
    for &square in captured {
        colors[square.to_usize()] = Some('g');
    }
    for piece_move in moves {
        let colour = &mut colors[piece_move.to.to_usize()];
        *colour = Some(match piece_move {
            PieceMove { has_next_leg: true, .. } => 'C',
            PieceMove { promotion: Some(_), .. } if matches!(colour, Some('B' | 'M')) => 'M',
            PieceMove { promotion: Some(_), .. } => 'B',
            PieceMove { captures: true, .. } => 'R',
            _ => 'Y',
        });
    }
    let game_spec = position.game_spec();
    let ranks = (0..game_spec.ranks).rev().map(|rank| {
        let mut text = String::new();
        let mut empty = 0;
        for colour in &colors[8 * rank..8 * rank + game_spec.files] {
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
    format!("highlight {}", ranks.collect::<Vec<_>>().join("/"))
}

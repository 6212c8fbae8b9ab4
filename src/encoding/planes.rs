//! The input planes: pieces, pockets, rights and counters, as far as the game has them.

use crate::rules::{Bitboard, BoardView, Color, GameSpec, Role, Side, Square, View};

/// The content of one input plane. Where it has a `bool`, `true` is the side to move and `false` the
/// opponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InputPlane {
    /// 1 on each square of the board, so that convolutions see the edge.
    Board,
    /// 1 everywhere if the side to move is not the first side.
    NotFirstSide,
    /// 1 everywhere if the position has occurred before.
    Repeated,
    /// The half-move clock in steps, as a fraction of its limit.
    Clock,
    /// The cells claimed by the side that is this number of places after the side to move.
    Claimed(usize),
    /// The pieces of a role.
    Pieces(Role, bool),
    /// The number of pieces of a role in hand, divided by 4.
    Pocket(Role, bool),
    /// The pieces that are promoted pawns.
    Promoted,
    /// The rooks that may still castle.
    Castling(bool),
    /// The square of a possible en passant capture.
    EnPassant,
    /// The walls and the duck.
    Wall,
    /// 1 everywhere if the side to move must complete its turn.
    MidTurn,
    /// The number of checks still needed, as a fraction of those at the start.
    Checks(bool),
    /// 1 everywhere if the team to move is on turn on this board.
    OnTurn,
    /// 1 everywhere if the team to move may move on this board now.
    MayMove,
    /// 1 everywhere if this board is drawn.
    Drawn,
    /// The steps by which the team to move has more time here than the opponent on the other board.
    Ahead,
    /// The steps by which it has less time.
    Behind,
}

impl InputPlane {
    /// Returns its name in layouts. Networks store these names, so that they must not change.
    fn name(self) -> String {
        match self {
            InputPlane::Board => "Board".to_owned(),
            InputPlane::NotFirstSide => "Second".to_owned(),
            InputPlane::Repeated => "Repeated".to_owned(),
            InputPlane::Clock => "Clock".to_owned(),
            InputPlane::Claimed(place) => format!("Claimed({place})"),
            InputPlane::Pieces(role, own) => format!("Men({role:?}, {own})"),
            InputPlane::Pocket(role, own) => format!("Hand({role:?}, {own})"),
            InputPlane::Promoted => "Promoted".to_owned(),
            InputPlane::Castling(own) => format!("Castling({own})"),
            InputPlane::EnPassant => "EnPassant".to_owned(),
            InputPlane::Wall => "Wall".to_owned(),
            InputPlane::MidTurn => "Phase".to_owned(),
            InputPlane::Checks(own) => format!("Checks({own})"),
            InputPlane::OnTurn => "OnTurn".to_owned(),
            InputPlane::MayMove => "Asked".to_owned(),
            InputPlane::Drawn => "Drawn".to_owned(),
            InputPlane::Ahead => "Ahead".to_owned(),
            InputPlane::Behind => "Behind".to_owned(),
        }
    }
}

/// The input planes of one game.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    planes: Vec<InputPlane>,
    sides: usize,
    files: usize,
    ranks: usize,
    mirrored: bool,
    checks: f32,
    /// In bughouse, the number of planes of the position as a whole. The planes of the board on which the
    /// team to move has white follow, then those of the other board.
    shared: Option<usize>,
}

/// Returns the prefix of the names of a board's planes, by the color that the team to move has there.
pub(super) fn board_prefix(color: Color) -> &'static str {
    color.fold_wb("White.", "Black.")
}

/// Each of these differences between two clocks, in milliseconds, that is exceeded counts as a step.
const LEAD_STEPS_MS: [i64; 6] = [1_000, 2_000, 5_000, 10_000, 20_000, 60_000];

/// Converts a difference between two clocks to steps with its sign. Steps keep positions a few moves
/// apart equal for a cache.
pub(super) fn lead_step(lead: i64) -> i8 {
    let steps = LEAD_STEPS_MS.iter().filter(|&&least| lead.abs() > least).count() as i8;
    if lead < 0 { -steps } else { steps }
}

/// Converts the half-move clock to steps of 8 plies, up to the limit. Steps keep positions a few moves
/// apart equal for a cache.
pub(super) fn clock_step(halfmoves: u32) -> u32 {
    halfmoves.min(CLOCK_LIMIT_PLIES) / 8
}

const CLOCK_LIMIT_PLIES: u32 = 100;

/// The largest [`clock_step`].
pub(super) const MAX_CLOCK_STEP: u32 = CLOCK_LIMIT_PLIES / 8;

/// The largest [`lead_step`].
pub(super) const LEAD_STEPS: usize = LEAD_STEPS_MS.len();

impl Planes {
    pub(super) fn new(game_spec: &GameSpec) -> Planes {
        let mut planes = vec![InputPlane::Board];
        let shared = game_spec.two_boards.then_some(2);
        if game_spec.two_boards {
            planes.extend([
                InputPlane::NotFirstSide,
                InputPlane::OnTurn,
                InputPlane::MayMove,
                InputPlane::Drawn,
            ]);
            planes.extend([
                InputPlane::Ahead,
                InputPlane::Behind,
                InputPlane::Repeated,
                InputPlane::Clock,
            ]);
        } else if game_spec.places {
            planes.extend((0..game_spec.sides).map(InputPlane::Claimed));
        } else {
            planes.extend([InputPlane::NotFirstSide, InputPlane::Repeated, InputPlane::Clock]);
        }
        for own in [true, false] {
            planes.extend(game_spec.roles.iter().map(|&role| InputPlane::Pieces(role, own)));
            planes.extend(game_spec.drops.iter().map(|&role| InputPlane::Pocket(role, own)));
            planes.extend(game_spec.castling.then_some(InputPlane::Castling(own)));
            planes.extend(game_spec.checks.map(|_| InputPlane::Checks(own)));
        }
        planes.extend(game_spec.promoted.then_some(InputPlane::Promoted));
        planes.extend(game_spec.en_passant.then_some(InputPlane::EnPassant));
        planes.extend(game_spec.barriers.then_some(InputPlane::Wall));
        planes.extend(game_spec.walls.then_some(InputPlane::MidTurn));
        if let Some(shared) = shared {
            planes.extend_from_within(shared..);
        }
        Planes {
            planes,
            shared,
            sides: game_spec.sides,
            files: game_spec.files,
            ranks: game_spec.ranks,
            mirrored: game_spec.mirrored,
            checks: f32::from(game_spec.checks.unwrap_or(1)),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.planes.len()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let planes = self.planes.iter().enumerate();
        let name = |(index, plane): (usize, &InputPlane)| {
            format!("{}{}", self.board_color(index).map_or("", board_prefix), plane.name())
        };
        planes.map(name).collect()
    }

    /// Returns the color that the team to move has on the board of a plane, or `None` if the plane is not
    /// that of one of two boards.
    fn board_color(&self, index: usize) -> Option<Color> {
        let shared = self.shared.filter(|&shared| index >= shared)?;
        let planes_per_board = (self.planes.len() - shared) / 2;
        Some(Color::from_white(index < shared + planes_per_board))
    }

    pub(super) fn write(&self, view: &View<'_>, out: &mut [f32]) {
        out.fill(0.0);
        let squares = self.files * self.ranks;
        let Some(shared) = self.shared else {
            return self.write_some(&self.planes, view, &view.boards[0], out);
        };
        let (planes, board_planes) = self.planes.split_at(shared);
        let (out, mut rest) = out.split_at_mut(shared * squares);
        self.write_some(planes, view, &view.boards[0], out);
        let planes_per_board = board_planes.len() / 2;
        for (color, planes) in Color::ALL.into_iter().zip(board_planes.chunks(planes_per_board)) {
            let (out, others) = rest.split_at_mut(planes_per_board * squares);
            self.write_some(planes, view, view.on(view.board_with(color)), out);
            rest = others;
        }
    }

    /// Writes some of the planes, those of a board from `board`. `out` is zero before.
    fn write_some(
        &self,
        planes: &[InputPlane],
        view: &View<'_>,
        board: &BoardView<'_>,
        out: &mut [f32],
    ) {
        let us = board.turn;
        let owner = |own: bool| if own { us } else { !us };
        let flip = self.mirrored && us == Color::Black;
        let squares = self.files * self.ranks;
        for (plane, out) in planes.iter().zip(out.chunks_exact_mut(squares)) {
            match *plane {
                InputPlane::Board => out.fill(1.0),
                InputPlane::NotFirstSide if view.mover != Side::WHITE => out.fill(1.0),
                InputPlane::OnTurn if board.team.on_turn => out.fill(1.0),
                InputPlane::MayMove if board.team.may_move => out.fill(1.0),
                InputPlane::Drawn if board.team.drawn => out.fill(1.0),
                InputPlane::Repeated if board.repeated => out.fill(1.0),
                InputPlane::MidTurn if view.mid_turn => out.fill(1.0),
                InputPlane::NotFirstSide
                | InputPlane::OnTurn
                | InputPlane::MayMove
                | InputPlane::Drawn
                | InputPlane::Repeated
                | InputPlane::MidTurn => {}
                InputPlane::Ahead | InputPlane::Behind => {
                    let lead = lead_step(board.team.lead);
                    let steps = if *plane == InputPlane::Ahead { lead } else { -lead };
                    if steps > 0 {
                        out.fill(f32::from(steps) / LEAD_STEPS as f32);
                    }
                }
                InputPlane::Wall => self.mark(board.walls, flip, out),
                InputPlane::Clock => {
                    let steps = clock_step(board.halfmoves);
                    if steps > 0 {
                        out.fill(8.0 * steps as f32 / CLOCK_LIMIT_PLIES as f32);
                    }
                }
                InputPlane::Claimed(place) => {
                    let side = view.mover.after(place, self.sides);
                    self.mark(view.cells[side], flip, out);
                }
                InputPlane::Pieces(role, own) => {
                    self.mark(board.pieces.by_piece(role.of(owner(own))), flip, out);
                }
                InputPlane::Pocket(role, own) => {
                    let count = board.hands.map_or(0, |hands| hands[owner(own)][role]);
                    if count > 0 {
                        out.fill(f32::from(count) / 4.0);
                    }
                }
                InputPlane::Promoted => self.mark(board.promoted, flip, out),
                InputPlane::Castling(own) => {
                    self.mark(board.castling & board.pieces.by_color(owner(own)), flip, out);
                }
                InputPlane::EnPassant => {
                    let square = board.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
                    self.mark(square, flip, out);
                }
                InputPlane::Checks(own) => {
                    let left = board.checks.map_or(0, |checks| checks[owner(own)]);
                    out.fill(f32::from(left) / self.checks);
                }
            }
        }
    }

    fn mark(&self, squares: Bitboard, flip: bool, out: &mut [f32]) {
        for square in squares {
            out[cell(square, flip, self.files, self.ranks)] = 1.0;
        }
    }
}

/// Returns the index of a square of the 8x8 board in a plane, rank by rank from the first rank of the
/// side to move.
pub(super) fn cell(square: Square, flip: bool, files: usize, ranks: usize) -> usize {
    let file = usize::from(square.file());
    let rank = usize::from(square.rank());
    let row = if flip { ranks - 1 - rank } else { rank };
    row * files + file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::Catalogue;

    #[test]
    fn plane_names_are_those_of_stored_networks() {
        let game_spec = Catalogue::shipped().get("bughouse2").expect("shipped").start().game_spec();
        let names = Planes::new(&game_spec).names();
        assert_eq!(
            names[..10],
            [
                "Board",
                "Second",
                "White.OnTurn",
                "White.Asked",
                "White.Drawn",
                "White.Ahead",
                "White.Behind",
                "White.Repeated",
                "White.Clock",
                "White.Men(Pawn, true)",
            ]
        );
    }
}

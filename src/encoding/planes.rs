//! The input planes: men, hands, rights and counters, as far as the game has them.

use crate::rules::{Anatomy, Bitboard, Color, Role, Square, View};

/// What one or more consecutive planes hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plane {
    /// 1 on each square of the board: convolutions see where it ends.
    Board,
    /// 1 everywhere if the mover is not the first side.
    Second,
    /// 1 everywhere if the position stood before.
    Repeated,
    /// The half-move clock, in steps, as a part of its limit.
    Clock,
    /// What is claimed by the side so many places after the mover.
    Claimed(usize),
    /// Men of a role of the mover (`true`) or of the opponent.
    Men(Role, bool),
    /// How many men of a role are in hand, a quarter each.
    Hand(Role, bool),
    /// Men that are promoted pawns.
    Promoted,
    /// Rooks that may castle.
    Castling(bool),
    /// The square of a possible en passant capture.
    EnPassant,
    /// The squares that are closed, the duck's too.
    Wall,
    /// 1 everywhere if the mover has begun its turn and owes the rest of it.
    Phase,
    /// How many checks are still to be given, as a part of those at the start.
    Checks(bool),
}

/// The planes of one game.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    planes: Vec<Plane>,
    sides: usize,
    files: usize,
    ranks: usize,
    mirrored: bool,
    checks: f32,
}

/// The half-move clock as the planes tell it: in steps of 8, so that positions a few moves apart
/// look alike to a cache, up to the limit.
pub(super) fn clock_step(halfmoves: u32) -> u32 {
    halfmoves.min(CLOCK_LIMIT) / 8
}

const CLOCK_LIMIT: u32 = 100;

impl Planes {
    pub(super) fn new(anatomy: &Anatomy) -> Planes {
        let mut planes = vec![Plane::Board];
        if anatomy.places {
            planes.extend((0..anatomy.sides).map(Plane::Claimed));
        } else {
            planes.extend([Plane::Second, Plane::Repeated, Plane::Clock]);
        }
        for mine in [true, false] {
            planes.extend(anatomy.roles.iter().map(|&role| Plane::Men(role, mine)));
            planes.extend(anatomy.drops.iter().map(|&role| Plane::Hand(role, mine)));
            planes.extend(anatomy.castling.then_some(Plane::Castling(mine)));
            planes.extend(anatomy.checks.map(|_| Plane::Checks(mine)));
        }
        planes.extend(anatomy.promoted.then_some(Plane::Promoted));
        planes.extend(anatomy.en_passant.then_some(Plane::EnPassant));
        planes.extend(anatomy.barriers.then_some(Plane::Wall));
        planes.extend(anatomy.walls.then_some(Plane::Phase));
        Planes {
            planes,
            sides: anatomy.sides,
            files: anatomy.files,
            ranks: anatomy.ranks,
            mirrored: anatomy.mirrored,
            checks: f32::from(anatomy.checks.unwrap_or(1)),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.planes.len()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.planes.iter().map(|plane| format!("{plane:?}")).collect()
    }

    pub(super) fn write(&self, view: View<'_>, out: &mut [f32]) {
        let us = view.turn;
        let owner = |mine: bool| if mine { us } else { !us };
        let flip = self.mirrored && us == Color::Black;
        let squares = self.files * self.ranks;
        out.fill(0.0);
        for (plane, out) in self.planes.iter().zip(out.chunks_exact_mut(squares)) {
            match *plane {
                Plane::Board => out.fill(1.0),
                Plane::Second if us == Color::Black => out.fill(1.0),
                Plane::Repeated if view.repeated => out.fill(1.0),
                Plane::Phase if view.mid_turn => out.fill(1.0),
                Plane::Second | Plane::Repeated | Plane::Phase => {}
                Plane::Wall => self.mark(view.walls, flip, out),
                Plane::Clock => {
                    let steps = clock_step(view.halfmoves);
                    if steps > 0 {
                        out.fill(8.0 * steps as f32 / CLOCK_LIMIT as f32);
                    }
                }
                Plane::Claimed(seat) => {
                    let side = view.mover.after(seat, self.sides);
                    self.mark(view.cells[side], flip, out);
                }
                Plane::Men(role, mine) => {
                    self.mark(view.board.by_piece(role.of(owner(mine))), flip, out);
                }
                Plane::Hand(role, mine) => {
                    let count = view.hands.map_or(0, |hands| hands[owner(mine)][role]);
                    if count > 0 {
                        out.fill(f32::from(count) / 4.0);
                    }
                }
                Plane::Promoted => self.mark(view.promoted, flip, out),
                Plane::Castling(mine) => {
                    self.mark(view.castling & view.board.by_color(owner(mine)), flip, out);
                }
                Plane::EnPassant => {
                    let square = view.en_passant.map_or(Bitboard::EMPTY, Bitboard::from_square);
                    self.mark(square, flip, out);
                }
                Plane::Checks(mine) => {
                    let left = view.checks.map_or(0, |checks| checks[owner(mine)]);
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

/// Where a square of the 8x8 board lies in a plane, rank by rank from the mover's first.
pub(super) fn cell(square: Square, flip: bool, files: usize, ranks: usize) -> usize {
    let (file, rank) = (usize::from(square.file()), usize::from(square.rank()));
    let rank = if flip { ranks - 1 - rank } else { rank };
    rank * files + file
}

//! The input planes: men, hands, rights and counters, as far as the game has them.

use crate::rules::{Bitboard, Color, GameSpec, Role, Side, Square, View};

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
    /// 1 everywhere if the mover is on turn at a table.
    OnTurn,
    /// 1 everywhere if it may make a move there now.
    EvalStats,
    /// 1 everywhere if the table's game is drawn.
    Drawn,
    /// How much more time the mover has there than the opponent at the other table has, in steps.
    Ahead,
    /// How much less.
    Behind,
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
    /// Where there are two tables: after the first so many planes, which are of the position as a
    /// whole, those of the table at which the mover has White follow, then those of the other.
    shared: Option<usize>,
}

/// What the names of a table's planes begin with, by the mover's colour there.
pub(super) fn table_name(color: Color) -> &'static str {
    color.fold_wb("White.", "Black.")
}

/// From so many milliseconds on, a difference between two clocks is one step greater.
const LEADS: [i64; 6] = [1_000, 2_000, 5_000, 10_000, 20_000, 60_000];

/// A difference between two clocks as the planes tell it: in steps, so that positions a few moves
/// apart look alike to a cache, and with its sign.
pub(super) fn lead_step(lead: i64) -> i8 {
    let steps = LEADS.iter().filter(|&&least| lead.abs() > least).count() as i8;
    if lead < 0 { -steps } else { steps }
}

/// The half-move clock as the planes tell it: in steps of 8, so that positions a few moves apart
/// look alike to a cache, up to the limit.
pub(super) fn clock_step(halfmoves: u32) -> u32 {
    halfmoves.min(CLOCK_LIMIT) / 8
}

const CLOCK_LIMIT: u32 = 100;

/// The largest [`clock_step`].
pub(super) const MAX_CLOCK_STEP: u32 = CLOCK_LIMIT / 8;

/// The largest [`lead_step`].
pub(super) const LEAD_STEPS: usize = LEADS.len();

impl Planes {
    pub(super) fn new(game_spec: &GameSpec) -> Planes {
        let mut planes = vec![Plane::Board];
        let shared = game_spec.tables.then_some(2);
        if game_spec.tables {
            planes.extend([Plane::Second, Plane::OnTurn, Plane::EvalStats, Plane::Drawn]);
            planes.extend([Plane::Ahead, Plane::Behind, Plane::Repeated, Plane::Clock]);
        } else if game_spec.places {
            planes.extend((0..game_spec.sides).map(Plane::Claimed));
        } else {
            planes.extend([Plane::Second, Plane::Repeated, Plane::Clock]);
        }
        for mine in [true, false] {
            planes.extend(game_spec.roles.iter().map(|&role| Plane::Men(role, mine)));
            planes.extend(game_spec.drops.iter().map(|&role| Plane::Hand(role, mine)));
            planes.extend(game_spec.castling.then_some(Plane::Castling(mine)));
            planes.extend(game_spec.checks.map(|_| Plane::Checks(mine)));
        }
        planes.extend(game_spec.promoted.then_some(Plane::Promoted));
        planes.extend(game_spec.en_passant.then_some(Plane::EnPassant));
        planes.extend(game_spec.barriers.then_some(Plane::Wall));
        planes.extend(game_spec.walls.then_some(Plane::Phase));
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
        let table = |nth| self.table(nth).map_or("", table_name);
        let planes = self.planes.iter().enumerate();
        planes.map(|(nth, plane)| format!("{}{plane:?}", table(nth))).collect()
    }

    /// The table whose plane is number `nth`, by the mover's colour there; `None` if that is not
    /// asked.
    fn table(&self, nth: usize) -> Option<Color> {
        let shared = self.shared.filter(|&shared| nth >= shared)?;
        let each = (self.planes.len() - shared) / 2;
        Some(Color::from_white(nth < shared + each))
    }

    pub(super) fn write(&self, view: View<'_>, out: &mut [f32]) {
        out.fill(0.0);
        let squares = self.files * self.ranks;
        let Some(shared) = self.shared else { return self.write_some(&self.planes, view, out) };
        let (planes, of_tables) = self.planes.split_at(shared);
        let (out, mut rest) = out.split_at_mut(shared * squares);
        self.write_some(planes, view, out);
        let each = of_tables.len() / 2;
        for (color, planes) in Color::ALL.into_iter().zip(of_tables.chunks(each)) {
            let (out, others) = rest.split_at_mut(each * squares);
            self.write_some(planes, view.table_of(color), out);
            rest = others;
        }
    }

    /// Writes some of the planes over zeros.
    fn write_some(&self, planes: &[Plane], view: View<'_>, out: &mut [f32]) {
        let us = view.turn;
        let owner = |mine: bool| if mine { us } else { !us };
        let flip = self.mirrored && us == Color::Black;
        let squares = self.files * self.ranks;
        for (plane, out) in planes.iter().zip(out.chunks_exact_mut(squares)) {
            match *plane {
                Plane::Board => out.fill(1.0),
                Plane::Second if view.mover != Side::WHITE => out.fill(1.0),
                Plane::OnTurn if view.seat.on_turn => out.fill(1.0),
                Plane::EvalStats if view.seat.asked => out.fill(1.0),
                Plane::Drawn if view.seat.drawn => out.fill(1.0),
                Plane::OnTurn | Plane::EvalStats | Plane::Drawn => {}
                Plane::Ahead | Plane::Behind => {
                    let steps = lead_step(view.seat.lead);
                    let steps = if *plane == Plane::Ahead { steps } else { -steps };
                    if steps > 0 {
                        out.fill(f32::from(steps) / LEADS.len() as f32);
                    }
                }
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

//! The policy planes: the move planes of AlphaZero as far as the game needs them, and drops.

use std::sync::Arc;

use super::PolicyIndex;
use super::planes::{board_prefix, cell};
use crate::rules::{BoardId, Color, GameSpec, Move, Role, Side, Square};

/// The moves of one policy plane. Steps are at their origin, other moves at their destination.
///
/// Networks store the `Debug` text of these planes as their names, so that it must not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PolicyPlane {
    /// A step by this number of files and ranks, like a queen or a knight, with the usual promotion.
    Go(i8, i8),
    /// A promotion to another piece, with a step by this number of files.
    Promote(Role, i8),
    /// A drop.
    Drop(Role),
    /// A claimed cell.
    Place,
    /// A wall or the duck.
    Wall,
    /// Sitting on this board, on the first square. The other squares are unused.
    Pass,
}

/// The policy planes of one game. In bughouse these are the planes of the board on which the team to
/// move has white; those of the other board follow.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    planes: Vec<PolicyPlane>,
    two_boards: bool,
    /// The plane of each step, by the difference of files and of ranks, from -7 to 7.
    go: Arc<[[u8; 15]; 15]>,
    promotions: Vec<Role>,
    /// The index of the first plane of other promotions than the usual one.
    promote: usize,
    drops: Vec<Role>,
    /// The index of the first plane of drops.
    drop: usize,
    /// The index of the plane of walls.
    wall: usize,
    /// The index of the plane of sitting.
    pass: usize,
    files: usize,
    ranks: usize,
    mirrored: bool,
}

const LINES: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
const JUMPS: [(i8, i8); 8] =
    [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

impl Policy {
    pub(super) fn new(game_spec: &GameSpec) -> Policy {
        let files = game_spec.files as i8;
        let ranks = game_spec.ranks as i8;
        let fits_on_board = |&(right, up): &(i8, i8)| right.abs() < files && up.abs() < ranks;
        let mut planes = Vec::new();
        if !game_spec.roles.is_empty() {
            let steps_of_length = |n: i8| LINES.map(|(right, up)| (n * right, n * up));
            let lines = (1..files.max(ranks)).flat_map(steps_of_length).filter(fits_on_board);
            planes.extend(lines.map(|(right, up)| PolicyPlane::Go(right, up)));
        }
        if game_spec.roles.contains(&Role::Knight) {
            let jumps = JUMPS.into_iter().filter(fits_on_board);
            planes.extend(jumps.map(|(right, up)| PolicyPlane::Go(right, up)));
        }
        let mut go = [[0; 15]; 15];
        for (index, plane) in planes.iter().enumerate() {
            if let PolicyPlane::Go(right, up) = plane {
                go[offset(*right)][offset(*up)] = index as u8;
            }
        }
        let promote = planes.len();
        for &role in game_spec.promotions.iter().skip(1) {
            planes.extend([-1, 0, 1].map(|right| PolicyPlane::Promote(role, right)));
        }
        let drop = planes.len();
        planes.extend(game_spec.drops.iter().map(|&role| PolicyPlane::Drop(role)));
        planes.extend(game_spec.places.then_some(PolicyPlane::Place));
        let wall = planes.len();
        planes.extend(game_spec.walls.then_some(PolicyPlane::Wall));
        let pass = planes.len();
        planes.extend(game_spec.two_boards.then_some(PolicyPlane::Pass));
        Policy {
            planes,
            two_boards: game_spec.two_boards,
            go: Arc::new(go),
            promotions: game_spec.promotions.clone(),
            promote,
            drops: game_spec.drops.clone(),
            drop,
            wall,
            pass,
            files: game_spec.files,
            ranks: game_spec.ranks,
            mirrored: game_spec.mirrored,
        }
    }

    /// Returns `true` if the game has two boards.
    pub(super) fn has_two_boards(&self) -> bool {
        self.two_boards
    }

    pub(super) fn planes(&self) -> usize {
        if self.two_boards { 2 * self.planes.len() } else { self.planes.len() }
    }

    pub(super) fn names(&self) -> Vec<String> {
        if !self.two_boards {
            return self.planes.iter().map(|plane| format!("{plane:?}")).collect();
        }
        let board_names = |color: Color| {
            self.planes.iter().map(move |plane| format!("{}{plane:?}", board_prefix(color)))
        };
        Color::ALL.into_iter().flat_map(board_names).collect()
    }

    /// Returns the index of sitting on the board on which the team to move has `color`.
    pub(super) fn sits(&self, color: Color) -> PolicyIndex {
        let first = if color.is_black() { self.planes.len() } else { 0 };
        PolicyIndex(((first + self.pass) * self.files * self.ranks) as u16)
    }

    /// Returns the index of a move other than `Move::Pass`, whose index is [`Policy::sits`].
    pub(super) fn index(&self, mover: Side, m: Move) -> PolicyIndex {
        // A team has different colors on the two boards.
        let color = Color::from_white((mover == Side::WHITE) == (m.board() == BoardId::A));
        let first = if self.two_boards && color.is_black() { self.planes.len() } else { 0 };
        let flip = self.mirrored && color.is_black();
        let (plane, square) = match m {
            Move::Step { from, to, promotion, .. } => (self.step(from, to, promotion, flip), from),
            Move::Drop { role, to, .. } => {
                let number = self.drops.iter().position(|&drop| drop == role);
                (self.drop + number.unwrap_or(0), to)
            }
            Move::Place(to) => (self.drop + self.drops.len(), to),
            Move::Wall(to) => (self.wall, to),
            Move::Pass => return self.sits(color),
        };
        let cell = cell(square, flip, self.files, self.ranks);
        let plane = first + plane;
        PolicyIndex((plane * self.files * self.ranks + cell) as u16)
    }

    fn step(&self, from: Square, to: Square, promotion: Option<Role>, flip: bool) -> usize {
        let right = i8::from(to.file()) - i8::from(from.file());
        let north = i8::from(to.rank()) - i8::from(from.rank());
        let up = if flip { -north } else { north };
        let choice = promotion.and_then(|to| self.promotions.iter().position(|&role| role == to));
        match choice {
            Some(number @ 1..) => self.promote + 3 * (number - 1) + (right + 1) as usize,
            _ => usize::from(self.go[offset(right)][offset(up)]),
        }
    }
}

/// Returns the index of a difference of files or ranks in `Policy::go`.
fn offset(difference: i8) -> usize {
    (difference + 7) as usize
}

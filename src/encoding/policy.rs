//! The policy planes: AlphaZero's move planes as far as the game needs them, and drops.

use std::sync::Arc;

use super::PolicyIndex;
use super::planes::{cell, table_name};
use crate::rules::{Color, GameSpec, Move, Role, Side, Square, Table};

/// What one policy plane holds: for a move of a man, of the square where it starts; else of the
/// square where it lands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plane {
    /// So many files and ranks away, along a line or a knight's jump, with the usual promotion.
    Go(i8, i8),
    /// A promotion to another man, so many files to the right.
    Promote(Role, i8),
    /// A drop.
    Drop(Role),
    /// A cell that is claimed.
    Place,
    /// The duck.
    Wall,
    /// That the mover sits at this table, on one square; the others stand for nothing.
    Pass,
}

/// The policy planes of one game. Where there are two tables, these are the planes of the one at
/// which the mover has White; those of the other follow.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    planes: Vec<Plane>,
    tables: bool,
    /// The plane of each step by files and ranks away, from -7 to 7.
    go: Arc<[[u8; 15]; 15]>,
    promotions: Vec<Role>,
    /// The first plane of the lesser promotions.
    promote: usize,
    drops: Vec<Role>,
    /// The first plane of the drops.
    drop: usize,
    /// The plane of the duck.
    wall: usize,
    /// The plane of sitting.
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
        let (files, ranks) = (game_spec.files as i8, game_spec.ranks as i8);
        let fits = |&(right, up): &(i8, i8)| right.abs() < files && up.abs() < ranks;
        let mut planes = Vec::new();
        if !game_spec.roles.is_empty() {
            let far = |n: i8| LINES.map(|(right, up)| (n * right, n * up));
            let lines = (1..files.max(ranks)).flat_map(far).filter(fits);
            planes.extend(lines.map(|(right, up)| Plane::Go(right, up)));
        }
        if game_spec.roles.contains(&Role::Knight) {
            let jumps = JUMPS.into_iter().filter(fits);
            planes.extend(jumps.map(|(right, up)| Plane::Go(right, up)));
        }
        let mut go = [[0; 15]; 15];
        for (index, plane) in planes.iter().enumerate() {
            if let Plane::Go(right, up) = plane {
                go[offset(*right)][offset(*up)] = index as u8;
            }
        }
        let promote = planes.len();
        for &role in game_spec.promotions.iter().skip(1) {
            planes.extend([-1, 0, 1].map(|right| Plane::Promote(role, right)));
        }
        let drop = planes.len();
        planes.extend(game_spec.drops.iter().map(|&role| Plane::Drop(role)));
        planes.extend(game_spec.places.then_some(Plane::Place));
        let wall = planes.len();
        planes.extend(game_spec.walls.then_some(Plane::Wall));
        let pass = planes.len();
        planes.extend(game_spec.tables.then_some(Plane::Pass));
        Policy {
            planes,
            tables: game_spec.tables,
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

    /// Whether there are two tables.
    pub(super) fn tables(&self) -> bool {
        self.tables
    }

    pub(super) fn planes(&self) -> usize {
        if self.tables { 2 * self.planes.len() } else { self.planes.len() }
    }

    pub(super) fn names(&self) -> Vec<String> {
        if !self.tables {
            return self.planes.iter().map(|plane| format!("{plane:?}")).collect();
        }
        let of_table = |color: Color| {
            self.planes.iter().map(move |plane| format!("{}{plane:?}", table_name(color)))
        };
        Color::ALL.into_iter().flat_map(of_table).collect()
    }

    /// That the mover sits at the table where it has `color`.
    pub(super) fn sits(&self, color: Color) -> PolicyIndex {
        let first = if color.is_black() { self.planes.len() } else { 0 };
        PolicyIndex(((first + self.pass) * self.files * self.ranks) as u16)
    }

    /// A move other than to sit, which is [`Policy::sits`].
    pub(super) fn index(&self, mover: Side, m: Move) -> PolicyIndex {
        // The mover's partner has the other colour at the other table.
        let (table, m) = m.split();
        let color = Color::from_white((mover == Side::WHITE) == (table == Table::A));
        let first = if self.tables && color.is_black() { self.planes.len() } else { 0 };
        let flip = self.mirrored && color.is_black();
        let (plane, square) = match m {
            Move::Step { from, to, promotion } => (self.step(from, to, promotion, flip), from),
            Move::Drop { role, to } => {
                let nth = self.drops.iter().position(|&drop| drop == role);
                (self.drop + nth.unwrap_or(0), to)
            }
            Move::Place(to) => (self.drop + self.drops.len(), to),
            Move::Wall(to) => (self.wall, to),
            Move::Second(_) | Move::Pass => return self.sits(color),
        };
        let cell = cell(square, flip, self.files, self.ranks);
        let plane = first + plane;
        PolicyIndex((plane * self.files * self.ranks + cell) as u16)
    }

    fn step(&self, from: Square, to: Square, promotion: Option<Role>, flip: bool) -> usize {
        let right = i8::from(to.file()) - i8::from(from.file());
        let up = i8::from(to.rank()) - i8::from(from.rank());
        let up = if flip { -up } else { up };
        let chosen = promotion.and_then(|to| self.promotions.iter().position(|&role| role == to));
        match chosen {
            Some(nth @ 1..) => self.promote + 3 * (nth - 1) + (right + 1) as usize,
            _ => usize::from(self.go[offset(right)][offset(up)]),
        }
    }
}

/// Where the table of steps has a difference of files or ranks.
fn offset(difference: i8) -> usize {
    (difference + 7) as usize
}

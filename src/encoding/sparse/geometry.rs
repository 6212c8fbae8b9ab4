//! Squares as the side to move sees them.

use std::fmt;

use crate::rules::{Bitboard, Color, GameSpec, Square};
use shakmaty::attacks;

/// How a board is turned before it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Orientation {
    /// Ranks are reversed.
    pub(super) flipped: bool,
    /// Files are reversed.
    pub(super) mirrored: bool,
}

impl Orientation {
    fn index(self) -> usize {
        usize::from(self.flipped) | usize::from(self.mirrored) << 1
    }
}

/// Step from one square to another that no piece can make.
const NO_STEP: u16 = u16::MAX;

/// Distance between two ranks in [`Geometry::grid`]: differences of files are -7 to 7.
const GRID_STRIDE: usize = 15;

/// Number of differences between two squares of [`Geometry::grid`].
pub(super) const OFFSETS: usize = GRID_STRIDE * GRID_STRIDE;

/// Board size, orientation and the numbering of squares and steps.
#[derive(Debug)]
pub(super) struct Geometry {
    files: usize,
    ranks: usize,
    /// Black sees the board upside down.
    flips: bool,
    /// A king on the left half is seen on the right half.
    mirrors: bool,
    area: Bitboard,
    /// Cell (rank by rank from the first) of each square, by orientation.
    cells: [[u8; 64]; 4],
    /// File plus 15 times the rank of each square, by orientation.
    grid: [[u8; 64]; 4],
    /// Number of each step, by cell and cell: steps along a line or a knight's jump.
    steps: Vec<u16>,
    step_count: usize,
}

impl Geometry {
    pub(super) fn new(game_spec: &GameSpec) -> Geometry {
        let files = game_spec.files;
        let ranks = game_spec.ranks;
        let inside = |square: &Square| {
            usize::from(square.file()) < files && usize::from(square.rank()) < ranks
        };
        let area: Bitboard = Square::ALL.into_iter().filter(inside).collect();
        let mut cells = [[0; 64]; 4];
        let mut grid = [[0; 64]; 4];
        for flipped in [false, true] {
            for mirrored in [false, true] {
                let orientation = Orientation { flipped, mirrored }.index();
                for square in area {
                    let (mut file, mut rank) =
                        (usize::from(square.file()), usize::from(square.rank()));
                    if mirrored {
                        file = files - 1 - file;
                    }
                    if flipped {
                        rank = ranks - 1 - rank;
                    }
                    cells[orientation][usize::from(square)] = (rank * files + file) as u8;
                    grid[orientation][usize::from(square)] = (rank * GRID_STRIDE + file) as u8;
                }
            }
        }
        let squares = files * ranks;
        let mut steps = vec![NO_STEP; squares * squares];
        let mut step_count = 0;
        let upright = Orientation::default().index();
        for from in area {
            let lines = attacks::queen_attacks(from, Bitboard::EMPTY);
            for to in (lines | attacks::knight_attacks(from)) & area {
                let cell = |square: Square| usize::from(cells[upright][usize::from(square)]);
                steps[cell(from) * squares + cell(to)] = step_count as u16;
                step_count += 1;
            }
        }
        let flips = game_spec.mirrored;
        let mirrors = game_spec.symmetry.files;
        Geometry { files, ranks, flips, mirrors, area, cells, grid, steps, step_count }
    }

    pub(super) fn files(&self) -> usize {
        self.files
    }

    /// Returns the number of files and of ranks.
    pub(super) fn board(&self) -> [usize; 2] {
        [self.files, self.ranks]
    }

    /// Returns the number of squares.
    pub(super) fn squares(&self) -> usize {
        self.files * self.ranks
    }

    /// Returns the squares of the board.
    pub(super) fn area(&self) -> Bitboard {
        self.area
    }

    /// Returns the number of different steps.
    pub(super) fn step_count(&self) -> usize {
        self.step_count
    }

    /// Returns the number of the step between two cells.
    #[inline]
    pub(super) fn step(&self, from: usize, to: usize) -> u16 {
        self.steps[from * self.squares() + to]
    }

    /// Returns how `us` sees a board on which its only king, if it has one, stands on `king`.
    pub(super) fn orientation(&self, us: Color, king: Option<Square>) -> Orientation {
        let left = |king: Square| 2 * usize::from(king.file()) + 1 < self.files;
        Orientation {
            flipped: self.flips && us.is_black(),
            mirrored: self.mirrors && king.is_some_and(left),
        }
    }

    /// Returns the cell of each square.
    pub(super) fn cells(&self, orientation: Orientation) -> &[u8; 64] {
        &self.cells[orientation.index()]
    }

    /// Returns the place of each square in a grid in which the difference of two places shows how their
    /// files and ranks differ ([`offset`]).
    pub(super) fn grid(&self, orientation: Orientation) -> &[u8; 64] {
        &self.grid[orientation.index()]
    }
}

/// Returns where `to` lies as seen from `from`, both places of a grid: a number below [`OFFSETS`].
#[inline]
pub(super) fn offset(from: u8, to: u8) -> usize {
    (OFFSETS / 2 + usize::from(to)) - usize::from(from)
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flips = if self.flips { " flip" } else { "" };
        let mirrors = if self.mirrors { " mirror" } else { "" };
        write!(f, "{}x{}{flips}{mirrors}", self.files, self.ranks)
    }
}

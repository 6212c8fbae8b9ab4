//! Sparse encoding: a position as a list of active inputs, a legal move as a few rows of a table.
//!
//! A sparse network sums one row of weights per active input and scores a legal move by the rows of that
//! move. The work depends on what stands on the board, not on the size of the board, and moves that are
//! not legal cost nothing.
//!
//! Inputs and move rows come in named blocks ([`Block`]), which are derived from [`GameSpec`] alone.
//! Games that have a block of the same name and size in common mean the same by it.

mod attack_map;
mod blocks;
mod checks;
mod geometry;
mod index_map;
mod inputs;
mod layout;
mod moves;
mod offers;
mod places;
mod scene;
mod threats;

use std::sync::Arc;

use self::blocks::BlockList;
use self::geometry::Geometry;
use self::inputs::{InputBlocks, OptionalBlocks};
use self::moves::MoveBlocks;
use self::places::{Compact, InputSink, Placed};
use self::scene::Scene;
use super::planes::board_prefix;
use crate::rules::{Color, GameSpec, Move, Position};

pub use self::blocks::Block;
pub use self::index_map::IndexMap;
pub use self::layout::{SparseLayout, SparseLayoutError};

/// Rows that are summed for each legal move.
const ROWS_PER_MOVE: usize = 4;

/// Classes of the value head: encodings are of games of two sides.
const OUTCOMES: usize = 3;

/// Name of the encoding in the metadata of networks.
pub const NAME: &str = "sparse";

/// Version of the encoding: raised when an index of the same layout changes its meaning.
pub const VERSION: u32 = 1;

/// Sizes of a sparse encoding.
///
/// All indices fit 16 bits, including the padding rows `inputs` and `move_rows`, which are one past the
/// end and stand for a row of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SparseShape {
    /// Number of inputs: rows of the input table.
    pub inputs: usize,
    /// Number of rows of the move table.
    pub move_rows: usize,
    /// Rows of the move table that are summed for one legal move.
    pub rows_per_move: usize,
    /// Classes of the value head: the mover wins, the next side wins, draw.
    pub outcomes: usize,
}

/// Active inputs and move rows of one position. A reused value keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseInput {
    /// Indices of the active inputs, each at most once, below [`SparseShape::inputs`]. After
    /// [`SparseEncoding::write_placed`] there are padding rows among them.
    pub inputs: Vec<u16>,
    /// Rows of the legal moves in their order, [`SparseShape::rows_per_move`] each, at most
    /// [`SparseShape::move_rows`], which is the padding row.
    pub move_rows: Vec<u16>,
}

/// Sparse encoding of one game.
///
/// Each board is seen from the side to move: upside down for Black (unless both sides run for the same
/// rank, [`GameSpec::mirrored`]), and with the files reversed if the only king of the side to move stands
/// on the left half, in games whose rules do not distinguish left from right. Of two boards the one on which the
/// side to move has White comes first, and each is turned by itself.
///
/// Cloning is cheap: clones share their tables.
#[derive(Clone, Debug)]
pub struct SparseEncoding {
    tables: Arc<Tables>,
}

#[derive(Debug)]
struct Tables {
    geometry: Geometry,
    inputs: InputBlocks,
    moves: MoveBlocks,
    input_list: BlockList,
    move_list: BlockList,
    shape: SparseShape,
    /// A wall on the board leaves its square when the next one is put down.
    wall_moves: bool,
}

impl SparseEncoding {
    /// Returns the encoding of a game, or `None` if the game has no pieces that move.
    pub fn new(game_spec: &GameSpec) -> Option<SparseEncoding> {
        SparseEncoding::with_blocks(game_spec, OptionalBlocks::ALL)
    }

    /// Returns the encoding for a network whose layout is `layout`: inputs that some networks of the game do not have
    /// are left out if it does not name them, so that they take no time.
    pub fn for_layout(game_spec: &GameSpec, layout: &str) -> Option<SparseEncoding> {
        SparseEncoding::with_blocks(game_spec, OptionalBlocks::of_layout(layout))
    }

    fn with_blocks(game_spec: &GameSpec, optional: OptionalBlocks) -> Option<SparseEncoding> {
        if game_spec.roles.is_empty() || game_spec.sides != 2 {
            return None;
        }
        let mut input_list = BlockList::default();
        let mut move_list = BlockList::default();
        let geometry = Geometry::new(game_spec);
        let prefixes: &[&str] = if game_spec.two_boards {
            &[board_prefix(Color::White), board_prefix(Color::Black)]
        } else {
            &[""]
        };
        let inputs = InputBlocks::new(game_spec, optional, prefixes, &mut input_list);
        let moves = MoveBlocks::new(game_spec, &geometry, prefixes, &mut move_list);
        let shape = SparseShape {
            inputs: input_list.size(),
            move_rows: move_list.size(),
            rows_per_move: ROWS_PER_MOVE,
            outcomes: OUTCOMES,
        };
        assert!(shape.inputs.max(shape.move_rows) <= usize::from(u16::MAX));
        let wall_moves = game_spec.wall_moves;
        let tables = Tables { geometry, inputs, moves, input_list, move_list, shape, wall_moves };
        Some(SparseEncoding { tables: Arc::new(tables) })
    }

    /// Returns the sizes.
    pub fn shape(&self) -> SparseShape {
        self.tables.shape
    }

    /// Returns the number of files and of ranks of a board.
    pub fn board(&self) -> [usize; 2] {
        self.tables.geometry.board()
    }

    /// Returns the blocks of the inputs, in order.
    pub fn input_blocks(&self) -> &[Block] {
        self.tables.input_list.blocks()
    }

    /// Returns the blocks of the move rows, in order.
    pub fn move_blocks(&self) -> &[Block] {
        self.tables.move_list.blocks()
    }

    /// Returns the board, its orientation, and each block with its size. Two encodings with the same
    /// layout are the same.
    pub fn layout(&self) -> String {
        let Tables { geometry, input_list, move_list, .. } = &*self.tables;
        format!("{NAME} {VERSION} {geometry} inputs: {input_list}; moves: {move_list}")
    }

    /// Returns the board and its orientation, as `8x8 flip mirror`.
    pub fn geometry(&self) -> String {
        self.tables.geometry.to_string()
    }

    /// Replaces `out` by the active inputs of `position` and the rows of its legal moves.
    ///
    /// `position` must be of the game of this encoding, and `legal` must be legal moves. Without moves, writing takes
    /// much less time.
    pub fn write(&self, position: &Position, legal: &[Move], out: &mut SparseInput) {
        let SparseInput { inputs, move_rows } = out;
        inputs.clear();
        self.write_to(position, legal, &mut Compact(inputs), move_rows);
    }

    /// Does the same as [`SparseEncoding::write`], but gives each input a place of its own. The others have the padding
    /// row. In similar positions, most places have the same input.
    pub fn write_placed(&self, position: &Position, legal: &[Move], out: &mut SparseInput) {
        let Tables { inputs: blocks, shape, .. } = &*self.tables;
        let SparseInput { inputs, move_rows } = out;
        inputs.clear();
        inputs.resize(blocks.places(), shape.inputs as u16);
        self.write_to(position, legal, &mut Placed(inputs), move_rows);
    }

    fn write_to(
        &self,
        position: &Position,
        legal: &[Move],
        out: &mut impl InputSink,
        move_rows: &mut Vec<u16>,
    ) {
        let Tables { geometry, inputs, moves, shape, wall_moves, .. } = &*self.tables;
        let view = position.view();
        move_rows.clear();
        move_rows.resize(legal.len() * ROWS_PER_MOVE, shape.move_rows as u16);
        inputs.write_common(&view, out);
        let first = Scene::new(geometry, &view.boards[0], *wall_moves);
        let Some(second) = view.boards.get(1) else {
            inputs.write_board(0, geometry, &first, out);
            if legal.is_empty() {
                return;
            }
            return moves.write(geometry, [&first, &first], legal, move_rows);
        };
        let second = Scene::new(geometry, second, *wall_moves);
        for scene in [&first, &second] {
            let board = usize::from(scene.us.is_black());
            inputs.write_board(board, geometry, scene, out);
        }
        moves.write(geometry, [&first, &second], legal, move_rows);
    }
}

//! Layout of the tables of a sparse network: the blocks of one encoding, or the union of the blocks of
//! several games.
//!
//! A network for several games is a base: it has each block of its games once. The inputs for rules tell it the game.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use super::blocks::{Block, BlockList};
use super::{NAME, OUTCOMES, ROWS_PER_MOVE, SparseEncoding, SparseShape, VERSION};

/// Characters of a text that an error message quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// Blocks of the tables of a sparse network.
///
/// The text of a layout ([`fmt::Display`]) names boards, variants, and blocks with their sizes. It does not
/// hold [`Block::group`]: in a layout that was read from text, all groups are of size 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseLayout {
    /// Files and ranks of the boards.
    boards: Vec<[usize; 2]>,
    /// Variants of a base, sorted; empty if the layout is that of one encoding.
    variants: Vec<String>,
    inputs: BlockList,
    moves: BlockList,
}

/// Why there is no such layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SparseLayoutError {
    /// The text does not have the parts of a layout.
    #[error("not a layout of sparse tables, version {VERSION}: \"{0}\"")]
    Text(String),
    /// A board, a variant or a block of the text is not valid, or occurs twice.
    #[error("not valid in a layout of sparse tables: \"{0}\"")]
    Word(String),
    /// The blocks have more indices than 16 bits can distinguish.
    #[error("the {kind} have {count} indices, {} are possible; use fewer variants", u16::MAX)]
    Indices {
        /// `inputs` or `move rows`.
        kind: &'static str,
        /// The number of indices.
        count: usize,
    },
    /// Two boards have the same number of squares: blocks of the same name and size would differ.
    #[error("the boards {0} and {1} have the same number of squares; train a base for each")]
    Boards(String, String),
}

impl SparseLayout {
    /// Returns the layout of an encoding.
    pub fn of(encoding: &SparseEncoding) -> SparseLayout {
        SparseLayout {
            boards: vec![encoding.board()],
            variants: Vec::new(),
            inputs: encoding.tables.input_list.clone(),
            moves: encoding.tables.move_list.clone(),
        }
    }

    /// Reads the layout of one encoding, see [`SparseEncoding::layout`], and its [`SparseEncoding::geometry`].
    ///
    /// # Errors
    /// [`SparseLayoutError`] if it is none.
    pub fn of_one_game(text: &str) -> Result<(String, SparseLayout), SparseLayoutError> {
        let malformed = || SparseLayoutError::Text(shortened(text));
        let (head, blocks) = text.split_once(" inputs: ").ok_or_else(malformed)?;
        let geometry = head.strip_prefix(&format!("{NAME} {VERSION} ")).ok_or_else(malformed)?;
        let (inputs, moves) = blocks.split_once("; moves: ").ok_or_else(malformed)?;
        let board = geometry.split(' ').next().unwrap_or_default();
        let layout = SparseLayout {
            boards: vec![parse_board(board)?],
            variants: Vec::new(),
            inputs: parse_blocks("inputs", inputs)?,
            moves: parse_blocks("move rows", moves)?,
        };
        layout.check()?;
        Ok((geometry.to_owned(), layout))
    }

    /// Returns the layout of a base for several games, which are named. It does not depend on their order.
    ///
    /// # Errors
    /// [`SparseLayoutError::Word`] if a name occurs twice or has a space in it,
    /// [`SparseLayoutError::Boards`], or [`SparseLayoutError::Indices`].
    pub fn union(games: &[(&str, &SparseEncoding)]) -> Result<SparseLayout, SparseLayoutError> {
        let mut games = games.to_vec();
        games.sort_by_key(|(name, _)| *name);
        let mut boards: Vec<[usize; 2]> = Vec::new();
        let mut inputs = UnionList::default();
        let mut moves = UnionList::default();
        for (_, encoding) in &games {
            if !boards.contains(&encoding.board()) {
                boards.push(encoding.board());
            }
            inputs.add_missing(encoding.input_blocks());
            moves.add_missing(encoding.move_blocks());
        }
        let layout = SparseLayout {
            boards,
            variants: games.iter().map(|(name, _)| (*name).to_owned()).collect(),
            inputs: inputs.list,
            moves: moves.list,
        };
        layout.check()?;
        Ok(layout)
    }

    /// Checks what does not depend on the blocks' names.
    fn check(&self) -> Result<(), SparseLayoutError> {
        for (kind, list) in [("inputs", &self.inputs), ("move rows", &self.moves)] {
            let count = list.size();
            if count > usize::from(u16::MAX) {
                return Err(SparseLayoutError::Indices { kind, count });
            }
        }
        let mut names = HashSet::new();
        for name in &self.variants {
            let is_word = !name.is_empty() && !name.contains([' ', ';']);
            if !is_word || !names.insert(name) {
                return Err(SparseLayoutError::Word(shortened(name)));
            }
        }
        let mut by_squares = HashMap::new();
        for board in &self.boards {
            let [files, ranks] = board;
            if let Some(other) = by_squares.insert(files * ranks, board) {
                return Err(SparseLayoutError::Boards(board_name(other), board_name(board)));
            }
        }
        Ok(())
    }

    /// Returns the sizes.
    pub fn shape(&self) -> SparseShape {
        SparseShape {
            inputs: self.inputs.size(),
            move_rows: self.moves.size(),
            rows_per_move: ROWS_PER_MOVE,
            outcomes: OUTCOMES,
        }
    }

    /// Returns the blocks of the inputs, in order.
    pub fn input_blocks(&self) -> &[Block] {
        self.inputs.blocks()
    }

    /// Returns the blocks of the move rows, in order.
    pub fn move_blocks(&self) -> &[Block] {
        self.moves.blocks()
    }

    /// Returns `true` if it is the layout of a base.
    pub fn is_base(&self) -> bool {
        !self.variants.is_empty()
    }

    /// Returns the variants of a base, sorted; none if it is not a base.
    pub fn variants(&self) -> &[String] {
        &self.variants
    }

    /// Returns whether there is a game on a board of this size.
    pub fn has_board(&self, encoding: &SparseEncoding) -> bool {
        self.boards.contains(&encoding.board())
    }

    /// Returns the sizes of the boards, as `5x5 8x8`.
    pub fn boards(&self) -> String {
        joined(self.boards.iter().map(board_name))
    }
}

/// Blocks of several encodings, each name and size once.
#[derive(Default)]
struct UnionList {
    list: BlockList,
    seen: HashSet<(String, usize)>,
}

impl UnionList {
    fn add_missing(&mut self, blocks: &[Block]) {
        for Block { name, size, group, .. } in blocks {
            if self.seen.insert((name.clone(), *size)) {
                self.list.add_grouped(name.clone(), size / group, *group);
            }
        }
    }
}

impl fmt::Display for SparseLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SparseLayout { variants, inputs, moves, .. } = self;
        let boards = self.boards();
        let variants = variants.join(" ");
        write!(
            f,
            "{NAME} {VERSION} boards: {boards}; variants: {variants}; inputs: {inputs}; moves: {moves}"
        )
    }
}

impl FromStr for SparseLayout {
    type Err = SparseLayoutError;

    fn from_str(text: &str) -> Result<SparseLayout, SparseLayoutError> {
        let malformed = || SparseLayoutError::Text(shortened(text));
        let parts: Vec<&str> = text.split("; ").collect();
        let [boards, variants, inputs, moves] = parts[..] else { return Err(malformed()) };
        let boards =
            boards.strip_prefix(&format!("{NAME} {VERSION} boards: ")).ok_or_else(malformed)?;
        let variants = variants.strip_prefix("variants: ").ok_or_else(malformed)?;
        let inputs = inputs.strip_prefix("inputs: ").ok_or_else(malformed)?;
        let moves = moves.strip_prefix("moves: ").ok_or_else(malformed)?;
        let layout = SparseLayout {
            boards: boards.split(' ').map(parse_board).collect::<Result<_, _>>()?,
            variants: variants.split_terminator(' ').map(str::to_owned).collect(),
            inputs: parse_blocks("inputs", inputs)?,
            moves: parse_blocks("move rows", moves)?,
        };
        layout.check()?;
        Ok(layout)
    }
}

fn parse_board(word: &str) -> Result<[usize; 2], SparseLayoutError> {
    let board = word.split_once('x').and_then(|(files, ranks)| {
        let board: [usize; 2] = [files.parse().ok()?, ranks.parse().ok()?];
        board.iter().all(|size| (1..=8).contains(size)).then_some(board)
    });
    board.ok_or_else(|| SparseLayoutError::Word(shortened(word)))
}

fn parse_blocks(kind: &'static str, text: &str) -> Result<BlockList, SparseLayoutError> {
    let mut list = BlockList::default();
    let mut seen = HashSet::new();
    for word in text.split(' ') {
        let block = word.rsplit_once(':').and_then(|(name, size)| {
            let size: usize = size.parse().ok()?;
            (!name.is_empty() && size > 0 && seen.insert((name, size))).then_some((name, size))
        });
        let (name, size) = block.ok_or_else(|| SparseLayoutError::Word(shortened(word)))?;
        let count = list.size().saturating_add(size);
        if count > usize::from(u16::MAX) {
            return Err(SparseLayoutError::Indices { kind, count });
        }
        list.add(name.to_owned(), size);
    }
    Ok(list)
}

fn board_name(board: &[usize; 2]) -> String {
    let [files, ranks] = board;
    format!("{files}x{ranks}")
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}

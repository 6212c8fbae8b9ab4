//! Named blocks of consecutive indices.

use std::fmt;

/// Names of the sides: the side to move, the other side.
pub(super) const SIDES: [&str; 2] = ["own", "other"];

/// Consecutive indices that mean the same kind of thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name, for example `piece-square(King,own)`. Within an encoding each name occurs once.
    pub name: String,
    /// First index.
    pub first: usize,
    /// Number of indices.
    pub size: usize,
    /// Indices come in groups of this size whose members differ in detail only (one piece on one square,
    /// attacked or not): a trainer may give each group a shared row. 1 without groups.
    pub group: usize,
}

/// Blocks in the order of their indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockList {
    blocks: Vec<Block>,
}

impl BlockList {
    /// Appends a block and returns its first index.
    pub(super) fn add(&mut self, name: String, size: usize) -> u16 {
        self.add_grouped(name, size, 1)
    }

    /// Appends a block of groups and returns its first index.
    pub(super) fn add_grouped(&mut self, name: String, groups: usize, group: usize) -> u16 {
        let first = self.size();
        self.blocks.push(Block { name, first, size: groups * group, group });
        first as u16
    }

    /// Returns the number of indices of all blocks.
    pub(super) fn size(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.first + block.size)
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

impl fmt::Display for BlockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, Block { name, size, .. }) in self.blocks.iter().enumerate() {
            let separator = if nth == 0 { "" } else { " " };
            write!(f, "{separator}{name}:{size}")?;
        }
        Ok(())
    }
}

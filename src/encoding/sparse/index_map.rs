//! Map from the indices of one layout to those of another, by the names and sizes of blocks.

use std::collections::HashMap;

use super::SparseInput;
use super::blocks::Block;
use super::layout::SparseLayout;

/// Where the indices of one layout stand in another. An index of a block that the other layout does not
/// have is mapped to the padding row.
#[derive(Clone, Debug)]
pub struct IndexMap {
    /// By input.
    inputs: Vec<u16>,
    /// By move row; the last one is the padding row.
    move_rows: Vec<u16>,
    input_padding: u16,
    move_padding: u16,
    missing: Vec<String>,
}

impl IndexMap {
    /// Returns the map from `source` to `target`.
    pub fn new(source: &SparseLayout, target: &SparseLayout) -> IndexMap {
        let to = target.shape();
        let mut missing = Vec::new();
        let mut map =
            |source, target, padding| mapped(source, target, padding as u16, &mut missing);
        let inputs = map(source.input_blocks(), target.input_blocks(), to.inputs);
        let mut move_rows = map(source.move_blocks(), target.move_blocks(), to.move_rows);
        move_rows.push(to.move_rows as u16);
        IndexMap {
            inputs,
            move_rows,
            input_padding: to.inputs as u16,
            move_padding: to.move_rows as u16,
            missing,
        }
    }

    /// Returns the input of the target for one of the source; its padding row if it has none.
    #[inline]
    pub fn input(&self, input: u16) -> u16 {
        self.inputs.get(usize::from(input)).copied().unwrap_or(self.input_padding)
    }

    /// Returns the move row of the target for one of the source; its padding row if it has none.
    #[inline]
    pub fn move_row(&self, row: u16) -> u16 {
        self.move_rows.get(usize::from(row)).copied().unwrap_or(self.move_padding)
    }

    /// Returns the padding row of the target's inputs.
    pub fn input_padding(&self) -> u16 {
        self.input_padding
    }

    /// Returns the padding row of the target's move rows.
    pub fn move_padding(&self) -> u16 {
        self.move_padding
    }

    /// Replaces the indices of a position by those of the target. Inputs that it does not have are left out.
    pub fn apply(&self, position: &mut SparseInput) {
        self.apply_placed(position);
        position.inputs.retain(|&input| input != self.input_padding);
    }

    /// Does the same for a position of [`SparseEncoding::write_placed`](super::SparseEncoding::write_placed): inputs
    /// keep their places.
    pub fn apply_placed(&self, position: &mut SparseInput) {
        position.inputs.iter_mut().for_each(|input| *input = self.input(*input));
        position.move_rows.iter_mut().for_each(|row| *row = self.move_row(*row));
    }

    /// Returns the names of the blocks that the target does not have.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the share of the source's move rows, 0 to 1, that the target does not have.
    pub fn missing_move_rows(&self) -> f32 {
        let (_, rows) = self.move_rows.split_last().unwrap_or((&0, &[]));
        let missing = rows.iter().filter(|&&row| row == self.move_padding).count();
        missing as f32 / rows.len().max(1) as f32
    }
}

fn mapped(source: &[Block], target: &[Block], padding: u16, missing: &mut Vec<String>) -> Vec<u16> {
    let places: HashMap<(&str, usize), usize> =
        target.iter().map(|block| ((block.name.as_str(), block.size), block.first)).collect();
    let mut indices = Vec::new();
    for Block { name, size, .. } in source {
        match places.get(&(name.as_str(), *size)) {
            Some(&first) => indices.extend((first..first + size).map(|index| index as u16)),
            None => {
                indices.resize(indices.len() + size, padding);
                missing.push(name.clone());
            }
        }
    }
    indices
}

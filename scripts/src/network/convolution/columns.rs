//! Boards of many positions side by side: the plain slices behind a convolution.

/// Boards `[batch, channels, height, width]` without the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boards {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Boards {
    /// Squares of one board.
    pub(super) fn squares(self) -> usize {
        self.height * self.width
    }

    /// Numbers of one position: the boards of all its channels.
    pub(super) fn position(self) -> usize {
        self.channels * self.squares()
    }

    /// The columns of a convolution: `[channels, kernel, kernel, positions, squares]`, each square
    /// seen through each shift of the kernel, zero beyond the edge.
    pub(super) fn columns(self, positions: &[f32], kernel: usize, columns: &mut [f32]) {
        let squares = self.squares();
        let across = positions.len() / self.channels;
        let pad = (kernel / 2) as isize;
        for (row, columns) in columns.chunks_exact_mut(across).enumerate() {
            let (channel, tap) = (row / (kernel * kernel), row % (kernel * kernel));
            let down = (tap / kernel) as isize - pad;
            let right = (tap % kernel) as isize - pad;
            let boards = positions.chunks_exact(self.position());
            for (position, column) in boards.zip(columns.chunks_exact_mut(squares)) {
                let board = &position[channel * squares..(channel + 1) * squares];
                self.shift(board, down, right, column);
            }
        }
    }

    /// Writes into each square of `to` what lies `down` ranks and `right` files from it.
    fn shift(self, board: &[f32], down: isize, right: isize, to: &mut [f32]) {
        let squares = self.squares();
        // One run, in which rows wrap around at the edges, and then the wrapped files cleared.
        let by = down * self.width as isize + right;
        let gap = by.unsigned_abs().min(squares);
        if by >= 0 {
            to[..squares - gap].copy_from_slice(&board[gap..]);
            to[squares - gap..].fill(0.0);
        } else {
            to[gap..].copy_from_slice(&board[..squares - gap]);
            to[..gap].fill(0.0);
        }
        let edge = right.unsigned_abs().min(self.width);
        let wrapped = if right >= 0 {
            self.width - edge..self.width
        } else {
            0..edge
        };
        for file in wrapped {
            to.iter_mut()
                .skip(file)
                .step_by(self.width)
                .for_each(|number| *number = 0.0);
        }
    }

    /// The positions as one matrix, `[channels, positions, squares]`.
    pub(super) fn gather(self, positions: &[f32], matrix: &mut [f32]) {
        let squares = self.squares();
        let across = positions.len() / self.channels;
        for (at, position) in positions.chunks_exact(self.position()).enumerate() {
            for (channel, board) in position.chunks_exact(squares).enumerate() {
                let to = channel * across + at * squares;
                matrix[to..to + squares].copy_from_slice(board);
            }
        }
    }

    /// The reverse of [`Boards::gather`], with a bias added to each channel.
    pub(super) fn scatter(self, matrix: &[f32], bias: Option<&[f32]>, positions: &mut [f32]) {
        let squares = self.squares();
        let across = positions.len() / self.channels;
        for (at, position) in positions.chunks_exact_mut(self.position()).enumerate() {
            for (channel, board) in position.chunks_exact_mut(squares).enumerate() {
                let from = channel * across + at * squares;
                let bias = bias.map_or(0.0, |bias| bias[channel]);
                for (to, from) in board.iter_mut().zip(&matrix[from..from + squares]) {
                    *to = from + bias;
                }
            }
        }
    }
}

/// Kernels `[outputs, inputs, taps]` with inputs and outputs swapped and the taps reversed.
pub(super) fn turn(kernels: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let taps = kernels.len() / (outputs * inputs);
    let mut turned = Vec::with_capacity(kernels.len());
    for input in 0..inputs {
        for output in 0..outputs {
            let from = (output * inputs + input) * taps;
            turned.extend(kernels[from..from + taps].iter().rev());
        }
    }
    turned
}

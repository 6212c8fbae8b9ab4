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
    pub(super) fn columns(self, positions: &[f32], kernel: usize) -> Vec<f32> {
        let squares = self.squares();
        let pad = (kernel / 2) as isize;
        let mut columns = Vec::with_capacity(positions.len() * kernel * kernel);
        for row in 0..self.channels * kernel * kernel {
            let (channel, tap) = (row / (kernel * kernel), row % (kernel * kernel));
            let down = (tap / kernel) as isize - pad;
            let right = (tap % kernel) as isize - pad;
            for position in positions.chunks_exact(self.position()) {
                let board = &position[channel * squares..(channel + 1) * squares];
                self.push_shifted(board, down, right, &mut columns);
            }
        }
        columns
    }

    /// Appends, for each square, what lies `down` ranks and `right` files from it.
    fn push_shifted(self, board: &[f32], down: isize, right: isize, to: &mut Vec<f32>) {
        let squares = self.squares();
        let start = to.len();
        // One run, in which rows wrap around at the edges, and then the wrapped files cleared.
        let by = down * self.width as isize + right;
        let gap = by.unsigned_abs().min(squares);
        if by >= 0 {
            to.extend_from_slice(&board[gap..]);
            to.resize(start + squares, 0.0);
        } else {
            to.resize(start + gap, 0.0);
            to.extend_from_slice(&board[..squares - gap]);
        }
        let edge = right.unsigned_abs().min(self.width);
        let wrapped = if right >= 0 { self.width - edge..self.width } else { 0..edge };
        for file in wrapped {
            let squares = to[start..].iter_mut().skip(file).step_by(self.width);
            squares.for_each(|number| *number = 0.0);
        }
    }

    /// The positions as one matrix, `[channels, positions, squares]`.
    pub(super) fn gather(self, positions: &[f32]) -> Vec<f32> {
        let squares = self.squares();
        let mut matrix = Vec::with_capacity(positions.len());
        for channel in 0..self.channels {
            for position in positions.chunks_exact(self.position()) {
                matrix.extend_from_slice(&position[channel * squares..(channel + 1) * squares]);
            }
        }
        matrix
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

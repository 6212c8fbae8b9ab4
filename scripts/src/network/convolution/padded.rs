//! Boards with an edge of noughts around them, on which a shift is one run of numbers: the plain
//! slices behind a convolution of each channel with a kernel of its own.

/// One board and the size of the kernel that goes over it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padded {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) kernel: usize,
}

impl Padded {
    /// Numbers of a padded board, with room for the outermost shifts of all of its rows.
    pub(super) fn len(self) -> usize {
        (self.height + 2 * self.pad() + 1) * self.across()
    }

    fn pad(self) -> usize {
        self.kernel / 2
    }

    fn across(self) -> usize {
        self.width + 2 * self.pad()
    }

    /// Lays a board into the middle of a padded one that is noughts elsewhere.
    pub(super) fn lay(self, board: &[f32], padded: &mut [f32]) {
        let rows = padded.chunks_exact_mut(self.across()).skip(self.pad());
        for (row, to) in board.chunks_exact(self.width).zip(rows) {
            to[self.pad()..self.pad() + self.width].copy_from_slice(row);
        }
    }

    /// The run of numbers that each square of the board, and the edge after each row, sees through
    /// one tap of the kernel.
    fn seen(self, padded: &[f32], tap: usize) -> &[f32] {
        let from = tap / self.kernel * self.across() + tap % self.kernel;
        &padded[from..from + self.height * self.across()]
    }

    /// The board convolved with `kernel`, plus `bias`. `run` is room for as many numbers as it
    /// likes.
    pub(super) fn convolve(
        self,
        padded: &[f32],
        kernel: &[f32],
        bias: f32,
        run: &mut Vec<f32>,
        board: &mut [f32],
    ) {
        run.clear();
        run.resize(self.height * self.across(), bias);
        for (tap, weight) in kernel.iter().enumerate() {
            let seen = self.seen(padded, tap);
            run.iter_mut().zip(seen).for_each(|(sum, number)| *sum += weight * number);
        }
        for (to, row) in board.chunks_exact_mut(self.width).zip(run.chunks_exact(self.across())) {
            to.copy_from_slice(&row[..self.width]);
        }
    }

    /// Adds to `slopes` the kernel's gradient: how the board's numbers, seen through each tap, go
    /// with the gradient of what came out. `slope` is that gradient, padded likewise.
    pub(super) fn gather(self, padded: &[f32], slope: &[f32], slopes: &mut [f32]) {
        let middle = self.pad() * self.kernel + self.pad();
        let slope = self.seen(slope, middle);
        for (tap, sum) in slopes.iter_mut().enumerate() {
            // The edge of the slope is nought, so what the edge sees does not count.
            *sum += dot(slope, self.seen(padded, tap));
        }
    }
}

/// A sum of products in eight parts, of which the compiler makes vectors.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, left_rest) = left.as_chunks::<8>();
    let (right, right_rest) = right.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left * right);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

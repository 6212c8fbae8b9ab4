//! Convolutions of 3x3 kernels in tiles of 4x4 squares, over plain slices.
//!
//! Winograd's F(4x4, 3x3) (Lavin and Gray, 2016, section 4): [`InputTransform`] and [`kernel_at_points`]
//! transform the 6x6 input squares of a tile and the kernel to 36 points, where they are multiplied, and
//! [`OutputTransform`] transforms the sums over channels to 4x4 output squares. That takes 36 products a tile
//! instead of 144. At each point it is one matrix product over the tiles of many positions, with channels as
//! columns. The gradients use the transposed matrices.
//!
//! Boards are `[positions, squares, channels]`, kernels `[outputs, inputs, 3, 3]`. The edges are padded with
//! zeros.

mod points;
mod products;

use aligned_vec::{AVec, ConstAlign};
use pulp::{Simd, WithSimd, bytemuck};

use points::{
    Aligned, InputTransform, InputTransposed, LineTransform, OutputTransform, OutputTransposed,
    kernel_at_points, kernel_gradient, transform_square,
};
use products::{multiply_rows, outer};

/// Squares along the output of a tile.
const TILE: usize = 4;
/// Squares along the input of a tile.
const SPAN: usize = TILE + TAPS - 1;
/// Squares along a kernel.
const TAPS: usize = 3;
const POINTS: usize = SPAN * SPAN;

/// Number of numbers at the points of the tiles that are processed together: the size of the L2 cache.
const CHUNK_NUMBERS: usize = 1 << 18;

/// The sizes of a board and the channels of input and output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boards {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Boards {
    fn squares(self) -> usize {
        self.height * self.width
    }

    fn across(self) -> usize {
        self.width.div_ceil(TILE)
    }

    fn tiles(self) -> usize {
        self.height.div_ceil(TILE) * self.across()
    }

    /// Returns the `SIDE` times `SIDE` squares around the center of a tile; `None` for those off the board.
    fn squares_around<const SIDE: usize>(self, tile: usize) -> [[Option<usize>; SIDE]; SIDE] {
        let along = |tile: usize, by: usize, length: usize| {
            (tile * TILE + by).checked_sub((SIDE - TILE) / 2).filter(|&at| at < length)
        };
        let square = |down: usize, right: usize| {
            let rank = along(tile / self.across(), down, self.height)?;
            let file = along(tile % self.across(), right, self.width)?;
            Some(rank * self.width + file)
        };
        std::array::from_fn(|down| std::array::from_fn(|right| square(down, right)))
    }

    /// The number of positions that are processed together.
    fn chunk_positions(self) -> usize {
        (CHUNK_NUMBERS / (POINTS * self.tiles() * (self.inputs + self.outputs))).max(1)
    }
}

/// A convolution, which is added to `output`; [`WithSimd`] computes it.
#[derive(Debug)]
pub(super) struct Forward<'a> {
    pub(super) boards: Boards,
    pub(super) kernels: &'a [f32],
    pub(super) input: &'a [f32],
    pub(super) output: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Forward { boards, kernels, input, output } = self;
        let kernels = kernels_at_points(simd, boards, kernels, false);
        let chunk = boards.chunk_positions();
        let squares = boards.squares();
        let inputs = input.chunks(chunk * squares * boards.inputs);
        let outputs = output.chunks_mut(chunk * squares * boards.outputs);
        let mut input_points = Points::new(simd, boards.inputs);
        let mut output_points = Points::new(simd, boards.outputs);
        for (input, output) in inputs.zip(outputs) {
            input_points.load_boards::<S, InputTransform, SPAN>(simd, boards, input);
            output_points.multiply(simd, &input_points, &kernels);
            output_points.add_to_boards::<S, OutputTransform, TILE>(simd, boards, output);
        }
    }
}

/// The gradients of a convolution, which are added to the slopes; [`WithSimd`] computes them.
#[derive(Debug)]
pub(super) struct Backward<'a> {
    pub(super) boards: Boards,
    pub(super) kernels: &'a [f32],
    pub(super) input: &'a [f32],
    /// The gradient of the output.
    pub(super) slope: &'a [f32],
    /// The gradient of the input, if it is needed.
    pub(super) input_slope: Option<&'a mut [f32]>,
    pub(super) kernel_slope: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Backward { boards, kernels, input, slope, mut input_slope, kernel_slope } = self;
        let transposed = kernels_at_points(simd, boards, kernels, true);
        let mut sums = Points::new(simd, boards.outputs);
        sums.resize(simd, boards.inputs);
        let chunk_squares = boards.chunk_positions() * boards.squares();
        let chunk_in = chunk_squares * boards.inputs;
        let chunk_out = chunk_squares * boards.outputs;
        let mut input_points = Points::new(simd, boards.inputs);
        let mut slope_points = Points::new(simd, boards.outputs);
        for (nth, slope) in slope.chunks(chunk_out).enumerate() {
            let here = nth * chunk_in..(nth * chunk_in + chunk_in).min(input.len());
            input_points.load_boards::<S, InputTransform, SPAN>(simd, boards, &input[here.clone()]);
            slope_points.load_boards::<S, OutputTransposed, TILE>(simd, boards, slope);
            sums.correlate(simd, &input_points, &slope_points);
            if let Some(input_slope) = &mut input_slope {
                input_points.multiply(simd, &slope_points, &transposed);
                input_points.add_to_boards::<S, InputTransposed, SPAN>(
                    simd,
                    boards,
                    &mut input_slope[here],
                );
            }
        }
        let mut kernels = kernel_slope.as_chunks_mut::<{ TAPS * TAPS }>().0.iter_mut();
        for output in 0..boards.outputs {
            for (input, kernel) in (0..boards.inputs).zip(&mut kernels) {
                let points = std::array::from_fn(|point| sums.numbers(point, input)[output]);
                let slope = kernel_gradient(&points);
                for (sum, slope) in kernel.iter_mut().zip(slope) {
                    *sum += slope;
                }
            }
        }
    }
}

/// Alignment to cache lines, so that no vector lies in two of them.
type CacheLine = ConstAlign<64>;

/// A matrix at each point: rows of channels, in vectors padded with zeros.
struct Points<V> {
    channels: usize,
    vectors: usize,
    rows: usize,
    all: AVec<V, CacheLine>,
}

impl<V: Copy + bytemuck::Pod> Points<V> {
    fn new<S: Simd<f32s = V>>(_: S, channels: usize) -> Self {
        Points { channels, vectors: channels.div_ceil(S::F32_LANES), rows: 0, all: AVec::new(0) }
    }

    /// Sets the number of rows at each point. New numbers are zero, others are unspecified.
    fn resize<S: Simd<f32s = V>>(&mut self, simd: S, rows: usize) {
        self.rows = rows;
        self.all.resize(POINTS * rows * self.vectors, simd.splat_f32s(0.0));
    }

    /// The index of the first vector of a row.
    fn row_start(&self, point: usize, row: usize) -> usize {
        (point * self.rows + row) * self.vectors
    }

    /// The numbers of a row, with padding.
    fn numbers(&self, point: usize, row: usize) -> &[f32] {
        bytemuck::cast_slice(&self.all[self.row_start(point, row)..][..self.vectors])
    }

    /// The matrix at a point.
    fn matrix(&self, point: usize) -> &[V] {
        &self.all[self.row_start(point, 0)..][..self.rows * self.vectors]
    }

    fn matrix_mut(&mut self, point: usize) -> &mut [V] {
        let start = self.row_start(point, 0);
        &mut self.all[start..][..self.rows * self.vectors]
    }

    /// The channels in the `nth` vector of a row.
    fn channels_of<S: Simd<f32s = V>>(&self, _: S, nth: usize) -> std::ops::Range<usize> {
        nth * S::F32_LANES..((nth + 1) * S::F32_LANES).min(self.channels)
    }

    /// Writes a square of vectors at the points of a row.
    #[inline(always)]
    fn put(&mut self, row: usize, nth: usize, square: Aligned<[[V; SPAN]; SPAN]>) {
        let start = self.row_start(0, row) + nth;
        let apart = self.rows * self.vectors;
        for (y, line) in square.0.into_iter().enumerate() {
            for (x, vector) in line.into_iter().enumerate() {
                self.all[start + (y * SPAN + x) * apart] = vector;
            }
        }
    }

    /// Returns the vectors at the points of a row; the reverse of [`Points::put`].
    #[inline(always)]
    fn get<S: Simd<f32s = V>>(
        &self,
        simd: S,
        row: usize,
        nth: usize,
    ) -> Aligned<[[V; SPAN]; SPAN]> {
        let start = self.row_start(0, row) + nth;
        let apart = self.rows * self.vectors;
        let mut square = Aligned([[simd.splat_f32s(0.0); SPAN]; SPAN]);
        for (y, line) in square.0.iter_mut().enumerate() {
            for (x, vector) in line.iter_mut().enumerate() {
                *vector = self.all[start + (y * SPAN + x) * apart];
            }
        }
        square
    }

    /// Sets the rows to the transforms of the tiles of boards.
    #[inline(always)]
    fn load_boards<S: Simd<f32s = V>, M: LineTransform<SIDE, SPAN>, const SIDE: usize>(
        &mut self,
        simd: S,
        boards: Boards,
        positions: &[f32],
    ) {
        let size = boards.squares() * self.channels;
        let tiles = boards.tiles();
        self.resize(simd, positions.len() / size * tiles);
        for tile in 0..tiles {
            let squares: [[Option<usize>; SIDE]; SIDE] = boards.squares_around(tile);
            for (row, position) in (tile..).step_by(tiles).zip(positions.chunks_exact(size)) {
                for nth in 0..self.vectors {
                    let range = self.channels_of(simd, nth);
                    let mut square = Aligned([[simd.splat_f32s(0.0); SIDE]; SIDE]);
                    for (line, squares) in square.0.iter_mut().zip(&squares) {
                        for (vector, at) in line.iter_mut().zip(squares) {
                            let Some(at) = at else { continue };
                            let channels = &position[at * self.channels..][range.clone()];
                            *vector = load(simd, channels);
                        }
                    }
                    self.put(row, nth, transform_square::<S, M, SIDE, SPAN>(simd, square));
                }
            }
        }
    }

    /// Adds the transform of each row to the squares of its tile.
    #[inline(always)]
    fn add_to_boards<S: Simd<f32s = V>, M: LineTransform<SPAN, SIDE>, const SIDE: usize>(
        &self,
        simd: S,
        boards: Boards,
        positions: &mut [f32],
    ) {
        let size = boards.squares() * self.channels;
        let tiles = boards.tiles();
        for tile in 0..tiles {
            let squares: [[Option<usize>; SIDE]; SIDE] = boards.squares_around(tile);
            for (row, position) in (tile..).step_by(tiles).zip(positions.chunks_exact_mut(size)) {
                for nth in 0..self.vectors {
                    let range = self.channels_of(simd, nth);
                    let square =
                        transform_square::<S, M, SPAN, SIDE>(simd, self.get(simd, row, nth));
                    for (line, squares) in square.0.into_iter().zip(&squares) {
                        for (vector, at) in line.into_iter().zip(squares) {
                            let Some(at) = at else { continue };
                            let channels = &mut position[at * self.channels..][range.clone()];
                            let sum = simd.add_f32s(load(simd, channels), vector);
                            store(simd, channels, sum);
                        }
                    }
                }
            }
        }
    }

    /// Sets the matrix at each point to `left` times `right`.
    #[inline(always)]
    fn multiply<S: Simd<f32s = V>>(&mut self, simd: S, left: &Points<V>, right: &Points<V>) {
        let depth = left.channels;
        let vectors = self.vectors;
        let stride = left.vectors * S::F32_LANES;
        self.resize(simd, left.rows);
        for point in 0..POINTS {
            let right = right.matrix(point);
            let left: &[f32] = bytemuck::cast_slice(left.matrix(point));
            let sums = self.matrix_mut(point);
            let block = if S::REGISTER_COUNT < 32 { 4 } else { 8 };
            for (left, sums) in left.chunks(block * stride).zip(sums.chunks_mut(block * vectors)) {
                match left.len() / stride {
                    8 => multiply_rows::<S, 8>(simd, left, [stride, depth], right, sums),
                    4 => multiply_rows::<S, 4>(simd, left, [stride, depth], right, sums),
                    _ => {
                        for (left, sums) in left.chunks(stride).zip(sums.chunks_mut(vectors)) {
                            multiply_rows::<S, 1>(simd, left, [stride, depth], right, sums);
                        }
                    }
                }
            }
        }
    }

    /// Adds the transposed `left` times `right` at each point.
    #[inline(always)]
    fn correlate<S: Simd<f32s = V>>(&mut self, simd: S, left: &Points<V>, right: &Points<V>) {
        let vectors = self.vectors;
        let stride = left.vectors * S::F32_LANES;
        for point in 0..POINTS {
            let right = right.matrix(point);
            let left: &[f32] = bytemuck::cast_slice(left.matrix(point));
            let sums = self.matrix_mut(point);
            let block = if S::REGISTER_COUNT < 32 { 4 } else { 8 };
            for (nth, sums) in sums.chunks_mut(block * vectors).enumerate() {
                let first = nth * block;
                match sums.len() / vectors {
                    8 => outer::<S, 8>(simd, &left[first..], stride, right, sums),
                    4 => outer::<S, 4>(simd, &left[first..], stride, right, sums),
                    _ => {
                        for (one, sums) in (first..).zip(sums.chunks_mut(vectors)) {
                            outer::<S, 1>(simd, &left[one..], stride, right, sums);
                        }
                    }
                }
            }
        }
    }
}

/// Returns the kernels at the points, `[inputs, outputs]`, or `[outputs, inputs]` if transposed.
#[inline(always)]
fn kernels_at_points<S: Simd>(
    simd: S,
    boards: Boards,
    kernels: &[f32],
    transposed: bool,
) -> Points<S::f32s> {
    let Boards { inputs, outputs, .. } = boards;
    let (rows, channels) = if transposed { (outputs, inputs) } else { (inputs, outputs) };
    let mut all = Points::new(simd, channels);
    all.resize(simd, rows);
    let stride = all.vectors * S::F32_LANES;
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(&mut all.all);
    for (nth, kernel) in kernels.as_chunks::<{ TAPS * TAPS }>().0.iter().enumerate() {
        let output = nth / inputs;
        let input = nth % inputs;
        let (row, channel) = if transposed { (output, input) } else { (input, output) };
        for (point, number) in kernel_at_points(kernel).into_iter().enumerate() {
            numbers[(point * rows + row) * stride + channel] = number;
        }
    }
    all
}

/// Returns a vector of channels, padded with zeros.
#[inline(always)]
fn load<S: Simd>(simd: S, channels: &[f32]) -> S::f32s {
    match S::as_simd_f32s(channels).0.first() {
        Some(&whole) => whole,
        None => simd.partial_load_f32s(channels),
    }
}

/// Stores the channels of a vector; the reverse of [`load`].
#[inline(always)]
fn store<S: Simd>(simd: S, channels: &mut [f32], vector: S::f32s) {
    match S::as_mut_simd_f32s(channels).0.first_mut() {
        Some(whole) => *whole = vector,
        None => simd.partial_store_f32s(channels, vector),
    }
}

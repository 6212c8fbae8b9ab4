//! Convolutions of 3x3 kernels in tiles of 4x4 squares: the plain slices behind them.
//!
//! Winograd's F(4x4, 3x3) as Lavin and Gray (2016, section 4) write it: what a tile sees, 6x6 squares,
//! and the kernel are brought to 36 points by [`Seen`] and [`kernel_at_points`], multiplied there, and
//! [`Made`] makes 4x4 squares of the sums over channels. That takes 36 products a tile where the kernel
//! takes 144. At each point it is one matrix product over the tiles of many positions, of which channels are
//! the columns. The gradients go back by the same matrices, turned.
//!
//! Boards are `[positions, squares, channels]`, kernels `[outputs, inputs, 3, 3]`. The edge is noughts.

mod points;
mod products;

use aligned_vec::{AVec, ConstAlign};
use pulp::{Simd, WithSimd, bytemuck};

use points::{
    Aligned, Lines, Made, MadeTurned, Seen, SeenTurned, both, kernel_at_points, kernel_of_points,
};
use products::{outer, rows};

/// Squares along a tile, those along what it sees, and those of a kernel.
const TILE: usize = 4;
const SPAN: usize = TILE + TAPS - 1;
const TAPS: usize = 3;
const POINTS: usize = SPAN * SPAN;

/// Numbers of the points of the tiles that are under way at a time: what a core's second cache holds.
const CHUNK: usize = 1 << 18;

/// A board and the channels before and after.
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

    /// A tile and what is around it, so many squares along the sides, as far as they are on the board.
    fn around<const SIDE: usize>(self, tile: usize) -> [[Option<usize>; SIDE]; SIDE] {
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

    /// How many positions are under way at a time.
    fn chunk(self) -> usize {
        (CHUNK / (POINTS * self.tiles() * (self.inputs + self.outputs))).max(1)
    }
}

/// A convolution, added to what is there; [`WithSimd`] computes it.
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
        let (chunk, squares) = (boards.chunk(), boards.squares());
        let inputs = input.chunks(chunk * squares * boards.inputs);
        let outputs = output.chunks_mut(chunk * squares * boards.outputs);
        let mut seen = Points::new(simd, boards.inputs);
        let mut made = Points::new(simd, boards.outputs);
        for (input, output) in inputs.zip(outputs) {
            seen.enter::<S, Seen, SPAN>(simd, boards, input);
            made.multiply(simd, &seen, &kernels);
            made.leave::<S, Made, TILE>(simd, boards, output);
        }
    }
}

/// The gradients of a convolution, added to what is there; [`WithSimd`] computes them.
#[derive(Debug)]
pub(super) struct Backward<'a> {
    pub(super) boards: Boards,
    pub(super) kernels: &'a [f32],
    pub(super) input: &'a [f32],
    /// The gradient of the output.
    pub(super) slope: &'a [f32],
    /// That of the input, if it is wanted.
    pub(super) input_slope: Option<&'a mut [f32]>,
    pub(super) kernel_slope: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Backward { boards, kernels, input, slope, mut input_slope, kernel_slope } = self;
        let turned = kernels_at_points(simd, boards, kernels, true);
        let mut sums = Points::new(simd, boards.outputs);
        sums.resize(simd, boards.inputs);
        let (chunk, squares) = (boards.chunk(), boards.squares());
        let (chunk_in, chunk_out) =
            (chunk * squares * boards.inputs, chunk * squares * boards.outputs);
        let mut seen = Points::new(simd, boards.inputs);
        let mut pulled = Points::new(simd, boards.outputs);
        for (nth, slope) in slope.chunks(chunk_out).enumerate() {
            let here = nth * chunk_in..(nth * chunk_in + chunk_in).min(input.len());
            seen.enter::<S, Seen, SPAN>(simd, boards, &input[here.clone()]);
            pulled.enter::<S, MadeTurned, TILE>(simd, boards, slope);
            sums.correlate(simd, &seen, &pulled);
            if let Some(input_slope) = &mut input_slope {
                seen.multiply(simd, &pulled, &turned);
                seen.leave::<S, SeenTurned, SPAN>(simd, boards, &mut input_slope[here]);
            }
        }
        let mut kernels = kernel_slope.as_chunks_mut::<{ TAPS * TAPS }>().0.iter_mut();
        for output in 0..boards.outputs {
            for (input, kernel) in (0..boards.inputs).zip(&mut kernels) {
                let points = std::array::from_fn(|point| sums.numbers(point, input)[output]);
                let slope = kernel_of_points(&points);
                kernel.iter_mut().zip(slope).for_each(|(sum, one)| *sum += one);
            }
        }
    }
}

/// Where a line of the cache begins, so that no vector lies in two of them.
type Line = ConstAlign<64>;

/// Matrices at each point: rows of channels, in as many vectors as hold them, noughts after the last.
struct Points<V> {
    channels: usize,
    vectors: usize,
    rows: usize,
    all: AVec<V, Line>,
}

impl<V: Copy + bytemuck::Pod> Points<V> {
    fn new<S: Simd<f32s = V>>(_: S, channels: usize) -> Self {
        Points { channels, vectors: channels.div_ceil(S::F32_LANES), rows: 0, all: AVec::new(0) }
    }

    /// Makes it so many rows at each point, noughts at first and later of whatever numbers.
    fn resize<S: Simd<f32s = V>>(&mut self, simd: S, rows: usize) {
        self.rows = rows;
        self.all.resize(POINTS * rows * self.vectors, simd.splat_f32s(0.0));
    }

    /// Where a row's vectors begin.
    fn at(&self, point: usize, row: usize) -> usize {
        (point * self.rows + row) * self.vectors
    }

    /// A row's numbers, and the noughts after them.
    fn numbers(&self, point: usize, row: usize) -> &[f32] {
        bytemuck::cast_slice(&self.all[self.at(point, row)..][..self.vectors])
    }

    /// The matrix at a point.
    fn matrix(&self, point: usize) -> &[V] {
        &self.all[self.at(point, 0)..][..self.rows * self.vectors]
    }

    fn matrix_mut(&mut self, point: usize) -> &mut [V] {
        let start = self.at(point, 0);
        &mut self.all[start..][..self.rows * self.vectors]
    }

    /// The channels that the `nth` vector of a row holds.
    fn held<S: Simd<f32s = V>>(&self, _: S, nth: usize) -> std::ops::Range<usize> {
        nth * S::F32_LANES..((nth + 1) * S::F32_LANES).min(self.channels)
    }

    /// Writes a square of vectors at the points of a row.
    #[inline(always)]
    fn put(&mut self, row: usize, nth: usize, square: Aligned<[[V; SPAN]; SPAN]>) {
        let start = self.at(0, row) + nth;
        let apart = self.rows * self.vectors;
        for (y, line) in square.0.into_iter().enumerate() {
            for (x, vector) in line.into_iter().enumerate() {
                self.all[start + (y * SPAN + x) * apart] = vector;
            }
        }
    }

    /// The reverse of [`Points::put`].
    #[inline(always)]
    fn get<S: Simd<f32s = V>>(
        &self,
        simd: S,
        row: usize,
        nth: usize,
    ) -> Aligned<[[V; SPAN]; SPAN]> {
        let start = self.at(0, row) + nth;
        let apart = self.rows * self.vectors;
        let mut square = Aligned([[simd.splat_f32s(0.0); SPAN]; SPAN]);
        for (y, line) in square.0.iter_mut().enumerate() {
            for (x, vector) in line.iter_mut().enumerate() {
                *vector = self.all[start + (y * SPAN + x) * apart];
            }
        }
        square
    }

    /// Takes boards to the points: for each tile the squares around it.
    #[inline(always)]
    fn enter<S: Simd<f32s = V>, M: Lines<SIDE, SPAN>, const SIDE: usize>(
        &mut self,
        simd: S,
        boards: Boards,
        positions: &[f32],
    ) {
        let (size, tiles) = (boards.squares() * self.channels, boards.tiles());
        self.resize(simd, positions.len() / size * tiles);
        for tile in 0..tiles {
            let around: [[Option<usize>; SIDE]; SIDE] = boards.around(tile);
            for (row, position) in (tile..).step_by(tiles).zip(positions.chunks_exact(size)) {
                for nth in 0..self.vectors {
                    let held = self.held(simd, nth);
                    let mut square = Aligned([[simd.splat_f32s(0.0); SIDE]; SIDE]);
                    for (line, around) in square.0.iter_mut().zip(&around) {
                        for (vector, at) in line.iter_mut().zip(around) {
                            let Some(at) = at else { continue };
                            let channels = &position[at * self.channels..][held.clone()];
                            *vector = load(simd, channels);
                        }
                    }
                    self.put(row, nth, both::<S, M, SIDE, SPAN>(simd, square));
                }
            }
        }
    }

    /// The way back: adds to boards what the points of each tile make of the squares around it.
    #[inline(always)]
    fn leave<S: Simd<f32s = V>, M: Lines<SPAN, SIDE>, const SIDE: usize>(
        &self,
        simd: S,
        boards: Boards,
        positions: &mut [f32],
    ) {
        let (size, tiles) = (boards.squares() * self.channels, boards.tiles());
        for tile in 0..tiles {
            let around: [[Option<usize>; SIDE]; SIDE] = boards.around(tile);
            for (row, position) in (tile..).step_by(tiles).zip(positions.chunks_exact_mut(size)) {
                for nth in 0..self.vectors {
                    let held = self.held(simd, nth);
                    let square = both::<S, M, SPAN, SIDE>(simd, self.get(simd, row, nth));
                    for (line, around) in square.0.into_iter().zip(&around) {
                        for (vector, at) in line.into_iter().zip(around) {
                            let Some(at) = at else { continue };
                            let channels = &mut position[at * self.channels..][held.clone()];
                            let sum = simd.add_f32s(load(simd, channels), vector);
                            store(simd, channels, sum);
                        }
                    }
                }
            }
        }
    }

    /// Makes it, at each point, `left` times `right`.
    #[inline(always)]
    fn multiply<S: Simd<f32s = V>>(&mut self, simd: S, left: &Points<V>, right: &Points<V>) {
        let (depth, vectors) = (left.channels, self.vectors);
        let stride = left.vectors * S::F32_LANES;
        self.resize(simd, left.rows);
        for point in 0..POINTS {
            let right = right.matrix(point);
            let left: &[f32] = bytemuck::cast_slice(left.matrix(point));
            let sums = self.matrix_mut(point);
            let block = if S::REGISTER_COUNT < 32 { 4 } else { 8 };
            for (left, sums) in left.chunks(block * stride).zip(sums.chunks_mut(block * vectors)) {
                match left.len() / stride {
                    8 => rows::<S, 8>(simd, left, [stride, depth], right, sums),
                    4 => rows::<S, 4>(simd, left, [stride, depth], right, sums),
                    _ => {
                        for (left, sums) in left.chunks(stride).zip(sums.chunks_mut(vectors)) {
                            rows::<S, 1>(simd, left, [stride, depth], right, sums);
                        }
                    }
                }
            }
        }
    }

    /// Adds, at each point, the sum over rows of a number of `left` times a row of `right`: a row for each
    /// of the former.
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

/// The kernels at the points, `[inputs, outputs]`, or `[outputs, inputs]` if turned.
#[inline(always)]
fn kernels_at_points<S: Simd>(
    simd: S,
    boards: Boards,
    kernels: &[f32],
    turned: bool,
) -> Points<S::f32s> {
    let Boards { inputs, outputs, .. } = boards;
    let (rows, channels) = if turned { (outputs, inputs) } else { (inputs, outputs) };
    let mut all = Points::new(simd, channels);
    all.resize(simd, rows);
    let stride = all.vectors * S::F32_LANES;
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(&mut all.all);
    for (nth, kernel) in kernels.as_chunks::<{ TAPS * TAPS }>().0.iter().enumerate() {
        let (output, input) = (nth / inputs, nth % inputs);
        let (row, channel) = if turned { (output, input) } else { (input, output) };
        for (point, number) in kernel_at_points(kernel).into_iter().enumerate() {
            numbers[(point * rows + row) * stride + channel] = number;
        }
    }
    all
}

/// A vector of some channels, noughts after the last.
#[inline(always)]
fn load<S: Simd>(simd: S, channels: &[f32]) -> S::f32s {
    match S::as_simd_f32s(channels).0.first() {
        Some(&whole) => whole,
        None => simd.partial_load_f32s(channels),
    }
}

/// The reverse of [`load`].
#[inline(always)]
fn store<S: Simd>(simd: S, channels: &mut [f32], vector: S::f32s) {
    match S::as_mut_simd_f32s(channels).0.first_mut() {
        Some(whole) => *whole = vector,
        None => simd.partial_store_f32s(channels, vector),
    }
}

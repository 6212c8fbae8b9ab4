//! The kernels as custom operators of ONNX Runtime.
//!
//! Inputs that are weights must be initializers of the graph. They are checked and copied when the
//! session is made; only the request comes from [`ComputeContext`] later.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ort::operator::{
    ComputeContext, Kernel, KernelContext, Operator, OperatorDomain, OperatorInput, OperatorOutput,
};
use ort::value::{DynTensorValueType, PrimitiveTensorElementType, TensorElementType};
use ort::{Error, Result};

use super::changes::Changes;
use super::float::{self, Matrix};
use super::integer::{self, Layer, Wide};
use super::level::Level;
use super::table::{ByteTable, LINE};
use crate::nn::network::head::turns_left;

/// The domain of the operators.
const DOMAIN: &str = "menagerie.sparse";

/// Indices are u16, so that no table may have more rows.
const MAX_ROWS: usize = 1 << 16;
/// No layer is wider: with int8 weights, a sum of that number of products and of 16 rows a move stays below
/// 2^31 (16 * 8,192 * 128 * 127).
const MAX_WIDTH: usize = 8192;
/// No move has more rows.
const MAX_ROWS_PER_MOVE: usize = 16;

/// The int8 kernels that a session has made.
#[derive(Clone, Default)]
pub(in crate::nn::network) struct KernelSlot(Arc<Mutex<Int8Kernels>>);

#[derive(Default)]
struct Int8Kernels {
    features: Option<FeaturesInt8Kernel>,
    value_head: Option<ValueHeadInt8Kernel>,
    move_scores: Option<MoveScoresInt8Kernel>,
}

impl KernelSlot {
    fn kernels(&self) -> MutexGuard<'_, Int8Kernels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the kernels out, if there is one of each kind.
    pub(super) fn take(
        &self,
    ) -> Option<(FeaturesInt8Kernel, ValueHeadInt8Kernel, MoveScoresInt8Kernel)> {
        let mut kernels = self.kernels();
        Some((kernels.features.take()?, kernels.value_head.take()?, kernels.move_scores.take()?))
    }
}

/// What kernels are made with.
struct Setup {
    level: Level,
    /// Where int8 kernels leave a copy of themselves.
    slot: KernelSlot,
}

/// Returns the operators of sparse networks. The int8 kernels of the session leave copies in `slot`.
///
/// # Errors
/// If ONNX Runtime does not take them.
pub(in crate::nn::network) fn operators(slot: &KernelSlot) -> Result<OperatorDomain> {
    let setup = || Setup { level: Level::best(), slot: slot.clone() };
    OperatorDomain::new(DOMAIN)?
        .add(Features(setup()))?
        .add(FeaturesInt8(setup()))?
        .add(ValueHead(setup()))?
        .add(ValueHeadInt8(setup()))?
        .add(MoveScores(setup()))?
        .add(MoveScoresInt8(setup()))
}

const U8: TensorElementType = TensorElementType::Uint8;
const I8: TensorElementType = TensorElementType::Int8;
const U16: TensorElementType = TensorElementType::Uint16;
const I16: TensorElementType = TensorElementType::Int16;
const F32: TensorElementType = TensorElementType::Float32;

/// Declares an operator of a name with inputs and outputs of these types.
macro_rules! operator {
    ($(#[$doc:meta])* $name:ident, $kernel:ident, [$($input:ident),*] -> [$($output:ident),*]) => {
        $(#[$doc])*
        struct $name(Setup);

        impl Operator for $name {
            type Kernel<'attr> = $kernel;

            fn name(&self) -> &str {
                stringify!($name)
            }

            fn versions(&self) -> RangeInclusive<u32> {
                1..=1
            }

            fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
                [$($input),*].map(OperatorInput::required)
            }

            fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
                [$($output),*].map(OperatorOutput::required)
            }

            fn create_kernel<'attr>(&self, context: &KernelContext<'attr>) -> Result<$kernel> {
                $kernel::new(&self.0, context)
                    .map_err(|error| Error::new(format!("{}: {error}", stringify!($name))))
            }
        }
    };
}

operator! {
    /// `(inputs [B, K], table [F, H], bias [H]) -> x [B, H / 2]`
    Features, FeaturesKernel, [U16, F32, F32] -> [F32]
}
operator! {
    /// `(inputs [B, K], table [F, H], bias [H], one []) -> x [B, H / 2]`
    FeaturesInt8, FeaturesInt8Kernel, [U16, I8, I16, F32] -> [U8]
}
operator! {
    /// `(x [B, X], hidden_weight [V, X], hidden_bias [V], outcome_weight [O, V], outcome_bias [O],
    /// moves_left_weight [1, V], moves_left_bias [1]) -> (outcome [B, O], moves_left [B, 1])`
    ValueHead, ValueHeadKernel, [F32, F32, F32, F32, F32, F32, F32] -> [F32, F32]
}
operator! {
    /// The same, with a scale of each hidden unit `[V]` after the weights.
    ValueHeadInt8, ValueHeadInt8Kernel, [U8, I8, F32, F32, F32, F32, F32, F32] -> [F32, F32]
}
operator! {
    /// `(x [B, X], rows [T, K], owners [T], table [R, D]) -> scores [T]`
    MoveScores, MoveScoresKernel, [F32, U16, U16, F32] -> [F32]
}
operator! {
    /// The same, with a scale of the scores.
    MoveScoresInt8, MoveScoresInt8Kernel, [U8, U16, U16, I8, F32] -> [F32]
}

/// A weight of the file.
struct Constant<T> {
    name: &'static str,
    axes: Vec<usize>,
    numbers: Vec<T>,
}

impl<T: PrimitiveTensorElementType + Copy> Constant<T> {
    /// Reads input `nth`, which must be an initializer.
    fn new(context: &KernelContext<'_>, nth: usize, name: &'static str) -> Result<Constant<T>> {
        let value = context
            .constant_input::<DynTensorValueType>(nth)
            .map_err(|error| Error::new(format!("{name} is not an initializer: {error}")))?;
        let (shape, numbers) = value.try_extract_tensor::<T>()?;
        let axes = shape.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
        Ok(Constant { name, axes, numbers: numbers.to_vec() })
    }

    /// Returns the numbers if the axes are `axes`.
    fn of_shape(self, axes: &[usize]) -> Result<Vec<T>> {
        if self.axes == axes && self.numbers.len() == axes.iter().product::<usize>() {
            return Ok(self.numbers);
        }
        Err(Error::new(format!("{} has axes {:?} instead of {axes:?}", self.name, self.axes)))
    }

    /// Returns the numbers and both axes, of which neither is empty nor above its limit.
    fn matrix(self, max_rows: usize, max_columns: usize) -> Result<(Vec<T>, usize, usize)> {
        match self.axes[..] {
            [rows, columns]
                if (1..=max_rows).contains(&rows)
                    && (1..=max_columns).contains(&columns)
                    && self.numbers.len() == rows * columns =>
            {
                Ok((self.numbers, rows, columns))
            }
            _ => Err(Error::new(format!(
                "{} has axes {:?} instead of at most [{max_rows}, {max_columns}]",
                self.name, self.axes
            ))),
        }
    }
}

/// Errs if a number is infinite or NaN.
fn check_finite(name: &str, numbers: &[f32]) -> Result<()> {
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(Error::new(format!("{name} holds {number}"))),
        None => Ok(()),
    }
}

/// Reads a matrix of finite floats.
fn float_matrix(
    context: &KernelContext<'_>,
    nth: usize,
    name: &'static str,
    max_rows: usize,
) -> Result<(Vec<f32>, usize, usize)> {
    let matrix = Constant::<f32>::new(context, nth, name)?.matrix(max_rows, 2 * MAX_WIDTH)?;
    check_finite(name, &matrix.0)?;
    Ok(matrix)
}

/// Reads a vector of finite floats.
fn float_vector(
    context: &KernelContext<'_>,
    nth: usize,
    name: &'static str,
    axes: &[usize],
) -> Result<Vec<f32>> {
    let numbers = Constant::<f32>::new(context, nth, name)?.of_shape(axes)?;
    check_finite(name, &numbers)?;
    Ok(numbers)
}

/// Reads a table of int8 rows of whole cache lines, none of which holds -128.
fn byte_table(
    context: &KernelContext<'_>,
    nth: usize,
    name: &'static str,
    max_rows: usize,
) -> Result<Arc<ByteTable>> {
    let (numbers, _, columns) =
        Constant::<i8>::new(context, nth, name)?.matrix(max_rows, 2 * MAX_WIDTH)?;
    if numbers.contains(&i8::MIN) {
        return Err(Error::new(format!("{name} holds -128; the least weight is -127")));
    }
    let table = ByteTable::shared(&numbers, columns);
    table.ok_or_else(|| Error::new(format!("{name} has {columns} columns, no multiple of {LINE}")))
}

/// Errs if the last row of a table, which stands for no input, does not hold zeros.
fn check_padding<T: Default + PartialEq>(
    name: &str,
    mut last_row: impl Iterator<Item = T>,
) -> Result<()> {
    if last_row.all(|number| number == T::default()) {
        return Ok(());
    }
    Err(Error::new(format!("the last row of {name} is not zero, it must stand for no input")))
}

/// Reads a request's tensor, runs `$body` with its axes and its numbers.
macro_rules! request {
    ($context:expr, $nth:literal as $kind:ty, |$axes:ident: $count:literal, $numbers:ident|) => {
        let value = $context.input($nth)?.ok_or_else(|| Error::new("an input is missing"))?;
        let (shape, $numbers) = value.try_extract_tensor::<$kind>()?;
        let $axes: [usize; $count] = axes(shape)?;
    };
}

/// Makes an output of these axes and binds its numbers.
macro_rules! output {
    ($context:expr, $nth:literal, $axes:expr, $kind:ty, $numbers:ident) => {
        let mut value = $context
            .output($nth, $axes.map(|size| size as i64).to_vec())?
            .ok_or_else(|| Error::new("an output is missing"))?;
        let (_, $numbers) = value.try_extract_tensor_mut::<$kind>()?;
    };
}

/// Returns the axes of a tensor that must have `N`.
fn axes<const N: usize>(shape: &[i64]) -> Result<[usize; N]> {
    let axes: Option<Vec<usize>> = shape.iter().map(|&size| usize::try_from(size).ok()).collect();
    axes.and_then(|axes| axes.try_into().ok())
        .ok_or_else(|| Error::new(format!("a tensor has axes {shape:?} instead of {N}")))
}

/// Errs if an index is not below `rows`.
pub(super) fn check_indices(name: &str, indices: &[u16], rows: usize) -> Result<()> {
    // Without a branch for each, so that the compiler makes vectors of it.
    let greatest = indices.iter().fold(0, |greatest, &index| index.max(greatest));
    if usize::from(greatest) < rows || indices.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!("{name} holds the index {greatest}, but the table has {rows} rows")))
}

/// Calls `run` with each row of `indices`, without the padding at its end, and its outputs.
fn for_each_position<T>(
    indices: &[u16],
    per_position: usize,
    padding: usize,
    outputs: &mut [T],
    width: usize,
    mut run: impl FnMut(&[u16], &mut [T]) -> Result<()>,
) -> Result<()> {
    for (nth, outputs) in outputs.chunks_exact_mut(width).enumerate() {
        let row = &indices[nth * per_position..][..per_position];
        let is_active = |&index: &u16| usize::from(index) != padding;
        let active = row.iter().rposition(is_active).map_or(0, |last| last + 1);
        run(&row[..active], outputs)?;
    }
    Ok(())
}

struct FeaturesKernel {
    level: Level,
    table: Vec<f32>,
    rows: usize,
    bias: Vec<f32>,
}

impl FeaturesKernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<FeaturesKernel> {
        let (table, rows, columns) = float_matrix(context, 1, "the input table", MAX_ROWS)?;
        if !columns.is_multiple_of(2) {
            return Err(Error::new(format!(
                "the input table has an odd number {columns} of columns"
            )));
        }
        check_padding("the input table", table[(rows - 1) * columns..].iter().copied())?;
        let bias = float_vector(context, 2, "the input bias", &[columns])?;
        Ok(FeaturesKernel { level: setup.level, table, rows, bias })
    }
}

impl Kernel for FeaturesKernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as u16, |shape: 2, indices|);
        let [positions, per_position] = shape;
        check_indices("inputs", indices, self.rows)?;
        let columns = self.bias.len();
        let width = columns / 2;
        let table = Matrix::new(&self.table, columns)
            .ok_or_else(|| Error::new("the input table has no columns"))?;
        output!(context, 0, [positions, width], f32, outputs);
        let run = |rows: &[u16], outputs: &mut [f32]| {
            float::features(self.level, table, &self.bias, rows, outputs);
            Ok(())
        };
        for_each_position(indices, per_position, self.rows - 1, outputs, width, run)
    }
}

/// The first layer of an int8 network.
#[derive(Clone)]
pub(super) struct FeaturesInt8Kernel {
    level: Level,
    table: Arc<ByteTable>,
    bias: Vec<Wide>,
    log_one: u32,
    most_inputs: usize,
}

impl FeaturesInt8Kernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<FeaturesInt8Kernel> {
        let table = byte_table(context, 1, "the input table", MAX_ROWS)?;
        if !table.lines_per_row().is_multiple_of(2) {
            return Err(Error::new(format!(
                "the input table has {} columns, no multiple of {}",
                table.columns(),
                2 * LINE
            )));
        }
        let last_row = table.row(table.rows() - 1).iter().flat_map(|line| line.0);
        check_padding("the input table", last_row)?;
        let bias =
            Constant::<i16>::new(context, 2, "the input bias")?.of_shape(&[table.columns()])?;
        let most_inputs = integer::most_inputs(&table, &bias);
        let (bias, _) = bias.as_chunks::<LINE>();
        let one = float_vector(context, 3, "one", &[])?;
        let log_one = (4..=7).find(|&log: &u32| one == [f32::from(1_u16 << log)]);
        let log_one =
            log_one.ok_or_else(|| Error::new(format!("one is {one:?}, not 16, 32, 64 or 128")))?;
        let level = setup.level;
        let kernel = FeaturesInt8Kernel { level, table, bias: bias.to_vec(), log_one, most_inputs };
        setup.slot.kernels().features = Some(kernel.clone());
        Ok(kernel)
    }

    /// Returns the number of outputs of a position.
    pub(super) fn width(&self) -> usize {
        self.table.columns() / 2
    }

    /// Returns the bias of the sums.
    pub(super) fn bias(&self) -> &[Wide] {
        &self.bias
    }

    /// Returns the instruction set that it uses.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Returns the row of no input.
    pub(super) fn padding(&self) -> u16 {
        (self.table.rows() - 1) as u16
    }

    /// Checks `inputs` of a position that has `count` of them.
    ///
    /// # Errors
    /// If one is not in the table, or if there are more than a sum can hold.
    pub(super) fn check(&self, inputs: &[u16], count: usize) -> Result<()> {
        check_indices("inputs", inputs, self.table.rows())?;
        if count > self.most_inputs {
            return Err(Error::new(format!(
                "a position has {count} inputs; with more than {} a sum could overflow",
                self.most_inputs
            )));
        }
        Ok(())
    }

    /// Adds changes to the sums of a position, and writes its outputs. See [`Layer::update`].
    pub(super) fn update(
        &self,
        from: Option<&[Wide]>,
        changes: &Changes,
        sums: &mut [Wide],
        outputs: &mut [u8],
    ) {
        let (added, removed) = (changes.added(), changes.removed());
        self.layer().update(self.level, from, added, removed, sums, outputs);
    }

    fn layer(&self) -> Layer<'_> {
        Layer { table: &self.table, bias: &self.bias, log_one: self.log_one }
    }
}

impl Kernel for FeaturesInt8Kernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as u16, |shape: 2, indices|);
        let [positions, per_position] = shape;
        let width = self.width();
        output!(context, 0, [positions, width], u8, outputs);
        let run = |rows: &[u16], outputs: &mut [u8]| {
            self.check(rows, rows.len())?;
            self.layer().run(self.level, rows, outputs);
            Ok(())
        };
        for_each_position(indices, per_position, self.table.rows() - 1, outputs, width, run)
    }
}

/// The two last layers of the value head, after the hidden units.
#[derive(Clone)]
struct LastLayers {
    level: Level,
    units: usize,
    outcome_weight: Vec<f32>,
    outcome_bias: Vec<f32>,
    moves_left_weight: Vec<f32>,
    moves_left_bias: f32,
    hidden: Vec<f32>,
}

impl LastLayers {
    /// Reads them from the inputs that begin with `first`.
    fn new(
        level: Level,
        context: &KernelContext<'_>,
        first: usize,
        units: usize,
    ) -> Result<LastLayers> {
        let (outcome_weight, outcomes, columns) =
            float_matrix(context, first, "the outcome weight", MAX_WIDTH)?;
        if columns != units {
            return Err(Error::new(format!(
                "the outcome weight has {columns} columns, not {units}"
            )));
        }
        let outcome_bias = float_vector(context, first + 1, "the outcome bias", &[outcomes])?;
        let moves_left_weight =
            float_vector(context, first + 2, "the moves-left weight", &[1, units])?;
        let moves_left_bias = float_vector(context, first + 3, "the moves-left bias", &[1])?;
        let moves_left_bias = moves_left_bias.into_iter().sum();
        Ok(LastLayers {
            level,
            units,
            outcome_weight,
            outcome_bias,
            moves_left_weight,
            moves_left_bias,
            hidden: vec![0.0; units],
        })
    }

    fn outcomes(&self) -> usize {
        self.outcome_bias.len()
    }

    /// Writes the logits of the outcome, given the sums of the hidden units in `self.hidden`.
    fn outcome(&mut self, outcome: &mut [f32]) -> Result<()> {
        for unit in &mut self.hidden {
            *unit = unit.max(0.0);
        }
        let weight = self.matrix(&self.outcome_weight)?;
        float::dot_all(self.level, weight, &self.hidden, outcome);
        for (logit, bias) in outcome.iter_mut().zip(&self.outcome_bias) {
            *logit += bias;
        }
        Ok(())
    }

    /// Returns the moves left after [`LastLayers::outcome`].
    fn moves_left(&self) -> Result<f32> {
        let mut raw = [0.0];
        let weight = self.matrix(&self.moves_left_weight)?;
        float::dot_all(self.level, weight, &self.hidden, &mut raw);
        Ok(turns_left(raw[0] + self.moves_left_bias))
    }

    fn matrix<'a>(&self, numbers: &'a [f32]) -> Result<Matrix<'a>> {
        Matrix::new(numbers, self.units).ok_or_else(|| Error::new("a layer has no columns"))
    }
}

struct ValueHeadKernel {
    hidden_weight: Vec<f32>,
    hidden_bias: Vec<f32>,
    last: LastLayers,
}

impl ValueHeadKernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<ValueHeadKernel> {
        let (hidden_weight, units, _) = float_matrix(context, 1, "the hidden weight", MAX_WIDTH)?;
        let hidden_bias = float_vector(context, 2, "the hidden bias", &[units])?;
        let last = LastLayers::new(setup.level, context, 3, units)?;
        Ok(ValueHeadKernel { hidden_weight, hidden_bias, last })
    }
}

impl Kernel for ValueHeadKernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as f32, |shape: 2, x|);
        let [positions, width] = shape;
        let units = self.hidden_bias.len();
        let matrix = Matrix::new(&self.hidden_weight, width).filter(|it| it.rows() == units);
        let matrix = matrix.ok_or_else(|| {
            Error::new(format!("the hidden weight does not fit {width} outputs of the first layer"))
        })?;
        output!(context, 0, [positions, self.last.outcomes()], f32, outcome);
        output!(context, 1, [positions, 1], f32, moves_left);
        let outcome = outcome.chunks_exact_mut(self.last.outcomes());
        for ((x, outcome), moves_left) in x.chunks_exact(width).zip(outcome).zip(moves_left) {
            float::dot_all(self.last.level, matrix, x, &mut self.last.hidden);
            for (unit, bias) in self.last.hidden.iter_mut().zip(&self.hidden_bias) {
                *unit += bias;
            }
            self.last.outcome(outcome)?;
            *moves_left = self.last.moves_left()?;
        }
        Ok(())
    }
}

/// The value head of an int8 network.
#[derive(Clone)]
pub(super) struct ValueHeadInt8Kernel {
    hidden_weight: Arc<ByteTable>,
    scale: Vec<f32>,
    hidden_bias: Vec<f32>,
    sums: Vec<i32>,
    last: LastLayers,
}

impl ValueHeadInt8Kernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<ValueHeadInt8Kernel> {
        let hidden_weight = byte_table(context, 1, "the hidden weight", MAX_WIDTH)?;
        let units = hidden_weight.rows();
        let scale = float_vector(context, 2, "the hidden scale", &[units])?;
        let hidden_bias = float_vector(context, 3, "the hidden bias", &[units])?;
        let last = LastLayers::new(setup.level, context, 4, units)?;
        let sums = vec![0; units];
        let kernel = ValueHeadInt8Kernel { hidden_weight, scale, hidden_bias, sums, last };
        setup.slot.kernels().value_head = Some(kernel.clone());
        Ok(kernel)
    }

    /// Returns the number of outputs of the first layer that it reads.
    pub(super) fn width(&self) -> usize {
        self.hidden_weight.columns()
    }

    /// Returns the number of outcomes.
    pub(super) fn outcomes(&self) -> usize {
        self.last.outcomes()
    }

    /// Writes the logits of the outcome, given the outputs of the first layer.
    ///
    /// # Errors
    /// If a layer has no columns.
    pub(super) fn outcome(&mut self, x: &[u8], outcome: &mut [f32]) -> Result<()> {
        integer::dot_all(self.last.level, &self.hidden_weight, x, &mut self.sums);
        let weights = self.scale.iter().zip(&self.hidden_bias);
        let units = self.last.hidden.iter_mut().zip(&self.sums).zip(weights);
        for ((unit, &sum), (scale, bias)) in units {
            *unit = sum as f32 * scale + bias;
        }
        self.last.outcome(outcome)
    }

    /// Returns the moves left of the position of the last [`ValueHeadInt8Kernel::outcome`].
    ///
    /// # Errors
    /// If a layer has no columns.
    pub(super) fn moves_left(&self) -> Result<f32> {
        self.last.moves_left()
    }
}

impl Kernel for ValueHeadInt8Kernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as u8, |shape: 2, x|);
        let [positions, width] = shape;
        if width != self.hidden_weight.columns() {
            return Err(Error::new(format!(
                "the hidden weight has {} columns, the first layer {width} outputs",
                self.hidden_weight.columns()
            )));
        }
        output!(context, 0, [positions, self.last.outcomes()], f32, outcome);
        output!(context, 1, [positions, 1], f32, moves_left);
        let outcome = outcome.chunks_exact_mut(self.last.outcomes());
        for ((x, outcome), moves_left) in x.chunks_exact(width).zip(outcome).zip(moves_left) {
            self.outcome(x, outcome)?;
            *moves_left = self.moves_left()?;
        }
        Ok(())
    }
}

/// Checks the axes and indices of a request for move scores: `x` of `[positions, width]`, and what
/// rows and owners each move has.
fn check_moves(
    [positions, width]: [usize; 2],
    [moves, rows_per_move]: [usize; 2],
    rows: &[u16],
    owners: &[u16],
    [table_rows, table_columns]: [usize; 2],
) -> Result<()> {
    if !(1..=MAX_ROWS_PER_MOVE).contains(&rows_per_move) || owners.len() != moves {
        return Err(Error::new(format!(
            "{moves} moves have {rows_per_move} rows each and {} owners",
            owners.len()
        )));
    }
    if width < table_columns {
        return Err(Error::new(format!(
            "the move table has {table_columns} columns, the first layer only {width} outputs"
        )));
    }
    check_indices("move_rows", rows, table_rows)?;
    check_indices("owners", owners, positions)
}

/// Calls `run` with the outputs of each position that `owners` names, and the rows and scores of its
/// moves, of which as many are taken at once as stand together.
fn for_each_owner<X, S>(
    (x, width): (&[X], usize),
    (rows, rows_per_move): (&[u16], usize),
    owners: &[u16],
    mut scores: &mut [S],
    mut run: impl FnMut(&[X], &[u16], &mut [S]),
) {
    let mut rows = rows;
    for group in owners.chunk_by(|a, b| a == b) {
        let (own_rows, other_rows) = rows.split_at(group.len() * rows_per_move);
        let (own_scores, other_scores) = scores.split_at_mut(group.len());
        run(&x[usize::from(group[0]) * width..][..width], own_rows, own_scores);
        rows = other_rows;
        scores = other_scores;
    }
}

struct MoveScoresKernel {
    level: Level,
    table: Vec<f32>,
    axes: [usize; 2],
}

impl MoveScoresKernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<MoveScoresKernel> {
        let (table, rows, columns) = float_matrix(context, 3, "the move table", MAX_ROWS)?;
        check_padding("the move table", table[(rows - 1) * columns..].iter().copied())?;
        Ok(MoveScoresKernel { level: setup.level, table, axes: [rows, columns] })
    }
}

impl Kernel for MoveScoresKernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as f32, |x_shape: 2, x|);
        request!(context, 1 as u16, |rows_shape: 2, rows|);
        request!(context, 2 as u16, |owners_shape: 1, owners|);
        check_moves(x_shape, rows_shape, rows, owners, self.axes)?;
        let table = Matrix::new(&self.table, self.axes[1])
            .ok_or_else(|| Error::new("the move table has no columns"))?;
        output!(context, 0, owners_shape, f32, scores);
        let ([_, width], [_, rows_per_move]) = (x_shape, rows_shape);
        let run = |x: &[f32], rows: &[u16], scores: &mut [f32]| {
            float::score_moves(self.level, table, x, rows, rows_per_move, scores);
        };
        for_each_owner((x, width), (rows, rows_per_move), owners, scores, run);
        Ok(())
    }
}

/// The policy of an int8 network.
#[derive(Clone)]
pub(super) struct MoveScoresInt8Kernel {
    level: Level,
    table: Arc<ByteTable>,
    scale: f32,
    sums: Vec<i32>,
}

impl MoveScoresInt8Kernel {
    fn new(setup: &Setup, context: &KernelContext<'_>) -> Result<MoveScoresInt8Kernel> {
        let table = byte_table(context, 3, "the move table", MAX_ROWS)?;
        let last_row = table.row(table.rows() - 1).iter().flat_map(|line| line.0);
        check_padding("the move table", last_row)?;
        let scale = float_vector(context, 4, "the score scale", &[])?.into_iter().sum();
        let kernel = MoveScoresInt8Kernel { level: setup.level, table, scale, sums: Vec::new() };
        setup.slot.kernels().move_scores = Some(kernel.clone());
        Ok(kernel)
    }

    /// Returns the number of rows of the table and the number of outputs of the first layer that it reads.
    pub(super) fn axes(&self) -> [usize; 2] {
        [self.table.rows(), self.table.columns()]
    }

    /// Replaces `scores` by those of the moves of a position, given the outputs of the first layer. The
    /// rows must be in the table.
    pub(super) fn run(
        &mut self,
        x: &[u8],
        rows: &[u16],
        rows_per_move: usize,
        scores: &mut Vec<f32>,
    ) {
        self.sums.resize(rows.len() / rows_per_move, 0);
        integer::score_moves(self.level, &self.table, x, rows, rows_per_move, &mut self.sums);
        scores.clear();
        scores.extend(self.sums.iter().map(|&sum| sum as f32 * self.scale));
    }
}

impl Kernel for MoveScoresInt8Kernel {
    fn compute(&mut self, context: &ComputeContext) -> Result<()> {
        request!(context, 0 as u8, |x_shape: 2, x|);
        request!(context, 1 as u16, |rows_shape: 2, rows|);
        request!(context, 2 as u16, |owners_shape: 1, owners|);
        check_moves(x_shape, rows_shape, rows, owners, self.axes())?;
        output!(context, 0, owners_shape, f32, scores);
        self.sums.resize(owners.len(), 0);
        let ([_, width], [_, rows_per_move]) = (x_shape, rows_shape);
        let run = |x: &[u8], rows: &[u16], sums: &mut [i32]| {
            integer::score_moves(self.level, &self.table, x, rows, rows_per_move, sums);
        };
        for_each_owner((x, width), (rows, rows_per_move), owners, &mut self.sums, run);
        for (score, &sum) in scores.iter_mut().zip(&self.sums) {
            *score = sum as f32 * self.scale;
        }
        Ok(())
    }
}

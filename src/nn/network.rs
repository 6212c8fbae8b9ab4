//! Networks: ONNX models with known inputs and outputs, run by ONNX Runtime.
//!
//! A network has one input and at least three outputs, all 32-bit floats, batch first:
//!
//! | name | shape | meaning |
//! |---|---|---|
//! | `planes` | rows, channels, height, width | the positions as planes |
//! | `policy` | rows, policy | a logit for each policy index |
//! | `outcome` | rows, outcomes | a logit for each outcome |
//! | `moves_left` | rows, 1 | the expected number of turns until the game ends |
//!
//! A *two-board network* has one of two boards in a row instead. A [`Head`] joins the outputs of two boards,
//! which are
//!
//! | name | shape | meaning |
//! |---|---|---|
//! | `policy` | rows, policy | a logit for each policy index of the board |
//! | `halves` | rows, 2 units | its contribution to the head's units as the first board, and as the second |
//!
//! and the weights of the head, which do not depend on the input.
//!
//! A [sparse] network has lists of indices as its inputs.
//!
//! Further outputs are allowed and are not computed. The metadata defines the planes and indices; the caller
//! checks them.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use ort::ep;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{HasSelectedOutputs, OutputSelector, RunOptions};
use ort::value::{Outlet, TensorElementType, TensorRef, ValueType};
use thiserror::Error;

use self::functions::check_functions;
use self::kernels::{KernelSlot, operators};
use super::runtime::{CudaBuild, Runtime, RuntimeError, one_line};

mod checksum;
mod functions;
mod head;
mod kernels;
pub mod sparse;

pub use self::checksum::{KEY as CHECKSUM_KEY, append_checksum, combined_checksum, verify};
pub use self::functions::FUNCTIONS;
pub use self::head::{HEAD, Head, MOVES_LEFT_SCALE};
pub use self::kernels::kernel_instructions;

/// The name of a network's input.
pub const PLANES: &str = "planes";
/// The names of a network's outputs, in the order in which [`PlaneSession::run`] fills them.
pub const OUTPUTS: [&str; 3] = ["policy", "outcome", "moves_left"];
/// The names of the outputs of a two-board network, in the same order.
pub const TWO_BOARD_OUTPUTS: [&str; 2] = ["policy", "halves"];

/// The maximum length of an error message of ONNX Runtime.
const MAX_ERROR_CHARS: usize = 400;

/// The maximum number of elements of a tensor for one position.
const MAX_ELEMENTS: usize = 1 << 24;

/// The device that runs a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// A GPU if the library and the machine support it, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU. If there is none, the CPU, with a note.
    Cuda,
}

impl Backend {
    /// All backends, in the order in which options list them.
    pub const ALL: [Backend; 3] = [Backend::Auto, Backend::Cpu, Backend::Cuda];

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = NetworkError;

    /// Parses a name in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Backend::ALL
            .into_iter()
            .find(|backend| backend.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| NetworkError::Backend(text.into()))
    }
}

/// Why a network cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// The name of the backend is unknown.
    #[error("unknown backend {0:?}, expected auto, cpu or cuda")]
    Backend(String),
    /// ONNX Runtime cannot be loaded.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The file does not end with a checksum.
    #[error(
        "the network has no checksum at its end: it is truncated, or was not exported by Menagerie's trainer; export it again"
    )]
    MissingChecksum,
    /// The checksum at the end of the file is not that of its bytes.
    #[error(
        "the network is damaged: its checksum is {expected}, but its bytes have SHA-256 {found}; copy or export it again"
    )]
    Damaged {
        /// The SHA-256 at the end of the file.
        expected: String,
        /// The SHA-256 of the bytes before it.
        found: String,
    },
    /// ONNX Runtime cannot load the model.
    #[error("ONNX Runtime rejects the network: {0}")]
    Model(String),
    /// The file defines a function that is not one of [`FUNCTIONS`].
    #[error("the network defines an unknown function \"{0}\"; export it again")]
    Function(String),
    /// A required input or output is missing.
    #[error("the network has no {kind} {name:?}, only {found}")]
    Missing {
        /// `input` or `output`.
        kind: &'static str,
        /// The missing name.
        name: &'static str,
        /// The names that exist, quoted.
        found: String,
    },
    /// The network has an input that is not known.
    #[error("the network has an unknown input {0:?}")]
    Surplus(String),
    /// An input or output has the wrong type or shape.
    #[error("the network's {name:?} should be {wanted}, but is {found}")]
    Unfit {
        /// The name of the input or output.
        name: &'static str,
        /// The expected type and shape.
        wanted: &'static str,
        /// The type and shape found.
        found: String,
    },
    /// The weights of a two-board network's head have inconsistent sizes, or are not finite.
    #[error("the network's head has {0}")]
    Head(String),
    /// The number of buffers is not the number of outputs.
    #[error("the network has {wanted} outputs, got {found} buffers")]
    Buffers {
        /// The number of outputs.
        wanted: usize,
        /// The number of buffers.
        found: usize,
    },
    /// A buffer's length does not fit the number of rows.
    #[error("{name:?} of {rows} rows needs {wanted} numbers, got {found}")]
    Length {
        /// The input or output that the buffer is for.
        name: &'static str,
        /// The number of positions.
        rows: usize,
        /// The length that fits.
        wanted: usize,
        /// The buffer's length.
        found: usize,
    },
    /// The network has a fixed batch size.
    #[error("the network has a fixed batch size of {wanted} rows, got {found}")]
    Batch {
        /// The batch size of the network.
        wanted: usize,
        /// The number of rows to evaluate.
        found: usize,
    },
    /// ONNX Runtime cannot compute the outputs.
    #[error("the network fails: {0}")]
    Run(String),
    /// An output is not a finite number.
    #[error("the network's {name:?} of row {row} contains {value}")]
    NotFinite {
        /// The output.
        name: &'static str,
        /// The row, from 0.
        row: usize,
        /// The first such number, as text.
        value: String,
    },
}

/// The sizes of a network's tensors for one row: a position, or one of its two boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The batch size, if it is fixed.
    pub batch: Option<usize>,
    /// The number of planes.
    pub channels: usize,
    /// The number of ranks of a plane.
    pub height: usize,
    /// The number of files of a plane.
    pub width: usize,
    /// The number of policy logits.
    pub policy: usize,
    /// The number of outcomes.
    pub outcomes: usize,
}

impl Sizes {
    /// Returns the number of elements of the planes of a row.
    pub fn planes(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// The implementation of the operators of a [sparse] network on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernels {
    /// The kernels of this program.
    #[default]
    Own,
    /// The functions that the file defines, run by ONNX Runtime, as on a GPU. Slow on a CPU; for comparison.
    Functions,
}

/// A network of either kind, ready to run.
#[derive(Debug)]
pub enum Network {
    /// A network that reads planes.
    Planes(PlaneSession),
    /// A sparse network, which reads lists of active inputs.
    Sparse(sparse::SparseSession),
}

impl Network {
    /// Opens the network in `file`, of either kind. See [`PlaneSession::open`].
    ///
    /// # Errors
    /// Those of [`PlaneSession::open`] and [`sparse::SparseSession::open`].
    pub fn open(file: &[u8], backend: Backend, threads: usize) -> Result<Network, NetworkError> {
        let opened = open_session(file, backend, threads, Kernels::Own)?;
        if sparse::SparseSession::is_sparse(&opened.session) {
            sparse::SparseSession::new(opened).map(Network::Sparse)
        } else {
            PlaneSession::new(opened).map(Network::Planes)
        }
    }

    /// Returns the value of `key` in the model's metadata.
    pub fn get(&self, key: &str) -> Option<String> {
        match self {
            Network::Planes(session) => session.get(key),
            Network::Sparse(session) => session.get(key),
        }
    }
}

/// A network of planes, ready to run. Sessions share nothing, so each thread can have its own.
pub struct PlaneSession {
    session: ort::session::Session,
    outputs: RunOptions<HasSelectedOutputs>,
    /// The names of the outputs, and the number of elements of a row.
    output_sizes: Vec<(&'static str, usize)>,
    sizes: Sizes,
    head: Option<Head>,
    backend: Backend,
    note: Option<String>,
}

impl fmt::Debug for PlaneSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlaneSession { sizes, output_sizes, backend, note, .. } = self;
        f.debug_struct("PlaneSession")
            .field("sizes", sizes)
            .field("outputs", output_sizes)
            .field("backend", backend)
            .field("note", note)
            .finish_non_exhaustive()
    }
}

impl PlaneSession {
    /// Opens the network in `file`, the bytes of an ONNX file with a checksum, to run on `threads` threads
    /// (at least one). Two sessions of one thread are faster than one of two. Loads the default [`Runtime`]
    /// if none is loaded yet.
    ///
    /// # Errors
    /// If there is no runtime, if the checksum is missing or wrong, if ONNX Runtime rejects the model, or if
    /// it does not have the inputs and outputs of a network. A GPU that cannot be used is not an error: the
    /// CPU is used, and [`PlaneSession::note`] returns the reason.
    pub fn open(
        file: &[u8],
        backend: Backend,
        threads: usize,
    ) -> Result<PlaneSession, NetworkError> {
        PlaneSession::new(open_session(file, backend, threads, Kernels::Own)?)
    }

    fn new(opened: OpenedSession) -> Result<PlaneSession, NetworkError> {
        let OpenedSession { mut session, backend, note, .. } = opened;
        let (batch, [channels, height, width]) = input(session.inputs())?;
        let two_board =
            session.outputs().iter().any(|outlet| outlet.name() == TWO_BOARD_OUTPUTS[1]);
        let names = if two_board { &TWO_BOARD_OUTPUTS[..] } else { &OUTPUTS };
        let output_sizes = outputs(session.outputs(), names, batch)?;
        let outputs = select(names)?;
        let policy = output_sizes[0].1;
        let halves = output_sizes[1].1;
        if two_board && batch.is_some() {
            return Err(unfit(PLANES, "of any number of boards", session.inputs()));
        }
        let planes = [channels, height, width];
        let head = if two_board { Some(Head::read(&mut session, planes, halves)?) } else { None };
        let outcomes = head.as_ref().map_or(halves, Head::outcomes);
        let sizes = Sizes { batch, channels, height, width, policy, outcomes };
        Ok(PlaneSession { session, outputs, output_sizes, sizes, head, backend, note })
    }

    /// Returns the sizes of the network's input and outputs.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the names of the outputs, and the number of elements of a row of each.
    pub fn outputs(&self) -> &[(&'static str, usize)] {
        &self.output_sizes
    }

    /// Returns the head that joins two boards, if it is a two-board network.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Returns the device that runs the network: [`Backend::Cpu`] or [`Backend::Cuda`].
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns why the network runs on the CPU although a GPU was requested or seemed available, in one line.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the value of `key` in the model's metadata.
    pub fn get(&self, key: &str) -> Option<String> {
        self.session.metadata().ok()?.custom(key)
    }

    /// Evaluates `rows` rows. `planes` holds their planes, row by row. The buffers, one for each of
    /// [`PlaneSession::outputs`], are filled row by row. Does nothing for 0 rows.
    ///
    /// # Errors
    /// [`NetworkError::Length`] or [`NetworkError::Buffers`] if the buffers do not fit,
    /// [`NetworkError::Batch`] if the network has another fixed batch size, [`NetworkError::Run`] if it
    /// fails, [`NetworkError::NotFinite`] if an output is infinite or NaN. The content of the buffers is then
    /// unspecified.
    pub fn run(
        &mut self,
        planes: &[f32],
        rows: usize,
        buffers: &mut [&mut [f32]],
    ) -> Result<(), NetworkError> {
        let Sizes { batch, channels, height, width, .. } = self.sizes;
        check_length(PLANES, rows, self.sizes.planes(), planes.len())?;
        let wanted = self.output_sizes.len();
        if wanted != buffers.len() {
            return Err(NetworkError::Buffers { wanted, found: buffers.len() });
        }
        for (&(name, per_row), buffer) in self.output_sizes.iter().zip(&*buffers) {
            check_length(name, rows, per_row, buffer.len())?;
        }
        if rows == 0 {
            return Ok(());
        }
        if let Some(wanted) = batch.filter(|&size| size != rows) {
            return Err(NetworkError::Batch { wanted, found: rows });
        }
        let input = TensorRef::from_array_view(([rows, channels, height, width], planes))
            .map_err(run_error)?;
        let results = self
            .session
            .run_with_options(ort::inputs![PLANES => input], &self.outputs)
            .map_err(run_error)?;
        for (&(name, per_row), buffer) in self.output_sizes.iter().zip(buffers) {
            let result = results
                .get(name)
                .ok_or_else(|| NetworkError::Run(format!("no output {name:?}")))?;
            let (shape, numbers) = result.try_extract_tensor::<f32>().map_err(run_error)?;
            if numbers.len() != buffer.len() {
                return Err(NetworkError::Run(format!(
                    "{name:?} of {rows} rows has shape {shape:?}"
                )));
            }
            buffer.copy_from_slice(numbers);
            check_finite(name, per_row, buffer)?;
        }
        Ok(())
    }
}

/// Checks the length of a buffer of `rows` rows with `per_row` numbers each.
fn check_length(
    name: &'static str,
    rows: usize,
    per_row: usize,
    found: usize,
) -> Result<(), NetworkError> {
    let wanted = rows.saturating_mul(per_row);
    if found == wanted { Ok(()) } else { Err(NetworkError::Length { name, rows, wanted, found }) }
}

/// Checks that the numbers of `name`, with `per_row` numbers a row, are finite.
fn check_finite(name: &'static str, per_row: usize, numbers: &[f32]) -> Result<(), NetworkError> {
    // Without branches, so that the compiler vectorises the loop.
    if numbers.iter().fold(true, |all, number| all & number.is_finite()) {
        return Ok(());
    }
    let place = numbers.iter().position(|number| !number.is_finite()).unwrap_or(0);
    let value = numbers.get(place).map(ToString::to_string).unwrap_or_default();
    Err(NetworkError::NotFinite { name, row: place / per_row.max(1), value })
}

fn run_error(error: ort::Error) -> NetworkError {
    NetworkError::Run(one_line_error(error))
}

/// Returns the error message of ONNX Runtime in one line, shortened.
fn one_line_error<R>(error: ort::Error<R>) -> String {
    let text = one_line(&error.to_string());
    // `SOURCE LOCATION [ONNXRuntimeError] : NUMBER : KIND : MESSAGE`: only the message is useful.
    let (_, message) = text.rsplit_once("[ONNXRuntimeError] : ").unwrap_or(("", &text));
    let message = message.splitn(3, " : ").last().unwrap_or(message);
    match message.char_indices().nth(MAX_ERROR_CHARS) {
        Some((end, _)) => format!("{} ...", &message[..end]),
        None => message.into(),
    }
}

/// A session, and how it was opened.
struct OpenedSession {
    session: ort::session::Session,
    /// [`Backend::Cpu`] or [`Backend::Cuda`].
    backend: Backend,
    /// Why it runs on the CPU although a GPU was asked for or seemed to be there.
    note: Option<String>,
    /// The kernels that it has made.
    slot: KernelSlot,
}

/// Opens the model on the requested backend, or on the CPU if that fails. Returns the session, the backend,
/// and why it is not the GPU.
fn open_session(
    model: &[u8],
    backend: Backend,
    threads: usize,
    kernels: Kernels,
) -> Result<OpenedSession, NetworkError> {
    verify(model)?;
    let slot = KernelSlot::default();
    let runtime = Runtime::load(None)?;
    check_functions(model)?;
    let cuda = if backend == Backend::Cpu { None } else { Some(runtime.cuda()) };
    let note = match (backend, cuda) {
        (_, None) | (Backend::Auto, Some(CudaBuild::Absent)) => None,
        (_, Some(CudaBuild::Absent)) => {
            let path = runtime.path().display();
            Some(format!(
                "{path} is a CPU build (get a GPU build with scripts/get-onnxruntime --cuda)"
            ))
        }
        (_, Some(CudaBuild::Refused(refusal))) => Some(refusal.to_string()),
        (_, Some(CudaBuild::Present)) => match build_cuda(runtime, model, threads) {
            Ok(session) => {
                return Ok(OpenedSession { session, backend: Backend::Cuda, note: None, slot });
            }
            Err(error) => Some(one_line_error(error)),
        },
    };
    let session = build_cpu(runtime, model, threads, kernels, &slot)
        .map_err(|error| NetworkError::Model(one_line_error(error)))?;
    let note = note.map(|why| one_line(&format!("no GPU, the network runs on the CPU: {why}")));
    Ok(OpenedSession { session, backend: Backend::Cpu, note, slot })
}

/// Opens the model on the GPU. The CPU runs only the operators that the GPU does not support.
fn build_cuda(
    runtime: &Runtime,
    model: &[u8],
    threads: usize,
) -> ort::Result<ort::session::Session> {
    // An exhaustive search for the fastest algorithm would run again for every batch size.
    let provider =
        ep::CUDA::default().with_conv_algorithm_search(ep::cuda::ConvAlgorithmSearch::Heuristic);
    let builder = session_builder(runtime, threads)?;
    builder
        .with_execution_providers([provider.build().error_on_failure()])?
        .commit_from_memory(model)
}

/// Opens the model on the CPU.
fn build_cpu(
    runtime: &Runtime,
    model: &[u8],
    threads: usize,
    kernels: Kernels,
    slot: &KernelSlot,
) -> ort::Result<ort::session::Session> {
    let mut builder = session_builder(runtime, threads)?;
    if kernels == Kernels::Functions {
        return builder.commit_from_memory(model);
    }
    builder = builder.with_operators(operators(slot)?)?;
    // A session registers the domain of the operators for the whole process, unless it is registered. ONNX
    // Runtime checks and registers in two steps, so that the second of two sessions created at once fails.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    builder.commit_from_memory(model)
}

fn session_builder(runtime: &Runtime, threads: usize) -> ort::Result<SessionBuilder> {
    let builder = SessionBuilder::new(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_prepacking(true)?
        .with_parallel_execution(false)?
        .with_intra_threads(threads.max(1))?
        .with_intra_op_spinning(false)?;
    Ok(builder)
}

/// Returns run options that compute these outputs only.
fn select(names: &[&'static str]) -> Result<RunOptions<HasSelectedOutputs>, NetworkError> {
    let selected = names.iter().copied().fold(OutputSelector::no_default(), OutputSelector::with);
    let options = RunOptions::new().map_err(|error| NetworkError::Model(one_line_error(error)))?;
    Ok(options.with_outputs(selected))
}

/// Checks a model's input. Returns its axes: the batch if fixed, channels, height and width.
fn input(inputs: &[Outlet]) -> Result<(Option<usize>, [usize; 3]), NetworkError> {
    const WANTED: &str = "floats of shape [batch, channels, height, width]";
    let axes = dimensions("input", PLANES, inputs, WANTED)?;
    match inputs.iter().find(|outlet| outlet.name() != PLANES) {
        Some(other) => Err(NetworkError::Surplus(other.name().into())),
        None => Ok(axes),
    }
}

/// Checks a model's outputs. Returns the number of elements of a row of each.
fn outputs(
    outputs: &[Outlet],
    names: &[&'static str],
    batch: Option<usize>,
) -> Result<Vec<(&'static str, usize)>, NetworkError> {
    const ROWS: &str = "floats of shape [batch, a fixed number]";
    let read = |&name: &&'static str| {
        let (rows, [found]) = dimensions("output", name, outputs, ROWS)?;
        // The batch is open or the same as that of the input.
        let same = rows.is_none() || rows == batch;
        if !same || (name == "moves_left" && found != 1) {
            let wanted =
                if same { "floats of shape [batch, 1]" } else { "of as many rows as the input" };
            return Err(unfit(name, wanted, outputs));
        }
        Ok((name, found))
    };
    names.iter().map(read).collect()
}

/// Returns the dimensions of the input or output `name`: the batch if fixed, and `N` fixed ones.
fn dimensions<const N: usize>(
    kind: &'static str,
    name: &'static str,
    outlets: &[Outlet],
    wanted: &'static str,
) -> Result<(Option<usize>, [usize; N]), NetworkError> {
    let Some(outlet) = outlets.iter().find(|outlet| outlet.name() == name) else {
        return Err(NetworkError::Missing { kind, name, found: names_of(outlets) });
    };
    let wrong = || unfit(name, wanted, outlets);
    let ValueType::Tensor { ty: TensorElementType::Float32, shape, .. } = outlet.dtype() else {
        return Err(wrong());
    };
    let Some((&batch, rest)) = shape.split_first().filter(|(_, rest)| rest.len() == N) else {
        return Err(wrong());
    };
    let batch = match batch {
        ..0 => None,
        0 => return Err(wrong()),
        _ => Some(usize::try_from(batch).map_err(|_| wrong())?),
    };
    let mut found = [0; N];
    let mut product = 1_usize;
    for (dimension, &size) in found.iter_mut().zip(rest) {
        *dimension = usize::try_from(size).ok().filter(|&size| size > 0).ok_or_else(wrong)?;
        product = product.saturating_mul(*dimension);
    }
    if product > MAX_ELEMENTS { Err(wrong()) } else { Ok((batch, found)) }
}

/// Returns the names of inputs or outputs, quoted.
fn names_of(outlets: &[Outlet]) -> String {
    let names: Vec<_> = outlets.iter().map(|outlet| format!("{:?}", outlet.name())).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn unfit(name: &'static str, wanted: &'static str, outlets: &[Outlet]) -> NetworkError {
    let outlet = outlets.iter().find(|outlet| outlet.name() == name);
    let found = outlet.map(|outlet| one_line(&outlet.dtype().to_string())).unwrap_or_default();
    NetworkError::Unfit { name, wanted, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backend_names_are_parsed() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().to_uppercase().parse(), Ok(backend));
        }
        assert_eq!(
            "gpu".parse::<Backend>().unwrap_err().to_string(),
            r#"unknown backend "gpu", expected auto, cpu or cuda"#
        );
    }

    #[test]
    fn numbers_that_are_not_finite_are_quoted() {
        assert_eq!(check_finite("policy", 2, &[0.0, -1.5, f32::MAX, 1e-40]), Ok(()));
        let error =
            check_finite("policy", 2, &[0.0, 1.0, 2.0, f32::NEG_INFINITY, f32::NAN]).unwrap_err();
        assert_eq!(error.to_string(), r#"the network's "policy" of row 1 contains -inf"#);
    }
}

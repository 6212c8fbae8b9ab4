//! A network: an ONNX model that this program can run, checked at the door.
//!
//! A network has one input and at least three outputs, all 32-bit floats, batch first:
//!
//! | name | shape | meaning |
//! |---|---|---|
//! | `planes` | rows, channels, height, width | the positions as planes |
//! | `policy` | rows, policy | a logit for each index of a move |
//! | `outcome` | rows, outcomes | one number for each outcome |
//! | `moves_left` | rows, 1 | how long the game will last |
//!
//! A *two_board* sees one of two tables in a row instead, and what it makes of both is put together by a
//! [`Head`]. Its outputs are
//!
//! | name | shape | meaning |
//! |---|---|---|
//! | `policy` | rows, policy | a logit for each index of a move at the table |
//! | `halves` | rows, 2 units | what it adds to the head's units as the first table, and as the other |
//!
//! and the head's weights, which do not depend on the input.
//!
//! A [sparse] network has lists of indices as its inputs.
//!
//! Other outputs may be there and are never computed. What the numbers mean is for the metadata to
//! say and for the caller to check.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use ort::ep;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{HasSelectedOutputs, OutputSelector, RunOptions};
use ort::value::{Outlet, TensorElementType, TensorRef, ValueType};
use thiserror::Error;

use self::functions::check_functions;
use self::kernels::operators;
use super::runtime::{CudaBuild, Runtime, RuntimeError, one_line};

mod checksum;
mod functions;
mod head;
mod kernels;
pub mod sparse;

pub use self::checksum::{KEY as CHECKSUM_KEY, append_checksum, verify};
pub use self::functions::FUNCTIONS;
pub use self::head::{HEAD, Head, MOVES_LEFT_SCALE};

/// The name of a network's input.
pub const PLANES: &str = "planes";
/// The names of a network's outputs, in the order that [`Session::run`] fills them.
pub const OUTPUTS: [&str; 3] = ["policy", "outcome", "moves_left"];
/// Those of a two_board.
pub const TWO_BOARD_OUTPUTS: [&str; 2] = ["policy", "halves"];

/// No tensor of one position has more numbers than this.
const MAX_SIZE: usize = 1 << 24;

/// What to run a network on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// A GPU if the library and the machine have what it takes, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU. If there is none, the CPU, with a note that says so.
    Cuda,
}

impl Backend {
    /// All backends, in the order to show them.
    pub const ALL: [Backend; 3] = [Backend::Auto, Backend::Cpu, Backend::Cuda];

    /// The name, in lower case.
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

    /// Reads a name, in whatever case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found =
            Backend::ALL.into_iter().find(|backend| backend.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| NetworkError::Backend(text.into()))
    }
}

/// Why a network cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// No such backend.
    #[error("no backend {0:?}: there are auto, cpu and cuda")]
    Backend(String),
    /// There is no ONNX Runtime.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The file has no seal at its end.
    #[error(
        "the network has no seal at its end: it is cut short, or was not exported by Menagerie's trainer; export it again"
    )]
    Unsealed,
    /// The file is not what was sealed.
    #[error(
        "the network is damaged: it was sealed with SHA-256 {sealed} and has {found}; copy or export it again"
    )]
    Damaged {
        /// SHA-256 in the seal.
        sealed: String,
        /// SHA-256 of the bytes.
        found: String,
    },
    /// ONNX Runtime does not take the model.
    #[error("ONNX Runtime refuses the network: {0}")]
    Model(String),
    /// The file defines a function that no sparse network has.
    #[error("the network defines a function \"{0}\" that is not known here; export it again")]
    Function(String),
    /// An input or output that a network must have is not there.
    #[error("the network has no {kind} {name:?}, only {found}")]
    Missing {
        /// `input` or `output`.
        kind: &'static str,
        /// The name looked for.
        name: &'static str,
        /// The names that are there.
        found: String,
    },
    /// There is an input that this program cannot fill.
    #[error("the network wants an input {0:?}, which is unknown here")]
    Surplus(String),
    /// An input or output has the wrong type or shape.
    #[error("the network's {name:?} should be {wanted}, but is {found}")]
    Unfit {
        /// The input's or output's name.
        name: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: String,
    },
    /// The weights of a two_board's head do not fit one another, or are no numbers.
    #[error("the network's head has {0}")]
    Head(String),
    /// There are not as many buffers as the network has outputs.
    #[error("the network has {wanted} outputs, not {found}")]
    Buffers {
        /// Its outputs.
        wanted: usize,
        /// Buffers that were given.
        found: usize,
    },
    /// A buffer's length does not fit the number of rows.
    #[error("{name:?} of {rows} rows takes {wanted} numbers, not {found}")]
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
    /// The network takes batches of one size only.
    #[error("the network takes batches of {wanted} rows only, not of {found}")]
    Batch {
        /// The size that it takes.
        wanted: usize,
        /// The size given.
        found: usize,
    },
    /// ONNX Runtime fails to compute.
    #[error("the network fails: {0}")]
    Run(String),
    /// An output is not a finite number.
    #[error("the network's {name:?} of row {row} holds {value}")]
    NotFinite {
        /// The output.
        name: &'static str,
        /// The position, from 0.
        row: usize,
        /// The first such number, as text.
        value: String,
    },
}

/// How many numbers a network takes and gives for one row: a position, or one of its two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The number of rows that a batch must have, if the network does not leave it open.
    pub batch: Option<usize>,
    /// Planes.
    pub channels: usize,
    /// Ranks of a plane.
    pub height: usize,
    /// Files of a plane.
    pub width: usize,
    /// Policy logits.
    pub policy: usize,
    /// Outcomes.
    pub outcomes: usize,
}

impl Sizes {
    /// Numbers that a row's planes take.
    pub fn planes(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// What computes the operators of a [sparse] network on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernels {
    /// The kernels of this program.
    #[default]
    Own,
    /// The functions that the file defines, run by ONNX Runtime, as on a GPU: slow on a CPU, and there
    /// for comparison.
    Functions,
}

/// A network of either kind, ready to run.
#[derive(Debug)]
pub enum Network {
    /// One that reads planes.
    Planes(Session),
    /// One that reads lists of active inputs.
    Sparse(sparse::SparseSession),
}

impl Network {
    /// Opens the network in `file`, of whichever kind it is; otherwise as [`Session::open`].
    ///
    /// # Errors
    /// As those of [`Session::open`] and [`sparse::SparseSession::open`].
    pub fn open(file: &[u8], backend: Backend, threads: usize) -> Result<Network, NetworkError> {
        let (session, backend, note) = commit(file, backend, threads, Kernels::Own)?;
        if sparse::SparseSession::is_sparse(&session) {
            sparse::SparseSession::new(session, backend, note).map(Network::Sparse)
        } else {
            Session::new(session, backend, note).map(Network::Planes)
        }
    }

    /// Returns the text under `key` in the model's own metadata.
    pub fn get(&self, key: &str) -> Option<String> {
        match self {
            Network::Planes(session) => session.get(key),
            Network::Sparse(session) => session.get(key),
        }
    }
}

/// A network ready to run. Sessions share nothing: each thread may have its own.
pub struct Session {
    session: ort::session::Session,
    outputs: RunOptions<HasSelectedOutputs>,
    /// Their names, and the numbers that each has in a row.
    each: Vec<(&'static str, usize)>,
    sizes: Sizes,
    head: Option<Head>,
    backend: Backend,
    note: Option<String>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Session { sizes, each, backend, note, .. } = self;
        f.debug_struct("Session")
            .field("sizes", sizes)
            .field("outputs", each)
            .field("backend", backend)
            .field("note", note)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Opens the network in `file`, the bytes of a sealed ONNX file, to compute with `threads`
    /// threads (at least one; further ones serve a single call, and two sessions of one thread
    /// do more than one of two). Loads the default [`Runtime`] if none is loaded yet.
    ///
    /// # Errors
    /// If there is no runtime, if the seal is missing or wrong, or if the model is none that ONNX
    /// Runtime takes or has not the inputs and outputs of a network. A GPU that cannot be used is
    /// no error: the CPU takes its place and [`Session::note`] says why.
    pub fn open(file: &[u8], backend: Backend, threads: usize) -> Result<Session, NetworkError> {
        let (session, backend, note) = commit(file, backend, threads, Kernels::Own)?;
        Session::new(session, backend, note)
    }

    fn new(
        mut session: ort::session::Session,
        backend: Backend,
        note: Option<String>,
    ) -> Result<Session, NetworkError> {
        let (batch, [channels, height, width]) = input(session.inputs())?;
        let two_board =
            session.outputs().iter().any(|outlet| outlet.name() == TWO_BOARD_OUTPUTS[1]);
        let names = if two_board { &TWO_BOARD_OUTPUTS[..] } else { &OUTPUTS };
        let each = outputs(session.outputs(), names, batch)?;
        let outputs = select(names)?;
        let (policy, halves) = (each[0].1, each[1].1);
        if two_board && batch.is_some() {
            return Err(unfit(PLANES, "of any number of tables", session.inputs()));
        }
        let planes = [channels, height, width];
        let head = two_board.then(|| Head::read(&mut session, planes, halves)).transpose()?;
        let outcomes = head.as_ref().map_or(halves, Head::outcomes);
        let sizes = Sizes { batch, channels, height, width, policy, outcomes };
        Ok(Session { session, outputs, each, sizes, head, backend, note })
    }

    /// The sizes of the network's input and outputs.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The outputs, and how many numbers each has in a row.
    pub fn outputs(&self) -> &[(&'static str, usize)] {
        &self.each
    }

    /// What puts both tables together, if a row is one of two.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// What the network runs on: [`Backend::Cpu`] or [`Backend::Cuda`].
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Why the network runs on the CPU although a GPU was asked for or seemed to be there, as one
    /// line of text.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The text under `key` in the model's own metadata.
    pub fn get(&self, key: &str) -> Option<String> {
        self.session.metadata().ok()?.custom(key)
    }

    /// Evaluates `rows` rows. `planes` holds their planes, row by row; the buffers are filled likewise,
    /// one for each of [`Session::outputs`]. No rows is no work.
    ///
    /// # Errors
    /// If a buffer has not the length that `rows` asks for, if the network does not take this many
    /// rows or fails, or if any number that it gives is infinite or no number. The outputs then
    /// hold nothing of use.
    pub fn run(
        &mut self,
        planes: &[f32],
        rows: usize,
        buffers: &mut [&mut [f32]],
    ) -> Result<(), NetworkError> {
        let Sizes { batch, channels, height, width, .. } = self.sizes;
        let fits = |name, each, found| {
            let wanted = rows.saturating_mul(each);
            if found == wanted {
                Ok(())
            } else {
                Err(NetworkError::Length { name, rows, wanted, found })
            }
        };
        fits(PLANES, self.sizes.planes(), planes.len())?;
        let (wanted, found) = (self.each.len(), buffers.len());
        if wanted != found {
            return Err(NetworkError::Buffers { wanted, found });
        }
        for (&(name, each), buffer) in self.each.iter().zip(&*buffers) {
            fits(name, each, buffer.len())?;
        }
        if rows == 0 {
            return Ok(());
        }
        if let Some(wanted) = batch.filter(|&size| size != rows) {
            return Err(NetworkError::Batch { wanted, found: rows });
        }
        let run = |error| NetworkError::Run(words(error));
        let input =
            TensorRef::from_array_view(([rows, channels, height, width], planes)).map_err(run)?;
        let results = self
            .session
            .run_with_options(ort::inputs![PLANES => input], &self.outputs)
            .map_err(run)?;
        for (&(name, each), buffer) in self.each.iter().zip(buffers) {
            let result = results
                .get(name)
                .ok_or_else(|| NetworkError::Run(format!("it gave no {name:?}")))?;
            let (shape, numbers) = result.try_extract_tensor::<f32>().map_err(run)?;
            if numbers.len() != buffer.len() {
                return Err(NetworkError::Run(format!(
                    "its {name:?} of {rows} rows has shape {shape:?}"
                )));
            }
            buffer.copy_from_slice(numbers);
            finite(name, each, buffer)?;
        }
        Ok(())
    }
}

/// Errs if a number of `name`, `each` a row, is infinite or no number.
fn finite(name: &'static str, each: usize, numbers: &[f32]) -> Result<(), NetworkError> {
    // Without a branch a number, so that the compiler makes vectors of it.
    if numbers.iter().fold(true, |all, number| all & number.is_finite()) {
        return Ok(());
    }
    let place = numbers.iter().position(|number| !number.is_finite()).unwrap_or(0);
    let value = numbers.get(place).map(ToString::to_string).unwrap_or_default();
    Err(NetworkError::NotFinite { name, row: place / each.max(1), value })
}

/// What ONNX Runtime says, in one line that is not too long.
fn words<R>(error: ort::Error<R>) -> String {
    let text = one_line(&error.to_string());
    // `PLACE IN ITS SOURCE [ONNXRuntimeError] : NUMBER : KIND : TEXT`: only the text is of use.
    let (_, said) = text.rsplit_once("[ONNXRuntimeError] : ").unwrap_or(("", &text));
    let said = said.splitn(3, " : ").last().unwrap_or(said);
    match said.char_indices().nth(400) {
        Some((end, _)) => format!("{} ...", &said[..end]),
        None => said.into(),
    }
}

/// Opens the model on the backend asked for or, failing that, on the CPU; returns the backend used
/// and why it is not the GPU.
fn commit(
    model: &[u8],
    backend: Backend,
    threads: usize,
    kernels: Kernels,
) -> Result<(ort::session::Session, Backend, Option<String>), NetworkError> {
    verify(model)?;
    let runtime = Runtime::load(None)?;
    check_functions(model)?;
    let cuda = if backend == Backend::Cpu { None } else { Some(runtime.cuda()) };
    let note = match (backend, cuda) {
        (_, None) | (Backend::Auto, Some(CudaBuild::Absent)) => None,
        (_, Some(CudaBuild::Absent)) => {
            let path = runtime.path().display();
            Some(format!("{path} is no build for GPUs (scripts/get-onnxruntime --cuda brings one)"))
        }
        (_, Some(CudaBuild::Refused(refusal))) => Some(refusal.to_string()),
        (_, Some(CudaBuild::Present)) => match build_cuda(runtime, model, threads) {
            Ok(session) => return Ok((session, Backend::Cuda, None)),
            Err(error) => Some(error),
        },
    };
    let session = build_cpu(runtime, model, threads, kernels).map_err(NetworkError::Model)?;
    let note = note.map(|why| one_line(&format!("no GPU, the network runs on the CPU: {why}")));
    Ok((session, Backend::Cpu, note))
}

/// Opens the model on the GPU, and there with the CPU only for what a GPU cannot do.
fn build_cuda(
    runtime: &Runtime,
    model: &[u8],
    threads: usize,
) -> Result<ort::session::Session, String> {
    // A search over all algorithms would run anew for every size of a batch.
    let provider =
        ep::CUDA::default().with_conv_algorithm_search(ep::cuda::ConvAlgorithmSearch::Heuristic);
    let mut builder = options(runtime, threads)
        .map_err(words)?
        .with_execution_providers([provider.build().error_on_failure()])
        .map_err(words)?;
    builder.commit_from_memory(model).map_err(words)
}

/// Opens the model on the CPU.
fn build_cpu(
    runtime: &Runtime,
    model: &[u8],
    threads: usize,
    kernels: Kernels,
) -> Result<ort::session::Session, String> {
    let mut builder = options(runtime, threads).map_err(words)?;
    if kernels == Kernels::Functions {
        return builder.commit_from_memory(model).map_err(words);
    }
    builder = builder.with_operators(operators().map_err(words)?).map_err(words)?;
    // A session adds the operators' domain to a map of the whole process, if it is not there yet: ONNX
    // Runtime looks and adds in two steps, and refuses the second of two sessions created at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    builder.commit_from_memory(model).map_err(words)
}

fn options(runtime: &Runtime, threads: usize) -> ort::Result<SessionBuilder> {
    let builder = SessionBuilder::new(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_prepacking(true)?
        .with_parallel_execution(false)?
        .with_intra_threads(threads.max(1))?
        .with_intra_op_spinning(false)?;
    Ok(builder)
}

/// What makes a session compute these outputs and no others.
fn select(names: &[&'static str]) -> Result<RunOptions<HasSelectedOutputs>, NetworkError> {
    let selected = names.iter().copied().fold(OutputSelector::no_default(), OutputSelector::with);
    let options = RunOptions::new().map_err(|error| NetworkError::Model(words(error)))?;
    Ok(options.with_outputs(selected))
}

/// Checks a model's input and reads its axes: the batch, if fixed, channels, height and width.
fn input(inputs: &[Outlet]) -> Result<(Option<usize>, [usize; 3]), NetworkError> {
    const WANTED: &str = "floats of shape [batch, channels, height, width]";
    let axes = dimensions("input", PLANES, inputs, WANTED)?;
    match inputs.iter().find(|outlet| outlet.name() != PLANES) {
        Some(other) => Err(NetworkError::Surplus(other.name().into())),
        None => Ok(axes),
    }
}

/// Checks a model's outputs and reads how many numbers each has in a row.
fn outputs(
    outputs: &[Outlet],
    names: &[&'static str],
    batch: Option<usize>,
) -> Result<Vec<(&'static str, usize)>, NetworkError> {
    const ROWS: &str = "floats of shape [batch, a fixed number]";
    let read = |&name: &&'static str| {
        let (rows, [found]) = dimensions("output", name, outputs, ROWS)?;
        // An output may leave the batch open; a size must be the input's.
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

/// Reads the dimensions of the outlet `name`: the batch, if fixed, and `N` fixed ones.
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
    let (mut found, mut product) = ([0; N], 1_usize);
    for (place, &size) in found.iter_mut().zip(rest) {
        *place = usize::try_from(size).ok().filter(|&size| size > 0).ok_or_else(wrong)?;
        product = product.saturating_mul(*place);
    }
    if product > MAX_SIZE { Err(wrong()) } else { Ok((batch, found)) }
}

/// Returns the names of outlets, quoted.
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
    fn backends_have_names() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().to_uppercase().parse(), Ok(backend));
        }
        assert_eq!(
            "gpu".parse::<Backend>().unwrap_err().to_string(),
            r#"no backend "gpu": there are auto, cpu and cuda"#
        );
    }

    #[test]
    fn what_is_not_finite_is_quoted() {
        assert_eq!(finite("policy", 2, &[0.0, -1.5, f32::MAX, 1e-40]), Ok(()));
        let error = finite("policy", 2, &[0.0, 1.0, 2.0, f32::NEG_INFINITY, f32::NAN]).unwrap_err();
        assert_eq!(error.to_string(), r#"the network's "policy" of row 1 holds -inf"#);
    }
}

//! Sparse networks: lists of active inputs and of table rows instead of planes.
//!
//! | input | type | shape | meaning |
//! |---|---|---|---|
//! | `inputs` | u16 | positions, active | the active inputs of each position, padded at the end |
//! | `move_rows` | u16 | moves, rows a move | the rows of the move table of each legal move |
//! | `owners` | u16 | moves | the position in which each move is legal |
//!
//! | output | type | shape | meaning |
//! |---|---|---|---|
//! | `policy` | f32 | moves | a logit for each legal move |
//! | `outcome` | f32 | positions, outcomes | a logit for each outcome |
//! | `moves_left` | f32 | positions, 1 | the turns that the game is expected to last |
//!
//! The three nodes of the graph are operators of the project, which the file defines as functions of
//! standard operators: any ONNX Runtime can run it. On a CPU, kernels of this program replace them
//! (see [`Kernels`]).

use std::fmt;

use ort::session::{HasSelectedOutputs, RunOptions};
use ort::value::{Outlet, TensorElementType, TensorRef, ValueType};

use super::kernels::DirectKernels;
use super::{
    Backend, Kernels, NetworkError, OUTPUTS, OpenedSession, check_finite, check_length, names_of,
    run_error, select, unfit,
};

/// The names of the inputs of a sparse network.
pub const SPARSE_INPUTS: [&str; 3] = ["inputs", "move_rows", "owners"];

/// The maximum size of a fixed dimension.
const MAX_NUMBERS: usize = 1 << 24;

/// Positions for a sparse network.
#[derive(Clone, Copy, Debug)]
pub struct SparseRequest<'a> {
    /// The number of positions, at most 65,536.
    pub positions: usize,
    /// The active inputs of each position, as many numbers for each; the number after the last input
    /// fills the end.
    pub inputs: &'a [u16],
    /// The table rows of each legal move, one move after another, as many for each.
    pub move_rows: &'a [u16],
    /// The position of each legal move.
    pub owners: &'a [u16],
}

/// A sparse network ready to run. Sessions of the same file share their tables; each thread may have
/// its own.
pub struct SparseSession {
    session: ort::session::Session,
    outputs: RunOptions<HasSelectedOutputs>,
    rows_per_move: usize,
    outcomes: usize,
    backend: Backend,
    note: Option<String>,
    /// The table rows of a dummy move, for requests without moves.
    no_move: Vec<u16>,
    /// The kernels of the network, if it is an int8 one that runs on the CPU.
    kernels: Option<Box<DirectKernels>>,
}

impl fmt::Debug for SparseSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SparseSession { rows_per_move, outcomes, backend, note, .. } = self;
        f.debug_struct("SparseSession")
            .field("rows_per_move", rows_per_move)
            .field("outcomes", outcomes)
            .field("backend", backend)
            .field("note", note)
            .finish_non_exhaustive()
    }
}

impl SparseSession {
    /// Opens the sparse network in `file`, the bytes of an ONNX file with a checksum. Loads the default
    /// runtime if none is loaded yet.
    ///
    /// # Errors
    /// If there is no runtime, the file is damaged, ONNX Runtime or a kernel rejects the model, or it does
    /// not have the inputs and outputs of a sparse network.
    pub fn open(
        file: &[u8],
        backend: Backend,
        threads: usize,
        kernels: Kernels,
    ) -> Result<SparseSession, NetworkError> {
        SparseSession::new(super::open_session(file, backend, threads, kernels)?)
    }

    /// Returns `true` if a session is that of a sparse network.
    pub(super) fn is_sparse(session: &ort::session::Session) -> bool {
        session.inputs().iter().any(|outlet| outlet.name() == SPARSE_INPUTS[0])
    }

    pub(super) fn new(opened: OpenedSession) -> Result<SparseSession, NetworkError> {
        let OpenedSession { session, backend, note, slot } = opened;
        let [inputs, move_rows, owners] = SPARSE_INPUTS;
        let mut outlets = session.inputs().iter();
        if let Some(other) = outlets.find(|outlet| !SPARSE_INPUTS.contains(&outlet.name())) {
            return Err(NetworkError::Surplus(other.name().into()));
        }
        let u16s = TensorElementType::Uint16;
        let f32s = TensorElementType::Float32;
        let from = session.inputs();
        axes(from, "input", inputs, u16s, "u16 of shape [positions, active]", [false, false])?;
        let wanted = "u16 of shape [moves, a fixed number]";
        let [_, rows_per_move] = axes(from, "input", move_rows, u16s, wanted, [false, true])?;
        axes(from, "input", owners, u16s, "u16 of shape [moves]", [false])?;
        let from = session.outputs();
        let [policy, outcome, moves_left] = OUTPUTS;
        axes(from, "output", policy, f32s, "floats of shape [moves]", [false])?;
        let wanted = "floats of shape [positions, a fixed number]";
        let [_, outcomes] = axes(from, "output", outcome, f32s, wanted, [false, true])?;
        let wanted = "floats of shape [positions, 1]";
        let [_, one] = axes(from, "output", moves_left, f32s, wanted, [false, true])?;
        if one != 1 {
            return Err(unfit(moves_left, wanted, from));
        }
        let outputs = select(&OUTPUTS)?;
        let no_move = vec![0; rows_per_move];
        let kernels = DirectKernels::new(&slot, rows_per_move).map(Box::new);
        Ok(SparseSession {
            session,
            outputs,
            rows_per_move,
            outcomes,
            backend,
            note,
            no_move,
            kernels,
        })
    }

    /// Returns the number of table rows of a move.
    pub fn rows_per_move(&self) -> usize {
        self.rows_per_move
    }

    /// Returns the number of outcomes.
    pub fn outcomes(&self) -> usize {
        self.outcomes
    }

    /// Returns what the network runs on: [`Backend::Cpu`] or [`Backend::Cuda`].
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns why the network runs on the CPU although a GPU was asked for or seemed to be there.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the network without ONNX Runtime, if it is an int8 one that runs on the CPU.
    pub fn direct(&self) -> Option<DirectSession> {
        self.kernels.as_deref().cloned().map(DirectSession)
    }

    /// Returns the value of `key` in the model's metadata.
    pub fn get(&self, key: &str) -> Option<String> {
        self.session.metadata().ok()?.custom(key)
    }

    /// Evaluates the positions of a request. `policy` gets a logit for each move, `outcome` the logits of
    /// each position, `moves_left` a number for each position.
    ///
    /// # Errors
    /// [`NetworkError::Length`] if a buffer or a list does not fit the number of positions or moves,
    /// [`NetworkError::Run`] if the network fails (an index outside its table, too many active inputs),
    /// [`NetworkError::NotFinite`] if an output is infinite or NaN. The content of the buffers is then
    /// unspecified.
    pub fn run(
        &mut self,
        request: SparseRequest<'_>,
        policy: &mut [f32],
        outcome: &mut [f32],
        moves_left: &mut [f32],
    ) -> Result<(), NetworkError> {
        let SparseRequest { positions, inputs, move_rows, owners } = request;
        let moves = owners.len();
        let per_move = self.rows_per_move;
        if positions == 0 {
            return check_length(SPARSE_INPUTS[1], 0, 0, moves + inputs.len() + move_rows.len());
        }
        let active = inputs.len() / positions;
        check_length(SPARSE_INPUTS[0], positions, active.max(1), inputs.len())?;
        check_length(SPARSE_INPUTS[1], moves, per_move, move_rows.len())?;
        let [policy_name, outcome_name, moves_left_name] = OUTPUTS;
        check_length(policy_name, moves, 1, policy.len())?;
        check_length(outcome_name, positions, self.outcomes, outcome.len())?;
        check_length(moves_left_name, positions, 1, moves_left.len())?;
        // A tensor cannot be empty.
        let (rows, move_rows, owners) = match moves {
            0 => (1, &self.no_move[..], &[0][..]),
            _ => (moves, move_rows, owners),
        };
        let inputs =
            TensorRef::from_array_view(([positions, active], inputs)).map_err(run_error)?;
        let move_rows =
            TensorRef::from_array_view(([rows, per_move], move_rows)).map_err(run_error)?;
        let owners = TensorRef::from_array_view(([rows], owners)).map_err(run_error)?;
        let [inputs_name, move_rows_name, owners_name] = SPARSE_INPUTS;
        let values = ort::inputs![
            inputs_name => inputs, move_rows_name => move_rows, owners_name => owners
        ];
        let results = self.session.run_with_options(values, &self.outputs).map_err(run_error)?;
        let buffers = [(policy, 1), (outcome, self.outcomes), (moves_left, 1)];
        for (name, (buffer, per_row)) in OUTPUTS.into_iter().zip(buffers) {
            let result = results
                .get(name)
                .ok_or_else(|| NetworkError::Run(format!("no output {name:?}")))?;
            let (shape, numbers) = result.try_extract_tensor::<f32>().map_err(run_error)?;
            if buffer.is_empty() {
                continue;
            }
            if numbers.len() != buffer.len() {
                return Err(NetworkError::Run(format!(
                    "{name:?} has shape {shape:?}, expected {} numbers",
                    buffer.len()
                )));
            }
            buffer.copy_from_slice(numbers);
            check_finite(name, per_row, buffer)?;
        }
        Ok(())
    }
}

/// An int8 sparse network that evaluates one position at a time without ONNX Runtime, with the same results.
/// Clones share the tables.
#[derive(Clone)]
pub struct DirectSession(DirectKernels);

impl fmt::Debug for DirectSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectSession").finish_non_exhaustive()
    }
}

impl DirectSession {
    /// Returns the logits of the outcomes (the side to move wins, the other side wins, draw) of the position with
    /// these active inputs, among which may be padding rows. `ply` is its distance from the root of a search.
    ///
    /// It saves time if positions at the same ply and two plies before have the same inputs at the same places. The result
    /// does not depend on it.
    ///
    /// # Errors
    /// [`NetworkError::Run`] if an input is not in the table, or if there are too many.
    pub fn outcome(&mut self, ply: usize, inputs: &[u16]) -> Result<[f32; 3], NetworkError> {
        self.0.outcome(ply, inputs).map_err(run_error)
    }

    /// Returns the expected number of turns left of the position of the last [`DirectSession::outcome`].
    ///
    /// # Errors
    /// [`NetworkError::Run`] if the network has an empty layer.
    pub fn moves_left(&self) -> Result<f32, NetworkError> {
        self.0.moves_left().map_err(run_error)
    }

    /// Replaces `logits` by a logit for each move, given the table rows of each, in the position of these inputs. For `ply` and
    /// `inputs` see [`DirectSession::outcome`].
    ///
    /// # Errors
    /// [`NetworkError::Run`] if an index is not in its table, there are too many inputs, or the rows are not complete.
    pub fn policy(
        &mut self,
        ply: usize,
        inputs: &[u16],
        move_rows: &[u16],
        logits: &mut Vec<f32>,
    ) -> Result<(), NetworkError> {
        self.0.policy(ply, inputs, move_rows, logits).map_err(run_error)
    }
}

/// Checks the type and the number of axes of the outlet `name`, and returns those of its axes that must
/// be `fixed`; the others must be open.
fn axes<const N: usize>(
    outlets: &[Outlet],
    kind: &'static str,
    name: &'static str,
    element: TensorElementType,
    wanted: &'static str,
    fixed: [bool; N],
) -> Result<[usize; N], NetworkError> {
    let Some(outlet) = outlets.iter().find(|outlet| outlet.name() == name) else {
        return Err(NetworkError::Missing { kind, name, found: names_of(outlets) });
    };
    let wrong = || unfit(name, wanted, outlets);
    let ValueType::Tensor { ty, shape, .. } = outlet.dtype() else { return Err(wrong()) };
    if *ty != element || shape.len() != N {
        return Err(wrong());
    }
    let mut found = [0; N];
    for ((found, &size), fixed) in found.iter_mut().zip(shape.iter()).zip(fixed) {
        let size = usize::try_from(size).ok();
        match size.filter(|&size| size <= MAX_NUMBERS) {
            Some(size @ 1..) if fixed => *found = size,
            None if !fixed && size.is_none() => {}
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

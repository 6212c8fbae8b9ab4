//! Speed of networks alone: evaluations per CPU second at several batch sizes.

use cpu_time::ThreadTime;
use menagerie::encoding::sparse::IndexMap;
use menagerie::encoding::{Encoding, SparseEncoding, SparseInput};
use menagerie::nn::network::sparse::{SparseRequest, SparseSession};
use menagerie::nn::network::{Backend, Kernels, Network, PlaneSession};
use menagerie::nn::{Fit, NetworkMetadata};
use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;

use crate::calibration::from_random_play;

/// Positions that are evaluated again and again. Their rows of the tables exceed the first-level cache, as
/// those of a search do.
const POSITIONS: usize = 512;

/// A network file to measure.
#[derive(Clone, Debug)]
pub struct NetworkFile {
    /// How it is named in the results.
    pub name: String,
    /// The bytes of an ONNX file with a checksum.
    pub bytes: Vec<u8>,
}

/// The speed of one network at one batch size.
#[derive(Clone, Debug)]
pub struct NetworkSpeed {
    /// The name of the file, with the kernels of a sparse network.
    pub name: String,
    /// Positions evaluated at once.
    pub batch: usize,
    /// Evaluations per CPU second of one thread, the median of all rounds.
    pub evaluations: f64,
}

/// Measures all `files`, networks of `variant`, at all `batches`, for `seconds` of CPU time each in `rounds`
/// rounds. The networks take turns within a round, so that other load on the machine falls on all of them.
/// A sparse network is measured with our kernels, and with the functions of its file, which ONNX Runtime
/// computes.
///
/// # Errors
/// If a network cannot be opened or run, or does not fit the variant.
pub fn measure(
    variant: &Variant,
    files: &[NetworkFile],
    batches: &[usize],
    seconds: f64,
    rounds: usize,
) -> anyhow::Result<Vec<NetworkSpeed>> {
    let mut contenders = Vec::new();
    for file in files {
        for &batch in batches {
            anyhow::ensure!(batch > 0, "a batch of 0 positions");
            contenders.extend(open(variant, file, batch)?);
        }
    }
    let mut rates = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (contender, rates) in contenders.iter_mut().zip(&mut rates) {
            rates.push(contender.rate(seconds)?);
        }
    }
    let speed = |(contender, mut rates): (Contender, Vec<f64>)| {
        rates.sort_by(f64::total_cmp);
        let evaluations = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        NetworkSpeed { name: contender.name, batch: contender.batch, evaluations }
    };
    Ok(contenders.into_iter().zip(rates).map(speed).collect())
}

/// Opens a network for one batch size: once for each set of kernels that it has.
fn open(variant: &Variant, file: &NetworkFile, batch: usize) -> anyhow::Result<Vec<Contender>> {
    let encoding = Encoding::of(&variant.start());
    let fail = |error: &dyn std::fmt::Display| anyhow::anyhow!("{}: {error}", file.name);
    let positions = from_random_play(variant, POSITIONS, 1);
    match Network::open(&file.bytes, Backend::Cpu, 1).map_err(|error| fail(&error))? {
        Network::Planes(session) => {
            let sizes = session.sizes();
            let wanted = encoding.shape().input();
            if sizes.planes() != wanted {
                return Err(fail(&format!("{} inputs instead of {wanted}", sizes.planes())));
            }
            let mut planes = Vec::new();
            for positions in positions.chunks_exact(batch) {
                let mut buffer = vec![0.0; batch * sizes.planes()];
                for (position, part) in positions.iter().zip(buffer.chunks_mut(sizes.planes())) {
                    encoding.write_planes(&position.view(), part);
                }
                planes.push(buffer);
            }
            anyhow::ensure!(!planes.is_empty(), "a batch of {batch} positions is too large");
            let outputs =
                session.outputs().iter().map(|(_, each)| vec![0.0; batch * each]).collect();
            let work = Work::Planes { session, planes, outputs };
            Ok(vec![Contender { name: file.name.clone(), batch, work, next: 0 }])
        }
        Network::Sparse(session) => {
            let sparse = encoding.sparse().ok_or_else(|| fail(&"no sparse encoding"))?;
            let metadata = NetworkMetadata::read(|key| session.get(key));
            let metadata = metadata.map_err(|error| fail(&error))?;
            let map = if metadata.is_base() {
                metadata.base_map(&sparse, variant.name()).map(Some)
            } else {
                metadata.sparse_map(&sparse, variant.name(), Fit::Partial)
            };
            let map = map.map_err(|error| fail(&error))?;
            let lists: Vec<Lists> = positions
                .chunks_exact(batch)
                .map(|positions| Lists::new(&sparse, map.as_ref(), positions))
                .collect();
            anyhow::ensure!(!lists.is_empty(), "a batch of {batch} positions is too large");
            let mut contenders = Vec::new();
            for (kernels, label) in [(Kernels::Own, "own"), (Kernels::Functions, "stock")] {
                let session = SparseSession::open(&file.bytes, Backend::Cpu, 1, kernels)
                    .map_err(|error| fail(&error))?;
                let work = Work::Sparse { session, lists: lists.clone() };
                let name = format!("{} ({label} kernels)", file.name);
                contenders.push(Contender { name, batch, work, next: 0 });
            }
            Ok(contenders)
        }
    }
}

/// A network that is measured at one batch size.
struct Contender {
    name: String,
    batch: usize,
    work: Work,
    /// The batch that is evaluated next.
    next: usize,
}

/// A session and the encoded batches that it evaluates.
enum Work {
    Planes { session: PlaneSession, planes: Vec<Vec<f32>>, outputs: Vec<Vec<f32>> },
    Sparse { session: SparseSession, lists: Vec<Lists> },
}

impl Contender {
    /// Returns the evaluations per CPU second over `seconds`.
    fn rate(&mut self, seconds: f64) -> anyhow::Result<f64> {
        let clock = ThreadTime::now();
        let mut evaluations = 0;
        loop {
            let spent = clock.elapsed().as_secs_f64();
            if spent >= seconds && evaluations > 0 {
                return Ok(evaluations as f64 / spent);
            }
            for _ in 0..16 {
                self.run_once()?;
                evaluations += self.batch;
            }
        }
    }

    fn run_once(&mut self) -> anyhow::Result<()> {
        self.next += 1;
        match &mut self.work {
            Work::Planes { session, planes, outputs } => {
                let mut outputs: Vec<&mut [f32]> =
                    outputs.iter_mut().map(|output| &mut output[..]).collect();
                session.run(&planes[self.next % planes.len()], self.batch, &mut outputs)?;
            }
            Work::Sparse { session, lists } => {
                let nth = self.next % lists.len();
                let lists = &mut lists[nth];
                let request = SparseRequest {
                    positions: self.batch,
                    inputs: &lists.inputs,
                    move_rows: &lists.move_rows,
                    owners: &lists.owners,
                };
                let outcome = &mut lists.outcome;
                session.run(request, &mut lists.policy, outcome, &mut lists.moves_left)?;
            }
        }
        Ok(())
    }
}

/// A batch in the sparse encoding, and room for its evaluation.
#[derive(Clone, Debug, Default)]
struct Lists {
    inputs: Vec<u16>,
    move_rows: Vec<u16>,
    owners: Vec<u16>,
    policy: Vec<f32>,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
}

impl Lists {
    /// Returns the lists of positions. With `map`, indices of the encoding are mapped to those of the network.
    fn new(encoding: &SparseEncoding, map: Option<&IndexMap>, positions: &[Position]) -> Lists {
        let mut legal = MoveList::new();
        let mut encoded = Vec::new();
        let mut lists = Lists::default();
        for (owner, position) in positions.iter().enumerate() {
            let mut input = SparseInput::default();
            position.legal_moves(&mut legal);
            encoding.write(position, &legal, &mut input);
            if let Some(map) = map {
                map.apply(&mut input);
            }
            lists.move_rows.extend_from_slice(&input.move_rows);
            lists.owners.resize(lists.owners.len() + legal.len(), owner as u16);
            encoded.push(input.inputs);
        }
        let active = encoded.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let padding = map.map_or_else(|| encoding.shape().inputs as u16, IndexMap::input_padding);
        for mut inputs in encoded {
            inputs.resize(active, padding);
            lists.inputs.extend(inputs);
        }
        lists.policy = vec![0.0; lists.owners.len()];
        lists.outcome = vec![0.0; positions.len() * encoding.shape().outcomes];
        lists.moves_left = vec![0.0; positions.len()];
        lists
    }
}

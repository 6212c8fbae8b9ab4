//! The evaluators of a session: the network, its backend, and one evaluator per thread.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::embedded_nets::{self, UnreadableNetwork};
use super::options::Options;
use crate::alphabeta::AlphaBeta;
use crate::encoding::Encoding;
use crate::nn::network::Backend;
use crate::nn::runtime::{Runtime, RuntimeError, executable_folder};
use crate::nn::{
    Cache, DirectNetwork, EvalError, Evaluator, Fit, Onnx, Opened, Query, UnfitNetwork, Uniform,
    Weights,
};
use crate::rules::MoveList;
use crate::search::Params;
use crate::variant::{BASE_NETWORK, Catalogue, Variant};

/// The part of `Hash` that the cache of evaluations takes.
const CACHE_DIVISOR: usize = 4;

/// Open evaluators, and the settings for which they were opened.
pub(super) struct EvaluatorPool {
    /// One for each thread that searches, at least one.
    pub(super) evaluators: Vec<Box<dyn Evaluator>>,
    /// Whether they use a network.
    has_network: bool,
    /// The search parameters for them.
    params: Params,
    /// Whether they replace a network that was named and cannot be used.
    is_substitute: bool,
    /// The alpha-beta search with the network, once it has been needed.
    alpha_beta: Option<AlphaBeta<DirectNetwork>>,
    key: EvaluatorKey,
}

/// A network that is open for one variant.
pub struct VariantNetwork {
    /// Evaluates positions of the variant, and caches what it has evaluated.
    pub evaluator: Box<dyn Evaluator>,
    /// The parameters of a search with this evaluator.
    pub params: Params,
    /// Whether it replaces a network that was named and cannot be used.
    pub is_substitute: bool,
}

impl fmt::Debug for VariantNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VariantNetwork")
            .field("params", &self.params)
            .field("is_substitute", &self.is_substitute)
            .finish_non_exhaustive()
    }
}

/// Opens the network file `weights` for a variant, or a shipped network if `weights` is empty or the file
/// cannot be used. Messages for the user are appended to `notes`. Returns `None` if no network can be used.
pub fn open_network(
    variant: &Variant,
    weights: &str,
    notes: &mut Vec<String>,
) -> Option<VariantNetwork> {
    let mut options = Options::new(Catalogue::shipped());
    weights.clone_into(&mut options.weights);
    let pool = EvaluatorPool::new(variant, &options, None, notes);
    if !pool.has_network {
        return None;
    }
    let evaluator = pool.evaluators.into_iter().next()?;
    Some(VariantNetwork { evaluator, params: pool.params, is_substitute: pool.is_substitute })
}

/// Opens the best shipped network of another variant that can evaluate `variant`, in a form that evaluates one position
/// at a time, for alpha-beta. Messages for the user are appended to `notes`. Returns `None` if there is none.
pub fn open_direct_substitute(variant: &Variant, notes: &mut Vec<String>) -> Option<DirectNetwork> {
    let options = Options::new(Catalogue::shipped());
    for Candidate { weights, made_for } in related_networks(variant, notes) {
        let opened = weights.map_err(NetworkRefusal::from).and_then(|weights| {
            load_runtime(&options, notes)?;
            open(variant, &options, &weights, made_for, notes)
        });
        match opened {
            Ok((evaluators, _)) => {
                let direct = evaluators.first().and_then(|evaluator| evaluator.direct());
                if direct.is_some() {
                    return direct;
                }
            }
            Err(refusal) => notes.push(refusal.to_string()),
        }
    }
    None
}

/// The settings on which the choice of an evaluator depends.
#[derive(Clone, PartialEq, Eq, Debug)]
struct EvaluatorKey {
    variant: String,
    /// The variant of a name may be another one once its file has been read again.
    layout: String,
    /// The variant that its section names for a substitute network.
    network: Option<String>,
    weights: String,
    backend: Backend,
    runtime_library: String,
    threads: usize,
    hash: usize,
}

impl EvaluatorKey {
    fn new(variant: &Variant, options: &Options) -> EvaluatorKey {
        EvaluatorKey {
            variant: variant.name().to_owned(),
            layout: Encoding::of(&variant.start()).layout(),
            network: variant.network().map(str::to_owned),
            weights: options.weights.clone(),
            backend: options.backend,
            runtime_library: options.runtime_library.clone(),
            threads: options.threads,
            hash: options.hash,
        }
    }

    fn is_same_variant(&self, other: &EvaluatorKey) -> bool {
        self.variant == other.variant && self.layout == other.layout
    }
}

/// Why a network cannot be used.
#[derive(Debug, thiserror::Error)]
enum NetworkRefusal {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadableNetwork),
    /// There is no ONNX Runtime.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// It is damaged, or not for the variant.
    #[error("network {name} is refused: {error}")]
    Unfit {
        /// The network.
        name: String,
        /// What is wrong with it.
        error: Box<UnfitNetwork>,
    },
    /// It fails to evaluate the first positions.
    #[error("network {name} is refused: {error}")]
    Eval {
        /// The network.
        name: String,
        /// The error of the evaluator.
        error: EvalError,
    },
}

/// A network that may be used for a variant.
struct Candidate<'a> {
    weights: Result<Weights, UnreadableNetwork>,
    /// The variant for which it was made.
    made_for: &'a str,
}

impl EvaluatorPool {
    /// Returns `true` if these are the evaluators that `options` ask for.
    pub(super) fn serves(&self, variant: &Variant, options: &Options) -> bool {
        self.key == EvaluatorKey::new(variant, options)
    }

    /// Opens the network that `options` ask for. If it cannot be used, takes `previous` if that is for the
    /// same variant, or else the next best network, or else a uniform policy. Messages for the user are
    /// appended to `notes`.
    pub(super) fn new(
        variant: &Variant,
        options: &Options,
        previous: Option<EvaluatorPool>,
        notes: &mut Vec<String>,
    ) -> EvaluatorPool {
        let key = EvaluatorKey::new(variant, options);
        let name = variant.name();
        let previous = previous.filter(|pool| pool.has_network && pool.key.is_same_variant(&key));
        let named = named_network(options).map(|weights| Candidate { weights, made_for: name });
        let is_named = named.is_some();
        let mut candidates: Vec<_> = named.into_iter().collect();
        candidates.extend(shipped_networks(variant, notes));
        if candidates.is_empty() {
            notes.push(format!("{name}: no network, using a uniform policy"));
            return EvaluatorPool::uniform(variant, key);
        }
        for (index, Candidate { weights, made_for }) in candidates.into_iter().enumerate() {
            let opened = weights.map_err(NetworkRefusal::from).and_then(|weights| {
                load_runtime(options, notes)?;
                Ok(open(variant, options, &weights, made_for, notes))
            });
            let refusal = match opened {
                Ok(Ok((evaluators, params))) => {
                    let is_substitute = is_named && index > 0;
                    return EvaluatorPool {
                        evaluators,
                        has_network: true,
                        params,
                        is_substitute,
                        alpha_beta: None,
                        key,
                    };
                }
                Ok(Err(refusal)) | Err(refusal) => refusal.to_string(),
            };
            if !notes.contains(&refusal) {
                notes.push(refusal);
            }
            if let Some(previous) = previous {
                notes.push(format!("{name}: keeping the previous network"));
                return EvaluatorPool {
                    key,
                    is_substitute: is_named,
                    alpha_beta: None,
                    ..previous
                };
            }
        }
        notes.push(format!("{name}: no usable network, using a uniform policy"));
        EvaluatorPool::uniform(variant, key)
    }

    fn uniform(variant: &Variant, key: EvaluatorKey) -> EvaluatorPool {
        let shape = Encoding::of(&variant.start()).shape();
        EvaluatorPool {
            // One thread is as fast as several, which would wait for the tree.
            evaluators: vec![Box::new(Uniform::new(shape))],
            has_network: false,
            params: Params::without_network(),
            is_substitute: !key.weights.is_empty(),
            alpha_beta: None,
            key,
        }
    }

    /// Returns the search parameters for these evaluators.
    pub(super) fn params(&self) -> Params {
        self.params
    }

    /// Returns the evaluator of the first thread.
    pub(super) fn first(&mut self) -> &mut dyn Evaluator {
        &mut *self.evaluators[0]
    }

    /// Returns the network in a form that evaluates one position at a time, if there is one.
    pub(super) fn direct(&self) -> Option<DirectNetwork> {
        self.evaluators.first()?.direct()
    }

    /// Returns the alpha-beta search with the network, which takes the memory of the tree. `None` if the network
    /// cannot evaluate one position at a time.
    pub(super) fn alpha_beta(
        &mut self,
        options: &Options,
    ) -> Option<&mut AlphaBeta<DirectNetwork>> {
        if self.alpha_beta.is_none() {
            let network = self.direct()?;
            let networks = vec![network; options.threads.max(1)];
            self.alpha_beta = Some(AlphaBeta::new(networks, self.tree_bytes(options)));
        }
        self.alpha_beta.as_mut()
    }

    /// Frees the memory of the alpha-beta search.
    pub(super) fn drop_alpha_beta(&mut self) {
        self.alpha_beta = None;
    }

    /// Clears caches and what the alpha-beta search has learned.
    pub(super) fn clear(&mut self) {
        self.evaluators.iter_mut().for_each(|evaluator| evaluator.clear_caches());
        if let Some(search) = &mut self.alpha_beta {
            search.clear();
        }
    }

    /// Replaces evaluators that failed by a uniform policy.
    pub(super) fn replace_by_uniform(&mut self) {
        self.evaluators = vec![Box::new(Uniform::new(self.first().shape()))];
        self.has_network = false;
        self.params = Params::without_network();
        self.alpha_beta = None;
    }

    /// Returns the memory for the tree, in bytes. The tree and the cache together stay within the option
    /// `Hash`, with a reserve for the leaves and stacks of threads.
    pub(super) fn tree_bytes(&self, options: &Options) -> usize {
        let all = options.hash << 20;
        let cache = if self.has_network { cache_bytes(options) } else { 0 };
        all - cache - (all / 16).min(1 << 20)
    }
}

/// Returns the memory for cached evaluations, in bytes.
fn cache_bytes(options: &Options) -> usize {
    (options.hash << 20) / CACHE_DIVISOR
}

/// Returns the shipped networks for a variant, the best first: its own, or else related ones.
fn shipped_networks<'a>(variant: &'a Variant, notes: &mut Vec<String>) -> Vec<Candidate<'a>> {
    let name = variant.name();
    let own = embedded_nets::networks(name);
    if !own.is_empty() {
        return own.into_iter().map(|weights| Candidate { weights, made_for: name }).collect();
    }
    related_networks(variant, notes)
}

/// Returns the shipped networks of other variants that may evaluate this one, the best first, see
/// [`embedded_nets::related`].
fn related_networks<'a>(variant: &'a Variant, notes: &mut Vec<String>) -> Vec<Candidate<'a>> {
    let name = variant.name();
    let mut candidates = Vec::new();
    for network in embedded_nets::related(variant) {
        let is_base = network == BASE_NETWORK;
        let found = embedded_nets::networks(network);
        if found.is_empty() && !is_base {
            notes.push(format!(
                "{name}: there is no \"{network}\" network, which its section names"
            ));
        }
        let made_for = if is_base { name } else { network };
        candidates.extend(found.into_iter().map(|weights| Candidate { weights, made_for }));
    }
    candidates
}

/// Returns the network that the options name, if they name one.
fn named_network(options: &Options) -> Option<Result<Weights, UnreadableNetwork>> {
    let name = &options.weights;
    if name.is_empty() {
        return None;
    }
    Some(
        Weights::read(&locate(name), name)
            .map_err(|error| UnreadableNetwork { name: name.clone(), error }),
    )
}

/// Returns the path of the file `name`. A relative one starts at the executable's folder or, if nothing is
/// there, at the working directory.
fn locate(name: &str) -> PathBuf {
    let adjacent = executable_folder().map(|folder| folder.join(name));
    adjacent.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

/// Loads ONNX Runtime, if it is not loaded yet.
fn load_runtime(options: &Options, notes: &mut Vec<String>) -> Result<(), RuntimeError> {
    let runtime = match Runtime::load(Some(Path::new(&options.runtime_library))) {
        // Another library is loaded already. It serves as well.
        Err(error @ RuntimeError::Taken { .. }) => {
            notes.push(error.to_string());
            Runtime::load(None)
        }
        result => result,
    }?;
    notes.extend(runtime.skipped().iter().map(|refusal| format!("skipped: {refusal}")));
    Ok(())
}

/// Returns how far the layout of a network that was made for the variant `made_for` may differ from that of
/// `variant`; a base network counts as made for any. Rules that a section changes may need inputs that the network of
/// its parent lacks: such a network must be named by the section itself.
pub fn network_fit(variant: &Variant, made_for: &str) -> Fit {
    match made_for {
        own if own == variant.name() => Fit::Exact,
        _ if variant.inherits_network() => Fit::Complete,
        _ => Fit::Partial,
    }
}

/// Opens a network that was made for the variant `made_for`, once for each thread, and evaluates a batch with
/// each.
fn open(
    variant: &Variant,
    options: &Options,
    weights: &Weights,
    made_for: &str,
    notes: &mut Vec<String>,
) -> Result<(Vec<Box<dyn Evaluator>>, Params), NetworkRefusal> {
    let unfit =
        |error| NetworkRefusal::Unfit { name: weights.name().to_owned(), error: Box::new(error) };
    let failed = |error| NetworkRefusal::Eval { name: weights.name().to_owned(), error };
    let encoding = Encoding::of(&variant.start());
    let name = variant.name();
    let fit = network_fit(variant, made_for);
    let Opened { network: mut first, file, notes: more } =
        weights.open_related(&encoding, made_for, fit, options.backend).map_err(unfit)?;
    notes.extend(more);
    if made_for != name {
        notes.push(format!("{name}: using the {made_for} network"));
    }
    if first.network_metadata().is_base() {
        let variants = if first.network_metadata().has_variant(name) {
            "this variant, among others"
        } else {
            "other variants"
        };
        notes.push(format!("{name}: using a base network trained on {variants}"));
    }
    if let Some(unseen) = first.unseen() {
        notes.push(format!("{name}: the network has no input for {unseen}"));
    }
    warm_up(&mut first, variant, &encoding).map_err(failed)?;
    notes.push(format!(
        "{name}: network {} ({}), ONNX Runtime {}",
        file.name,
        first.network_metadata().run,
        first.backend()
    ));
    // A GPU evaluates one batch while the next is gathered.
    let threads = options.threads.max(if first.backend() == Backend::Cuda { 2 } else { 1 });
    let params = if first.is_sparse() { Params::sparse() } else { Params::default() };
    let backend = first.backend();
    let mut networks = vec![first];
    for _ in 1..threads {
        let network = Onnx::open_related(&file.bytes, &encoding, made_for, fit, backend, 1);
        networks.push(network.map_err(unfit)?);
    }
    for network in &mut networks[1..] {
        warm_up(network, variant, &encoding).map_err(failed)?;
    }
    let cache = Cache::shared(cache_bytes(options));
    let evaluators = networks.into_iter().map(|network| network.with_cache(Arc::clone(&cache)));
    Ok((evaluators.collect(), params))
}

/// Evaluates a whole batch of the start, so that the network allocates its memory before the first search.
fn warm_up(network: &mut Onnx, variant: &Variant, encoding: &Encoding) -> Result<(), EvalError> {
    let start = variant.start();
    let mut legal = MoveList::new();
    start.legal_moves(&mut legal);
    let mut batch = network.new_batch();
    for _ in 0..network.preferred_batch() {
        batch.push(Query { encoding, position: &start, legal: &legal });
    }
    network.evaluate(&mut batch)
}

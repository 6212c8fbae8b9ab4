//! The choice of an evaluator: which network, on what, with how many threads.

use std::env::current_exe;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::embedded_nets;
use super::options::Options;
use crate::encoding::Encoding;
use crate::nn::network::Backend;
use crate::nn::runtime::{Runtime, RuntimeError};
use crate::nn::{Cache, Cached, Evaluator, Onnx, Opened, Query, Uniform, Weights};
use crate::rules::MoveList;
use crate::search::Params;
use crate::variant::{Catalogue, Variant};

/// An evaluator, and what it was chosen by.
pub(super) struct EvaluatorPool {
    /// One for each thread that searches, at least one.
    pub(super) evaluators: Vec<Box<dyn Evaluator>>,
    /// Whether it asks a network.
    pub(super) network: bool,
    /// The parameters of a search by it.
    params: Params,
    /// Whether it stands in for one that was named and could not be had.
    pub(super) stands_in: bool,
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
    let chosen = EvaluatorPool::new(variant, &options, None, notes);
    if !chosen.network {
        return None;
    }
    let evaluator = chosen.evaluators.into_iter().next()?;
    Some(VariantNetwork { evaluator, params: chosen.params, is_substitute: chosen.stands_in })
}

/// All that an evaluator is chosen by.
#[derive(Clone, PartialEq, Eq, Debug)]
struct EvaluatorKey {
    variant: String,
    /// The game of a name may be another one once its file has been read anew.
    layout: String,
    /// The game whose network its section wants.
    network: Option<String>,
    weights: String,
    backend: Backend,
    library: String,
    threads: usize,
    hash: usize,
}

impl EvaluatorPool {
    /// Whether it is still what `options` ask for.
    pub(super) fn serves(&self, variant: &Variant, options: &Options) -> bool {
        self.key == EvaluatorKey::new(variant, options)
    }

    /// What `options` ask for, or the best that can be had in its place: `before`, if it plays
    /// the same game, or else the evaluator that knows nothing. What there is to know about it
    /// goes to `notes`, a line each.
    pub(super) fn new(
        variant: &Variant,
        options: &Options,
        before: Option<EvaluatorPool>,
        notes: &mut Vec<String>,
    ) -> EvaluatorPool {
        let key = EvaluatorKey::new(variant, options);
        let name = variant.name();
        let same = |before: &EvaluatorKey| before.variant == name && before.layout == key.layout;
        let before = before.filter(|before| before.network && same(&before.key));
        let named = named(options).map(|weights| (weights, name));
        let wanted = named.is_some();
        let mut candidates: Vec<_> = named.into_iter().collect();
        candidates.extend(unnamed(variant, notes));
        if candidates.is_empty() {
            notes.push(format!(
                "{name}: there is no network for it yet, it is played by search alone (Uniform \
                 evaluator)"
            ));
            return EvaluatorPool::uniform(variant, key);
        }
        for (at, (candidate, game)) in candidates.into_iter().enumerate() {
            let opened = candidate.and_then(|weights| {
                library(options, notes)?;
                open(variant, options, &weights, game, notes).map_err(|refusal| {
                    match game == name {
                        true => refusal,
                        false => format!("{name}: the network of {game} does not fit it"),
                    }
                })
            });
            match opened {
                Ok((evaluators, params)) => {
                    let stands_in = wanted && at > 0;
                    return EvaluatorPool { evaluators, network: true, params, stands_in, key };
                }
                Err(refusal) if notes.contains(&refusal) => {}
                Err(refusal) => notes.push(refusal),
            }
            if let Some(before) = before {
                notes.push(format!("{name}: the network from before plays on"));
                return EvaluatorPool { key, stands_in: wanted, ..before };
            }
        }
        notes.push(format!(
            "{name}: it is played without a network, by search alone (Uniform evaluator)"
        ));
        EvaluatorPool::uniform(variant, key)
    }

    fn uniform(variant: &Variant, key: EvaluatorKey) -> EvaluatorPool {
        let shape = Encoding::of(&variant.start()).shape();
        let stands_in = !key.weights.is_empty();
        // One thread of it is as fast as several, which would wait for the tree.
        let evaluators: Vec<Box<dyn Evaluator>> = vec![Box::new(Uniform::new(shape))];
        EvaluatorPool { evaluators, network: false, params: Params::blind(), stands_in, key }
    }

    /// The parameters of a search by it.
    pub(super) fn params(&self) -> Params {
        self.params
    }

    /// The evaluator of this thread.
    pub(super) fn first(&mut self) -> &mut dyn Evaluator {
        &mut *self.evaluators[0]
    }

    /// Puts the evaluator that knows nothing in the place of one that failed.
    pub(super) fn give_up(&mut self) {
        self.evaluators = vec![Box::new(Uniform::new(self.first().shape()))];
        self.network = false;
        self.params = Params::blind();
    }

    /// The memory for the tree beside it, in bytes: both together stay within the option `Hash`,
    /// with something to spare for the leaves and stacks of threads.
    pub(super) fn tree_bytes(&self, options: &Options) -> usize {
        let all = options.hash << 20;
        let cache = if self.network { cache_bytes(options) } else { 0 };
        all - cache - (all / 16).min(1 << 20)
    }
}

impl EvaluatorKey {
    fn new(variant: &Variant, options: &Options) -> EvaluatorKey {
        EvaluatorKey {
            variant: variant.name().to_owned(),
            layout: Encoding::of(&variant.start()).layout(),
            network: variant.network().map(str::to_owned),
            weights: options.weights.clone(),
            backend: options.backend,
            library: options.library.clone(),
            threads: options.threads,
            hash: options.hash,
        }
    }
}

/// The memory for remembered evaluations, in bytes.
fn cache_bytes(options: &Options) -> usize {
    (options.hash << 20) / 4
}

/// Returns the networks for a variant without the options, the best first, and the game that each was made
/// for: its own, or else the base and then that of the game it is made from.
fn unnamed<'a>(
    variant: &'a Variant,
    notes: &mut Vec<String>,
) -> Vec<(Result<Weights, String>, &'a str)> {
    let name = variant.name();
    let own = embedded_nets::networks(name);
    if !own.is_empty() {
        return own.into_iter().map(|weights| (weights, name)).collect();
    }
    if variant.wants_no_other_network() {
        return Vec::new();
    }
    let has_sparse = Encoding::of(&variant.start()).sparse().is_some();
    let base = if has_sparse { embedded_nets::base() } else { None };
    let mut found: Vec<_> = base.into_iter().map(|weights| (weights, name)).collect();
    if let Some((substitutes, game)) = embedded_nets::substitutes(variant) {
        if found.is_empty() && substitutes.is_empty() {
            notes.push(format!(
                "{name}: its section wants the network of \"{game}\", which has none"
            ));
        }
        found.extend(substitutes.into_iter().map(|weights| (weights, game)));
    }
    found
}

/// The network that the options name, if they name one.
fn named(options: &Options) -> Option<Result<Weights, String>> {
    let name = &options.weights;
    (!name.is_empty()).then(|| {
        let weights = Weights::read(&place(name), name);
        weights.map_err(|error| format!("cannot read the network \"{name}\": {error}"))
    })
}

/// Where the file `name` is: a relative one starts at the executable's folder or, if nothing is
/// there, at the working directory.
fn place(name: &str) -> PathBuf {
    let beside = current_exe().ok().and_then(|exe| Some(exe.parent()?.join(name)));
    beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

/// Sees to it that ONNX Runtime is loaded.
fn library(options: &Options, notes: &mut Vec<String>) -> Result<(), String> {
    let wanted = Some(Path::new(&options.library));
    let runtime = match Runtime::load(wanted) {
        // Another one runs already, and it serves as well.
        Err(error @ RuntimeError::Taken { .. }) => {
            notes.push(error.to_string());
            Runtime::load(None)
        }
        result => result,
    };
    let runtime = runtime.map_err(|error| error.to_string())?;
    notes.extend(runtime.skipped().iter().map(|refusal| format!("passed over: {refusal}")));
    Ok(())
}

/// Opens a network that was made for `game`, once for each thread, and tries it.
fn open(
    variant: &Variant,
    options: &Options,
    weights: &Weights,
    game: &str,
    notes: &mut Vec<String>,
) -> Result<(Vec<Box<dyn Evaluator>>, Params), String> {
    let start = variant.start();
    let encoding = Encoding::of(&start);
    let refused = |error: String| format!("network {} is refused: {error}", weights.name());
    let Opened { network: mut first, file, notes: more } = weights
        .open(&encoding, game, options.backend)
        .map_err(|error| refused(error.to_string()))?;
    notes.extend(more);
    let name = variant.name();
    if game != name {
        notes.push(format!("{name}: there is no network for it yet, that of {game} plays it"));
    }
    if first.network_metadata().is_base() {
        let trained = first.network_metadata().has_variant(name);
        let games = if trained { "games of it" } else { "other games" };
        notes.push(format!("{name}: played with a base network, trained on {games}"));
    }
    if let Some(unseen) = first.unseen() {
        notes.push(format!("{name}: the network does not see {unseen}"));
    }
    let mut legal = MoveList::new();
    start.legal_moves(&mut legal);
    let query = Query { encoding: &encoding, position: &start, legal: &legal };
    // A whole batch, so that a network takes the memory it needs before the first search.
    let warm = |network: &mut Onnx| {
        let mut batch = network.new_batch();
        (0..network.preferred_batch()).for_each(|_| _ = batch.push(query));
        network.evaluate(&mut batch).map_err(|error| refused(error.to_string()))
    };
    warm(&mut first)?;
    notes.push(format!(
        "{name}: network {} ({}), ONNX Runtime {}",
        file.name,
        first.network_metadata().run,
        first.backend()
    ));
    // A GPU evaluates one batch while the next is gathered.
    let threads = options.threads.max(if first.backend() == Backend::Cuda { 2 } else { 1 });
    let session = |_| Onnx::open(&file.bytes, &encoding, game, first.backend(), 1);
    let others = (1..threads).map(session).collect::<Result<Vec<_>, _>>();
    let mut others = others.map_err(|error| refused(error.to_string()))?;
    others.iter_mut().try_for_each(warm)?;
    let cache = Cache::new(cache_bytes(options));
    let cache = Arc::new(Mutex::new(cache));
    let cached =
        |network| -> Box<dyn Evaluator> { Box::new(Cached::sharing(network, Arc::clone(&cache))) };
    let params = if first.is_sparse() { Params::sparse() } else { Params::default() };
    Ok(([first].into_iter().chain(others).map(cached).collect(), params))
}

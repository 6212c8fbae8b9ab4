//! The evaluator that asks a network, through ONNX Runtime.

use std::sync::{Arc, Mutex};

use super::batch::softmax;
use super::bridge::Bridge;
use super::foresight::foresee;
use super::network::{Backend, NetworkError, Session, Sizes};
use super::twin::Twin;
use super::{Batch, Cache, EvalError, Evaluator, Query, Remembered};
use crate::encoding::{self, Encoding, Shape};

/// What a network says of itself, in its file's metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passport {
    /// The encoding's name and version, as `family/1`.
    pub encoding: String,
    /// The planes and the policy it was trained with: [`Encoding::layout`].
    pub layout: String,
    /// The variants it was trained for, separated by spaces.
    pub variants: String,
    /// The training run it comes from, in words.
    pub run: String,
    /// Of a quantised network, the seal of the file that it was made from (the digits that
    /// [`verify`](super::network::verify) gives).
    pub quantised_from: Option<String>,
}

/// Why a network cannot serve a variant. Each message quotes what the file says.
#[derive(Debug, thiserror::Error)]
pub enum UnfitNetwork {
    /// The file is no network, or the library cannot run it.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It does not say what it is.
    #[error("the network has no metadata \"{0}\": it was not made by this project's trainer")]
    Nameless(&'static str),
    /// It reads other planes than this engine writes.
    #[error("the network reads \"{found}\", but {variant} is written as \"{wanted}\"")]
    Encoding {
        /// The variant.
        variant: String,
        /// The encoding the network was trained with.
        found: String,
        /// The encoding of the variant.
        wanted: String,
    },
    /// It was trained for other games.
    #[error("the network was trained for \"{found}\", not for {variant}")]
    Variant {
        /// The variant asked for.
        variant: String,
        /// The variants of the network.
        found: String,
    },
    /// It sees two tables one by one, and the game has not two.
    #[error("the network is for games of two tables, unlike {0}")]
    Twin(String),
    /// Its tensors are of other sizes than its encoding says.
    #[error("the network has {found:?}, but {variant} needs {wanted:?}")]
    Sizes {
        /// The variant.
        variant: String,
        /// The tensors of the network.
        found: Sizes,
        /// The tensors of the encoding.
        wanted: Shape,
    },
}

impl Passport {
    /// The metadata's keys, in the order of [`Passport::entries`].
    const KEYS: [&'static str; 4] =
        ["menagerie.encoding", "menagerie.layout", "menagerie.variants", "menagerie.run"];

    /// The key of [`Passport::quantised_from`], which stands after them.
    pub const QUANTISED_FROM: &'static str = "menagerie.quantised_from";

    /// The passport of a network for `variants`, separated by spaces, in `encoding`.
    pub fn new(encoding: &Encoding, variants: &str, run: &str) -> Passport {
        Passport {
            encoding: format!("{}/{}", encoding::NAME, encoding::VERSION),
            layout: encoding.layout(),
            variants: variants.to_owned(),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// The metadata to write into a network's file, keys and values.
    pub fn entries(&self) -> Vec<(String, String)> {
        let values = [&self.encoding, &self.layout, &self.variants, &self.run];
        let pair = |(key, value): (&str, &String)| (key.to_owned(), value.clone());
        let from = self.quantised_from.iter().map(|seal| (Passport::QUANTISED_FROM, seal));
        Passport::KEYS.into_iter().zip(values).chain(from).map(pair).collect()
    }

    /// Reads it back: `get` gives the value of a key.
    ///
    /// # Errors
    /// If one is missing.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Passport, UnfitNetwork> {
        let entry = |nth: usize| {
            let key = Passport::KEYS[nth];
            get(key).ok_or(UnfitNetwork::Nameless(key))
        };
        Ok(Passport {
            encoding: entry(0)?,
            layout: entry(1)?,
            variants: entry(2)?,
            run: entry(3)?,
            quantised_from: get(Passport::QUANTISED_FROM),
        })
    }

    /// Whether the network was made for `variant`, whose positions are written in `encoding`.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, encoding: &Encoding, variant: &str) -> Result<(), UnfitNetwork> {
        let wanted = Passport::new(encoding, variant, "");
        let variant = variant.to_owned();
        if !self.variants.split_whitespace().any(|name| name == variant) {
            let found = self.variants.clone();
            return Err(UnfitNetwork::Variant { variant, found });
        }
        let mine = [(&self.encoding, &wanted.encoding), (&self.layout, &wanted.layout)];
        for (found, wanted) in mine {
            if found != wanted {
                let (found, wanted) = (found.clone(), wanted.clone());
                return Err(UnfitNetwork::Encoding { variant, found, wanted });
            }
        }
        Ok(())
    }

    /// How the network can play a game that is written in `encoding`, if it was not made for that.
    fn bridge(&self, encoding: &Encoding) -> Option<Bridge> {
        let wanted = Passport::new(encoding, "", "");
        let same = self.encoding == wanted.encoding;
        Bridge::new(&self.layout, &wanted.layout, encoding.shape()).filter(|_| same)
    }
}

/// A network that evaluates batches in a session of its own.
#[derive(Debug)]
pub struct Onnx {
    session: Session,
    shape: Shape,
    passport: Passport,
    bridge: Option<Bridge>,
    /// What is needed if it sees two tables one by one.
    twin: Option<Twin>,
    policy: Vec<f32>,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
}

impl Onnx {
    /// Opens the network in `file` to play `variant` in `encoding`, on `threads` threads.
    ///
    /// It may be another game that is written in `encoding`: the network sees what it knows, by the
    /// names of the planes, as long as it has a policy for every move.
    ///
    /// # Errors
    /// If it is no network, does not fit, or cannot be run.
    pub fn open(
        file: &[u8],
        encoding: &Encoding,
        variant: &str,
        backend: Backend,
        threads: usize,
    ) -> Result<Onnx, UnfitNetwork> {
        let session = Session::open(file, backend, threads)?;
        let passport = Passport::read(|key| session.get(key))?;
        let bridge = match passport.check(encoding, variant) {
            Ok(()) => None,
            Err(refusal @ UnfitNetwork::Encoding { .. }) => {
                let twin = session.head().is_some();
                let bridge = passport.bridge(encoding);
                Some(bridge.filter(|bridge| !twin || bridge.keeps_tables()).ok_or(refusal)?)
            }
            Err(refusal) => return Err(refusal),
        };
        let (shape, found) = (encoding.shape(), session.sizes());
        let twin = match session.head() {
            Some(_) => Some(Twin::new(encoding).ok_or_else(|| UnfitNetwork::Twin(variant.into()))?),
            None => None,
        };
        let whole = bridge.as_ref().map_or(shape, |bridge| bridge.shape());
        let wanted = if twin.is_some() { whole.of_table() } else { whole };
        let same = found.batch.is_none()
            && (found.channels, found.height, found.width)
                == (wanted.planes, wanted.height, wanted.width)
            && (found.policy, found.outcomes) == (wanted.policy(), wanted.outcomes);
        if !same {
            let variant = variant.to_owned();
            return Err(UnfitNetwork::Sizes { variant, found, wanted });
        }
        let (policy, outcome, moves_left) = Default::default();
        Ok(Onnx { session, shape, passport, bridge, twin, policy, outcome, moves_left })
    }

    /// Where it runs.
    pub fn backend(&self) -> Backend {
        self.session.backend()
    }

    /// Why it does not run where it was asked to, in words.
    pub fn note(&self) -> Option<&str> {
        self.session.note()
    }

    /// What of a position it does not see, in words, if it was made for another game.
    pub fn unseen(&self) -> Option<String> {
        self.bridge.as_ref()?.unseen()
    }

    /// What it says of itself.
    pub fn passport(&self) -> &Passport {
        &self.passport
    }
}

impl Evaluator for Onnx {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn preferred_batch(&self) -> usize {
        match self.session.backend() {
            Backend::Cuda => 64,
            Backend::Auto | Backend::Cpu => 8,
        }
    }

    fn new_batch(&self) -> Batch {
        let batch = Batch::new(self.shape);
        // A twin looks for mates at each table when it sees it first.
        if self.twin.is_some() { batch.keeping_positions() } else { batch }
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        let failed = |error: NetworkError| EvalError(error.to_string());
        if let Some(twin) = &mut self.twin {
            return twin.evaluate(&mut self.session, self.bridge.as_mut(), batch).map_err(failed);
        }
        let rows = batch.len();
        let outcomes = self.shape.outcomes;
        let policy = self.bridge.as_ref().map_or(self.shape, Bridge::shape).policy();
        let planes = match &mut self.bridge {
            Some(bridge) => bridge.cross(batch.planes()),
            None => batch.planes(),
        };
        self.policy.resize(rows * policy, 0.0);
        self.outcome.resize(rows * outcomes, 0.0);
        self.moves_left.resize(rows, 0.0);
        let mut outputs = [&mut self.policy, &mut self.outcome, &mut self.moves_left]
            .map(|buffer| &mut buffer[..]);
        self.session.run(planes, rows, &mut outputs).map_err(failed)?;
        let chances = self.outcome.chunks_exact_mut(outcomes);
        let logits = self.policy.chunks_exact(policy);
        for (row, (chances, logits)) in chances.zip(logits).enumerate() {
            softmax(chances);
            let moves_left = self.moves_left[row];
            batch.fill(row, chances, moves_left, |_, index| match &self.bridge {
                Some(bridge) => logits[bridge.index(index.0.into())],
                None => logits[usize::from(index.0)],
            });
        }
        Ok(())
    }

    fn recall(&self, query: Query<'_>, into: &mut Remembered) -> bool {
        match &self.twin {
            Some(twin) => twin.recall(&self.session, query, into),
            None => foresee(query, into),
        }
    }

    fn remember_in(&mut self, cache: &Arc<Mutex<Cache>>) -> bool {
        self.twin.as_mut().map(|twin| twin.remember_in(cache)).is_some()
    }
}

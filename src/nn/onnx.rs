//! The evaluator that asks a network, through ONNX Runtime.

mod plane_reader;
mod sparse_reader;

use std::sync::{Arc, Mutex};

use self::plane_reader::PlaneReader;
use self::sparse_reader::SparseReader;
use super::mate_search::{MateLimits, probe_mate};
use super::network::{Backend, Network, NetworkError, Sizes};
use super::plane_adapter::PlaneAdapter;
use super::{Batch, Cache, CachedEval, EvalError, Evaluator, Query};
use crate::encoding::sparse::{IndexMap, SparseLayoutError};
use crate::encoding::{self, Encoding, Shape, SparseEncoding, SparseLayout, sparse};

/// Name of the encoding of a base.
const SPARSE_BASE: &str = "sparse-base";

/// A base plays a variant if it does not lack more than this share of the variant's move rows.
const MAX_MISSING_MOVE_ROWS: f32 = 0.5;

/// Blocks that a message names.
const MAX_NAMED_BLOCKS: usize = 6;

/// What a network says of itself, in its file's metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkMetadata {
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
    TwoBoardNetwork(String),
    /// The game has no sparse encoding.
    #[error("the network is sparse, and {0} has no sparse encoding")]
    NoSparseEncoding(String),
    /// It is a sparse network of another layout. Layouts are long: only the first difference is quoted.
    #[error("the network reads \"{found}\" where {variant} has \"{wanted}\"; export it again")]
    SparseLayout {
        /// The variant.
        variant: String,
        /// The first part of the network's layout that differs.
        found: String,
        /// The part of the encoding's layout that stands there.
        wanted: String,
    },
    /// It is a base, and what it says of its blocks is damaged.
    #[error("the layout of the base network is damaged: {0}")]
    BaseLayout(#[from] SparseLayoutError),
    /// It is a base for other boards.
    #[error("the base network is for boards of {found}, but {variant} is played on {wanted}")]
    BaseBoard {
        /// The variant.
        variant: String,
        /// The boards of the base.
        found: String,
        /// The board of the variant.
        wanted: String,
    },
    /// It is a base that does not have most of the variant's move rows.
    #[error("the base network does not know most moves of {variant}; it has no {missing}")]
    BaseMoves {
        /// The variant.
        variant: String,
        /// Blocks that it does not have.
        missing: String,
    },
    /// It is a sparse network of other sizes than its encoding has.
    #[error(
        "the network has {} rows a move and {} outcomes, but {variant} needs {} and {}",
        found[0], found[1], wanted[0], wanted[1]
    )]
    SparseSizes {
        /// The variant.
        variant: String,
        /// Rows a move and outcomes of the network.
        found: [usize; 2],
        /// Those of the encoding.
        wanted: [usize; 2],
    },
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

impl NetworkMetadata {
    /// The metadata's keys, in the order of [`NetworkMetadata::entries`].
    const KEYS: [&'static str; 4] =
        ["menagerie.encoding", "menagerie.layout", "menagerie.variants", "menagerie.run"];

    /// The key of [`NetworkMetadata::quantised_from`], which stands after them.
    pub const QUANTISED_FROM: &'static str = "menagerie.quantised_from";

    /// The network_metadata of a network for `variants`, separated by spaces, in `encoding`.
    pub fn new(encoding: &Encoding, variants: &str, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{}/{}", encoding::NAME, encoding::VERSION),
            layout: encoding.layout(),
            variants: variants.to_owned(),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns the network_metadata of a sparse network for `variants`, separated by spaces.
    pub fn sparse(encoding: &SparseEncoding, variants: &str, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{}/{}", sparse::NAME, sparse::VERSION),
            layout: encoding.layout(),
            variants: variants.to_owned(),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns the network_metadata of a base: a sparse network for all variants of `layout`.
    pub fn sparse_base(layout: &SparseLayout, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{SPARSE_BASE}/{}", sparse::VERSION),
            layout: layout.to_string(),
            variants: layout.variants().join(" "),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns `true` if it is a base, which plays variants for which it was not trained, too.
    pub fn is_base(&self) -> bool {
        self.encoding.split('/').next() == Some(SPARSE_BASE)
    }

    /// Returns `true` if the network was trained on games of `variant`.
    pub fn has_variant(&self, variant: &str) -> bool {
        self.variants.split_whitespace().any(|name| name == variant)
    }

    /// The metadata to write into a network's file, keys and values.
    pub fn entries(&self) -> Vec<(String, String)> {
        let values = [&self.encoding, &self.layout, &self.variants, &self.run];
        let pair = |(key, value): (&str, &String)| (key.to_owned(), value.clone());
        let from = self.quantised_from.iter().map(|seal| (NetworkMetadata::QUANTISED_FROM, seal));
        NetworkMetadata::KEYS.into_iter().zip(values).chain(from).map(pair).collect()
    }

    /// Reads it back: `get` gives the value of a key.
    ///
    /// # Errors
    /// If one is missing.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<NetworkMetadata, UnfitNetwork> {
        let entry = |nth: usize| {
            let key = NetworkMetadata::KEYS[nth];
            get(key).ok_or(UnfitNetwork::Nameless(key))
        };
        Ok(NetworkMetadata {
            encoding: entry(0)?,
            layout: entry(1)?,
            variants: entry(2)?,
            run: entry(3)?,
            quantised_from: get(NetworkMetadata::QUANTISED_FROM),
        })
    }

    /// Whether the network was made for `variant`, whose positions are written in `encoding`.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, encoding: &Encoding, variant: &str) -> Result<(), UnfitNetwork> {
        self.check_variant(variant)?;
        let wanted = NetworkMetadata::new(encoding, variant, "");
        let variant = variant.to_owned();
        let mine = [(&self.encoding, &wanted.encoding), (&self.layout, &wanted.layout)];
        for (found, wanted) in mine {
            if found != wanted {
                let (found, wanted) = (found.clone(), wanted.clone());
                return Err(UnfitNetwork::Encoding { variant, found, wanted });
            }
        }
        Ok(())
    }

    /// Checks that the sparse network was made for `variant`, whose sparse encoding is `encoding`.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check_sparse(
        &self,
        encoding: &SparseEncoding,
        variant: &str,
    ) -> Result<(), UnfitNetwork> {
        self.check_variant(variant)?;
        let wanted = NetworkMetadata::sparse(encoding, variant, "");
        let variant = variant.to_owned();
        if self.encoding != wanted.encoding {
            let (found, wanted) = (self.encoding.clone(), wanted.encoding);
            return Err(UnfitNetwork::Encoding { variant, found, wanted });
        }
        match first_difference(&self.layout, &wanted.layout) {
            Some([found, wanted]) => Err(UnfitNetwork::SparseLayout { variant, found, wanted }),
            None => Ok(()),
        }
    }

    /// Returns where the base has the indices of `encoding`, which is that of `variant`.
    ///
    /// # Errors
    /// If it is no base that can play the variant.
    pub fn base_map(
        &self,
        encoding: &SparseEncoding,
        variant: &str,
    ) -> Result<IndexMap, UnfitNetwork> {
        let wanted = format!("{SPARSE_BASE}/{}", sparse::VERSION);
        if self.encoding != wanted {
            let (found, variant) = (self.encoding.clone(), variant.to_owned());
            return Err(UnfitNetwork::Encoding { variant, found, wanted });
        }
        let layout: SparseLayout = self.layout.parse()?;
        if !layout.has_board(encoding) {
            let [files, ranks] = encoding.board();
            return Err(UnfitNetwork::BaseBoard {
                variant: variant.to_owned(),
                found: layout.boards(),
                wanted: format!("{files}x{ranks}"),
            });
        }
        let map = IndexMap::new(&SparseLayout::of(encoding), &layout, variant);
        if map.missing_move_rows() > MAX_MISSING_MOVE_ROWS {
            let (variant, missing) = (variant.to_owned(), listed(map.missing()));
            return Err(UnfitNetwork::BaseMoves { variant, missing });
        }
        Ok(map)
    }

    fn check_variant(&self, variant: &str) -> Result<(), UnfitNetwork> {
        if self.has_variant(variant) {
            return Ok(());
        }
        let found = self.variants.clone();
        Err(UnfitNetwork::Variant { variant: variant.to_owned(), found })
    }

    /// How the network can play a game that is written in `encoding`, if it was not made for that.
    fn plane_adapter(&self, encoding: &Encoding) -> Option<PlaneAdapter> {
        let wanted = NetworkMetadata::new(encoding, "", "");
        let same = self.encoding == wanted.encoding;
        PlaneAdapter::new(&self.layout, &wanted.layout, encoding.shape()).filter(|_| same)
    }
}

/// Returns the first names of a list, and the number of the others.
fn listed(names: &[String]) -> String {
    let (named, others) = names.split_at(names.len().min(MAX_NAMED_BLOCKS));
    let named = named.join(", ");
    if others.is_empty() { named } else { format!("{named} and {} more", others.len()) }
}

/// Returns the first words in which two texts differ, shortened, or `None` if the texts are the same.
fn first_difference(found: &str, wanted: &str) -> Option<[String; 2]> {
    if found == wanted {
        return None;
    }
    let mut found = found.split(' ');
    let mut wanted = wanted.split(' ');
    let words = loop {
        match (found.next(), wanted.next()) {
            (None, None) => break [None, None],
            (found, wanted) if found != wanted => break [found, wanted],
            _ => {}
        }
    };
    Some(words.map(|word| word.unwrap_or("nothing").chars().take(80).collect()))
}

/// A network that evaluates batches in a session of its own.
#[derive(Debug)]
pub struct Onnx {
    shape: Shape,
    network_metadata: NetworkMetadata,
    reader: Reader,
}

/// The network, by what it reads.
#[derive(Debug)]
enum Reader {
    Planes(Box<PlaneReader>),
    Sparse(SparseReader),
}

impl Onnx {
    /// Opens the network in `file` to play `variant` in `encoding`, on `threads` threads.
    ///
    /// A network of planes may be another game's that is written in `encoding`: the network sees what it
    /// knows, by the names of the planes, as long as it has a policy for every move. A sparse network must
    /// have the layout of the game's sparse encoding, unless it is a base, which plays any game of which it
    /// knows the board and most moves.
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
        let network = Network::open(file, backend, threads)?;
        let network_metadata = NetworkMetadata::read(|key| network.get(key))?;
        let reader = match network {
            Network::Planes(session) => Reader::Planes(Box::new(PlaneReader::new(
                session,
                &network_metadata,
                encoding,
                variant,
            )?)),
            Network::Sparse(session) => {
                SparseReader::new(session, &network_metadata, encoding, variant)
                    .map(Reader::Sparse)?
            }
        };
        Ok(Onnx { shape: encoding.shape(), network_metadata, reader })
    }

    /// Where it runs.
    pub fn backend(&self) -> Backend {
        match &self.reader {
            Reader::Planes(reader) => reader.session.backend(),
            Reader::Sparse(reader) => reader.session().backend(),
        }
    }

    /// Why it does not run where it was asked to, in words.
    pub fn note(&self) -> Option<&str> {
        match &self.reader {
            Reader::Planes(reader) => reader.session.note(),
            Reader::Sparse(reader) => reader.session().note(),
        }
    }

    /// What of a position it does not see, in words, if it was made for another game.
    pub fn unseen(&self) -> Option<String> {
        match &self.reader {
            Reader::Planes(reader) => reader.plane_adapter.as_ref()?.unseen(),
            Reader::Sparse(reader) => {
                let missing = reader.missing_blocks();
                if missing.is_empty() { None } else { Some(listed(missing)) }
            }
        }
    }

    /// Returns `true` if it is a sparse network.
    pub fn is_sparse(&self) -> bool {
        matches!(self.reader, Reader::Sparse(_))
    }

    /// What it says of itself.
    pub fn network_metadata(&self) -> &NetworkMetadata {
        &self.network_metadata
    }
}

impl Evaluator for Onnx {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn preferred_batch(&self) -> usize {
        match self.backend() {
            Backend::Cuda => 64,
            Backend::Auto | Backend::Cpu => 8,
        }
    }

    fn new_batch(&self) -> Batch {
        match &self.reader {
            Reader::Planes(reader) => reader.new_batch(),
            Reader::Sparse(reader) => reader.new_batch(),
        }
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        let result = match &mut self.reader {
            Reader::Planes(reader) => reader.evaluate(batch),
            Reader::Sparse(reader) => reader.evaluate(batch),
        };
        result.map_err(|error| EvalError(error.to_string()))
    }

    fn probe(&self, query: Query<'_>, into: &mut CachedEval) -> bool {
        match &self.reader {
            Reader::Planes(reader) => match &reader.two_board {
                Some(two_board) => two_board.probe(&reader.session, query, into),
                None => probe_mate(query, MateLimits::DEEP, into),
            },
            Reader::Sparse(_) => probe_mate(query, MateLimits::QUICK, into),
        }
    }

    fn remember_in(&mut self, cache: &Arc<Mutex<Cache>>) -> bool {
        match &mut self.reader {
            Reader::Planes(reader) => match &mut reader.two_board {
                Some(two_board) => {
                    two_board.remember_in(cache);
                    true
                }
                None => false,
            },
            Reader::Sparse(_) => false,
        }
    }
}

//! The evaluator that runs a network by ONNX Runtime, and the metadata of networks.

mod plane_reader;
mod sparse_reader;

use std::sync::{Arc, Mutex};

use self::plane_reader::PlaneReader;
use self::sparse_reader::SparseReader;
use super::network::{Backend, Network, NetworkError, Sizes};
use super::plane_adapter::PlaneAdapter;
use super::two_board_network::TwoBoardNetwork;
use super::{Batch, Cache, Cached, CachedEval, DirectNetwork, EvalError, Evaluator, Query};
use crate::encoding::sparse::{IndexMap, SparseLayoutError};
use crate::encoding::{self, Encoding, Shape, SparseEncoding, SparseLayout, sparse};

/// The name of the encoding of a base network.
const SPARSE_BASE: &str = "sparse-base";

/// Version of the encoding of base networks. 2: games are distinguished by inputs for rules instead of an input a variant.
const SPARSE_BASE_VERSION: u32 = 2;

/// A base network plays a variant if it lacks at most this share of the variant's move rows.
const MAX_MISSING_MOVE_ROWS: f32 = 0.5;

/// The maximum number of blocks that a message names.
const MAX_NAMED_BLOCKS: usize = 6;

/// The metadata in a network's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkMetadata {
    /// The encoding's name and version, as `family/1`.
    pub encoding: String,
    /// The planes and the policy that it was trained with: [`Encoding::layout`].
    pub layout: String,
    /// The variants that it was trained for, separated by spaces.
    pub variants: String,
    /// A description of its training run.
    pub run: String,
    /// Of a quantised network, the checksum of the file that it was made from, as
    /// [`verify`](super::network::verify) returns it.
    pub quantised_from: Option<String>,
}

/// Why a network cannot play a variant.
#[derive(Debug, thiserror::Error)]
pub enum UnfitNetwork {
    /// The file is not a network, or ONNX Runtime cannot run it.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A metadata entry is missing.
    #[error("the network has no metadata \"{0}\": it was not exported by Menagerie's trainer")]
    MissingMetadata(&'static str),
    /// The network has another encoding than the variant.
    #[error("the network reads \"{found}\", but {variant} is encoded as \"{wanted}\"")]
    Encoding {
        /// The variant.
        variant: String,
        /// The encoding or layout of the network.
        found: String,
        /// The encoding or layout of the variant.
        wanted: String,
    },
    /// The network was trained for other variants.
    #[error("the network was trained for \"{found}\", not for {variant}")]
    Variant {
        /// The variant to play.
        variant: String,
        /// The variants of the network.
        found: String,
    },
    /// A two-board network for a game on one board.
    #[error("the network is for games on two boards, unlike {0}")]
    TwoBoardNetwork(String),
    /// A sparse network for a variant without a sparse encoding.
    #[error("the network is sparse, but {0} has no sparse encoding")]
    NoSparseEncoding(String),
    /// A sparse network with another layout. Layouts are long, so only the first difference is quoted.
    #[error("the network reads \"{found}\" where {variant} has \"{wanted}\"; export it again")]
    SparseLayout {
        /// The variant.
        variant: String,
        /// The first part of the network's layout that differs.
        found: String,
        /// The corresponding part of the encoding's layout.
        wanted: String,
    },
    /// A base or related network with an invalid layout.
    #[error("the layout of the network is invalid: {0}")]
    Layout(#[from] SparseLayoutError),
    /// A base or related network for other boards.
    #[error("the network is for boards of {found}, not {wanted}")]
    Board {
        /// The boards of the network, with the orientation of a related one.
        found: String,
        /// The board of the variant.
        wanted: String,
    },
    /// A base or related network without most of the variant's move rows.
    #[error("the network does not have most moves; missing: {missing}")]
    MissingMoves {
        /// The missing blocks.
        missing: String,
    },
    /// A related network without all inputs and moves of the variant.
    #[error("the network has no input for {missing}")]
    Incomplete {
        /// The missing blocks.
        missing: String,
    },
    /// A sparse network with other sizes than its encoding.
    #[error(
        "the network has {} rows per move and {} outcomes, but {variant} needs {} and {}",
        found[0], found[1], wanted[0], wanted[1]
    )]
    SparseSizes {
        /// The variant.
        variant: String,
        /// The rows per move and the outcomes of the network.
        found: [usize; 2],
        /// Those of the encoding.
        wanted: [usize; 2],
    },
    /// A network with other tensor sizes than its encoding.
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

/// How far the layout of a sparse network may differ from the one that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Not at all.
    Exact,
    /// It may have further inputs and moves.
    Complete,
    /// It may also lack inputs and some of the moves.
    Partial,
}

impl NetworkMetadata {
    /// The keys of the metadata, in the order of [`NetworkMetadata::entries`].
    const KEYS: [&'static str; 4] =
        ["menagerie.encoding", "menagerie.layout", "menagerie.variants", "menagerie.run"];

    /// The key of [`NetworkMetadata::quantised_from`], which follows the others.
    pub const QUANTISED_FROM: &'static str = "menagerie.quantised_from";

    /// Returns the metadata of a network of planes for `variants`, separated by spaces, in `encoding`.
    pub fn new(encoding: &Encoding, variants: &str, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{}/{}", encoding::NAME, encoding::VERSION),
            layout: encoding.layout(),
            variants: variants.to_owned(),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns the metadata of a sparse network for `variants`, separated by spaces.
    pub fn sparse(encoding: &SparseEncoding, variants: &str, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{}/{}", sparse::NAME, sparse::VERSION),
            layout: encoding.layout(),
            variants: variants.to_owned(),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns the metadata of a base network: a sparse network for all variants of `layout`.
    pub fn sparse_base(layout: &SparseLayout, run: &str) -> NetworkMetadata {
        NetworkMetadata {
            encoding: format!("{SPARSE_BASE}/{}", SPARSE_BASE_VERSION),
            layout: layout.to_string(),
            variants: layout.variants().join(" "),
            run: run.to_owned(),
            quantised_from: None,
        }
    }

    /// Returns `true` if it is a base network, which also plays variants for which it was not trained.
    pub fn is_base(&self) -> bool {
        self.encoding.split('/').next() == Some(SPARSE_BASE)
    }

    /// Returns `true` if the network was trained on games of `variant`.
    pub fn has_variant(&self, variant: &str) -> bool {
        self.variants.split_whitespace().any(|name| name == variant)
    }

    /// Returns the keys and values to write to a network's file.
    pub fn entries(&self) -> Vec<(String, String)> {
        let values = [&self.encoding, &self.layout, &self.variants, &self.run];
        let source = self.quantised_from.iter();
        let source = source.map(|checksum| (NetworkMetadata::QUANTISED_FROM, checksum));
        NetworkMetadata::KEYS
            .into_iter()
            .zip(values)
            .chain(source)
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    }

    /// Reads the metadata. `get` returns the value of a key.
    ///
    /// # Errors
    /// [`UnfitNetwork::MissingMetadata`] if an entry is missing.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<NetworkMetadata, UnfitNetwork> {
        let entry = |nth: usize| {
            let key = NetworkMetadata::KEYS[nth];
            get(key).ok_or(UnfitNetwork::MissingMetadata(key))
        };
        Ok(NetworkMetadata {
            encoding: entry(0)?,
            layout: entry(1)?,
            variants: entry(2)?,
            run: entry(3)?,
            quantised_from: get(NetworkMetadata::QUANTISED_FROM),
        })
    }

    /// Checks that the network was trained for `variant` in `encoding`.
    ///
    /// # Errors
    /// [`UnfitNetwork::Variant`] or [`UnfitNetwork::Encoding`] if it was not.
    pub fn check(&self, encoding: &Encoding, variant: &str) -> Result<(), UnfitNetwork> {
        self.check_variant(variant)?;
        let wanted = NetworkMetadata::new(encoding, variant, "");
        let variant = variant.to_owned();
        if self.encoding != wanted.encoding {
            let found = self.encoding.clone();
            return Err(UnfitNetwork::Encoding { variant, found, wanted: wanted.encoding });
        }
        if self.layout != wanted.layout {
            let found = self.layout.clone();
            return Err(UnfitNetwork::Encoding { variant, found, wanted: wanted.layout });
        }
        Ok(())
    }

    /// Checks that the sparse network was trained for `variant`, and that it fits `encoding`. Returns the map from
    /// indices of `encoding` to those of the network; `None` if they are the same.
    ///
    /// # Errors
    /// [`UnfitNetwork::Variant`] if it was not, or another if it does not.
    pub fn sparse_map(
        &self,
        encoding: &SparseEncoding,
        variant: &str,
        fit: Fit,
    ) -> Result<Option<IndexMap>, UnfitNetwork> {
        self.check_variant(variant)?;
        let wanted = NetworkMetadata::sparse(encoding, variant, "");
        if self.encoding != wanted.encoding {
            let (variant, found) = (variant.to_owned(), self.encoding.clone());
            return Err(UnfitNetwork::Encoding { variant, found, wanted: wanted.encoding });
        }
        match first_difference(&self.layout, &wanted.layout) {
            None => return Ok(None),
            Some([found, wanted]) if fit == Fit::Exact => {
                let variant = variant.to_owned();
                return Err(UnfitNetwork::SparseLayout { variant, found, wanted });
            }
            Some(_) => {}
        }
        let (found, layout) = SparseLayout::of_one_game(&self.layout)?;
        let (wanted, own) = (encoding.geometry(), SparseLayout::of(encoding));
        if found != wanted {
            return Err(UnfitNetwork::Board { found, wanted });
        }
        let map = usable_map(&own, &layout)?;
        if fit == Fit::Complete && !map.missing().is_empty() {
            return Err(UnfitNetwork::Incomplete { missing: list_names(map.missing()) });
        }
        Ok(Some(map))
    }

    /// Returns the map from indices of `encoding`, that of `variant`, to those of the base network.
    ///
    /// # Errors
    /// If it is not a base network that can play the variant.
    pub fn base_map(
        &self,
        encoding: &SparseEncoding,
        variant: &str,
    ) -> Result<IndexMap, UnfitNetwork> {
        let wanted = format!("{SPARSE_BASE}/{}", SPARSE_BASE_VERSION);
        if self.encoding != wanted {
            let found = self.encoding.clone();
            return Err(UnfitNetwork::Encoding { variant: variant.to_owned(), found, wanted });
        }
        let layout: SparseLayout = self.layout.parse()?;
        if !layout.has_board(encoding) {
            let [files, ranks] = encoding.board();
            let wanted = format!("{files}x{ranks}");
            return Err(UnfitNetwork::Board { found: layout.boards(), wanted });
        }
        usable_map(&SparseLayout::of(encoding), &layout)
    }

    fn check_variant(&self, variant: &str) -> Result<(), UnfitNetwork> {
        if self.has_variant(variant) {
            return Ok(());
        }
        let found = self.variants.clone();
        Err(UnfitNetwork::Variant { variant: variant.to_owned(), found })
    }

    /// Returns an adapter from the planes of `encoding` to those of the network, if there can be one.
    fn plane_adapter(&self, encoding: &Encoding) -> Option<PlaneAdapter> {
        let wanted = NetworkMetadata::new(encoding, "", "");
        if self.encoding != wanted.encoding {
            return None;
        }
        PlaneAdapter::new(&self.layout, &wanted.layout, encoding.shape())
    }
}

/// Returns the map from the indices of a game to those of a network, see [`IndexMap::new`].
///
/// # Errors
/// [`UnfitNetwork::MissingMoves`] if the network does not have most of the move rows.
fn usable_map(game: &SparseLayout, network: &SparseLayout) -> Result<IndexMap, UnfitNetwork> {
    let map = IndexMap::new(game, network);
    if map.missing_move_rows() > MAX_MISSING_MOVE_ROWS {
        return Err(UnfitNetwork::MissingMoves { missing: list_names(map.missing()) });
    }
    Ok(map)
}

/// Returns the first names of a list, followed by the number of the others.
fn list_names(names: &[String]) -> String {
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

/// An evaluator that runs a network, in its own session.
#[derive(Debug)]
pub struct Onnx {
    shape: Shape,
    metadata: NetworkMetadata,
    reader: Reader,
}

/// A network by the kind of its input.
#[derive(Debug)]
enum Reader {
    Planes(Box<PlaneReader>),
    Sparse(Box<SparseReader>),
}

impl Onnx {
    /// Opens the network in `file` to play `variant` in `encoding`, on `threads` threads.
    ///
    /// A network of planes may have another layout: it sees the planes that it knows by name, and must have a
    /// policy for every move. A sparse network must have the layout of the variant's sparse encoding, unless
    /// it is a base network, which plays any variant of which it has the board and most moves.
    ///
    /// # Errors
    /// If the file is not a network, does not fit the variant, or cannot be run.
    pub fn open(
        file: &[u8],
        encoding: &Encoding,
        variant: &str,
        backend: Backend,
        threads: usize,
    ) -> Result<Onnx, UnfitNetwork> {
        Onnx::open_related(file, encoding, variant, Fit::Exact, backend, threads)
    }

    /// Does the same with a network that was trained for the variant `made_for`, which may differ from the one to play. A
    /// sparse network need not have the layout of `encoding`, but must fit it as `fit` says.
    ///
    /// # Errors
    /// If the file is not a network, does not fit, or cannot be run.
    pub fn open_related(
        file: &[u8],
        encoding: &Encoding,
        made_for: &str,
        fit: Fit,
        backend: Backend,
        threads: usize,
    ) -> Result<Onnx, UnfitNetwork> {
        let network = Network::open(file, backend, threads)?;
        let metadata = NetworkMetadata::read(|key| network.get(key))?;
        let reader = match network {
            Network::Planes(session) => {
                let reader = PlaneReader::new(session, &metadata, encoding, made_for)?;
                Reader::Planes(Box::new(reader))
            }
            Network::Sparse(session) => {
                let reader = SparseReader::new(session, &metadata, encoding, made_for, fit)?;
                Reader::Sparse(Box::new(reader))
            }
        };
        Ok(Onnx { shape: encoding.shape(), metadata, reader })
    }

    /// Returns the backend that runs it.
    pub fn backend(&self) -> Backend {
        match &self.reader {
            Reader::Planes(reader) => reader.session.backend(),
            Reader::Sparse(reader) => reader.session().backend(),
        }
    }

    /// Returns why it does not run on the requested backend.
    pub fn note(&self) -> Option<&str> {
        match &self.reader {
            Reader::Planes(reader) => reader.session.note(),
            Reader::Sparse(reader) => reader.session().note(),
        }
    }

    /// Returns the names of the inputs that it does not see, if it was trained for another game.
    pub fn unseen(&self) -> Option<String> {
        match &self.reader {
            Reader::Planes(reader) => reader.plane_adapter.as_ref()?.unseen(),
            Reader::Sparse(reader) => {
                let missing = reader.missing_blocks();
                if missing.is_empty() { None } else { Some(list_names(missing)) }
            }
        }
    }

    /// Returns `true` if it is a sparse network.
    pub fn is_sparse(&self) -> bool {
        matches!(self.reader, Reader::Sparse(_))
    }

    /// Returns the network with a cache, which other evaluators of the same game may share. A two-board network
    /// caches the evaluations of single boards.
    pub fn with_cache(mut self, cache: Arc<Mutex<Cache>>) -> Box<dyn Evaluator> {
        match self.two_board_mut() {
            Some(two_board) => {
                two_board.set_cache(cache);
                Box::new(self)
            }
            None => Box::new(Cached::sharing(self, cache)),
        }
    }

    fn two_board_mut(&mut self) -> Option<&mut TwoBoardNetwork> {
        match &mut self.reader {
            Reader::Planes(reader) => reader.two_board.as_mut(),
            Reader::Sparse(_) => None,
        }
    }

    /// Returns its metadata.
    pub fn network_metadata(&self) -> &NetworkMetadata {
        &self.metadata
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
                None => false,
            },
            Reader::Sparse(_) => false,
        }
    }

    fn direct(&self) -> Option<DirectNetwork> {
        match &self.reader {
            Reader::Planes(_) => None,
            Reader::Sparse(reader) => reader.direct(),
        }
    }

    fn clear_caches(&mut self) {
        if let Some(two_board) = self.two_board_mut() {
            two_board.clear_cache();
        }
    }
}

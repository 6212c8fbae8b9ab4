//! The evaluator of a sparse network.

use std::sync::Arc;

use super::{Fit, NetworkMetadata, UnfitNetwork};
use crate::encoding::sparse::IndexMap;
use crate::encoding::{Encoding, SparseEncoding};
use crate::nn::batch::softmax;
use crate::nn::network::NetworkError;
use crate::nn::network::sparse::SparseSession;
use crate::nn::{Batch, DirectNetwork};

/// A sparse network, with the encoding that it reads.
#[derive(Debug)]
pub(super) struct SparseReader {
    session: SparseSession,
    encoding: SparseEncoding,
    /// The map from indices of the encoding to those of the network, if they differ.
    map: Option<Arc<IndexMap>>,
}

impl SparseReader {
    /// Checks that the network was made for `variant`, and that it fits the sparse form of `encoding`.
    ///
    /// # Errors
    /// [`UnfitNetwork`] if the variant, the layout or the sizes do not fit.
    pub(super) fn new(
        session: SparseSession,
        metadata: &NetworkMetadata,
        encoding: &Encoding,
        variant: &str,
        fit: Fit,
    ) -> Result<SparseReader, UnfitNetwork> {
        let Some(encoding) = encoding.sparse_for_layout(&metadata.layout) else {
            return Err(UnfitNetwork::NoSparseEncoding(variant.into()));
        };
        let map = if metadata.is_base() {
            Some(Arc::new(metadata.base_map(&encoding, variant)?))
        } else {
            metadata.sparse_map(&encoding, variant, fit)?.map(Arc::new)
        };
        let shape = encoding.shape();
        let found = [session.rows_per_move(), session.outcomes()];
        let wanted = [shape.rows_per_move, shape.outcomes];
        if found != wanted {
            let variant = variant.into();
            return Err(UnfitNetwork::SparseSizes { variant, found, wanted });
        }
        Ok(SparseReader { session, encoding, map })
    }

    pub(super) fn session(&self) -> &SparseSession {
        &self.session
    }

    pub(super) fn new_batch(&self) -> Batch {
        Batch::sparse(&self.encoding, self.map.clone())
    }

    /// Returns the blocks of the game that the network does not have.
    pub(super) fn missing_blocks(&self) -> &[String] {
        self.map.as_ref().map_or(&[], |map| map.missing())
    }

    /// Returns the network in a form that evaluates one position at a time, if it is an int8 one on the CPU.
    pub(super) fn direct(&self) -> Option<DirectNetwork> {
        let session = self.session.direct()?;
        Some(DirectNetwork::new(session, &self.encoding, self.map.clone()))
    }

    /// Fills in the evaluations of a batch of [`SparseReader::new_batch`].
    pub(super) fn evaluate(&mut self, batch: &mut Batch) -> Result<(), NetworkError> {
        let Some((request, [logits, outcome, moves_left])) = batch.sparse_request() else {
            return Err(NetworkError::Run(
                "it reads sparse lists, but the batch has planes".into(),
            ));
        };
        self.session.run(request, logits, outcome, moves_left)?;
        outcome.chunks_exact_mut(self.session.outcomes()).for_each(softmax);
        Ok(())
    }
}

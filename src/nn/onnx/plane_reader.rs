//! The evaluator of a network that reads planes.

use super::{NetworkMetadata, UnfitNetwork};
use crate::encoding::{Encoding, Shape};
use crate::nn::Batch;
use crate::nn::batch::softmax;
use crate::nn::network::{NetworkError, PlaneSession};
use crate::nn::plane_adapter::PlaneAdapter;
use crate::nn::two_board_network::TwoBoardNetwork;

/// A network that reads planes, with what is needed to pass it those of the game.
#[derive(Debug)]
pub(super) struct PlaneReader {
    pub(super) session: PlaneSession,
    shape: Shape,
    pub(super) plane_adapter: Option<PlaneAdapter>,
    /// The evaluation board by board, if it is a two-board network.
    pub(super) two_board: Option<TwoBoardNetwork>,
    policy: Vec<f32>,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
}

impl PlaneReader {
    /// Checks that the network can play `variant`, which is written in `encoding`.
    ///
    /// # Errors
    /// [`UnfitNetwork`] if the variant, the encoding, the number of boards or the sizes do not fit.
    pub(super) fn new(
        session: PlaneSession,
        metadata: &NetworkMetadata,
        encoding: &Encoding,
        variant: &str,
    ) -> Result<PlaneReader, UnfitNetwork> {
        let has_two_boards = session.head().is_some();
        let plane_adapter = match metadata.check(encoding, variant) {
            Ok(()) => None,
            Err(error @ UnfitNetwork::Encoding { .. }) => match metadata.plane_adapter(encoding) {
                Some(adapter) if !has_two_boards || adapter.keeps_boards() => Some(adapter),
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        };
        let shape = encoding.shape();
        let found = session.sizes();
        let two_board = if has_two_boards {
            let two_board = TwoBoardNetwork::new(encoding);
            Some(two_board.ok_or_else(|| UnfitNetwork::TwoBoardNetwork(variant.into()))?)
        } else {
            None
        };
        let whole = plane_adapter.as_ref().map_or(shape, PlaneAdapter::shape);
        let wanted = if has_two_boards { whole.of_board() } else { whole };
        let same = found.batch.is_none()
            && (found.channels, found.height, found.width)
                == (wanted.planes, wanted.height, wanted.width)
            && (found.policy, found.outcomes) == (wanted.policy(), wanted.outcomes);
        if !same {
            let variant = variant.to_owned();
            return Err(UnfitNetwork::Sizes { variant, found, wanted });
        }
        let [policy, outcome, moves_left] = Default::default();
        Ok(PlaneReader { session, shape, plane_adapter, two_board, policy, outcome, moves_left })
    }

    pub(super) fn new_batch(&self) -> Batch {
        let batch = Batch::new(self.shape);
        // A two-board network needs the positions for the mate search on each board.
        if self.two_board.is_some() { batch.keeping_positions() } else { batch }
    }

    /// Fills in the evaluations of a batch of [`PlaneReader::new_batch`].
    pub(super) fn evaluate(&mut self, batch: &mut Batch) -> Result<(), NetworkError> {
        if let Some(two_board) = &mut self.two_board {
            return two_board.evaluate(&mut self.session, self.plane_adapter.as_mut(), batch);
        }
        let rows = batch.len();
        let outcomes = self.shape.outcomes;
        let policy = self.plane_adapter.as_ref().map_or(self.shape, PlaneAdapter::shape).policy();
        let planes = match &mut self.plane_adapter {
            Some(adapter) => adapter.convert(batch.planes()),
            None => batch.planes(),
        };
        self.policy.resize(rows * policy, 0.0);
        self.outcome.resize(rows * outcomes, 0.0);
        self.moves_left.resize(rows, 0.0);
        let mut outputs = [&mut self.policy, &mut self.outcome, &mut self.moves_left]
            .map(|buffer| &mut buffer[..]);
        self.session.run(planes, rows, &mut outputs)?;
        let outcome_rows = self.outcome.chunks_exact_mut(outcomes);
        let logits = self.policy.chunks_exact(policy);
        for (row, (outcome, logits)) in outcome_rows.zip(logits).enumerate() {
            softmax(outcome);
            let moves_left = self.moves_left[row];
            batch.fill_indexed(row, outcome, moves_left, |index| match &self.plane_adapter {
                Some(adapter) => logits[adapter.index(index.0.into())],
                None => logits[usize::from(index.0)],
            });
        }
        Ok(())
    }
}

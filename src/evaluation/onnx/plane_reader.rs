//! The evaluator of a network that reads planes.

use super::{Passport, UnfitNetwork};
use crate::encoding::{Encoding, Shape};
use crate::evaluation::Batch;
use crate::evaluation::batch::softmax;
use crate::evaluation::bridge::Bridge;
use crate::evaluation::network::{NetworkError, Session};
use crate::evaluation::twin::Twin;

/// A network that reads planes, and what it takes to read those of the game.
#[derive(Debug)]
pub(super) struct PlaneReader {
    pub(super) session: Session,
    shape: Shape,
    pub(super) bridge: Option<Bridge>,
    /// What is needed if it sees two tables one by one.
    pub(super) twin: Option<Twin>,
    policy: Vec<f32>,
    outcome: Vec<f32>,
    moves_left: Vec<f32>,
}

impl PlaneReader {
    /// Checks that the network can play `variant`, which is written in `encoding`.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn new(
        session: Session,
        passport: &Passport,
        encoding: &Encoding,
        variant: &str,
    ) -> Result<PlaneReader, UnfitNetwork> {
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
        let [policy, outcome, moves_left] = Default::default();
        Ok(PlaneReader { session, shape, bridge, twin, policy, outcome, moves_left })
    }

    pub(super) fn new_batch(&self) -> Batch {
        let batch = Batch::new(self.shape);
        // A twin looks for mates at each table when it sees it first.
        if self.twin.is_some() { batch.keeping_positions() } else { batch }
    }

    /// Fills in the evaluations of a batch of [`PlaneReader::new_batch`].
    pub(super) fn evaluate(&mut self, batch: &mut Batch) -> Result<(), NetworkError> {
        if let Some(twin) = &mut self.twin {
            return twin.evaluate(&mut self.session, self.bridge.as_mut(), batch);
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
        self.session.run(planes, rows, &mut outputs)?;
        let chances = self.outcome.chunks_exact_mut(outcomes);
        let logits = self.policy.chunks_exact(policy);
        for (row, (chances, logits)) in chances.zip(logits).enumerate() {
            softmax(chances);
            let moves_left = self.moves_left[row];
            batch.fill_indexed(row, chances, moves_left, |index| match &self.bridge {
                Some(bridge) => logits[bridge.index(index.0.into())],
                None => logits[usize::from(index.0)],
            });
        }
        Ok(())
    }
}

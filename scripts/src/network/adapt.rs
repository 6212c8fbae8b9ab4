//! A network made fit for other planes and another policy than those that it learnt with.

use menagerie::encoding::Shape;

use super::plan::{Op, Plan};
use super::{NamedTensor, Network, NetworkError};

impl Network {
    /// This network for a game whose planes are others, or stand in another order: of each plane of
    /// the input and of the policy, in the order of `shape`, which of this network's it is.
    ///
    /// A plane of the input that this network does not know changes nothing in what it thinks, and a
    /// plane of the policy that it does not know has logits of 0, until more has been learnt.
    ///
    /// # Errors
    /// [`NetworkError::TensorShape`] or [`NetworkError::TensorLength`] if the boards or the outcomes
    /// differ.
    ///
    /// # Panics
    /// If a plane is said to be one that this network has not.
    pub fn adapted(
        &self,
        shape: Shape,
        planes: &[Option<usize>],
        policy: &[Option<usize>],
    ) -> Result<Network, NetworkError> {
        let fresh = Plan::new(shape, &self.architecture)?;
        let (first, last) =
            (self.plan.ops.iter().find(|op| op.layer().is_some()), self.plan.last());
        // Convolutions have their outputs outermost, dense layers their inputs.
        let reads = first.and_then(|op| {
            let layer = op.layer()?;
            let rows = if matches!(op, Op::Conv { .. }) { layer.outputs } else { 1 };
            Some((layer.weight(), rows, self.shape.planes, planes))
        });
        let writes = last.layer().map(|layer| {
            let rows = if matches!(last, Op::Dense { .. }) { layer.inputs } else { 1 };
            let known = self.shape.policy_planes;
            [(layer.weight(), rows, known, policy), (layer.bias(), 1, known, policy)]
        });
        let changes: Vec<_> = reads.into_iter().chain(writes.into_iter().flatten()).collect();
        let parameters = self.plan.parameters.iter().zip(&fresh.parameters);
        let tensors = parameters.map(|(old, new)| {
            let (name, data) = (old.name.clone(), &self.weights[old.range.clone()]);
            match changes.iter().find(|(range, ..)| *range == old.range) {
                Some(&(_, rows, known, planes)) => {
                    let data = rearranged(data, rows, known, planes);
                    NamedTensor { name, shape: new.shape.clone(), data }
                }
                None => NamedTensor { name, shape: old.shape.clone(), data: data.to_vec() },
            }
        });
        Network::with_tensors(shape, &self.architecture, &tensors.collect::<Vec<_>>())
    }
}

/// Numbers in `rows`, each of which has equally many for each of `known` planes, for other planes:
/// what is known of them, and zeros.
fn rearranged(data: &[f32], rows: usize, known: usize, planes: &[Option<usize>]) -> Vec<f32> {
    let each = data.len() / (rows * known);
    let row = |row: &[f32]| {
        let plane = |from: &Option<usize>| match from {
            Some(nth) => row[nth * each..][..each].to_vec(),
            None => vec![0.0; each],
        };
        planes.iter().flat_map(plane).collect::<Vec<_>>()
    };
    data.chunks(known * each).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Architecture;

    const OLD: Shape = Shape { planes: 3, height: 3, width: 4, policy_planes: 5, outcomes: 3 };

    /// One whose heads are not zero.
    fn network(architecture: &Architecture) -> Network {
        let drawn = Network::new(OLD, architecture, 1).expect("a network");
        let mut tensors = drawn.tensors();
        let numbers = tensors.iter_mut().flat_map(|tensor| &mut tensor.data).enumerate();
        numbers.for_each(|(nth, number)| *number = ((nth * 37) % 101) as f32 / 101.0 - 0.5);
        Network::with_tensors(OLD, architecture, &tensors).expect("a network")
    }

    #[test]
    fn what_is_known_is_thought_as_before() {
        let new = Shape { planes: 4, policy_planes: 4, ..OLD };
        let (planes, policy) =
            ([Some(2), None, Some(0), Some(1)], [None, Some(4), Some(1), Some(0)]);
        let squares = OLD.squares();
        let input: Vec<f32> = (0..OLD.input()).map(|nth| ((nth * 7) % 5) as f32 / 5.0).collect();
        let turned: Vec<f32> = planes
            .iter()
            .flat_map(|from| match from {
                Some(nth) => input[nth * squares..][..squares].to_vec(),
                None => vec![0.9; squares],
            })
            .collect();
        for architecture in Architecture::small_ones() {
            let old = network(&architecture);
            let adapted = old.adapted(new, &planes, &policy).expect("a network");
            assert_eq!(adapted.shape(), new);
            let (before, after) = (old.forward(&input), adapted.forward(&turned));
            let (before, after) = (before.expect("outputs"), after.expect("outputs"));
            assert_near(&before.outcome, &after.outcome);
            assert_near(&before.moves_left, &after.moves_left);
            for (nth, from) in policy.iter().enumerate() {
                let expected = match from {
                    Some(from) => before.policy[from * squares..][..squares].to_vec(),
                    None => vec![0.0; squares],
                };
                assert_near(&expected, &after.policy[nth * squares..][..squares]);
            }
        }
    }

    #[test]
    fn another_board_is_refused() {
        let wider = Shape { width: 5, ..OLD };
        let same: Vec<_> = (0..5).map(Some).collect();
        for architecture in Architecture::small_ones() {
            let refused = network(&architecture).adapted(wider, &same[..3], &same);
            let error = refused.expect_err("another board");
            let (length, shape) = (
                matches!(error, NetworkError::TensorLength { .. }),
                matches!(error, NetworkError::TensorShape { .. }),
            );
            assert!(length || shape, "{error}");
        }
    }

    fn assert_near(left: &[f32], right: &[f32]) {
        assert_eq!(left.len(), right.len());
        for (left, right) in left.iter().zip(right) {
            assert!((left - right).abs() < 1e-4, "{left} {right}");
        }
    }
}

//! Networks adapted to other planes and another policy than those that they were trained with.

use menagerie::encoding::{PlaneIndices, Shape};

use super::graph_ir::{GraphIr, Op, architecture_error};
use super::{Architecture, NamedTensor, Network, NetworkError};

impl Network {
    /// Returns this network for a game with other planes, or the same in another order. `places` has for each
    /// plane of the input and of the policy, in the order of `shape`, its index in this network, if it has
    /// one.
    ///
    /// New planes of the input have weights of 0, and new planes of the policy logits of 0. The planes of an
    /// [`Architecture::TwoBoards`] are those of one board.
    ///
    /// # Errors
    /// [`NetworkError::TensorShape`] or [`NetworkError::TensorLength`] if the boards or the outcomes
    /// differ, and [`NetworkError::Architecture`] if `places` has an index that is out of range.
    pub fn adapted(&self, shape: Shape, places: &PlaneIndices) -> Result<Network, NetworkError> {
        self.transferred(shape, self.architecture.clone(), places)
    }

    /// Returns this network of one board as an [`Architecture::TwoBoards`], `places` as in [`Network::adapted`].
    /// The policy of each board is that of this network, and outcome and moves left are the means of both
    /// boards.
    ///
    /// # Errors
    /// Those of [`Network::adapted`], and [`NetworkError::Architecture`] if it is not a residual tower.
    pub fn to_two_boards(
        &self,
        shape: Shape,
        places: &PlaneIndices,
    ) -> Result<Network, NetworkError> {
        let Architecture::Residual { blocks, channels, squeeze } = self.architecture else {
            return Err(architecture_error(format!(
                "{:?} is not a residual tower",
                self.architecture
            )));
        };
        let architecture = Architecture::TwoBoards { blocks, channels, squeeze };
        self.transferred(shape, architecture, places)
    }

    fn transferred(
        &self,
        shape: Shape,
        architecture: Architecture,
        PlaneIndices { planes, policy }: &PlaneIndices,
    ) -> Result<Network, NetworkError> {
        let new_graph = GraphIr::new(shape, &architecture)?;
        let first = self.graph.ops.iter().find(|op| op.layer().is_some());
        let last = self.graph.last_layer();
        // Outputs are the outermost axis of convolutions, inputs that of dense layers.
        let reads = first.and_then(|op| {
            let layer = op.layer()?;
            let (rows, known) = match op {
                Op::Conv { .. } => (layer.outputs, layer.inputs),
                _ => (1, self.shape.planes),
            };
            Some((layer.weight(), rows, known, &planes[..]))
        });
        let writes = last.layer().map(|layer| {
            let (rows, known) = match last {
                Op::Conv { .. } => (1, layer.outputs),
                _ => (layer.inputs, self.shape.policy_planes),
            };
            [(layer.weight(), rows, known, &policy[..]), (layer.bias(), 1, known, &policy[..])]
        });
        let changes: Vec<_> = reads.into_iter().chain(writes.into_iter().flatten()).collect();
        for &(_, _, known, planes) in &changes {
            if let Some(nth) = planes.iter().flatten().find(|&&nth| nth >= known) {
                return Err(architecture_error(format!("plane {nth} is not one of {known}")));
            }
        }
        let to_two_boards = architecture != self.architecture;
        let parameters = self.graph.parameters.iter().zip(&new_graph.parameters);
        let tensors = parameters.map(|(old, new)| {
            let name = old.name.clone();
            let data = &self.weights[old.range.clone()];
            match changes.iter().find(|(range, ..)| *range == old.range) {
                Some(&(_, rows, known, planes)) => {
                    let data = rearrange_planes(data, rows, known, planes);
                    NamedTensor { name, shape: new.shape.clone(), data }
                }
                None if to_two_boards && new.range.len() == 2 * old.range.len() => {
                    // The mean of both boards.
                    let data = data.iter().chain(data).map(|weight| weight / 2.0).collect();
                    NamedTensor { name, shape: new.shape.clone(), data }
                }
                None => NamedTensor { name, shape: old.shape.clone(), data: data.to_vec() },
            }
        });
        Network::with_tensors(shape, &architecture, &tensors.collect::<Vec<_>>())
    }
}

/// Returns `rows` rows of numbers for `planes`, taken from `data`, whose rows have the same number of numbers
/// for each of `known` planes; 0 for planes without an index.
fn rearrange_planes(data: &[f32], rows: usize, known: usize, planes: &[Option<usize>]) -> Vec<f32> {
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

    /// A network whose heads are not zero.
    fn network(architecture: &Architecture) -> Network {
        let drawn = Network::new(OLD, architecture, 1).expect("a network");
        let mut tensors = drawn.tensors();
        let numbers = tensors.iter_mut().flat_map(|tensor| &mut tensor.data).enumerate();
        for (nth, number) in numbers {
            *number = ((nth * 37) % 101) as f32 / 101.0 - 0.5;
        }
        Network::with_tensors(OLD, architecture, &tensors).expect("a network")
    }

    #[test]
    fn adapted_network_has_the_same_outputs() {
        let new = Shape { planes: 4, policy_planes: 4, ..OLD };
        let planes = [Some(2), None, Some(0), Some(1)];
        let policy = [None, Some(4), Some(1), Some(0)];
        let squares = OLD.squares();
        let input: Vec<f32> = (0..OLD.input()).map(|nth| ((nth * 7) % 5) as f32 / 5.0).collect();
        let rearranged: Vec<f32> = planes
            .iter()
            .flat_map(|from| match from {
                Some(nth) => input[nth * squares..][..squares].to_vec(),
                None => vec![0.9; squares],
            })
            .collect();
        for architecture in one_board_architectures() {
            let old = network(&architecture);
            let places = PlaneIndices { planes: planes.to_vec(), policy: policy.to_vec() };
            let adapted = old.adapted(new, &places).expect("a network");
            assert_eq!(adapted.shape(), new);
            let before = old.forward(&input).expect("outputs");
            let after = adapted.forward(&rearranged).expect("outputs");
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
    fn adapted_refuses_indices_out_of_range() {
        let same: Vec<_> = (0..5).map(Some).collect();
        for (planes, policy) in
            [(vec![Some(3); 3], same.clone()), (same[..3].to_vec(), vec![Some(5); 5])]
        {
            for architecture in one_board_architectures() {
                let places = PlaneIndices { planes: planes.clone(), policy: policy.clone() };
                let refused = network(&architecture).adapted(OLD, &places);
                assert!(matches!(refused, Err(NetworkError::Architecture(_))), "{architecture:?}");
            }
        }
    }

    #[test]
    fn adapted_refuses_another_board() {
        let same: Vec<_> = (0..5).map(Some).collect();
        let places = PlaneIndices { planes: same[..3].to_vec(), policy: same };
        // One of them is twice as wide.
        let wider = [5, 8].map(|width| Shape { width, ..OLD });
        for (architecture, wider) in
            one_board_architectures().flat_map(|it| wider.map(|shape| (it.clone(), shape)))
        {
            let refused = network(&architecture).adapted(wider, &places);
            let error = refused.expect_err("another board");
            let expected = matches!(
                error,
                NetworkError::TensorLength { .. } | NetworkError::TensorShape { .. }
            );
            assert!(expected, "{error}");
        }
    }

    /// Small architectures that read all planes at once.
    fn one_board_architectures() -> impl Iterator<Item = Architecture> {
        let small = Architecture::small_ones().into_iter();
        small.filter(|architecture| !matches!(architecture, Architecture::TwoBoards { .. }))
    }

    /// Returns numbers for `planes` planes.
    fn drawn(planes: usize, seed: usize) -> Vec<f32> {
        let number = |nth: usize| ((nth * 7 + seed) % 5) as f32 / 5.0;
        (0..planes * OLD.squares()).map(number).collect()
    }

    #[test]
    fn two_board_network_has_outputs_of_one_board_network() {
        let shape = Shape { planes: 6, policy_planes: 8, ..OLD };
        let planes = [Some(0), Some(2), Some(1)];
        let policy = [Some(3), None, Some(0), Some(4)];
        let places = PlaneIndices { planes: planes.to_vec(), policy: policy.to_vec() };
        let one = network(&Architecture::Residual { blocks: 2, channels: 8, squeeze: 3 });
        let two = one.to_two_boards(shape, &places).expect("a network of two boards");
        let first = drawn(1, 1);
        let boards = [2, 3].map(|seed| drawn(2, seed));
        // The network of one board has the two planes of a board in the other order.
        let squares = OLD.squares();
        let half = shape.policy() / 2;
        let of_board = |nth: usize| {
            let (left, right) = boards[nth].split_at(squares);
            one.forward(&[&first[..], right, left].concat()).expect("outputs")
        };
        let both = |a: usize, b: usize| {
            let input = [&first[..], &drawn(1, 4), &boards[a], &boards[b]].concat();
            two.forward(&input).expect("outputs")
        };
        for [a, b] in [[0, 1], [1, 0], [1, 1]] {
            let outputs = both(a, b);
            for (logits, board) in outputs.policy.chunks(half).zip([a, b]) {
                let known = of_board(board).policy;
                for (plane, from) in logits.chunks(squares).zip(policy) {
                    let expected = from.map(|from| known[from * squares..][..squares].to_vec());
                    assert_near(&expected.unwrap_or(vec![0.0; squares]), plane);
                }
            }
        }
        // Two equal boards have the outcome of one.
        assert_near(&both(0, 0).outcome, &of_board(0).outcome);
        assert_near(&both(0, 0).moves_left, &of_board(0).moves_left);
        let differs = |left: &[f32], right: &[f32]| left.iter().zip(right).any(|(l, r)| l != r);
        assert!(differs(&both(0, 1).outcome, &both(0, 0).outcome));

        let dense = network(&Architecture::Mlp { widths: vec![4], policy_channels: 0 });
        assert!(dense.to_two_boards(shape, &places).is_err());
    }

    #[test]
    fn two_board_network_is_adapted_by_planes_of_one_board() {
        let [old, new] = [3, 4].map(|each| Shape { planes: 2 * each, policy_planes: 4, ..OLD });
        let architecture = Architecture::TwoBoards { blocks: 1, channels: 4, squeeze: 0 };
        let mut tensors = Network::new(old, &architecture, 1).expect("a network").tensors();
        let numbers = tensors.iter_mut().flat_map(|tensor| &mut tensor.data).enumerate();
        for (nth, number) in numbers {
            *number = ((nth * 37) % 101) as f32 / 101.0 - 0.5;
        }
        let known = Network::with_tensors(old, &architecture, &tensors).expect("a network");
        let planes = vec![Some(0), Some(2), None, Some(1)];
        let places = PlaneIndices { planes, policy: vec![Some(1), Some(0)] };
        let adapted = known.adapted(new, &places).expect("a network");
        let first = [drawn(1, 1), drawn(1, 2)].concat();
        let boards = [3, 4].map(|seed| drawn(2, seed));
        let rearranged = boards.each_ref().map(|board| {
            let (left, right) = board.split_at(OLD.squares());
            [right, &drawn(1, 5), left].concat()
        });
        let forward = |network: &Network, boards: &[Vec<f32>; 2]| {
            network.forward(&[&first[..], &boards[0], &boards[1]].concat()).expect("outputs")
        };
        let before = forward(&known, &boards);
        let after = forward(&adapted, &rearranged);
        assert_near(&before.outcome, &after.outcome);
        for (before, after) in before.policy.chunks(24).zip(after.policy.chunks(24)) {
            assert_near(&before[..12], &after[12..]);
            assert_near(&before[12..], &after[..12]);
        }
    }

    fn assert_near(left: &[f32], right: &[f32]) {
        assert_eq!(left.len(), right.len());
        for (left, right) in left.iter().zip(right) {
            assert!((left - right).abs() < 1e-4, "{left} {right}");
        }
    }
}

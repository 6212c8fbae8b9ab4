//! A network made fit for other planes and another policy than those that it learnt with.

use menagerie::encoding::{Places, Shape};

use super::graph_ir::{GraphIr, Op, refuse};
use super::{Architecture, NamedTensor, Network, NetworkError};

impl Network {
    /// This network for a game whose planes are others, or stand in another order: `places` tells of
    /// each plane of the input and of the policy, in the order of `shape`, which of this network's it is.
    ///
    /// A plane of the input that this network does not know changes nothing in what it thinks, and a
    /// plane of the policy that it does not know has logits of 0, until more has been learnt. Of a
    /// [`Architecture::Twin`] these are the planes that it sees, and makes, of one table.
    ///
    /// # Errors
    /// [`NetworkError::TensorShape`] or [`NetworkError::TensorLength`] if the boards or the outcomes
    /// differ, and [`NetworkError::Architecture`] if a plane is said to be one that this network has
    /// not.
    pub fn adapted(&self, shape: Shape, places: &Places) -> Result<Network, NetworkError> {
        self.carried(shape, self.architecture.clone(), places)
    }

    /// This network of one table for a game of two, `places` as in [`Network::adapted`]: an
    /// [`Architecture::Twin`] that thinks of each table what this one does, and of the game the mean of
    /// both.
    ///
    /// # Errors
    /// As [`Network::adapted`], and [`NetworkError::Architecture`] if it is no residual tower.
    pub fn twinned(&self, shape: Shape, places: &Places) -> Result<Network, NetworkError> {
        let Architecture::Residual { blocks, channels, squeeze } = self.architecture else {
            return Err(refuse(format!("{:?} is no residual tower", self.architecture)));
        };
        let architecture = Architecture::Twin { blocks, channels, squeeze };
        self.carried(shape, architecture, places)
    }

    fn carried(
        &self,
        shape: Shape,
        architecture: Architecture,
        Places { planes, policy }: &Places,
    ) -> Result<Network, NetworkError> {
        let fresh = GraphIr::new(shape, &architecture)?;
        let (first, last) =
            (self.plan.ops.iter().find(|op| op.layer().is_some()), self.plan.last());
        // Convolutions have their outputs outermost, dense layers their inputs.
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
                return Err(refuse(format!("there is no plane {nth} among {known}")));
            }
        }
        let twins = architecture != self.architecture;
        let parameters = self.plan.parameters.iter().zip(&fresh.parameters);
        let tensors = parameters.map(|(old, new)| {
            let (name, data) = (old.name.clone(), &self.weights[old.range.clone()]);
            match changes.iter().find(|(range, ..)| *range == old.range) {
                Some(&(_, rows, known, planes)) => {
                    let data = rearranged(data, rows, known, planes);
                    NamedTensor { name, shape: new.shape.clone(), data }
                }
                None if twins && new.range.len() == 2 * old.range.len() => {
                    // Of two tables, half of each.
                    let data = data.iter().chain(data).map(|weight| weight / 2.0).collect();
                    NamedTensor { name, shape: new.shape.clone(), data }
                }
                None => NamedTensor { name, shape: old.shape.clone(), data: data.to_vec() },
            }
        });
        Network::with_tensors(shape, &architecture, &tensors.collect::<Vec<_>>())
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
        for architecture in of_one_table() {
            let old = network(&architecture);
            let places = Places { planes: planes.to_vec(), policy: policy.to_vec() };
            let adapted = old.adapted(new, &places).expect("a network");
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
    fn planes_that_are_not_there_are_refused() {
        let same: Vec<_> = (0..5).map(Some).collect();
        for (planes, policy) in
            [(vec![Some(3); 3], same.clone()), (same[..3].to_vec(), vec![Some(5); 5])]
        {
            for architecture in of_one_table() {
                let places = Places { planes: planes.clone(), policy: policy.clone() };
                let refused = network(&architecture).adapted(OLD, &places);
                assert!(matches!(refused, Err(NetworkError::Architecture(_))), "{architecture:?}");
            }
        }
    }

    #[test]
    fn another_board_is_refused() {
        let same: Vec<_> = (0..5).map(Some).collect();
        let places = Places { planes: same[..3].to_vec(), policy: same };
        // Twice as wide, too.
        let wider = [5, 8].map(|width| Shape { width, ..OLD });
        for (architecture, wider) in
            of_one_table().flat_map(|it| wider.map(|shape| (it.clone(), shape)))
        {
            let refused = network(&architecture).adapted(wider, &places);
            let error = refused.expect_err("another board");
            let (length, shape) = (
                matches!(error, NetworkError::TensorLength { .. }),
                matches!(error, NetworkError::TensorShape { .. }),
            );
            assert!(length || shape, "{error}");
        }
    }

    /// Those that see all planes at once.
    fn of_one_table() -> impl Iterator<Item = Architecture> {
        let small = Architecture::small_ones().into_iter();
        small.filter(|architecture| !matches!(architecture, Architecture::Twin { .. }))
    }

    /// Numbers for so many planes.
    fn drawn(planes: usize, seed: usize) -> Vec<f32> {
        let number = |nth: usize| ((nth * 7 + seed) % 5) as f32 / 5.0;
        (0..planes * OLD.squares()).map(number).collect()
    }

    #[test]
    fn a_twin_thinks_of_each_table_what_the_network_of_one_does() {
        let shape = Shape { planes: 6, policy_planes: 8, ..OLD };
        let (planes, policy) = ([Some(0), Some(2), Some(1)], [Some(3), None, Some(0), Some(4)]);
        let places = Places { planes: planes.to_vec(), policy: policy.to_vec() };
        let one = network(&Architecture::Residual { blocks: 2, channels: 8, squeeze: 3 });
        let twin = one.twinned(shape, &places).expect("a twin");
        let (first, tables) = (drawn(1, 1), [2, 3].map(|seed| drawn(2, seed)));
        // The network of one has a table's two planes the other way round.
        let (squares, half) = (OLD.squares(), shape.policy() / 2);
        let of_table = |nth: usize| {
            let (left, right) = tables[nth].split_at(squares);
            one.forward(&[&first[..], right, left].concat()).expect("outputs")
        };
        let both = |a: usize, b: usize| {
            let input = [&first[..], &drawn(1, 4), &tables[a], &tables[b]].concat();
            twin.forward(&input).expect("outputs")
        };
        for [a, b] in [[0, 1], [1, 0], [1, 1]] {
            let outputs = both(a, b);
            for (logits, table) in outputs.policy.chunks(half).zip([a, b]) {
                let known = of_table(table).policy;
                for (plane, from) in logits.chunks(squares).zip(policy) {
                    let expected = from.map(|from| known[from * squares..][..squares].to_vec());
                    assert_near(&expected.unwrap_or(vec![0.0; squares]), plane);
                }
            }
        }
        // Two tables that are alike are worth what each is.
        assert_near(&both(0, 0).outcome, &of_table(0).outcome);
        assert_near(&both(0, 0).moves_left, &of_table(0).moves_left);
        let differs = |left: &[f32], right: &[f32]| left.iter().zip(right).any(|(l, r)| l != r);
        assert!(differs(&both(0, 1).outcome, &both(0, 0).outcome));

        let dense = network(&Architecture::Mlp { widths: vec![4], policy_channels: 0 });
        assert!(dense.twinned(shape, &places).is_err());
    }

    #[test]
    fn a_twin_is_adapted_by_its_tables() {
        let [old, new] = [3, 4].map(|each| Shape { planes: 2 * each, policy_planes: 4, ..OLD });
        let twin = Architecture::Twin { blocks: 1, channels: 4, squeeze: 0 };
        let mut tensors = Network::new(old, &twin, 1).expect("a network").tensors();
        let numbers = tensors.iter_mut().flat_map(|tensor| &mut tensor.data).enumerate();
        numbers.for_each(|(nth, number)| *number = ((nth * 37) % 101) as f32 / 101.0 - 0.5);
        let known = Network::with_tensors(old, &twin, &tensors).expect("a network");
        let planes = vec![Some(0), Some(2), None, Some(1)];
        let places = Places { planes, policy: vec![Some(1), Some(0)] };
        let adapted = known.adapted(new, &places).expect("a network");
        let (first, tables) = ([drawn(1, 1), drawn(1, 2)].concat(), [3, 4].map(|s| drawn(2, s)));
        let turned = tables.each_ref().map(|table| {
            let (left, right) = table.split_at(OLD.squares());
            [right, &drawn(1, 5), left].concat()
        });
        let of = |network: &Network, tables: &[Vec<f32>; 2]| {
            network.forward(&[&first[..], &tables[0], &tables[1]].concat()).expect("outputs")
        };
        let (before, after) = (of(&known, &tables), of(&adapted, &turned));
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

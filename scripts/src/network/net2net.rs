//! Net2Net: larger networks that compute the same function.

use super::{Architecture, NamedTensor, Network, NetworkError};

impl Network {
    /// Returns this network with the greater sizes of `architecture`, which computes the same outputs (Net2Net,
    /// Chen et al., 2016). New weights are drawn from `seed` as in a new network, new blocks are the identity,
    /// and the weights from new channels to old ones are zero. Returns a copy of this network if
    /// `architecture` is not this one with greater sizes.
    ///
    /// # Errors
    /// [`NetworkError::Architecture`] if a size is too large.
    pub fn grown(&self, architecture: &Architecture, seed: u64) -> Result<Network, NetworkError> {
        if !architecture.outgrows(&self.architecture) {
            return Ok(self.clone());
        }
        let mut tensors = Network::new(self.shape, architecture, seed)?.tensors();
        for known in self.tensors() {
            if let Some(tensor) = tensors.iter_mut().find(|tensor| tensor.name == known.name) {
                copy_tensor(&known, tensor);
            }
        }
        Network::with_tensors(self.shape, architecture, &tensors)
    }
}

/// Copies the numbers of `known` into `larger`, and sets the weights from new inputs to old outputs to 0.
fn copy_tensor(known: &NamedTensor, larger: &mut NamedTensor) {
    // Outputs are the outermost axis of convolutions, and the innermost of dense layers and biases.
    let output_axis = if known.shape.len() == 4 { 0 } else { known.shape.len() - 1 };
    let mut index = vec![0; larger.shape.len()];
    for number in &mut larger.data {
        if index.iter().zip(&known.shape).all(|(at, size)| at < size) {
            let nth = index.iter().zip(&known.shape).fold(0, |nth, (at, size)| nth * size + at);
            *number = known.data[nth];
        } else if index[output_axis] < known.shape[output_axis] {
            *number = 0.0;
        }
        for (at, size) in index.iter_mut().zip(&larger.shape).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use menagerie::encoding::Shape;

    use super::*;

    const SHAPE: Shape = Shape { planes: 6, height: 3, width: 4, policy_planes: 4, outcomes: 3 };

    /// A network without weights of zero.
    fn network(architecture: &Architecture) -> Network {
        let mut tensors = Network::new(SHAPE, architecture, 1).expect("a network").tensors();
        let numbers = tensors.iter_mut().flat_map(|tensor| &mut tensor.data).enumerate();
        for (nth, number) in numbers {
            *number = ((nth * 37) % 101) as f32 / 101.0 - 0.5;
        }
        Network::with_tensors(SHAPE, architecture, &tensors).expect("a network")
    }

    /// Pairs of each small architecture and larger ones of its kind.
    fn pairs() -> Vec<(Architecture, Architecture)> {
        let larger = |architecture: &Architecture| -> Vec<Architecture> {
            match *architecture {
                Architecture::Residual { blocks, channels, squeeze } => [[1, 0, 0], [0, 3, 2]]
                    .map(|[b, c, s]| Architecture::Residual {
                        blocks: blocks + b,
                        channels: channels + c,
                        squeeze: squeeze + s.min(squeeze),
                    })
                    .to_vec(),
                Architecture::TwoBoards { blocks, channels, squeeze } => {
                    vec![Architecture::TwoBoards {
                        blocks: blocks + 1,
                        channels: channels + 5,
                        squeeze,
                    }]
                }
                Architecture::Mlp { ref widths, policy_channels } => {
                    let widths = widths.iter().map(|width| width + 3).collect();
                    let policy_channels = policy_channels + policy_channels.min(1);
                    vec![Architecture::Mlp { widths, policy_channels }]
                }
            }
        };
        let small = Architecture::small_ones();
        small.iter().flat_map(|it| larger(it).into_iter().map(|new| (it.clone(), new))).collect()
    }

    #[test]
    fn larger_networks_have_the_same_outputs() {
        let input: Vec<f32> = (0..SHAPE.input()).map(|nth| ((nth * 7) % 5) as f32 / 5.0).collect();
        for (known, larger) in pairs() {
            let old = network(&known);
            let new = old.grown(&larger, 3).expect("a network");
            assert_eq!(new.architecture(), &larger);
            assert!(new.parameters() > old.parameters());
            let [before, after] = [&old, &new].map(|it| it.forward(&input).expect("outputs"));
            for (before, after) in [
                (&before.policy, &after.policy),
                (&before.outcome, &after.outcome),
                (&before.moves_left, &after.moves_left),
            ] {
                // Wider sums are added in another order.
                let near = |(before, after): (&f32, &f32)| {
                    (before - after).abs() <= 1e-5 * before.abs().max(1.0)
                };
                assert!(before.iter().zip(after).all(near), "{larger:?}: {before:?}, {after:?}");
            }
        }
    }

    #[test]
    fn more_blocks_have_exactly_the_same_outputs() {
        let input: Vec<f32> = (0..SHAPE.input()).map(|nth| ((nth * 7) % 5) as f32 / 5.0).collect();
        let known = Architecture::Residual { blocks: 1, channels: 4, squeeze: 2 };
        let deeper = Architecture::Residual { blocks: 3, channels: 4, squeeze: 2 };
        let old = network(&known);
        let new = old.grown(&deeper, 3).expect("a network");
        assert_eq!(new.architecture(), &deeper);
        let outputs = [&old, &new].map(|network| network.forward(&input).expect("outputs"));
        assert_eq!(outputs[0], outputs[1]);
    }

    #[test]
    fn wider_networks_have_new_random_weights() {
        let known = network(&Architecture::Residual { blocks: 1, channels: 4, squeeze: 0 });
        let larger = Architecture::Residual { blocks: 1, channels: 7, squeeze: 0 };
        let tensors = known.grown(&larger, 3).expect("a network").tensors();
        let stem = tensors.iter().find(|tensor| tensor.name == "stem.weight").expect("a stem");
        assert_eq!(stem.shape, [7, SHAPE.planes, 3, 3]);
        assert!(stem.data.iter().all(|&number| number != 0.0));
        assert_ne!(tensors, known.grown(&larger, 4).expect("a network").tensors());
    }

    #[test]
    fn grown_ignores_smaller_sizes_and_other_kinds() {
        for (smaller, known) in pairs() {
            let old = network(&known);
            let others = [
                smaller.clone(),
                known.clone(),
                Architecture::Residual { blocks: 9, channels: 9, squeeze: 0 },
                Architecture::Mlp { widths: vec![99], policy_channels: 1 },
            ];
            for other in others.iter().filter(|other| !other.outgrows(&known)) {
                assert_eq!(old.grown(other, 3).expect("a network").tensors(), old.tensors());
            }
            assert!(!smaller.outgrows(&known) && !known.outgrows(&known));
        }
        let bare = Architecture::Residual { blocks: 1, channels: 4, squeeze: 0 };
        assert!(!Architecture::Residual { blocks: 1, channels: 4, squeeze: 2 }.outgrows(&bare));
    }
}

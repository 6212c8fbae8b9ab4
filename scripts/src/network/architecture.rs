//! The architectures of convolution networks.

use std::mem::discriminant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of network and its sizes, as in the configuration of a run.
///
/// ```
/// # use trainer::network::Architecture;
/// # #[derive(serde::Deserialize)] struct Run { network: Architecture }
/// let run: Run = toml::from_str("network = { residual = { blocks = 6, channels = 64 } }").unwrap();
/// assert_eq!(run.network, Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 });
/// ```
///
/// Squeeze-and-excitation (Hu et al., 2018) carries information over the whole board in one block: the means
/// of the channels over the board go through two small layers, which give a factor for each channel that the
/// block adds to the tower.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Architecture {
    /// Residual blocks of two 3x3 convolutions each.
    Residual {
        /// Residual blocks.
        blocks: usize,
        /// Channels.
        channels: usize,
        /// Units of squeeze and excitation; 0 for none. It is at the end of each block.
        #[serde(default, skip_serializing_if = "is_zero")]
        squeeze: usize,
    },
    /// A residual tower with the same weights for both boards of bughouse. The boards go through it one after
    /// the other, and each gives its own policy; the outcome is of both boards together. Such a network may
    /// start from the weights of a network of one board. Files of earlier versions call it `twin`.
    #[serde(rename = "two_boards", alias = "twin")]
    TwoBoards {
        /// Residual blocks.
        blocks: usize,
        /// Channels.
        channels: usize,
        /// Units of squeeze and excitation; 0 for none. It is at the end of each block.
        #[serde(default, skip_serializing_if = "is_zero")]
        squeeze: usize,
    },
    /// Dense layers over the flattened planes. They suit small boards, and are the cheapest for large ones.
    ///
    /// The first layer is a sum of embeddings: a plane marks the squares of a piece type, so that each piece on its
    /// square has a row of weights. A graph that gathers and adds these rows is the same function, but slower:
    /// ONNX Runtime evaluated 31,000 positions a CPU second with it, given the indices, against 54,000 with int8
    /// dense layers of 512 and 256 units.
    Mlp {
        /// Units of each hidden layer.
        widths: Vec<usize>,
        /// Channels of a policy by 1x1 convolution; 0 for a dense one. A dense layer gives these channels on
        /// each square, and the convolution the moves of the square: for large boards with thousands of logits.
        #[serde(default, skip_serializing_if = "is_zero")]
        policy_channels: usize,
    },
}

impl Architecture {
    /// Returns the sizes that may grow, and another that may grow unless it is 0.
    fn sizes(&self) -> (Vec<usize>, usize) {
        match self {
            &Architecture::Residual { blocks, channels, squeeze }
            | &Architecture::TwoBoards { blocks, channels, squeeze } => {
                (vec![blocks, channels], squeeze)
            }
            Architecture::Mlp { widths, policy_channels } => (widths.clone(), *policy_channels),
        }
    }

    /// Returns `true` if it is `smaller` with greater sizes.
    pub(super) fn outgrows(&self, smaller: &Architecture) -> bool {
        let (new, new_optional) = self.sizes();
        let (old, old_optional) = smaller.sizes();
        discriminant(self) == discriminant(smaller)
            && self != smaller
            && old.len() == new.len()
            && old.iter().zip(&new).all(|(old, new)| old <= new)
            && old_optional <= new_optional
            && (old_optional == 0) == (new_optional == 0)
    }
}

/// Sizes of 0 are not serialised, so that the metadata of earlier networks stays the same.
fn is_zero(size: &usize) -> bool {
    *size == 0
}

#[cfg(test)]
impl Architecture {
    /// Small architectures of all kinds.
    pub(crate) fn small_ones() -> Vec<Architecture> {
        vec![
            Architecture::Residual { blocks: 2, channels: 8, squeeze: 0 },
            Architecture::Residual { blocks: 2, channels: 8, squeeze: 3 },
            Architecture::TwoBoards { blocks: 2, channels: 8, squeeze: 3 },
            Architecture::Mlp { widths: vec![16, 8], policy_channels: 0 },
            Architecture::Mlp { widths: vec![16, 8], policy_channels: 4 },
        ]
    }
}

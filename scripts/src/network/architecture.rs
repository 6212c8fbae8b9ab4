//! The kinds of network that can be trained.

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

/// A kind of network and its sizes, as written in a run's configuration.
///
/// ```
/// # use trainer::network::Architecture;
/// # #[derive(serde::Deserialize)] struct Run { network: Architecture }
/// let run: Run = toml::from_str("network = { residual = { blocks = 6, channels = 64 } }").unwrap();
/// assert_eq!(run.network, Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 });
/// ```
///
/// Squeeze-and-excitation (Hu et al., 2018) lets what stands anywhere on the board matter everywhere
/// at once: the means of a block's channels over the board go through two small layers, which say
/// how much of each channel the block adds to the tower.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Architecture {
    /// A tower of residual blocks of two 3x3 convolutions each, for boards of any size.
    Residual {
        /// Residual blocks.
        blocks: usize,
        /// Channels of the tower.
        channels: usize,
        /// Units of the squeeze-and-excitation at the end of each block, 0 for none.
        #[serde(default, skip_serializing_if = "is_zero")]
        squeeze: usize,
    },
    /// A residual tower for games of two tables: both go through it, one after the other with the same
    /// weights, and a policy is made of each; only the outcome is of both together. What is learnt at
    /// one table is so known at the other, and what is known of the game of one table may be the start.
    Twin {
        /// Residual blocks.
        blocks: usize,
        /// Channels of the tower.
        channels: usize,
        /// Units of the squeeze-and-excitation at the end of each block, 0 for none.
        #[serde(default, skip_serializing_if = "is_zero")]
        squeeze: usize,
    },
    /// Dense layers over the flattened planes: for small boards, and the cheapest for large ones.
    ///
    /// This is the embedding form as well. A plane tells which squares hold a kind of man, so the
    /// first layer is a sum of learned embeddings, a row of weights for each man on its square. A
    /// graph that gathered and added the rows would be the same function; but the input is planes,
    /// from which it would first have to find the indices, and ONNX Runtime gathers and adds floats
    /// more slowly than it multiplies bytes: 31,000 positions a CPU second, the indices given,
    /// against 54,000 of dense layers of 512 and 256 units.
    Mlp {
        /// Units of each hidden layer, first to last.
        widths: Vec<usize>,
        /// 0: a dense layer gives the policy. Else a dense layer gives so many channels over the
        /// board, and of each square's channels the same weights make its moves: a policy for large
        /// boards, whose logits are thousands.
        #[serde(default, skip_serializing_if = "is_zero")]
        policy_channels: usize,
    },
}

impl Architecture {
    /// The sizes that may grow, and one more, which is 0 for a part that is not there.
    fn sizes(&self) -> (Vec<usize>, usize) {
        match self {
            &Architecture::Residual { blocks, channels, squeeze }
            | &Architecture::Twin { blocks, channels, squeeze } => {
                (vec![blocks, channels], squeeze)
            }
            Architecture::Mlp { widths, policy_channels } => (widths.clone(), *policy_channels),
        }
    }

    /// Whether it is `known` but for greater sizes: all that `known` has, it has in the same place.
    pub(super) fn outgrows(&self, known: &Architecture) -> bool {
        let ((new, part), (old, had)) = (self.sizes(), known.sizes());
        let kept = |old: usize, new: usize| old <= new && (old == 0) == (new == 0);
        discriminant(self) == discriminant(known)
            && self != known
            && old.len() == new.len()
            && old.iter().zip(&new).all(|(old, new)| old <= new)
            && kept(had, part)
    }
}

/// What is left out of a configuration, so that networks of before say the same of themselves.
fn is_zero(size: &usize) -> bool {
    *size == 0
}

#[cfg(test)]
impl Architecture {
    /// A small one of each kind.
    pub(crate) fn small_ones() -> Vec<Architecture> {
        vec![
            Architecture::Residual { blocks: 2, channels: 8, squeeze: 0 },
            Architecture::Residual { blocks: 2, channels: 8, squeeze: 3 },
            Architecture::Twin { blocks: 2, channels: 8, squeeze: 3 },
            Architecture::Mlp { widths: vec![16, 8], policy_channels: 0 },
            Architecture::Mlp { widths: vec![16, 8], policy_channels: 4 },
        ]
    }
}

//! A fitted regression and its file.
//!
//! The file is a header of magic, version and checksum, followed by the model in postcard's format.
//! Files from any source are safe to read: everything is checked before it is used.

use serde::{Deserialize, Serialize};

use super::components::PrincipalComponents;
use super::features::{FEATURE_COUNT, Features};

/// A fitted regression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Model {
    /// A linear function of the features.
    Linear {
        /// The weight of each feature.
        weights: Vec<f32>,
        /// The constant term.
        bias: f32,
    },
    /// The mean of trees over principal components.
    Trees {
        /// The components.
        components: PrincipalComponents,
        /// The trees.
        trees: Vec<Tree>,
    },
}

/// A decision tree. The first node is the root.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree(pub Vec<Node>);

/// A node of a decision tree.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Node {
    /// Continues at one of two nodes, both of which have a greater index than this one.
    Split {
        /// The index of the component.
        component: u16,
        /// The threshold.
        threshold: f32,
        /// The node if the component is at most the threshold.
        below: u32,
        /// The node if the component is greater.
        above: u32,
    },
    /// The value.
    Leaf(f32),
}

/// Errors of a model's file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is shorter than its header.
    #[error("the file is truncated")]
    Truncated,
    /// The file does not begin with the magic.
    #[error("not a regression file")]
    Magic,
    /// The version of the file is not supported.
    #[error("version {0} is not supported (expected {VERSION})")]
    Version(u32),
    /// The checksum is wrong.
    #[error("wrong checksum")]
    Checksum,
    /// The model cannot be read or written.
    #[error("invalid model: {0}")]
    Postcard(#[from] postcard::Error),
    /// The file continues after the model.
    #[error("unexpected bytes after the model")]
    TrailingBytes,
    /// The weights of a linear model are not valid.
    #[error("the weights are not {FEATURE_COUNT} finite numbers")]
    Weights,
    /// The principal components are not valid.
    #[error("the components are not those of {FEATURE_COUNT} features")]
    Components,
    /// A tree is not valid, or there is none.
    #[error("invalid trees")]
    Trees,
}

const MAGIC: &[u8; 8] = b"MNGRREGR";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;

impl Model {
    /// Returns the value of a position with these features.
    pub fn predict(&self, features: &Features) -> f32 {
        match self {
            Model::Linear { weights, bias } => features
                .0
                .iter()
                .fold(*bias, |sum, &(index, value)| sum + weights[usize::from(index)] * value),
            Model::Trees { components, trees } => {
                let row = components.project(features);
                trees.iter().map(|tree| tree.predict(&row)).sum::<f32>() / trees.len() as f32
            }
        }
    }

    /// Returns the bytes of the model's file.
    ///
    /// # Errors
    /// `ModelError::Postcard` if the model cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let body = postcard::to_stdvec(self)?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// Reads a model from the bytes of its file.
    ///
    /// # Errors
    /// If the bytes are not those of a valid model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(ModelError::Truncated)?;
        if &header[..8] != MAGIC {
            return Err(ModelError::Magic);
        }
        let version = read_u32(header, 8);
        if version != VERSION {
            return Err(ModelError::Version(version));
        }
        if read_u32(header, 12) != crc32fast::hash(body) {
            return Err(ModelError::Checksum);
        }
        let (model, rest) = postcard::take_from_bytes::<Model>(body)?;
        model.validate()?;
        if !rest.is_empty() {
            return Err(ModelError::TrailingBytes);
        }
        Ok(model)
    }

    /// Checks that the model has a value for every position.
    fn validate(&self) -> Result<(), ModelError> {
        match self {
            Model::Linear { weights, bias } => {
                let finite = weights.iter().all(|weight| weight.is_finite()) && bias.is_finite();
                if weights.len() != FEATURE_COUNT || !finite {
                    return Err(ModelError::Weights);
                }
            }
            Model::Trees { components, trees } => {
                if components.width != FEATURE_COUNT || !components.is_valid() {
                    return Err(ModelError::Components);
                }
                if trees.is_empty() || !trees.iter().all(|tree| tree.is_valid(components.count)) {
                    return Err(ModelError::Trees);
                }
            }
        }
        Ok(())
    }
}

fn read_u32(header: &[u8], start: usize) -> u32 {
    u32::from_le_bytes([0, 1, 2, 3].map(|offset| header[start + offset]))
}

impl Tree {
    /// Returns the value of a row of components.
    pub(super) fn predict(&self, row: &[f32]) -> f32 {
        let mut index = 0;
        loop {
            match self.0[index] {
                Node::Leaf(value) => return value,
                Node::Split { component, threshold, below, above } => {
                    let is_below = row[usize::from(component)] <= threshold;
                    let next = if is_below { below } else { above };
                    index = next as usize;
                }
            }
        }
    }

    /// Returns `true` if every path ends at a leaf with a finite value.
    fn is_valid(&self, component_count: usize) -> bool {
        let mut nodes = self.0.iter().enumerate();
        !self.0.is_empty()
            && nodes.all(|(index, node)| self.is_valid_node(index, node, component_count))
    }

    fn is_valid_node(&self, index: usize, node: &Node, component_count: usize) -> bool {
        match *node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split { component, threshold, below, above } => {
                let following = index + 1..self.0.len();
                !threshold.is_nan()
                    && usize::from(component) < component_count
                    && following.contains(&(below as usize))
                    && following.contains(&(above as usize))
            }
        }
    }
}

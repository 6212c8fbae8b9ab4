//! Reads the trees of smartcore from their serialized form, as their nodes are private.

use std::num::TryFromIntError;

use serde::{Deserialize, Serialize};

use super::model::{Node, Tree};

/// Errors of reading smartcore's trees.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The serialized form is unexpected.
    #[error("unexpected format of smartcore's trees: {0}")]
    Format(#[from] serde_json::Error),
    /// A tree has too many nodes or components.
    #[error("a tree is too large: {0}")]
    Size(#[from] TryFromIntError),
}

#[derive(Deserialize)]
struct SerializedRegressor {
    tree_regressor: SerializedTree,
}

#[derive(Deserialize)]
struct SerializedForest {
    forest_regressor: SerializedTrees,
}

#[derive(Deserialize)]
struct SerializedTrees {
    trees: Vec<SerializedTree>,
}

#[derive(Deserialize)]
struct SerializedTree {
    nodes: Vec<SerializedNode>,
}

#[derive(Deserialize)]
struct SerializedNode {
    output: f64,
    split_feature: usize,
    split_value: Option<f64>,
    true_child: Option<usize>,
    false_child: Option<usize>,
}

/// Reads the tree of a `DecisionTreeRegressor`.
pub(super) fn read_tree(regressor: &impl Serialize) -> Result<Tree, TreeError> {
    let json = serde_json::to_vec(regressor)?;
    let serialized: SerializedRegressor = serde_json::from_slice(&json)?;
    Ok(convert_tree(serialized.tree_regressor)?)
}

/// Reads the trees of a `RandomForestRegressor`.
pub(super) fn read_forest(regressor: &impl Serialize) -> Result<Vec<Tree>, TreeError> {
    let json = serde_json::to_vec(regressor)?;
    let serialized: SerializedForest = serde_json::from_slice(&json)?;
    let trees = serialized.forest_regressor.trees.into_iter().map(convert_tree);
    Ok(trees.collect::<Result<_, _>>()?)
}

fn convert_tree(tree: SerializedTree) -> Result<Tree, TryFromIntError> {
    tree.nodes.into_iter().map(convert_node).collect::<Result<_, _>>().map(Tree)
}

fn convert_node(node: SerializedNode) -> Result<Node, TryFromIntError> {
    let split = (node.split_value, node.true_child, node.false_child);
    let (Some(threshold), Some(below), Some(above)) = split else {
        return Ok(Node::Leaf(node.output as f32));
    };
    Ok(Node::Split {
        component: node.split_feature.try_into()?,
        threshold: round_down(threshold),
        below: below.try_into()?,
        above: above.try_into()?,
    })
}

/// Returns the greatest `f32` that is not above `number`. For `f32` rows it is the same threshold.
fn round_down(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) > number { nearest.next_down() } else { nearest }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use smartcore::linalg::basic::arrays::Array;
    use smartcore::linalg::basic::matrix::DenseMatrix;
    use smartcore::tree::decision_tree_regressor::DecisionTreeRegressor;

    use super::*;

    #[test]
    fn smartcore_trees_predict_the_same() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let train: Vec<f32> = (0..3 * 400).map(|_| rng.random_range(-1.0..1.0)).collect();
        let values: Vec<f32> = train.chunks(3).map(|row| row[0] * row[1] - row[2]).collect();
        let matrix = DenseMatrix::new(400, 3, train.clone(), false).unwrap();
        let tree = DecisionTreeRegressor::fit(&matrix, &values, Default::default()).unwrap();
        let converted = read_tree(&tree).unwrap();
        let test: Vec<f32> = (0..3 * 400).map(|_| rng.random_range(-1.0..1.0)).collect();
        for rows in [train, test] {
            let matrix = DenseMatrix::new(400, 3, rows.clone(), false).unwrap();
            assert_eq!(matrix.shape(), (400, 3));
            let expected: Vec<f32> = tree.predict(&matrix).unwrap();
            for (row, expected) in rows.chunks(3).zip(expected) {
                assert_eq!(converted.predict(row), expected);
            }
        }
    }

    #[test]
    fn smartcore_thresholds_are_rounded_down() {
        for number in [0.1_f64, -0.1, 1.0, 1e-50, -1e-50, 16_777_217.0] {
            let rounded = round_down(number);
            assert!(f64::from(rounded) <= number && number < f64::from(rounded.next_up()));
        }
    }
}

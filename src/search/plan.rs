//! How the visits of the root are spread, if not by PUCT.

use super::node::NodeId;
use super::params::GumbelParams;

/// The moves of the root that share its visits evenly. As the search goes on they become fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) params: GumbelParams,
    /// The best first, as far as was known when there were twice as many.
    pub(super) considered: Vec<NodeId>,
    /// How many they were at first; 0 before the root is known.
    pub(super) all: usize,
}

impl Plan {
    /// Where `id` stands among those considered, the first the best.
    pub(super) fn rank(&self, id: NodeId) -> Option<usize> {
        self.considered.iter().position(|&considered| considered == id)
    }
}

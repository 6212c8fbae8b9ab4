//! What a node is searched for, and what is known of it before its moves are searched.

use super::score::Score;

/// What is expected of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Its score is within the window.
    Principal,
    /// A move refutes the one before.
    Cut,
    /// No move does.
    All,
}

impl Kind {
    /// Returns the kind of its successors in a null window.
    pub(super) fn next(self) -> Kind {
        if self == Kind::Cut { Kind::All } else { Kind::Cut }
    }
}

/// The window, depth and place of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeTask {
    pub(super) ply: usize,
    pub(super) depth: i32,
    pub(super) alpha: Score,
    pub(super) beta: Score,
    pub(super) kind: Kind,
}

/// What is known of a node before its moves are searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFacts {
    /// The evaluation of the network; 0 in check or with tactical moves alone, where nothing depends on it.
    pub(super) static_eval: Score,
    /// The same, corrected; where there is none, that of two plies before.
    pub(super) eval: Score,
    pub(super) in_check: bool,
    /// The evaluation is better than two plies before.
    pub(super) improving: bool,
    /// There are only tactical moves: captures are compulsory, or nothing else is legal.
    pub(super) forced: bool,
    /// There is one legal move.
    pub(super) single: bool,
    /// The position is on a principal variation, or was on one before.
    pub(super) was_principal: bool,
}

impl NodeFacts {
    /// Returns `true` if the node has an evaluation of its own.
    pub(super) fn is_quiet(&self) -> bool {
        !self.in_check && !self.forced
    }
}

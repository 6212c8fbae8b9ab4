//! The sizes of what goes into a network and what comes out of it.

/// The tensor sizes of an encoding, without the batch axis.
///
/// A network takes `planes` of `[batch, planes, height, width]` and gives `policy` logits of
/// `[batch, policy]`, `outcome` logits of `[batch, outcomes]` and `moves_left` of `[batch, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Input planes.
    pub planes: usize,
    /// Ranks of the board.
    pub height: usize,
    /// Files of the board.
    pub width: usize,
    /// Policy planes: the policy is this many planes of `height x width` squares.
    pub policy_planes: usize,
    /// Classes of the value head: one a side, seen from the mover in turn order, and the draw last.
    pub outcomes: usize,
}

impl Shape {
    /// Squares of the board.
    pub const fn squares(&self) -> usize {
        self.height * self.width
    }

    /// Numbers in the input of one position.
    pub const fn input(&self) -> usize {
        self.planes * self.squares()
    }

    /// Logits in the policy of one position.
    pub const fn policy(&self) -> usize {
        self.policy_planes * self.squares()
    }

    /// The sizes of one of two tables, where this is a position of both: a network that sees them one by
    /// one is shown the first plane of all and the table's own, not the second, which tells the teams apart.
    pub fn of_table(self) -> Shape {
        Shape { planes: self.planes / 2, policy_planes: self.policy_planes / 2, ..self }
    }
}

//! Tensor sizes of networks.

/// The tensor sizes of an encoding, without the batch axis.
///
/// A network maps `planes` of shape `[batch, planes, height, width]` to `policy` logits of shape
/// `[batch, policy]`, `outcome` logits of `[batch, outcomes]` and `moves_left` of `[batch, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The number of input planes.
    pub planes: usize,
    /// The number of ranks of the board.
    pub height: usize,
    /// The number of files of the board.
    pub width: usize,
    /// The number of policy planes, each of `height x width` squares.
    pub policy_planes: usize,
    /// The number of classes of the value head: the win of each side, in turn order from the side to move,
    /// and the draw last.
    pub outcomes: usize,
}

impl Shape {
    /// Returns the number of squares of the board.
    pub const fn squares(&self) -> usize {
        self.height * self.width
    }

    /// Returns the number of input values of one position.
    pub const fn input(&self) -> usize {
        self.planes * self.squares()
    }

    /// Returns the number of policy logits of one position.
    pub const fn policy(&self) -> usize {
        self.policy_planes * self.squares()
    }

    /// Returns the sizes of one board, if these are those of bughouse. A network that evaluates the boards
    /// one by one gets the first plane and the planes of the board, but not the second plane, which
    /// distinguishes the teams.
    pub fn of_board(self) -> Shape {
        Shape { planes: self.planes / 2, policy_planes: self.policy_planes / 2, ..self }
    }
}

//! Game trees written as text, for tests of the search.
//!
//! A leaf is the letter of its winner (`a`, `b`, ..) or `=` for a draw. An inner node is the letter of
//! the side to move, followed by its children in parentheses: in `a(b(=a)b)`, side a chooses between a
//! node of side b, which can draw or lose, and a loss. A `+` before a child means that the move to it
//! does not end the turn: `a(+a(b=))`.

use std::sync::Arc;

use shakmaty::{Board, Color, Square};

use super::{
    BoardView, GameSpec, Key, Move, MoveList, Outcome, Reason, Rules, Side, Symmetry, View,
};

/// A text that is not a game tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("bad game tree \"{text}\" at byte {byte}")]
pub struct TestTreeError {
    /// The text.
    pub text: String,
    /// The position of the error, in bytes.
    pub byte: usize,
}

#[derive(Debug)]
enum TreeNode {
    Leaf(Option<Side>),
    Inner {
        turn: Side,
        /// For each child, whether the turn goes on, and the index of the node.
        children: Vec<(bool, usize)>,
    },
}

#[derive(Debug)]
struct GameTree {
    sides: usize,
    nodes: Vec<TreeNode>,
    /// Empty, for views.
    board: Board,
}

/// A node of a game tree, as a position.
#[derive(Clone, Debug)]
pub(super) struct TestTree {
    tree: Arc<GameTree>,
    node: usize,
    turn: Side,
    mid_turn: bool,
}

impl TestTree {
    /// Parses a tree.
    pub(super) fn parse(text: &str, sides: usize) -> Result<TestTree, TestTreeError> {
        let mut nodes = Vec::new();
        let mut rest = text.as_bytes();
        let root = match parse_node(&mut rest, &mut nodes, sides) {
            Some((root, _)) if rest.is_empty() => root,
            _ => {
                let byte = text.len() - rest.len();
                return Err(TestTreeError { text: text.to_owned(), byte });
            }
        };
        let turn = match nodes[root] {
            TreeNode::Inner { turn, .. } => turn,
            TreeNode::Leaf(_) => Side::WHITE,
        };
        let tree = Arc::new(GameTree { sides, nodes, board: Board::empty() });
        Ok(TestTree { tree, node: root, turn, mid_turn: false })
    }

    fn children(&self) -> &[(bool, usize)] {
        match &self.tree.nodes[self.node] {
            TreeNode::Inner { children, .. } => children,
            TreeNode::Leaf(_) => &[],
        }
    }
}

/// Parses one node from the front of `rest`. Returns its index and whether the turn goes on.
fn parse_node(rest: &mut &[u8], nodes: &mut Vec<TreeNode>, sides: usize) -> Option<(usize, bool)> {
    let open = rest.first() == Some(&b'+');
    if open {
        *rest = &rest[1..];
    }
    let (&letter, tail) = rest.split_first()?;
    *rest = tail;
    let side = match letter {
        b'=' => None,
        _ => {
            let index = usize::from(letter.checked_sub(b'a')?);
            if index >= sides {
                return None;
            }
            Some(Side::new(index))
        }
    };
    let node = if rest.first() == Some(&b'(') {
        *rest = &rest[1..];
        let mut children = Vec::new();
        while rest.first() != Some(&b')') {
            let (child, open) = parse_node(rest, nodes, sides)?;
            children.push((open, child));
        }
        *rest = &rest[1..];
        if !(1..=64).contains(&children.len()) {
            return None;
        }
        TreeNode::Inner { turn: side?, children }
    } else {
        TreeNode::Leaf(side)
    };
    nodes.push(node);
    Some((nodes.len() - 1, open))
}

impl Rules for TestTree {
    fn game_spec(&self) -> GameSpec {
        GameSpec {
            sides: self.tree.sides,
            two_boards: false,
            files: 8,
            ranks: 8,
            roles: Vec::new(),
            promotions: Vec::new(),
            drops: Vec::new(),
            places: true,
            walls: false,
            barriers: false,
            wall_moves: false,
            castling: false,
            en_passant: false,
            must_capture: false,
            checks: None,
            promoted: false,
            mirrored: false,
            symmetry: Symmetry::default(),
            rule_names: Vec::new(),
        }
    }

    fn turn(&self) -> Side {
        self.turn
    }

    fn mid_turn(&self) -> bool {
        self.mid_turn
    }

    fn count_turns(&self, _: &mut MoveList) -> Option<u64> {
        None
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        out.extend((0..self.children().len()).map(|at| Move::Place(Square::new(at as u32))));
    }

    fn play_unchecked(&mut self, m: Move) {
        let Move::Place(at) = m else { return };
        let (open, node) = self.children()[usize::from(at)];
        self.node = node;
        self.mid_turn = open;
        if let TreeNode::Inner { turn, .. } = self.tree.nodes[node] {
            self.turn = turn;
        }
    }

    fn outcome(&self, _legal: &[Move]) -> Option<Outcome> {
        match self.tree.nodes[self.node] {
            TreeNode::Leaf(winner) => Some(Outcome { winner, reason: Reason::Variant }),
            TreeNode::Inner { .. } => None,
        }
    }

    fn claimable_outcome(&self) -> Option<Outcome> {
        None
    }

    fn reversible(&self) -> u32 {
        0
    }

    fn key(&self) -> Key {
        Key(self.node as u64)
    }

    fn view(&self) -> View<'_> {
        let board = BoardView::new(Color::White, &self.tree.board);
        View::of_board(self.turn, self.mid_turn(), board)
    }

    fn fen(&self) -> String {
        format!("node {}", self.node)
    }
}

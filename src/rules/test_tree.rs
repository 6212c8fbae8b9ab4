//! Game trees written as strings, for tests of search.
//!
//! A node is either the winner's letter (`a`, `b`, ..; `=` is a draw), or the letter of the side
//! that moves followed by its children in brackets: `a(b(=a)b)` is White to choose between a
//! node of Black's, who may draw or lose, and a loss. A `+` before a child says that the move to
//! it does not end the turn: `a(+a(b=))`.

use std::sync::Arc;

use shakmaty::{Bitboard, Board, Color, Square};

use super::{
    GameSpec, Key, Move, MoveList, Outcome, PerSide, Reason, Rules, Seat, Side, Symmetry, View,
};

#[derive(Debug)]
enum Node {
    End(Option<Side>),
    Choice { turn: Side, children: Vec<(bool, usize)> },
}

#[derive(Debug)]
struct Game {
    sides: usize,
    nodes: Vec<Node>,
    board: Board,
}

/// A place in a game tree.
#[derive(Clone, Debug)]
pub(super) struct TestTree {
    game: Arc<Game>,
    node: usize,
    turn: Side,
    mid_turn: bool,
}

impl TestTree {
    /// Reads a tree; an error says where it cannot be read.
    pub(super) fn parse(text: &str, sides: usize) -> Result<TestTree, String> {
        let mut nodes = Vec::new();
        let mut rest = text.as_bytes();
        let (root, _) = read(&mut rest, &mut nodes, sides)
            .filter(|_| rest.is_empty())
            .ok_or_else(|| format!("bad game tree \"{text}\" {} before its end", rest.len()))?;
        let turn = match nodes[root] {
            Node::Choice { turn, .. } => turn,
            Node::End(_) => Side::WHITE,
        };
        let game = Arc::new(Game { sides, nodes, board: Board::empty() });
        Ok(TestTree { game, node: root, turn, mid_turn: false })
    }

    fn children(&self) -> &[(bool, usize)] {
        match &self.game.nodes[self.node] {
            Node::Choice { children, .. } => children,
            Node::End(_) => &[],
        }
    }
}

/// Reads one node off the front; gives its number and whether the move to it leaves the turn open.
fn read(rest: &mut &[u8], nodes: &mut Vec<Node>, sides: usize) -> Option<(usize, bool)> {
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
            Some((index < sides).then(|| Side::new(index))?)
        }
    };
    let node = if rest.first() == Some(&b'(') {
        *rest = &rest[1..];
        let mut children = Vec::new();
        while rest.first() != Some(&b')') {
            let (child, open) = read(rest, nodes, sides)?;
            children.push((open, child));
        }
        *rest = &rest[1..];
        (1..=64).contains(&children.len()).then_some(())?;
        Node::Choice { turn: side?, children }
    } else {
        Node::End(side)
    };
    nodes.push(node);
    Some((nodes.len() - 1, open))
}

impl Rules for TestTree {
    fn game_spec(&self) -> GameSpec {
        GameSpec {
            sides: self.game.sides,
            tables: false,
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
            checks: None,
            promoted: false,
            mirrored: false,
            symmetry: Symmetry::default(),
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
        if let Node::Choice { turn, .. } = self.game.nodes[node] {
            self.turn = turn;
        }
    }

    fn outcome(&self, _legal: &[Move]) -> Option<Outcome> {
        match self.game.nodes[self.node] {
            Node::End(winner) => Some(Outcome { winner, reason: Reason::Variant }),
            Node::Choice { .. } => None,
        }
    }

    fn claim(&self) -> Option<Outcome> {
        None
    }

    fn reversible(&self) -> u32 {
        0
    }

    fn key(&self) -> Key {
        Key(self.node as u64)
    }

    fn view(&self) -> View<'_> {
        View {
            turn: Color::White,
            mover: self.turn,
            cells: PerSide::all(Bitboard::EMPTY),
            board: &self.game.board,
            promoted: Bitboard::EMPTY,
            hands: None,
            castling: Bitboard::EMPTY,
            en_passant: None,
            walls: Bitboard::EMPTY,
            mid_turn: self.mid_turn(),
            checks: None,
            halfmoves: 0,
            repeated: false,
            seat: Seat::default(),
            second: None,
        }
    }

    fn fen(&self) -> String {
        format!("node {}", self.node)
    }
}

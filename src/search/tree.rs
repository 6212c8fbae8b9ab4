//! The tree as a whole: its arenas, its root, and what is kept of it after a move.

use super::bounds::Bounds;
use super::node::{Edge, Node, NodeId, Prior, State};
use super::params::Params;
use crate::rules::{Move, MoveList, Position, Side};

/// A search tree over the moves from one position.
///
/// Its memory is bounded by the `limit` it was made with; once full, it grows no more.
#[derive(Debug)]
pub struct Tree {
    pub(super) params: Params,
    pub(super) sides: usize,
    pub(super) root: Position,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// Most nodes, and most edges.
    pub(super) limit: (usize, usize),
    /// The moves that the root may choose from; empty if all of them.
    pub(super) allowed: MoveList,
    /// The deepest path in whole turns.
    pub(super) deepest: usize,
}

impl Tree {
    /// A tree with nothing but its root, of at most about `bytes`.
    pub fn new(root: Position, params: Params, bytes: usize) -> Tree {
        // Room for some 32 edges to each node that has been expanded; half of the nodes are.
        let nodes = (bytes / (size_of::<Node>() + 16 * size_of::<Edge>())).max(256);
        let limit = (nodes, nodes * 16);
        let mut tree = Tree {
            params,
            sides: root.anatomy().sides,
            root,
            nodes: Vec::new(),
            edges: Vec::new(),
            limit,
            allowed: MoveList::new(),
            deepest: 0,
        };
        tree.reset(None);
        tree
    }

    /// Starts over from `position`.
    pub fn restart(&mut self, position: Position) {
        self.sides = position.anatomy().sides;
        self.reset(Some(position));
    }

    fn reset(&mut self, position: Option<Position>) {
        if let Some(position) = position {
            self.root = position;
        }
        self.root.begin_search();
        self.nodes.clear();
        self.edges.clear();
        self.allowed.clear();
        self.deepest = 0;
        let nowhere = Edge { m: Default::default(), prior: Prior::new(1.0) };
        self.nodes.push(Node::new(nowhere, self.sides));
    }

    /// The position at the root.
    pub fn root(&self) -> &Position {
        &self.root
    }

    /// Its parameters, which may be changed at any time.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// How often the search went through the root, those visits included that were kept from an
    /// earlier one.
    pub fn visits(&self) -> u32 {
        self.nodes[0].visits
    }

    /// How many nodes it holds.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing has been searched.
    pub fn is_empty(&self) -> bool {
        self.nodes[0].visits == 0
    }

    /// How full it is, in thousandths.
    pub fn permille(&self) -> usize {
        let part = |used: usize, limit: usize| 1000 * used / limit.max(1);
        part(self.nodes.len(), self.limit.0).max(part(self.edges.len(), self.limit.1)).min(1000)
    }

    /// The deepest path so far, in whole turns.
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    /// Lets the root choose only from `moves`; from all if empty. Moves that are not legal are
    /// never chosen.
    pub fn restrict(&mut self, moves: &[Move]) {
        self.allowed = moves.to_vec();
    }

    /// Whether nothing is left to find out at the root: the end is proven, and if it is a win
    /// its length.
    pub fn settled(&self) -> bool {
        self.allowed.is_empty() && self.nodes[0].bounds.settled()
    }

    /// Plays `m` and keeps what is known of the position after it. What was drawn only because it
    /// repeated a position of this search is looked at anew.
    pub fn advance(&mut self, m: Move) {
        let mut position = self.root.clone();
        position.play_unchecked(m);
        let child = self.children_of(NodeId::ROOT).find(|&id| self.node(id).edge.m == m.pack());
        match child.filter(|&id| self.node(id).state == State::Expanded) {
            Some(child) => self.keep(child, position),
            None => self.reset(Some(position)),
        }
    }

    /// Copies the part below `top`, breadth first, so that children come after their parents.
    fn keep(&mut self, top: NodeId, position: Position) {
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes[top.0 as usize].visits as usize);
        let mut edges = Vec::new();
        nodes.push(Node { next_sibling: NodeId::NONE, ..self.node(top).clone() });
        let mut done = 0;
        while done < nodes.len() {
            let node = &nodes[done];
            let old = node.first_edge as usize..node.first_edge as usize + usize::from(node.edges);
            let mut child = node.first_child;
            let (first_edge, first_child) = (edges.len() as u32, nodes.len() as u32);
            edges.extend_from_slice(&self.edges[old]);
            let mut newest = NodeId::NONE;
            while let Some(id) = child.get() {
                let copy = self.node(id).clone();
                child = copy.next_sibling;
                let next = if child == NodeId::NONE {
                    NodeId::NONE
                } else {
                    NodeId(nodes.len() as u32 + 1)
                };
                newest = NodeId(first_child);
                nodes.push(match copy.state {
                    State::Repeated => {
                        Node { next_sibling: next, ..Node::new(copy.edge, self.sides) }
                    }
                    _ => Node { next_sibling: next, ..copy },
                });
            }
            nodes[done].first_edge = first_edge;
            nodes[done].first_child = newest;
            done += 1;
        }
        self.nodes = nodes;
        self.edges = edges;
        self.root = position;
        self.root.begin_search();
        self.allowed.clear();
        self.deepest = 0;
        // Proofs that leant on a repetition fall with it.
        for index in (0..self.nodes.len()).rev() {
            if self.nodes[index].state == State::Expanded {
                self.nodes[index].bounds = self.bounds_of(NodeId(index as u32));
            }
        }
        self.open_root();
    }

    /// Gives every move of the root a node, so that any of them can be chosen.
    pub(super) fn open_root(&mut self) {
        while self.nodes[0].children < self.nodes[0].edges {
            self.add_child(NodeId::ROOT);
        }
    }

    /// Makes the node of the next edge that has none.
    pub(super) fn add_child(&mut self, parent: NodeId) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let node = &mut self.nodes[parent.0 as usize];
        let edge = self.edges[node.first_edge as usize + usize::from(node.children)];
        let next_sibling = node.first_child;
        node.children += 1;
        node.first_child = id;
        self.nodes.push(Node { next_sibling, ..Node::new(edge, self.sides) });
        id
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(super) fn children_of(&self, id: NodeId) -> impl Iterator<Item = NodeId> + Clone + '_ {
        std::iter::successors(self.node(id).first_child.get(), |&child| {
            self.node(child).next_sibling.get()
        })
    }

    /// The bounds of an expanded node as its children have them.
    pub(super) fn bounds_of(&self, id: NodeId) -> Bounds {
        let node = self.node(id);
        let children = self.children_of(id).map(|child| self.node(child));
        let children = children.map(|child| (child.bounds, child.turns()));
        Bounds::of_parent(self.sides, node.turn, children, node.children < node.edges)
    }

    /// The moves of the root with their priors, in the order of [`super::Choice`]s before any
    /// search: the likeliest first.
    pub fn root_priors(&self) -> Vec<(Move, f32)> {
        let edges = self.edges[self.nodes[0].first_edge as usize..].iter();
        let edges = edges.take(usize::from(self.nodes[0].edges));
        edges.filter_map(|edge| Some((edge.m.unpack()?, edge.prior.get()))).collect()
    }

    /// Replaces the priors of the root's moves, as noise does in self-play: `prior` gets each
    /// move and its prior, in the order of [`Tree::root_priors`].
    pub fn set_root_priors(&mut self, mut prior: impl FnMut(Move, f32) -> f32) {
        let children: Vec<_> = self.children_of(NodeId::ROOT).collect();
        for id in children.into_iter().rev() {
            let edge = self.node(id).edge;
            if let Some(m) = edge.m.unpack() {
                self.node_mut(id).edge.prior = Prior::new(prior(m, edge.prior.get()));
            }
        }
    }

    /// The side to move at the root.
    pub(super) fn mover(&self) -> Side {
        self.root.turn()
    }
}

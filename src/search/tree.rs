//! The search tree: its root, reuse after a move, and reclamation of memory.

use std::cmp::Reverse;

use super::node::{Edge, Node, NodeId, Prior, Slot, State};
use super::node_pool::NodePool;
use super::params::{GumbelParams, Params};
use super::proof_bounds::ProofBounds;
use crate::rules::{Move, MoveList, Position, Side};

/// A search tree over the moves from one position.
///
/// Its memory is limited. When it is full, the least visited parts are dropped: see [`Tree::reclaim`].
#[derive(Debug)]
pub struct Tree {
    pub(super) params: Params,
    pub(super) sides: usize,
    pub(super) position: Position,
    pub(super) node_pool: NodePool,
    pub(super) root: NodeId,
    /// The moves that the root may choose from. Empty if all are allowed.
    pub(super) allowed: MoveList,
    /// The length of the longest path, in whole turns.
    pub(super) deepest: usize,
    /// The number of this search. Repetitions are valid in one search only.
    pub(super) search_number: u32,
    /// Whether the proven values of the root moves have been probed.
    pub(super) root_moves_probed: bool,
    /// Whether the bounds hold the shortest length of wins. Only needed once the root is decided.
    pub(super) tracks_lengths: bool,
    /// The sequential halving of the root's visits. Without it, PUCT selects root moves.
    pub(super) root_halving: Option<RootHalving>,
    /// A buffer for the softmax over the moves of a node.
    pub(super) weights: Vec<f32>,
    /// A buffer for sorting the moves of a node.
    pub(super) sort_keys: Vec<u64>,
}

/// The state of sequential halving at the root. `gumbel.rs` has its rules.
#[derive(Clone, Debug)]
pub(super) struct RootHalving {
    pub(super) params: GumbelParams,
    /// The root moves that share the visits evenly, sorted by score when the phase began.
    pub(super) considered: Vec<NodeId>,
    /// The number of moves of the first phase. 0 before the root is evaluated.
    pub(super) initially_considered: usize,
}

/// The number of visits of the tree for each leaf that may be in flight. docs/history/search.md has
/// measurements.
const VISITS_PER_LEAF: u32 = 128;
/// The greatest number of leaves in flight. Nodes count visits in flight, collisions included, in 16 bits.
const MAX_LEAVES_IN_FLIGHT: u32 = 1 << 14;

/// The size of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The memory of its nodes and their moves, in bytes.
    pub bytes: usize,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of nodes that have been evaluated and have moves.
    pub expanded: usize,
    /// The number of moves of these nodes.
    pub moves: usize,
}

/// A position below the root that the search visited often.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedPosition {
    /// The moves that lead to it from the root.
    pub moves: Vec<Move>,
    /// The expected score of its side to move, -1 to 1.
    pub score: f32,
}

impl Tree {
    /// Returns a tree that has only its root, and at most `bytes` bytes of memory.
    pub fn new(root: Position, params: Params, bytes: usize) -> Tree {
        let mut tree = Tree {
            params,
            sides: root.game_spec().sides,
            position: root,
            // At least enough for a root and its moves.
            node_pool: NodePool::new(bytes.max(1 << 16)),
            root: NodeId::NONE,
            allowed: MoveList::new(),
            deepest: 0,
            search_number: 0,
            root_moves_probed: false,
            tracks_lengths: false,
            root_halving: None,
            weights: Vec::new(),
            sort_keys: Vec::new(),
        };
        tree.reset();
        tree
    }

    /// Clears the tree, and makes `position` its root.
    pub fn restart(&mut self, position: Position) {
        self.sides = position.game_spec().sides;
        self.position = position;
        self.reset();
    }

    fn reset(&mut self) {
        self.node_pool.clear();
        let no_move = Edge { m: Default::default(), prior: Prior::new(1.0) };
        // `Tree::new` makes the pool large enough.
        self.root = self.node_pool.add(Node::new(no_move, self.sides)).unwrap_or(NodeId(0));
        self.begin_search();
    }

    /// Resets what is valid in one search only.
    fn begin_search(&mut self) {
        self.position.begin_search();
        self.allowed.clear();
        self.deepest = 0;
        self.search_number = self.search_number.wrapping_add(1);
        self.root_moves_probed = false;
        self.tracks_lengths = false;
        self.root_halving = None;
    }

    /// Returns the position at the root.
    pub fn root(&self) -> &Position {
        &self.position
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the parameters, which may be changed at any time.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// Returns the number of visits of the root, those kept from an earlier search included.
    pub fn visits(&self) -> u32 {
        self.root_node().visits
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.node_pool.len()
    }

    /// Returns the size of the tree.
    pub fn memory(&self) -> Memory {
        let expanded = self.node_pool.nodes().iter().filter(|node| node.state() == State::Expanded);
        Memory {
            bytes: self.node_pool.used_bytes(),
            nodes: self.node_pool.len(),
            expanded: expanded.clone().count(),
            moves: expanded.map(|node| usize::from(node.edges)).sum(),
        }
    }

    /// Returns the number of leaves that may be in flight at a time. It is 1 in a young tree, in which each
    /// evaluation changes where the next descent leads.
    pub fn breadth(&self) -> u32 {
        (1 + self.visits() / VISITS_PER_LEAF).min(MAX_LEAVES_IN_FLIGHT)
    }

    /// Returns `true` if the root has no visits.
    pub fn is_empty(&self) -> bool {
        self.visits() == 0
    }

    /// Returns the part of the memory limit in use, in thousandths.
    pub fn permille(&self) -> usize {
        (1000 * self.node_pool.used_bytes() / self.node_pool.limit_bytes()).min(1000)
    }

    /// Returns the length of the longest path so far, in whole turns.
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    /// Restricts the root to `moves`, or to none in particular if empty. Illegal moves are never chosen.
    pub fn restrict(&mut self, moves: &[Move]) {
        self.allowed = moves.to_vec();
    }

    /// Returns `true` if the root is solved: its outcome is proven and, if it is a win, its exact length.
    pub fn is_proven(&self) -> bool {
        self.allowed.is_empty() && self.root_node().bounds.is_solved()
    }

    /// Plays `m`, and keeps the subtree of the position after it.
    pub fn advance(&mut self, m: Move) {
        self.position.play_unchecked(m);
        let child = self.child_by(m).filter(|&id| self.node(id).state() == State::Expanded);
        let Some(child) = child else { return self.reset() };
        let others: Vec<_> = self.children_of(self.root).filter(|&id| id != child).collect();
        self.node_pool.node_mut(self.root).children = 0;
        self.node_pool.drop_subtree(self.root);
        for id in others {
            self.node_pool.drop_subtree(id);
        }
        self.root = child;
        self.begin_search();
        self.open_root();
    }

    /// Adds a node for every move of the root, so that each can be chosen.
    pub(super) fn open_root(&mut self) {
        while self.root_node().children < self.root_node().edges {
            if self.add_child(self.root).is_none() && !self.reclaim() {
                return;
            }
        }
        self.node_pool.node_mut(self.root).candidates = 0;
    }

    /// Drops the subtrees of the least visited nodes, about half of the memory in use. The values of these
    /// nodes stay, and so do paths with visits in flight. Returns `true` if that freed memory.
    pub fn reclaim(&mut self) -> bool {
        self.node_pool.free_dropped();
        let before = self.node_pool.used_bytes();
        // The memory of the moves and children of all nodes, by the binary logarithm of their visits.
        let mut bytes = [0; 33];
        for node in self.node_pool.nodes() {
            if is_reclaimable(node) {
                bytes[bit_length(node.visits)] += size_of::<Slot>() * usize::from(node.edges)
                    + size_of::<Node>() * usize::from(node.children);
            }
        }
        let mut quota = ReclaimQuota::new(bytes);
        for id in (0..self.node_pool.nodes().len() as u32).map(NodeId) {
            if id == self.root {
                continue;
            }
            let node = self.node_pool.node_mut(id);
            if is_reclaimable(node) && quota.admits(node.visits) {
                node.set_state(State::Fresh);
                self.node_pool.remove_moves(id);
            }
        }
        self.node_pool.free_dropped();
        self.node_pool.compact();
        self.node_pool.used_bytes() < before
    }

    /// Adds the node of the first move that has none. Returns `None` if there is no room.
    pub(super) fn add_child(&mut self, parent: NodeId) -> Option<NodeId> {
        let node = self.node_pool.node(parent);
        let nth = usize::from(node.children);
        let candidates = node.candidates;
        let edge = self.node_pool.slots(node)[nth].edge();
        let id = self.node_pool.add(Node::new(edge, self.sides))?;
        let slots = self.node_pool.slots_mut(parent);
        slots[nth] = id.into();
        // Candidates come first, and the newest child becomes one if they are known.
        if candidates > 0 {
            slots.swap(nth, usize::from(candidates));
        }
        let node = self.node_pool.node_mut(parent);
        node.children += 1;
        node.add_candidate();
        Some(id)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.node_pool.node(id)
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.node_pool.node_mut(id)
    }

    pub(super) fn root_node(&self) -> &Node {
        self.node_pool.node(self.root)
    }

    pub(super) fn children_of(
        &self,
        id: NodeId,
    ) -> impl DoubleEndedIterator<Item = NodeId> + Clone + '_ {
        self.node_pool.children(self.node_pool.node(id))
    }

    /// Returns the root's child after `m`.
    pub(super) fn child_by(&self, m: Move) -> Option<NodeId> {
        let m = m.pack();
        self.children_of(self.root).find(|&id| self.node(id).edge.m == m)
    }

    /// Returns the bounds of an expanded node by those of its children.
    pub(super) fn bounds_from_children(&self, id: NodeId) -> ProofBounds {
        let node = self.node(id);
        let children = self.children_of(id).map(|child| self.node(child));
        let children = children.map(|child| match child.state() {
            State::Repeated if child.first_slot == self.search_number => {
                (child.bounds.repeated(), child.turns())
            }
            _ => (child.bounds, child.turns()),
        });
        ProofBounds::of_parent(self.sides, node.turn(), children, node.has_unvisited_options())
    }

    /// Returns the root moves with their priors, by descending prior. [`Tree::set_root_priors`] changes them.
    pub fn root_priors(&self) -> Vec<(Move, f32)> {
        let mut edges: Vec<_> = self.children_of(self.root).map(|id| self.node(id).edge).collect();
        edges.sort_by_key(|edge| (Reverse(edge.prior), edge.m.0));
        edges.into_iter().filter_map(|edge| Some((edge.m.unpack()?, edge.prior.get()))).collect()
    }

    /// Replaces the priors of the root moves, as exploration noise does. `prior` maps each move and its
    /// prior, in the order of [`Tree::root_priors`].
    pub fn set_root_priors(&mut self, mut prior: impl FnMut(Move, f32) -> f32) {
        for (m, before) in self.root_priors() {
            if let Some(child) = self.child_by(m) {
                self.node_mut(child).edge.prior = Prior::new(prior(m, before));
            }
        }
        self.node_mut(self.root).candidates = 0;
    }

    /// Returns the positions below the root that have moves and at least `least_visits` visits. Repetitions are none
    /// of them, as their value is that of the path.
    pub fn searched_positions(&self, least_visits: u32) -> Vec<SearchedPosition> {
        let mut found = Vec::new();
        let mut open: Vec<(NodeId, Vec<Move>)> = vec![(self.root, Vec::new())];
        while let Some((parent, path)) = open.pop() {
            for id in self.children_of(parent) {
                let node = self.node(id);
                let Some(m) = node.edge.m.unpack() else { continue };
                if node.state() != State::Expanded || node.visits < least_visits {
                    continue;
                }
                let moves: Vec<Move> = path.iter().copied().chain([m]).collect();
                found.push(SearchedPosition {
                    moves: moves.clone(),
                    score: node.score(node.turn()),
                });
                open.push((id, moves));
            }
        }
        found
    }

    /// Returns the value of a draw for `side`.
    pub(super) fn draw_value(&self, side: Side) -> f32 {
        if side == self.mover() { self.params.draw_score } else { -self.params.draw_score }
    }

    /// Returns the side to move at the root.
    pub(super) fn mover(&self) -> Side {
        self.position.turn()
    }
}

/// Returns `true` if the moves of a node can be dropped.
fn is_reclaimable(node: &Node) -> bool {
    node.state() == State::Expanded && node.in_flight == 0
}

/// Selects the nodes that lose their moves: all whose visits have fewer bits than `bits`, and a share of
/// those with as many.
#[derive(Debug)]
struct ReclaimQuota {
    bits: usize,
    /// The share of the nodes with `bits` bits, in thousandths.
    permille: usize,
    /// The number of nodes with `bits` bits so far.
    seen: usize,
}

impl ReclaimQuota {
    /// Returns the quota for half of the memory, given the bytes by the number of bits of the visits.
    fn new(bytes: [usize; 33]) -> ReclaimQuota {
        let wanted = bytes.iter().sum::<usize>() / 2;
        let mut below = 0;
        for (bits, &at) in bytes.iter().enumerate() {
            if below + at >= wanted {
                let permille = (1000 * (wanted - below)).div_ceil(at.max(1));
                return ReclaimQuota { bits, permille, seen: 0 };
            }
            below += at;
        }
        ReclaimQuota { bits: bytes.len(), permille: 0, seen: 0 }
    }

    fn admits(&mut self, visits: u32) -> bool {
        let bits = bit_length(visits);
        if bits != self.bits {
            return bits < self.bits;
        }
        self.seen += 1;
        // The selected nodes are spread evenly over all with `bits` bits.
        self.seen * self.permille / 1000 > (self.seen - 1) * self.permille / 1000
    }
}

/// Returns the number of bits of a number: 0 for 0, 1 for 1, 2 for 2 and 3.
fn bit_length(visits: u32) -> usize {
    (u32::BITS - visits.leading_zeros()) as usize
}

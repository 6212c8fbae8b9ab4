//! The tree as a whole: its root, and what is kept of it after a move or when memory is short.

use std::cmp::Reverse;

use super::node::{Edge, Node, NodeId, Prior, State};
use super::node_pool::NodePool;
use super::params::Params;
use super::plan::Plan;
use super::proof_bounds::ProofBounds;
use crate::rules::{Move, MoveList, Position, Side};

/// A search tree over the moves from one position.
///
/// Its memory is bounded by the `limit` it was made with; once that is taken, the part of it that
/// is least searched gives way: see [`Tree::reclaim`].
#[derive(Debug)]
pub struct Tree {
    pub(super) params: Params,
    pub(super) sides: usize,
    pub(super) position: Position,
    pub(super) node_pool: NodePool,
    pub(super) root: NodeId,
    /// The moves that the root may choose from; empty if all of them.
    pub(super) allowed: MoveList,
    /// The deepest path in whole turns.
    pub(super) deepest: usize,
    /// The number of this search: what repeats a position does so within one.
    pub(super) era: u32,
    /// Whether the root's moves have been looked up among positions that are known.
    pub(super) looked_up: bool,
    /// Whether the bounds below the root tell how soon a win may be, as they are needed once the
    /// root is decided.
    pub(super) lengths: bool,
    /// How the root's visits are spread, if not by PUCT.
    pub(super) plan: Option<Plan>,
    /// A buffer for the weights of moves.
    pub(super) weights: Vec<f32>,
    /// A buffer for the moves of a node, to sort them.
    pub(super) order: Vec<u64>,
}

/// The visits for each leaf that waits for its evaluation; docs/search.md says what it is worth.
const VISITS_A_LEAF: u32 = 128;
/// Nodes count visits on their way in 16 bits; collisions count as well, for a while.
const MOST_WAITING: u32 = 1 << 14;

/// What a tree takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The memory of its nodes and their moves, in bytes.
    pub bytes: usize,
    /// Its nodes.
    pub nodes: usize,
    /// How many of them have been evaluated and have moves.
    pub expanded: usize,
    /// Those moves.
    pub moves: usize,
}

impl Tree {
    /// A tree with nothing but its root, of at most so many `bytes`.
    pub fn new(root: Position, params: Params, bytes: usize) -> Tree {
        let mut tree = Tree {
            params,
            sides: root.game_spec().sides,
            position: root,
            // Room for a root and its moves, whatever happens.
            node_pool: NodePool::new(bytes.max(1 << 16)),
            root: NodeId::NONE,
            allowed: MoveList::new(),
            deepest: 0,
            era: 0,
            looked_up: false,
            lengths: false,
            plan: None,
            weights: Vec::new(),
            order: Vec::new(),
        };
        tree.reset();
        tree
    }

    /// Starts over from `position`.
    pub fn restart(&mut self, position: Position) {
        self.sides = position.game_spec().sides;
        self.position = position;
        self.reset();
    }

    fn reset(&mut self) {
        self.node_pool.clear();
        let nowhere = Edge { m: Default::default(), prior: Prior::new(1.0) };
        // The node_pool has room for many more.
        self.root = self.node_pool.add(Node::new(nowhere, self.sides)).unwrap_or(NodeId(0));
        self.begin();
    }

    /// Forgets what is true of one search only.
    fn begin(&mut self) {
        self.position.begin_search();
        self.allowed.clear();
        self.deepest = 0;
        self.era = self.era.wrapping_add(1);
        (self.looked_up, self.lengths) = (false, false);
        self.plan = None;
    }

    /// The position at the root.
    pub fn root(&self) -> &Position {
        &self.position
    }

    /// Its parameters, which may be changed at any time.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// How often the search went through the root, those visits included that were kept from an
    /// earlier one.
    pub fn visits(&self) -> u32 {
        self.root_node().visits
    }

    /// How many nodes it holds.
    pub fn len(&self) -> usize {
        self.node_pool.len()
    }

    /// What it takes.
    pub fn memory(&self) -> Memory {
        let expanded = self.node_pool.all().iter().filter(|node| node.state() == State::Expanded);
        Memory {
            bytes: self.node_pool.used(),
            nodes: self.node_pool.len(),
            expanded: expanded.clone().count(),
            moves: expanded.map(|node| usize::from(node.edges)).sum(),
        }
    }

    /// How many leaves may wait for their evaluation at a time: a young tree is searched one by
    /// one, since what is not known yet could have sent the next descent elsewhere.
    pub fn breadth(&self) -> u32 {
        (1 + self.visits() / VISITS_A_LEAF).min(MOST_WAITING)
    }

    /// Whether nothing has been searched.
    pub fn is_empty(&self) -> bool {
        self.visits() == 0
    }

    /// How full it is, in thousandths.
    pub fn permille(&self) -> usize {
        (1000 * self.node_pool.used() / self.node_pool.limit()).min(1000)
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
        self.allowed.is_empty() && self.root_node().bounds.settled()
    }

    /// Plays `m` and keeps what is known of the position after it.
    pub fn advance(&mut self, m: Move) {
        self.position.play_unchecked(m);
        let child = self.child_by(m).filter(|&id| self.node(id).state() == State::Expanded);
        let Some(child) = child else { return self.reset() };
        let others: Vec<_> = self.children_of(self.root).filter(|&id| id != child).collect();
        self.node_pool.node_mut(self.root).children = 0;
        self.node_pool.drop_below(self.root);
        others.into_iter().for_each(|id| self.node_pool.drop_below(id));
        self.root = child;
        self.begin();
        self.open_root();
    }

    /// Gives every move of the root a node, so that any of them can be chosen.
    pub(super) fn open_root(&mut self) {
        while self.root_node().children < self.root_node().edges {
            if self.add_child(self.root).is_none() && !self.reclaim() {
                return;
            }
        }
        self.node_pool.node_mut(self.root).candidates = 0;
    }

    /// Gives up the moves and all that follows of the positions that were searched least, about
    /// half of the memory in use; their own values stay. Says whether that gave any. What waits for
    /// an evaluation stays.
    pub fn reclaim(&mut self) -> bool {
        self.node_pool.sweep();
        let before = self.node_pool.used();
        let may_go = |node: &Node| node.state() == State::Expanded && node.in_flight == 0;
        // What goes with the moves of all positions of so many visits, by the power of two.
        let mut weights = [0; 33];
        for node in self.node_pool.all().iter().filter(|node| may_go(node)) {
            weights[power(node.visits)] +=
                4 * usize::from(node.edges) + size_of::<Node>() * usize::from(node.children);
        }
        let mut quota = Quota::new(weights);
        let ids = (0..self.node_pool.all().len() as u32).map(NodeId);
        for id in ids.filter(|&id| id != self.root) {
            let node = self.node_pool.node_mut(id);
            if may_go(node) && quota.admits(node.visits) {
                node.set_state(State::Fresh);
                self.node_pool.strip(id);
            }
        }
        self.node_pool.sweep();
        self.node_pool.compact();
        self.node_pool.used() < before
    }

    /// Makes the node of the next move that has none; `None` if there is no room.
    pub(super) fn add_child(&mut self, parent: NodeId) -> Option<NodeId> {
        let node = self.node_pool.node(parent);
        let (nth, candidates) = (usize::from(node.children), node.candidates);
        let edge = self.node_pool.slots(node)[nth].edge();
        let id = self.node_pool.add(Node::new(edge, self.sides))?;
        let slots = self.node_pool.slots_mut(parent);
        slots[nth] = id.into();
        // Candidates stand first, and the newest child is one where they are known.
        if candidates > 0 {
            slots.swap(nth, usize::from(candidates));
        }
        let node = self.node_pool.node_mut(parent);
        node.children += 1;
        node.admit();
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

    /// The root's child that `m` leads to.
    pub(super) fn child_by(&self, m: Move) -> Option<NodeId> {
        let m = m.pack();
        self.children_of(self.root).find(|&id| self.node(id).edge.m == m)
    }

    /// The bounds of an expanded node as its children have them.
    pub(super) fn bounds_of(&self, id: NodeId) -> ProofBounds {
        let node = self.node(id);
        let children = self.children_of(id).map(|child| self.node(child));
        let children = children.map(|child| match child.state() {
            State::Repeated if child.first_slot == self.era => {
                (child.bounds.repeated(), child.turns())
            }
            _ => (child.bounds, child.turns()),
        });
        ProofBounds::of_parent(self.sides, node.turn(), children, node.has_more())
    }

    /// The moves of the root with their priors, as [`Tree::set_root_priors`] left them, the
    /// likeliest first.
    pub fn root_priors(&self) -> Vec<(Move, f32)> {
        let mut edges: Vec<_> = self.children_of(self.root).map(|id| self.node(id).edge).collect();
        edges.sort_by_key(|edge| (Reverse(edge.prior), edge.m.0));
        edges.into_iter().filter_map(|edge| Some((edge.m.unpack()?, edge.prior.get()))).collect()
    }

    /// Replaces the priors of the root's moves, as noise does in self-play: `prior` gets each
    /// move and its prior, in the order of [`Tree::root_priors`].
    pub fn set_root_priors(&mut self, mut prior: impl FnMut(Move, f32) -> f32) {
        for (m, before) in self.root_priors() {
            if let Some(child) = self.child_by(m) {
                self.node_mut(child).edge.prior = Prior::new(prior(m, before));
            }
        }
        self.node_mut(self.root).candidates = 0;
    }

    /// What a draw is worth to `side`.
    pub(super) fn draw_value(&self, side: Side) -> f32 {
        if side == self.mover() { self.params.draw_score } else { -self.params.draw_score }
    }

    /// The side to move at the root.
    pub(super) fn mover(&self) -> Side {
        self.position.turn()
    }
}

/// Which positions give up their moves: all with visits below a power of two, and of those that
/// reach it so many in a thousand.
#[derive(Debug)]
struct Quota {
    power: usize,
    permille: usize,
    /// How many have reached it so far.
    met: usize,
}

impl Quota {
    /// Half of all that there is, given what is at each power.
    fn new(weights: [usize; 33]) -> Quota {
        let wanted = weights.iter().sum::<usize>() / 2;
        let mut below = 0;
        for (power, &weight) in weights.iter().enumerate() {
            if below + weight >= wanted {
                let permille = (1000 * (wanted - below)).div_ceil(weight.max(1));
                return Quota { power, permille, met: 0 };
            }
            below += weight;
        }
        Quota { power: weights.len(), permille: 0, met: 0 }
    }

    fn admits(&mut self, visits: u32) -> bool {
        let power = power(visits);
        self.met += usize::from(power == self.power);
        // Spread evenly over all that reach the power.
        let chosen = self.met * self.permille / 1000 > (self.met.max(1) - 1) * self.permille / 1000;
        power < self.power || power == self.power && chosen
    }
}

/// The power of two that `visits` reaches: 0 for none, 1 for one, 2 for two and three.
fn power(visits: u32) -> usize {
    (u32::BITS - visits.leading_zeros()) as usize
}

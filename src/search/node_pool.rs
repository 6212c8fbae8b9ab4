//! The memory of a tree: two arenas under one limit, in which nothing moves but blocks of slots.
//!
//! A node keeps its number for as long as it lives, so that paths stay valid while memory is
//! reclaimed. What is dropped is taken apart piece by piece, when its memory is needed.

use super::huge_pages::{fetch, give_back, prefer_large};
use super::node::{Node, NodeId, Slot, State};

/// Nodes and the slots of their moves.
#[derive(Debug)]
pub(super) struct NodePool {
    nodes: Vec<Node>,
    slots: Vec<Slot>,
    /// What both may take together, in bytes.
    limit: usize,
    /// The most nodes, and the most slots, that there have been: that memory has been taken from
    /// the system, whatever is in it now.
    most: (usize, usize),
    /// Nodes to use again, linked through [`Node::visits`].
    free: List,
    /// Nodes that were dropped with all that is below them, linked in the same way.
    dropped: List,
    /// Slots that nobody owns any more.
    garbage: usize,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: NodeId,
    len: usize,
}

/// Marks the first slot of a block that nobody owns; the other bits are its length.
const UNOWNED: u32 = 1 << 31;

impl NodePool {
    /// An empty node_pool of at most `limit` bytes, of which as much is taken as is used.
    pub(super) fn new(limit: usize) -> NodePool {
        let mut node_pool = NodePool {
            nodes: Vec::new(),
            slots: Vec::new(),
            // Slots are numbered in 32 bits.
            limit: limit.min((u32::MAX as usize).saturating_mul(size_of::<Slot>())),
            most: (0, 0),
            free: List::EMPTY,
            dropped: List::EMPTY,
            garbage: 0,
        };
        // All the room there may be is asked for at once: what grows later would have to be
        // copied, and take twice its memory meanwhile. Systems give memory when it is used.
        while node_pool.nodes.try_reserve_exact(node_pool.limit / size_of::<Node>()).is_err()
            || node_pool.slots.try_reserve_exact(node_pool.limit / size_of::<Slot>()).is_err()
        {
            node_pool.limit /= 2;
        }
        prefer_large(&mut node_pool.nodes);
        prefer_large(&mut node_pool.slots);
        node_pool
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.slots.clear();
        (self.free, self.dropped, self.garbage) = (List::EMPTY, List::EMPTY, 0);
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// The slots of a node's moves.
    pub(super) fn slots(&self, node: &Node) -> &[Slot] {
        // Without moves, the place of the first means nothing.
        let first = if node.edges > 0 { node.first_slot as usize } else { 0 };
        &self.slots[first..][..usize::from(node.edges)]
    }

    pub(super) fn slots_mut(&mut self, id: NodeId) -> &mut [Slot] {
        let node = &self.nodes[id.0 as usize];
        &mut self.slots[node.first_slot as usize..][..usize::from(node.edges)]
    }

    /// Asks for the moves of a node, which is about to be gone through.
    pub(super) fn fetch_slots(&self, node: &Node) {
        if let Some(first) = self.slots.get(node.first_slot as usize) {
            fetch(first);
        }
    }

    /// Asks for children, which are about to be looked at.
    pub(super) fn fetch_children(&self, slots: &[Slot]) {
        for slot in slots {
            if let Some(child) = self.nodes.get(slot.0 as usize) {
                fetch(child);
            }
        }
    }

    pub(super) fn children(&self, node: &Node) -> impl DoubleEndedIterator<Item = NodeId> + Clone {
        self.slots(node)[..usize::from(node.children)].iter().map(|slot| slot.child())
    }

    /// All nodes, those that are gone too, in the order of their numbers.
    pub(super) fn all(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes are in use; those not yet taken apart are counted.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len
    }

    /// The bytes in use, counted in the same way.
    pub(super) fn used(&self) -> usize {
        self.len() * size_of::<Node>() + (self.slots.len() - self.garbage) * size_of::<Slot>()
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether there may be so many nodes and slots.
    fn fits(&self, nodes: usize, slots: usize) -> bool {
        let (nodes, slots) = (nodes.max(self.most.0), slots.max(self.most.1));
        nodes * size_of::<Node>() + slots * size_of::<Slot>() <= self.limit
    }

    /// Keeps a node; `None` if there is no room.
    pub(super) fn add(&mut self, node: Node) -> Option<NodeId> {
        if self.free.head == NodeId::NONE {
            self.take_apart_one();
        }
        if let Some(id) = self.pop_free() {
            *self.node_mut(id) = node;
            return Some(id);
        }
        self.fits(self.nodes.len() + 1, 0).then(|| {
            self.nodes.push(node);
            self.most.0 = self.most.0.max(self.nodes.len());
            NodeId(self.nodes.len() as u32 - 1)
        })
    }

    /// Whether there is room for a node of so many moves; makes it if it can.
    pub(super) fn make_room(&mut self, moves: usize) -> bool {
        if self.fits(0, self.slots.len() + moves) {
            return true;
        }
        // Compaction looks at every block, so that it must be worth it.
        let enough = moves.max(self.slots.len() / 4);
        while self.garbage < enough && self.take_apart_one() {}
        if self.garbage >= moves.max(self.slots.len() / 16) {
            self.compact();
        }
        self.fits(0, self.slots.len() + moves)
    }

    /// Gives a node its moves, for which there must be room.
    pub(super) fn set_slots(&mut self, id: NodeId, slots: impl ExactSizeIterator<Item = Slot>) {
        let first = self.slots.len();
        let node = &mut self.nodes[id.0 as usize];
        (node.first_slot, node.edges, node.children) = (first as u32, slots.len() as u16, 0);
        self.slots.extend(slots);
        self.most.1 = self.most.1.max(self.slots.len());
    }

    /// Takes a node's moves, and drops all that is below it.
    pub(super) fn strip(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        let (first, edges) = (node.first_slot as usize, usize::from(node.edges));
        let children = usize::from(node.children);
        (node.first_slot, node.edges, node.children, node.candidates) = (0, 0, 0, 0);
        node.visited_policy = 0;
        for nth in 0..children {
            self.drop_below(self.slots[first + nth].child());
        }
        if edges > 0 {
            self.slots[first] = Slot(UNOWNED | edges as u32);
            self.garbage += edges;
        }
    }

    /// Drops a node and all that is below it.
    pub(super) fn drop_below(&mut self, id: NodeId) {
        let head = self.dropped.head;
        let node = self.node_mut(id);
        node.set_state(State::Gone);
        node.visits = head.0;
        self.dropped = List { head: id, len: self.dropped.len + 1 };
    }

    /// Takes apart all that was dropped.
    pub(super) fn sweep(&mut self) {
        while self.take_apart_one() {}
    }

    /// Makes one dropped node free, and drops its children.
    fn take_apart_one(&mut self) -> bool {
        let id = self.dropped.head;
        if id == NodeId::NONE {
            return false;
        }
        self.dropped = List { head: NodeId(self.node(id).visits), len: self.dropped.len - 1 };
        self.strip(id);
        self.node_mut(id).visits = self.free.head.0;
        self.free = List { head: id, len: self.free.len + 1 };
        true
    }

    fn pop_free(&mut self) -> Option<NodeId> {
        let id = self.free.head;
        if id == NodeId::NONE {
            return None;
        }
        self.free = List { head: NodeId(self.node(id).visits), len: self.free.len - 1 };
        Some(id)
    }

    /// Moves the slots together, in place: for the while, the first slot of each block holds its
    /// owner's number, and the owner what stood there. What is left over is for nodes, too, where
    /// the system takes it back.
    pub(super) fn compact(&mut self) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if node.edges > 0 {
                let first = &mut self.slots[node.first_slot as usize];
                node.first_slot = std::mem::replace(first, Slot(number as u32)).0;
            }
        }
        let (mut from, mut to) = (0, 0);
        while from < self.slots.len() {
            let tag = self.slots[from].0;
            if tag & UNOWNED != 0 {
                from += (tag & !UNOWNED) as usize;
                continue;
            }
            let owner = &mut self.nodes[tag as usize];
            let edges = usize::from(owner.edges);
            self.slots.copy_within(from..from + edges, to);
            self.slots[to] = Slot(owner.first_slot);
            owner.first_slot = to as u32;
            (from, to) = (from + edges, to + edges);
        }
        self.slots.truncate(to);
        self.garbage = 0;
        if give_back(&mut self.slots) {
            self.most.1 = self.slots.len();
        }
    }
}

impl List {
    const EMPTY: List = List { head: NodeId::NONE, len: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::PackedMove;
    use crate::search::node::{Edge, Prior};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    fn edge(m: u16) -> Edge {
        Edge { m: PackedMove(m), prior: Prior::default() }
    }

    /// Every node has the number of its path as its move, so that a child tells its parent.
    fn grow(node_pool: &mut NodePool, rng: &mut SmallRng, top: NodeId) -> bool {
        let mut id = top;
        for _ in 0..100 {
            let node = node_pool.node(id).clone();
            if node.edges == 0 {
                let edges = rng.random_range(1..40);
                if !node_pool.make_room(edges) {
                    return false;
                }
                let mark = node.edge.m.0.wrapping_mul(31);
                let slots = (0..edges).map(|nth| edge(mark.wrapping_add(nth as u16)).into());
                node_pool.set_slots(id, slots.collect::<Vec<_>>().into_iter());
                return true;
            }
            let nth = rng.random_range(0..=node.children.min(node.edges - 1));
            if nth == node.children {
                let slot = node_pool.slots(&node)[usize::from(nth)];
                let Some(child) = node_pool.add(Node::new(slot.edge(), 2)) else { return false };
                node_pool.slots_mut(id)[usize::from(nth)] = child.into();
                node_pool.node_mut(id).children += 1;
                id = child;
            } else {
                id = node_pool.slots(&node)[usize::from(nth)].child();
            }
        }
        true
    }

    fn check(node_pool: &NodePool, id: NodeId) -> (usize, usize) {
        let node = node_pool.node(id);
        assert_ne!(node.state(), State::Gone);
        let mark = node.edge.m.0.wrapping_mul(31);
        let (mut nodes, mut slots) = (1, usize::from(node.edges));
        for (nth, slot) in node_pool.slots(node).iter().enumerate() {
            let expected = mark.wrapping_add(nth as u16);
            if nth < usize::from(node.children) {
                assert_eq!(node_pool.node(slot.child()).edge.m.0, expected);
                let below = check(node_pool, slot.child());
                (nodes, slots) = (nodes + below.0, slots + below.1);
            } else {
                assert_eq!(slot.edge().m.0, expected);
            }
        }
        (nodes, slots)
    }

    #[test]
    fn nothing_is_lost_and_all_that_is_dropped_is_used_again() {
        let mut rng = SmallRng::seed_from_u64(5);
        for limit in [20_000, 100_000] {
            let mut node_pool = NodePool::new(limit);
            let top = node_pool.add(Node::new(edge(1), 2)).expect("room for one");
            let mut full = 0;
            for step in 0..60_000 {
                if !grow(&mut node_pool, &mut rng, top) {
                    full += 1;
                    // Half of what is below the root, or a part of it that is deeper.
                    let mut id = top;
                    let ids: Vec<_> = node_pool.children(node_pool.node(top)).collect();
                    for child in ids.into_iter().filter(|_| rng.random_bool(0.5)) {
                        node_pool.strip(child);
                        id = child;
                    }
                    assert_eq!(node_pool.node(id).children, 0);
                }
                assert!(node_pool.used() <= limit);
                if step % 1000 == 0 {
                    check(&node_pool, top);
                }
            }
            assert!(full > 10);
            node_pool.sweep();
            let (nodes, slots) = check(&node_pool, top);
            assert_eq!(node_pool.len(), nodes);
            assert_eq!(node_pool.used(), nodes * size_of::<Node>() + slots * size_of::<Slot>());
        }
    }
}

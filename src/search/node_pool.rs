//! The node pool: the nodes of a tree and the slots of their moves, under one memory limit.
//!
//! A node keeps its index while it lives, so that paths stay valid while memory is reclaimed; only slots
//! move. Dropped subtrees are freed node by node, when their memory is needed.

use super::node::{Node, NodeId, Slot, State};
use crate::memory::{prefer_huge_pages, prefetch, release_spare};

/// Nodes and the slots of their moves.
#[derive(Debug)]
pub(super) struct NodePool {
    nodes: Vec<Node>,
    slots: Vec<Slot>,
    /// The memory limit of nodes and slots together, in bytes.
    limit: usize,
    /// The greatest number of nodes so far. The system keeps that memory for the process.
    peak_nodes: usize,
    /// The greatest number of slots so far, likewise.
    peak_slots: usize,
    /// Free nodes, linked through [`Node::visits`].
    free: NodeList,
    /// The roots of dropped subtrees, linked through [`Node::visits`].
    dropped: NodeList,
    /// The number of slots without an owner.
    unowned_slots: usize,
}

#[derive(Clone, Copy, Debug)]
struct NodeList {
    head: NodeId,
    len: usize,
}

/// Marks the first slot of a block without an owner. The other bits are the length of the block.
const UNOWNED: u32 = 1 << 31;

impl NodePool {
    /// Returns an empty pool of at most `limit` bytes. Memory is taken from the system as it is used.
    pub(super) fn new(limit: usize) -> NodePool {
        let mut node_pool = NodePool {
            nodes: Vec::new(),
            slots: Vec::new(),
            // Slots have indices of 32 bits.
            limit: limit.min((u32::MAX as usize).saturating_mul(size_of::<Slot>())),
            peak_nodes: 0,
            peak_slots: 0,
            free: NodeList::EMPTY,
            dropped: NodeList::EMPTY,
            unowned_slots: 0,
        };
        // The whole address range is reserved at once, because growing would copy the nodes and need twice
        // the memory meanwhile.
        while node_pool.nodes.try_reserve_exact(node_pool.limit / size_of::<Node>()).is_err()
            || node_pool.slots.try_reserve_exact(node_pool.limit / size_of::<Slot>()).is_err()
        {
            node_pool.limit /= 2;
        }
        prefer_huge_pages(&mut node_pool.nodes);
        prefer_huge_pages(&mut node_pool.slots);
        node_pool
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.slots.clear();
        self.free = NodeList::EMPTY;
        self.dropped = NodeList::EMPTY;
        self.unowned_slots = 0;
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// Returns the slots of a node's moves.
    pub(super) fn slots(&self, node: &Node) -> &[Slot] {
        // Without moves, `first_slot` is not an index.
        let first = if node.edges > 0 { node.first_slot as usize } else { 0 };
        &self.slots[first..][..usize::from(node.edges)]
    }

    pub(super) fn slots_mut(&mut self, id: NodeId) -> &mut [Slot] {
        let node = &self.nodes[id.0 as usize];
        &mut self.slots[node.first_slot as usize..][..usize::from(node.edges)]
    }

    /// Prefetches the moves of a node.
    pub(super) fn prefetch_slots(&self, node: &Node) {
        if let Some(first) = self.slots.get(node.first_slot as usize) {
            prefetch(first);
        }
    }

    /// Prefetches children.
    pub(super) fn prefetch_children(&self, slots: &[Slot]) {
        for slot in slots {
            if let Some(child) = self.nodes.get(slot.0 as usize) {
                prefetch(child);
            }
        }
    }

    pub(super) fn children(&self, node: &Node) -> impl DoubleEndedIterator<Item = NodeId> + Clone {
        self.slots(node)[..usize::from(node.children)].iter().map(|slot| slot.child())
    }

    /// Returns all nodes by index, those in [`State::Gone`] included.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of nodes in use, dropped nodes that are not yet freed included.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len
    }

    /// Returns the number of bytes in use, dropped nodes that are not yet freed included.
    pub(super) fn used_bytes(&self) -> usize {
        self.len() * size_of::<Node>() + (self.slots.len() - self.unowned_slots) * size_of::<Slot>()
    }

    pub(super) fn limit_bytes(&self) -> usize {
        self.limit
    }

    /// Returns `true` if this number of nodes and slots is within the limit.
    fn fits(&self, nodes: usize, slots: usize) -> bool {
        let nodes = nodes.max(self.peak_nodes);
        let slots = slots.max(self.peak_slots);
        nodes * size_of::<Node>() + slots * size_of::<Slot>() <= self.limit
    }

    /// Adds a node. Returns `None` if there is no room.
    pub(super) fn add(&mut self, node: Node) -> Option<NodeId> {
        if self.free.head == NodeId::NONE {
            self.free_one_dropped();
        }
        if let Some(id) = self.pop_free() {
            *self.node_mut(id) = node;
            return Some(id);
        }
        if !self.fits(self.nodes.len() + 1, 0) {
            return None;
        }
        self.nodes.push(node);
        self.peak_nodes = self.peak_nodes.max(self.nodes.len());
        Some(NodeId(self.nodes.len() as u32 - 1))
    }

    /// Makes room for `moves` more slots. Returns `false` if there is none.
    pub(super) fn make_room(&mut self, moves: usize) -> bool {
        if self.fits(0, self.slots.len() + moves) {
            return true;
        }
        // Compaction visits every block, so it must free enough to be worth it.
        let enough = moves.max(self.slots.len() / 4);
        while self.unowned_slots < enough && self.free_one_dropped() {}
        if self.unowned_slots >= moves.max(self.slots.len() / 16) {
            self.compact();
        }
        self.fits(0, self.slots.len() + moves)
    }

    /// Sets the moves of a node, for which there must be room.
    pub(super) fn set_slots(&mut self, id: NodeId, slots: impl ExactSizeIterator<Item = Slot>) {
        let first = self.slots.len();
        let node = &mut self.nodes[id.0 as usize];
        node.first_slot = first as u32;
        node.edges = slots.len() as u16;
        node.children = 0;
        self.slots.extend(slots);
        self.peak_slots = self.peak_slots.max(self.slots.len());
    }

    /// Removes the moves of a node, and drops its children.
    pub(super) fn remove_moves(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        let first = node.first_slot as usize;
        let edges = usize::from(node.edges);
        let children = usize::from(node.children);
        node.first_slot = 0;
        node.edges = 0;
        node.children = 0;
        node.candidates = 0;
        node.visited_policy = 0;
        for nth in 0..children {
            self.drop_subtree(self.slots[first + nth].child());
        }
        if edges > 0 {
            self.slots[first] = Slot(UNOWNED | edges as u32);
            self.unowned_slots += edges;
        }
    }

    /// Drops a node and its descendants.
    pub(super) fn drop_subtree(&mut self, id: NodeId) {
        let head = self.dropped.head;
        let node = self.node_mut(id);
        node.set_state(State::Gone);
        node.visits = head.0;
        self.dropped = NodeList { head: id, len: self.dropped.len + 1 };
    }

    /// Frees all dropped nodes.
    pub(super) fn free_dropped(&mut self) {
        while self.free_one_dropped() {}
    }

    /// Frees one dropped node, and drops its children. Returns `false` if there is none.
    fn free_one_dropped(&mut self) -> bool {
        let id = self.dropped.head;
        if id == NodeId::NONE {
            return false;
        }
        self.dropped = NodeList { head: NodeId(self.node(id).visits), len: self.dropped.len - 1 };
        self.remove_moves(id);
        self.node_mut(id).visits = self.free.head.0;
        self.free = NodeList { head: id, len: self.free.len + 1 };
        true
    }

    fn pop_free(&mut self) -> Option<NodeId> {
        let id = self.free.head;
        if id == NodeId::NONE {
            return None;
        }
        self.free = NodeList { head: NodeId(self.node(id).visits), len: self.free.len - 1 };
        Some(id)
    }

    /// Moves the slots together, in place. Meanwhile the first slot of each block holds the index of its
    /// owner, and the owner holds the slot. The memory behind them can be used by nodes if the system takes
    /// it back.
    pub(super) fn compact(&mut self) {
        for (id, node) in self.nodes.iter_mut().enumerate() {
            if node.edges > 0 {
                let first = &mut self.slots[node.first_slot as usize];
                node.first_slot = std::mem::replace(first, Slot(id as u32)).0;
            }
        }
        let mut from = 0;
        let mut to = 0;
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
            from += edges;
            to += edges;
        }
        self.slots.truncate(to);
        self.unowned_slots = 0;
        if release_spare(&mut self.slots) {
            self.peak_slots = self.slots.len();
        }
    }
}

impl NodeList {
    const EMPTY: NodeList = NodeList { head: NodeId::NONE, len: 0 };
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

    /// Extends the tree at a random place. The move of a node identifies its path, so that a misplaced child
    /// is detected. Returns `false` if the pool is full.
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

    /// Checks the subtree of a node. Returns the numbers of its nodes and slots.
    fn check(node_pool: &NodePool, id: NodeId) -> (usize, usize) {
        let node = node_pool.node(id);
        assert_ne!(node.state(), State::Gone);
        let mark = node.edge.m.0.wrapping_mul(31);
        let mut nodes = 1;
        let mut slots = usize::from(node.edges);
        for (nth, slot) in node_pool.slots(node).iter().enumerate() {
            let expected = mark.wrapping_add(nth as u16);
            if nth < usize::from(node.children) {
                assert_eq!(node_pool.node(slot.child()).edge.m.0, expected);
                let (child_nodes, child_slots) = check(node_pool, slot.child());
                nodes += child_nodes;
                slots += child_slots;
            } else {
                assert_eq!(slot.edge().m.0, expected);
            }
        }
        (nodes, slots)
    }

    #[test]
    fn pool_loses_no_node_and_reuses_dropped_ones() {
        let mut rng = SmallRng::seed_from_u64(5);
        for limit in [20_000, 100_000] {
            let mut node_pool = NodePool::new(limit);
            let top = node_pool.add(Node::new(edge(1), 2)).expect("room for one");
            let mut full = 0;
            for step in 0..60_000 {
                if !grow(&mut node_pool, &mut rng, top) {
                    full += 1;
                    // Removes the moves of half of the root's children.
                    let mut id = top;
                    let ids: Vec<_> = node_pool.children(node_pool.node(top)).collect();
                    for child in ids {
                        if rng.random_bool(0.5) {
                            node_pool.remove_moves(child);
                            id = child;
                        }
                    }
                    assert_eq!(node_pool.node(id).children, 0);
                }
                assert!(node_pool.used_bytes() <= limit);
                if step % 1000 == 0 {
                    check(&node_pool, top);
                }
            }
            assert!(full > 10);
            node_pool.free_dropped();
            let (nodes, slots) = check(&node_pool, top);
            assert_eq!(node_pool.len(), nodes);
            assert_eq!(
                node_pool.used_bytes(),
                nodes * size_of::<Node>() + slots * size_of::<Slot>()
            );
        }
    }
}

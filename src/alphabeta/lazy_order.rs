//! The order in which a node asks for its moves: the table's move first, the others once they are needed.

use super::evaluation::StaticEvaluator;
use super::policy::Policy;
use super::task::{NodeFacts, NodeTask};
use super::worker::Worker;
use crate::rules::PackedMove;

/// The depth from which on the policy orders the moves.
const POLICY_DEPTH: i32 = 3;

/// The order of the moves of a node. The move of the table is searched before the others are ordered: often it is
/// enough.
pub(super) struct LazyOrder {
    table_move: Option<PackedMove>,
    /// The index of the table's move, if it is legal.
    first: Option<usize>,
    /// The policy, once the moves are ordered.
    pub(super) policy: Policy,
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the order of the legal moves at `ply`, none of which has been asked for.
    #[inline]
    pub(super) fn lazy_order(&self, ply: usize, table_move: Option<PackedMove>) -> LazyOrder {
        let legal = &self.frames[ply].legal;
        let first = table_move.and_then(|m| legal.iter().position(|legal| legal.pack() == m));
        LazyOrder { table_move, first, policy: Policy::default() }
    }

    /// Returns the index among the legal moves of the one that is searched as number `nth`, once those before have been
    /// asked for. `None` if the search is stopped.
    #[inline]
    pub(super) fn next_index(
        &mut self,
        task: NodeTask,
        facts: NodeFacts,
        order: &mut LazyOrder,
        nth: usize,
    ) -> Option<usize> {
        let ply = task.ply;
        if nth == 0 && order.first.is_some() {
            return order.first;
        }
        if nth == usize::from(order.first.is_some()) {
            order.policy = self.order_moves(ply, task.depth, facts.single, order.table_move);
            if order.first.is_some() {
                // It has been searched.
                self.frames[ply].order.index(0);
            }
            if self.stopped {
                return None;
            }
        }
        Some(self.frames[ply].order.index(nth))
    }

    /// Orders the legal moves at `ply`, from some depth on by the policy, which is returned.
    fn order_moves(
        &mut self,
        ply: usize,
        depth: i32,
        single: bool,
        table_move: Option<PackedMove>,
    ) -> Policy {
        self.frames[ply].logits.clear();
        // A turn is completed in many ways, of which no history says much.
        let completes = self.frames[ply].position.mid_turn();
        if (depth >= POLICY_DEPTH || completes) && !single {
            self.ask_policy(ply);
        }
        self.order_all(ply, table_move);
        Policy::new(&self.frames[ply].logits)
    }
}

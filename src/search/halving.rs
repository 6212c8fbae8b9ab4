//! Sequential halving of the root in play: Gumbel planning without its noise.

use super::gumbel::improved_logits;
use super::node::NodeId;
use super::params::GumbelParams;
use super::plan::Plan;
use super::puct::Next;
use super::tree::Tree;

impl Tree {
    /// Spreads the visits of the root by sequential halving (Danihelka et al. 2022) until the next
    /// search begins: see [`Tree::halve`].
    pub fn plan(&mut self, params: GumbelParams) {
        self.plan = Some(Plan { params, ..Plan::default() });
    }

    /// Takes note that such a `part` of a planned search, from 0 to 1, is over: moves are given up
    /// until those are left that its phase considers. Of n moves the last two share the last of
    /// log2(n) phases, which are equally long; at the end one is left.
    pub fn halve(&mut self, part: f32) {
        if self.is_empty() {
            return;
        }
        let Some(mut plan) = self.plan.take() else { return };
        let begins = plan.all == 0;
        if begins {
            let moves = self.root_moves().len();
            plan.all = plan.params.considered.clamp(1, moves.max(1));
        }
        let phases = plan.all.next_power_of_two().trailing_zeros().max(1);
        let phase = (part.clamp(0.0, 1.0) * phases as f32) as u32;
        let wanted = (plan.all >> phase.min(phases)).max(1);
        if begins || plan.considered.len() > wanted {
            let mut logits = improved_logits(self, plan.params);
            // Stable, so that equals keep their order on every machine.
            logits.sort_by(|a, b| b.1.total_cmp(&a.1));
            let ids = logits.iter().filter_map(|&(m, _)| self.child_by(m));
            let still = |&id: &NodeId| begins || plan.considered.contains(&id);
            let left: Vec<_> = ids.filter(still).take(wanted).collect();
            plan.considered = left;
        }
        self.plan = Some(plan);
    }

    /// The considered move with the fewest visits whose end is not known yet.
    pub(super) fn planned_child(&self) -> Option<Next> {
        let open = |&&id: &&NodeId| !self.node(id).bounds.decided();
        let considered = self.plan.as_ref()?.considered.iter().filter(open);
        let waiting = |&id: &NodeId| {
            let node = self.node(id);
            node.visits + u32::from(node.in_flight)
        };
        considered.min_by_key(|&id| waiting(id)).map(|&id| Next::Child(id))
    }
}

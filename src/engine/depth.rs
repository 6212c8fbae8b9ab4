//! The depth of a tree search: the number of visits on a logarithmic scale.
//!
//! UCI and XBoard limit searches by depth, and scripts and GUIs expect each depth to cost a few
//! times the previous one. No property of a Monte-Carlo tree has this growth. The principal variation has
//! 12 turns after 200 visits and 17 after 400,000, and the mean depth of all descents, which lc0 and
//! Monty report, hardly grows at all where many moves are legal. So depth is defined by visits:
//! depth `d` is reached by the [`BASE`]`^(d-1)`-th visit of a search. Depth 12 takes 15,217 visits and
//! depth 20 takes 16,749,953, in every variant and whatever the tree looks like.

/// The factor from the visits of one depth to those of the next.
const BASE: f64 = 2.4;

/// Returns the depth that a search has reached with `visits` visits; 0 without any.
pub(super) fn depth_of_visits(visits: u64) -> usize {
    (0..).take_while(|&depth| visits_of_depth(depth + 1) <= visits).count()
}

/// Returns the number of visits with which a search has reached `depth`, at least 1.
pub(super) fn visits_of_depth(depth: u64) -> u64 {
    // The cast saturates.
    libm::pow(BASE, depth.saturating_sub(1) as f64).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_visits_agree() {
        assert_eq!([0, 1, 2, 3, 6].map(depth_of_visits), [0, 1, 1, 2, 3]);
        for depth in 1..40 {
            let visits = visits_of_depth(depth);
            assert_eq!(depth_of_visits(visits), depth as usize, "{visits}");
            assert_eq!(depth_of_visits(visits - 1), depth as usize - 1, "{visits}");
        }
        assert_eq!([0, 1].map(visits_of_depth), [1, 1]);
        assert_eq!([12, 20].map(visits_of_depth), [15_217, 16_749_953]);
        assert_eq!(visits_of_depth(u64::MAX), u64::MAX);
    }
}

//! Perft: counting move paths, to test move generation.

use super::{MoveList, Position};

/// Returns the number of paths of `depth` whole turns from `position`. Claimable draws are ignored.
pub fn perft(position: &Position, depth: u32) -> u64 {
    Counter::default().count(position, depth)
}

/// Buffers for each ply of the path, to avoid allocations.
#[derive(Default)]
struct Counter {
    spare: Vec<(MoveList, Option<Position>)>,
}

impl Counter {
    fn count(&mut self, position: &Position, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let (mut legal, mut child) = self.spare.pop().unwrap_or_default();
        // The last turns are counted without playing them if possible.
        let counted = if depth == 1 { position.count_turns(&mut legal) } else { None };
        let paths = counted.unwrap_or_else(|| {
            position.legal_moves(&mut legal);
            let next = child.get_or_insert_with(|| position.clone());
            let below = legal.iter().map(|&m| {
                next.clone_from(position);
                next.play_without_history(m);
                self.count(next, depth - u32::from(!next.mid_turn()))
            });
            below.sum()
        });
        self.spare.push((legal, child));
        paths
    }
}

//! Counting of move paths, the test of every move generator.

use super::{MoveList, Position};

/// The number of paths of `depth` whole turns from `position`. Claims end nothing.
pub fn perft(position: &Position, depth: u32) -> u64 {
    Counter::default().count(position, depth)
}

/// Buffers, one a ply of the path, so that counting allocates nothing.
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
        // The last turns need not be played where they can be counted.
        let counted = if depth == 1 { position.count_turns(&mut legal) } else { None };
        let paths = counted.unwrap_or_else(|| {
            position.legal_moves(&mut legal);
            let next = child.get_or_insert_with(|| position.clone());
            let below = legal.iter().map(|&m| {
                next.clone_from(position);
                next.play_forgetting(m);
                self.count(next, depth - u32::from(!next.mid_turn()))
            });
            below.sum()
        });
        self.spare.push((legal, child));
        paths
    }
}

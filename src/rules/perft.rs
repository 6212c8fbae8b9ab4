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
        position.legal_moves(&mut legal);
        let next = child.get_or_insert_with(|| position.clone());
        let mut paths = 0;
        // At the last turn the moves need not be played, if a move is surely a whole turn.
        if depth == 1 && position.moves_are_turns() {
            paths = legal.len() as u64;
        } else {
            for &m in &legal {
                next.clone_from(position);
                next.play_unchecked(m);
                paths += self.count(next, depth - u32::from(!next.mid_turn()));
            }
        }
        self.spare.push((legal, child));
        paths
    }
}

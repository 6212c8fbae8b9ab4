//! Whole turns of a position, however many plies each has, and the counting of paths.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::rules::{Move, MoveList, Position, perft};

/// A count no deeper than this is not interrupted: a turn with the duck can be one of ten thousand.
const QUICK: u32 = 2;

/// Every legal turn, and the position after it.
pub(super) fn turns(position: &Position) -> Vec<(Vec<Move>, Position)> {
    let mut found = Vec::new();
    extend(position, &mut Vec::new(), &mut found);
    found
}

fn extend(position: &Position, turn: &mut Vec<Move>, found: &mut Vec<(Vec<Move>, Position)>) {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    for m in legal {
        let mut next = position.clone();
        next.play_unchecked(m);
        turn.push(m);
        if next.mid_turn() {
            extend(&next, turn, found);
        } else {
            found.push((turn.clone(), next));
        }
        turn.pop();
    }
}

/// The number of paths of `depth` whole turns; `None` if `stop` was set before they were counted.
pub(super) fn count(position: &Position, depth: u32, stop: &AtomicBool) -> Option<u64> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    if depth <= QUICK {
        return Some(perft(position, depth));
    }
    turns(position).iter().map(|(_, next)| count(next, depth - 1, stop)).sum()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::variant::Catalogue;

    #[test]
    fn a_count_ends_soon_when_it_is_told_to() {
        let duck = Catalogue::shipped().get("duck").expect("duck is shipped");
        let fen = "q6k/2QQQQ2/2QQQQ2/8/8/2qqqq2/2qqqq2/K6Q w - - 0 1";
        let position = duck.position(fen, false).expect("a position");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                stop.store(true, Ordering::Relaxed);
            });
            // There are some 4e10 paths, which take more than ten seconds.
            assert_eq!(count(&position, 3, &stop), None);
        });
    }
}

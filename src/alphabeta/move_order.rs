//! The order in which the moves of a node are searched.

/// Moves that are looked for one by one; most nodes need no more. The others are sorted.
const LOOKED_FOR: usize = 3;

/// Moves of a node, by their numbers among the legal ones, in the order in which they are to be searched.
#[derive(Clone, Debug, Default)]
pub(super) struct MoveOrder {
    /// Order value and number of each move, so that the greatest is the next one. Of equal values the first is.
    keys: Vec<i64>,
}

impl MoveOrder {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    /// Adds the move number `index`.
    pub(super) fn push(&mut self, value: i32, index: usize) {
        self.keys.push(i64::from(value) << 16 | i64::from(u16::MAX - index as u16));
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the number of the move that is to be searched as number `nth`, once those before have been asked for.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn index(&mut self, nth: usize) -> usize {
        let rest = &mut self.keys[nth..];
        if nth < LOOKED_FOR {
            let mut greatest = 0;
            for other in 1..rest.len() {
                if rest[other] > rest[greatest] {
                    greatest = other;
                }
            }
            rest.swap(0, greatest);
        } else if nth == LOOKED_FOR {
            rest.sort_unstable_by_key(|&key| std::cmp::Reverse(key));
        }
        usize::from(u16::MAX - rest[0] as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_come_in_order() {
        let mut order = MoveOrder::default();
        let values = [5, -100_000_000, 9, 5, 100_000_000, i32::MIN, 9, 0];
        for count in 0..=values.len() {
            order.clear();
            for (index, &value) in values[..count].iter().enumerate() {
                order.push(value, index);
            }
            let mut expected: Vec<usize> = (0..count).collect();
            expected.sort_by_key(|&index| std::cmp::Reverse(values[index]));
            let found: Vec<usize> = (0..order.len()).map(|nth| order.index(nth)).collect();
            assert_eq!(found, expected);
        }
    }
}

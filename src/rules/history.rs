//! The history of a position, for detecting repetitions.

use super::Key;

/// The keys of the positions after whole turns, back to the last irreversible turn.
#[derive(Debug, Default)]
pub(super) struct History {
    keys: Vec<Key>,
    /// The number of `keys` before the root of the search; see [`History::begin_search`].
    before_search: usize,
}

impl History {
    /// Creates a history that starts with one position.
    pub(super) fn new(key: Key) -> History {
        History { keys: vec![key], before_search: 0 }
    }

    /// Clears the history and starts with one position.
    pub(super) fn restart(&mut self, key: Key) {
        self.keys.clear();
        self.keys.push(key);
        self.before_search = 0;
    }

    /// Adds the position after a turn. `reversible` is the number of turns since the last irreversible
    /// one; 0 clears the earlier positions.
    pub(super) fn push(&mut self, key: Key, reversible: u32) {
        if reversible == 0 {
            self.keys.clear();
            self.before_search = 0;
        }
        self.keys.push(key);
    }

    /// Returns the number of earlier occurrences of the latest position.
    pub(super) fn repetitions(&self) -> usize {
        let Some((latest, earlier)) = self.keys.split_last() else {
            return 0;
        };
        earlier.iter().filter(|key| *key == latest).count()
    }

    /// Returns `true` if the latest position occurred earlier within the search.
    pub(super) fn repeats_in_search(&self) -> bool {
        let Some((latest, earlier)) = self.keys.split_last() else {
            return false;
        };
        earlier.iter().skip(self.before_search).any(|key| key == latest)
    }

    /// Makes the latest position the root of a search.
    pub(super) fn begin_search(&mut self) {
        self.before_search = self.keys.len().saturating_sub(1);
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        History { keys: self.keys.clone(), before_search: self.before_search }
    }

    /// Reuses the memory of `self`: a search copies the root position for every descent.
    fn clone_from(&mut self, source: &History) {
        self.keys.clone_from(&source.keys);
        self.before_search = source.before_search;
    }
}

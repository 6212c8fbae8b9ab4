//! What a position must remember to know that it repeats.

use super::Key;

/// The keys of the positions at the ends of turns, back to the last irreversible one.
#[derive(Debug, Default)]
pub(super) struct History {
    keys: Vec<Key>,
    /// How many of `keys` stood before the search began: see [`History::begin_search`].
    before_search: usize,
}

impl History {
    /// A history that begins with the position of `key`.
    pub(super) fn new(key: Key) -> History {
        History { keys: vec![key], before_search: 0 }
    }

    /// Forgets all and begins with the position of `key`.
    pub(super) fn restart(&mut self, key: Key) {
        self.keys.clear();
        self.keys.push(key);
        self.before_search = 0;
    }

    /// Notes the position reached at the end of a turn. `reversible` is how many turns it can be
    /// taken back without crossing a capture or the like; 0 forgets all that went before.
    pub(super) fn push(&mut self, key: Key, reversible: u32) {
        if reversible == 0 {
            self.keys.clear();
            self.before_search = 0;
        }
        self.keys.push(key);
    }

    /// How often the newest position stood before.
    pub(super) fn repetitions(&self) -> usize {
        let Some((newest, earlier)) = self.keys.split_last() else {
            return 0;
        };
        earlier.iter().filter(|key| *key == newest).count()
    }

    /// Whether the newest position stood before at a turn within the search.
    pub(super) fn repeats_in_search(&self) -> bool {
        let Some((newest, earlier)) = self.keys.split_last() else {
            return false;
        };
        earlier.iter().skip(self.before_search).any(|key| key == newest)
    }

    /// Says that the search starts from the newest position.
    pub(super) fn begin_search(&mut self) {
        self.before_search = self.keys.len().saturating_sub(1);
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        History { keys: self.keys.clone(), before_search: self.before_search }
    }

    /// Reuses the memory of `self`: trees copy the root's position on every descent.
    fn clone_from(&mut self, source: &History) {
        self.keys.clone_from(&source.keys);
        self.before_search = source.before_search;
    }
}

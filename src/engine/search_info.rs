//! What a search tells while it runs and when it ends.

use std::sync::Arc;
use std::time::Duration;

use crate::rules::{PerSide, Side};
use crate::search::{Proof, RootMove};

/// Takes what a search tells, in the order in which it happens, on the thread that searches.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// Something that a search tells.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// Something to know, in words.
    Note(String),
    /// How one of the best lines stands.
    SearchInfo(SearchInfo),
    /// The end of a search.
    Best(SearchResult),
    /// How many paths begin with a turn.
    Paths {
        /// The turn.
        turn: String,
        /// The paths.
        count: u64,
    },
    /// The end of a count of paths: how many there are in all; `None` if it was stopped.
    AllPaths(Option<u64>),
}

/// How one of the best lines stands. Turns are whole turns, however many plies they have, and are
/// written as the game's rules write them.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchInfo {
    /// Its rank among the lines, from 1.
    pub rank: usize,
    /// The depth reached: the visits of this search on a logarithmic scale, see `engine/depth.rs`.
    pub depth: usize,
    /// Turns of the deepest line looked at.
    pub deepest: usize,
    /// What the line is worth to the side to move.
    pub score: Score,
    /// The expected score of each side, from -1 to 1.
    pub values: PerSide<f32>,
    /// How many sides there are.
    pub sides: usize,
    /// Wdl of the side to move.
    pub chances: Wdl,
    /// Turns until the game ends.
    pub moves_left: f32,
    /// Visits to the root in this search.
    pub nodes: u64,
    /// Positions found in tables in this search.
    pub hits: u64,
    /// How full the memory for the tree is, in thousandths.
    pub full: usize,
    /// Time since the search began.
    pub time: Duration,
    /// The turns.
    pub line: Vec<String>,
}

impl SearchInfo {
    /// Visits a second.
    pub fn speed(&self) -> u64 {
        (self.nodes as f64 / self.time.as_secs_f64().max(1e-3)) as u64
    }
}

/// How much an evaluator was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EvalStats {
    /// Positions.
    pub positions: u64,
    /// The batches in which they were.
    pub batches: u64,
}

/// What a line is worth to the side to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Score {
    /// An expected score, from -1 to 1.
    Expected(f32),
    /// A proven win in so many turns of the side to move.
    Won(u32),
    /// A proven loss after so many turns of the side to move.
    Lost(u32),
}

impl Score {
    /// What is proven, or else the expected score, for one of `sides` sides.
    pub(super) fn new(proof: Proof, expected: f32, sides: usize) -> Score {
        // Of the turns until the end, which the side to move begins, so many are its own.
        let own = |turns: u8| u32::from(turns).div_ceil(sides.max(1) as u32);
        match proof {
            Proof::Won(turns) if turns > 0 => Score::Won(own(turns)),
            Proof::Lost(Some(turns)) => Score::Lost(own(turns)),
            Proof::Drawn => Score::Expected(0.0),
            _ => Score::Expected(expected),
        }
    }
}

/// The chances of one side; they add up to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wdl {
    /// It wins.
    pub win: f32,
    /// Nobody wins.
    pub draw: f32,
    /// Another side wins.
    pub loss: f32,
}

impl Wdl {
    /// The chances of a side that expects `score` when nobody wins with probability `draw`.
    pub(super) fn new(score: f32, draw: f32) -> Wdl {
        let win = ((1.0 + score - draw) / 2.0).clamp(0.0, 1.0);
        let draw = draw.clamp(0.0, 1.0 - win);
        Wdl { win, draw, loss: 1.0 - win - draw }
    }

    /// In thousandths that add up to 1000: won, drawn and lost.
    pub fn permille(self) -> [u32; 3] {
        let part = |chance: f32| (chance * 1000.0).round() as u32;
        let win = part(self.win).min(1000);
        let draw = part(self.draw).min(1000 - win);
        [win, draw, 1000 - win - draw]
    }
}

/// What a search would play.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// What was asked of the evaluator, in all threads.
    pub asked: EvalStats,
    /// The turn; `None` if the game is over.
    pub turn: Option<String>,
    /// The reply it expects.
    pub reply: Option<String>,
    /// The first plies of all turns, the best first, and what is known of each.
    pub choices: Vec<(String, RootMove)>,
    /// The side that plays it.
    pub mover: Side,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_count_the_turns_of_the_mover() {
        let score = |proof| Score::new(proof, 0.25, 2);
        assert_eq!(score(Proof::Won(1)), Score::Won(1));
        assert_eq!(score(Proof::Won(3)), Score::Won(2));
        assert_eq!(score(Proof::Lost(Some(2))), Score::Lost(1));
        assert_eq!(score(Proof::Lost(Some(0))), Score::Lost(0));
        assert_eq!(score(Proof::Drawn), Score::Expected(0.0));
        assert_eq!(score(Proof::Open), Score::Expected(0.25));
        assert_eq!(Score::new(Proof::Won(4), 1.0, 3), Score::Won(2));
    }

    #[test]
    fn chances_add_up() {
        for (score, draw) in [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.333, 0.334), (0.9, 0.9)] {
            assert_eq!(Wdl::new(score, draw).permille().iter().sum::<u32>(), 1000);
        }
        assert_eq!(Wdl::new(0.25, 0.25).permille(), [500, 250, 250]);
        assert_eq!(Wdl::new(0.0, 1.0).permille(), [0, 1000, 0]);
    }
}

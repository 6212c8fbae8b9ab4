//! The events of a search: reports while it runs, and its result.

use std::sync::Arc;
use std::time::Duration;

use crate::rules::{PerSide, Side};
use crate::search::{Proof, RootMove};

/// Receives the events of a search in order, on the thread that searches.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// An event of a search or a perft.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A message for the user.
    Note(String),
    /// The state of one of the best lines.
    SearchInfo(SearchInfo),
    /// The first plies of all turns and their statistics so far, best first. Follows the reports of the
    /// best lines.
    RootMoves {
        /// The side to move.
        mover: Side,
        /// The text of each ply, and its statistics.
        moves: Vec<(String, RootMove)>,
    },
    /// The end of a search.
    Best(SearchResult),
    /// The number of paths that begin with a turn.
    PerftTurn {
        /// The turn.
        turn: String,
        /// The number of paths.
        count: u64,
    },
    /// The end of a perft: the total number of paths; `None` if it was stopped.
    PerftTotal(Option<u64>),
}

/// The state of one of the best lines. Turns are whole turns of one or more plies, in the notation of
/// the game's rules.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchInfo {
    /// The rank among the lines, from 1.
    pub rank: usize,
    /// The depth: the visits of this search on a logarithmic scale, see `engine/limits.rs`.
    pub depth: usize,
    /// The number of turns of the deepest line.
    pub seldepth: usize,
    /// The score of the line for the side to move.
    pub score: Score,
    /// The expected score of each side, from -1 to 1.
    pub values: PerSide<f32>,
    /// The number of sides.
    pub sides: usize,
    /// The WDL of the side to move.
    pub wdl: Wdl,
    /// The expected number of turns until the game ends.
    pub moves_left: f32,
    /// Visits to the root in this search.
    pub nodes: u64,
    /// Positions found in tables in this search.
    pub tb_hits: u64,
    /// The used part of the memory for the tree, in permille.
    pub hashfull: usize,
    /// Time since the search began.
    pub time: Duration,
    /// The turns.
    pub pv: Vec<String>,
}

impl SearchInfo {
    /// Returns the visits per second.
    pub fn nps(&self) -> u64 {
        (self.nodes as f64 / self.time.as_secs_f64().max(1e-3)) as u64
    }
}

/// The number of evaluations of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EvalStats {
    /// Evaluated positions.
    pub positions: u64,
    /// The batches that contained them.
    pub batches: u64,
}

/// The score of a line for the side to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Score {
    /// An expected score, from -1 to 1.
    Expected(f32),
    /// A proven win in this number of turns of the side to move.
    Won(u32),
    /// A proven loss in this number of turns of the side to move.
    Lost(u32),
}

impl Score {
    /// Returns the proven score, or else the expected score, of one of `sides` sides.
    pub(super) fn new(proof: Proof, expected: f32, sides: usize) -> Score {
        // The side to move begins, so that its share of the turns is rounded up.
        let own = |turns: u8| u32::from(turns).div_ceil(sides.max(1) as u32);
        match proof {
            Proof::Won(turns) if turns > 0 => Score::Won(own(turns)),
            Proof::Lost(Some(turns)) => Score::Lost(own(turns)),
            Proof::Drawn => Score::Expected(0.0),
            _ => Score::Expected(expected),
        }
    }
}

/// The probabilities of win, draw and loss for one side. Their sum is 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wdl {
    /// The side wins.
    pub win: f32,
    /// No side wins.
    pub draw: f32,
    /// Another side wins.
    pub loss: f32,
}

impl Wdl {
    /// Returns the WDL of a side with the expected `score` if no side wins with probability `draw`.
    pub(super) fn new(score: f32, draw: f32) -> Wdl {
        let win = ((1.0 + score - draw) / 2.0).clamp(0.0, 1.0);
        let draw = draw.clamp(0.0, 1.0 - win);
        Wdl { win, draw, loss: 1.0 - win - draw }
    }

    /// Returns win, draw and loss in permille. Their sum is 1000.
    pub fn permille(self) -> [u32; 3] {
        let rounded = |probability: f32| (probability * 1000.0).round() as u32;
        let win = rounded(self.win).min(1000);
        let draw = rounded(self.draw).min(1000 - win);
        [win, draw, 1000 - win - draw]
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchResult {
    /// The number of evaluations, in all threads.
    pub eval_stats: EvalStats,
    /// The turn to play; `None` if the game is over.
    pub turn: Option<String>,
    /// The expected reply.
    pub reply: Option<String>,
    /// The first plies of all turns and their statistics, best first.
    pub root_moves: Vec<(String, RootMove)>,
    /// The side that plays the turn.
    pub mover: Side,
}

impl SearchResult {
    /// Returns the result of a position in which `mover` has no turn.
    pub(super) fn without_turn(mover: Side) -> SearchResult {
        SearchResult {
            eval_stats: EvalStats::default(),
            turn: None,
            reply: None,
            root_moves: Vec::new(),
            mover,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_counts_turns_of_the_side_to_move() {
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
    fn wdl_adds_up() {
        for (score, draw) in [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.333, 0.334), (0.9, 0.9)] {
            assert_eq!(Wdl::new(score, draw).permille().iter().sum::<u32>(), 1000);
        }
        assert_eq!(Wdl::new(0.25, 0.25).permille(), [500, 250, 250]);
        assert_eq!(Wdl::new(0.0, 1.0).permille(), [0, 1000, 0]);
    }
}

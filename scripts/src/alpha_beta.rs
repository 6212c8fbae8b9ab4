//! Searches by alpha-beta of the engine with a sparse network, on one thread and of a given size: those of a player in a
//! match, and those that score positions.

use std::fmt;
use std::time::{Duration, Instant};

use menagerie::alphabeta::{AlphaBeta, Request, RootLine, Verdict, supports};
use menagerie::nn::{DirectNetwork, EvalError, Evaluator as _, Onnx};
use menagerie::rules::Position;

/// The bytes of the transposition table.
const TABLE_BYTES: usize = 32 << 20;

/// A search by alpha-beta. What it has learned helps the searches after it.
pub(crate) struct AlphaBetaSearch {
    search: AlphaBeta<DirectNetwork>,
    nodes: u64,
    time: Option<Duration>,
}

impl fmt::Debug for AlphaBetaSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlphaBetaSearch")
            .field("nodes", &self.nodes)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

impl AlphaBetaSearch {
    /// Returns a search of the game that begins at `start`, of `nodes` nodes or some time.
    ///
    /// # Errors
    /// If alpha-beta cannot search the game, or not by this network.
    pub(crate) fn new(
        start: &Position,
        network: &Onnx,
        nodes: u64,
        time: Option<Duration>,
    ) -> anyhow::Result<AlphaBetaSearch> {
        anyhow::ensure!(supports(start), "alpha-beta needs two sides and one board");
        let network = network.direct();
        let network =
            network.ok_or_else(|| anyhow::anyhow!("alpha-beta needs a sparse int8 network"))?;
        Ok(AlphaBetaSearch { search: AlphaBeta::new(vec![network], TABLE_BYTES), nodes, time })
    }

    /// Forgets all positions.
    pub(crate) fn clear(&mut self) {
        self.search.clear();
    }

    /// Searches a position and returns the best line; `None` if the game is over.
    ///
    /// # Errors
    /// If the network fails.
    pub(crate) fn best_line(&mut self, root: &Position) -> Result<Option<RootLine>, EvalError> {
        let begun = Instant::now();
        let request = Request {
            root,
            moves: &[],
            lines: 1,
            max_depth: u32::MAX,
            max_nodes: self.nodes,
            probe: None,
        };
        let is_time_up = |_| self.time.is_some_and(|time| begun.elapsed() >= time);
        let found = self.search.search(request, &is_time_up, &mut |_| Verdict::Continue)?;
        Ok(found.lines.into_iter().next())
    }
}

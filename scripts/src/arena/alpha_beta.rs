//! A player by the alpha-beta search of the engine.

use std::time::{Duration, Instant};

use menagerie::alphabeta::{AlphaBeta, Request, Verdict, supports};
use menagerie::nn::{DirectNetwork, Evaluator, Onnx};
use menagerie::rules::{Move, Position};
use rand::rngs::ChaCha8Rng;

use super::player::{Player, Situation, TurnError};

/// Memory of the transposition table.
const TABLE_BYTES: usize = 32 << 20;

/// Searches on one thread, with what it has learned in the game so far.
pub(super) struct AlphaBetaPlayer {
    search: AlphaBeta<DirectNetwork>,
    nodes: u64,
    time: Option<Duration>,
}

impl AlphaBetaPlayer {
    /// Returns a player of the game that begins at `start`, which searches `nodes` nodes or for some time.
    ///
    /// # Errors
    /// If alpha-beta cannot search the game, or not by this network.
    pub(super) fn new(
        start: &Position,
        network: &Onnx,
        nodes: u64,
        time: Option<Duration>,
    ) -> anyhow::Result<AlphaBetaPlayer> {
        anyhow::ensure!(
            supports(start),
            "alpha-beta needs two sides, one board and turns of one ply"
        );
        let network = network.direct();
        let network =
            network.ok_or_else(|| anyhow::anyhow!("alpha-beta needs a sparse int8 network"))?;
        Ok(AlphaBetaPlayer { search: AlphaBeta::new(vec![network], TABLE_BYTES), nodes, time })
    }
}

impl Player for AlphaBetaPlayer {
    fn begin(&mut self, _start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        // Otherwise games would not be repeatable.
        self.search.clear();
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let begun = Instant::now();
        let request = Request {
            root: game.position,
            moves: &[],
            lines: 1,
            max_depth: u32::MAX,
            max_nodes: self.nodes,
            probe: None,
        };
        let is_time_up = || self.time.is_some_and(|time| begun.elapsed() >= time);
        let found = self.search.search(request, &is_time_up, &mut |_| Verdict::Continue)?;
        let best = found.lines.first().and_then(|line| line.moves.first());
        let best = best.ok_or_else(|| anyhow::anyhow!("no move in {}", game.position.fen()))?;
        Ok(vec![*best])
    }
}

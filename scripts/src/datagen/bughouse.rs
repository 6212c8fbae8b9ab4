//! Labelled games of bughouse by an engine that knows the game of a single board. The engine is asked about the board
//! of the player to move, as if it had that seat, and no player sits. The results of the games show what its moves
//! are worth to the team. The players think for random times.

use std::sync::atomic::Ordering;

use menagerie::rules::{BoardId, ByColor, Color, MoveList, Side};
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::{DatagenError, GameGenerator, LabelledGame, score_text};
use crate::boards::BoardState;
use crate::readers::CLOCK_SECONDS;
use crate::readers::bpgn::Seat;

impl GameGenerator<'_> {
    /// Plays a game of two boards. The random plies at the start are part of the game, with the best moves of the
    /// engine. Returns `None` if it was stopped.
    pub(super) fn play_bughouse(
        &mut self,
        mut rng: ChaCha8Rng,
    ) -> Result<Option<LabelledGame>, DatagenError> {
        let config = self.config;
        let mut position = self.variant.start();
        let start = position.fen();
        let opening = if config.opening > 0 { rng.random_range(1..=config.opening) } else { 0 };
        let to_move = BoardState::both(&position).map(|board| board.color);
        let clock_rng = ChaCha8Rng::from_rng(&mut rng);
        let mut clocks = SimulatedClocks::new(CLOCK_SECONDS, to_move, clock_rng);
        let mut plies = Vec::new();
        let mut legal = MoveList::new();
        self.engine.new_game()?;
        while position.result().is_none() && plies.len() < config.max_turns {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let boards = BoardState::both(&position);
            let Some((board, left)) = clocks.next_move(&boards) else {
                let winner = clocks.next_flag(&boards).map(|loser| loser.after(1, 2));
                return Ok(Some(LabelledGame { start, winner, plies }));
            };
            let state = &boards[board as usize];
            let fen = state.position.fen();
            let answer = self.engine.go(&format!("fen {fen}"), &config.limits, config.patience)?;
            let best = state.parse_ply(&answer.best);
            let best = best.ok_or_else(|| self.illegal_move(&answer.best, &fen))?;
            let is_random = plies.len() < opening || self.is_random(plies.len(), &mut rng);
            state.position.legal_moves(&mut legal);
            // Drawn for each ply, so that the random numbers of a game do not depend on its moves.
            let random_move = legal.choose(&mut rng).copied();
            let played = if is_random { random_move.unwrap_or(best) } else { best };
            let text = |m| state.position.move_text(m);
            let number = board as usize + 1;
            let score = score_text(answer.score());
            let mut ply = format!("{number}{}:{score}:{left:.1}", text(best));
            if played != best {
                ply += &format!("/{}", text(played));
            }
            plies.push(ply);
            clocks.on_move(board, state.color, left);
            position.play_unchecked(played.on(board));
        }
        let winner = position.result().and_then(|outcome| outcome.winner);
        Ok(Some(LabelledGame { start, winner, plies }))
    }
}

/// The mean share of the time left that an average player uses for a move. Each player has its own mean, between
/// half and one and a half times this share.
const MEAN_SHARE: f64 = 1.0 / 40.0;
/// The largest share of the time left that is used for a move.
const MAX_SHARE: f64 = 0.25;
/// The shortest time of a move.
const MIN_MOVE_SECONDS: f64 = 0.1;

/// The clocks of four players who think for random times. All times are in seconds since the start of the game.
struct SimulatedClocks {
    left: [ByColor<f64>; 2],
    /// The mean share of the time left that each player uses for a move.
    mean_shares: [ByColor<f64>; 2],
    /// For the player to move on each board, the times at which it started and will finish thinking.
    thinking: [(f64, f64); 2],
    now: f64,
    rng: ChaCha8Rng,
}

impl SimulatedClocks {
    /// Returns clocks with the same time for each player. `to_move` are the sides to move.
    fn new(seconds: f64, to_move: [Color; 2], mut rng: ChaCha8Rng) -> SimulatedClocks {
        let mut shares = || ByColor::new_with(|_| MEAN_SHARE * rng.random_range(0.5..1.5));
        let mean_shares = [shares(), shares()];
        let left = [0, 1].map(|_| ByColor::new_with(|_| seconds));
        let mut clocks =
            SimulatedClocks { left, mean_shares, thinking: [(0.0, 0.0); 2], now: 0.0, rng };
        for (board, color) in BoardId::ALL.into_iter().zip(to_move) {
            clocks.start_turn(board, color);
        }
        clocks
    }

    /// Returns the board of the next move, and the time left to its mover. `None` if no player has a move, or a
    /// player who waits for a piece runs out of time before; see [`SimulatedClocks::next_flag`].
    fn next_move(&self, boards: &[BoardState; 2]) -> Option<(BoardId, f64)> {
        let (at, board) = self.next_mover(boards)?;
        if self.next_flag(boards).is_some() {
            return None;
        }
        Some((board, self.flag_fall(board, &boards[board as usize]) - at))
    }

    /// Returns the team whose time runs out before the next move.
    fn next_flag(&self, boards: &[BoardState; 2]) -> Option<Side> {
        let until = self.next_mover(boards).map_or(f64::INFINITY, |(at, _)| at);
        let is_running = |board: &BoardId| !boards[*board as usize].drawn;
        let flags = BoardId::ALL.into_iter().filter(is_running).map(|board| {
            let state = &boards[board as usize];
            (self.flag_fall(board, state), Seat { board, color: state.color }.team())
        });
        let (at, team) = flags.min_by(|a, b| a.0.total_cmp(&b.0))?;
        if at <= until && until.is_finite() { Some(team) } else { None }
    }

    /// The player to move on `board` has moved and has `left` seconds left.
    fn on_move(&mut self, board: BoardId, color: Color, left: f64) {
        let nth = board as usize;
        self.now = self.thinking[nth].0 + self.left[nth][color] - left;
        self.left[nth][color] = left;
        self.start_turn(board, !color);
    }

    /// Returns the time and the board of the next move.
    fn next_mover(&self, boards: &[BoardState; 2]) -> Option<(f64, BoardId)> {
        let open = BoardId::ALL.into_iter().filter(|&board| boards[board as usize].has_moves);
        // A player who had to wait for a piece moves as soon as it arrives.
        open.map(|board| (self.thinking[board as usize].1.max(self.now), board))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Returns the time at which the flag of the player to move on a board falls.
    fn flag_fall(&self, board: BoardId, state: &BoardState) -> f64 {
        let nth = board as usize;
        self.thinking[nth].0 + self.left[nth][state.color]
    }

    /// Draws the thinking time of the player to move from an exponential distribution.
    fn start_turn(&mut self, board: BoardId, color: Color) {
        let nth = board as usize;
        let left = self.left[nth][color];
        let sample: f64 = -(1.0 - self.rng.random::<f64>()).ln();
        let mean = left * self.mean_shares[nth][color];
        let time = (mean * sample).min(left * MAX_SHARE).max(MIN_MOVE_SECONDS);
        self.thinking[nth] = (self.now, self.now + time);
    }
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;
    use rand::SeedableRng;

    use super::*;

    const TO_MOVE: [Color; 2] = [Color::White; 2];

    fn boards() -> [BoardState; 2] {
        let variant = Catalogue::shipped().get("bughouse2").expect("it is shipped");
        BoardState::both(&variant.start())
    }

    #[test]
    fn simulated_clocks_run_on_both_boards() {
        let mut boards = boards();
        let mut clocks = SimulatedClocks::new(180.0, TO_MOVE, ChaCha8Rng::seed_from_u64(1));
        let mut moves = [0; 2];
        for _ in 0..200 {
            let (board, left) = clocks.next_move(&boards).expect("there is always time left");
            let nth = board as usize;
            let before = clocks.now;
            let state = &mut boards[nth];
            assert!(left > 0.0 && left < clocks.left[nth][state.color]);
            clocks.on_move(board, state.color, left);
            assert!(clocks.now >= before);
            state.color = !state.color;
            moves[nth] += 1;
        }
        assert!(moves.iter().all(|&moves| moves > 20), "{moves:?}");
        // The elapsed time is missing from the clocks of each board.
        for (nth, state) in boards.iter().enumerate() {
            let spent = 360.0 - clocks.left[nth].white - clocks.left[nth].black;
            assert!((spent - clocks.thinking[nth].0).abs() < 1e-6, "{:?}", state.color);
        }
    }

    #[test]
    fn simulated_clocks_run_out_for_a_player_without_moves() {
        let mut boards = boards();
        boards[1].has_moves = false;
        let mut clocks = SimulatedClocks::new(10.0, TO_MOVE, ChaCha8Rng::seed_from_u64(1));
        while let Some((board, left)) = clocks.next_move(&boards) {
            assert_eq!((board, clocks.next_flag(&boards)), (BoardId::A, None));
            clocks.on_move(board, boards[0].color, left);
            boards[0].color = !boards[0].color;
        }
        // White on B is in the team that has Black on A.
        assert_eq!(clocks.next_flag(&boards), Some(Side::BLACK));
        assert!(clocks.now <= 10.0);
        // No clock runs on a drawn board.
        boards[1].drawn = true;
        assert!(clocks.next_move(&boards).is_some() && clocks.next_flag(&boards).is_none());
        // If no player can move, the game has ended by the rules.
        boards[0].has_moves = false;
        assert!(clocks.next_move(&boards).is_none() && clocks.next_flag(&boards).is_none());
    }
}

//! Games at two tables: the teacher is asked about the board of whoever moves, as if it sat there, and
//! nobody sits and waits. It knows the game of one board; what its moves are worth to the team is told by
//! how games end.

use std::sync::atomic::Ordering;

use menagerie::rules::MoveList;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::seats::Seats;
use super::{DatagenError, Game, Teacher, score};
use crate::readers::TEACHERS_CLOCK;
use crate::tables::Board;

impl Teacher<'_> {
    /// Plays a game of two tables. Its random plies at the start stand among the others, with what
    /// the teacher would have played. `None` if it was stopped.
    pub(super) fn game_at_tables(
        &mut self,
        mut rng: ChaCha8Rng,
    ) -> Result<Option<Game>, DatagenError> {
        let config = self.config;
        let mut position = self.variant.start();
        let start = position.fen();
        let opening = if config.opening > 0 { rng.random_range(1..=config.opening) } else { 0 };
        let on_turn = Board::both(&position).map(|board| board.color);
        let mut seats = Seats::new(TEACHERS_CLOCK, on_turn, ChaCha8Rng::from_rng(&mut rng));
        let (mut plies, mut legal) = (Vec::new(), MoveList::new());
        self.engine.new_game()?;
        while position.result().is_none() && plies.len() < config.longest {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let boards = Board::both(&position);
            let Some((table, left)) = seats.next(&boards) else {
                let winner = seats.flag(&boards).map(|loser| loser.after(1, 2));
                return Ok(Some(Game { start, winner, plies }));
            };
            let board = &boards[table as usize];
            let fen = board.position.fen();
            let answer = self.engine.go(&format!("fen {fen}"), &config.limits, config.patience)?;
            let best = board.ply(&answer.best).ok_or_else(|| self.illegal(&answer.best, &fen))?;
            let random = plies.len() < opening || self.is_random(plies.len(), &mut rng);
            board.position.legal_moves(&mut legal);
            let played = legal.choose(&mut rng).copied().filter(|_| random).unwrap_or(best);
            let text = |m| board.position.move_text(m);
            let number = table as usize + 1;
            let mut ply = format!("{number}{}:{}:{left:.1}", text(best), score(answer.score()));
            if played != best {
                ply += &format!("/{}", text(played));
            }
            plies.push(ply);
            seats.moved(table, board.color, left);
            position.play_unchecked(played.at(table));
        }
        let winner = position.result().and_then(|outcome| outcome.winner);
        Ok(Some(Game { start, winner, plies }))
    }
}

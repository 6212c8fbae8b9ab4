//! Forced wins in games of n in a row: after each move of the winner the others have to claim the cells with which it
//! threatens to complete rows.

use shakmaty::Bitboard;

use super::Grid;
use crate::rules::{Mate, Move, Rules, Side};

impl Grid {
    /// Searches for a win of the side to move in at most `turns` of its turns, the shortest first, playing at most
    /// `positions` moves. With gravity and three or more sides it finds only a win by the next move: a claimed cell
    /// may then open one for another side.
    pub(in crate::rules) fn find_win(&self, turns: u8, mut positions: u32) -> Option<Mate> {
        if turns == 0 || self.winner.is_some() {
            return None;
        }
        if let Some(m) = self.winning_move() {
            return Some(Mate { m, turns: 1 });
        }
        let longest = if self.rules.gravity && self.rules.sides > 2 { 1 } else { turns };
        (2..=longest)
            .find_map(|turns| self.forcing_move(turns, &mut positions).map(|m| Mate { m, turns }))
    }

    /// Returns a move with which the side to move completes a row.
    fn winning_move(&self) -> Option<Move> {
        self.winning_cells(self.turn).into_iter().next().map(Move::Place)
    }

    /// Returns the open cells with which a side would complete a row.
    fn winning_cells(&self, side: Side) -> Bitboard {
        let own = self.cells[side];
        self.open().into_iter().filter(|&to| self.has_row(own.with(to))).collect()
    }

    /// Returns a move after which the side to move, which cannot win at once, wins in `turns` turns.
    fn forcing_move(&self, turns: u8, positions: &mut u32) -> Option<Move> {
        let winner = self.turn;
        self.open().into_iter().map(Move::Place).find(|&m| {
            if *positions == 0 {
                return false;
            }
            *positions -= 1;
            let mut next = self.clone();
            next.play_unchecked(m);
            next.cannot_stop(winner, turns - 1, positions)
        })
    }

    /// Returns `true` if the sides from the one to move on cannot stop `winner`, which has `turns` more turns.
    fn cannot_stop(&self, winner: Side, turns: u8, positions: &mut u32) -> bool {
        if self.turn == winner {
            return self.winning_move().is_some()
                || turns > 1 && self.forcing_move(turns, positions).is_some();
        }
        let sides = self.rules.sides;
        let others = (0..sides).map(|turns| self.turn.after(turns, sides));
        let mut others = others.take_while(|&side| side != winner);
        let defenders = others.clone().count();
        if others.any(|side| self.winning_cells(side).any()) {
            return false;
        }
        let threats = self.winning_cells(winner);
        if threats.count() != defenders {
            return threats.count() > defenders;
        }
        // Each of the others has to claim one of these cells, or the winner has one left.
        threats.into_iter().all(|cell| {
            let mut next = self.clone();
            next.play_unchecked(Move::Place(cell));
            next.cannot_stop(winner, turns, positions)
        })
    }
}

//! The result of a match between two players.

use trainer::arena::statistics;

/// Games won, drawn and lost by the first player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost.
    pub lost: u64,
}

/// The Elo difference that the paper prints for a match in which one player scored all points.
const ELO_LIMIT: f64 = 700.0;

impl Score {
    /// Returns the score of the other player.
    pub fn reversed(self) -> Score {
        Score { won: self.lost, drawn: self.drawn, lost: self.won }
    }

    /// Returns the Elo difference of the share of points `(w + d/2) / n`, or `None` without games.
    ///
    /// This is the formula of the authors' program and of Table IV; the text of the paper has
    /// `(w + d) / n`. If one player scored all points, the difference is 700.
    pub fn elo(self) -> Option<f64> {
        let games = self.won + self.drawn + self.lost;
        if games == 0 {
            return None;
        }
        let share = (self.won as f64 + self.drawn as f64 / 2.0) / games as f64;
        Some(match share {
            0.0 => -ELO_LIMIT,
            1.0 => ELO_LIMIT,
            _ => statistics::elo(share),
        })
    }
}

//! Four players at two tables who think for made-up times.

use menagerie::rules::{ByColor, Color, Side, Table};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::readers::bpgn::Seat;
use crate::tables::Board;

/// A player thinks for a part of the time left: this one on average, or up to half as long again or
/// half as long, a habit of the player's.
const PART: f64 = 1.0 / 40.0;
/// Nobody thinks for more than such a part of the time left.
const LARGEST: f64 = 0.25;
/// .. or for less than so many seconds.
const SHORTEST: f64 = 0.1;

/// The clocks of the seats, and who moves when; all times in seconds since the game began.
pub(super) struct Seats {
    left: [ByColor<f64>; 2],
    pace: [ByColor<f64>; 2],
    /// When the player on turn at each table began to think, and will have thought enough.
    searcher: [(f64, f64); 2],
    now: f64,
    rng: ChaCha8Rng,
}

impl Seats {
    /// Each has so many seconds and begins to think if on turn, who is `on_turn` at each table.
    pub(super) fn new(seconds: f64, on_turn: [Color; 2], mut rng: ChaCha8Rng) -> Seats {
        let mut habit = || ByColor::new_with(|_| PART * rng.random_range(0.5..1.5));
        let pace = [habit(), habit()];
        let left = [0, 1].map(|_| ByColor::new_with(|_| seconds));
        let mut seats = Seats { left, pace, searcher: [(0.0, 0.0); 2], now: 0.0, rng };
        for (table, color) in Table::ALL.into_iter().zip(on_turn) {
            seats.think(table, color);
        }
        seats
    }

    /// Who moves next: the table, and what the mover has left then. `None` if nobody can, or one of
    /// those who wait for a man runs out of time before; see [`Seats::flag`].
    pub(super) fn next(&self, boards: &[Board; 2]) -> Option<(Table, f64)> {
        let (at, table) = self.mover(boards)?;
        let board = &boards[table as usize];
        let out = self.flag(boards).is_some();
        (!out).then(|| (table, self.at_flag(table, board) - at))
    }

    /// Whose time is out before anybody moves.
    pub(super) fn flag(&self, boards: &[Board; 2]) -> Option<Side> {
        let until = self.mover(boards).map_or(f64::INFINITY, |(at, _)| at);
        let runs = |table: &Table| !boards[*table as usize].drawn;
        let flags = Table::ALL.into_iter().filter(runs).map(|table| {
            let board = &boards[table as usize];
            (self.at_flag(table, board), Seat { board: table, color: board.color }.team())
        });
        let (at, team) = flags.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (at <= until && until.is_finite()).then_some(team)
    }

    /// The player on turn at `table` moves, with so many seconds left then.
    pub(super) fn moved(&mut self, table: Table, color: Color, left: f64) {
        let nth = table as usize;
        self.now = self.searcher[nth].0 + self.left[nth][color] - left;
        self.left[nth][color] = left;
        self.think(table, !color);
    }

    /// The first table at which somebody will have thought enough, and when.
    fn mover(&self, boards: &[Board; 2]) -> Option<(f64, Table)> {
        let open = Table::ALL.into_iter().filter(|&table| boards[table as usize].open);
        // Who had to wait for a man moves as soon as it is there.
        open.map(|table| (self.searcher[table as usize].1.max(self.now), table))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// When the player on turn at a table runs out of time.
    fn at_flag(&self, table: Table, board: &Board) -> f64 {
        let nth = table as usize;
        self.searcher[nth].0 + self.left[nth][board.color]
    }

    fn think(&mut self, table: Table, color: Color) {
        let nth = table as usize;
        let left = self.left[nth][color];
        // Times between events that come by chance.
        let chance: f64 = -(1.0 - self.rng.random::<f64>()).ln();
        let time = (left * self.pace[nth][color] * chance).min(left * LARGEST).max(SHORTEST);
        self.searcher[nth] = (self.now, self.now + time);
    }
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;
    use rand::SeedableRng;

    use super::*;

    const ON_TURN: [Color; 2] = [Color::White; 2];

    fn boards() -> [Board; 2] {
        let variant = Catalogue::shipped().get("bughouse2").expect("it is shipped");
        Board::both(&variant.start())
    }

    #[test]
    fn time_passes_at_both_tables() {
        let mut boards = boards();
        let mut seats = Seats::new(180.0, ON_TURN, ChaCha8Rng::seed_from_u64(1));
        let mut moves = [0; 2];
        for _ in 0..200 {
            let (table, left) = seats.next(&boards).expect("there is always time left");
            let (nth, before) = (table as usize, seats.now);
            let board = &mut boards[nth];
            assert!(left > 0.0 && left < seats.left[nth][board.color]);
            seats.moved(table, board.color, left);
            assert!(seats.now >= before);
            board.color = !board.color;
            moves[nth] += 1;
        }
        assert!(moves.iter().all(|&moves| moves > 20), "{moves:?}");
        // All the time that has passed is gone from the clocks of a table.
        for (nth, board) in boards.iter().enumerate() {
            let spent = 360.0 - seats.left[nth].white - seats.left[nth].black;
            assert!((spent - seats.searcher[nth].0).abs() < 1e-6, "{:?}", board.color);
        }
    }

    #[test]
    fn who_waits_in_vain_runs_out_of_time() {
        let mut boards = boards();
        boards[1].open = false;
        let mut seats = Seats::new(10.0, ON_TURN, ChaCha8Rng::seed_from_u64(1));
        while let Some((table, left)) = seats.next(&boards) {
            assert_eq!((table, seats.flag(&boards)), (Table::A, None));
            seats.moved(table, boards[0].color, left);
            boards[0].color = !boards[0].color;
        }
        // White at B is of the team that has Black at A.
        assert_eq!(seats.flag(&boards), Some(Side::BLACK));
        assert!(seats.now <= 10.0);
        // Nobody waits at a table that is drawn.
        boards[1].drawn = true;
        assert!(seats.next(&boards).is_some() && seats.flag(&boards).is_none());
        // If no seat can move the rules have ended the game.
        boards[0].open = false;
        assert!(seats.next(&boards).is_none() && seats.flag(&boards).is_none());
    }
}

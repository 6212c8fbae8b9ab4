//! Four clocks from what players had left after their moves.

use menagerie::rules::{ByColor, Clocks, Color, Table};

/// The clocks of a game at two tables, as its players told them.
pub(super) struct Times {
    /// What both players of a table had together at first, and what their moves have added since, in
    /// milliseconds.
    given: [i64; 2],
    /// What a move of each seat adds.
    increments: [ByColor<i64>; 2],
    /// What each seat had left when it moved last.
    left: [ByColor<i64>; 2],
    on_turn: [Color; 2],
}

fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}

impl Times {
    /// Of a game in which each player has so many seconds, and White begins.
    pub(super) fn new(seconds: f64) -> Times {
        Times::of(|_, _| (seconds, 0.0), [Color::White; 2])
    }

    /// Of a game in which `time` gives the seconds that a seat has and those that each of its moves
    /// adds.
    pub(super) fn of(time: impl Fn(Table, Color) -> (f64, f64), on_turn: [Color; 2]) -> Times {
        let all = |part: &dyn Fn((f64, f64)) -> f64| {
            Table::ALL
                .map(|table| ByColor::new_with(|color| milliseconds(part(time(table, color)))))
        };
        let (left, increments) = (all(&|time| time.0), all(&|time| time.1));
        let given = left.each_ref().map(|left| left.white + left.black);
        Times { given, increments, left, on_turn }
    }

    /// The seconds that a seat has left after its move.
    pub(super) fn tell(&mut self, table: Table, color: Color, seconds: f64) {
        let nth = table as usize;
        self.left[nth][color] = milliseconds(seconds);
        self.given[nth] += self.increments[nth][color];
        self.on_turn[nth] = !color;
    }

    /// The clocks at the moment of the last move at either table: the time that passed at one table
    /// since it was moved at has passed for the seat that is on turn there.
    pub(super) fn now(&self) -> Clocks {
        let both = |nth: usize| self.left[nth].white + self.left[nth].black;
        let passed = [0, 1].map(|nth| self.given[nth] - both(nth));
        let now = passed[0].max(passed[1]);
        Clocks(Table::ALL.map(|table| {
            let nth = table as usize;
            ByColor::new_with(|color| {
                let waited = if color == self.on_turn[nth] { now - passed[nth] } else { 0 };
                (self.left[nth][color] - waited).clamp(0, i64::from(u32::MAX)) as u32
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_for_whoever_is_on_turn() {
        let mut times = Times::new(60.0);
        times.tell(Table::A, Color::White, 58.5);
        let clocks = |times: &Times| times.now().0.map(|clock| (clock.white, clock.black));
        assert_eq!(clocks(&times), [(58_500, 60_000), (58_500, 60_000)]);
        times.tell(Table::B, Color::White, 58.0);
        // Black at A has been on turn for half a second.
        assert_eq!(clocks(&times), [(58_500, 59_500), (58_000, 60_000)]);
        times.tell(Table::A, Color::Black, 0.0);
        assert_eq!(clocks(&times), [(58_500, 0), (58_000, 500)]);
    }

    #[test]
    fn moves_add_their_increments() {
        let time = |table, _| if table == Table::A { (60.0, 1.0) } else { (30.0, 0.0) };
        let mut times = Times::of(time, [Color::Black, Color::White]);
        // It took two seconds.
        times.tell(Table::A, Color::Black, 59.0);
        let clocks = times.now().0.map(|clock| (clock.white, clock.black));
        assert_eq!(clocks, [(60_000, 59_000), (28_000, 30_000)]);
    }
}

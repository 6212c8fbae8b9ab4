//! Four clocks from what players had left after their moves.

use menagerie::rules::{ByColor, Clocks, Color, Table};

/// The clocks of a game at two tables, as its players told them.
pub(super) struct Times {
    start: i64,
    /// What each seat had left when it moved last, in milliseconds.
    left: [ByColor<i64>; 2],
    /// Who has moved last at each table.
    moved: [Option<Color>; 2],
}

impl Times {
    /// Of a game in which each player has so many seconds.
    pub(super) fn new(seconds: f64) -> Times {
        let start = (seconds * 1000.0) as i64;
        let left = ByColor { white: start, black: start };
        Times { start, left: [left, left], moved: [None; 2] }
    }

    /// The seconds that a seat has left after its move.
    pub(super) fn tell(&mut self, table: Table, color: Color, seconds: f64) {
        self.left[table as usize][color] = (seconds * 1000.0) as i64;
        self.moved[table as usize] = Some(color);
    }

    /// The clocks at the moment of the last move at either table: the time that passed at one table
    /// since it was moved at has passed for the seat that is on turn there.
    pub(super) fn now(&self) -> Clocks {
        let passed = self.left.each_ref().map(|left| 2 * self.start - left.white - left.black);
        let now = passed[0].max(passed[1]);
        Clocks(Table::ALL.map(|table| {
            let nth = table as usize;
            let on_turn = self.moved[nth].map_or(Color::White, |color| !color);
            ByColor::new_with(|color| {
                let waited = if color == on_turn { now - passed[nth] } else { 0 };
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
}

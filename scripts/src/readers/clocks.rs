//! The four clocks of bughouse, from the times left to the players after their moves.

use menagerie::rules::{BoardId, ByColor, Clocks, Color};

/// The clocks of a recorded game.
pub(super) struct RecordedClocks {
    /// The sum of the times of both players of each board at the start, and the increments since then, in
    /// milliseconds.
    given: [i64; 2],
    /// The increment of each seat.
    increments: [ByColor<i64>; 2],
    /// The time left to each seat after its last move.
    left: [ByColor<i64>; 2],
    to_move: [Color; 2],
}

/// The greatest time of a clock, some 31 years, so that sums of times do not overflow.
const MAX_MILLISECONDS: f64 = 1e12;

fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0).clamp(-MAX_MILLISECONDS, MAX_MILLISECONDS) as i64
}

impl RecordedClocks {
    /// Returns the clocks of a game in which each player has the same time and White moves first.
    pub(super) fn new(seconds: f64) -> RecordedClocks {
        RecordedClocks::with_times(|_, _| (seconds, 0.0), [Color::White; 2])
    }

    /// Returns the clocks of a game. `time` returns the seconds of a seat at the start, and those that each of
    /// its moves adds.
    pub(super) fn with_times(
        time: impl Fn(BoardId, Color) -> (f64, f64),
        to_move: [Color; 2],
    ) -> RecordedClocks {
        let times = BoardId::ALL.map(|board| ByColor::new_with(|color| time(board, color)));
        let each = |part: fn((f64, f64)) -> f64| {
            times.map(|times| times.map(|time| milliseconds(part(time))))
        };
        let left = each(|(base, _)| base);
        let increments = each(|(_, increment)| increment);
        let given = left.each_ref().map(|left| left.white + left.black);
        RecordedClocks { given, increments, left, to_move }
    }

    /// Sets the seconds left to a seat after its move.
    pub(super) fn set(&mut self, board: BoardId, color: Color, seconds: f64) {
        let nth = board as usize;
        self.left[nth][color] = milliseconds(seconds);
        self.given[nth] += self.increments[nth][color];
        self.to_move[nth] = !color;
    }

    /// Returns the clocks at the time of the last move on either board. The time since the last move of the other
    /// board has passed for the player to move there.
    pub(super) fn now(&self) -> Clocks {
        let left = |nth: usize| self.left[nth].white + self.left[nth].black;
        let passed = [0, 1].map(|nth| self.given[nth] - left(nth));
        let now = passed[0].max(passed[1]);
        Clocks(BoardId::ALL.map(|board| {
            let nth = board as usize;
            ByColor::new_with(|color| {
                let waited = if color == self.to_move[nth] { now - passed[nth] } else { 0 };
                (self.left[nth][color] - waited).clamp(0, i64::from(u32::MAX)) as u32
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_clocks_run_for_the_side_to_move() {
        let mut times = RecordedClocks::new(60.0);
        times.set(BoardId::A, Color::White, 58.5);
        let clocks = |times: &RecordedClocks| times.now().0.map(|clock| (clock.white, clock.black));
        assert_eq!(clocks(&times), [(58_500, 60_000), (58_500, 60_000)]);
        times.set(BoardId::B, Color::White, 58.0);
        // Black on A has been to move for half a second.
        assert_eq!(clocks(&times), [(58_500, 59_500), (58_000, 60_000)]);
        times.set(BoardId::A, Color::Black, 0.0);
        assert_eq!(clocks(&times), [(58_500, 0), (58_000, 500)]);
    }

    #[test]
    fn recorded_clocks_add_increments() {
        let time = |board, _| if board == BoardId::A { (60.0, 1.0) } else { (30.0, 0.0) };
        let mut times = RecordedClocks::with_times(time, [Color::Black, Color::White]);
        // The move took two seconds.
        times.set(BoardId::A, Color::Black, 59.0);
        let clocks = times.now().0.map(|clock| (clock.white, clock.black));
        assert_eq!(clocks, [(60_000, 59_000), (28_000, 30_000)]);
    }
}

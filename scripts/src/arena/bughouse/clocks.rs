//! The arithmetic of four running clocks.

use std::time::{Duration, Instant};

use menagerie::rules::{BoardId, ByColor, Clocks, Color, Side};

use crate::arena::spec::TimeControl;
use crate::readers::bpgn::Seat;

/// The clock of one seat, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    left: i64,
    increment: i64,
    /// The time by which it may be exceeded.
    margin: i64,
}

/// The four clocks of a game. On each board the clock of the player to move runs, also while that player sits.
#[derive(Clone, Debug)]
pub(super) struct BughouseClocks {
    clocks: [ByColor<Clock>; 2],
    /// The side to move of each board, and the start of its turn; `None` if the board is drawn.
    running: [Option<(Color, Instant)>; 2],
}

fn micros(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn elapsed_micros(since: Instant, at: Instant) -> i64 {
    i64::try_from(at.saturating_duration_since(since).as_micros()).unwrap_or(i64::MAX)
}

impl BughouseClocks {
    /// Returns clocks that start at `now` for the sides to move. `times` has the time control of each team, and
    /// the milliseconds by which it may be exceeded.
    pub(super) fn new(
        times: [(TimeControl, u64); 2],
        to_move: [Color; 2],
        now: Instant,
    ) -> BughouseClocks {
        let clocks = BoardId::ALL.map(|board| {
            ByColor::new_with(|color| {
                let (time, margin) = times[Seat { board, color }.team().index()];
                Clock {
                    left: micros(time.base),
                    increment: micros(time.increment),
                    margin: micros(margin),
                }
            })
        });
        BughouseClocks { clocks, running: to_move.map(|color| Some((color, now))) }
    }

    fn clock(&self, seat: Seat) -> Clock {
        self.clocks[seat.board as usize][seat.color]
    }

    /// Returns the microseconds left to a seat; below zero if the time is exceeded.
    fn micros(&self, seat: Seat, at: Instant) -> i64 {
        let left = self.clock(seat).left;
        match self.running[seat.board as usize] {
            Some((color, since)) if color == seat.color => left - elapsed_micros(since, at),
            _ => left,
        }
    }

    /// Returns the milliseconds left to a seat.
    pub(super) fn left(&self, seat: Seat, at: Instant) -> u64 {
        (self.micros(seat, at) / 1000).max(0).unsigned_abs()
    }

    /// Returns all four clocks, for a position.
    pub(super) fn all(&self, at: Instant) -> Clocks {
        Clocks(BoardId::ALL.map(|board| {
            ByColor::new_with(|color| {
                u32::try_from(self.left(Seat { board, color }, at)).unwrap_or(u32::MAX)
            })
        }))
    }

    /// Returns the milliseconds that a move adds to the clock of a seat.
    pub(super) fn increment(&self, seat: Seat) -> i64 {
        self.clock(seat).increment / 1000
    }

    /// Stops the clock of a seat that has moved, and starts that of `next`. Returns the milliseconds left to the
    /// mover, including the increment.
    pub(super) fn on_move(&mut self, seat: Seat, next: Option<Color>, at: Instant) -> u64 {
        // Time exceeded in earlier turns remains exceeded.
        let left = self.micros(seat, at);
        let clock = &mut self.clocks[seat.board as usize][seat.color];
        clock.left = left.saturating_add(clock.increment);
        self.running[seat.board as usize] = next.map(|color| (color, at));
        self.left(seat, at)
    }

    /// Returns the time at which the flag of each running clock falls, if no move is played.
    fn flag_falls(&self) -> impl Iterator<Item = (Seat, Instant)> {
        BoardId::ALL.into_iter().filter_map(|board| {
            let (color, since) = self.running[board as usize]?;
            let seat = Seat { board, color };
            let clock = self.clock(seat);
            let left = clock.left.saturating_add(clock.margin).max(0).unsigned_abs();
            // A time beyond the range of `Instant` is never reached.
            Some((seat, since.checked_add(Duration::from_micros(left))?))
        })
    }

    /// Returns the time at which the next flag falls, if no move is played.
    pub(super) fn next_flag_fall(&self) -> Option<Instant> {
        self.flag_falls().map(|(_, fall)| fall).min()
    }

    /// Returns the seats whose flags fell first, until `now`: several if they fell in the same millisecond.
    pub(super) fn fallen_flags(&self, now: Instant) -> Vec<Seat> {
        let Some(first) = self.next_flag_fall() else { return Vec::new() };
        if first > now {
            return Vec::new();
        }
        let tolerance = Duration::from_millis(1);
        let is_first = |fall: Instant| fall <= now && fall.duration_since(first) < tolerance;
        self.flag_falls().filter(|&(_, fall)| is_first(fall)).map(|(seat, _)| seat).collect()
    }

    /// Returns the team that has more time, and therefore may sit. The clocks compared are those of a player and of
    /// the opponent of the same colour on the other board.
    pub(super) fn team_ahead(&self, at: Instant) -> Side {
        let time = |board, color| self.micros(Seat { board, color }, at);
        let lead = |color| time(BoardId::A, color) - time(BoardId::B, color);
        // White on the first board and Black on the second one are a team.
        if lead(Color::White) > lead(Color::Black) { Side::WHITE } else { Side::BLACK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(board: BoardId, color: Color) -> Seat {
        Seat { board, color }
    }

    fn start_clocks(base: [u64; 2], increment: u64, margin: u64, now: Instant) -> BughouseClocks {
        let times = base.map(|base| (TimeControl { base, increment }, margin));
        BughouseClocks::new(times, [Color::White; 2], now)
    }

    #[test]
    fn bughouse_clocks_run_for_the_side_to_move() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut clocks = start_clocks([10_000, 8_000], 100, 0, now);
        let white = seat(BoardId::A, Color::White);
        let black = seat(BoardId::A, Color::Black);
        assert_eq!(
            (clocks.left(white, after(500)), clocks.left(black, after(500))),
            (9_500, 8_000)
        );
        assert_eq!(clocks.on_move(white, Some(Color::Black), after(500)), 9_600);
        let all = clocks.all(after(1_000)).0.map(|clock| (clock.white, clock.black));
        assert_eq!(all, [(9_600, 7_500), (7_000, 10_000)]);
        assert_eq!(clocks.team_ahead(after(1_000)), Side::WHITE);
        // No clock runs on a drawn board.
        clocks.on_move(black, None, after(1_000));
        assert_eq!(clocks.left(black, after(60_000)), 7_600);
        assert_eq!(clocks.next_flag_fall(), Some(after(8_000)));
    }

    #[test]
    fn bughouse_clocks_return_the_first_flags() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let clocks = start_clocks([2_000, 2_000], 0, 50, now);
        assert!(clocks.fallen_flags(after(2_049)).is_empty());
        let both = [seat(BoardId::A, Color::White), seat(BoardId::B, Color::White)];
        assert_eq!(clocks.fallen_flags(after(2_050)), both);
        let mut later = clocks.clone();
        later.on_move(both[1], Some(Color::Black), after(1_000));
        // Both flags have fallen, but one of them a second before the other.
        assert_eq!(later.fallen_flags(after(9_000)), [both[0]]);
        assert_eq!(later.left(both[0], after(9_000)), 0);
    }

    #[test]
    fn bughouse_clocks_grant_the_margin_once() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut clocks = start_clocks([1_000, 9_000], 0, 50, now);
        let white = seat(BoardId::A, Color::White);
        let black = seat(BoardId::A, Color::Black);
        assert_eq!(clocks.on_move(white, Some(Color::Black), after(1_040)), 0);
        clocks.on_move(black, Some(Color::White), after(2_000));
        assert!(clocks.fallen_flags(after(2_009)).is_empty());
        assert_eq!(clocks.fallen_flags(after(2_010)), [white]);
    }
}

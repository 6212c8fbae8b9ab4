//! Four clocks that run: arithmetic only, nothing is timed here.

use std::time::{Duration, Instant};

use menagerie::rules::{ByColor, Clocks, Color, Side, Table};

use crate::arena::spec::TimeControl;
use crate::readers::bpgn::Seat;

/// A clock of one seat, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    left: i64,
    increment: i64,
    /// What it may overstep.
    margin: i64,
}

/// The four clocks of a game. At each table that of the seat on turn runs, also while it sits.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    clocks: [ByColor<Clock>; 2],
    /// Who is on turn at each table, and since when; nobody where the table's game is drawn.
    running: [Option<(Color, Instant)>; 2],
}

fn micros(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn passed(since: Instant, at: Instant) -> i64 {
    i64::try_from(at.saturating_duration_since(since).as_micros()).unwrap_or(i64::MAX)
}

impl Watch {
    /// Clocks that begin at `now` for whoever is on turn; each team has its time and the
    /// milliseconds by which it may overstep it.
    pub(super) fn new(times: [(TimeControl, u64); 2], on_turn: [Color; 2], now: Instant) -> Watch {
        let clocks = Table::ALL.map(|board| {
            ByColor::new_with(|color| {
                let (time, margin) = times[Seat { board, color }.team().index()];
                let (left, increment) = (micros(time.base), micros(time.increment));
                Clock { left, increment, margin: micros(margin) }
            })
        });
        Watch { clocks, running: on_turn.map(|color| Some((color, now))) }
    }

    fn clock(&self, seat: Seat) -> Clock {
        self.clocks[seat.board as usize][seat.color]
    }

    /// The microseconds that a seat has left; below zero if it has overstepped.
    fn micros(&self, seat: Seat, at: Instant) -> i64 {
        let left = self.clock(seat).left;
        match self.running[seat.board as usize] {
            Some((color, since)) if color == seat.color => left - passed(since, at),
            _ => left,
        }
    }

    /// The milliseconds that a seat has left.
    pub(super) fn left(&self, seat: Seat, at: Instant) -> u64 {
        (self.micros(seat, at) / 1000).max(0).unsigned_abs()
    }

    /// All four, as data of a position.
    pub(super) fn all(&self, at: Instant) -> Clocks {
        Clocks(Table::ALL.map(|board| {
            ByColor::new_with(|color| {
                u32::try_from(self.left(Seat { board, color }, at)).unwrap_or(u32::MAX)
            })
        }))
    }

    /// What a move adds to the clock of a seat, in milliseconds.
    pub(super) fn increment(&self, seat: Seat) -> i64 {
        self.clock(seat).increment / 1000
    }

    /// A seat has moved: its clock stops, that of `next` runs. Gives the milliseconds that it has
    /// left, with what the move adds.
    pub(super) fn moved(&mut self, seat: Seat, next: Option<Color>, at: Instant) -> u64 {
        // What was overstepped before is overstepped still.
        let left = self.micros(seat, at);
        let clock = &mut self.clocks[seat.board as usize][seat.color];
        clock.left = left.saturating_add(clock.increment);
        self.running[seat.board as usize] = next.map(|color| (color, at));
        self.left(seat, at)
    }

    /// When the flag of each seat whose clock runs falls, as long as nobody moves.
    fn falls(&self) -> impl Iterator<Item = (Seat, Instant)> {
        Table::ALL.into_iter().filter_map(|board| {
            let (color, since) = self.running[board as usize]?;
            let seat = Seat { board, color };
            let clock = self.clock(seat);
            let left = clock.left.saturating_add(clock.margin).max(0).unsigned_abs();
            // A time that no calendar holds is never reached.
            Some((seat, since.checked_add(Duration::from_micros(left))?))
        })
    }

    /// When the next flag falls, if nobody moves.
    pub(super) fn next_fall(&self) -> Option<Instant> {
        self.falls().map(|(_, fall)| fall).min()
    }

    /// The seats whose flags have fallen first until `now`: more than one if they fell in the same
    /// millisecond, none if all have time.
    pub(super) fn fallen(&self, now: Instant) -> Vec<Seat> {
        let Some(first) = self.next_fall().filter(|&fall| fall <= now) else { return Vec::new() };
        let same = Duration::from_millis(1);
        let fell = |fall: Instant| fall <= now && fall.duration_since(first) < same;
        self.falls().filter(|&(_, fall)| fell(fall)).map(|(seat, _)| seat).collect()
    }

    /// The team that has more time where its member and the opponent of the same colour at the other
    /// table would wait for one another, by all such pairs.
    pub(super) fn leader(&self, at: Instant) -> Side {
        let time = |board, color| self.micros(Seat { board, color }, at);
        let lead = |color| time(Table::A, color) - time(Table::B, color);
        // White at the first table and Black at the second are one team.
        if lead(Color::White) > lead(Color::Black) { Side::WHITE } else { Side::BLACK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(board: Table, color: Color) -> Seat {
        Seat { board, color }
    }

    fn watch(base: [u64; 2], increment: u64, margin: u64, now: Instant) -> Watch {
        let times = base.map(|base| (TimeControl { base, increment }, margin));
        Watch::new(times, [Color::White; 2], now)
    }

    #[test]
    fn clocks_run_for_whoever_is_on_turn() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut watch = watch([10_000, 8_000], 100, 0, now);
        let (white, black) = (seat(Table::A, Color::White), seat(Table::A, Color::Black));
        assert_eq!((watch.left(white, after(500)), watch.left(black, after(500))), (9_500, 8_000));
        assert_eq!(watch.moved(white, Some(Color::Black), after(500)), 9_600);
        let clocks = watch.all(after(1_000)).0.map(|clock| (clock.white, clock.black));
        assert_eq!(clocks, [(9_600, 7_500), (7_000, 10_000)]);
        assert_eq!(watch.leader(after(1_000)), Side::WHITE);
        // A table that is drawn has no clock that runs.
        watch.moved(black, None, after(1_000));
        assert_eq!(watch.left(black, after(60_000)), 7_600);
        assert_eq!(watch.next_fall(), Some(after(8_000)));
    }

    #[test]
    fn the_first_flag_counts_and_two_at_once_are_both() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let watch = watch([2_000, 2_000], 0, 50, now);
        assert!(watch.fallen(after(2_049)).is_empty());
        let both = [seat(Table::A, Color::White), seat(Table::B, Color::White)];
        assert_eq!(watch.fallen(after(2_050)), both);
        let mut later = watch.clone();
        later.moved(both[1], Some(Color::Black), after(1_000));
        // Both have fallen by then, but one a second before the other.
        assert_eq!(later.fallen(after(9_000)), [both[0]]);
        assert_eq!(later.left(both[0], after(9_000)), 0);
    }

    #[test]
    fn the_margin_is_there_once() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut watch = watch([1_000, 9_000], 0, 50, now);
        let (white, black) = (seat(Table::A, Color::White), seat(Table::A, Color::Black));
        assert_eq!(watch.moved(white, Some(Color::Black), after(1_040)), 0);
        watch.moved(black, Some(Color::White), after(2_000));
        assert!(watch.fallen(after(2_009)).is_empty());
        assert_eq!(watch.fallen(after(2_010)), [white]);
    }
}

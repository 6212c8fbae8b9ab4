//! Games at two tables by real clocks: both tables play at the same time, and the four clocks run as
//! at a chess server. Engines that speak UCI of two boards play both seats of a team, engines of
//! XBoard's protocol one seat a process.
//!
//! - `team`: what the referee asks of a team; `uci_team`, `xboard_pair`: teams.
//! - `clocks`: four clocks that run.
//! - [`bpgn`]: games as others read them.
//!
//! The referee below knows the rules and the time; who lets a clock run out, plays an illegal move
//! or ends loses for its team. A table at which the game is drawn is left alone, and the other goes
//! on.

pub mod bpgn;
mod clocks;
mod team;
mod uci_team;
mod xboard_pair;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use menagerie::rules::{ByColor, ByRole, Color, Outcome, Position, Role, Side, Table};
use menagerie::variant::Variant;

use self::clocks::Watch;
use self::team::{Ply, Said, Situation, Team};
use self::uci_team::UciTeam;
use self::xboard_pair::XboardPair;
use super::game::{Played, result};
use super::spec::{Kind, PlayerSpec, TimeControl};
use crate::engine_process::EngineError;
use crate::readers::bpgn::Seat;

/// The end of a game by a flag.
const TIME: &str = "time";
/// Whoever wants to end a match is heard within this time.
const TICK: Duration = Duration::from_millis(200);

/// Wakes whoever waits for engines.
#[derive(Clone, Debug)]
struct Wake(Sender<()>);

impl Wake {
    /// What an engine calls when it has said something.
    fn caller(&self) -> impl Fn() + Send + 'static {
        let sender = self.0.clone();
        move || {
            // Nobody waits any more when a match is over.
            let _ = sender.send(());
        }
    }
}

/// The teams of a match, and the referee of their games; on one thread.
pub struct Referee {
    teams: Vec<Box<dyn Team>>,
    times: Vec<(TimeControl, u64)>,
    wakes: Receiver<()>,
}

/// Whether players ask for games by real clocks, which is for two tables only.
pub fn timed(variant: &Variant, players: &[PlayerSpec]) -> bool {
    variant.has_tables() && players.iter().any(|player| player.tc.is_some())
}

/// Whether players can play a game of two tables.
///
/// # Errors
/// In words, why not.
pub fn check(variant: &Variant, players: &[PlayerSpec]) -> anyhow::Result<()> {
    if timed(variant, players) {
        let able = |player: &&PlayerSpec| player.kind.outside() && player.tc.is_some();
        if let Some(player) = players.iter().find(|player| !able(player)) {
            anyhow::bail!(
                "by clocks at two tables play uci:FILE,tc=60+0 and xboard:FILE,tc=60+0, not {player}"
            );
        }
        let any_order = variant.start().ask(Side::WHITE);
        anyhow::ensure!(any_order, "{} has an order of moves, not clocks", variant.name());
        return Ok(());
    }
    let xboard = |player: &&PlayerSpec| player.kind == Kind::Xboard;
    match players.iter().find(xboard).filter(|_| variant.has_tables()) {
        Some(player) => {
            anyhow::bail!("at two tables XBoard engines need a clock, tc=60+0: {player}")
        }
        None => Ok(()),
    }
}

impl fmt::Debug for Referee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Referee").field("times", &self.times).finish_non_exhaustive()
    }
}

impl Referee {
    /// The referee of a match; [`check`] has seen its players.
    pub fn new(variant: &Variant, players: &[PlayerSpec]) -> Referee {
        let (sender, wakes) = mpsc::channel();
        let wake = Wake(sender);
        let team = |spec: &PlayerSpec| -> Box<dyn Team> {
            if spec.kind == Kind::Xboard {
                Box::new(XboardPair::new(&variant.look().template, spec, wake.clone()))
            } else {
                Box::new(UciTeam::new(variant.name(), spec, wake.clone()))
            }
        };
        let none = TimeControl { base: 0, increment: 0 };
        let time = |spec: &PlayerSpec| (spec.tc.unwrap_or(none), spec.margin.unwrap_or(0));
        let (teams, times) = (players.iter().map(team), players.iter().map(time));
        Referee { teams: teams.collect(), times: times.collect(), wakes }
    }

    /// Plays game `number` from `start`; `seats` tells which entry of the match is which side.
    /// `None` if it was broken off by `stop`.
    ///
    /// # Errors
    /// If an engine cannot be started, or does not play this game.
    pub fn play(
        &mut self,
        seats: &[usize],
        start: &Position,
        number: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Played>> {
        let &[first, second] = seats else { anyhow::bail!("two teams, not {}", seats.len()) };
        let times = [self.times[first], self.times[second]];
        let watch = |on_turn| Watch::new(times, on_turn, Instant::now());
        // Clocks begin when both teams are ready.
        let ready = Situation::new(start, watch);
        for (side, seat) in [(Side::WHITE, first), (Side::BLACK, second)] {
            self.teams[seat].begin(side, &ready)?;
        }
        let game = Situation::new(start, watch);
        let mut played = Game { game, left: Vec::new() };
        let Some(end) = self.referee([first, second], &mut played, stop) else { return Ok(None) };
        let Game { game, left } = played;
        let scores: Vec<i8> = Side::all(2).map(|side| end.score(side)).collect();
        let white = result(&scores);
        let black = result(&[scores[1], scores[0]]);
        for &seat in seats {
            self.teams[seat].end([white, black], &end.why);
        }
        let detail = end.detail(&game);
        let End { why, .. } = end;
        let (seats, start, turns) = (seats.to_vec(), game.start, game.plies);
        Ok(Some(Played { number, seats, scores, end: why, detail, start, turns, left }))
    }

    /// Sees to it that a game is played until its end; `None` if it was broken off.
    fn referee(&mut self, teams: [usize; 2], played: &mut Game, stop: &AtomicBool) -> Option<End> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            self.ask(teams, &played.game);
            let now = Instant::now();
            let wakes = teams.iter().filter_map(|&team| self.teams[team].wake());
            let next = wakes.chain(played.game.watch.next_fall()).min();
            let left = next.map_or(TICK, |next| next.saturating_duration_since(now));
            // Whether somebody called or time has passed is looked at below.
            let _ = self.wakes.recv_timeout(left.min(TICK));
            self.wakes.try_iter().for_each(drop);
            let mut said = Vec::new();
            for (side, team) in Side::all(2).zip(teams) {
                let heard = self.teams[team].hear().into_iter();
                said.extend(heard.map(|(at, said)| (at, side, said)));
            }
            said.sort_by_key(|&(at, ..)| at);
            for (at, side, said) in said {
                if let Some(end) = played.flag(at) {
                    return Some(end);
                }
                if let Some(end) = self.obey(teams, played, side, said, at) {
                    return Some(end);
                }
                self.ask(teams, &played.game);
            }
            if let Some(end) = played.flag(Instant::now()) {
                return Some(end);
            }
        }
    }

    fn ask(&mut self, teams: [usize; 2], game: &Situation) {
        for team in teams {
            self.teams[team].ask(game, Instant::now());
        }
    }

    /// Does what a team says; gives the end that comes of it.
    fn obey(
        &mut self,
        teams: [usize; 2],
        played: &mut Game,
        side: Side,
        said: Said,
        at: Instant,
    ) -> Option<End> {
        let mut moves = match said {
            Said::Moves(moves) => moves,
            Said::Fails(why, detail, table) => return Some(End::fault(side, why, table, &detail)),
        };
        while !moves.is_empty() {
            let legal = moves.iter().enumerate().find_map(|(nth, (table, text))| {
                let able = played.game.may_move(side, *table);
                Some((nth, *table, played.game.ply(*table, text).filter(|_| able)?))
            });
            let Some((nth, board, m)) = legal else {
                let (table, text) = moves.swap_remove(0);
                let detail = format!("\"{text}\"");
                return Some(End::fault(side, "illegal move", Some(table), &detail));
            };
            moves.remove(nth);
            let color = played.game.board(board).color;
            let seat = Seat { board, color };
            let before = played.game.board(board).position.clone();
            let hands = hands(&played.game);
            played.left.push(played.game.play(seat, m, at));
            let gives = gained(&hands, &played.game, board.other());
            if let Some(outcome) = played.game.position.outcome() {
                return Some(End::ruled(outcome, &played.game));
            }
            let ply = Ply { seat, m, before: &before, gives };
            for team in teams {
                self.teams[team].played(ply, &played.game, Instant::now());
            }
        }
        None
    }
}

/// A game in play, and what movers had left after their moves, in milliseconds.
struct Game {
    game: Situation,
    left: Vec<u64>,
}

impl Game {
    /// The end by flags that have fallen until `at`: the first loses, and two of one moment for
    /// nobody.
    fn flag(&self, at: Instant) -> Option<End> {
        let fallen = self.game.watch.fallen(at);
        let first = *fallen.first()?;
        let both = fallen.iter().any(|seat| seat.team() != first.team());
        Some(match both {
            true => End { loser: None, seat: None, why: TIME.to_owned(), more: String::new() },
            false => End::fault(first.team(), TIME, None, "").at(first),
        })
    }
}

/// How a game ended.
struct End {
    loser: Option<Side>,
    /// The seat that lost it, if it is of one.
    seat: Option<Seat>,
    why: String,
    more: String,
}

impl End {
    /// A team loses by its own fault, at a table if that is known.
    fn fault(side: Side, why: &str, table: Option<Table>, more: &str) -> End {
        let seat = table.map(|board| Seat::of(side, board));
        // It may quote what a broken engine said: one line it shall be.
        let more = more.replace(|letter: char| letter.is_control(), " ");
        End { loser: Some(side), seat, why: why.to_owned(), more }
    }

    fn at(self, seat: Seat) -> End {
        End { seat: Some(seat), ..self }
    }

    /// What the rules say.
    fn ruled(outcome: Outcome, game: &Situation) -> End {
        let loser = outcome.winner.map(|winner| winner.after(1, 2));
        // Where it ended: whoever has lost is on turn there, and has no move.
        let stuck = Table::ALL.into_iter().find(|&table| {
            let board = game.board(table);
            let seat = Seat { board: table, color: board.color };
            loser == Some(seat.team()) && !board.open && !board.drawn
        });
        let seat = loser.zip(stuck).map(|(side, board)| Seat::of(side, board));
        End { loser, seat, why: outcome.reason.to_string(), more: String::new() }
    }

    fn score(&self, side: Side) -> i8 {
        match self.loser {
            None => 0,
            Some(loser) if loser == side => -1,
            Some(_) => 1,
        }
    }

    /// The seat, what is to be said beside, and the position.
    fn detail(&self, game: &Situation) -> String {
        if self.loser.is_none() && self.why != TIME {
            return String::new();
        }
        let seat = self.seat.map_or("both flags", Seat::name);
        let seat = if self.loser.is_some() && self.seat.is_none() { "the team" } else { seat };
        let parts = [seat, &self.more, "in", &game.position.fen()].map(str::to_owned);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// What is wrong with an engine that cannot be used any more.
fn broken(error: &EngineError, table: Option<Table>) -> Said {
    Said::Fails("crash", error.to_string(), table)
}

/// What is in hand at each table.
type Hands = [Option<ByColor<ByRole<u8>>>; 2];

fn hands(game: &Situation) -> Hands {
    Table::ALL.map(|table| game.board(table).position.view().hands.copied())
}

/// The man that has come to a hand at a table.
fn gained(before: &Hands, game: &Situation, table: Table) -> Option<(Color, Role)> {
    let old = before[table as usize]?;
    let new = game.board(table).position.view().hands?;
    let mut all = Color::ALL.into_iter().flat_map(|color| Role::ALL.map(|role| (color, role)));
    all.find(|&(color, role)| new[color][role] > old[color][role])
}

//! Bughouse with running clocks: both boards are played at the same time, and the four clocks run as on a chess
//! server. A UCI engine plays both seats of a team in one process; XBoard engines play one seat per process.
//!
//! - `team`: the interface of a team; `uci_team`, `xboard_pair`: teams.
//! - `clocks`: four running clocks.
//! - [`bpgn`]: games in BPGN.
//!
//! The referee below applies the rules and the clocks. A team loses if one of its clocks runs out, it plays an
//! illegal move or its process ends. If the game of one board is drawn, the other board goes on.

pub mod bpgn;
mod clocks;
mod team;
mod uci_team;
mod xboard_pair;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use menagerie::rules::{BoardId, ByColor, ByRole, Color, Outcome, Position, Role, Side};
use menagerie::variant::Variant;

use self::clocks::BughouseClocks;
use self::team::{BughouseGame, PlayedPly, Team, TeamEvent};
use self::uci_team::UciTeam;
use self::xboard_pair::XboardPair;
use super::game::{CRASH, Played, result};
use super::spec::{PlayerKind, PlayerSpec, TimeControl};
use crate::engine_process::EngineError;
use crate::readers::bpgn::Seat;

/// The reason of an end by a flag.
const END_BY_TIME: &str = "time";
/// Interval at which the referee checks whether the match has to stop.
const STOP_POLL: Duration = Duration::from_millis(200);

/// Wakes the thread that waits for the engines of a game.
#[derive(Clone, Debug)]
struct WakeSender(Sender<()>);

impl WakeSender {
    /// Returns the function that an engine calls after each line.
    fn callback(&self) -> impl Fn() + Send + 'static {
        let sender = self.0.clone();
        move || {
            // The receiver is gone after the end of a match.
            let _ = sender.send(());
        }
    }
}

/// The teams of a match and the referee of their games, on one thread.
pub struct Referee {
    teams: Vec<Box<dyn Team>>,
    times: Vec<(TimeControl, u64)>,
    wakes: Receiver<()>,
}

/// Returns `true` if bughouse is played with running clocks.
pub fn timed(variant: &Variant, players: &[PlayerSpec]) -> bool {
    variant.has_two_boards() && players.iter().any(|player| player.tc.is_some())
}

/// Checks that players can play a variant with two boards.
///
/// # Errors
/// If they cannot.
pub fn check(variant: &Variant, players: &[PlayerSpec]) -> anyhow::Result<()> {
    if timed(variant, players) {
        let has_clock = |player: &PlayerSpec| player.kind.is_external() && player.tc.is_some();
        if let Some(player) = players.iter().find(|player| !has_clock(player)) {
            anyhow::bail!(
                "bughouse with clocks is for players such as uci:FILE,tc=60+0 and xboard:FILE,tc=60+0, \
                 not for {player}"
            );
        }
        let any_order = variant.start().set_side_to_move(Side::BLACK);
        anyhow::ensure!(any_order, "{} has a fixed order of moves, not clocks", variant.name());
        return Ok(());
    }
    if variant.has_two_boards()
        && let Some(player) = players.iter().find(|player| player.kind == PlayerKind::Xboard)
    {
        anyhow::bail!("XBoard engines need a clock in bughouse, such as tc=60+0: {player}");
    }
    Ok(())
}

impl fmt::Debug for Referee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Referee").field("times", &self.times).finish_non_exhaustive()
    }
}

impl Referee {
    /// Returns the referee of a match whose players [`check`] accepted.
    pub fn new(variant: &Variant, players: &[PlayerSpec]) -> Referee {
        let (sender, wakes) = mpsc::channel();
        let wake = WakeSender(sender);
        let mut teams: Vec<Box<dyn Team>> = Vec::new();
        let mut times = Vec::new();
        for spec in players {
            teams.push(if spec.kind == PlayerKind::Xboard {
                Box::new(XboardPair::new(&variant.display().template, spec, wake.clone()))
            } else {
                Box::new(UciTeam::new(variant.name(), spec, wake.clone()))
            });
            let none = TimeControl { base: 0, increment: 0 };
            times.push((spec.tc.unwrap_or(none), spec.margin.unwrap_or(0)));
        }
        Referee { teams, times, wakes }
    }

    /// Plays game `number` from `start`. `seats` has the index of the player of each side. Returns `None` if `stop`
    /// was set before the end.
    ///
    /// # Errors
    /// If an engine cannot be started, or does not play this variant.
    pub fn play(
        &mut self,
        seats: &[usize],
        start: &Position,
        number: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Played>> {
        let &[first, second] = seats else { anyhow::bail!("2 teams, not {}", seats.len()) };
        let times = [self.times[first], self.times[second]];
        let start_clocks = |to_move| BughouseClocks::new(times, to_move, Instant::now());
        let prepared = BughouseGame::new(start, start_clocks);
        for (side, seat) in [(Side::WHITE, first), (Side::BLACK, second)] {
            self.teams[seat].begin(side, &prepared)?;
        }
        // The clocks start when both teams are ready.
        let game = BughouseGame::new(start, start_clocks);
        let mut record = GameRecorder { game, left: Vec::new() };
        let Some(end) = self.referee([first, second], &mut record, stop) else { return Ok(None) };
        let GameRecorder { game, left } = record;
        let scores: Vec<i8> = Side::all(2).map(|side| end.score(side)).collect();
        let white = result(&scores);
        let black = result(&[scores[1], scores[0]]);
        for &seat in seats {
            self.teams[seat].end([white, black], &end.reason);
        }
        Ok(Some(Played {
            number,
            seats: seats.to_vec(),
            scores,
            detail: end.detail(&game),
            end: end.reason,
            start: game.start,
            turns: game.plies,
            left,
        }))
    }

    /// Lets the teams play until the end of the game. Returns `None` if `stop` was set.
    fn referee(
        &mut self,
        teams: [usize; 2],
        record: &mut GameRecorder,
        stop: &AtomicBool,
    ) -> Option<GameEnd> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            self.update(teams, &record.game);
            let now = Instant::now();
            let updates = teams.iter().filter_map(|&team| self.teams[team].next_update());
            let next = updates.chain(record.game.clocks.next_flag_fall()).min();
            let timeout = next.map_or(STOP_POLL, |next| next.saturating_duration_since(now));
            // The events and the clocks are checked below, whether or not the wait was cut short.
            let _ = self.wakes.recv_timeout(timeout.min(STOP_POLL));
            while self.wakes.try_recv().is_ok() {}
            let mut events = Vec::new();
            for (side, team) in Side::all(2).zip(teams) {
                let team_events = self.teams[team].events().into_iter();
                events.extend(team_events.map(|(at, event)| (at, side, event)));
            }
            events.sort_by_key(|&(at, ..)| at);
            for (at, side, event) in events {
                if let Some(end) = record.end_by_flag(at) {
                    return Some(end);
                }
                if let Some(end) = self.handle(teams, record, side, event, at) {
                    return Some(end);
                }
                self.update(teams, &record.game);
            }
            if let Some(end) = record.end_by_flag(Instant::now()) {
                return Some(end);
            }
        }
    }

    fn update(&mut self, teams: [usize; 2], game: &BughouseGame) {
        for team in teams {
            self.teams[team].update(game, Instant::now());
        }
    }

    /// Handles an event of a team, and returns the end of the game if there is one.
    fn handle(
        &mut self,
        teams: [usize; 2],
        record: &mut GameRecorder,
        side: Side,
        event: TeamEvent,
        at: Instant,
    ) -> Option<GameEnd> {
        let mut moves = match event {
            TeamEvent::Moves(moves) => moves,
            TeamEvent::Fault(reason, detail, board) => {
                return Some(GameEnd::fault(side, reason, board, &detail));
            }
        };
        while !moves.is_empty() {
            let legal = moves.iter().enumerate().find_map(|(index, (board, text))| {
                if !record.game.may_move(side, *board) {
                    return None;
                }
                Some((index, *board, record.game.parse_ply(*board, text)?))
            });
            let Some((index, board, m)) = legal else {
                let (board, text) = moves.swap_remove(0);
                let detail = format!("\"{text}\"");
                return Some(GameEnd::fault(side, "illegal move", Some(board), &detail));
            };
            moves.remove(index);
            let seat = Seat { board, color: record.game.board(board).color };
            let before = record.game.board(board).position.clone();
            let pockets_before = pockets(&record.game);
            record.left.push(record.game.play(seat, m, at));
            if let Some(outcome) = record.game.position.outcome() {
                return Some(GameEnd::by_rules(outcome, &record.game));
            }
            let captured = added_piece(&pockets_before, &record.game, board.other());
            let ply = PlayedPly { seat, m, before: &before, captured };
            for team in teams {
                self.teams[team].on_ply(ply, &record.game, Instant::now());
            }
        }
        None
    }
}

/// A game in progress, and the milliseconds left to the mover after each ply.
struct GameRecorder {
    game: BughouseGame,
    left: Vec<u64>,
}

impl GameRecorder {
    /// Returns the end of the game if a flag has fallen until `at`. The first flag loses; if flags of both teams
    /// fall at the same time, the game is drawn.
    fn end_by_flag(&self, at: Instant) -> Option<GameEnd> {
        let fallen = self.game.clocks.fallen_flags(at);
        let first = *fallen.first()?;
        let is_draw = fallen.iter().any(|seat| seat.team() != first.team());
        let loser = if is_draw { None } else { Some(first.team()) };
        let seat = if is_draw { None } else { Some(first) };
        Some(GameEnd { loser, seat, reason: END_BY_TIME.to_owned(), text: String::new() })
    }
}

/// The end of a game.
struct GameEnd {
    loser: Option<Side>,
    /// The seat of the loser, if only one is affected.
    seat: Option<Seat>,
    reason: String,
    /// Details of a fault.
    text: String,
}

impl GameEnd {
    /// Returns the end by a fault of a team, on a board if that is known.
    fn fault(side: Side, reason: &str, board: Option<BoardId>, text: &str) -> GameEnd {
        let seat = board.map(|board| Seat::of(side, board));
        // Text of a broken engine is kept on one line.
        let text = text.replace(|letter: char| letter.is_control(), " ");
        GameEnd { loser: Some(side), seat, reason: reason.to_owned(), text }
    }

    /// Returns the end by the rules.
    fn by_rules(outcome: Outcome, game: &BughouseGame) -> GameEnd {
        let loser = outcome.winner.map(|winner| winner.after(1, 2));
        // The game ended on the board on which the loser is to move and has no move.
        let board = BoardId::ALL.into_iter().find(|&board| {
            let state = game.board(board);
            let seat = Seat { board, color: state.color };
            loser == Some(seat.team()) && !state.has_moves && !state.drawn
        });
        let seat = loser.zip(board).map(|(side, board)| Seat::of(side, board));
        GameEnd { loser, seat, reason: outcome.reason.to_string(), text: String::new() }
    }

    fn score(&self, side: Side) -> i8 {
        match self.loser {
            None => 0,
            Some(loser) if loser == side => -1,
            Some(_) => 1,
        }
    }

    /// Returns the seat, the details and the position. Empty for draws by the rules.
    fn detail(&self, game: &BughouseGame) -> String {
        let seat = match (self.loser, self.seat) {
            (None, _) if self.reason != END_BY_TIME => return String::new(),
            (None, _) => "both flags",
            (Some(_), Some(seat)) => seat.name(),
            (Some(_), None) => "the team",
        };
        let text = if self.text.is_empty() { String::new() } else { format!(" {}", self.text) };
        format!("{seat}{text} in {}", game.position.fen())
    }
}

/// Returns the fault of a team whose engine cannot be used any more.
fn crash(error: &EngineError, board: Option<BoardId>) -> TeamEvent {
    TeamEvent::Fault(CRASH, error.to_string(), board)
}

/// The pockets of each board.
type Pockets = [Option<ByColor<ByRole<u8>>>; 2];

fn pockets(game: &BughouseGame) -> Pockets {
    BoardId::ALL.map(|board| game.board(board).position.board().hands.copied())
}

/// Returns the piece that has been added to a pocket of a board.
fn added_piece(before: &Pockets, game: &BughouseGame, board: BoardId) -> Option<(Color, Role)> {
    let old = before[board as usize]?;
    let new = game.board(board).position.board().hands?;
    let mut all = Color::ALL.into_iter().flat_map(|color| Role::ALL.map(|role| (color, role)));
    all.find(|&(color, role)| new[color][role] > old[color][role])
}

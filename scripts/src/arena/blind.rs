//! One game of reconnaissance blind chess, with a referee of our own.
//!
//! Players of the library do the same in the same game wherever time does not limit them. So games
//! begin with a few random requests, the same for both seatings of a pair; each side is told of its
//! own as if it had made them. There are no clocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menagerie::recon;
use menagerie::rules::blind::{Played as Turn, Request, Sensed, Truth};
use menagerie::rules::{ByColor, Color, Square};
use menagerie_rbc::{GameHistory, Players};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::game::Played;
use super::spec::{Kind, PlayerSpec};

/// So many random requests begin a game, unless it is said.
pub const PLIES: u32 = 4;
/// What players are told of their clocks: that there is no hurry.
const LEFT: Duration = Duration::from_secs(900);

/// Which game it is.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Its number in the match.
    pub number: u64,
    /// The number of its opening.
    pub opening: u64,
    /// So many random requests begin it.
    pub plies: u32,
    /// The match's seed.
    pub seed: u64,
}

/// Where plans go on the side of White, as in the AttackerBot of reconchess 1.6.9.
const PLANS: [&str; 4] = [
    "b1c3 c3b5 b5d6 d6e8",
    "b1c3 c3e4 e4f6 f6e8",
    "g1h3 h3f4 f4h5 h5f6 f6e8",
    "e2e4 f1c4 d1h5 c4f7 f7e8 h5e8",
];

/// Whoever sits at a side.
enum Seat {
    /// The library's player.
    Thinks(Box<recon::Player>),
    /// Looks and asks anywhere.
    Random(ChaCha8Rng),
    /// Follows a plan, the last step first, and then passes.
    Attacker(ChaCha8Rng, Vec<Request>),
}

/// Somebody who takes part, with what serves all of its games.
#[derive(Debug)]
pub struct Entrant {
    spec: PlayerSpec,
    players: Players,
}

impl Entrant {
    /// Prepares a player.
    ///
    /// # Errors
    /// If its options make no sense, or it is to have a network that cannot be had: it would be
    /// another player than it is called.
    pub fn new(spec: &PlayerSpec) -> anyhow::Result<Entrant> {
        let players = spec.rbc_players()?;
        let notes = || players.notes().join("; ");
        anyhow::ensure!(
            spec.kind != Kind::Rbc || players.has_requested_network(),
            "{spec} has not its network (weights=habits,simulations=0 does without one): {}",
            notes()
        );
        Ok(Entrant { spec: spec.clone(), players })
    }
}

impl Seat {
    fn new(
        Entrant { spec, players }: &Entrant,
        truth: &Truth,
        color: Color,
        mut rng: ChaCha8Rng,
    ) -> anyhow::Result<Seat> {
        Ok(match spec.kind {
            Kind::Rbc => Seat::Thinks(Box::new(players.create_player(truth, color, rng.random()))),
            Kind::Attacker => {
                let plan = PLANS[rng.random_range(0..PLANS.len())].split(' ').rev();
                let side = |square: Square| color.fold_wb(square, square.flip_vertical());
                let turned = |text: &str| {
                    let step: Request = text.parse().map_err(anyhow::Error::msg)?;
                    Ok(Request::new(side(step.from), side(step.to)))
                };
                Seat::Attacker(rng, plan.map(turned).collect::<anyhow::Result<_>>()?)
            }
            Kind::Random => Seat::Random(rng),
            _ => anyhow::bail!("{spec} does not play blind chess"),
        })
    }

    fn heard(&mut self, capture: Option<Square>) {
        if let Seat::Thinks(player) = self {
            player.heard(capture);
        }
    }

    fn sense(&mut self) -> Square {
        match self {
            Seat::Thinks(player) => player.sense(LEFT),
            Seat::Random(rng) | Seat::Attacker(rng, _) => Square::new(rng.random_range(0..64)),
        }
    }

    fn sensed(&mut self, seen: &[Sensed]) {
        if let Seat::Thinks(player) = self {
            player.sensed(seen);
        }
    }

    fn request(&mut self, may: &[Request]) -> Option<Request> {
        match self {
            Seat::Thinks(player) => player.request(LEFT),
            Seat::Random(rng) => any(may, rng),
            Seat::Attacker(_, plan) => {
                while plan.pop_if(|step| !may.contains(step)).is_some() {}
                plan.pop()
            }
        }
    }

    fn moved(&mut self, turn: Turn) {
        if let Seat::Thinks(player) = self {
            player.moved(turn.requested, turn.taken, turn.capture);
        }
    }
}

/// One of the requests, or a pass.
fn any(may: &[Request], rng: &mut ChaCha8Rng) -> Option<Request> {
    may.get(rng.random_range(0..=may.len())).copied()
}

/// A stream of chance of its own.
fn chance(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Plays a game; `seats` tells which of the `entrants` has which side, and `names` what they are
/// called there. `None` if it was broken off by `stop`.
///
/// # Errors
/// If a player is none of blind chess, or asks for what may not be requested.
pub fn play(
    entrants: &[Entrant],
    seats: &[usize],
    names: Vec<String>,
    start: Start,
    stop: &AtomicBool,
) -> anyhow::Result<Option<(Played, GameHistory)>> {
    let Start { number, opening, plies, seed } = start;
    let mut truth = Truth::default();
    let of = |color: Color| usize::from(color.is_black());
    let own = |color: Color| chance(seed, 1 << 63 | number << 1 | of(color) as u64);
    let seat = |color: Color| Seat::new(&entrants[seats[of(color)]], &truth, color, own(color));
    let mut sides = ByColor { white: seat(Color::White)?, black: seat(Color::Black)? };
    let mut history = GameHistory {
        names: ByColor::new_with(|color| names.get(of(color)).cloned()),
        ..GameHistory::default()
    };
    let mut rng = chance(seed, opening);
    let (first, mut turns, mut capture) = (truth.fen(), Vec::new(), None);
    let end = loop {
        if let Some(end) = truth.end() {
            break end;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let color = truth.turn();
        let side = sides.get_mut(color);
        if !turns.is_empty() {
            side.heard(capture);
        }
        let center = Some(side.sense());
        let seen = truth.sense(center);
        side.sensed(&seen);
        history.add_sense(color, center, seen);
        let may = truth.requests();
        let request = match (turns.len() as u32) < plies {
            true => any(&may, &mut rng),
            false => side.request(&may),
        };
        let before = truth.fen();
        let turn = truth.play(request)?;
        side.moved(turn);
        capture = turn.capture;
        history.add_move(color, turn, before, truth.fen());
        turns.push(request.map_or("0000".to_owned(), |request| request.to_string()));
    };
    history.set_end(Some(end));
    let score = |color: Color| match end.winner {
        Some(winner) if winner == color => 1,
        Some(_) => -1,
        None => 0,
    };
    let played = Played {
        number,
        seats: seats.to_vec(),
        scores: Color::ALL.map(score).to_vec(),
        end: end.reason.name().to_lowercase().replace('_', " "),
        detail: String::new(),
        start: first,
        turns,
        left: Vec::new(),
    };
    Ok(Some((played, history)))
}

//! A game of reconnaissance blind chess (RBC) with the referee of the library.
//!
//! The players of the library are deterministic where time does not limit them. Therefore games begin with
//! some random requests, which are the same for both games of a pair; each side receives the results of its
//! requests as if it had chosen them. There are no clocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menagerie::rbc;
use menagerie::rules::rbc::{End, ParseRequestError, Played as MoveResult, Request, Sensed, Truth};
use menagerie::rules::{ByColor, Color, Square};
use menagerie_rbc::{GameHistory, Players, format_request};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::game::Played;
use super::spec::{PlayerKind, PlayerSpec};

/// The default of the number of random requests at the beginning of a game.
pub const DEFAULT_RANDOM_PLIES: u32 = 4;
/// The time left that players receive in every turn.
const TIME_LEFT: Duration = Duration::from_secs(900);

/// What identifies a game of a match.
#[derive(Clone, Copy, Debug)]
pub struct GameStart {
    /// The number of the game.
    pub number: u64,
    /// The number of its opening.
    pub opening: u64,
    /// The number of random requests at its beginning.
    pub plies: u32,
    /// The seed of the match.
    pub seed: u64,
}

/// The plans of the AttackerBot of reconchess 1.6.9, for White.
const ATTACKER_PLANS: [&str; 4] = [
    "b1c3 c3b5 b5d6 d6e8",
    "b1c3 c3e4 e4f6 f6e8",
    "g1h3 h3f4 f4h5 h5f6 f6e8",
    "e2e4 f1c4 d1h5 c4f7 f7e8 h5e8",
];

/// A player of one side in one game.
enum SidePlayer {
    /// The player of the library.
    Library(Box<rbc::Player>),
    /// Senses and requests at random.
    Random(ChaCha8Rng),
    /// Senses at random and follows a plan, which is stored from its end, and then passes.
    Attacker(ChaCha8Rng, Vec<Request>),
}

/// A participant of a match, with what all of its games share.
#[derive(Debug)]
pub struct Entrant {
    spec: PlayerSpec,
    players: Players,
}

impl Entrant {
    /// Prepares a player.
    ///
    /// # Errors
    /// If its options are invalid, or the network that they require cannot be used: without it the player
    /// would be another one.
    pub fn new(spec: &PlayerSpec) -> anyhow::Result<Entrant> {
        let players = spec.rbc_players()?;
        anyhow::ensure!(
            spec.kind != PlayerKind::Rbc || players.has_requested_network(),
            "{spec}: network not available (weights=habits,nodes=0,simulations=0 needs none): {}",
            players.notes().join("; ")
        );
        Ok(Entrant { spec: spec.clone(), players })
    }
}

impl SidePlayer {
    fn new(
        entrant: &Entrant,
        truth: &Truth,
        color: Color,
        mut rng: ChaCha8Rng,
    ) -> anyhow::Result<SidePlayer> {
        match entrant.spec.kind {
            PlayerKind::Rbc => {
                let player = entrant.players.create_player(truth, color, rng.random());
                Ok(SidePlayer::Library(Box::new(player)))
            }
            PlayerKind::Attacker => {
                let plan = ATTACKER_PLANS[rng.random_range(0..ATTACKER_PLANS.len())];
                let plan = parse_plan(plan, color)?;
                Ok(SidePlayer::Attacker(rng, plan))
            }
            PlayerKind::Random => Ok(SidePlayer::Random(rng)),
            _ => anyhow::bail!("{} does not play rbc", entrant.spec),
        }
    }

    fn opponent_moved(&mut self, capture: Option<Square>) {
        if let SidePlayer::Library(player) = self {
            player.opponent_moved(capture);
        }
    }

    fn sense(&mut self) -> Square {
        match self {
            SidePlayer::Library(player) => player.sense(TIME_LEFT),
            SidePlayer::Random(rng) | SidePlayer::Attacker(rng, _) => {
                Square::new(rng.random_range(0..64))
            }
        }
    }

    fn sensed(&mut self, seen: &[Sensed]) {
        if let SidePlayer::Library(player) = self {
            player.sensed(seen);
        }
    }

    fn request(&mut self, requests: &[Request]) -> Option<Request> {
        match self {
            SidePlayer::Library(player) => player.request(TIME_LEFT),
            SidePlayer::Random(rng) => random_request(requests, rng),
            SidePlayer::Attacker(_, plan) => {
                while plan.pop_if(|step| !requests.contains(step)).is_some() {}
                plan.pop()
            }
        }
    }

    fn moved(&mut self, result: MoveResult) {
        if let SidePlayer::Library(player) = self {
            player.moved(result.requested, result.taken, result.capture);
        }
    }
}

/// Returns the requests of a plan for `color`, the last one first.
fn parse_plan(plan: &str, color: Color) -> Result<Vec<Request>, ParseRequestError> {
    let mirror = |square: Square| color.fold_wb(square, square.flip_vertical());
    let mut requests = Vec::new();
    for text in plan.split(' ').rev() {
        let request: Request = text.parse()?;
        requests.push(Request::new(mirror(request.from), mirror(request.to)));
    }
    Ok(requests)
}

/// Returns one of the requests or a pass.
fn random_request(requests: &[Request], rng: &mut ChaCha8Rng) -> Option<Request> {
    requests.get(rng.random_range(0..=requests.len())).copied()
}

/// Returns an independent random stream.
fn random_stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Plays a game. `seats` are the indices of the `entrants` that play White and Black, `names` their names.
/// Returns `None` if `stop` was set before the end.
///
/// # Errors
/// If an entrant does not play RBC, or makes an invalid request.
pub fn play_game(
    entrants: &[Entrant],
    seats: &[usize],
    names: Vec<String>,
    start: GameStart,
    stop: &AtomicBool,
) -> anyhow::Result<Option<(Played, GameHistory)>> {
    let GameStart { number, opening, plies, seed } = start;
    let mut truth = Truth::default();
    let new_player = |color: Color| {
        let seat = usize::from(color.is_black());
        let rng = random_stream(seed, 1 << 63 | number << 1 | seat as u64);
        SidePlayer::new(&entrants[seats[seat]], &truth, color, rng)
    };
    let mut players =
        ByColor { white: new_player(Color::White)?, black: new_player(Color::Black)? };
    let mut names = names.into_iter();
    let mut history = GameHistory {
        names: ByColor { white: names.next(), black: names.next() },
        ..GameHistory::default()
    };
    let mut opening_rng = random_stream(seed, opening);
    let start_fen = truth.fen();
    let mut turns = Vec::new();
    let mut capture = None;
    let end = loop {
        if let Some(end) = truth.end() {
            break end;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let color = truth.turn();
        let player = players.get_mut(color);
        if !turns.is_empty() {
            player.opponent_moved(capture);
        }
        let center = Some(player.sense());
        let seen = truth.sense(center);
        player.sensed(&seen);
        history.add_sense(color, center, seen);
        let requests = truth.requests();
        let request = if (turns.len() as u32) < plies {
            random_request(&requests, &mut opening_rng)
        } else {
            player.request(&requests)
        };
        let fen_before = truth.fen();
        let result = truth.play(request)?;
        player.moved(result);
        capture = result.capture;
        history.add_move(color, result, fen_before, truth.fen());
        turns.push(format_request(request));
    };
    history.set_end(Some(end));
    let played = Played {
        number,
        seats: seats.to_vec(),
        scores: Color::ALL.map(|color| score(end, color)).to_vec(),
        end: end.reason.name().to_lowercase().replace('_', " "),
        detail: String::new(),
        start: start_fen,
        turns,
        left: Vec::new(),
    };
    Ok(Some((played, history)))
}

/// Returns 1 for a win of `color`, 0 for a draw and -1 for a loss.
fn score(end: End, color: Color) -> i8 {
    match end.winner {
        Some(winner) if winner == color => 1,
        Some(_) => -1,
        None => 0,
    }
}

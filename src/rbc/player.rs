//! A player: one game of one side.

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::IteratorRandom;

use super::belief::{Belief, Certainty, DEFAULT_CAPACITY};
use super::choice::{ChoiceInput, choose, quiescence_values};
use super::opponent::{Habits, Prediction, UniformOpponent};
use super::policy_network::{BoardScorer, SharedNetwork};
use super::score_table::Combination;
use super::sense::{RequestValues, SensePolicy};
use crate::rules::rbc::{Army, Request, Sensed, Truth, board_fen};
use crate::rules::{ByColor, Color, Role, Square};

/// How boards are weighted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighting {
    /// Evenly, as in the paper.
    Even,
    /// By the rules of [`Habits`].
    Habits,
    /// By a network that predicts the opponent's moves, or by habits if there is no network.
    Network,
}

/// How a player thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How boards are weighted.
    pub weighting: Weighting,
    /// How a sense is chosen.
    pub sense: SensePolicy,
    /// How values over boards are combined.
    pub combination: Combination,
    /// The maximum number of boards that are kept.
    pub capacity: usize,
    /// The number of threads.
    pub threads: usize,
    /// The maximum number of boards on which requests are searched.
    pub samples: usize,
    /// The maximum search depth in plies after a request, without a network.
    pub depth: u32,
    /// The maximum number of nodes that a network searches by alpha-beta on a board after a request; 0 for a search
    /// without a network.
    pub nodes: u64,
    /// The number of simulations with the network on each board that votes. With 0 or without a network
    /// boards vote by the alpha-beta search.
    pub simulations: u32,
    /// The maximum time of a turn.
    pub turn: Duration,
}

impl Settings {
    /// Returns the number of simulations on a board, or `None` if boards do not vote by simulations.
    fn vote_simulations(&self) -> Option<u32> {
        let is_used = self.combination == Combination::Vote && self.simulations > 0;
        if is_used { Some(self.simulations) } else { None }
    }

    /// Returns `true` if a network searches boards after requests.
    pub fn searches_by_network(&self) -> bool {
        self.combination == Combination::MeanAndQuantile && self.nodes > 0
    }

    /// Returns `true` if the player uses a network.
    pub fn uses_network(&self) -> bool {
        self.weighting == Weighting::Network
            || self.vote_simulations().is_some()
            || self.searches_by_network()
    }
}

/// Settings that go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// The strongest settings.
    Best,
    /// The agent of A. Krishnakumar and G. Gutow: even weights, the sense with the fewest expected boards,
    /// and a vote of as many boards as there is time for, by 100 simulations on each.
    Paper,
}

impl Preset {
    /// All presets with their names.
    pub const ALL: [(&'static str, Preset); 2] = [("best", Preset::Best), ("paper", Preset::Paper)];

    /// Returns its settings.
    pub fn settings(self) -> Settings {
        let best = Settings {
            weighting: Weighting::Network,
            sense: SensePolicy::Gain,
            combination: Combination::MeanAndQuantile,
            capacity: DEFAULT_CAPACITY,
            threads: 1,
            samples: 512,
            depth: 5,
            nodes: 1 << 20,
            simulations: 0,
            turn: Duration::from_secs(10),
        };
        match self {
            Preset::Best => best,
            Preset::Paper => Settings {
                weighting: Weighting::Even,
                sense: SensePolicy::Reduction,
                combination: Combination::Vote,
                simulations: 100,
                nodes: 0,
                ..best
            },
        }
    }
}

/// The increment of a turn on the public server.
const INCREMENT: Duration = Duration::from_secs(5);
/// The share of the increment that a turn may use.
const INCREMENT_SHARE: f32 = 0.8;
/// The time left is divided by the number of turns that are expected to follow.
const EXPECTED_TURNS: u32 = 40;
/// A turn uses at most this part of the time left.
const MAX_TIME_DIVISOR: u32 = 5;
/// The maximum part of a turn's time for the choice of a sense. What it leaves is for the request.
const SENSE_TIME_DIVISOR: u32 = 8;
/// The maximum number of boards a turn that the network predicts.
const PREDICTED_BOARDS: usize = 1024;
/// The number of turns in which the player chooses at random between equal requests. Later it takes the best,
/// because randomness costs strength.
const RANDOM_TURNS: u32 = 8;
/// The number of boards that are expanded between two checks for input.
const ANTICIPATED_BOARDS: usize = 2000;

/// One game of one side.
///
/// A turn is [`Player::opponent_moved`], [`Player::sense`], [`Player::sensed`], [`Player::request`] and
/// [`Player::moved`].
#[derive(Debug)]
pub struct Player {
    settings: Settings,
    belief: Belief,
    network: Option<SharedNetwork>,
    /// The searches of the network after requests, one a thread; none if there is no network for it.
    scorers: Vec<Box<dyn BoardScorer>>,
    /// The prediction of the opponent's next move, once the network was called.
    prediction: Option<Prediction>,
    /// The number of own turns that are over.
    turns: u32,
    /// The time that the choice of the last sense took.
    sense_time: Duration,
    /// The number of own turns since the last own pawn move and the last capture.
    idle_turns: u32,
    /// The own pieces after each of these turns.
    earlier_armies: Vec<Army>,
    is_opponents_turn: bool,
    /// The request whose result was lost.
    lost_request: Option<Option<Request>>,
    /// Chooses between equal requests.
    rng: SmallRng,
}

impl Player {
    /// Returns a player of a game that begins with `start`. `seed` decides between equal requests.
    pub fn new(settings: Settings, start: &Truth, color: Color, seed: u64) -> Player {
        Player {
            settings,
            belief: Belief::new(start, color, settings.capacity, settings.threads),
            network: None,
            scorers: Vec::new(),
            prediction: None,
            turns: 0,
            sense_time: Duration::ZERO,
            idle_turns: 0,
            earlier_armies: Vec::new(),
            is_opponents_turn: start.turn() != color,
            lost_request: None,
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// Returns the player with a network for [`Weighting::Network`], [`Settings::nodes`] and
    /// [`Settings::simulations`].
    pub fn with_network(self, network: Option<SharedNetwork>) -> Player {
        let mut scorers = Vec::new();
        if let Some(network) = network.as_ref().filter(|_| self.settings.searches_by_network()) {
            let network = network.lock();
            scorers.extend((0..self.settings.threads.max(1)).map_while(|_| network.scorer()));
        }
        Player { network, scorers, ..self }
    }

    /// Returns what the player knows.
    pub fn belief(&self) -> &Belief {
        &self.belief
    }

    /// Prepares for the opponent's move for a short time. Returns `true` if there is more to prepare.
    pub fn anticipate(&mut self) -> bool {
        if !self.is_opponents_turn {
            return false;
        }
        self.predict();
        match (self.settings.weighting, &self.prediction) {
            (Weighting::Even, _) => self.belief.anticipate(ANTICIPATED_BOARDS, &UniformOpponent),
            (_, Some(prediction)) => self.belief.anticipate(ANTICIPATED_BOARDS, prediction),
            (_, None) => self.belief.anticipate(ANTICIPATED_BOARDS, &Habits),
        }
    }

    /// Receives that the opponent has moved, and captured a piece on `capture` or nothing.
    pub fn opponent_moved(&mut self, capture: Option<Square>) {
        self.predict();
        match (self.settings.weighting, self.prediction.take()) {
            (Weighting::Even, _) => self.belief.opponent_moved(capture, &UniformOpponent),
            (_, Some(prediction)) => self.belief.opponent_moved(capture, &prediction),
            (_, None) => self.belief.opponent_moved(capture, &Habits),
        }
        if capture.is_some() {
            self.idle_turns = 0;
            self.earlier_armies.clear();
        }
        self.is_opponents_turn = false;
    }

    /// Predicts the opponent's next move by the network, once a turn. A network that fails is not used again.
    fn predict(&mut self) {
        if self.settings.weighting != Weighting::Network || self.prediction.is_some() {
            return;
        }
        let Some(network) = &self.network else { return };
        let opponent = !self.belief.color();
        let own = *self.belief.own();
        let (indices, weights) = self.belief.sample(PREDICTED_BOARDS, false);
        let armies: Vec<Army> = indices.iter().map(|&index| self.belief.armies()[index]).collect();
        let mut fens = Vec::with_capacity(armies.len());
        for &army in &armies {
            let both = ByColor::new_with(|color| if color == opponent { army } else { own });
            fens.push(board_fen(&both, opponent, 0, 1));
        }
        let result = network.lock().predict(&fens);
        match result {
            Ok(policies) => {
                let boards = armies.into_iter().zip(weights).zip(&policies);
                self.prediction = Some(Prediction::new(
                    boards.map(|((army, weight), policy)| (army, weight, &policy[..])),
                ));
            }
            Err(error) => {
                log::warn!("network disabled, weighting boards by habits: {error}");
                self.network = None;
            }
        }
    }

    /// Returns the maximum time of a turn with `left` on the clock.
    fn turn_time(&self, left: Duration) -> Duration {
        let share = left / EXPECTED_TURNS + INCREMENT.mul_f32(INCREMENT_SHARE);
        share.min(left / MAX_TIME_DIVISOR).min(self.settings.turn)
    }

    /// Returns the center of the next sense, with `left` on the clock.
    pub fn sense(&mut self, left: Duration) -> Square {
        let start = Instant::now();
        let deadline = start + self.turn_time(left) / SENSE_TIME_DIVISOR;
        let values = if self.settings.sense == SensePolicy::Gain {
            let boards = self.settings.samples;
            quiescence_values(&self.belief, self.turn(), boards, self.has_even_weights(), deadline)
        } else {
            RequestValues::default()
        };
        let square = self.belief.best_sense(self.settings.sense, &values, self.turn());
        self.sense_time = start.elapsed();
        square
    }

    /// Returns the number of the current own turn, from 1.
    fn turn(&self) -> u32 {
        self.turns + 1
    }

    fn has_even_weights(&self) -> bool {
        self.settings.weighting == Weighting::Even
    }

    /// Receives the result of a sense.
    pub fn sensed(&mut self, seen: &[Sensed]) {
        self.belief.sensed(seen);
    }

    /// Returns the next request, `None` for a pass, with `left` on the clock.
    pub fn request(&mut self, left: Duration) -> Option<Request> {
        let time = self.turn_time(left).saturating_sub(std::mem::take(&mut self.sense_time));
        let deadline = Instant::now() + time;
        let input = ChoiceInput {
            combination: self.settings.combination,
            turn: self.turn(),
            even: self.has_even_weights(),
            threads: self.settings.threads,
            max_boards: self.settings.samples,
            max_depth: self.settings.depth,
            simulations: self.network.as_ref().zip(self.settings.vote_simulations()),
            idle_turns: self.idle_turns,
            earlier_armies: &self.earlier_armies,
            max_nodes: self.settings.nodes,
            deadline,
        };
        let best = choose(&self.belief, input, &mut self.scorers).unwrap_or_else(|error| {
            log::warn!("network search disabled, searching by depth: {error}");
            self.scorers.clear();
            choose(&self.belief, input, &mut []).unwrap_or_default()
        });
        let count = if self.turn() <= RANDOM_TURNS { best.len() } else { 1 };
        best.iter().take(count).choose(&mut self.rng).copied().flatten()
    }

    /// Receives the result of a request. `request` and `taken` are `None` for a pass.
    pub fn moved(
        &mut self,
        request: Option<Request>,
        taken: Option<Request>,
        capture: Option<Square>,
    ) {
        let pawns = self.belief.own().by_role(Role::Pawn);
        let is_irreversible =
            capture.is_some() || taken.is_some_and(|step| pawns.contains(step.from));
        if is_irreversible {
            self.idle_turns = 0;
            self.earlier_armies.clear();
        } else {
            self.idle_turns += 1;
        }
        self.turns += 1;
        self.belief.moved(request, taken, capture);
        self.earlier_armies.push(*self.belief.own());
        self.is_opponents_turn = true;
    }

    /// Receives that the result of a request was lost. [`Player::recover_lost_result`] must follow.
    pub fn lost_result(&mut self, request: Option<Request>) {
        self.lost_request = Some(request);
    }

    /// Returns `true` if the result of the last request was lost.
    pub fn has_lost_result(&self) -> bool {
        self.lost_request.is_some()
    }

    /// Finds the own pieces after a lost result from the requests that are possible now, after the opponent
    /// captured a piece on `capture` or nothing. It must be called before [`Player::opponent_moved`]. Returns
    /// `false` if no possible result agrees with `requests`; the most likely one is assumed then.
    pub fn recover_lost_result(&mut self, capture: Option<Square>, requests: &[Request]) -> bool {
        let Some(request) = self.lost_request.take() else { return true };
        self.turns += 1;
        let color = self.belief.color();
        let requests = sorted(requests.to_vec());
        let possible = self.belief.possible_own_armies(request);
        let found = possible.iter().find(|own| {
            let mut own = own.without_en_passant();
            if let Some(square) = capture {
                if own.role_at(square).is_none() {
                    return false;
                }
                own.remove(color, square);
            }
            sorted(own.requests(color)) == requests
        });
        if let Some(&own) = found.or(possible.first()) {
            self.idle_turns += 1;
            self.belief.moved_to(request, own);
        }
        found.is_some()
    }

    /// Returns the number of boards and how reliable they are, as text.
    pub fn summary(&self) -> String {
        let certainty = match self.belief.certainty() {
            Certainty::Exact => "exact",
            Certainty::Sampled => "sampled",
            Certainty::Repaired => "repaired",
        };
        format!("boards {} {certainty}", self.belief.armies().len())
    }
}

fn sorted(mut requests: Vec<Request>) -> Vec<Request> {
    requests.sort_unstable();
    requests.dedup();
    requests
}

//! A player: one game from one side, told what the referee tells it.

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::IteratorRandom;

use super::choice::{Combination, Terms, choose, glance};
use super::network::SharedNetwork;
use super::sample::sample;
use crate::belief::{
    Belief, CAPACITY, Certainty, Habits, Prediction, SensePolicy, Uniform, Values,
};
use crate::rules::blind::{Army, Request, Sensed, Truth, board_fen};
use crate::rules::{ByColor, Color, Role, Square};

/// How boards are weighted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighing {
    /// All alike, as in the paper.
    Even,
    /// By what nearly everybody does.
    Habits,
    /// By what a network expects that sees both sides; by habits if there is none.
    Network,
}

/// How a player thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How boards are weighted.
    pub weighing: Weighing,
    /// How a sense is chosen.
    pub sense: SensePolicy,
    /// How values over boards become one.
    pub combination: Combination,
    /// So many boards are kept at most.
    pub capacity: usize,
    /// So many threads work.
    pub threads: usize,
    /// Requests are tried on so many boards at most.
    pub samples: usize,
    /// .. and looked at no deeper, in plies after the request.
    pub depth: u32,
    /// If requests are voted for: by so many simulations on each board with a network, or by the
    /// player's own search if that is 0 or there is no network.
    pub simulations: u32,
    /// A turn takes no longer, whatever the clock says.
    pub turn: Duration,
}

impl Settings {
    /// How many simulations a board's vote takes, if requests are voted for by simulations.
    fn simulated(&self) -> Option<u32> {
        (self.combination == Combination::Vote && self.simulations > 0).then_some(self.simulations)
    }

    /// Whether a network is asked for anything.
    pub fn asks_network(&self) -> bool {
        self.weighing == Weighing::Network || self.simulated().is_some()
    }
}

/// Settings that go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// What plays best.
    Best,
    /// What the paper's agent did: boards alike, the sense that is expected to leave fewest of them, a
    /// vote of as many boards as there is time for, by 100 simulations on each.
    Paper,
}

impl Preset {
    /// All presets with their names.
    pub const ALL: [(&'static str, Preset); 2] = [("best", Preset::Best), ("paper", Preset::Paper)];

    /// Its settings.
    pub fn settings(self) -> Settings {
        let best = Settings {
            weighing: Weighing::Network,
            sense: SensePolicy::Gain,
            combination: Combination::MeanAndQuantile,
            capacity: CAPACITY,
            threads: 1,
            samples: 512,
            depth: 5,
            simulations: 0,
            turn: Duration::from_secs(10),
        };
        match self {
            Preset::Best => best,
            Preset::Paper => Settings {
                weighing: Weighing::Even,
                sense: SensePolicy::Reduction,
                combination: Combination::Vote,
                simulations: 100,
                ..best
            },
        }
    }
}

/// The clock adds so much a turn, in games as they are played on the server.
const INCREMENT: Duration = Duration::from_secs(5);
/// What is left is shared out over so many turns.
const TURNS: u32 = 40;
/// So much of a turn may go into choosing where to look.
const LOOKING: u32 = 8;
/// Values for that are found on so many boards.
const GLANCED: usize = 64;
/// The network is asked about so many boards a turn.
const ASKED: usize = 128;
/// In so many turns one of the requests that are alike is taken by chance; after that always the
/// first, as chance costs strength.
const VARIED: u32 = 8;
/// So many boards are followed between two looks at whether a line has come.
const SLICE: usize = 2000;

/// One game, from one side.
#[derive(Clone, Debug)]
pub struct Player {
    settings: Settings,
    belief: Belief,
    network: Option<SharedNetwork>,
    /// What the network expects of the other side in the turn that is awaited, once it was asked.
    prediction: Option<Prediction>,
    turns: u32,
    /// Turns of its own since its pawns moved and anything was taken.
    idle: u32,
    /// How its men have stood after each of these.
    stood: Vec<Army>,
    /// Whether the other side is to move.
    waiting: bool,
    /// A request whose answer was lost.
    unheard: Option<Option<Request>>,
    /// Chooses between requests that are alike.
    rng: SmallRng,
}

impl Player {
    /// A player of a game that begins so; `seed` chooses between requests that are alike.
    pub fn new(settings: Settings, start: &Truth, color: Color, seed: u64) -> Player {
        Player {
            settings,
            belief: Belief::new(start, color, settings.capacity, settings.threads),
            network: None,
            prediction: None,
            turns: 0,
            idle: 0,
            stood: Vec::new(),
            waiting: start.turn() != color,
            unheard: None,
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// The same with a network that tells what the other side is likely to do, for
    /// [`Weighing::Network`], and what is best, for [`Settings::simulations`].
    pub fn with_network(self, network: Option<SharedNetwork>) -> Player {
        Player { network, ..self }
    }

    /// What it knows.
    pub fn belief(&self) -> &Belief {
        &self.belief
    }

    /// Works ahead a little while the other side thinks; says whether there is more to do.
    pub fn anticipate(&mut self) -> bool {
        if !self.waiting {
            return false;
        }
        self.predict();
        match (self.settings.weighing, &self.prediction) {
            (Weighing::Even, _) => self.belief.anticipate(SLICE, &Uniform),
            (_, Some(prediction)) => self.belief.anticipate(SLICE, prediction),
            (_, None) => self.belief.anticipate(SLICE, &Habits),
        }
    }

    /// The other side has moved, and took a man on `capture`, or none.
    pub fn heard(&mut self, capture: Option<Square>) {
        self.predict();
        match (self.settings.weighing, self.prediction.take()) {
            (Weighing::Even, _) => self.belief.heard(capture, &Uniform),
            (_, Some(prediction)) => self.belief.heard(capture, &prediction),
            (_, None) => self.belief.heard(capture, &Habits),
        }
        if capture.is_some() {
            self.idle = 0;
            self.stood.clear();
        }
        self.waiting = false;
    }

    /// Asks the network, if there is one and it was not asked yet, what the other side is likely to
    /// do. One that fails is not asked again.
    fn predict(&mut self) {
        if self.settings.weighing != Weighing::Network || self.prediction.is_some() {
            return;
        }
        let Some(network) = &self.network else { return };
        let (theirs, own) = (!self.belief.color(), *self.belief.own());
        let (boards, weights) = sample(&self.belief, ASKED, false);
        let army = |at: usize| self.belief.armies()[at];
        let fen = |&at: &usize| {
            let armies = ByColor::new_with(|color| if color == theirs { army(at) } else { own });
            board_fen(&armies, theirs, 0, 1)
        };
        let fens: Vec<String> = boards.iter().map(fen).collect();
        let asked = network.lock().ask(&fens);
        match asked {
            Ok(likely) => {
                let boards = boards.iter().zip(weights).zip(&likely);
                let known = boards.map(|((&at, weight), likely)| (army(at), weight, &likely[..]));
                self.prediction = Some(Prediction::new(known));
            }
            Err(error) => {
                log::warn!("the network is not asked again: {error}");
                self.network = None;
            }
        }
    }

    /// How long a turn may take with so much time left.
    fn budget(&self, left: Duration) -> Duration {
        let share = left / TURNS + INCREMENT.mul_f32(0.8);
        share.min(left / 5).min(self.settings.turn)
    }

    /// Where to look, with so much time left.
    pub fn sense(&mut self, left: Duration) -> Square {
        self.turns += 1;
        let until = Instant::now() + self.budget(left) / LOOKING;
        let values = match self.settings.sense {
            SensePolicy::Gain => {
                let boards = GLANCED.min(self.settings.samples);
                glance(&self.belief, boards, self.even(), until)
            }
            _ => Values::default(),
        };
        self.belief.best_sense(self.settings.sense, &values, self.turns)
    }

    fn even(&self) -> bool {
        self.settings.weighing == Weighing::Even
    }

    /// What it has seen.
    pub fn sensed(&mut self, seen: &[Sensed]) {
        self.belief.sensed(seen);
    }

    /// What to ask for, with so much time left; `None` is a pass.
    pub fn request(&mut self, left: Duration) -> Option<Request> {
        let Settings { combination, threads, samples, depth, .. } = self.settings;
        let budget = self.budget(left);
        let until = Instant::now() + (budget - budget / LOOKING);
        let even = self.even();
        let idle = self.idle;
        let stood = &self.stood;
        let simulated = self.network.as_ref().zip(self.settings.simulated());
        let terms =
            Terms { combination, even, threads, samples, depth, simulated, idle, stood, until };
        let best = choose(&self.belief, terms);
        let count = if self.turns <= VARIED { best.len() } else { 1 };
        best.iter().take(count).choose(&mut self.rng).copied().flatten()
    }

    /// What became of its request.
    pub fn moved(
        &mut self,
        request: Option<Request>,
        taken: Option<Request>,
        capture: Option<Square>,
    ) {
        let pawns = self.belief.own().by_role(Role::Pawn);
        let zeroes = capture.is_some() || taken.is_some_and(|step| pawns.contains(step.from));
        self.idle = if zeroes { 0 } else { self.idle + 1 };
        if zeroes {
            self.stood.clear();
        }
        self.belief.moved(request, taken, capture);
        self.stood.push(*self.belief.own());
        self.waiting = true;
    }

    /// It has asked for this, and the answer was lost: [`Player::probe`] comes next.
    pub fn unheard(&mut self, request: Option<Request>) {
        self.unheard = Some(request);
    }

    /// Whether the answer to its last request was lost.
    pub fn is_unsure(&self) -> bool {
        self.unheard.is_some()
    }

    /// After an answer that was lost: what it may request now that the other side has taken a man on
    /// `capture`, or none, tells its own men. To be told before [`Player::heard`]. Says whether they
    /// are now known.
    pub fn probe(&mut self, capture: Option<Square>, requests: &[Request]) -> bool {
        let Some(request) = self.unheard.take() else { return true };
        let color = self.belief.color();
        let sorted = |mut requests: Vec<Request>| {
            requests.sort_unstable();
            requests.dedup();
            requests
        };
        let wanted = sorted(requests.to_vec());
        let fits = |own: &&Army| {
            let mut left = own.rested();
            if let Some(square) = capture {
                if left.role_at(square).is_none() {
                    return false;
                }
                left.remove(color, square);
            }
            sorted(left.requests(color)) == wanted
        };
        let all = self.belief.may_have_become(request);
        let found = all.iter().find(fits);
        if let Some(&own) = found.or(all.first()) {
            self.idle += 1;
            self.belief.moved_unheard(request, own);
        }
        found.is_some()
    }

    /// What it knows, in a few words.
    pub fn summary(&self) -> String {
        let how = match self.belief.certainty() {
            Certainty::Exact => "exact",
            Certainty::Sampled => "sampled",
            Certainty::Repaired => "repaired",
        };
        format!("boards {} {how}", self.belief.armies().len())
    }
}

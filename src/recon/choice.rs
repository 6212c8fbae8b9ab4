//! Which request is best over the boards that may be.

use std::thread;
use std::time::Instant;

use super::imagined::{DECIDED, Imagined, king_hangs};
use super::network::SharedNetwork;
use super::sample::sample;
use super::tactics::Tactics;
use super::vote::vote;
use crate::belief::{Belief, Values};
use crate::rules::blind::{Army, Request, Taken};
use crate::rules::{ByColor, Role};

/// How values over many boards become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The weighted mean and a lower quantile.
    MeanAndQuantile,
    /// The request that is best on most boards, each of them counted once: the paper's.
    Vote,
}

/// A king is taken at once if the request does so with this likelihood.
const TAKE_KING: f64 = 0.5;
/// A request is left out that exposes the king so much more often than the safest does.
const EXPOSED: f64 = 0.02;
/// Kings are looked after on so many boards at most.
const LOOKED_AT: usize = 20_000;
/// So many requests are looked at more deeply.
const DEEPENED: usize = 8;
/// How likely the other side is not to see what has happened to it.
const UNNOTICED: f32 = 0.2;
/// After so many turns of one's own without a pawn's step or a capture, each turn more makes one, as
/// likely as it is, worth so much more: a hundred of both sides' are a draw.
const PATIENCE: u32 = 15;
const IMPATIENCE: f64 = 0.004;
/// A request is worth so much less for each time that one's own men have stood like that since then:
/// threats that were answered once will be again.
const REPETITION: f64 = 0.01;
/// Requests are as good as the best if they are worse by no more, in centipawns: who always does the
/// same in the same game can be prepared for.
const ALIKE: f64 = 5.0;
/// Which quantile counts, and how much.
const QUANTILE: f64 = 0.1;
const QUANTILE_SHARE: f64 = 0.2;

/// The requests worth searcher of, `None` being a pass. Promotions are to queens and knights: a queen
/// does all that a rook or a bishop does, and there is no stalemate to be afraid of.
pub(super) fn requests(belief: &Belief) -> Vec<Option<Request>> {
    let own = belief.own();
    let worthwhile = |request: &Request| match request.promotion {
        Some(role) => matches!(role, Role::Queen | Role::Knight),
        None => !own.promotes(*request),
    };
    let all = own.requests(belief.color()).into_iter().filter(worthwhile);
    all.map(Some).chain([None]).collect()
}

fn imagined(belief: &Belief, at: usize) -> Imagined {
    let armies = ByColor::new_with(|color| {
        if color == belief.color() { *belief.own() } else { belief.armies()[at] }
    });
    Imagined { armies, turn: belief.color() }
}

/// From centipawns to an expected score.
fn expected(centipawns: i32) -> f32 {
    if centipawns.abs() >= DECIDED {
        return if centipawns > 0 { 1.0 } else { 0.0 };
    }
    let odds = libm::exp(-f64::from(centipawns) * std::f64::consts::LN_10 / 400.0);
    // What is not decided is not quite won.
    (0.01 + 0.98 / (1.0 + odds)) as f32
}

/// What a request is worth on a board by captures alone, as an expected score.
fn calm_value(tactics: &mut Tactics, board: &Imagined, request: Option<Request>) -> f32 {
    let Some(next) = Tactics::outcome(board, request) else { return 1.0 };
    let answered = -tactics.calm_value(&next);
    expected_of(tactics, &next, answered)
}

/// The same searched so many plies after it; `None` if there was no time for that.
fn value(
    tactics: &mut Tactics,
    board: &Imagined,
    request: Option<Request>,
    depth: u32,
    until: Option<Instant>,
) -> Option<f32> {
    let Some(next) = Tactics::outcome(board, request) else { return Some(1.0) };
    let answered = -tactics.value(&next, depth, until)?;
    Some(expected_of(tactics, &next, answered))
}

/// The expected score of whoever left the other side `next`, which is worth so many centipawns to it
/// if it is answered. The other side may not have seen it, and do something else.
fn expected_of(tactics: &mut Tactics, next: &Imagined, answered: i32) -> f32 {
    let unnoticed = tactics.calm_value(&next.taken(None));
    (1.0 - UNNOTICED) * expected(answered) + UNNOTICED * expected(unnoticed)
}

/// What all requests are worth on a few boards, at a glance: for choosing a sense.
pub(super) fn glance(belief: &Belief, boards: usize, even: bool, until: Instant) -> Values {
    let requests = requests(belief);
    let (boards, weights) = sample(belief, boards, even);
    let mut tactics = Tactics::default();
    let mut values = Values::default();
    for (at, weight) in boards.into_iter().zip(weights) {
        if Instant::now() >= until {
            break;
        }
        let board = imagined(belief, at);
        let row = requests.iter().map(|&request| calm_value(&mut tactics, &board, request));
        values.values.push(row.collect());
        values.boards.push(at);
        values.weights.push(weight);
    }
    values
}

/// How likely a request is to do what counts whatever boards are worth.
#[derive(Clone, Copy, Debug, Default)]
struct Effect {
    /// It takes the king.
    takes: f64,
    /// It leaves one's own to be taken.
    exposes: f64,
    /// It moves a pawn or takes a man, so that the game is farther from a draw.
    zeroes: f64,
}

fn effects(belief: &Belief, requests: &[Option<Request>]) -> Vec<Effect> {
    let step = belief.armies().len().div_ceil(LOOKED_AT).max(1);
    let pawns = belief.own().by_role(Role::Pawn);
    let (mut effects, mut whole) = (vec![Effect::default(); requests.len()], 0.0);
    for at in (0..belief.armies().len()).step_by(step) {
        let board = imagined(belief, at);
        let weight = f64::from(belief.weights()[at]);
        whole += weight;
        for (effect, &request) in effects.iter_mut().zip(requests) {
            let Some(next) = Tactics::outcome(&board, request) else {
                effect.takes += weight;
                continue;
            };
            effect.exposes += if king_hangs(&next) { weight } else { 0.0 };
            let stays = |color| next.armies[color].occupied() == board.armies[color].occupied();
            let pawn = request.is_some_and(|step| pawns.contains(step.from));
            let zeroes = pawn && !stays(board.turn) || !stays(!board.turn);
            effect.zeroes += if zeroes { weight } else { 0.0 };
        }
    }
    let whole = if whole > 0.0 { whole } else { 1.0 };
    for effect in &mut effects {
        effect.takes /= whole;
        effect.exposes /= whole;
        effect.zeroes /= whole;
    }
    effects
}

/// One's own men after a request that nothing obstructs.
fn arranged(belief: &Belief, request: Option<Request>) -> Army {
    let mut own = *belief.own();
    let taken = request.map(|step| Taken { step, capture: None });
    own.make(belief.color(), taken, &mut Army::default());
    own
}

/// How often men have stood like that.
fn times(stood: &[Army], own: &Army) -> u32 {
    stood.iter().filter(|army| army.planes() == own.planes()).count() as u32
}

/// What a choice goes by beside the boards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) combination: Combination,
    /// Boards are counted alike, not by their weights.
    pub(super) even: bool,
    pub(super) threads: usize,
    /// Values are found on so many boards at most.
    pub(super) samples: usize,
    /// .. and no deeper, in plies after the request.
    pub(super) depth: u32,
    /// If there is a vote by simulations: whom to ask what is best on a board, and how many of them.
    pub(super) simulated: Option<(&'a SharedNetwork, u32)>,
    /// Turns of one's own since the last step of a pawn of one's own and the last capture.
    pub(super) idle: u32,
    /// How one's own men have stood after each of them.
    pub(super) stood: &'a [Army],
    /// When time ends. There is always an answer.
    pub(super) until: Instant,
}

/// The best requests, at least one, the very best first; `None` is a pass.
pub(super) fn choose(belief: &Belief, terms: Terms<'_>) -> Vec<Option<Request>> {
    let Terms { combination, even, threads, samples, depth: deepest, idle, stood, until, .. } =
        terms;
    let requests = requests(belief);
    let effects = effects(belief, &requests);
    let surely = if combination == Combination::Vote { 1.0 - 1e-6 } else { TAKE_KING };
    let likeliest =
        (0..requests.len()).max_by(|&a, &b| effects[a].takes.total_cmp(&effects[b].takes));
    if let Some(at) = likeliest.filter(|&at| effects[at].takes >= surely) {
        return vec![requests[at]];
    }
    let safest = effects.iter().map(|effect| effect.exposes).fold(f64::INFINITY, f64::min);
    let sound = |&at: &usize| {
        let Effect { takes, exposes, .. } = effects[at];
        exposes <= safest + EXPOSED || takes > exposes
    };
    let mut candidates: Vec<usize> = (0..requests.len()).collect();
    if combination == Combination::MeanAndQuantile {
        candidates.retain(sound);
    }
    let (boards, weights) = sample(belief, samples, even);
    let boards: Vec<Imagined> = boards.into_iter().map(|at| imagined(belief, at)).collect();
    if let Some((network, simulations)) = terms.simulated {
        match vote(network, &boards, simulations, until) {
            Ok(request) => return vec![request],
            Err(error) => log::warn!("there is no vote: {error}"),
        }
    }
    let repetitions: Vec<u32> =
        requests.iter().map(|&request| times(stood, &arranged(belief, request))).collect();
    let haste = IMPATIENCE * f64::from(idle.saturating_sub(PATIENCE));
    let mut table = Table { rows: vec![Vec::new(); boards.len()], weights };
    let workers = threads.clamp(1, boards.len().max(1));
    let mut workers: Vec<_> = (0..workers).map(|_| Tactics::default()).collect();
    let mut scores = Vec::new();
    for depth in 1..=deepest.max(1) {
        let asked: Vec<Option<Request>> = candidates.iter().map(|&at| requests[at]).collect();
        let look = Look { asked: &asked, candidates: &candidates, depth, until };
        let done = table.deepen(&boards, look, requests.len(), &mut workers);
        let score = |at: usize| {
            let repeated = REPETITION * f64::from(repetitions[at]);
            table.score(at, combination) + haste * effects[at].zeroes - repeated
        };
        candidates.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        // A vote is among all of them.
        candidates.truncate(DEEPENED);
        scores = candidates.iter().map(|&at| score(at)).collect();
        if !done || candidates.len() == 1 {
            break;
        }
    }
    if combination == Combination::Vote {
        return vec![table.vote(requests.len()).and_then(|at| requests[at])];
    }
    let best = scores.first().copied().unwrap_or_default();
    let alike = candidates.iter().zip(scores).filter(|&(_, score)| score >= best - slack(best));
    alike.map(|(&at, _)| requests[at]).collect()
}

/// By how much an expected score is less for [`ALIKE`] centipawns less.
fn slack(score: f64) -> f64 {
    let slope = score * (1.0 - score) * std::f64::consts::LN_10 / 400.0;
    (ALIKE * slope).max(0.0)
}

/// What is to be looked at on each board.
#[derive(Clone, Copy)]
struct Look<'a> {
    asked: &'a [Option<Request>],
    /// Their numbers among all requests.
    candidates: &'a [usize],
    /// So many plies after the request.
    depth: u32,
    until: Instant,
}

/// Values of requests on boards.
struct Table {
    /// For each board a value for each request, or none if there was no time for the board; what was
    /// never looked at is worth less than nothing.
    rows: Vec<Vec<f32>>,
    weights: Vec<f32>,
}

impl Table {
    /// Looks at requests on every board; says whether there was time for all of them.
    fn deepen(
        &mut self,
        boards: &[Imagined],
        look: Look<'_>,
        width: usize,
        workers: &mut [Tactics],
    ) -> bool {
        let Look { asked, candidates, depth, until } = look;
        let share = boards.len().div_ceil(workers.len().max(1)).max(1);
        let work =
            |tactics: &mut Tactics, boards: &[Imagined], rows: &mut [Vec<f32>], first: bool| {
                for (i, (board, row)) in boards.iter().zip(rows).enumerate() {
                    // There is always one board to go by.
                    let must = first && i == 0 && depth == 1;
                    if Instant::now() >= until && !must {
                        return false;
                    }
                    let end = (!must).then_some(until);
                    let worth = |&request| value(tactics, board, request, depth, end);
                    let found = asked.iter().map(worth).collect::<Option<Vec<f32>>>();
                    let Some(found) = found else { return false };
                    if row.is_empty() {
                        *row = vec![-1.0; width];
                    }
                    for (&at, value) in candidates.iter().zip(found) {
                        row[at] = value;
                    }
                }
                true
            };
        if let [tactics] = workers {
            return work(tactics, boards, &mut self.rows, true);
        }
        thread::scope(|scope| {
            let parts = boards.chunks(share).zip(self.rows.chunks_mut(share));
            let running: Vec<_> = parts
                .zip(workers)
                .enumerate()
                .map(|(i, ((boards, rows), tactics))| {
                    scope.spawn(move || work(tactics, boards, rows, i == 0))
                })
                .collect();
            running.into_iter().all(|worker| worker.join().unwrap_or(false))
        })
    }

    /// One number for a request.
    fn score(&self, at: usize, combination: Combination) -> f64 {
        let seen = self.rows.iter().zip(&self.weights).filter(|(row, _)| !row.is_empty());
        let mut values: Vec<(f32, f64)> =
            seen.map(|(row, &weight)| (row[at], f64::from(weight))).collect();
        let whole: f64 = values.iter().map(|value| value.1).sum();
        let whole = if whole > 0.0 { whole } else { 1.0 };
        let mean =
            values.iter().map(|&(value, weight)| f64::from(value) * weight).sum::<f64>() / whole;
        if combination == Combination::Vote {
            return mean;
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let low = values.iter().find(|value| {
            below += value.1;
            below >= QUANTILE * whole
        });
        let low = low.map_or(mean, |value| f64::from(value.0));
        (1.0 - QUANTILE_SHARE) * mean + QUANTILE_SHARE * low
    }

    /// The request that is best on most boards.
    fn vote(&self, width: usize) -> Option<usize> {
        let mut votes = vec![0_u32; width];
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            if let Some(best) = (0..width).max_by(|&a, &b| row[a].total_cmp(&row[b])) {
                votes[best] += 1;
            }
        }
        (0..width).max_by_key(|&at| votes[at])
    }
}

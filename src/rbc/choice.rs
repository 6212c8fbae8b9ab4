//! The choice of a request over the possible boards.

use std::thread;
use std::time::Instant;

use super::belief::Belief;
use super::policy_network::{SharedNetwork, vote_by_simulations};
use super::sense::RequestValues;
use super::tactics::{DECIDED, PossibleBoard, Tactics};
use crate::rules::rbc::{Army, Request, Taken};
use crate::rules::{ByColor, Color, Role};

/// How the values of a request on many boards are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The weighted mean and a lower quantile.
    MeanAndQuantile,
    /// The request that is best on most boards, as in the paper.
    Vote,
}

/// A request is made at once if it captures the king with at least this probability.
const MIN_KING_CAPTURE: f64 = 0.5;
/// A request is excluded if the probability that it leaves the king attacked exceeds that of the safest
/// request by more than this.
const MAX_KING_RISK: f64 = 0.02;
/// The maximum number of boards on which the risk of the king is computed.
const MAX_RISK_BOARDS: usize = 20_000;
/// The number of requests that are searched deeper than one ply.
const DEEPENED_REQUESTS: usize = 8;
/// The probability that the opponent does not notice what has happened.
const UNNOTICED: f32 = 0.2;
/// After this number of own turns without a pawn move or a capture by either side, requests that make one
/// gain `IDLE_BONUS` per further turn, because 100 half-moves are a draw.
const MAX_IDLE_TURNS: u32 = 15;
const IDLE_BONUS: f64 = 0.004;
/// The penalty for each time that the own pieces have stood on the same squares since then: threats that
/// were answered once will be answered again.
const REPETITION_PENALTY: f64 = 0.01;
/// Requests are equal to the best one if they are worse by at most this number of centipawns. The player
/// chooses between them at random, so that an opponent cannot prepare for it.
const EQUAL_CENTIPAWNS: f64 = 5.0;
/// The quantile of [`Combination::MeanAndQuantile`], and its share of the combined value.
const QUANTILE: f64 = 0.1;
const QUANTILE_SHARE: f64 = 0.2;
/// The number of centipawns that multiplies the odds by 10, as in the Elo formula.
const CENTIPAWNS_PER_DECADE: f64 = 400.0;

/// Returns the candidates, with `None` for the pass. Promotions are to queens and knights only: a queen can
/// do all that a rook or a bishop can, and there is no stalemate.
fn candidate_requests(belief: &Belief) -> Vec<Option<Request>> {
    let own = belief.own();
    let mut candidates = Vec::new();
    for request in own.requests(belief.color()) {
        let is_candidate = match request.promotion {
            Some(role) => matches!(role, Role::Queen | Role::Knight),
            None => !own.is_promotion(request),
        };
        if is_candidate {
            candidates.push(Some(request));
        }
    }
    candidates.push(None);
    candidates
}

fn possible_board(belief: &Belief, index: usize) -> PossibleBoard {
    let army = |color: Color| {
        if color == belief.color() { *belief.own() } else { belief.armies()[index] }
    };
    PossibleBoard { armies: ByColor::new_with(army), turn: belief.color() }
}

/// Converts centipawns to an expected score. Only a captured king is worth 0 or 1.
fn expected_score(centipawns: i32) -> f32 {
    if centipawns.abs() >= DECIDED {
        return if centipawns > 0 { 1.0 } else { 0.0 };
    }
    let exponent = -f64::from(centipawns) * std::f64::consts::LN_10 / CENTIPAWNS_PER_DECADE;
    (0.01 + 0.98 / (1.0 + libm::exp(exponent))) as f32
}

/// Returns the expected score of a request on a board after a search of captures.
fn quiescence_score(tactics: &mut Tactics, board: &PossibleBoard, request: Option<Request>) -> f32 {
    let Some(next) = board.after_request(request) else { return 1.0 };
    let noticed = -tactics.quiescence_value(&next);
    mixed_score(tactics, &next, noticed)
}

/// Returns the expected score of a request on a board after a search of `depth` plies, or `None` if the time
/// is over before.
fn search_score(
    tactics: &mut Tactics,
    board: &PossibleBoard,
    request: Option<Request>,
    depth: u32,
    deadline: Option<Instant>,
) -> Option<f32> {
    let Some(next) = board.after_request(request) else { return Some(1.0) };
    let noticed = -tactics.value(&next, depth, deadline)?;
    Some(mixed_score(tactics, &next, noticed))
}

/// Returns the expected score of the player that left the board `next`. It is worth `noticed` centipawns if
/// the opponent gives the best answer; with the probability [`UNNOTICED`] the opponent does nothing instead.
fn mixed_score(tactics: &mut Tactics, next: &PossibleBoard, noticed: i32) -> f32 {
    let unnoticed = tactics.quiescence_value(&next.after_pass());
    (1.0 - UNNOTICED) * expected_score(noticed) + UNNOTICED * expected_score(unnoticed)
}

/// Returns fast values of all candidates on at most `boards` boards, for the choice of a sense.
pub(super) fn quiescence_values(
    belief: &Belief,
    boards: usize,
    even: bool,
    deadline: Instant,
) -> RequestValues {
    let requests = candidate_requests(belief);
    let (boards, weights) = belief.sample(boards, even);
    let mut tactics = Tactics::default();
    let mut values = RequestValues::default();
    for (index, weight) in boards.into_iter().zip(weights) {
        if Instant::now() >= deadline {
            break;
        }
        let board = possible_board(belief, index);
        let row = requests.iter().map(|&request| quiescence_score(&mut tactics, &board, request));
        values.values.push(row.collect());
        values.boards.push(index);
        values.weights.push(weight);
    }
    values
}

/// The probabilities of some effects of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    /// It captures the king.
    captures_king: f64,
    /// It leaves the own king attacked.
    exposes_king: f64,
    /// It moves a pawn or captures a piece.
    is_irreversible: f64,
}

fn effects(belief: &Belief, requests: &[Option<Request>]) -> Vec<Effects> {
    let stride = belief.armies().len().div_ceil(MAX_RISK_BOARDS).max(1);
    let pawns = belief.own().by_role(Role::Pawn);
    let mut effects = vec![Effects::default(); requests.len()];
    let mut sum = 0.0;
    for index in (0..belief.armies().len()).step_by(stride) {
        let board = possible_board(belief, index);
        let weight = f64::from(belief.weights()[index]);
        sum += weight;
        for (effect, &request) in effects.iter_mut().zip(requests) {
            let Some(next) = board.after_request(request) else {
                effect.captures_king += weight;
                continue;
            };
            if next.can_capture_king() {
                effect.exposes_king += weight;
            }
            let has_changed =
                |color| next.armies[color].occupied() != board.armies[color].occupied();
            let is_pawn = request.is_some_and(|request| pawns.contains(request.from));
            if is_pawn && has_changed(board.turn) || has_changed(!board.turn) {
                effect.is_irreversible += weight;
            }
        }
    }
    let sum = if sum > 0.0 { sum } else { 1.0 };
    for effect in &mut effects {
        effect.captures_king /= sum;
        effect.exposes_king /= sum;
        effect.is_irreversible /= sum;
    }
    effects
}

/// Returns the number of times that the own pieces have stood as they stand after a request that nothing
/// obstructs.
fn count_repetitions(belief: &Belief, request: Option<Request>, earlier_armies: &[Army]) -> usize {
    let mut own = *belief.own();
    let taken = request.map(|step| Taken { step, capture: None });
    own.make_move(belief.color(), taken, &mut Army::default());
    earlier_armies.iter().filter(|army| army.planes() == own.planes()).count()
}

/// The settings and the state of the game on which a choice depends, apart from the boards.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChoiceInput<'a> {
    pub(super) combination: Combination,
    /// Boards count evenly, not by their weights.
    pub(super) even: bool,
    pub(super) threads: usize,
    /// The maximum number of boards that are searched.
    pub(super) max_boards: usize,
    /// The maximum search depth in plies after the request.
    pub(super) max_depth: u32,
    /// The network and the number of simulations on a board, if boards vote by simulations.
    pub(super) simulations: Option<(&'a SharedNetwork, u32)>,
    /// The number of own turns since the last own pawn move and the last capture.
    pub(super) idle_turns: u32,
    /// The own pieces after each of these turns.
    pub(super) earlier_armies: &'a [Army],
    /// The end of the time for the choice. At least one board is always searched.
    pub(super) deadline: Instant,
}

/// Returns the best requests, at least one and the best first. `None` is a pass.
pub(super) fn choose(belief: &Belief, input: ChoiceInput<'_>) -> Vec<Option<Request>> {
    let requests = candidate_requests(belief);
    let effects = effects(belief, &requests);
    if let Some(index) = king_capture(&effects, input.combination) {
        return vec![requests[index]];
    }
    let (indices, weights) = belief.sample(input.max_boards, input.even);
    let boards: Vec<PossibleBoard> =
        indices.into_iter().map(|index| possible_board(belief, index)).collect();
    if let Some((network, simulations)) = input.simulations {
        match vote_by_simulations(network, &boards, simulations, input.deadline) {
            Ok(request) => return vec![request],
            Err(error) => log::warn!("no vote by simulations, searching by depth: {error}"),
        }
    }
    let adjustments = adjustments(belief, &requests, &effects, &input);
    let mut candidates: Vec<usize> = match input.combination {
        Combination::MeanAndQuantile => safe_requests(&effects),
        Combination::Vote => (0..requests.len()).collect(),
    };
    let mut table = ValueTable { rows: vec![Vec::new(); boards.len()], weights };
    let workers = input.threads.clamp(1, boards.len().max(1));
    let mut workers: Vec<_> = (0..workers).map(|_| Tactics::default()).collect();
    let mut scores = Vec::new();
    for depth in 1..=input.max_depth.max(1) {
        let task = SearchTask {
            requests: &requests,
            candidates: &candidates,
            depth,
            deadline: input.deadline,
        };
        let is_complete = table.search(&boards, task, &mut workers);
        let score = |index: usize| {
            let Adjustment { bonus, penalty } = adjustments[index];
            table.combine(index, input.combination) + bonus - penalty
        };
        candidates.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        candidates.truncate(DEEPENED_REQUESTS);
        scores = candidates.iter().map(|&index| score(index)).collect();
        if !is_complete || candidates.len() == 1 {
            break;
        }
    }
    if input.combination == Combination::Vote {
        return vec![table.vote(requests.len()).and_then(|index| requests[index])];
    }
    let best = scores.first().copied().unwrap_or_default();
    let min_score = best - equal_margin(best);
    let equal = candidates.iter().zip(scores).filter(|&(_, score)| score >= min_score);
    equal.map(|(&index, _)| requests[index]).collect()
}

/// Returns the request that is most likely to capture the king, if it is likely enough.
fn king_capture(effects: &[Effects], combination: Combination) -> Option<usize> {
    let min_probability = match combination {
        Combination::MeanAndQuantile => MIN_KING_CAPTURE,
        Combination::Vote => 1.0 - 1e-6,
    };
    let probability = |index: usize| effects[index].captures_king;
    let best = (0..effects.len()).max_by(|&a, &b| probability(a).total_cmp(&probability(b)))?;
    if probability(best) >= min_probability { Some(best) } else { None }
}

/// Returns the requests that do not expose the king much more than the safest one, or are more likely to
/// capture the other king.
fn safe_requests(effects: &[Effects]) -> Vec<usize> {
    let safest = effects.iter().map(|effect| effect.exposes_king).fold(f64::INFINITY, f64::min);
    let is_safe = |&index: &usize| {
        let Effects { captures_king, exposes_king, .. } = effects[index];
        exposes_king <= safest + MAX_KING_RISK || captures_king > exposes_king
    };
    (0..effects.len()).filter(is_safe).collect()
}

/// Changes of a score that do not depend on values of boards.
#[derive(Clone, Copy, Debug)]
struct Adjustment {
    /// For irreversible moves after many turns without one.
    bonus: f64,
    /// For repetitions.
    penalty: f64,
}

fn adjustments(
    belief: &Belief,
    requests: &[Option<Request>],
    effects: &[Effects],
    input: &ChoiceInput<'_>,
) -> Vec<Adjustment> {
    let idle_bonus = IDLE_BONUS * f64::from(input.idle_turns.saturating_sub(MAX_IDLE_TURNS));
    let mut adjustments = Vec::with_capacity(requests.len());
    for (&request, effect) in requests.iter().zip(effects) {
        let repetitions = count_repetitions(belief, request, input.earlier_armies);
        adjustments.push(Adjustment {
            bonus: idle_bonus * effect.is_irreversible,
            penalty: REPETITION_PENALTY * repetitions as f64,
        });
    }
    adjustments
}

/// Returns the difference in expected score of [`EQUAL_CENTIPAWNS`].
fn equal_margin(score: f64) -> f64 {
    let slope = score * (1.0 - score) * std::f64::consts::LN_10 / CENTIPAWNS_PER_DECADE;
    (EQUAL_CENTIPAWNS * slope).max(0.0)
}

/// What is searched on each board.
#[derive(Clone, Copy)]
struct SearchTask<'a> {
    requests: &'a [Option<Request>],
    /// The indices of the requests that are searched.
    candidates: &'a [usize],
    /// The number of plies after the request.
    depth: u32,
    deadline: Instant,
}

/// The expected scores of requests on boards.
struct ValueTable {
    /// A row for each board, which is empty if there was no time for it. A request that was not searched has
    /// the value -1.
    rows: Vec<Vec<f32>>,
    weights: Vec<f32>,
}

impl ValueTable {
    /// Searches the candidates on all boards with one thread per worker. Returns `false` if the time was over
    /// before the end.
    fn search(
        &mut self,
        boards: &[PossibleBoard],
        task: SearchTask<'_>,
        workers: &mut [Tactics],
    ) -> bool {
        if let [tactics] = workers {
            return search_boards(tactics, boards, &mut self.rows, task, true);
        }
        let share = boards.len().div_ceil(workers.len().max(1)).max(1);
        thread::scope(|scope| {
            let parts = boards.chunks(share).zip(self.rows.chunks_mut(share)).zip(workers);
            let mut running = Vec::new();
            for (i, ((boards, rows), tactics)) in parts.enumerate() {
                running
                    .push(scope.spawn(move || search_boards(tactics, boards, rows, task, i == 0)));
            }
            running.into_iter().all(|worker| worker.join().unwrap_or(false))
        })
    }

    /// Combines the values of a request on all boards.
    fn combine(&self, request: usize, combination: Combination) -> f64 {
        let mut values: Vec<(f32, f64)> = Vec::with_capacity(self.rows.len());
        for (row, &weight) in self.rows.iter().zip(&self.weights) {
            if !row.is_empty() {
                values.push((row[request], f64::from(weight)));
            }
        }
        let sum: f64 = values.iter().map(|value| value.1).sum();
        let sum = if sum > 0.0 { sum } else { 1.0 };
        let weighted = values.iter().map(|&(value, weight)| f64::from(value) * weight);
        let mean = weighted.sum::<f64>() / sum;
        if combination == Combination::Vote {
            return mean;
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let quantile = values.iter().find(|value| {
            below += value.1;
            below >= QUANTILE * sum
        });
        let quantile = quantile.map_or(mean, |value| f64::from(value.0));
        (1.0 - QUANTILE_SHARE) * mean + QUANTILE_SHARE * quantile
    }

    /// Returns the request that is best on most boards.
    fn vote(&self, requests: usize) -> Option<usize> {
        let mut votes = vec![0_u32; requests];
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            if let Some(best) = (0..requests).max_by(|&a, &b| row[a].total_cmp(&row[b])) {
                votes[best] += 1;
            }
        }
        (0..requests).max_by_key(|&request| votes[request])
    }
}

/// Writes the values of the candidates on each board to its row. If `is_first_part` is `true`, the first
/// board is searched at depth 1 whatever the time. Returns `false` if the time was over before the end.
fn search_boards(
    tactics: &mut Tactics,
    boards: &[PossibleBoard],
    rows: &mut [Vec<f32>],
    task: SearchTask<'_>,
    is_first_part: bool,
) -> bool {
    let SearchTask { requests, candidates, depth, deadline } = task;
    for (i, (board, row)) in boards.iter().zip(rows).enumerate() {
        let is_mandatory = is_first_part && i == 0 && depth == 1;
        if !is_mandatory && Instant::now() >= deadline {
            return false;
        }
        let deadline = if is_mandatory { None } else { Some(deadline) };
        let mut values = Vec::with_capacity(candidates.len());
        for &request in candidates {
            match search_score(tactics, board, requests[request], depth, deadline) {
                Some(value) => values.push(value),
                // An incomplete board does not count.
                None => return false,
            }
        }
        if row.is_empty() {
            *row = vec![-1.0; requests.len()];
        }
        for (&request, value) in candidates.iter().zip(values) {
            row[request] = value;
        }
    }
    true
}

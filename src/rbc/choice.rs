//! The choice of a request over the possible boards.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use super::belief::Belief;
use super::policy_network::{BoardScorer, PolicyNetworkError, SharedNetwork, vote_by_simulations};
use super::score_table::{Combination, ScoreTable};
use super::sense::RequestValues;
use super::tactics::{DECIDED, PossibleBoard, SearchLimit, Tactics};
use crate::rules::rbc::{Army, Request, Taken, board_fen};
use crate::rules::{ByColor, Color, Role};

/// A request is made at once if it captures the king with at least this probability.
const MIN_KING_CAPTURE: f64 = 0.5;
/// A request is excluded if the probability that it leaves the king attacked exceeds that of the safest
/// request by more than this.
const MAX_KING_RISK: f64 = 0.02;
/// The maximum number of boards on which the risk of the king is computed.
const MAX_RISK_BOARDS: usize = 20_000;
/// The number of requests that are searched deeper than one ply, or by a network.
const DEEPENED_REQUESTS: usize = 8;
/// If the time is over before the first board has scores, each search on it is limited to this number of boards.
const FIRST_BOARD_BOARDS: u64 = 1 << 12;
/// Before a network searches, requests are chosen by a search of this number of plies.
const SCREENING_DEPTH: u32 = 2;
/// The maximum number of boards that a network searches, so that there is time for a few hundred nodes on each.
const NETWORK_BOARDS: usize = 128;
/// The nodes on a board after a request in the first round of a network, and by what each further round multiplies
/// them at most.
const FIRST_NODES: u64 = 256;
const MAX_NODE_FACTOR: f64 = 4.0;
/// The number of requests after the first round.
const KEPT_REQUESTS: usize = 4;
/// Requests that are worse than the best one by more than this expected score are not searched further.
const MAX_DEFICIT: f64 = 0.1;
/// The score if the opponent does not notice is searched with the nodes divided by this.
const UNNOTICED_DIVISOR: u64 = 8;
/// The probability that the opponent does not notice what a request has done grows linearly to `MAX_UNNOTICED` in the
/// first `UNNOTICED_TURNS` turns. This is the share of checks that were not answered in self-play (docs/history/rbc.md).
const MAX_UNNOTICED: f32 = 0.12;
const UNNOTICED_TURNS: u32 = 24;
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

/// Returns the probability that the opponent does not notice what a request in an own turn, counted from 1, has done.
fn unnoticed_probability(turn: u32) -> f32 {
    MAX_UNNOTICED * turn.min(UNNOTICED_TURNS) as f32 / UNNOTICED_TURNS as f32
}

/// Returns the expected score of a request on a board after a search of `depth` plies and captures, or `None` if the
/// time is over before. The opponent does not notice the request with the probability `unnoticed`; then it does nothing
/// instead of the best answer.
fn search_score(
    tactics: &mut Tactics,
    board: &PossibleBoard,
    request: Option<Request>,
    depth: u32,
    unnoticed: f32,
    limit: SearchLimit,
) -> Option<f32> {
    let Some(next) = board.after_request(request) else { return Some(1.0) };
    let noticed = -tactics.value(&next, depth, limit)?;
    let gain = tactics.value(&next.after_pass(), 0, limit)?;
    Some((1.0 - unnoticed) * expected_score(noticed) + unnoticed * expected_score(gain))
}

/// Returns the expected score of a request on a board after a search of a network of `nodes` nodes, or `None` if the time
/// is over before. The opponent does not notice the request with the probability `unnoticed`.
///
/// # Errors
/// If the scorer fails.
fn network_score(
    scorer: &mut dyn BoardScorer,
    board: &PossibleBoard,
    request: Option<Request>,
    nodes: u64,
    unnoticed: f32,
    deadline: Instant,
) -> Result<Option<f32>, PolicyNetworkError> {
    let Some(next) = board.after_request(request) else { return Ok(Some(1.0)) };
    let mut score = |board: &PossibleBoard, nodes: u64| {
        if board.can_capture_king() {
            return Ok(Some(1.0));
        }
        scorer.score(&board_fen(&board.armies, board.turn, 0, 1), nodes, deadline)
    };
    let Some(loss) = score(&next, nodes)? else { return Ok(None) };
    let Some(gain) = score(&next.after_pass(), nodes / UNNOTICED_DIVISOR)? else {
        return Ok(None);
    };
    Ok(Some((1.0 - unnoticed) * (1.0 - loss) + unnoticed * gain))
}

/// Returns fast values of all candidates on at most `boards` boards, for the choice of a sense in an own turn, counted
/// from 1.
pub(super) fn quiescence_values(
    belief: &Belief,
    turn: u32,
    boards: usize,
    even: bool,
    deadline: Instant,
) -> RequestValues {
    let requests = candidate_requests(belief);
    let (boards, weights) = belief.sample(boards, even);
    let unnoticed = unnoticed_probability(turn);
    let mut tactics = Tactics::default();
    let mut values = RequestValues::default();
    let limit = SearchLimit::Time(deadline);
    for (index, weight) in boards.into_iter().zip(weights) {
        if Instant::now() >= deadline {
            break;
        }
        let board = possible_board(belief, index);
        let score = |&request| search_score(&mut tactics, &board, request, 0, unnoticed, limit);
        let row: Option<Vec<f32>> = requests.iter().map(score).collect();
        // An incomplete board does not count.
        let Some(row) = row else { break };
        values.values.push(row);
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
    /// The number of the own turn, from 1.
    pub(super) turn: u32,
    /// Boards count evenly, not by their weights.
    pub(super) even: bool,
    pub(super) threads: usize,
    /// The maximum number of boards that are searched.
    pub(super) max_boards: usize,
    /// The maximum search depth in plies after the request.
    pub(super) max_depth: u32,
    /// The network and the number of simulations on a board, if boards vote by simulations.
    pub(super) simulations: Option<(&'a SharedNetwork, u32)>,
    /// The maximum number of nodes that a network searches on a board after a request.
    pub(super) max_nodes: u64,
    /// The number of own turns since the last own pawn move and the last capture.
    pub(super) idle_turns: u32,
    /// The own pieces after each of these turns.
    pub(super) earlier_armies: &'a [Army],
    /// The end of the time for the choice. At least one board is always searched.
    pub(super) deadline: Instant,
}

/// Returns the best requests, at least one and the best first. `None` is a pass. With `scorers`, one a thread, a
/// network searches the best of them.
///
/// # Errors
/// If a scorer fails.
pub(super) fn choose(
    belief: &Belief,
    input: ChoiceInput<'_>,
    scorers: &mut [Box<dyn BoardScorer>],
) -> Result<Vec<Option<Request>>, PolicyNetworkError> {
    let requests = candidate_requests(belief);
    let effects = effects(belief, &requests);
    if let Some(index) = king_capture(&effects, input.combination) {
        return Ok(vec![requests[index]]);
    }
    let (indices, weights) = belief.sample(input.max_boards, input.even);
    let boards: Vec<PossibleBoard> =
        indices.into_iter().map(|index| possible_board(belief, index)).collect();
    if let Some((network, simulations)) = input.simulations {
        match vote_by_simulations(network, &boards, simulations, input.deadline) {
            Ok(request) => return Ok(vec![request]),
            Err(error) => log::warn!("no vote by simulations, searching by depth: {error}"),
        }
    }
    let candidates: Vec<usize> = match input.combination {
        Combination::MeanAndQuantile => safe_requests(&effects),
        Combination::Vote => (0..requests.len()).collect(),
    };
    let search = RequestSearch {
        adjustments: adjustments(belief, &requests, &effects, &input),
        requests,
        boards,
        weights,
        input,
    };
    let has_scorers = !scorers.is_empty() && input.combination == Combination::MeanAndQuantile;
    let (table, mut ranking) = search.by_depth(candidates, has_scorers);
    if input.combination == Combination::Vote {
        return Ok(vec![table.vote().and_then(|index| search.requests[index])]);
    }
    if has_scorers && ranking.len() > 1 {
        ranking = search.by_network(ranking, scorers)?;
    }
    let best = ranking.first().map_or(0.0, |&(_, score)| score);
    let min_score = best - equal_margin(best);
    let equal = ranking.iter().filter(|&&(_, score)| score >= min_score);
    Ok(equal.map(|&(index, _)| search.requests[index]).collect())
}

/// Indices of requests with their scores, the best first.
type Ranking = Vec<(usize, f64)>;

/// The search of requests on a sample of the possible boards.
struct RequestSearch<'a> {
    requests: Vec<Option<Request>>,
    /// One for each request.
    adjustments: Vec<Adjustment>,
    boards: Vec<PossibleBoard>,
    /// One for each board.
    weights: Vec<f32>,
    input: ChoiceInput<'a>,
}

impl RequestSearch<'_> {
    /// Returns the candidates by their scores in a table, which are combined over boards and adjusted.
    fn rank(&self, table: &ScoreTable, candidates: &[usize]) -> Ranking {
        let score = |&index: &usize| {
            let Adjustment { bonus, penalty } = self.adjustments[index];
            (index, table.combine(index, self.input.combination) + bonus - penalty)
        };
        let mut ranking: Ranking = candidates.iter().map(score).collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranking
    }

    /// Searches the candidates deeper and deeper by [`Tactics`]. `is_screening`: only to choose what a network
    /// searches.
    fn by_depth(&self, mut candidates: Vec<usize>, is_screening: bool) -> (ScoreTable, Ranking) {
        let input = &self.input;
        let unnoticed = unnoticed_probability(input.turn);
        let max_depth =
            if is_screening { SCREENING_DEPTH.min(input.max_depth) } else { input.max_depth };
        let mut table = ScoreTable::new(self.requests.len(), self.weights.clone());
        let workers = input.threads.clamp(1, self.boards.len().max(1));
        let mut workers: Vec<_> = (0..workers).map(|_| Tactics::default()).collect();
        let mut ranking = Ranking::new();
        for depth in 1..=max_depth.max(1) {
            let score_board = |tactics: &mut Tactics, board: &PossibleBoard, is_first: bool| {
                let mut score = |request: Option<Request>, limit: SearchLimit| {
                    search_score(tactics, board, request, depth, unnoticed, limit)
                };
                let scores = candidates.iter().map(|&index| {
                    let request = self.requests[index];
                    let in_time = score(request, SearchLimit::Time(input.deadline));
                    if in_time.is_none() && is_first && depth == 1 {
                        return score(request, SearchLimit::Boards(FIRST_BOARD_BOARDS));
                    }
                    in_time
                });
                Ok::<_, Infallible>(scores.collect())
            };
            let Ok(is_complete) = table.fill(&self.boards, &candidates, &mut workers, score_board);
            ranking = self.rank(&table, &candidates);
            ranking.truncate(DEEPENED_REQUESTS);
            candidates = ranking.iter().map(|&(index, _)| index).collect();
            if !is_complete || candidates.len() == 1 {
                break;
            }
        }
        (table, ranking)
    }

    /// Searches the requests of a ranking by a network, in rounds of more and more nodes on fewer and fewer requests.
    /// Returns the ranking of the last round, or the given one if there is no time.
    ///
    /// # Errors
    /// If a scorer fails.
    fn by_network(
        &self,
        mut ranking: Ranking,
        scorers: &mut [Box<dyn BoardScorer>],
    ) -> Result<Ranking, PolicyNetworkError> {
        let input = &self.input;
        let unnoticed = unnoticed_probability(input.turn);
        let boards = &self.boards[..self.boards.len().min(NETWORK_BOARDS)];
        let mut table = ScoreTable::new(self.requests.len(), self.weights.clone());
        let mut nodes = FIRST_NODES.min(input.max_nodes);
        loop {
            let start = Instant::now();
            let candidates: Vec<usize> = ranking.iter().map(|&(index, _)| index).collect();
            let score_board = |scorer: &mut Box<dyn BoardScorer>, board: &PossibleBoard, _| {
                let requests = candidates.iter().map(|&index| self.requests[index]);
                let scorer = &mut **scorer;
                let scores = requests
                    .map(|r| network_score(scorer, board, r, nodes, unnoticed, input.deadline));
                scores.collect()
            };
            let is_complete = table.fill(boards, &candidates, scorers, score_board)?;
            if table.is_empty() {
                return Ok(ranking);
            }
            ranking = self.rank(&table, &candidates);
            if !is_complete || nodes >= input.max_nodes {
                return Ok(ranking);
            }
            let best = ranking.first().map_or(0.0, |&(_, score)| score);
            ranking.truncate(KEPT_REQUESTS);
            ranking.retain(|&(_, score)| score >= best - MAX_DEFICIT);
            if ranking.len() <= 1 {
                return Ok(ranking);
            }
            let share = ranking.len() as f64 / candidates.len() as f64;
            let time_left = input.deadline.saturating_duration_since(Instant::now());
            nodes =
                next_nodes(nodes, start.elapsed().mul_f64(share), time_left).min(input.max_nodes);
        }
    }
}

/// Returns the nodes of the next round of a network, if a round with as many nodes as before takes `time`: as many as
/// can be searched in `time_left`, within the limits of [`MAX_NODE_FACTOR`]. On few boards a round that is not completed
/// changes nothing.
fn next_nodes(nodes: u64, time: Duration, time_left: Duration) -> u64 {
    let factor = time_left.as_secs_f64() / time.as_secs_f64().max(1e-9);
    (nodes as f64 * factor.clamp(1.0, MAX_NODE_FACTOR)) as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_nodes_fit_the_time_left() {
        let second = Duration::from_secs(1);
        for (time_left, nodes) in [(9, 4096), (4, 4096), (3, 3072), (1, 1024), (0, 1024)] {
            assert_eq!(next_nodes(1024, second, time_left * second), nodes, "{time_left} s");
        }
        assert_eq!(next_nodes(1024, Duration::ZERO, second), 4096);
        assert_eq!(next_nodes(1024, Duration::ZERO, Duration::ZERO), 1024);
    }
}

//! Measurement of networks and engines on the positions of a solved game.

use menagerie::nn::{EvalError, Evaluator, Query};
use menagerie::rules::{Move, MoveList, Position};
use menagerie::search::{Params, Searcher, Tree};

use crate::retrograde::{Solution, Value};
use crate::uci_engine::{EngineError, UciEngine};

/// The moves of a player in positions in which the game is not over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolvedGameScore {
    /// Positions played.
    pub positions: usize,
    /// Moves that keep the result.
    pub kept: usize,
    /// Positions that are won for the side to move.
    pub wins: usize,
    /// Moves that win in the fewest plies.
    pub quickest: usize,
    /// The positions in which a move changed the result, or did not win the shortest way.
    pub faults: Vec<String>,
}

impl SolvedGameScore {
    /// Returns the share of moves that keep the result.
    pub fn kept_share(&self) -> f64 {
        self.kept as f64 / self.positions.max(1) as f64
    }

    /// Returns the share of won positions in which the move wins in the fewest plies.
    pub fn quickest_share(&self) -> f64 {
        self.quickest as f64 / self.wins.max(1) as f64
    }
}

/// Plays `positions` of `solution` by a search with `visits` visits and an empty tree, as the engine plays
/// `go nodes`. Positions in which the game is over are skipped.
///
/// # Errors
/// If the evaluator fails.
pub fn measure_search(
    solution: &Solution,
    positions: impl IntoIterator<Item = (Position, Value)>,
    evaluator: &mut dyn Evaluator,
    params: Params,
    visits: u32,
) -> Result<SolvedGameScore, EvalError> {
    let mut score = SolvedGameScore::default();
    let mut positions = positions.into_iter().peekable();
    let Some((first, _)) = positions.peek() else { return Ok(score) };
    let mut tree = Tree::new(first.clone(), params, 1 << 22);
    for (position, value) in positions {
        tree.restart(position.clone());
        if let Some(m) = best_move(&mut tree, evaluator, visits)? {
            score.add(solution, &position, value, m);
        }
    }
    Ok(score)
}

/// Plays `positions` of `solution` by an engine at `go nodes`. Positions in which the game is over are skipped.
///
/// # Errors
/// If the engine ends, or its move is not legal.
pub fn measure_engine(
    solution: &Solution,
    positions: impl IntoIterator<Item = (Position, Value)>,
    engine: &mut UciEngine,
    nodes: u32,
) -> Result<SolvedGameScore, EngineError> {
    let mut score = SolvedGameScore::default();
    for (position, value) in positions {
        if position.outcome().is_some() {
            continue;
        }
        let m = engine_move(&position, engine, nodes)?;
        score.add(solution, &position, value, m);
    }
    Ok(score)
}

/// Returns the move of an engine in `position` at `go nodes`.
///
/// # Errors
/// If the engine ends, or its move is not legal.
pub fn engine_move(
    position: &Position,
    engine: &mut UciEngine,
    nodes: u32,
) -> Result<Move, EngineError> {
    let line = engine.best_move(&position.fen(), nodes)?;
    match position.parse_turn(&line).as_deref() {
        Some(&[m]) => Ok(m),
        _ => Err(EngineError::Line { line }),
    }
}

/// Returns the best move of the root of `tree` after `visits` visits, as the engine plays `go nodes`; `None` if
/// the game is over there.
///
/// # Errors
/// If the evaluator fails.
pub fn best_move(
    tree: &mut Tree,
    evaluator: &mut dyn Evaluator,
    visits: u32,
) -> Result<Option<Move>, EvalError> {
    if tree.root().outcome().is_some() {
        return Ok(None);
    }
    let batch = evaluator.preferred_batch();
    let mut searcher = Searcher::new(tree, evaluator, batch);
    let mut spent = 0;
    while spent < visits && !searcher.tree().is_proven() {
        let step = searcher.step(visits - spent)?;
        spent += step.visits.max(1);
    }
    Ok(tree.root_moves().first().map(|choice| choice.m))
}

impl SolvedGameScore {
    fn add(&mut self, solution: &Solution, position: &Position, value: Value, m: Move) {
        let mut next = position.clone();
        next.play_unchecked(m);
        let reached = solution.value(&next).map(Value::before);
        let kept = reached.is_some_and(|reached| reached.score() == value.score());
        let won = matches!(value, Value::Win(_));
        let quickest = won && reached == Some(value);
        self.positions += 1;
        self.kept += usize::from(kept);
        self.wins += usize::from(won);
        self.quickest += usize::from(quickest);
        if !kept || won && !quickest {
            let text = position.move_text(m);
            self.faults.push(format!("{} {text}: {value:?}, then {reached:?}", position.fen()));
        }
    }
}

/// Returns the output of an evaluator without a search: the expected score of the side to move, and the
/// probability of each legal move.
///
/// # Errors
/// If the evaluator fails.
pub fn raw_evaluation(
    position: &Position,
    evaluator: &mut dyn Evaluator,
) -> Result<(f32, Vec<(Move, f32)>), EvalError> {
    let encoding = menagerie::encoding::Encoding::of(position);
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let mut batch = evaluator.new_batch();
    let row = batch.push(Query { encoding: &encoding, position, legal: &legal });
    evaluator.evaluate(&mut batch)?;
    let evaluation = batch.evaluation(row);
    let highest = evaluation.logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let parts: Vec<f32> = evaluation.logits.iter().map(|logit| (logit - highest).exp()).collect();
    let total: f32 = parts.iter().sum();
    let policy = legal.into_iter().zip(parts).map(|(m, part)| (m, part / total)).collect();
    let mover = position.turn();
    Ok((evaluation.score(mover, mover), policy))
}

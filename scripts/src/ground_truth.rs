//! How well a network and its search play a solved game, over all its positions.

use menagerie::nn::{EvalError, Evaluator, Query};
use menagerie::rules::{Move, MoveList, Position};
use menagerie::search::{Params, Searcher, Tree};

use crate::retrograde::{Solution, Value};
use crate::uci_engine::{EngineError, UciEngine};

/// The play of all positions that are not ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Positions played.
    pub positions: usize,
    /// Moves after which the result is still what it was.
    pub kept: usize,
    /// Positions that the mover wins.
    pub wins: usize,
    /// Moves that win in the fewest plies.
    pub quickest: usize,
    /// The FENs in which a move lost half a point or more, or took the longer way.
    pub faults: Vec<String>,
}

impl Marks {
    /// The share of moves that kept the result.
    pub fn kept_share(&self) -> f64 {
        self.kept as f64 / self.positions.max(1) as f64
    }

    /// The share of wins that were taken the shortest way.
    pub fn quickest_share(&self) -> f64 {
        self.quickest as f64 / self.wins.max(1) as f64
    }
}

/// Has each of the `positions` of `solution` that is not ended played with `visits` visits of a fresh
/// tree, as the engine plays `go nodes`, and marks the moves.
///
/// # Errors
/// If the evaluator fails.
pub fn mark(
    solution: &Solution,
    positions: impl IntoIterator<Item = (Position, Value)>,
    evaluator: &mut dyn Evaluator,
    params: Params,
    visits: u32,
) -> Result<Marks, EvalError> {
    let mut marks = Marks::default();
    let mut positions = positions.into_iter().peekable();
    let Some((first, _)) = positions.peek() else { return Ok(marks) };
    let mut tree = Tree::new(first.clone(), params, 1 << 22);
    for (position, value) in positions {
        tree.restart(position.clone());
        if let Some(m) = best_move(&mut tree, evaluator, visits)? {
            marks.add(solution, &position, value, m);
        }
    }
    Ok(marks)
}

/// Has each of the `positions` of `solution` that is not ended played by an engine at `go nodes`, and
/// marks the moves.
///
/// # Errors
/// If the engine ends, or its move is not legal.
pub fn mark_engine(
    solution: &Solution,
    positions: impl IntoIterator<Item = (Position, Value)>,
    engine: &mut UciEngine,
    nodes: u32,
) -> Result<Marks, EngineError> {
    let mut marks = Marks::default();
    for (position, value) in positions {
        if position.outcome().is_some() {
            continue;
        }
        let m = engine_move(&position, engine, nodes)?;
        marks.add(solution, &position, value, m);
    }
    Ok(marks)
}

/// The move of an engine in `position` at `go nodes`.
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

/// The move of `tree`'s root after so many visits, as the engine plays `go nodes`; `None` if the
/// game is over there.
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
    while spent < visits && !searcher.tree().settled() {
        let step = searcher.step(visits - spent)?;
        spent += step.visits.max(1);
    }
    Ok(tree.root_moves().first().map(|choice| choice.m))
}

impl Marks {
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

/// What the evaluator itself says of a position: the mover's chances to win and to draw, and each
/// legal move with its probability.
///
/// # Errors
/// If the evaluator fails.
pub fn opinion(
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

//! A simple solver of small games, to check solved tables against.

use menagerie::rules::{MoveList, Position, Value};
use menagerie::tablebase::{Image, Index, SolvedTable, TableEntry};
use menagerie::variant::Variant;

/// Solves a game by value iteration: all positions start as draws, and values are updated from their
/// successors until nothing changes.
pub(crate) fn table(variant: &Variant) -> SolvedTable {
    let index = Index::new(variant).expect("numbered positions");
    let mut graph = Vec::new();
    let mut values = Vec::new();
    for number in 0..index.len() {
        let mut position = variant.start();
        let real = index.set_up(number, Image::default(), &mut position);
        let (next, ended) = if real { after(&index, &position) } else { (Vec::new(), None) };
        graph.push(next);
        values.push((real, ended));
    }
    let mut now: Vec<Value> =
        values.iter().map(|(_, ended)| ended.unwrap_or(Value::Draw)).collect();
    loop {
        let best = |(number, next): (usize, &Vec<usize>)| {
            let after = next.iter().map(|&number| now[number].before());
            after.max_by_key(|value| value.rank()).unwrap_or(now[number])
        };
        let updated: Vec<Value> = graph.iter().enumerate().map(best).collect();
        if updated == now {
            break;
        }
        now = updated;
    }
    let entry = |((real, ended), value): (&(bool, Option<Value>), Value)| match (real, ended) {
        (false, _) => TableEntry::NONE,
        (true, Some(Value::Draw)) => TableEntry::ENDED,
        (true, _) => TableEntry::of(value).expect("no win is that long"),
    };
    let entries = values.iter().zip(now).map(entry).collect();
    SolvedTable::new(variant, index, entries)
}

/// Returns the numbers of the positions after each move, or the value if the game has ended.
fn after(index: &Index, position: &Position) -> (Vec<usize>, Option<Value>) {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    if let Some(outcome) = position.outcome_given(&legal) {
        let value = match outcome.score(position.turn()) {
            1 => Value::Win(0),
            0 => Value::Draw,
            _ => Value::Loss(0),
        };
        return (Vec::new(), Some(value));
    }
    let next = legal.into_iter().map(|m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        index.number(&next).unwrap_or_else(|| panic!("{} has no number", next.fen())) as usize
    });
    (next.collect(), None)
}

//! A fixed piece of work whose result tells whether the search has changed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::encoding::Encoding;
use crate::nn::{EvalError, Uniform};
use crate::rules::{Key, MoveList, Position};
use crate::search::{Memory, Params, Searcher, Tree};
use crate::variant::Catalogue;

/// Visits to each position.
const VISITS: u32 = 2000;
/// Positions of each variant: its start, and others after random turns.
const POSITIONS: usize = 4;
/// Plies from one of them to the next.
const PLIES: usize = 9;
/// Leaves at once, whatever the number of threads.
const BATCH: usize = 4;
/// Memory for a tree, in bytes: more than it needs.
const MEMORY: usize = 16 << 20;

/// One position of the bench, searched.
#[derive(Clone, PartialEq, Debug)]
pub struct Searched {
    /// The name of the variant.
    pub variant: String,
    /// The position.
    pub fen: String,
    /// The best first ply; `None` if the game is over.
    pub best: Option<String>,
    /// How often it was visited.
    pub nodes: u64,
    /// What the tree came to take.
    pub memory: Memory,
    /// A hash of the moves of the root with their visits and proofs.
    pub signature: u64,
}

/// Searches fixed positions of every variant of `catalogue` by [`Uniform`], as many `threads` each
/// a position of its own. What is found is the same on every machine and for any number of threads,
/// and changes if what the search does or the rules of a game change.
///
/// # Errors
/// In words, if the search fails.
pub fn bench(catalogue: &Catalogue, threads: usize) -> Result<Vec<Searched>, EvalError> {
    let starts = catalogue.iter().map(|variant| (variant.name(), variant.start()));
    let work: Vec<_> = starts
        .flat_map(|(name, start)| positions(start).into_iter().map(move |place| (name, place)))
        .collect();
    let next = AtomicUsize::new(0);
    let part = || {
        let mine = || work.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(mine)
            .map(|(name, position)| search(name, position))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(part)).collect();
        let mut found = part()?;
        for other in others {
            found.extend(other.join().map_err(|_| EvalError("a thread ended".to_owned()))??);
        }
        Ok(found)
    })?;
    let place = |searched: &Searched| {
        work.iter().position(|(name, at)| *name == searched.variant && at.fen() == searched.fen)
    };
    found.sort_by_key(place);
    Ok(found)
}

fn search(variant: &str, position: &Position) -> Result<Searched, EvalError> {
    let mut evaluator = Uniform::new(Encoding::of(position).shape());
    let mut tree = Tree::new(position.clone(), Params::default(), MEMORY);
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, BATCH);
    let mut nodes = 0;
    while nodes < VISITS && !searcher.tree().settled() {
        nodes += searcher.step(VISITS - nodes)?.visits;
    }
    let choices = tree.root_moves();
    let words = choices.iter().flat_map(|choice| {
        let text = format!("{} {:?}", position.move_text(choice.m), choice.proof);
        let words: Vec<_> = text.bytes().map(u64::from).collect();
        words.into_iter().chain([u64::from(choice.visits)])
    });
    Ok(Searched {
        variant: variant.to_owned(),
        fen: position.fen(),
        best: choices.first().map(|choice| position.move_text(choice.m)),
        nodes: u64::from(nodes),
        memory: tree.memory(),
        signature: Key::of(words).0,
    })
}

/// The start and positions on a random way from it. A game that ends begins anew.
fn positions(start: Position) -> Vec<Position> {
    // SplitMix64, our own, so that no crate can change what it gives.
    let mut seed = 0_u64;
    let mut below = |limit: usize| {
        seed += 1;
        ((u128::from(Key::of([seed]).0) * limit as u128) >> 64) as usize
    };
    let mut found = vec![start.clone()];
    let mut position = start.clone();
    let mut legal = MoveList::new();
    while found.len() < POSITIONS {
        let mut plies = 0;
        while plies < PLIES || position.mid_turn() {
            plies += 1;
            position.legal_moves(&mut legal);
            if legal.is_empty() || position.result().is_some() {
                position = start.clone();
                position.legal_moves(&mut legal);
            }
            let Some(&m) = legal.get(below(legal.len())) else { return found };
            position.play_unchecked(m);
        }
        found.push(position.clone());
    }
    found
}

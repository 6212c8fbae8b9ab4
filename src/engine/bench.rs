//! A fixed piece of work whose result tells whether the search has changed.

use crate::encoding::Encoding;
use crate::evaluation::{EvalError, Pooled, Uniform};
use crate::rules::{Key, MoveList, Position};
use crate::search::{Params, Thinking, Tree};
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
}

/// The result of all positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bench {
    /// Visits to all positions together.
    pub nodes: u64,
    /// A hash of all that was found. It is the same on every machine and for any number of
    /// threads, and changes if what the search does or the rules of a game change.
    pub signature: u64,
}

/// Searches fixed positions of every variant of `catalogue` by [`Uniform`], evaluated by as many
/// `threads`; tells each position as it is done.
///
/// # Errors
/// In words, if a thread cannot be started.
pub fn bench(
    catalogue: &Catalogue,
    threads: usize,
    mut tell: impl FnMut(&Searched),
) -> Result<Bench, EvalError> {
    let mut bench = Bench { nodes: 0, signature: 0 };
    for variant in catalogue.iter() {
        let shape = Encoding::of(&variant.start()).shape();
        let others = vec![Uniform::new(shape); threads.max(1) - 1];
        let mut evaluator = Pooled::new(Uniform::new(shape), others)
            .map_err(|error| EvalError(format!("{threads} threads: {error}")))?;
        for position in positions(variant.start()) {
            let mut tree = Tree::new(position.clone(), Params::default(), MEMORY);
            let mut thinking = Thinking::new(&mut tree, &mut evaluator, BATCH);
            let mut nodes = 0;
            while nodes < VISITS && !thinking.tree().settled() {
                nodes += thinking.step(VISITS - nodes)?.visits;
            }
            let choices = tree.choices();
            let words = choices.iter().flat_map(|choice| {
                let text = format!("{} {:?}", position.move_text(choice.m), choice.proof);
                let words: Vec<_> = text.bytes().map(u64::from).collect();
                words.into_iter().chain([u64::from(choice.visits)])
            });
            bench.signature = Key::of([bench.signature].into_iter().chain(words)).0;
            bench.nodes += u64::from(nodes);
            tell(&Searched {
                variant: variant.name().to_owned(),
                fen: position.fen(),
                best: choices.first().map(|choice| position.move_text(choice.m)),
                nodes: u64::from(nodes),
            });
        }
    }
    Ok(bench)
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

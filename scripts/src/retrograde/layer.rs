//! The positions with the same number of men, solved together.

use std::ops::Range;

use menagerie::rules::{MoveList, Position, Value};
use menagerie::tablebase::{Entry, Image, Index};
use rayon::prelude::*;

use super::UnsolvableGame;

/// So many numbers are one piece of work.
const CHUNK: usize = 1 << 16;
/// The place of no plies.
const NEVER: u8 = u8::MAX;

/// The positions with the same number of men.
pub(super) struct Layer<'a> {
    index: &'a Index,
    numbers: Range<u64>,
}

/// The positions of a chunk that are not solved yet.
#[derive(Default)]
struct Work {
    open: Vec<Open>,
    /// The places in the layer to which the moves of open positions lead that take nothing.
    edges: Vec<u32>,
    /// The plies of the longest win or loss that moves out of the layer lead to.
    longest: u32,
}

/// A position that is not solved yet, and what its moves out of the layer come to.
struct Open {
    /// Its place in the layer.
    at: u32,
    /// Where its edges begin and end.
    edges: Range<u32>,
    /// The plies of its soonest win by a move out of the layer; [`NEVER`] without one.
    wins: u8,
    /// If each move out of the layer loses, the plies of the latest loss; else [`NEVER`].
    loses: u8,
}

impl Layer<'_> {
    pub(super) fn new(index: &Index, numbers: Range<u64>) -> Layer<'_> {
        Layer { index, numbers }
    }

    /// Fills in the layer's part of `entries`, of which that of all positions with fewer men is
    /// there. `scratch` is any position of the game.
    pub(super) fn solve(
        &self,
        scratch: &Position,
        entries: &mut [Entry],
    ) -> Result<(), UnsolvableGame> {
        let (known, rest) = entries.split_at_mut(self.numbers.start as usize);
        let layer = &mut rest[..(self.numbers.end - self.numbers.start) as usize];
        let chunks = layer.par_chunks_mut(CHUNK).enumerate();
        let mut works = chunks
            .map_init(
                || Scratch::new(scratch),
                |scratch, (nth, chunk)| self.look(scratch, known, nth * CHUNK, chunk),
            )
            .collect::<Result<Vec<_>, _>>()?;
        let horizon = works.iter().map(|work| work.longest + 1).max().unwrap_or(0);
        for plies in 1.. {
            let found: Vec<_> = {
                let layer = &*layer;
                works.par_iter_mut().flat_map_iter(|work| work.round(layer, plies)).collect()
            };
            if found.is_empty() && plies >= horizon {
                break;
            }
            for (at, value) in found {
                layer[at as usize] = Entry::of(value).ok_or(UnsolvableGame::Long)?;
            }
        }
        for open in works.iter().flat_map(|work| &work.open) {
            layer[open.at as usize] = Entry::DRAW;
        }
        Ok(())
    }

    /// Asks the rules for the moves of the positions of a chunk, which begins at the place `first`
    /// of the layer. Whose moves all lead out of the layer is solved at once.
    fn look(
        &self,
        scratch: &mut Scratch,
        known: &[Entry],
        first: usize,
        chunk: &mut [Entry],
    ) -> Result<Work, UnsolvableGame> {
        let Scratch { position, next, legal } = scratch;
        let mut work = Work::default();
        for (place, entry) in (first..).zip(chunk) {
            let number = self.numbers.start + place as u64;
            if !self.index.set_up(number, Image::default(), position) {
                continue;
            }
            position.legal_moves(legal);
            if let Some(outcome) = position.outcome_given(legal) {
                *entry = match outcome.score(position.turn()) {
                    -1 => Entry::of(Value::Loss(0)),
                    0 => Some(Entry::ENDED),
                    _ => Entry::of(Value::Win(0)),
                }
                .ok_or(UnsolvableGame::Long)?;
                continue;
            }
            let begin = work.edges.len() as u32;
            let (mut wins, mut loses) = (NEVER, 0);
            for &m in legal.iter() {
                next.clone_from(position);
                next.play_unchecked(m);
                let open = || UnsolvableGame::Open { fen: position.fen() };
                let number = self.index.number(next).ok_or_else(open)?;
                if number >= self.numbers.end {
                    return Err(open());
                }
                if number >= self.numbers.start {
                    work.edges.push((number - self.numbers.start) as u32);
                    continue;
                }
                let value = known[number as usize].value().ok_or_else(open)?.before();
                work.longest = work.longest.max(value.length().unwrap_or(0));
                match value {
                    Value::Win(plies) => wins = wins.min(plies as u8),
                    Value::Draw => loses = NEVER,
                    Value::Loss(plies) => loses = loses.max(plies as u8),
                }
            }
            if wins != NEVER {
                loses = NEVER;
            }
            let edges = begin..work.edges.len() as u32;
            if edges.is_empty() {
                let value = match (wins, loses) {
                    (NEVER, NEVER) => Value::Draw,
                    (NEVER, plies) => Value::Loss(plies.into()),
                    (plies, _) => Value::Win(plies.into()),
                };
                *entry = Entry::of(value).ok_or(UnsolvableGame::Long)?;
            } else {
                work.open.push(Open { at: place as u32, edges, wins, loses });
            }
        }
        work.open.shrink_to_fit();
        work.edges.shrink_to_fit();
        Ok(work)
    }
}

impl Work {
    /// Those positions that are won or lost in just so many plies, which are open no more. All that
    /// takes fewer plies is in the `layer`.
    fn round(&mut self, layer: &[Entry], plies: u32) -> Vec<(u32, Value)> {
        let mut found = Vec::new();
        let Work { open, edges, .. } = self;
        open.retain(|open| {
            let edges = &edges[open.edges.start as usize..open.edges.end as usize];
            let mut lost = u32::from(open.loses) <= plies && open.loses != NEVER;
            let mut won = u32::from(open.wins) == plies && open.wins != NEVER;
            for &edge in edges {
                match layer[edge as usize].value() {
                    Some(Value::Loss(after)) if after + 1 == plies => won = true,
                    // What was solved at once may take longer.
                    Some(Value::Win(after)) if after < plies => continue,
                    _ => {}
                }
                lost = false;
                if won {
                    break;
                }
            }
            if won {
                found.push((open.at, Value::Win(plies)));
            } else if lost {
                found.push((open.at, Value::Loss(plies)));
            }
            !won && !lost
        });
        found
    }
}

/// What each thread works with.
struct Scratch {
    position: Position,
    next: Position,
    legal: MoveList,
}

impl Scratch {
    fn new(position: &Position) -> Scratch {
        Scratch { position: position.clone(), next: position.clone(), legal: MoveList::new() }
    }
}

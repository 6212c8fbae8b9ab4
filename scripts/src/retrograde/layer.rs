//! The positions with the same number of pieces, solved together.

use std::ops::Range;

use menagerie::rules::{MoveList, Position, Value};
use menagerie::tablebase::{Image, Index, TableEntry};
use rayon::prelude::*;

use super::UnsolvableGame;

/// Positions that one task of a thread handles.
const CHUNK: usize = 1 << 16;
/// The number of plies of a missing win or loss.
const NEVER: u8 = u8::MAX;

/// The positions with the same number of pieces.
pub(super) struct SolvedLayer<'a> {
    index: &'a Index,
    numbers: Range<u64>,
}

/// The unsolved positions of a chunk.
#[derive(Default)]
struct ChunkWork {
    open: Vec<OpenPosition>,
    /// The indices in the layer to which the moves of open positions lead that capture nothing.
    edges: Vec<u32>,
    /// The plies of the longest win or loss to which moves out of the layer lead.
    longest: u32,
}

/// An unsolved position, and the values of its moves out of the layer.
struct OpenPosition {
    /// The index in the layer.
    at: u32,
    /// The range of its edges.
    edges: Range<u32>,
    /// The plies of the shortest win by a move out of the layer; [`NEVER`] without one.
    wins: u8,
    /// If every move out of the layer loses, the plies of the longest loss; else [`NEVER`].
    loses: u8,
}

impl SolvedLayer<'_> {
    pub(super) fn new(index: &Index, numbers: Range<u64>) -> SolvedLayer<'_> {
        SolvedLayer { index, numbers }
    }

    /// Fills in the layer's part of `entries`, in which the positions with fewer pieces are solved. `scratch` is any
    /// position of the game.
    pub(super) fn solve(
        &self,
        scratch: &Position,
        entries: &mut [TableEntry],
    ) -> Result<(), UnsolvableGame> {
        let (known, rest) = entries.split_at_mut(self.numbers.start as usize);
        let layer = &mut rest[..(self.numbers.end - self.numbers.start) as usize];
        let chunks = layer.par_chunks_mut(CHUNK).enumerate();
        let mut works = chunks
            .map_init(
                || Scratch::new(scratch),
                |scratch, (nth, chunk)| self.expand(scratch, known, nth * CHUNK, chunk),
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
                layer[at as usize] = TableEntry::of(value).ok_or(UnsolvableGame::Long)?;
            }
        }
        for open in works.iter().flat_map(|work| &work.open) {
            layer[open.at as usize] = TableEntry::DRAW;
        }
        Ok(())
    }

    /// Generates the moves of the positions of a chunk, whose first position has the index `first` in the layer.
    /// A position whose moves all lead out of the layer is solved at once.
    fn expand(
        &self,
        scratch: &mut Scratch,
        known: &[TableEntry],
        first: usize,
        chunk: &mut [TableEntry],
    ) -> Result<ChunkWork, UnsolvableGame> {
        let Scratch { position, next, legal } = scratch;
        let mut work = ChunkWork::default();
        for (at, entry) in (first..).zip(chunk) {
            let number = self.numbers.start + at as u64;
            if !self.index.set_up(number, Image::default(), position) {
                continue;
            }
            position.legal_moves(legal);
            if let Some(outcome) = position.outcome_given(legal) {
                *entry = match outcome.score(position.turn()) {
                    -1 => TableEntry::of(Value::Loss(0)),
                    0 => Some(TableEntry::ENDED),
                    _ => TableEntry::of(Value::Win(0)),
                }
                .ok_or(UnsolvableGame::Long)?;
                continue;
            }
            let begin = work.edges.len() as u32;
            let mut wins = NEVER;
            let mut loses = 0;
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
                *entry = TableEntry::of(value).ok_or(UnsolvableGame::Long)?;
            } else {
                work.open.push(OpenPosition { at: at as u32, edges, wins, loses });
            }
        }
        work.open.shrink_to_fit();
        work.edges.shrink_to_fit();
        Ok(work)
    }
}

impl ChunkWork {
    /// Removes and returns the positions that are won or lost in exactly `plies` plies. All positions with fewer
    /// plies are solved in `layer`.
    fn round(&mut self, layer: &[TableEntry], plies: u32) -> Vec<(u32, Value)> {
        let mut found = Vec::new();
        let ChunkWork { open, edges, .. } = self;
        open.retain(|open| {
            let edges = &edges[open.edges.start as usize..open.edges.end as usize];
            let mut lost = u32::from(open.loses) <= plies && open.loses != NEVER;
            let mut won = u32::from(open.wins) == plies && open.wins != NEVER;
            for &edge in edges {
                match layer[edge as usize].value() {
                    Some(Value::Loss(after)) if after + 1 == plies => won = true,
                    // Positions that were solved at once may have more plies.
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

/// The buffers of a thread.
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

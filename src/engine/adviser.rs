//! What the evaluator alone expects to be played, for programs that search in a way of their own.

use std::fmt;
use std::sync::Arc;

use super::network::Chosen;
use super::options::Options;
use crate::encoding::Encoding;
use crate::rules::MoveList;
use crate::variant::{Catalogue, Variant};

/// A network that is asked about positions of one game, without a search.
pub struct Adviser {
    variant: Arc<Variant>,
    chosen: Chosen,
}

impl fmt::Debug for Adviser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adviser").field("variant", &self.variant.name()).finish_non_exhaustive()
    }
}

impl Adviser {
    /// One for a game of the catalogue, by the network in the file `weights`, or the shipped one if
    /// that is empty or cannot be used; and what there is to know about it, a line each. `None` if there is no such
    /// game, or no network that can be used.
    pub fn open(
        catalogue: &Catalogue,
        name: &str,
        weights: &str,
    ) -> (Option<Adviser>, Vec<String>) {
        let Some(variant) = catalogue.get(name) else {
            return (None, vec![format!("no game is called \"{name}\"")]);
        };
        let mut options = Options::new(catalogue);
        weights.clone_into(&mut options.weights);
        let mut notes = Vec::new();
        let chosen = Chosen::new(&variant, &options, None, &mut notes);
        let adviser = chosen.network.then_some(Adviser { variant, chosen });
        (adviser, notes)
    }

    /// Whether its network stands in for one that was named and could not be had.
    pub fn stands_in(&self) -> bool {
        self.chosen.stands_in
    }

    /// The first plies of the mover in each of the positions, which are FENs, with their
    /// probabilities.
    ///
    /// # Errors
    /// In words, if one is no position of the game, or the network fails.
    pub fn policies(&mut self, fens: &[String]) -> Result<Vec<Vec<(String, f32)>>, String> {
        let evaluator = self.chosen.first();
        let size = evaluator.preferred_batch().max(1);
        let (mut batch, mut legal) = (evaluator.new_batch(), MoveList::new());
        let mut all = Vec::with_capacity(fens.len());
        for fens in fens.chunks(size) {
            batch.clear();
            let mut moves: Vec<Vec<String>> = Vec::with_capacity(fens.len());
            for fen in fens {
                let position = self.variant.position(fen, false);
                let position = position.map_err(|error| format!("\"{fen}\": {error}"))?;
                legal.clear();
                position.legal_moves(&mut legal);
                batch.push(&Encoding::of(&position), &position, &legal);
                moves.push(legal.iter().map(|&m| position.move_text(m)).collect());
            }
            evaluator.evaluate(&mut batch).map_err(|error| error.to_string())?;
            for (row, moves) in moves.into_iter().enumerate() {
                all.push(moves.into_iter().zip(batch.evaluation(row).policy()).collect());
            }
        }
        Ok(all)
    }
}

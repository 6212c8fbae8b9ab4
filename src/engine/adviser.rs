//! What a network expects to be played and finds best, for players that choose in ways of their own.

use std::fmt;
use std::sync::Arc;

use super::evaluators::EvaluatorPool;
use super::options::Options;
use crate::encoding::Encoding;
use crate::nn::Query;
use crate::rules::{MoveList, Position};
use crate::search::{Searcher, Tree};
use crate::variant::{Catalogue, Variant};

/// Memory of a tree: some 80,000 visits of chess. A search ends where it is full.
const TREE_BYTES: usize = 16 << 20;

/// A network that is asked about positions of one game.
pub struct Adviser {
    variant: Arc<Variant>,
    chosen: EvaluatorPool,
    /// For searches, once there was one.
    tree: Option<Tree>,
}

impl fmt::Debug for Adviser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adviser").field("variant", &self.variant.name()).finish_non_exhaustive()
    }
}

impl Adviser {
    /// One for a game of the catalogue, by the network in the file `weights`, or the shipped one if
    /// that is empty or cannot be used; and what there is to know about it, a line each. `None` if
    /// there is no such game, or no network that can be used.
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
        let chosen = EvaluatorPool::new(&variant, &options, None, &mut notes);
        let adviser = chosen.network.then_some(Adviser { variant, chosen, tree: None });
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
        let mut batch = evaluator.new_batch();
        let mut legal = MoveList::new();
        let mut all = Vec::with_capacity(fens.len());
        for fens in fens.chunks(size) {
            batch.clear();
            let mut moves: Vec<Vec<String>> = Vec::with_capacity(fens.len());
            for fen in fens {
                let position = position(&self.variant, fen)?;
                legal.clear();
                position.legal_moves(&mut legal);
                let encoding = Encoding::of(&position);
                batch.push(Query { encoding: &encoding, position: &position, legal: &legal });
                moves.push(legal.iter().map(|&m| position.move_text(m)).collect());
            }
            evaluator.evaluate(&mut batch).map_err(|error| error.to_string())?;
            for (row, moves) in moves.into_iter().enumerate() {
                all.push(moves.into_iter().zip(batch.evaluation(row).policy()).collect());
            }
        }
        Ok(all)
    }

    /// The best first ply of the position, a FEN, by so many simulations of the search that the engine
    /// plays by; `None` if there is none.
    ///
    /// # Errors
    /// In words, if it is no position of the game, or the network fails.
    pub fn best(&mut self, fen: &str, simulations: u32) -> Result<Option<String>, String> {
        let position = position(&self.variant, fen)?;
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if legal.is_empty() {
            return Ok(None);
        }
        let params = self.chosen.params();
        let tree = self.tree.get_or_insert_with(|| Tree::new(position.clone(), params, TREE_BYTES));
        tree.restart(position.clone());
        let evaluator = self.chosen.first();
        let batch = evaluator.preferred_batch();
        let mut searcher = Searcher::new(tree, evaluator, batch);
        searcher.visit(simulations, || true).map_err(|error| error.to_string())?;
        let line = searcher.tree().lines(1).into_iter().next();
        let ply = line.and_then(|line| line.moves.first().copied());
        Ok(ply.map(|ply| position.move_text(ply)))
    }
}

fn position(variant: &Variant, fen: &str) -> Result<Position, String> {
    variant.position(fen, false).map_err(|error| format!("\"{fen}\": {error}"))
}

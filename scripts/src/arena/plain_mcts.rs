//! Plain Monte-Carlo tree search, the opponent of Multiplayer AlphaZero (Petosa and Balch 2019), after the
//! code of its authors.
//!
//! The priors are uniform, the value of a position is 0 for all sides until the game ends, and each side
//! maximises its own score (max^n). There is no solver, no rollout and no noise. Transpositions share their
//! statistics, and the statistics are kept from turn to turn. The most visited move is played. In the matches
//! of the paper the constant of PUCT is 1 everywhere; 3 at the root is the value of its self-play.
//!
//! One thing differs: among equal moves the original takes the first one, so that all games between two such
//! players are the same. Here the moves of each position are shuffled.
use std::collections::HashMap;

use menagerie::rules::{Key, Move, MoveList, PerSide, Position, Side};
use rand::Rng;
use rand::seq::SliceRandom;

/// The statistics of a position.
#[derive(Debug)]
struct Node {
    moves: MoveList,
    visits: Vec<u32>,
    /// The mean score of the side to move after each move, from -1 to 1.
    means: Vec<f32>,
    total: u32,
}

/// The search of one game.
#[derive(Debug)]
pub struct PlainMcts {
    c_puct: f32,
    root_c_puct: f32,
    nodes: HashMap<Key, Node>,
}

/// Added to the number of visits, so that the priors count before the first visit, as in the original.
const EPSILON: f32 = 1e-6;

impl PlainMcts {
    /// Returns an empty search with the constants of PUCT at the root and below.
    pub fn new(root_c_puct: f32, c_puct: f32) -> PlainMcts {
        PlainMcts { c_puct, root_c_puct, nodes: HashMap::new() }
    }

    /// Searches `position`, in which the game is not over, with `visits` further visits, and returns the most
    /// visited move. The first visit of a position only generates its moves.
    pub fn best_move(
        &mut self,
        position: &Position,
        visits: u32,
        rng: &mut impl Rng,
    ) -> Option<Move> {
        let mut root = position.clone();
        root.begin_search();
        for _ in 0..visits {
            self.visit(root.clone(), rng);
        }
        let node = self.node(&root, rng)?;
        let most = (0..node.moves.len()).rev().max_by_key(|&index| node.visits[index])?;
        Some(node.moves[most])
    }

    /// Returns the visits of each move of a position.
    pub fn visits(&self, position: &Position) -> Vec<(Move, u32)> {
        let node = self.nodes.get(&position.key());
        let pairs = node.into_iter().flat_map(|node| node.moves.iter().zip(&node.visits));
        pairs.map(|(&m, &visits)| (m, visits)).collect()
    }

    /// Descends to a new position or the end of the game, and backs up the scores.
    fn visit(&mut self, mut position: Position, rng: &mut impl Rng) {
        let mut path: Vec<(Key, usize, Side)> = Vec::new();
        let scores = loop {
            let claim = if path.is_empty() { None } else { position.claimable_outcome_in_search() };
            if let Some(outcome) = claim.or_else(|| self.end(&position)) {
                break PerSide::from_fn(|side| f32::from(outcome.score(side)));
            }
            let key = position.key();
            let Some(node) = self.nodes.get(&key) else {
                self.node(&position, rng);
                break PerSide::all(0.0);
            };
            let c_puct = if path.is_empty() { self.root_c_puct } else { self.c_puct };
            let index = node.choose(c_puct);
            path.push((key, index, position.turn()));
            position.play_unchecked(node.moves[index]);
        };
        for (key, index, mover) in path {
            let Some(node) = self.nodes.get_mut(&key) else { continue };
            let visits = node.visits[index] as f32;
            node.means[index] = (visits * node.means[index] + scores[mover]) / (visits + 1.0);
            node.visits[index] += 1;
            node.total += 1;
        }
    }

    /// Returns the outcome of the game. Positions with a node are not over.
    fn end(&self, position: &Position) -> Option<menagerie::rules::Outcome> {
        if self.nodes.contains_key(&position.key()) { None } else { position.outcome() }
    }

    /// Returns the node of a position, which is created if necessary; `None` if the game is over there.
    fn node(&mut self, position: &Position, rng: &mut impl Rng) -> Option<&Node> {
        let node = self.nodes.entry(position.key()).or_insert_with(|| {
            let mut moves = MoveList::new();
            position.legal_moves(&mut moves);
            moves.shuffle(rng);
            let count = moves.len();
            Node { moves, visits: vec![0; count], means: vec![0.0; count], total: 0 }
        });
        (!node.moves.is_empty()).then_some(&*node)
    }
}

impl Node {
    /// Returns the move with the highest mean plus exploration bonus; the first one of equal moves.
    fn choose(&self, c_puct: f32) -> usize {
        let prior = 1.0 / self.moves.len() as f32;
        let factor = c_puct * prior * (self.total as f32 + EPSILON).sqrt();
        let value = |index: usize| self.means[index] + factor / (1.0 + self.visits[index] as f32);
        let all = (0..self.moves.len()).rev();
        all.max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    use super::*;

    /// Returns the index of the best move of a test tree.
    fn best_index(tree: &str, sides: usize, visits: u32, seed: u64) -> usize {
        let position = Position::test_tree(tree, sides).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let best = PlainMcts::new(1.0, 1.0).best_move(&position, visits, &mut rng).unwrap();
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        legal.iter().position(|&m| m == best).unwrap()
    }

    #[test]
    fn plain_mcts_maximises_the_score_of_each_side() {
        for seed in 0..10 {
            // An immediate win, and a win that the opponent cannot prevent.
            assert_eq!(best_index("a(b=a)", 2, 20, seed), 2);
            assert_eq!(best_index("a(b(a=)b(aa)b(b=))", 2, 100, seed), 1);
            // With three sides, b takes its own win, even if another side loses.
            assert_eq!(best_index("a(b(bc)c(ac)=)", 3, 200, seed), 2);
            assert_eq!(best_index("a(b(aa)b(cc)=)", 3, 100, seed), 0);
            // A turn of two plies belongs to one side.
            assert_eq!(best_index("a(+a(b=)+a(ba)=)", 2, 100, seed), 1);
        }
    }

    #[test]
    fn plain_mcts_spends_the_first_visit_on_the_root() {
        let start = Catalogue::shipped().require("tictacmo").unwrap().start();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut search = PlainMcts::new(1.0, 1.0);
        search.best_move(&start, 50, &mut rng);
        let total = |search: &PlainMcts| -> u32 {
            search.visits(&start).iter().map(|(_, visits)| visits).sum()
        };
        assert_eq!(total(&search), 49);
        // Without values all 15 moves are visited evenly.
        assert!(search.visits(&start).iter().all(|(_, visits)| (3..=4).contains(visits)));
        search.best_move(&start, 50, &mut rng);
        assert_eq!(total(&search), 99);
    }

    #[test]
    fn plain_mcts_completes_and_blocks_rows() {
        let game = Catalogue::shipped().require("tictactoe").unwrap();
        for (fen, wanted) in [("aa1/bb1/3 a", "c3"), ("b2/aa1/b2 b", "c2")] {
            let position = game.position(fen, false).unwrap();
            for seed in 0..5 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let best = PlainMcts::new(3.0, 1.0).best_move(&position, 400, &mut rng).unwrap();
                assert_eq!(position.move_text(best), wanted, "{fen}");
            }
        }
    }
}

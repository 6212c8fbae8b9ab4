//! Monte-Carlo tree search with nothing to help it: the opponent of Multiplayer AlphaZero (Petosa
//! and Balch 2019), after its authors' code.
//!
//! Every move is equally likely, a position is worth nothing to anybody until the game has ended,
//! and each side's score is backed up to the moves that this side made (max^n). There is no solver,
//! no rollout and no noise; positions that several paths reach share their statistics, and what was
//! learned in one turn is kept for the next. The most visited move is played. In the authors' matches
//! the constant of PUCT is 1 everywhere; 3 at the root is that of their self-play.
//!
//! One thing differs. Where moves are equal, theirs takes the first, so that all games between such
//! players are the same; here the order of the moves is drawn for each position.

use std::collections::HashMap;

use menagerie::rules::{Key, Move, MoveList, PerSide, Position, Side};
use rand::Rng;
use rand::seq::SliceRandom;

/// What is known of a position.
#[derive(Debug)]
struct Node {
    moves: MoveList,
    visits: Vec<u32>,
    /// The mean score of the mover after each move, from -1 to 1.
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

/// So that the prior counts before the first visit, as theirs does.
const EPSILON: f32 = 1e-6;

impl PlainMcts {
    /// A search that knows nothing, with PUCT's constant at the root and below.
    pub fn new(root_c_puct: f32, c_puct: f32) -> PlainMcts {
        PlainMcts { c_puct, root_c_puct, nodes: HashMap::new() }
    }

    /// Searches `position`, which has not ended, with so many more visits, and gives the move that
    /// was visited most; the first visit ever to a position is spent on looking at its moves.
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

    /// How often each move of a position was visited.
    pub fn visits(&self, position: &Position) -> Vec<(Move, u32)> {
        let node = self.nodes.get(&position.key());
        let pairs = node.into_iter().flat_map(|node| node.moves.iter().zip(&node.visits));
        pairs.map(|(&m, &visits)| (m, visits)).collect()
    }

    /// One way down to a position that is new or the end of the game, and back up.
    fn visit(&mut self, mut position: Position, rng: &mut impl Rng) {
        let mut path: Vec<(Key, usize, Side)> = Vec::new();
        let scores = loop {
            let claim = if path.is_empty() { None } else { position.claim_in_search() };
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

    /// How the game ended, which it has not where the moves are known.
    fn end(&self, position: &Position) -> Option<menagerie::rules::Outcome> {
        if self.nodes.contains_key(&position.key()) { None } else { position.outcome() }
    }

    /// The node of a position, made if there is none; `None` if the game is over there.
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
    /// The first of the moves with the highest mean and bonus.
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

    /// The best move of a toy tree, as its place among the moves.
    fn place(tree: &str, sides: usize, visits: u32, seed: u64) -> usize {
        let position = Position::test_tree(tree, sides).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let best = PlainMcts::new(1.0, 1.0).best_move(&position, visits, &mut rng).unwrap();
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        legal.iter().position(|&m| m == best).unwrap()
    }

    #[test]
    fn each_side_goes_for_its_own_score() {
        for seed in 0..10 {
            // A win at once, and one that the opponent must allow.
            assert_eq!(place("a(b=a)", 2, 20, seed), 2);
            assert_eq!(place("a(b(a=)b(aa)b(b=))", 2, 100, seed), 1);
            // Of three, b takes its own win and does not care who else loses.
            assert_eq!(place("a(b(bc)c(ac)=)", 3, 200, seed), 2);
            assert_eq!(place("a(b(aa)b(cc)=)", 3, 100, seed), 0);
            // A turn of two plies is the same side's twice.
            assert_eq!(place("a(+a(b=)+a(ba)=)", 2, 100, seed), 1);
        }
    }

    #[test]
    fn one_visit_looks_and_the_others_are_counted() {
        let start = Catalogue::shipped().require("tictacmo").unwrap().start();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut search = PlainMcts::new(1.0, 1.0);
        search.best_move(&start, 50, &mut rng);
        let total = |search: &PlainMcts| -> u32 {
            search.visits(&start).iter().map(|(_, visits)| visits).sum()
        };
        assert_eq!(total(&search), 49);
        // With nothing known all 15 moves are visited evenly.
        assert!(search.visits(&start).iter().all(|(_, visits)| (3..=4).contains(visits)));
        search.best_move(&start, 50, &mut rng);
        assert_eq!(total(&search), 99);
    }

    #[test]
    fn a_row_is_made_and_one_is_stopped() {
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

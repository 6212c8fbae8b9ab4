//! A network that sees both sides of a board, for the player of RBC.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use menagerie::alphabeta::{AlphaBeta, Request as SearchRequest, Verdict, expected_score};
use menagerie::encoding::Encoding;
use menagerie::engine::{VariantNetwork, open_direct_substitute, open_network};
use menagerie::nn::{DirectNetwork, EvalError, Query};
use menagerie::rbc::{BoardScorer, PolicyNetwork, PolicyNetworkError, RequestPolicy};
use menagerie::rules::rbc::Request;
use menagerie::rules::{MoveList, Position};
use menagerie::search::{Searcher, Tree};
use menagerie::variant::{Catalogue, Variant};

/// The variant of a board of RBC whose pieces are all visible.
const VARIANT: &str = "blindboard";
/// The memory of a search tree: about 80,000 visits. A search ends when the tree is full.
const TREE_BYTES: usize = 16 << 20;

/// The greatest distance from 1/2 of an expected score while no king is captured.
const MAX_UNDECIDED: f32 = 0.49;
/// The memory of the table of an alpha-beta search.
const TABLE_BYTES: usize = 16 << 20;

/// Predicts moves on boards that are given as FENs, and searches them.
pub(crate) struct BoardNetwork {
    variant: Arc<Variant>,
    network: VariantNetwork,
    /// The network for alpha-beta.
    direct: Option<DirectNetwork>,
    /// Created by the first search.
    tree: Option<Tree>,
}

impl fmt::Debug for BoardNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardNetwork").field("network", &self.network).finish_non_exhaustive()
    }
}

impl BoardNetwork {
    /// Opens the network file `weights`, or the shipped network if `weights` is empty or cannot be used.
    /// `for_alpha_beta`: the network that the variant names is opened, too, unless `weights` can be searched by
    /// alpha-beta. The shipped network is not searched, as it only predicts (results in docs/history/rbc.md).
    /// Messages for the user are appended to `notes`. Returns `None` if no network can be used.
    pub(crate) fn open(
        weights: &str,
        for_alpha_beta: bool,
        notes: &mut Vec<String>,
    ) -> Option<BoardNetwork> {
        let variant = Catalogue::shipped().get(VARIANT)?;
        let network = open_network(&variant, weights, notes)?;
        let mut direct = None;
        if for_alpha_beta {
            let is_requested = !weights.is_empty() && !network.is_substitute;
            let own = if is_requested { network.evaluator.direct() } else { None };
            direct = own.or_else(|| open_direct_substitute(&variant, notes));
            if direct.is_none() {
                notes.push(format!("{VARIANT}: no network for alpha-beta, searching without one"));
            }
        }
        Some(BoardNetwork { variant, network, direct, tree: None })
    }

    /// Returns `true` if it can be searched by alpha-beta.
    pub(crate) fn has_alpha_beta(&self) -> bool {
        self.direct.is_some()
    }

    /// Returns `true` if the network replaces one that was named and cannot be used.
    pub(crate) fn is_substitute(&self) -> bool {
        self.network.is_substitute
    }
}

/// An alpha-beta search of boards.
struct AlphaBetaScorer {
    variant: Arc<Variant>,
    search: AlphaBeta<DirectNetwork>,
}

impl fmt::Debug for AlphaBetaScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlphaBetaScorer").field("search", &self.search).finish_non_exhaustive()
    }
}

impl BoardScorer for AlphaBetaScorer {
    fn score(
        &mut self,
        fen: &str,
        nodes: u64,
        deadline: Instant,
    ) -> Result<Option<f32>, PolicyNetworkError> {
        let position = parse_position(&self.variant, fen)?;
        let request = SearchRequest {
            root: &position,
            moves: &[],
            lines: 1,
            max_depth: u32::MAX,
            max_nodes: nodes,
            probe: None,
        };
        let is_over = || Instant::now() >= deadline;
        let last = self.search.search(request, &|_| is_over(), &mut |iteration| {
            let is_decided = iteration.lines.first().is_none_or(|l| l.mate_plies().is_some());
            if is_decided { Verdict::Stop } else { Verdict::Continue }
        });
        let last = last.map_err(evaluation_error)?;
        if is_over() {
            return Ok(None);
        }
        let Some(best) = last.lines.first() else { return Ok(Some(0.5)) };
        Ok(Some(match best.mate_plies() {
            Some(plies) if plies > 0 => 1.0,
            Some(_) => 0.0,
            None => 0.5 + MAX_UNDECIDED * expected_score(best.score),
        }))
    }
}

impl PolicyNetwork for BoardNetwork {
    fn scorer(&self) -> Option<Box<dyn BoardScorer>> {
        let search = AlphaBeta::new(vec![self.direct.clone()?], TABLE_BYTES);
        Some(Box::new(AlphaBetaScorer { variant: Arc::clone(&self.variant), search }))
    }

    fn predict(&mut self, fens: &[String]) -> Result<Vec<RequestPolicy>, PolicyNetworkError> {
        let evaluator = &mut *self.network.evaluator;
        let batch_size = evaluator.preferred_batch().max(1);
        let mut batch = evaluator.new_batch();
        let mut legal = MoveList::new();
        let mut policies = Vec::with_capacity(fens.len());
        for fens in fens.chunks(batch_size) {
            batch.clear();
            let mut moves: Vec<Vec<String>> = Vec::with_capacity(fens.len());
            for fen in fens {
                let position = parse_position(&self.variant, fen)?;
                legal.clear();
                position.legal_moves(&mut legal);
                let encoding = Encoding::of(&position);
                batch.push(Query { encoding: &encoding, position: &position, legal: &legal });
                moves.push(legal.iter().map(|&m| position.move_text(m)).collect());
            }
            evaluator.evaluate(&mut batch).map_err(evaluation_error)?;
            for (row, moves) in moves.iter().enumerate() {
                policies.push(request_policy(moves, &batch.evaluation(row).policy()));
            }
        }
        Ok(policies)
    }

    fn search(
        &mut self,
        fen: &str,
        simulations: u32,
    ) -> Result<Option<Request>, PolicyNetworkError> {
        let position = parse_position(&self.variant, fen)?;
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        if legal.is_empty() {
            return Ok(None);
        }
        let params = self.network.params;
        let tree = self.tree.get_or_insert_with(|| Tree::new(position.clone(), params, TREE_BYTES));
        tree.restart(position.clone());
        let evaluator = &mut *self.network.evaluator;
        let batch_size = evaluator.preferred_batch();
        let mut searcher = Searcher::new(tree, evaluator, batch_size);
        searcher.visit(simulations, || true).map_err(evaluation_error)?;
        let line = searcher.tree().lines(1).into_iter().next();
        let best = line.and_then(|line| line.moves.first().copied());
        Ok(best.and_then(|best| position.move_text(best).parse().ok()))
    }
}

fn parse_position(variant: &Variant, fen: &str) -> Result<Position, PolicyNetworkError> {
    variant
        .position(fen, false)
        .map_err(|error| PolicyNetworkError::Fen { fen: fen.to_owned(), error })
}

fn evaluation_error(error: EvalError) -> PolicyNetworkError {
    PolicyNetworkError::Evaluation(Box::new(error))
}

fn request_policy(moves: &[String], policy: &[f32]) -> RequestPolicy {
    let mut requests = Vec::with_capacity(moves.len());
    for (text, &probability) in moves.iter().zip(policy) {
        if let Ok(request) = text.parse() {
            requests.push((request, probability));
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use menagerie::rules::Square;

    fn open_shipped() -> BoardNetwork {
        let mut notes = Vec::new();
        BoardNetwork::open("", true, &mut notes).unwrap_or_else(|| panic!("{notes:?}"))
    }

    #[test]
    fn board_network_predicts_moves() {
        let mut network = open_shipped();
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1".to_owned();
        let policies = network.predict(&[fen]).expect("a valid board");
        let [policy] = &policies[..] else { panic!("one board") };
        // Castling is the king's step of two.
        for text in ["e1g1", "e1c1", "h1h8"] {
            let request: Request = text.parse().expect("a move");
            let (_, probability) = policy.iter().find(|(known, _)| *known == request).expect(text);
            assert!((0.0..1.0).contains(probability), "{text}: {probability}");
        }
        let sum: f32 = policy.iter().map(|(_, probability)| probability).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }

    #[test]
    fn board_network_search_captures_the_king() {
        let best = open_shipped().search("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1", 32);
        assert_eq!(best.expect("a valid board"), Some(Request::new(Square::E1, Square::E8)));
    }

    #[test]
    fn board_network_scores_boards() {
        let mut scorer = open_shipped().scorer().expect("a network for alpha-beta");
        let later = Instant::now() + Duration::from_secs(3600);
        let mut score = |fen: &str| scorer.score(fen, 2000, later).expect(fen).expect("time");
        // The rook can take the bishop, which does not decide the game within 2,000 nodes.
        let wins_bishop = score("4k3/8/8/8/8/3r4/8/1K1B4 b - - 0 1");
        assert!((0.8..1.0).contains(&wins_bishop), "{wins_bishop}");
        assert_eq!(score("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1"), 1.0);
        assert_eq!(score("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"), 0.0);
        let late = scorer.score("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1", 1_000_000_000, Instant::now());
        assert_eq!(late.expect("a valid board"), None);
    }

    #[test]
    fn board_network_errors_quote_the_fen() {
        let mut network = open_shipped();
        let error = network.predict(&["not a FEN".to_owned()]).expect_err("not a FEN");
        assert!(error.to_string().contains("\"not a FEN\""), "{error}");
        let error = network.search("not a FEN", 32).expect_err("not a FEN");
        assert!(error.to_string().contains("\"not a FEN\""), "{error}");
        let mut scorer = network.scorer().expect("a network for alpha-beta");
        let error = scorer.score("not a FEN", 32, Instant::now()).expect_err("not a FEN");
        assert!(error.to_string().contains("\"not a FEN\""), "{error}");
    }
}

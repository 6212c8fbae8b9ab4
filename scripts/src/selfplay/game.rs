//! One game of self-play as a state machine that requests evaluations.

use menagerie::encoding::Encoding;
use menagerie::nn::{Batch, CachedEval, Evaluation, Evaluator, Query};
use menagerie::rules::{Move, PerSide, Position, Side};
use menagerie::search::{
    Gumbel, GumbelParams, Leaf, MateSearch, Params, Proof, SearchedPosition, Selection, Tree,
    improved_policy,
};
use menagerie::variant::Variant;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand_distr::{Distribution, Gamma};

use super::{RootSearch, SelfPlayConfig, SelfPlayStats, SidePositions};
use crate::random_starts;
use crate::record::surprise::divergence;
use crate::record::{End, GameRecord, PlyRecord, SidePosition};

/// A game in progress.
pub(super) struct SelfPlayGame<'a> {
    number: u64,
    variant: &'a Variant,
    /// The positions that games start from, before random plies.
    starts: &'a [Position],
    config: &'a SelfPlayConfig,
    encoding: Encoding,
    tree: Tree,
    leaf: Leaf,
    mate_search: MateSearch,
    /// The evaluation of a leaf that is known without the network.
    known: CachedEval,
    phase: SearchPhase,
    /// Whether the current ply is searched with all visits.
    full: bool,
    /// The priors of the network at the root, without noise.
    priors: Vec<(Move, f32)>,
    rng: ChaCha8Rng,
    start: String,
    /// The number of starts that were not even enough.
    rejected_starts: usize,
    plies: Vec<PlyRecord>,
    side_positions: Vec<SidePosition>,
    end: Option<End>,
    /// The number of consecutive plies at which each side expected to lose.
    lost_plies: PerSide<usize>,
    /// Whether a resignation is only counted, and the game played out.
    plays_out: bool,
    /// The side that resigned, or would have.
    resigned: Option<Side>,
    visits: u64,
    evaluations: u64,
}

/// The phase of the search of the current position.
enum SearchPhase {
    /// The root may not have been evaluated yet.
    New,
    /// Sequential halving.
    Gumbel(Gumbel),
    /// PUCT with the number of visits that are left.
    Puct(usize),
}

/// The state of a game after [`SelfPlayGame::advance`].
pub(super) enum Progress {
    /// It has added a position to the batch and needs the evaluation.
    NeedsEvaluation,
    /// It is over.
    Finished,
}

/// Memory of the tree of one ply, which has few visits.
const TREE_BYTES: usize = 1 << 20;

/// Starts that are replaced before one is played as it is.
const MAX_REJECTED_STARTS: usize = 20;

impl<'a> SelfPlayGame<'a> {
    pub(super) fn new(
        number: u64,
        variant: &'a Variant,
        starts: &'a [Position],
        params: Params,
        config: &'a SelfPlayConfig,
        mut rng: ChaCha8Rng,
    ) -> SelfPlayGame<'a> {
        let start = random_starts::start(variant, &config.opening, starts, &mut rng);
        let encoding = Encoding::of(&start);
        let fen = start.fen();
        let tree = Tree::new(start, params, TREE_BYTES);
        let leaf = Leaf::new(&tree);
        let played_out = config.resignation.as_ref().map_or(0.0, |rule| rule.played_out);
        let plays_out = played_out > 0.0 && rng.random_bool(played_out.min(1.0));
        SelfPlayGame {
            number,
            variant,
            starts,
            config,
            encoding,
            tree,
            leaf,
            mate_search: MateSearch::new(&params),
            known: CachedEval::default(),
            phase: SearchPhase::New,
            full: true,
            priors: Vec::new(),
            rng,
            start: fen,
            rejected_starts: 0,
            plies: Vec::new(),
            side_positions: Vec::new(),
            end: None,
            lost_plies: PerSide::from_fn(|_| 0),
            plays_out,
            resigned: None,
            visits: 0,
            evaluations: 0,
        }
    }

    /// Continues the game until a position must be evaluated, which is added to `batch`, or it is over.
    pub(super) fn advance(&mut self, evaluator: &impl Evaluator, batch: &mut Batch) -> Progress {
        loop {
            if self.end.is_some() {
                return Progress::Finished;
            }
            let Some(selection) = self.select_leaf() else {
                self.play_move();
                continue;
            };
            self.visits += 1;
            if selection == Selection::NeedsEvaluation {
                let Leaf { position, legal, .. } = &self.leaf;
                let query = Query { encoding: &self.encoding, position, legal };
                if evaluator.probe(query, &mut self.known)
                    || self.mate_search.evaluate(query, &mut self.known)
                {
                    self.tree.backup(&self.leaf, self.known.evaluation());
                } else {
                    batch.push(query);
                    return Progress::NeedsEvaluation;
                }
            }
        }
    }

    /// Backs up the evaluation of the position that was added to the batch.
    pub(super) fn receive_evaluation(&mut self, evaluation: Evaluation<'_>) {
        self.evaluations += 1;
        self.tree.backup(&self.leaf, evaluation);
    }

    /// The statistics of the game, without CPU time.
    pub(super) fn stats(&self) -> SelfPlayStats {
        let winner = self.end.and_then(|end| end.winner).map(usize::from);
        let lost = |side: Side| winner.is_some_and(|winner| winner != side.index());
        let resigned = self.resigned.is_some();
        let not_lost = self.resigned.is_some_and(|side| !lost(side));
        SelfPlayStats {
            visits: self.visits,
            evaluations: self.evaluations,
            resigned: u64::from(resigned && !self.plays_out),
            played_out: u64::from(resigned && self.plays_out),
            false_resignations: u64::from(not_lost && self.plays_out),
            ..SelfPlayStats::default()
        }
    }

    /// Returns the number and the record of a finished game.
    pub(super) fn into_record(self) -> (u64, GameRecord) {
        let end = self.end.or(Some(End { winner: None, turns: 0 }));
        let SelfPlayGame { number, start, plies, side_positions, .. } = self;
        (number, GameRecord { start, plies, side_positions, end, ..GameRecord::default() })
    }

    /// Selects the next leaf; `None` if the search of this ply is finished.
    fn select_leaf(&mut self) -> Option<Selection> {
        if self.tree.is_empty() {
            return Some(self.tree.select(&mut self.leaf));
        }
        if let SearchPhase::New = self.phase {
            self.phase = self.start_search();
        }
        if self.tree.is_proven() {
            return None;
        }
        match &mut self.phase {
            SearchPhase::Gumbel(gumbel) => {
                let m = gumbel.next(&self.tree)?;
                Some(self.tree.select_through(&mut self.leaf, m))
            }
            SearchPhase::Puct(0) | SearchPhase::New => None,
            SearchPhase::Puct(left) => {
                *left -= 1;
                Some(self.tree.select(&mut self.leaf))
            }
        }
    }

    /// Starts the search of the current position, whose root has been evaluated.
    fn start_search(&mut self) -> SearchPhase {
        self.full = match &self.config.playout_cap {
            Some(cap) => self.rng.random_bool(cap.full.clamp(0.0, 1.0)),
            None => true,
        };
        self.priors = self.tree.root_priors();
        match self.config.root {
            RootSearch::Gumbel { .. } => {
                SearchPhase::Gumbel(Gumbel::new(&self.tree, self.gumbel_params(), &mut self.rng))
            }
            RootSearch::Puct { .. } if !self.full => SearchPhase::Puct(self.visits_of_ply()),
            RootSearch::Puct { dirichlet, noise, .. } => {
                let moves = self.tree.root_priors().len();
                let gamma = Gamma::new((dirichlet / moves as f32).max(1e-3), 1.0);
                let draws: Vec<f32> = match gamma {
                    Ok(gamma) => gamma.sample_iter(&mut self.rng).take(moves).collect(),
                    Err(_) => vec![1.0; moves],
                };
                let total: f32 = draws.iter().sum::<f32>().max(1e-9);
                let mut draws = draws.into_iter();
                self.tree.set_root_priors(|_, prior| {
                    (1.0 - noise) * prior + noise * draws.next().unwrap_or(0.0) / total
                });
                SearchPhase::Puct(self.visits_of_ply())
            }
        }
    }

    /// The number of visits of the current ply.
    fn visits_of_ply(&self) -> usize {
        match &self.config.playout_cap {
            Some(cap) if !self.full => cap.visits,
            _ => self.config.visits,
        }
    }

    fn gumbel_params(&self) -> GumbelParams {
        let default = GumbelParams { visits: self.visits_of_ply(), ..GumbelParams::default() };
        match self.config.root {
            RootSearch::Gumbel { considered, c_visit, c_scale } => {
                GumbelParams { considered, c_visit, c_scale, ..default }
            }
            RootSearch::Puct { .. } => default,
        }
    }

    /// Plays a move, records the result of the search, and checks whether the game is over.
    fn play_move(&mut self) {
        let mover = self.tree.root().turn();
        if self.plies.is_empty() && self.is_decided(self.tree.value()[mover]) {
            self.replace_start();
            return;
        }
        let (policy, played) = self.choose_move();
        let Some(played) = played else {
            self.end = Some(End { winner: None, turns: 0 });
            return;
        };
        let prior = |m: Move| self.priors.iter().find(|(known, _)| *known == m);
        let pairs = policy.iter().map(|(m, share)| (*share, prior(*m).map_or(0.0, |it| it.1)));
        let surprise = divergence(pairs);
        let largest = policy.iter().map(|(_, share)| *share).fold(f32::MIN_POSITIVE, f32::max);
        let share = |share: f32| (share / largest * f32::from(u16::MAX)) as u16;
        let policy = policy.into_iter().map(|(m, part)| (m.pack().0, share(part)));
        let proven = self.proven_end();
        let score = self.tree.value()[mover];
        let resignation = self.resignation(mover, score);
        self.record_side_positions(played);
        self.plies.push(PlyRecord {
            played: played.pack().0,
            // A search with few visits gives no policy target.
            policy: policy.filter(|(_, share)| *share > 0 && self.full).collect(),
            score: Some(score),
            proven,
            surprise: if self.full { Some(surprise) } else { None },
        });
        if resignation.is_some() {
            self.end = resignation;
            return;
        }
        self.tree.advance(played);
        self.phase = SearchPhase::New;
        let position = self.tree.root();
        self.end = if let Some(outcome) = position.result() {
            let winner = outcome.winner.map(|side| side.index() as u8);
            Some(End { winner, turns: 0 })
        } else if let (Some(end), true) = (proven, self.config.stop_when_proven) {
            // The proof counts from before the move, which may have ended a turn.
            let turn = u16::from(!position.mid_turn());
            Some(End { turns: end.turns.saturating_sub(turn), ..end })
        } else if self.plies.len() >= self.config.max_plies {
            Some(End { winner: None, turns: 0 })
        } else {
            None
        };
    }

    /// Records positions of the search of this ply. That after `played` has a search of its own.
    fn record_side_positions(&mut self, played: Move) {
        let Some(SidePositions { count, visits }) = self.config.side_positions.clone() else {
            return;
        };
        if !self.full {
            return;
        }
        let mut positions = self.tree.searched_positions(visits);
        positions.retain(|position| position.moves != [played]);
        let ply = self.plies.len() as u32;
        for SearchedPosition { moves, score } in positions.sample(&mut self.rng, count) {
            let moves = moves.iter().map(|m| m.pack().0).collect();
            self.side_positions.push(SidePosition { ply, moves, score: *score });
        }
    }

    /// Returns `true` if a start with this score is to be replaced.
    fn is_decided(&self, score: f32) -> bool {
        let greatest = self.config.opening.max_score;
        self.rejected_starts < MAX_REJECTED_STARTS && greatest.is_some_and(|max| score.abs() > max)
    }

    /// Restarts the game from another start.
    fn replace_start(&mut self) {
        self.rejected_starts += 1;
        let opening = &self.config.opening;
        let start = random_starts::start(self.variant, opening, self.starts, &mut self.rng);
        self.start = start.fen();
        self.tree.restart(start);
        self.phase = SearchPhase::New;
    }

    /// Returns how the game ends, as seen from after the move of `mover`, if it resigns.
    fn resignation(&mut self, mover: Side, score: f32) -> Option<End> {
        let rule = self.config.resignation.as_ref()?;
        let opponents = Side::all(self.tree.root().game_spec().sides).filter(|side| *side != mover);
        let [winner] = opponents.collect::<Vec<_>>()[..] else { return None };
        let lost = &mut self.lost_plies[mover];
        *lost = if score <= rule.score { *lost + 1 } else { 0 };
        if self.resigned.is_some() || *lost < rule.plies.max(1) {
            return None;
        }
        self.resigned = Some(mover);
        if self.plays_out {
            return None;
        }
        let turns = (self.tree.moves_left().round() as u16).saturating_sub(1);
        Some(End { winner: Some(winner.index() as u8), turns })
    }

    /// Returns the policy target and the move to play.
    fn choose_move(&mut self) -> (Vec<(Move, f32)>, Option<Move>) {
        let params = self.gumbel_params();
        let choices = self.tree.root_moves();
        let best = choices.first().map(|choice| choice.m);
        match (&self.phase, &self.config.root) {
            (SearchPhase::Gumbel(gumbel), _) => {
                let policy = improved_policy(&self.tree, params);
                let proven = self.tree.proof() != Proof::Open;
                let chosen = gumbel.chosen(&self.tree);
                (policy, if proven { best } else { chosen.or(best) })
            }
            (_, RootSearch::Puct { temperature_plies, .. }) => {
                let total: u32 = choices.iter().map(|choice| choice.visits).sum();
                if total == 0 {
                    return (choices.iter().map(|choice| (choice.m, choice.prior)).collect(), best);
                }
                let policy =
                    choices.iter().map(|c| (c.m, c.visits as f32 / total as f32)).collect();
                let mut drawn = self.rng.random_range(0..total);
                let by_visits = choices.iter().find(|choice| {
                    let found = drawn < choice.visits;
                    drawn = drawn.saturating_sub(choice.visits);
                    found
                });
                let early = self.plies.len() < *temperature_plies;
                (policy, if early { by_visits.map(|choice| choice.m) } else { best })
            }
            _ => (improved_policy(&self.tree, params), best),
        }
    }

    /// Returns the end of the game, if the search has proven it.
    fn proven_end(&self) -> Option<End> {
        let mover = self.tree.root().turn();
        let sides = self.tree.root().game_spec().sides;
        match self.tree.proof() {
            Proof::Won(turns) => {
                Some(End { winner: Some(mover.index() as u8), turns: turns.into() })
            }
            Proof::Lost(Some(turns)) if sides == 2 => {
                let winner = Side::all(2).find(|side| *side != mover)?;
                Some(End { winner: Some(winner.index() as u8), turns: turns.into() })
            }
            Proof::Drawn => {
                Some(End { winner: None, turns: self.tree.moves_left().round() as u16 })
            }
            Proof::Open | Proof::Lost(_) => None,
        }
    }
}

//! One game of self-play as a state machine that asks for evaluations.

use menagerie::encoding::Encoding;
use menagerie::nn::{Batch, CachedEval, Evaluation, Evaluator, Query};
use menagerie::rules::{Move, Outcome, PerSide, Position, Side};
use menagerie::search::{
    Gumbel, GumbelParams, Leaf, Params, Proof, Selection, Tree, improved_policy,
};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};

use super::{RootSearch, SelfPlayConfig, SelfPlayStats};
use crate::record::surprise::divergence;
use crate::record::{End, GameRecord, PlyRecord};

/// A game in progress.
pub(super) struct Game<'a> {
    number: u64,
    config: &'a SelfPlayConfig,
    encoding: Encoding,
    tree: Tree,
    leaf: Leaf,
    remembered: CachedEval,
    plan: Plan,
    /// Whether the present ply is searched in full.
    full: bool,
    /// What the bare network thinks of the moves of the present position.
    priors: Vec<(Move, f32)>,
    rng: ChaCha8Rng,
    start: String,
    plies: Vec<PlyRecord>,
    end: Option<End>,
    /// How many of its last plies each side thought lost.
    lost_plies: PerSide<usize>,
    /// Whether giving up only is written down.
    plays_out: bool,
    /// The side that gave up, or would have.
    given_up: Option<Side>,
    visits: u64,
}

/// How far the search of the present position has come.
enum Plan {
    /// The root may not have been evaluated yet.
    Fresh,
    Gumbel(Gumbel),
    /// So many visits are left.
    Puct(usize),
}

/// What a game needs to go on.
pub(super) enum Ask {
    /// An evaluation of the position that it added to the batch.
    Evaluation,
    /// Nothing: it is over.
    Over,
}

/// Room for the tree of one ply: visits are few.
const TREE_BYTES: usize = 1 << 20;

impl<'a> Game<'a> {
    pub(super) fn new(
        number: u64,
        start: Position,
        params: Params,
        config: &'a SelfPlayConfig,
        mut rng: ChaCha8Rng,
    ) -> Game<'a> {
        let encoding = Encoding::of(&start);
        let (fen, tree) = (start.fen(), Tree::new(start, params, TREE_BYTES));
        let leaf = Leaf::new(&tree);
        let played_out = config.resignation.as_ref().map_or(0.0, |r| r.played_out);
        let plays_out = played_out > 0.0 && rng.random_bool(played_out.min(1.0));
        Game {
            number,
            config,
            encoding,
            tree,
            leaf,
            remembered: CachedEval::default(),
            plan: Plan::Fresh,
            full: true,
            priors: Vec::new(),
            rng,
            start: fen,
            plies: Vec::new(),
            end: None,
            lost_plies: PerSide::from_fn(|_| 0),
            plays_out,
            given_up: None,
            visits: 0,
        }
    }

    /// Goes on until a position must be evaluated, which it adds to `batch`, or the game is over.
    pub(super) fn advance(&mut self, evaluator: &impl Evaluator, batch: &mut Batch) -> Ask {
        loop {
            if self.end.is_some() {
                return Ask::Over;
            }
            let selection = match self.next_descent() {
                Some(selection) => selection,
                None => {
                    self.play();
                    continue;
                }
            };
            self.visits += 1;
            if selection == Selection::NeedsEvaluation {
                let Leaf { position, legal, .. } = &self.leaf;
                let query = Query { encoding: &self.encoding, position, legal };
                if evaluator.probe(query, &mut self.remembered) {
                    self.tree.backup(&self.leaf, self.remembered.evaluation());
                } else {
                    batch.push(query);
                    return Ask::Evaluation;
                }
            }
        }
    }

    /// Takes the evaluation it asked for.
    pub(super) fn take(&mut self, evaluation: Evaluation<'_>) {
        self.tree.backup(&self.leaf, evaluation);
    }

    /// What it cost, but for evaluations and time, and whether it was given up.
    pub(super) fn spent(&self) -> SelfPlayStats {
        let won = self.end.and_then(|end| end.winner).map(usize::from);
        let lost = |side: Side| won.is_some_and(|won| won != side.index());
        let gave_up = self.given_up.is_some();
        SelfPlayStats {
            visits: self.visits,
            resigned: u64::from(gave_up && !self.plays_out),
            played_out: u64::from(gave_up && self.plays_out),
            false_resignations: u64::from(
                self.plays_out && self.given_up.is_some_and(|side| !lost(side)),
            ),
            ..SelfPlayStats::default()
        }
    }

    pub(super) fn into_record(self) -> (u64, GameRecord) {
        let end = self.end.or(Some(End { winner: None, turns: 0 }));
        (
            self.number,
            GameRecord { start: self.start, plies: self.plies, end, ..GameRecord::default() },
        )
    }

    /// Sends the search down once more; `None` when it has done its part for this ply.
    fn next_descent(&mut self) -> Option<Selection> {
        if self.tree.is_empty() {
            return Some(self.tree.select(&mut self.leaf));
        }
        if let Plan::Fresh = self.plan {
            self.plan = self.begin();
        }
        if self.tree.settled() {
            return None;
        }
        match &mut self.plan {
            Plan::Gumbel(gumbel) => {
                let m = gumbel.next(&self.tree)?;
                Some(self.tree.select_through(&mut self.leaf, m))
            }
            Plan::Puct(0) | Plan::Fresh => None,
            Plan::Puct(left) => {
                *left -= 1;
                Some(self.tree.select(&mut self.leaf))
            }
        }
    }

    fn begin(&mut self) -> Plan {
        self.full = match &self.config.playout_cap {
            Some(cap) => self.rng.random_bool(cap.full.clamp(0.0, 1.0)),
            None => true,
        };
        self.priors = self.tree.root_priors();
        match self.config.root {
            RootSearch::Gumbel { .. } => {
                Plan::Gumbel(Gumbel::new(&self.tree, self.gumbel_params(), &mut self.rng))
            }
            RootSearch::Puct { .. } if !self.full => Plan::Puct(self.visits_of_ply()),
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
                Plan::Puct(self.visits_of_ply())
            }
        }
    }

    /// The visits that the present ply gets.
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

    /// Plays a move, writes down what the search found, and sees whether the game is over.
    fn play(&mut self) {
        let mover = self.tree.root().turn();
        let (policy, played) = self.decide();
        let Some(played) = played else {
            self.end = Some(End { winner: None, turns: 0 });
            return;
        };
        let prior = |m: Move| self.priors.iter().find(|(known, _)| *known == m);
        let pairs = policy.iter().map(|(m, share)| (*share, prior(*m).map_or(0.0, |it| it.1)));
        let surprise = Some(divergence(pairs));
        let largest = policy.iter().map(|(_, share)| *share).fold(f32::MIN_POSITIVE, f32::max);
        let share = |share: f32| (share / largest * f32::from(u16::MAX)) as u16;
        let policy = policy.into_iter().map(|(m, part)| (m.pack().0, share(part)));
        let proven = self.proven();
        let score = self.tree.value()[mover];
        let gives_up = self.gives_up(mover, score);
        self.plies.push(PlyRecord {
            played: played.pack().0,
            // A hasty search teaches no policy.
            policy: policy.filter(|(_, share)| *share > 0 && self.full).collect(),
            score: Some(score),
            proven,
            surprise: surprise.filter(|_| self.full),
        });
        if let Some(end) = gives_up {
            self.end = Some(end);
            return;
        }
        self.tree.advance(played);
        self.plan = Plan::Fresh;
        let position = self.tree.root();
        let ended = position.result().map(|outcome| end_of(outcome, 0));
        // Seen from after the move, which the proof counts as its first turn at best.
        let stopped = proven.filter(|_| self.config.stop_when_proven).map(|end| {
            let turn = u16::from(!position.mid_turn());
            End { turns: end.turns.saturating_sub(turn), ..end }
        });
        let broken_off =
            (self.plies.len() >= self.config.longest).then_some(End { winner: None, turns: 0 });
        self.end = ended.or(stopped).or(broken_off);
    }

    /// Sees whether `mover` gives up; if so, how the game ends, seen from after its move.
    fn gives_up(&mut self, mover: Side, score: f32) -> Option<End> {
        let rule = self.config.resignation.as_ref()?;
        let others = Side::all(self.tree.root().game_spec().sides).filter(|side| *side != mover);
        let [winner] = others.collect::<Vec<_>>()[..] else { return None };
        let lost = &mut self.lost_plies[mover];
        *lost = if score <= rule.score { *lost + 1 } else { 0 };
        if self.given_up.is_some() || *lost < rule.plies.max(1) {
            return None;
        }
        self.given_up = Some(mover);
        let turns = (self.tree.moves_left().round() as u16).saturating_sub(1);
        (!self.plays_out).then_some(End { winner: Some(winner.index() as u8), turns })
    }

    /// The policy to learn, and the move to play.
    fn decide(&mut self) -> (Vec<(Move, f32)>, Option<Move>) {
        let params = self.gumbel_params();
        let choices = self.tree.root_moves();
        let best = choices.first().map(|choice| choice.m);
        match (&self.plan, &self.config.root) {
            (Plan::Gumbel(gumbel), _) => {
                let policy = improved_policy(&self.tree, params);
                let decided = self.tree.proof() != Proof::Open;
                let chosen = gumbel.chosen(&self.tree);
                (policy, if decided { best } else { chosen.or(best) })
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

    /// The end of the game, if the search has proven it.
    fn proven(&self) -> Option<End> {
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

fn end_of(outcome: Outcome, turns: u16) -> End {
    End { winner: outcome.winner.map(|side| side.index() as u8), turns }
}

//! The fourth stage of a round: a match of the new network against the shipped one, or against the search
//! without a network if none is shipped.

use std::path::PathBuf;

use menagerie::alphabeta::supports;

use super::round::{RoundContext, RoundFolder};
use super::settings::ContestSettings;
use super::shipped::{ShippedNetwork, file_name};
use super::state::ContestResult;
use crate::arena::Arena;
use crate::arena::config::MatchConfig;
use crate::arena::folder::Folder;
use crate::arena::spec::{PlayerKind, PlayerSpec};
use crate::arena::statistics::{Estimate, Pentanomial, Verdict};
use crate::arena::table::{decision, pairs, tallies};
use crate::record::replace;

/// Nodes of alpha-beta for each visit. It visits two to four times as many in the same time, but needs some depth.
const NODES_OF_VISIT: u32 = 10;

/// Plays the match of a round; `None` if it was stopped.
pub(super) fn play_match(context: &RoundContext<'_>) -> anyhow::Result<Option<ContestResult>> {
    let folder = context.folder();
    let config = match_config(context, &folder)?;
    let conditions = conditions(&config);
    let sprt = config.sprt;
    let against = config.players[1].name();
    let mut arena = Arena::open(&folder.contest(), config)?;
    let bar = context.games_bar("match", arena.schedule().games)?;
    bar.set_position(arena.done() as u64);
    arena.play_until(context.settings.threads, context.stop, &mut |_| {
        bar.inc(1);
        (context.tick)();
    })?;
    bar.finish_and_clear();
    let all = arena.done() as u64 >= arena.schedule().games;
    let games = arena.games();
    let decided = sprt.and_then(|sprt| decision(&sprt, games)).map(|(_, verdict)| verdict);
    if !all && decided.is_none() {
        return Ok(None);
    }
    let mut counted = Pentanomial::default();
    for pair in pairs(games) {
        counted.add(pair);
    }
    let [won, drawn, lost] = tallies(arena.schedule(), games)[0].total();
    let Estimate { value, low, high } =
        counted.elo().ok_or_else(|| anyhow::anyhow!("no pair of games was played"))?;
    arena.report()?;
    Ok(Some(ContestResult {
        against,
        conditions,
        won,
        drawn,
        lost,
        elo: value,
        elo_low: low,
        elo_high: high,
        passed: match decided {
            Some(verdict) => verdict == Verdict::Elo1,
            // All games are played: the new network must be stronger beyond doubt.
            None => low > 0.0,
        },
    }))
}

/// Returns the match: that which has begun, or a new one.
fn match_config(context: &RoundContext<'_>, folder: &RoundFolder) -> anyhow::Result<MatchConfig> {
    if Folder::has_match(&folder.contest()) {
        return Ok(Folder::read(&folder.contest())?.0);
    }
    let plan = context.plan;
    let contest = &context.plan.contest;
    let shipped = ShippedNetwork::find(&context.settings.nets, &plan.variant)?.ok();
    // By the search that will play with it; the networks of campaigns are sparse.
    let is_direct = shipped.as_ref().is_none_or(|shipped| shipped.is_direct);
    let by_alpha_beta =
        is_direct && plan.variant.prefers_alpha_beta() && supports(&plan.variant.start());
    let kind = if by_alpha_beta { PlayerKind::AlphaBeta } else { PlayerKind::Net };
    let candidate = PlayerSpec {
        file: Some(folder.candidate()),
        name: Some(format!("round {}", context.round + 1)),
        ..limited(contest, kind)
    };
    let baseline = match shipped {
        Some(shipped) => baseline(contest, folder, kind, shipped)?,
        None => PlayerSpec {
            name: Some("no network".to_owned()),
            ..limited(contest, PlayerKind::Uniform)
        },
    };
    let players = vec![candidate, baseline];
    let book = contest.books.as_ref().map(|books| books.join(format!("{}.epd", plan.name())));
    let book: Option<PathBuf> = book.filter(|book| book.exists());
    Ok(MatchConfig {
        variants: context.settings.variants_file.clone(),
        games: contest.games,
        seed: context.seed(),
        book,
        max_turns: Some(contest.max_turns),
        sprt: plan.sprt,
        ..MatchConfig::new(plan.name(), players)
    })
}

/// Returns a player of a kind with the limits of the match.
fn limited(contest: &ContestSettings, kind: PlayerKind) -> PlayerSpec {
    let nodes = contest.visits.map(|visits| visits.saturating_mul(NODES_OF_VISIT));
    let visits = match kind {
        PlayerKind::AlphaBeta => contest.alpha_beta_nodes.or(nodes),
        _ => contest.visits,
    };
    PlayerSpec { visits, movetime: contest.movetime, ..PlayerSpec::new(kind) }
}

/// Returns the opponent: a copy of the shipped network, which may be replaced meanwhile.
fn baseline(
    contest: &ContestSettings,
    folder: &RoundFolder,
    kind: PlayerKind,
    shipped: ShippedNetwork,
) -> anyhow::Result<PlayerSpec> {
    replace(&folder.baseline(), &shipped.bytes)?;
    Ok(PlayerSpec {
        file: Some(folder.baseline()),
        name: Some(shipped.name()),
        trained_for: shipped.made_for,
        ..limited(contest, kind)
    })
}

/// Returns how long a move is, and where games begin.
fn conditions(config: &MatchConfig) -> String {
    let player = &config.players[0];
    let limits = [
        player.movetime.map(|time| format!("{time} ms a move")),
        player.visits.map(|visits| match player.kind {
            PlayerKind::AlphaBeta => format!("{visits} nodes a move"),
            _ => format!("{visits} visits a move"),
        }),
    ];
    let start = match &config.book {
        Some(book) => format!("book {}", file_name(book)),
        None => "random plies".to_owned(),
    };
    limits.into_iter().flatten().chain([start]).collect::<Vec<_>>().join(", ")
}

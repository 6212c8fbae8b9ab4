//! The participants of the tournament.

use std::path::{Path, PathBuf};

use trainer::arena::spec::{PlayerKind, PlayerSpec};

use crate::models;
use crate::players;
use crate::regression::fit::RegressionKind;

/// The depth of the paper's minimax player.
const PAPER_DEPTH_PLIES: u32 = 1;

/// A player and its names in the tables.
#[derive(Clone, Debug)]
pub struct Participant {
    /// The header of its column; also used in names of folders.
    pub short_name: String,
    /// The header of its row.
    pub long_name: String,
    /// The player.
    pub player: PlayerSpec,
    /// Whether it has a row but no column, as AlphaZero in the paper. Such participants do not play
    /// each other.
    pub row_only: bool,
}

/// The participants that use this engine's search, with and without a network.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// Simulations per move; the paper has 25.
    pub visits: Vec<u32>,
    /// The network file, if any.
    pub network: Option<PathBuf>,
    /// The variant that the network was trained for.
    pub trained_for: String,
}

/// Returns the paper's opponents, whose regressions are in the folder `models`, then the
/// participants of `search`, then minimax players of the other `depths`.
pub fn participants(models: &Path, search: &SearchSettings, depths: &[u32]) -> Vec<Participant> {
    let mut participants = vec![
        opponent("RM", "Random Move", PlayerSpec::new(PlayerKind::Random)),
        minimax(PAPER_DEPTH_PLIES),
    ];
    let regressions = [
        ("LR", "Linear Regression", RegressionKind::Linear),
        ("EN", "Elastic Net", RegressionKind::ElasticNet),
        ("DT", "Decision Tree", RegressionKind::Tree),
        ("RF", "Random Forest", RegressionKind::Forest),
    ];
    for (short_name, long_name, kind) in regressions {
        let player = players::regression(models::model_path(models, kind));
        participants.push(opponent(short_name, long_name, player));
    }
    for &visits in &search.visits {
        participants.push(without_network(visits));
        if let Some(network) = &search.network {
            participants.push(with_network(network, &search.trained_for, visits));
        }
    }
    let other_depths = depths.iter().filter(|&&depth| depth != PAPER_DEPTH_PLIES);
    participants.extend(other_depths.map(|&depth| minimax(depth)));
    participants
}

/// A participant with a row and a column.
fn opponent(short_name: &str, long_name: &str, player: PlayerSpec) -> Participant {
    Participant {
        short_name: short_name.to_owned(),
        long_name: long_name.to_owned(),
        player,
        row_only: false,
    }
}

fn minimax(depth: u32) -> Participant {
    let player = players::minimax(depth);
    if depth == PAPER_DEPTH_PLIES {
        opponent("MM", "MinMax Baseline", player)
    } else {
        opponent(&format!("MM{depth}"), &format!("MinMax, depth {depth}"), player)
    }
}

fn without_network(visits: u32) -> Participant {
    Participant {
        short_name: format!("U{visits}"),
        long_name: format!("A0 without a network, {visits} simulations"),
        player: PlayerSpec { visits: Some(visits), ..PlayerSpec::new(PlayerKind::Uniform) },
        row_only: true,
    }
}

fn with_network(network: &Path, trained_for: &str, visits: u32) -> Participant {
    Participant {
        short_name: format!("N{visits}"),
        long_name: format!("A0 with a network, {visits} simulations"),
        player: PlayerSpec {
            file: Some(network.to_owned()),
            visits: Some(visits),
            trained_for: Some(trained_for.to_owned()),
            ..PlayerSpec::new(PlayerKind::Net)
        },
        row_only: true,
    }
}

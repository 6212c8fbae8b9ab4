//! Who plays in the tables.

use std::path::{Path, PathBuf};

use super::models;
use crate::arena::spec::{Kind, PlayerSpec};
use crate::regression::fit;

/// A player with its names in the tables.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// At the head of a column, and in names of folders.
    pub short: String,
    /// At the head of a row.
    pub long: String,
    /// Who it is.
    pub player: PlayerSpec,
    /// Whether it has a row only, as AlphaZero in the paper.
    pub ours: bool,
}

/// What is asked of the search, with a network and without.
#[derive(Clone, Debug)]
pub struct Search {
    /// Simulations of a move; 25 in the paper.
    pub visits: Vec<u32>,
    /// A network, if there is one.
    pub network: Option<PathBuf>,
    /// The game it was trained for.
    pub trained_for: String,
}

/// The paper's opponents, whose regressions lie in `models`, then ours, then minimax at the greater
/// ones of `depths`.
pub fn all(models: &Path, search: &Search, depths: &[u32]) -> Vec<Entrant> {
    let mut all = vec![theirs("RM", "Random Move", PlayerSpec::new(Kind::Random)), minimax(1)];
    let regressions = [
        ("LR", "Linear Regression", fit::Kind::Linear),
        ("EN", "Elastic Net", fit::Kind::ElasticNet),
        ("DT", "Decision Tree", fit::Kind::Tree),
        ("RF", "Random Forest", fit::Kind::Forest),
    ];
    for (short, long, kind) in regressions {
        let file = Some(models::file(models, kind));
        all.push(theirs(short, long, PlayerSpec { file, ..PlayerSpec::new(Kind::Regression) }));
    }
    for &visits in &search.visits {
        all.push(uniform(visits));
        all.extend(search.network.as_ref().map(|file| network(file, &search.trained_for, visits)));
    }
    all.extend(depths.iter().filter(|&&depth| depth != 1).map(|&depth| minimax(depth)));
    all
}

fn theirs(short: &str, long: &str, player: PlayerSpec) -> Entrant {
    Entrant { short: short.to_owned(), long: long.to_owned(), player, ours: false }
}

fn minimax(depth: u32) -> Entrant {
    let player = PlayerSpec { depth: Some(depth), ..PlayerSpec::new(Kind::Minimax) };
    match depth {
        1 => theirs("MM", "MinMax Baseline", player),
        _ => theirs(&format!("MM{depth}"), &format!("MinMax, depth {depth}"), player),
    }
}

fn uniform(visits: u32) -> Entrant {
    Entrant {
        short: format!("U{visits}"),
        long: format!("A0 without a network, {visits} simulations"),
        player: PlayerSpec { visits: Some(visits), ..PlayerSpec::new(Kind::Uniform) },
        ours: true,
    }
}

fn network(file: &Path, trained_for: &str, visits: u32) -> Entrant {
    Entrant {
        short: format!("N{visits}"),
        long: format!("A0 with a network, {visits} simulations"),
        player: PlayerSpec {
            file: Some(file.to_owned()),
            visits: Some(visits),
            asked_as: Some(trained_for.to_owned()),
            ..PlayerSpec::new(Kind::Net)
        },
        ours: true,
    }
}

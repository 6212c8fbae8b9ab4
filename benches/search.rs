//! Visits per CPU second of the search alone: `cargo bench --bench search [VISITS]`.
//!
//! Searches the start position of chess and 20 middle games with the uniform evaluator. Planes are written,
//! keys computed and priors normalised as for a network, but no network runs.

use cpu_time::ThreadTime;
use menagerie::encoding::Encoding;
use menagerie::nn::Uniform;
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::Catalogue;

/// The default number of visits of each position.
const VISITS: u32 = 200_000;
/// The memory limit of a tree, more than it needs.
const MEMORY_BYTES: usize = 1 << 30;

fn main() {
    let visits = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(VISITS);
    let chess = Catalogue::shipped().get("chess").expect("chess is shipped");
    let fens: Vec<_> = include_str!("middle_games.fen").lines().collect();
    for (name, params) in
        [("default parameters", Params::default()), ("proof numbers", Params::without_network())]
    {
        let mut speeds: Vec<_> = fens
            .iter()
            .map(|fen| {
                let position = chess.position(fen, false).expect("a position");
                let mut evaluator = Uniform::new(Encoding::of(&position).shape());
                let mut tree = Tree::new(position, params, MEMORY_BYTES);
                let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
                let mut spent = 0;
                let clock = ThreadTime::now();
                while spent < visits && !searcher.tree().is_proven() {
                    spent += searcher.step(visits - spent).expect("Uniform never fails").visits;
                }
                let speed = f64::from(spent) / clock.elapsed().as_secs_f64();
                (speed, tree.memory())
            })
            .collect();
        speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let least = speeds[0].0;
        let most = speeds[speeds.len() - 1].0;
        let median = speeds[speeds.len() / 2].0;
        let bytes: usize = speeds.iter().map(|(_, memory)| memory.bytes).sum();
        let moves: usize = speeds.iter().map(|(_, memory)| memory.moves).sum();
        let nodes: usize = speeds.iter().map(|(_, memory)| memory.expanded).sum();
        println!(
            "{name}: {visits} visits per position, {median:.0} per CPU second ({least:.0} to {most:.0}), \
             {:.1} bytes per expanded node of {:.1} moves",
            bytes as f64 / nodes as f64,
            moves as f64 / nodes as f64,
        );
    }
}

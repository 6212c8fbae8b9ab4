//! Visits a CPU second of the search alone: `cargo bench --bench search [VISITS]`.
//!
//! The start of chess and 20 middle games, each searched from nothing by the evaluator that knows
//! nothing: planes are written, keys made and priors normalised as for a network, but none is run.

use cpu_time::ThreadTime;
use menagerie::encoding::Encoding;
use menagerie::nn::Uniform;
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::Catalogue;

/// Visits to each position, unless told otherwise.
const VISITS: u32 = 200_000;
/// Memory for a tree, in bytes: more than it needs.
const MEMORY: usize = 1 << 30;

fn main() {
    let visits = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(VISITS);
    let chess = Catalogue::shipped().get("chess").expect("chess is shipped");
    let fens: Vec<_> = include_str!("middle_games.fen").lines().collect();
    for (name, params) in
        [("as with a network", Params::default()), ("by proof numbers", Params::blind())]
    {
        let mut speeds: Vec<_> = fens
            .iter()
            .map(|fen| {
                let position = chess.position(fen, false).expect("a position");
                let mut evaluator = Uniform::new(Encoding::of(&position).shape());
                let mut tree = Tree::new(position, params, MEMORY);
                let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
                let (mut spent, clock) = (0, ThreadTime::now());
                while spent < visits && !searcher.tree().settled() {
                    spent += searcher.step(visits - spent).expect("Uniform never fails").visits;
                }
                let speed = f64::from(spent) / clock.elapsed().as_secs_f64();
                (speed, tree.memory())
            })
            .collect();
        speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, most) = (speeds[0].0, speeds[speeds.len() - 1].0);
        let median = speeds[speeds.len() / 2].0;
        let bytes: usize = speeds.iter().map(|(_, memory)| memory.bytes).sum();
        let moves: usize = speeds.iter().map(|(_, memory)| memory.moves).sum();
        let nodes: usize = speeds.iter().map(|(_, memory)| memory.expanded).sum();
        println!(
            "{name}: {visits} visits a position, {median:.0} a CPU second ({least:.0} to {most:.0}), \
             {:.1} bytes an expanded node of {:.1} moves",
            bytes as f64 / nodes as f64,
            moves as f64 / nodes as f64,
        );
    }
}

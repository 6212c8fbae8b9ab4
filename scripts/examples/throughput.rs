//! Prints how many positions a second a learner takes in, forward, backward and step.
//!
//! `cargo run --release -p trainer --example throughput [THREADS...]`

use std::time::Instant;

use menagerie::encoding::Shape;
use trainer::learner::{Learner, LearnerConfig, Sample};
use trainer::network::Architecture;

/// Positions in a batch.
const BATCH: usize = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut threads = Vec::new();
    for argument in std::env::args().skip(1) {
        threads.push(argument.parse()?);
    }
    if threads.is_empty() {
        threads = vec![1, 2];
    }
    let chess = Shape { planes: 24, height: 8, width: 8, policy_planes: 78, outcomes: 3 };
    let small = Shape { planes: 12, height: 3, width: 3, policy_planes: 16, outcomes: 3 };
    let networks = [
        (chess, Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 }),
        (chess, Architecture::Mobile { blocks: 8, channels: 64, expanded: 192, squeeze: 0 }),
        (small, Architecture::Mlp { widths: vec![256, 256, 256], policy_channels: 0 }),
        (small, Architecture::Residual { blocks: 4, channels: 32, squeeze: 0 }),
    ];
    for (shape, architecture) in networks {
        let batch = batch(shape);
        for &threads in &threads {
            let config = LearnerConfig { threads, ..LearnerConfig::default() };
            let mut learner = Learner::new(shape, &architecture, config, 1)?;
            learner.step(&batch)?;
            let (start, mut steps) = (Instant::now(), 0);
            while steps < 3 || start.elapsed().as_secs() < 4 {
                learner.step(&batch)?;
                steps += 1;
            }
            let rate = (steps * BATCH) as f64 / start.elapsed().as_secs_f64();
            println!("{architecture:?}, {threads} thread(s): {rate:.0} positions/s");
        }
    }
    Ok(())
}

/// Positions that mean nothing, with thirty legal moves each.
fn batch(shape: Shape) -> Vec<Sample> {
    let legal: Vec<u16> = (0..30).map(|index| (index * shape.policy() / 30) as u16).collect();
    let sample = |number: usize| Sample {
        planes: (0..shape.input()).map(|at| (at * (number + 7) % 5 / 4) as f32).collect(),
        legal: legal.clone(),
        policy: vec![1.0 / 30.0; 30],
        outcome: (0..shape.outcomes).map(|class| f32::from(class == number % 3)).collect(),
        moves_left: Some(20.0),
        weight: 1.0,
    };
    (0..BATCH).map(sample).collect()
}

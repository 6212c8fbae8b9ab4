//! Prints how many positions a CPU second networks evaluate, of floats and quantised.
//!
//! `cargo run --release -p trainer --example inference`

use cpu_time::ThreadTime;
use menagerie::encoding::Shape;
use menagerie::evaluation::network::{Backend, Session, seal};
use trainer::network::{Architecture, Network};
use trainer::onnx;

/// The sizes of crazyhouse.
const SHAPE: Shape = Shape { planes: 34, height: 8, width: 8, policy_planes: 80, outcomes: 3 };

/// Rounds of a batch, and how often they are repeated; the best counts.
const ROUNDS: usize = 20;
const REPEATS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let architectures = [
        Architecture::Residual { blocks: 4, channels: 32, squeeze: 0 },
        Architecture::Residual { blocks: 4, channels: 32, squeeze: 8 },
        Architecture::Residual { blocks: 6, channels: 64, squeeze: 0 },
        Architecture::Residual { blocks: 6, channels: 64, squeeze: 16 },
        Architecture::Mobile { blocks: 8, channels: 64, expanded: 192, squeeze: 0 },
        Architecture::Mobile { blocks: 8, channels: 64, expanded: 192, squeeze: 16 },
        Architecture::Mlp { widths: vec![512, 256], policy_channels: 0 },
        Architecture::Mlp { widths: vec![512, 256], policy_channels: 16 },
    ];
    for architecture in architectures {
        let network = Network::new(SHAPE, &architecture, 1)?;
        let floats = seal(onnx::export(SHAPE, &architecture, &network.tensors(), &[])?);
        let planes: Vec<f32> = (0..64 * SHAPE.input()).map(|at| (at * at % 7 / 6) as f32).collect();
        let quantised = onnx::quantise(&floats, &planes)?;
        for batch in [1, 8, 64] {
            let of = |file: &[u8]| rate(file, batch, &planes[..batch * SHAPE.input()]);
            let (floats, quantised) = (of(&floats)?, of(&quantised)?);
            let times = quantised / floats;
            println!(
                "{architecture:?}, batch {batch}: {floats:.0} of floats, {quantised:.0} quantised \
                 ({times:.2} times)"
            );
        }
    }
    Ok(())
}

/// Positions a CPU second.
fn rate(file: &[u8], batch: usize, planes: &[f32]) -> Result<f64, Box<dyn std::error::Error>> {
    let mut session = Session::open(file, Backend::Cpu, 1)?;
    let mut policy = vec![0.0; batch * SHAPE.policy()];
    let (mut outcome, mut moves_left) = (vec![0.0; batch * SHAPE.outcomes], vec![0.0; batch]);
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let clock = ThreadTime::now();
        for _ in 0..ROUNDS {
            session.run(planes, batch, &mut [&mut policy, &mut outcome, &mut moves_left])?;
        }
        best = best.min(clock.elapsed().as_secs_f64());
    }
    Ok((ROUNDS * batch) as f64 / best)
}

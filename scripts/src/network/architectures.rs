//! The kinds of network, each spelled out as a plan.

use menagerie::encoding::Shape;

use super::graph_ir::{Builder, GraphIr, INPUT, MOST_WEIGHTS, Op, Start, Value, refuse};
use super::{Architecture, NetworkError};

/// Channels from which a tower's outcome and moves-left heads start.
const VALUE_CHANNELS: usize = 16;
/// Units of the dense layer that those two heads share.
const VALUE_UNITS: usize = 64;

impl GraphIr {
    /// Spells an architecture out for a shape.
    pub(crate) fn new(shape: Shape, architecture: &Architecture) -> Result<Self, NetworkError> {
        let sizes = [shape.planes, shape.height, shape.width, shape.policy_planes, shape.outcomes];
        if sizes.contains(&0) {
            return Err(refuse(format!("a size of {shape:?} is zero")));
        }
        let product = |sizes: &[usize]| {
            let product = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
            product.filter(|&product| product <= MOST_WEIGHTS)
        };
        let input = product(&[shape.planes, shape.height, shape.width]);
        let policy = product(&[shape.policy_planes, shape.height, shape.width]);
        if input.is_none() || policy.is_none() {
            return Err(refuse(format!("{shape:?} is too large")));
        }
        let mut builder = Builder::default();
        let heads = match architecture {
            &Architecture::Residual { blocks, channels, squeeze } => {
                builder.residual(shape, 1, blocks, [channels, squeeze])?
            }
            &Architecture::Twin { blocks, channels, squeeze } => {
                builder.residual(shape, 2, blocks, [channels, squeeze])?
            }
            Architecture::Mlp { widths, policy_channels } => {
                builder.mlp(shape, widths, *policy_channels)?
            }
        };
        Ok(Self::of(builder, heads))
    }
}

impl Builder {
    /// A residual tower, which sees so many tables one after another.
    fn residual(
        &mut self,
        shape: Shape,
        tables: usize,
        blocks: usize,
        [channels, squeeze]: [usize; 2],
    ) -> Result<[Value; 3], NetworkError> {
        let (input, planes) = if tables == 2 { self.deal(shape)? } else { (INPUT, shape.planes) };
        // Fixup (Zhang et al., 2019): with two layers a block, the first is scaled by blocks^-1/2.
        let first = Start::Scaled(1.0 / (blocks.max(1) as f32).sqrt());
        let mut tower = self.stem(input, planes, blocks, channels)?;
        for block in 0..blocks {
            let name = |part| format!("block{block}.{part}");
            let mut branch = self.conv(tower, &name("first"), [channels; 2], 3, first)?;
            branch = self.push(Op::Relu(branch));
            branch = self.conv(branch, &name("second"), [channels; 2], 3, Start::Zero)?;
            branch = self.squeeze(branch, name, [channels, squeeze])?;
            tower = self.push(Op::Add(tower, branch));
            tower = self.push(Op::Relu(tower));
        }
        self.heads(shape, tower, channels, tables)
    }

    /// The planes of two tables with a row for each, and how many a row has.
    fn deal(&mut self, shape: Shape) -> Result<(Value, usize), NetworkError> {
        let Shape { planes, policy_planes, .. } = shape;
        if planes < 4 || !planes.is_multiple_of(2) || !policy_planes.is_multiple_of(2) {
            return Err(refuse(format!("{shape:?} is not that of two tables")));
        }
        let planes = planes / 2;
        Ok((self.push(Op::Deal { input: INPUT, planes }), planes))
    }

    /// A block's branch, each channel of it times a factor from 0 to 1 that depends on the means of
    /// all channels over the board (squeeze-and-excitation, Hu et al., 2018), by way of so many
    /// `units`; the branch as it is if there are none.
    fn squeeze(
        &mut self,
        branch: Value,
        name: impl Fn(&'static str) -> String,
        [channels, units]: [usize; 2],
    ) -> Result<Value, NetworkError> {
        if units == 0 {
            return Ok(branch);
        }
        let mut gate = self.push(Op::Pool(branch));
        // Convolutions of a single square: dense layers, without a change of layout.
        gate = self.conv(gate, &name("squeeze"), [channels, units], 1, Start::Scaled(1.0))?;
        gate = self.push(Op::Relu(gate));
        gate = self.conv(gate, &name("excite"), [units, channels], 1, Start::Zero)?;
        gate = self.push(Op::Sigmoid(gate));
        Ok(self.push(Op::Scale(branch, gate)))
    }

    /// The first layer of a tower of `blocks` blocks, which reads so many planes.
    fn stem(
        &mut self,
        input: Value,
        planes: usize,
        blocks: usize,
        channels: usize,
    ) -> Result<Value, NetworkError> {
        if blocks > 1000 {
            return Err(refuse(format!("{blocks} blocks are more than the 1000 allowed")));
        }
        let stem = self.conv(input, "stem", [planes, channels], 3, Start::Scaled(1.0))?;
        Ok(self.push(Op::Relu(stem)))
    }

    /// Policy, outcome and moves left of a tower, which has a row for each of so many tables.
    fn heads(
        &mut self,
        shape: Shape,
        tower: Value,
        channels: usize,
        tables: usize,
    ) -> Result<[Value; 3], NetworkError> {
        let he = Start::Scaled(1.0);
        let mut policy = self.conv(tower, "policy.hidden", [channels; 2], 3, he)?;
        policy = self.push(Op::Relu(policy));
        let planes = [channels, shape.policy_planes / tables];
        policy = self.conv(policy, "policy.planes", planes, 1, Start::Zero)?;
        policy = self.join(policy, tables, shape.policy_planes);
        policy = self.push(Op::Flatten(policy));

        let mut value = self.conv(tower, "value.squares", [channels, VALUE_CHANNELS], 1, he)?;
        value = self.push(Op::Relu(value));
        value = self.join(value, tables, tables * VALUE_CHANNELS);
        value = self.push(Op::Flatten(value));
        let units = [tables * VALUE_CHANNELS * shape.squares(), VALUE_UNITS];
        value = self.dense(value, "value.hidden", units, he)?;
        value = self.push(Op::Relu(value));
        let outcome = self.dense(value, "outcome", [VALUE_UNITS, shape.outcomes], Start::Zero)?;
        let moves_left = self.dense(value, "moves_left", [VALUE_UNITS, 1], Start::Zero)?;
        Ok([policy, outcome, moves_left])
    }

    /// The rows of so many tables as one again, which then has so many channels.
    fn join(&mut self, input: Value, tables: usize, channels: usize) -> Value {
        if tables == 2 { self.push(Op::Join { input, channels }) } else { input }
    }

    fn mlp(
        &mut self,
        shape: Shape,
        widths: &[usize],
        policy_channels: usize,
    ) -> Result<[Value; 3], NetworkError> {
        let mut hidden = self.push(Op::Flatten(INPUT));
        let mut inputs = shape.input();
        for (layer, &width) in widths.iter().enumerate() {
            let name = format!("hidden{layer}");
            hidden = self.dense(hidden, &name, [inputs, width], Start::Scaled(1.0))?;
            hidden = self.push(Op::Relu(hidden));
            inputs = width;
        }
        let policy = match policy_channels {
            0 => self.dense(hidden, "policy", [inputs, shape.policy()], Start::Zero)?,
            channels => self.factorised_policy(shape, hidden, inputs, channels)?,
        };
        let outcome = self.dense(hidden, "outcome", [inputs, shape.outcomes], Start::Zero)?;
        let moves_left = self.dense(hidden, "moves_left", [inputs, 1], Start::Zero)?;
        Ok([policy, outcome, moves_left])
    }

    /// A policy of dense layers whose last one is the same on every square: first so many channels
    /// over the board, then from each square's channels its moves.
    fn factorised_policy(
        &mut self,
        shape: Shape,
        hidden: Value,
        inputs: usize,
        channels: usize,
    ) -> Result<Value, NetworkError> {
        let units = channels.checked_mul(shape.squares());
        let units = units.ok_or_else(|| refuse(format!("{channels} channels are too many")))?;
        let he = Start::Scaled(1.0);
        let mut policy = self.dense(hidden, "policy.squares", [inputs, units], he)?;
        policy = self.push(Op::Relu(policy));
        policy = self.push(Op::Board { input: policy, channels });
        let planes = [channels, shape.policy_planes];
        policy = self.conv(policy, "policy.planes", planes, 1, Start::Zero)?;
        Ok(self.push(Op::Flatten(policy)))
    }
}

//! The graph of each architecture.

use menagerie::encoding::Shape;

use super::graph_ir::{
    Builder, GraphIr, INPUT, MAX_WEIGHTS, Op, Value, WeightInit, architecture_error,
};
use super::{Architecture, NetworkError};

/// Channels of the convolution from which the outcome and moves-left heads of a tower start.
const VALUE_CHANNELS: usize = 16;
/// Units of the dense layer that these two heads share.
const VALUE_UNITS: usize = 64;

impl GraphIr {
    /// Returns the graph of an architecture for a shape.
    ///
    /// # Errors
    /// [`NetworkError::Architecture`] if a size is zero or too large.
    pub(crate) fn new(shape: Shape, architecture: &Architecture) -> Result<Self, NetworkError> {
        let sizes = [shape.planes, shape.height, shape.width, shape.policy_planes, shape.outcomes];
        if sizes.contains(&0) {
            return Err(architecture_error(format!("a size of {shape:?} is zero")));
        }
        let product = |sizes: &[usize]| {
            let product = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
            product.filter(|&product| product <= MAX_WEIGHTS)
        };
        let input = product(&[shape.planes, shape.height, shape.width]);
        let policy = product(&[shape.policy_planes, shape.height, shape.width]);
        if input.is_none() || policy.is_none() {
            return Err(architecture_error(format!("{shape:?} is too large")));
        }
        let mut builder = Builder::default();
        let heads = match architecture {
            &Architecture::Residual { blocks, channels, squeeze } => {
                builder.residual(shape, 1, blocks, [channels, squeeze])?
            }
            &Architecture::TwoBoards { blocks, channels, squeeze } => {
                builder.residual(shape, 2, blocks, [channels, squeeze])?
            }
            Architecture::Mlp { widths, policy_channels } => {
                builder.mlp(shape, widths, *policy_channels)?
            }
        };
        Ok(Self::from_builder(builder, heads))
    }
}

impl Builder {
    /// A residual tower, which reads `boards` boards one after another.
    fn residual(
        &mut self,
        shape: Shape,
        boards: usize,
        blocks: usize,
        [channels, squeeze]: [usize; 2],
    ) -> Result<[Value; 3], NetworkError> {
        let (input, planes) =
            if boards == 2 { self.split_boards(shape)? } else { (INPUT, shape.planes) };
        // Fixup (Zhang et al., 2019): with two layers in a block, the first is scaled by blocks^-1/2.
        let first = WeightInit::Scaled(1.0 / (blocks.max(1) as f32).sqrt());
        let mut tower = self.stem(input, planes, blocks, channels)?;
        for block in 0..blocks {
            let name = |part| format!("block{block}.{part}");
            let mut branch = self.conv(tower, &name("first"), [channels; 2], 3, first)?;
            branch = self.push(Op::Relu(branch));
            branch = self.conv(branch, &name("second"), [channels; 2], 3, WeightInit::Zero)?;
            branch = self.squeeze(branch, name, [channels, squeeze])?;
            tower = self.push(Op::Add(tower, branch));
            tower = self.push(Op::Relu(tower));
        }
        self.heads(shape, tower, channels, boards)
    }

    /// Splits the planes of two boards into a row for each. Returns them and the number of planes of a row.
    fn split_boards(&mut self, shape: Shape) -> Result<(Value, usize), NetworkError> {
        let Shape { planes, policy_planes, .. } = shape;
        if planes < 4 || !planes.is_multiple_of(2) || !policy_planes.is_multiple_of(2) {
            return Err(architecture_error(format!("{shape:?} is not a shape of two boards")));
        }
        let planes = planes / 2;
        Ok((self.push(Op::SplitBoards { input: INPUT, planes }), planes))
    }

    /// Squeeze-and-excitation (Hu et al., 2018): multiplies each channel of the branch of a block by a factor from
    /// 0 to 1 that depends on the means of all channels over the board, through `units` units. Returns the
    /// branch itself if `units` is 0.
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
        // 1x1 convolutions on one square are dense layers without a change of layout.
        gate = self.conv(gate, &name("squeeze"), [channels, units], 1, WeightInit::Scaled(1.0))?;
        gate = self.push(Op::Relu(gate));
        gate = self.conv(gate, &name("excite"), [units, channels], 1, WeightInit::Zero)?;
        gate = self.push(Op::Sigmoid(gate));
        Ok(self.push(Op::Scale(branch, gate)))
    }

    /// The first layer of a tower of `blocks` blocks, which reads `planes` planes.
    fn stem(
        &mut self,
        input: Value,
        planes: usize,
        blocks: usize,
        channels: usize,
    ) -> Result<Value, NetworkError> {
        if blocks > 1000 {
            return Err(architecture_error(format!(
                "{blocks} blocks are more than the 1000 allowed"
            )));
        }
        let stem = self.conv(input, "stem", [planes, channels], 3, WeightInit::Scaled(1.0))?;
        Ok(self.push(Op::Relu(stem)))
    }

    /// Policy, outcome and moves left of a tower that has a row for each of `boards` boards.
    fn heads(
        &mut self,
        shape: Shape,
        tower: Value,
        channels: usize,
        boards: usize,
    ) -> Result<[Value; 3], NetworkError> {
        let he = WeightInit::Scaled(1.0);
        let mut policy = self.conv(tower, "policy.hidden", [channels; 2], 3, he)?;
        policy = self.push(Op::Relu(policy));
        let planes = [channels, shape.policy_planes / boards];
        policy = self.conv(policy, "policy.planes", planes, 1, WeightInit::Zero)?;
        policy = self.join_boards(policy, boards, shape.policy_planes);
        policy = self.push(Op::Flatten(policy));

        let mut value = self.conv(tower, "value.squares", [channels, VALUE_CHANNELS], 1, he)?;
        value = self.push(Op::Relu(value));
        value = self.join_boards(value, boards, boards * VALUE_CHANNELS);
        value = self.push(Op::Flatten(value));
        let units = [boards * VALUE_CHANNELS * shape.squares(), VALUE_UNITS];
        value = self.dense(value, "value.hidden", units, he)?;
        value = self.push(Op::Relu(value));
        let outcome =
            self.dense(value, "outcome", [VALUE_UNITS, shape.outcomes], WeightInit::Zero)?;
        let moves_left = self.dense(value, "moves_left", [VALUE_UNITS, 1], WeightInit::Zero)?;
        Ok([policy, outcome, moves_left])
    }

    /// Joins the rows of two boards into one of `channels` channels; does nothing for one board.
    fn join_boards(&mut self, input: Value, boards: usize, channels: usize) -> Value {
        if boards == 2 { self.push(Op::JoinBoards { input, channels }) } else { input }
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
            hidden = self.dense(hidden, &name, [inputs, width], WeightInit::Scaled(1.0))?;
            hidden = self.push(Op::Relu(hidden));
            inputs = width;
        }
        let policy = match policy_channels {
            0 => self.dense(hidden, "policy", [inputs, shape.policy()], WeightInit::Zero)?,
            channels => self.factorised_policy(shape, hidden, inputs, channels)?,
        };
        let outcome = self.dense(hidden, "outcome", [inputs, shape.outcomes], WeightInit::Zero)?;
        let moves_left = self.dense(hidden, "moves_left", [inputs, 1], WeightInit::Zero)?;
        Ok([policy, outcome, moves_left])
    }

    /// A policy whose last layer is the same on every square: a dense layer gives `channels` channels on each
    /// square, and a 1x1 convolution the moves of the square.
    fn factorised_policy(
        &mut self,
        shape: Shape,
        hidden: Value,
        inputs: usize,
        channels: usize,
    ) -> Result<Value, NetworkError> {
        let units = channels.checked_mul(shape.squares());
        let units = units.ok_or_else(|| {
            architecture_error(format!("{channels} policy channels are too many"))
        })?;
        let he = WeightInit::Scaled(1.0);
        let mut policy = self.dense(hidden, "policy.squares", [inputs, units], he)?;
        policy = self.push(Op::Relu(policy));
        policy = self.push(Op::Board { input: policy, channels });
        let planes = [channels, shape.policy_planes];
        policy = self.conv(policy, "policy.planes", planes, 1, WeightInit::Zero)?;
        Ok(self.push(Op::Flatten(policy)))
    }
}

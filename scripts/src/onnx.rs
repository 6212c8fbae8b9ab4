//! Networks as ONNX files, written and read back.
//!
//! What is written: IR 8, opset 17; the input `planes` of `[batch, planes, height, width]` and the
//! outputs `policy` (logits, `[batch, policy]`), `outcome` (logits, `[batch, outcomes]`) and
//! `moves_left` (turns, `[batch, 1]`), the batch axis open; each weight an initializer under its
//! own name, unchanged; and the metadata given, in its order. The same network and metadata give
//! the same bytes.

mod proto;

use menagerie::encoding::Shape;
use prost::Message;

use crate::network::plan::{Layer, Op, Plan, Value};
use crate::network::{Architecture, MOVES_LEFT_SCALE, NamedTensor, NetworkError};
use proto::{
    Attribute, AttributeKind, Graph, Metadata, Model, Node, OperatorSet, Tensor, TensorKind,
    ValueInfo,
};

/// The version of the ONNX file format.
const IR_VERSION: i64 = 8;
/// The version of ONNX's own operators.
const OPSET: i64 = 17;
/// The initializer that holds [`MOVES_LEFT_SCALE`].
const SCALE_NAME: &str = "moves_left.scale";
/// What the names of a network's weights end in; other initializers are constants of the graph.
const WEIGHT_ENDINGS: [&str; 2] = [".weight", ".bias"];

/// Why a network could not be written as ONNX, or a file not read as one.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The weights do not make this network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The bytes are no ONNX file, or a damaged one.
    #[error("these bytes are no ONNX file: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The file has no graph.
    #[error("the ONNX file has no graph")]
    NoGraph,
    /// A weight that is not made of 32-bit floats, such as in a quantised file.
    #[error("the weight \"{name}\" is of the ONNX type {kind}; only 32-bit floats (1) can be read")]
    Kind {
        /// The weight's name.
        name: String,
        /// ONNX's number for its type.
        kind: i32,
    },
    /// A weight whose axes do not fit its numbers.
    #[error("the weight \"{name}\" has axes {axes:?}, which do not fit its {found} numbers")]
    Axes {
        /// The weight's name.
        name: String,
        /// Its axes.
        axes: Vec<i64>,
        /// Numbers that are there.
        found: usize,
    },
}

/// Writes a network as an ONNX file.
///
/// # Errors
/// [`OnnxError::Network`] if the sizes make no network or the tensors do not fit it.
pub fn export(
    shape: Shape,
    architecture: &Architecture,
    tensors: &[NamedTensor],
    metadata: &[(String, String)],
) -> Result<Vec<u8>, OnnxError> {
    let plan = Plan::new(shape, architecture)?;
    let weights = plan.name(&plan.flatten(tensors)?);

    let mut initializer: Vec<Tensor> = weights.into_iter().map(to_initializer).collect();
    initializer.push(to_initializer(NamedTensor {
        name: SCALE_NAME.into(),
        shape: vec![],
        data: vec![MOVES_LEFT_SCALE],
    }));
    let names = Names { plan: &plan };
    let mut node: Vec<Node> =
        plan.ops.iter().enumerate().map(|(index, op)| names.node(index, op)).collect();
    let raw = names.of(plan.moves_left);
    node.push(Node::new("Softplus", &[&raw], "moves_left.softplus"));
    node.push(Node::new("Mul", &["moves_left.softplus", SCALE_NAME], "moves_left"));

    let board = [shape.planes, shape.height, shape.width];
    let graph = Graph {
        node,
        name: "menagerie".into(),
        initializer,
        input: vec![ValueInfo::batch("planes", &board)],
        output: vec![
            ValueInfo::batch("policy", &[shape.policy()]),
            ValueInfo::batch("outcome", &[shape.outcomes]),
            ValueInfo::batch("moves_left", &[1]),
        ],
    };
    let pair =
        |(key, value): &(String, String)| Metadata { key: key.clone(), value: value.clone() };
    let model = Model {
        ir_version: IR_VERSION,
        opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        producer_name: "menagerie".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(graph),
        metadata_props: metadata.iter().map(pair).collect(),
    };
    Ok(model.encode_to_vec())
}

/// What [`import`] reads: the weights by name, and the metadata's keys and values.
pub type Imported = (Vec<NamedTensor>, Vec<(String, String)>);

/// Reads the weights and the metadata of a file that [`export`] wrote; whether the weights fit an
/// architecture is for [`Network::with_tensors`](crate::network::Network::with_tensors) to say.
///
/// # Errors
/// If the bytes are no ONNX file, or if a weight is not of 32-bit floats or misshapen.
pub fn import(bytes: &[u8]) -> Result<Imported, OnnxError> {
    let model = Model::decode(bytes)?;
    let graph = model.graph.ok_or(OnnxError::NoGraph)?;
    let is_weight = |tensor: &Tensor| WEIGHT_ENDINGS.iter().any(|end| tensor.name.ends_with(end));
    let weights = graph.initializer.into_iter().filter(is_weight);
    let tensors = weights.map(from_initializer).collect::<Result<_, _>>()?;
    let metadata = model.metadata_props.into_iter().map(|pair| (pair.key, pair.value)).collect();
    Ok((tensors, metadata))
}

fn to_initializer(tensor: NamedTensor) -> Tensor {
    Tensor {
        dims: tensor.shape.iter().map(|&size| size as i64).collect(),
        data_type: TensorKind::Float as i32,
        float_data: vec![],
        name: tensor.name,
        raw_data: tensor.data.iter().flat_map(|number| number.to_le_bytes()).collect(),
    }
}

fn from_initializer(tensor: Tensor) -> Result<NamedTensor, OnnxError> {
    let Tensor { dims, data_type, float_data, name, raw_data } = tensor;
    if data_type != TensorKind::Float as i32 {
        return Err(OnnxError::Kind { name, kind: data_type });
    }
    // Other tools may store the numbers in the field of their type.
    let (numbers, rest) = raw_data.as_chunks::<4>();
    let data: Vec<f32> = if raw_data.is_empty() {
        float_data
    } else {
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let shape: Option<Vec<usize>> = dims.iter().map(|&size| usize::try_from(size).ok()).collect();
    let product = |shape: &Vec<usize>| {
        shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))
    };
    match shape {
        Some(shape) if rest.is_empty() && product(&shape) == Some(data.len()) => {
            Ok(NamedTensor { name, shape, data })
        }
        _ => Err(OnnxError::Axes { name, axes: dims, found: data.len() }),
    }
}

/// The names of a plan's values in the graph.
struct Names<'a> {
    plan: &'a Plan,
}

impl Names<'_> {
    /// A value's name: the layer that makes it, or the operation on what it is made of.
    fn of(&self, value: Value) -> String {
        if value == self.plan.policy {
            return "policy".into();
        }
        if value == self.plan.outcome {
            return "outcome".into();
        }
        let Some(index) = value.0.checked_sub(1) else {
            return "planes".into();
        };
        match &self.plan.ops[index] {
            Op::Conv { layer, .. } | Op::Dense { layer, .. } => format!("{}.sum", layer.name),
            Op::Relu(input) => format!("{}.relu", self.of(*input)),
            Op::Add(_, branch) => format!("{}.add", self.of(*branch)),
            Op::Flatten(input) => format!("{}.flat", self.of(*input)),
        }
    }

    /// The node of an operation, which is the plan's `index`th.
    fn node(&self, index: usize, op: &Op) -> Node {
        let output = self.of(Value(index + 1));
        let of = |layer: &Layer, input: Value| {
            [self.of(input), format!("{}.weight", layer.name), format!("{}.bias", layer.name)]
        };
        match op {
            Op::Conv { input, layer, kernel } => {
                let [input, weight, bias] = of(layer, *input);
                let (kernel, pad) = (*kernel as i64, *kernel as i64 / 2);
                let ints = |name: &str, ints: &[i64]| Attribute {
                    name: name.into(),
                    ints: ints.to_vec(),
                    kind: AttributeKind::Ints as i32,
                };
                Node {
                    attribute: vec![
                        ints("kernel_shape", &[kernel; 2]),
                        ints("pads", &[pad; 4]),
                        ints("strides", &[1; 2]),
                    ],
                    ..Node::new("Conv", &[&input, &weight, &bias], &output)
                }
            }
            Op::Dense { input, layer } => {
                let [input, weight, bias] = of(layer, *input);
                Node::new("Gemm", &[&input, &weight, &bias], &output)
            }
            Op::Relu(input) => Node::new("Relu", &[&self.of(*input)], &output),
            Op::Add(left, right) => Node::new("Add", &[&self.of(*left), &self.of(*right)], &output),
            // ONNX flattens from axis 1 on unless told otherwise.
            Op::Flatten(input) => Node::new("Flatten", &[&self.of(*input)], &output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    const SHAPE: Shape = Shape { planes: 3, height: 4, width: 2, policy_planes: 5, outcomes: 3 };

    fn network() -> (Architecture, Vec<NamedTensor>, Vec<(String, String)>) {
        let architecture = Architecture::Residual { blocks: 2, channels: 4 };
        let tensors = Network::new(SHAPE, &architecture, 5).unwrap().tensors();
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        (architecture, tensors, vec![pair("run", "seven"), pair("encoding", "chess 1")])
    }

    #[test]
    fn what_is_exported_is_imported() {
        let (architecture, tensors, metadata) = network();
        let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        assert_eq!(import(&bytes).unwrap(), (tensors, metadata));
    }

    #[test]
    fn the_same_network_gives_the_same_bytes() {
        let (architecture, mut tensors, metadata) = network();
        let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        tensors.reverse();
        assert_eq!(bytes, export(SHAPE, &architecture, &tensors, &metadata).unwrap());
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let (architecture, tensors, metadata) = network();
        let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        for len in [1, 7, 40, bytes.len() / 2, bytes.len() - 1] {
            assert!(import(&bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(matches!(import(b""), Err(OnnxError::NoGraph)));
        assert!(import(b"not a network").is_err());
    }

    #[test]
    fn foreign_weights_are_errors() {
        let tensor = |data_type, dims: &[i64], raw_data: &[u8]| Tensor {
            name: "stem.weight".into(),
            dims: dims.to_vec(),
            data_type,
            float_data: vec![],
            raw_data: raw_data.to_vec(),
        };
        let read = |tensor| {
            let graph = Graph { initializer: vec![tensor], ..Graph::default() };
            import(&Model { graph: Some(graph), ..Model::default() }.encode_to_vec())
        };
        let float = TensorKind::Float as i32;
        assert!(read(tensor(float, &[1, 2], &[0; 8])).is_ok());
        assert!(matches!(read(tensor(3, &[2], &[0; 2])), Err(OnnxError::Kind { .. })));
        for (dims, bytes) in [(vec![3], 8), (vec![2], 9), (vec![-2, -1], 8), (vec![i64::MAX; 3], 8)]
        {
            let read = read(tensor(float, &dims, &vec![0; bytes]));
            assert!(matches!(read, Err(OnnxError::Axes { .. })), "{dims:?}");
        }
    }
}

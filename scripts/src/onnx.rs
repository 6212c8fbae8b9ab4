//! Networks as ONNX files, written and read back.
//!
//! The files have IR 8 and opset 17; the input `planes`, `[batch, planes, height, width]`, and the outputs
//! `policy` (logits, `[batch, policy]`), `outcome` (logits, `[batch, outcomes]`) and `moves_left` (turns,
//! `[batch, 1]`), with an open batch axis; an initializer for each weight under its own name; and the given
//! metadata in order, followed by the architecture. The same network and metadata give the same bytes.
//!
//! A float file may have an int8 file for CPUs ([`quantise`]) with the same inputs, outputs and metadata, and
//! the checksum of the float file.

mod nodes;
pub(crate) mod proto;
mod quantised;

use menagerie::encoding::Shape;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::{
    self, CHECKSUM_KEY, HEAD, OUTPUTS, PLANES, TWO_BOARD_OUTPUTS, append_checksum, verify,
};
use prost::Message;

use crate::network::activation_ranges::measure_ranges;
use crate::network::graph_ir::GraphIr;
use crate::network::{Architecture, MOVES_LEFT_SCALE, NamedTensor, Network, NetworkError};
use nodes::{Names, along};
use proto::{Attribute, Graph, Metadata, Model, Node, OperatorSet, Tensor, TensorKind, ValueInfo};

/// The metadata key of the architecture, which is in TOML.
pub const ARCHITECTURE_KEY: &str = "menagerie.architecture";

/// The version of the ONNX file format.
pub(crate) const IR_VERSION: i64 = 8;
/// The version of ONNX's own operators.
pub(crate) const OPSET: i64 = 17;
/// At least the number of floats of a SIMD vector (AVX-512: 16).
const VECTOR_FLOATS: usize = 16;
/// The initializer that holds [`MOVES_LEFT_SCALE`].
const SCALE_NAME: &str = "moves_left.scale";
/// The weight that has the number of outcomes of a two-board network.
const OUTCOME_BIAS: &str = HEAD[2];
/// Suffixes of the names of weights; other initializers are constants of the graph.
const WEIGHT_SUFFIXES: [&str; 2] = [".weight", ".bias"];

/// Why a network could not be written as ONNX, or a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The weights do not fit the network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The bytes are not an intact ONNX file.
    #[error("not an intact ONNX file: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The file has no graph.
    #[error("the ONNX file has no graph")]
    NoGraph,
    /// A weight that is not of 32-bit floats, as in an int8 file.
    #[error("weight \"{name}\" has the ONNX type {kind}, expected 1 (32-bit floats)")]
    Kind {
        /// The name of the weight.
        name: String,
        /// The number of its ONNX type.
        kind: i32,
    },
    /// A weight whose axes do not fit its numbers.
    #[error("weight \"{name}\" has axes {axes:?}, which do not fit its {found} numbers")]
    Axes {
        /// The name of the weight.
        name: String,
        /// Its axes.
        axes: Vec<i64>,
        /// The number of its numbers.
        found: usize,
    },
    /// Metadata that is missing or invalid: its key, and why.
    #[error("metadata \"{0}\" of the ONNX file: {1}")]
    Metadata(&'static str, String),
    /// An input or output with axes that no network has.
    #[error("input or output \"{0}\" of the ONNX file is missing or has unexpected axes")]
    Port(&'static str),
    /// The file is an int8 file.
    #[error("this is an int8 network (use its float network)")]
    Quantised,
    /// The checksum of the file is missing or wrong.
    #[error(transparent)]
    Checksum(#[from] network::NetworkError),
}

/// Returns the ONNX file of a network, without a checksum.
///
/// # Errors
/// [`OnnxError::Network`] if the sizes are invalid or the tensors do not fit.
pub fn export(
    shape: Shape,
    architecture: &Architecture,
    tensors: &[NamedTensor],
    metadata: &[(String, String)],
) -> Result<Vec<u8>, OnnxError> {
    let network = GraphIr::new(shape, architecture)?;
    let weights = network.name_tensors(&network.concat_tensors(tensors)?);
    let float = |tensor: &NamedTensor| Tensor::floats(&tensor.name, &tensor.shape, &tensor.data);
    let names = Names::new(&network);
    let nodes_of_op = |(index, op)| names.nodes(index, op, |value| names.of(value));
    let nodes = network.ops.iter().enumerate().flat_map(nodes_of_op).collect();
    let initializers = weights.iter().map(float).collect();
    encode_model(shape, architecture, &network, (nodes, initializers), metadata)
}

/// Returns the int8 file, with a checksum, of a float file with a checksum that [`export`] wrote. `planes` are
/// the positions by which it is calibrated, `[positions, planes, height, width]`, flattened. The metadata is
/// the same, with the checksum of the float file under [`NetworkMetadata::QUANTISED_FROM`].
///
/// # Errors
/// If the file is damaged, lacks the architecture or is an int8 file, or if there are no positions.
pub fn quantise(file: &[u8], planes: &[f32]) -> Result<Vec<u8>, OnnxError> {
    let float_checksum = verify(file)?;
    let (network, mut metadata) = read(file)?;
    metadata.push((NetworkMetadata::QUANTISED_FROM.to_owned(), float_checksum.to_owned()));
    let shape = network.shape();
    let architecture = network.architecture().clone();
    let (network, weights) = network.into_parts();
    let ranges = measure_ranges(&network, shape, &weights, planes)?;
    let board = [shape.height, shape.width];
    let graph = quantised::graph(&network, board, &weights, &ranges);
    Ok(append_checksum(encode_model(shape, &architecture, &network, graph, &metadata)?))
}

/// Returns the file of a network, given the nodes and initializers of its operations.
fn encode_model(
    shape: Shape,
    architecture: &Architecture,
    network: &GraphIr,
    (mut node, mut initializer): (Vec<Node>, Vec<Tensor>),
    metadata: &[(String, String)],
) -> Result<Vec<u8>, OnnxError> {
    let names = Names::new(network);
    initializer.extend(names.constants(shape));
    let planes_of =
        |shape: Shape| ValueInfo::batch(PLANES, &[shape.planes, shape.height, shape.width]);
    let (input, output) = match network.joining_layer() {
        None => {
            let raw = names.of(network.moves_left);
            initializer.push(Tensor::floats(SCALE_NAME, &[], &[MOVES_LEFT_SCALE]));
            node.extend(moves_left_nodes(&raw));
            let sizes = [shape.policy(), shape.outcomes, 1];
            let outputs = OUTPUTS.into_iter().zip(sizes);
            let outputs = outputs.map(|(name, size)| ValueInfo::batch(name, &[size]));
            (planes_of(shape), outputs.collect::<Vec<_>>())
        }
        Some(joining_layer) => {
            let units = network.ops[joining_layer].layer().map_or(0, |layer| layer.outputs);
            let one_board = shape.of_board();
            let sizes = [one_board.policy(), 2 * units];
            let outputs = TWO_BOARD_OUTPUTS.into_iter().zip(sizes);
            let outputs = outputs.map(|(name, size)| ValueInfo::batch(name, &[size]));
            let weights = HEAD.into_iter().filter_map(|name| {
                let weight = initializer.iter().find(|tensor| tensor.name == name)?;
                Some(ValueInfo::constant(name, &weight.dims))
            });
            (planes_of(one_board), outputs.chain(weights).collect::<Vec<_>>())
        }
    };
    let graph = Graph { node, name: "menagerie".into(), initializer, input: vec![input], output };
    let architecture = toml::to_string(architecture)
        .map_err(|error| OnnxError::Metadata(ARCHITECTURE_KEY, error.to_string()))?;
    let entry = |key: &str, value: &str| Metadata { key: key.into(), value: value.into() };
    let mut metadata_props: Vec<Metadata> =
        metadata.iter().map(|(key, value)| entry(key, value)).collect();
    metadata_props.push(entry(ARCHITECTURE_KEY, &architecture));
    let model = Model {
        ir_version: IR_VERSION,
        opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        producer_name: "menagerie".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(graph),
        metadata_props,
        functions: vec![],
    };
    Ok(model.encode_to_vec())
}

/// Returns the nodes that compute turns from the raw moves-left head. ONNX Runtime computes the exponential of
/// full SIMD vectors and of the remaining numbers in different ways: each number is copied to a full vector, so
/// that its last bit does not depend on its index in the batch.
fn moves_left_nodes(raw: &str) -> [Node; 4] {
    let names = ["copies", "softplus", "turns"].map(|name| format!("moves_left.{name}"));
    let [copies, softplus, turns] = names.each_ref().map(String::as_str);
    [
        along(1, Node::new("Concat", &[raw; VECTOR_FLOATS], copies)),
        Node::new("Softplus", &[copies], softplus),
        Node::new("Mul", &[softplus, SCALE_NAME], turns),
        Node {
            attribute: vec![Attribute::numbers("axes", &[1])],
            ..Node::new("ReduceMax", &[turns], OUTPUTS[2])
        },
    ]
}

/// A network, and keys and values of the metadata.
pub type Imported = (Network, Vec<(String, String)>);

/// Reads the network of a file that [`export`] wrote, with or without a checksum, and the metadata that was
/// passed to it.
///
/// # Errors
/// If the bytes are not an intact ONNX file of the trainer, lack the architecture (as those of early versions)
/// or are an int8 file, or if a weight is missing, of another shape, or not of finite 32-bit floats.
pub fn read(bytes: &[u8]) -> Result<Imported, OnnxError> {
    let model = Model::decode(bytes)?;
    let graph = model.graph.ok_or(OnnxError::NoGraph)?;
    let mut metadata: Vec<(String, String)> =
        model.metadata_props.into_iter().map(|pair| (pair.key, pair.value)).collect();
    if metadata.iter().any(|(key, _)| key == NetworkMetadata::QUANTISED_FROM) {
        return Err(OnnxError::Quantised);
    }
    let invalid = |why: String| OnnxError::Metadata(ARCHITECTURE_KEY, why);
    let entry = metadata.iter().find(|(key, _)| key == ARCHITECTURE_KEY);
    let (_, text) = entry.ok_or_else(|| invalid("missing".into()))?;
    let architecture: Architecture =
        toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
    metadata.retain(|(key, _)| key != ARCHITECTURE_KEY && key != CHECKSUM_KEY);

    let shape = read_shape(&graph)?;
    let is_weight =
        |tensor: &Tensor| WEIGHT_SUFFIXES.iter().any(|suffix| tensor.name.ends_with(suffix));
    let weights = graph.initializer.into_iter().filter(is_weight);
    let tensors = weights.map(from_initializer).collect::<Result<Vec<_>, _>>()?;
    Ok((Network::with_tensors(shape, &architecture, &tensors)?, metadata))
}

/// Returns the shape of the input and outputs of a graph.
fn read_shape(graph: &Graph) -> Result<Shape, OnnxError> {
    let axes = |ports: &[ValueInfo], name: &'static str| {
        let port = ports.iter().find(|port| port.name == name);
        port.and_then(ValueInfo::axes).ok_or(OnnxError::Port(name))
    };
    let [policy, outcome, _] = OUTPUTS;
    let &[planes, height, width] = axes(&graph.input, PLANES)?.as_slice() else {
        return Err(OnnxError::Port(PLANES));
    };
    let policy_axes = axes(&graph.output, policy)?;
    let [_, halves] = TWO_BOARD_OUTPUTS;
    let two_boards = graph.output.iter().any(|port| port.name == halves);
    let squares = height.checked_mul(width).filter(|&squares| squares > 0);
    let policy_planes = match (policy_axes.as_slice(), squares) {
        (&[logits], Some(squares)) if logits.is_multiple_of(squares) => logits / squares,
        _ => return Err(OnnxError::Port(policy)),
    };
    if two_boards {
        let biases = graph.initializer.iter().find(|tensor| tensor.name == OUTCOME_BIAS);
        let outcomes = biases.and_then(|tensor| usize::try_from(*tensor.dims.first()?).ok());
        let outcomes = outcomes.ok_or(OnnxError::Port(OUTCOME_BIAS))?;
        let [planes, policy_planes] = [planes, policy_planes].map(|each| each.saturating_mul(2));
        return Ok(Shape { planes, height, width, policy_planes, outcomes });
    }
    let &[outcomes] = axes(&graph.output, outcome)?.as_slice() else {
        return Err(OnnxError::Port(outcome));
    };
    Ok(Shape { planes, height, width, policy_planes, outcomes })
}

fn from_initializer(tensor: Tensor) -> Result<NamedTensor, OnnxError> {
    let Tensor { dims, data_type, float_data, name, raw_data } = tensor;
    if data_type != TensorKind::Float as i32 {
        return Err(OnnxError::Kind { name, kind: data_type });
    }
    // Other tools may store the numbers in `float_data`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    const SHAPE: Shape = Shape { planes: 6, height: 4, width: 2, policy_planes: 4, outcomes: 3 };

    fn network() -> (Architecture, Vec<NamedTensor>, Vec<(String, String)>) {
        let architecture = Architecture::Residual { blocks: 2, channels: 4, squeeze: 0 };
        let tensors = Network::new(SHAPE, &architecture, 5).unwrap().tensors();
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        (architecture, tensors, vec![pair("run", "seven"), pair("encoding", "chess 1")])
    }

    #[test]
    fn read_returns_what_export_wrote() {
        let (_, _, metadata) = network();
        for architecture in architectures() {
            let tensors = Network::new(SHAPE, &architecture, 5).unwrap().tensors();
            let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
            for bytes in [bytes.clone(), append_checksum(bytes)] {
                let (network, found) = read(&bytes).unwrap();
                assert_eq!((network.shape(), network.architecture()), (SHAPE, &architecture));
                assert_eq!((network.tensors(), found), (tensors.clone(), metadata.clone()));
            }
        }
    }

    #[test]
    fn architecture_text_leaves_out_zero_sizes() {
        let [residual, squeezed, ..] = &architectures()[..] else { panic!("too few") };
        assert!(!toml::to_string(residual).unwrap().contains("squeeze"));
        assert!(toml::to_string(squeezed).unwrap().contains("squeeze = 3"));
        let mlp = Architecture::Mlp { widths: vec![4], policy_channels: 0 };
        assert!(!toml::to_string(&mlp).unwrap().contains("policy_channels"));
    }

    #[test]
    fn export_is_deterministic() {
        let (architecture, mut tensors, metadata) = network();
        let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        tensors.reverse();
        assert_eq!(bytes, export(SHAPE, &architecture, &tensors, &metadata).unwrap());
    }

    #[test]
    fn read_refuses_damaged_bytes() {
        let (architecture, tensors, metadata) = network();
        let bytes = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        for len in [1, 7, 40, bytes.len() / 2, bytes.len() - 1] {
            assert!(read(&bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(matches!(read(b""), Err(OnnxError::NoGraph)));
        assert!(read(b"not a network").is_err());
    }

    #[test]
    fn read_refuses_weights_of_other_types_and_axes() {
        let tensor = |data_type, dims: &[i64], raw_data: &[u8]| Tensor {
            name: "stem.weight".into(),
            dims: dims.to_vec(),
            data_type,
            float_data: vec![],
            raw_data: raw_data.to_vec(),
        };
        let float = TensorKind::Float as i32;
        assert!(from_initializer(tensor(float, &[1, 2], &[0; 8])).is_ok());
        assert!(matches!(from_initializer(tensor(3, &[2], &[0; 2])), Err(OnnxError::Kind { .. })));
        for (dims, bytes) in [(vec![3], 8), (vec![2], 9), (vec![-2, -1], 8), (vec![i64::MAX; 3], 8)]
        {
            let read = from_initializer(tensor(float, &dims, &vec![0; bytes]));
            assert!(matches!(read, Err(OnnxError::Axes { .. })), "{dims:?}");
        }
    }

    /// Returns pseudo-random numbers.
    fn noise(seed: usize, len: usize) -> Vec<f32> {
        let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
        (0..len).map(wave).collect()
    }

    /// A file with a checksum of a network with small and large weights, one layer of which is zero.
    fn trained(architecture: &Architecture) -> Vec<u8> {
        let mut tensors = Network::new(SHAPE, architecture, 5).unwrap().tensors();
        for (seed, tensor) in tensors.iter_mut().enumerate() {
            let size = [0.01, 1.0, 50.0][seed % 3];
            let noise = noise(seed, tensor.data.len());
            let outcome = tensor.name == "outcome.weight";
            tensor.data = noise.iter().map(|n| if outcome { 0.0 } else { n * size }).collect();
        }
        append_checksum(export(SHAPE, architecture, &tensors, &network().2).unwrap())
    }

    fn architectures() -> Vec<Architecture> {
        let flat = Architecture::Mlp { widths: vec![], policy_channels: 0 };
        Architecture::small_ones().into_iter().chain([flat]).collect()
    }

    #[test]
    fn int8_products_do_not_saturate_16_bits() {
        let max = i32::from(quantised::MAX_WEIGHT);
        assert!(2 * i32::from(u8::MAX) * max <= i32::from(i16::MAX));
        for architecture in architectures() {
            let file = quantise(&trained(&architecture), &noise(1, 9 * SHAPE.input())).unwrap();
            let graph = Model::decode(file.as_slice()).unwrap().graph.unwrap();
            let is_int8 = |tensor: &&Tensor| {
                tensor.name.ends_with(".weight.integer") && tensor.data_type == 3
            };
            let mut reached = 0;
            for tensor in graph.initializer.iter().filter(is_int8) {
                for &byte in &tensor.raw_data {
                    let weight = i32::from(byte as i8);
                    assert!(weight.abs() <= max, "{}: {weight}", tensor.name);
                    reached = reached.max(weight.abs());
                }
            }
            assert_eq!(reached, max, "the whole range is used");
        }
    }

    #[test]
    fn quantise_is_deterministic_and_keeps_metadata() {
        let file = trained(&architectures()[0]);
        let planes = noise(1, 70 * SHAPE.input());
        let quantised = quantise(&file, &planes).unwrap();
        assert_eq!(quantised, quantise(&file, &planes).unwrap());
        assert_ne!(quantised, quantise(&file, &planes[..SHAPE.input()]).unwrap());
        assert!(quantised.len() < file.len());
        let model = Model::decode(quantised.as_slice()).unwrap();
        let get = |key: &str| {
            let mut pairs = model.metadata_props.iter();
            pairs.find(|pair| pair.key == key).map(|pair| pair.value.as_str())
        };
        assert_eq!(get("run"), Some("seven"));
        assert_eq!(get(NetworkMetadata::QUANTISED_FROM), Some(verify(&file).unwrap()));
        assert_eq!(get(CHECKSUM_KEY), Some(verify(&quantised).unwrap()));
        assert!(get(ARCHITECTURE_KEY).is_some_and(|text| text.contains("blocks = 2")));
    }

    #[test]
    fn quantise_refuses_int8_and_damaged_files() {
        let file = trained(&architectures()[1]);
        let planes = noise(1, SHAPE.input());
        let quantised = quantise(&file, &planes).unwrap();
        assert!(matches!(quantise(&quantised, &planes), Err(OnnxError::Quantised)));
        assert!(matches!(quantise(&file[..file.len() - 1], &planes), Err(OnnxError::Checksum(_))));
        for planes in [&planes[1..], &[]] {
            let refused = quantise(&file, planes);
            assert!(matches!(refused, Err(OnnxError::Network(NetworkError::Input { .. }))));
        }
        let (architecture, tensors, metadata) = network();
        let incomplete = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        let mut model = Model::decode(incomplete.as_slice()).unwrap();
        model.metadata_props.retain(|pair| pair.key != ARCHITECTURE_KEY);
        let incomplete = append_checksum(model.encode_to_vec());
        assert!(matches!(quantise(&incomplete, &planes), Err(OnnxError::Metadata(..))));
    }
}

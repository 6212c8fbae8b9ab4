//! Networks as ONNX files, written and read back.
//!
//! What is written: IR 8, opset 17; the input `planes` of `[batch, planes, height, width]` and the
//! outputs `policy` (logits, `[batch, policy]`), `outcome` (logits, `[batch, outcomes]`) and
//! `moves_left` (turns, `[batch, 1]`), the batch axis open; each weight an initializer under its
//! own name, unchanged; and the metadata given, in its order, with the architecture after it. The
//! same network and metadata give the same bytes.
//!
//! Beside the file of floats there may be one for CPUs that computes in integers of eight bits
//! ([`quantise`]), with the same inputs, outputs and metadata, and the seal of the former.

mod nodes;
mod proto;
mod quantised;
pub mod sparse;

use menagerie::encoding::Shape;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::{
    self, CHECKSUM_KEY, HEAD, OUTPUTS, PLANES, TWO_BOARD_OUTPUTS, append_checksum, verify,
};
use prost::Message;

use crate::network::activation_ranges::spreads;
use crate::network::graph_ir::GraphIr;
use crate::network::{Architecture, MOVES_LEFT_SCALE, NamedTensor, Network, NetworkError};
use nodes::{Names, along};
use proto::{Attribute, Graph, Metadata, Model, Node, OperatorSet, Tensor, TensorKind, ValueInfo};

/// The key of the metadata that has the architecture, in TOML.
pub const ARCHITECTURE_KEY: &str = "menagerie.architecture";

/// The version of the ONNX file format.
const IR_VERSION: i64 = 8;
/// The version of ONNX's own operators.
const OPSET: i64 = 17;
/// At least as many numbers as a CPU computes at once (AVX-512: 16 floats).
const AT_ONCE: usize = 16;
/// The initializer that holds [`MOVES_LEFT_SCALE`].
const SCALE_NAME: &str = "moves_left.scale";
/// The weight that tells how many outcomes a twin has.
const OUTCOME_BIAS: &str = HEAD[2];
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
    VariantRules {
        /// The weight's name.
        name: String,
        /// Its axes.
        axes: Vec<i64>,
        /// Numbers that are there.
        found: usize,
    },
    /// A file that does not say what it is, or says what is none: the metadata's key, and why.
    #[error("the ONNX file says no \"{0}\" that can be read: {1}")]
    Metadata(&'static str, String),
    /// Inputs or outputs that are not a network's.
    #[error("the ONNX file's \"{0}\" has no axes that a network could have")]
    Outlet(&'static str),
    /// The file is quantised already.
    #[error("the network is quantised already; its floats are in another file")]
    Quantised,
    /// The file's seal is missing or wrong.
    #[error(transparent)]
    Seal(#[from] network::NetworkError),
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
    let plan = GraphIr::new(shape, architecture)?;
    let weights = plan.name(&plan.flatten(tensors)?);
    let float = |tensor: &NamedTensor| Tensor::floats(&tensor.name, &tensor.shape, &tensor.data);
    let names = Names::new(&plan);
    let of_op = |(index, op)| names.nodes(index, op, |value| names.of(value));
    let nodes = plan.ops.iter().enumerate().flat_map(of_op).collect();
    let graph = (nodes, weights.iter().map(float).collect());
    model(shape, architecture, &plan, graph, metadata)
}

/// Makes of the sealed file that [`export`] wrote another that computes in integers of eight bits,
/// sealed as well. `planes` are positions as the network will meet them, by which it is calibrated:
/// `[positions, planes, height, width]`, flattened. The metadata is the same, with the seal of the
/// file under [`NetworkMetadata::QUANTISED_FROM`].
///
/// # Errors
/// If the file is damaged, says no architecture or is quantised already, or if there are no
/// positions.
pub fn quantise(file: &[u8], planes: &[f32]) -> Result<Vec<u8>, OnnxError> {
    let seal_of_floats = verify(file)?;
    let (network, mut metadata) = read(file)?;
    metadata.push((NetworkMetadata::QUANTISED_FROM.to_owned(), seal_of_floats.to_owned()));
    let (shape, architecture) = (network.shape(), network.architecture().clone());
    let (plan, weights) = network.into_parts();
    let spreads = spreads(&plan, shape, &weights, planes)?;
    let board = [shape.height, shape.width];
    let graph = quantised::graph(&plan, board, &weights, &spreads);
    Ok(append_checksum(model(shape, &architecture, &plan, graph, &metadata)?))
}

/// The file of a plan's graph, of which the nodes and initializers of its operations are given.
fn model(
    shape: Shape,
    architecture: &Architecture,
    plan: &GraphIr,
    (mut node, mut initializer): (Vec<Node>, Vec<Tensor>),
    metadata: &[(String, String)],
) -> Result<Vec<u8>, OnnxError> {
    let names = Names::new(plan);
    initializer.extend(names.constants(shape));
    let row = |row: Shape| ValueInfo::batch(PLANES, &[row.planes, row.height, row.width]);
    let (input, output) = match plan.meeting() {
        None => {
            let raw = names.of(plan.moves_left);
            initializer.push(Tensor::floats(SCALE_NAME, &[], &[MOVES_LEFT_SCALE]));
            node.extend(moves_left(&raw));
            let each = [shape.policy(), shape.outcomes, 1];
            let outputs = OUTPUTS.into_iter().zip(each);
            (row(shape), outputs.map(|(name, each)| ValueInfo::batch(name, &[each])).collect())
        }
        Some(meeting) => {
            let units = plan.ops[meeting].layer().map_or(0, |layer| layer.outputs);
            let one = shape.of_table();
            let each = [one.policy(), 2 * units];
            let outputs = TWO_BOARD_OUTPUTS.into_iter().zip(each);
            let outputs = outputs.map(|(name, each)| ValueInfo::batch(name, &[each]));
            let weights = HEAD.into_iter().filter_map(|name| {
                let weight = initializer.iter().find(|tensor| tensor.name == name)?;
                Some(ValueInfo::constant(name, &weight.dims))
            });
            (row(one), outputs.chain(weights).collect::<Vec<_>>())
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

/// The turns of each row from what the head gives. ONNX Runtime takes the exponential of several numbers
/// at once, and of those that are left over in another way: each row brings as many as that, so that its
/// last bit does not depend on its place in the batch.
fn moves_left(raw: &str) -> [Node; 4] {
    let at_once = ["copies", "softplus", "turns"].map(|name| format!("moves_left.{name}"));
    let [copies, softplus, turns] = at_once.each_ref().map(String::as_str);
    [
        along(1, Node::new("Concat", &[raw; AT_ONCE], copies)),
        Node::new("Softplus", &[copies], softplus),
        Node::new("Mul", &[softplus, SCALE_NAME], turns),
        Node {
            attribute: vec![Attribute::numbers("axes", &[1])],
            ..Node::new("ReduceMax", &[turns], OUTPUTS[2])
        },
    ]
}

/// A network and the metadata's keys and values.
pub type Imported = (Network, Vec<(String, String)>);

/// Reads the network of a file that [`export`] wrote, sealed or not, and the metadata that was
/// given to it.
///
/// # Errors
/// If the bytes are no ONNX file of ours, say no architecture (as those of early versions), or are
/// quantised; and if a weight is missing, misshapen, or not of finite 32-bit floats.
pub fn read(bytes: &[u8]) -> Result<Imported, OnnxError> {
    let model = Model::decode(bytes)?;
    let graph = model.graph.ok_or(OnnxError::NoGraph)?;
    let mut metadata: Vec<(String, String)> =
        model.metadata_props.into_iter().map(|pair| (pair.key, pair.value)).collect();
    if metadata.iter().any(|(key, _)| key == NetworkMetadata::QUANTISED_FROM) {
        return Err(OnnxError::Quantised);
    }
    let told = metadata.iter().find(|(key, _)| key == ARCHITECTURE_KEY);
    let unread = |why: String| OnnxError::Metadata(ARCHITECTURE_KEY, why);
    let (_, told) = told.ok_or_else(|| unread("it is not there".into()))?;
    let architecture: Architecture =
        toml::from_str(told).map_err(|error| unread(error.to_string()))?;
    metadata.retain(|(key, _)| key != ARCHITECTURE_KEY && key != CHECKSUM_KEY);

    let shape = shape(&graph)?;
    let is_weight = |tensor: &Tensor| WEIGHT_ENDINGS.iter().any(|end| tensor.name.ends_with(end));
    let weights = graph.initializer.into_iter().filter(is_weight);
    let tensors = weights.map(from_initializer).collect::<Result<Vec<_>, _>>()?;
    Ok((Network::with_tensors(shape, &architecture, &tensors)?, metadata))
}

/// The shape that a graph's input and outputs have.
fn shape(graph: &Graph) -> Result<Shape, OnnxError> {
    let axes = |outlets: &[ValueInfo], name: &'static str| {
        let outlet = outlets.iter().find(|outlet| outlet.name == name);
        outlet.and_then(ValueInfo::axes).ok_or(OnnxError::Outlet(name))
    };
    let [policy, outcome, _] = OUTPUTS;
    let &[planes, height, width] = axes(&graph.input, PLANES)?.as_slice() else {
        return Err(OnnxError::Outlet(PLANES));
    };
    let policy_axes = axes(&graph.output, policy)?;
    let [_, halves] = TWO_BOARD_OUTPUTS;
    let twin = graph.output.iter().any(|outlet| outlet.name == halves);
    let squares = height.checked_mul(width).filter(|&squares| squares > 0);
    let policy_planes = match (policy_axes.as_slice(), squares) {
        (&[logits], Some(squares)) if logits.is_multiple_of(squares) => logits / squares,
        _ => return Err(OnnxError::Outlet(policy)),
    };
    if twin {
        let biases = graph.initializer.iter().find(|tensor| tensor.name == OUTCOME_BIAS);
        let outcomes = biases.and_then(|tensor| usize::try_from(*tensor.dims.first()?).ok());
        let outcomes = outcomes.ok_or(OnnxError::Outlet(OUTCOME_BIAS))?;
        let [planes, policy_planes] = [planes, policy_planes].map(|each| each.saturating_mul(2));
        return Ok(Shape { planes, height, width, policy_planes, outcomes });
    }
    let &[outcomes] = axes(&graph.output, outcome)?.as_slice() else {
        return Err(OnnxError::Outlet(outcome));
    };
    Ok(Shape { planes, height, width, policy_planes, outcomes })
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
        _ => Err(OnnxError::VariantRules { name, axes: dims, found: data.len() }),
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
    fn what_is_exported_is_imported() {
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
    fn what_an_architecture_has_not_it_does_not_mention() {
        let [residual, squeezed, ..] = &architectures()[..] else { panic!("too few") };
        assert!(!toml::to_string(residual).unwrap().contains("squeeze"));
        assert!(toml::to_string(squeezed).unwrap().contains("squeeze = 3"));
        let mlp = Architecture::Mlp { widths: vec![4], policy_channels: 0 };
        assert!(!toml::to_string(&mlp).unwrap().contains("policy_channels"));
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
            assert!(read(&bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(matches!(read(b""), Err(OnnxError::NoGraph)));
        assert!(read(b"not a network").is_err());
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
        let float = TensorKind::Float as i32;
        assert!(from_initializer(tensor(float, &[1, 2], &[0; 8])).is_ok());
        assert!(matches!(from_initializer(tensor(3, &[2], &[0; 2])), Err(OnnxError::Kind { .. })));
        for (dims, bytes) in [(vec![3], 8), (vec![2], 9), (vec![-2, -1], 8), (vec![i64::MAX; 3], 8)]
        {
            let read = from_initializer(tensor(float, &dims, &vec![0; bytes]));
            assert!(matches!(read, Err(OnnxError::VariantRules { .. })), "{dims:?}");
        }
    }

    /// Numbers that look like noise.
    fn noise(seed: usize, len: usize) -> Vec<f32> {
        let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
        (0..len).map(wave).collect()
    }

    /// A sealed file of a network that has no layer left at zero but one, and weights of all sizes.
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
    fn no_two_products_of_bytes_saturate_sixteen_bits() {
        let most = i32::from(quantised::LARGEST_WEIGHT);
        assert!(2 * i32::from(u8::MAX) * most <= i32::from(i16::MAX));
        for architecture in architectures() {
            let file = quantise(&trained(&architecture), &noise(1, 9 * SHAPE.input())).unwrap();
            let graph = Model::decode(file.as_slice()).unwrap().graph.unwrap();
            let of_bytes = |tensor: &&Tensor| {
                tensor.name.ends_with(".weight.integer") && tensor.data_type == 3
            };
            let mut reached = 0;
            for tensor in graph.initializer.iter().filter(of_bytes) {
                for &byte in &tensor.raw_data {
                    let weight = i32::from(byte as i8);
                    assert!(weight.abs() <= most, "{}: {weight}", tensor.name);
                    reached = reached.max(weight.abs());
                }
            }
            assert_eq!(reached, most, "all the room is used");
        }
    }

    #[test]
    fn the_same_positions_give_the_same_bytes_and_the_passport_stays() {
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
    fn only_sealed_floats_are_quantised() {
        let file = trained(&architectures()[1]);
        let planes = noise(1, SHAPE.input());
        let quantised = quantise(&file, &planes).unwrap();
        assert!(matches!(quantise(&quantised, &planes), Err(OnnxError::Quantised)));
        assert!(matches!(quantise(&file[..file.len() - 1], &planes), Err(OnnxError::Seal(_))));
        for planes in [&planes[1..], &[]] {
            let refused = quantise(&file, planes);
            assert!(matches!(refused, Err(OnnxError::Network(NetworkError::Input { .. }))));
        }
        let (architecture, tensors, metadata) = network();
        let nameless = export(SHAPE, &architecture, &tensors, &metadata).unwrap();
        let mut model = Model::decode(nameless.as_slice()).unwrap();
        model.metadata_props.retain(|pair| pair.key != ARCHITECTURE_KEY);
        let nameless = append_checksum(model.encode_to_vec());
        assert!(matches!(quantise(&nameless, &planes), Err(OnnxError::Metadata(..))));
    }
}

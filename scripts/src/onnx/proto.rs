//! The messages of an ONNX file that networks need, declared by hand from `onnx.proto` of the format.
//!
//! Fields that are not declared here are skipped when reading.

use prost::{Enumeration, Message, Oneof};

/// `ModelProto`: a file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Model {
    #[prost(int64, tag = "1")]
    pub(crate) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(crate) producer_name: String,
    #[prost(string, tag = "3")]
    pub(crate) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(crate) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(crate) metadata_props: Vec<Metadata>,
    #[prost(message, repeated, tag = "25")]
    pub(crate) functions: Vec<Function>,
}

/// `FunctionProto`: an operator that the file defines by a body of other operators.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Function {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, repeated, tag = "4")]
    pub(crate) input: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub(crate) output: Vec<String>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) node: Vec<Node>,
    #[prost(message, repeated, tag = "9")]
    pub(crate) opset_import: Vec<OperatorSet>,
    #[prost(string, tag = "10")]
    pub(crate) domain: String,
}

/// `OperatorSetIdProto`: a set of operators and its version; the empty domain is ONNX's own.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(int64, tag = "2")]
    pub(crate) version: i64,
}

/// `StringStringEntryProto`: a key and its value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metadata {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// `GraphProto`: operations in order, constants, inputs and outputs.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(crate) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) output: Vec<ValueInfo>,
}

/// `NodeProto`: an operation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(crate) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "4")]
    pub(crate) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attribute: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub(crate) domain: String,
}

impl Node {
    /// An operation without attributes, named after its only output.
    pub(crate) fn new(op: &str, input: &[&str], output: &str) -> Self {
        Self {
            input: input.iter().map(|name| name.to_string()).collect(),
            output: vec![output.into()],
            name: output.into(),
            op_type: op.into(),
            attribute: vec![],
            domain: String::new(),
        }
    }
}

/// `AttributeProto`: an attribute of an operation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(float, optional, tag = "2")]
    pub(crate) float: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub(crate) int: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub(crate) ints: Vec<i64>,
    #[prost(enumeration = "AttributeKind", tag = "20")]
    pub(crate) kind: i32,
}

impl Attribute {
    /// An integer.
    pub(crate) fn number(name: &str, int: i64) -> Self {
        let kind = AttributeKind::Int as i32;
        Self { name: name.into(), float: None, int: Some(int), ints: vec![], kind }
    }

    /// A list of integers.
    pub(crate) fn numbers(name: &str, ints: &[i64]) -> Self {
        let kind = AttributeKind::Ints as i32;
        Self { name: name.into(), float: None, int: None, ints: ints.to_vec(), kind }
    }

    /// A 32-bit float.
    pub(crate) fn decimal(name: &str, float: f32) -> Self {
        let kind = AttributeKind::Float as i32;
        Self { name: name.into(), float: Some(float), int: None, ints: vec![], kind }
    }
}

/// `AttributeProto.AttributeType`: the field that holds the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(crate) enum AttributeKind {
    Undefined = 0,
    Float = 1,
    Int = 2,
    Ints = 7,
}

/// `TensorProto`: a constant. The numbers are in `raw_data`, little-endian, or in `float_data`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(crate) dims: Vec<i64>,
    #[prost(enumeration = "TensorKind", tag = "2")]
    pub(crate) data_type: i32,
    #[prost(float, repeated, tag = "4")]
    pub(crate) float_data: Vec<f32>,
    #[prost(string, tag = "8")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(crate) raw_data: Vec<u8>,
}

impl Tensor {
    /// Numbers as little-endian bytes.
    pub(crate) fn new(name: &str, kind: TensorKind, axes: &[usize], raw_data: Vec<u8>) -> Self {
        Self {
            dims: axes.iter().map(|&size| size as i64).collect(),
            data_type: kind as i32,
            float_data: vec![],
            name: name.into(),
            raw_data,
        }
    }

    /// 32-bit floats.
    pub(crate) fn floats(name: &str, axes: &[usize], data: &[f32]) -> Self {
        let bytes = data.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self::new(name, TensorKind::Float, axes, bytes)
    }
}

/// `TensorProto.DataType`: the type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(crate) enum TensorKind {
    Undefined = 0,
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
}

/// `ValueInfoProto`: an input or output and its type.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) kind: Option<ValueType>,
}

impl ValueInfo {
    /// Returns the lengths of the axes of a tensor after the batch; `None` if one is open.
    pub(crate) fn axes(&self) -> Option<Vec<usize>> {
        let dimensions = &self.kind.as_ref()?.tensor.as_ref()?.shape.as_ref()?.dim;
        let axis = |dimension: &Dimension| match dimension.size {
            Some(Size::Fixed(size)) => usize::try_from(size).ok(),
            _ => None,
        };
        dimensions.get(1..)?.iter().map(axis).collect()
    }

    /// A tensor of 32-bit floats, `[batch, axes..]`, with a batch of any size.
    pub(crate) fn batch(name: &str, axes: &[usize]) -> Self {
        let axes = axes.iter().map(|&size| Size::Fixed(size as i64));
        Self::floats(name, std::iter::once(Size::Open("batch".into())).chain(axes))
    }

    /// A tensor of 32-bit floats with these axes, which does not depend on the input.
    pub(crate) fn constant(name: &str, axes: &[i64]) -> Self {
        Self::floats(name, axes.iter().map(|&size| Size::Fixed(size)))
    }

    /// A tensor with named open axes or fixed ones.
    pub(crate) fn tensor(name: &str, kind: TensorKind, sizes: Vec<Size>) -> Self {
        let dim = sizes.into_iter().map(|size| Dimension { size: Some(size) }).collect();
        let tensor = TensorType { elem_type: kind as i32, shape: Some(TensorShape { dim }) };
        Self { name: name.into(), kind: Some(ValueType { tensor: Some(tensor) }) }
    }

    fn floats(name: &str, sizes: impl Iterator<Item = Size>) -> Self {
        Self::tensor(name, TensorKind::Float, sizes.collect())
    }
}

/// `TypeProto`: the type of a value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueType {
    #[prost(message, optional, tag = "1")]
    pub(crate) tensor: Option<TensorType>,
}

/// `TypeProto.Tensor`: numbers and axes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorType {
    #[prost(enumeration = "TensorKind", tag = "1")]
    pub(crate) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) shape: Option<TensorShape>,
}

/// `TensorShapeProto`: axes, outermost first.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorShape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dim: Vec<Dimension>,
}

/// `TensorShapeProto.Dimension`: an axis.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Dimension {
    #[prost(oneof = "Size", tags = "1, 2")]
    pub(crate) size: Option<Size>,
}

/// The length of an axis.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Size {
    /// A fixed length.
    #[prost(int64, tag = "1")]
    Fixed(i64),
    /// Any length, the same for axes of the same name.
    #[prost(string, tag = "2")]
    Open(String),
}

//! The networks that come inside the executable.

use crate::evaluation::{NetworkFile, Weights};

/// A file in `nets/`: its name and its bytes.
type Shipped = (&'static str, &'static [u8]);

/// By the name of the variant: its network, and the quantised form of it, if there is one.
const SHIPPED: &[(&str, Shipped, Option<Shipped>)] = &[
    ("3x3", ("nets/3x3.onnx", include_bytes!("../../nets/3x3.onnx")), None),
    ("connect3", ("nets/connect3.onnx", include_bytes!("../../nets/connect3.onnx")), None),
    (
        "crazyhouse",
        ("nets/crazyhouse.onnx", include_bytes!("../../nets/crazyhouse.onnx")),
        Some(("nets/crazyhouse.int8.onnx", include_bytes!("../../nets/crazyhouse.int8.onnx"))),
    ),
    ("tictacmo", ("nets/tictacmo.onnx", include_bytes!("../../nets/tictacmo.onnx")), None),
];

/// The network for a variant, if one is shipped.
pub(super) fn network(variant: &str) -> Option<Weights> {
    let (_, floats, quantised) = SHIPPED.iter().find(|(name, ..)| *name == variant)?;
    let file = |&(name, bytes): &Shipped| NetworkFile { name: name.into(), bytes: bytes.into() };
    Some(Weights::new(file(floats), quantised.as_ref().map(file)))
}

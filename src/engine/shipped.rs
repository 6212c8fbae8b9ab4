//! The networks that come inside the executable.

/// A network by the name of its variant: the file it is made from, and its bytes.
type Shipped = (&'static str, &'static str, &'static [u8]);

const SHIPPED: &[Shipped] = &[("3x3", "nets/3x3.onnx", include_bytes!("../../nets/3x3.onnx"))];

/// The file name and the bytes of the network for a variant, if one is shipped.
pub(super) fn network(variant: &str) -> Option<(&'static str, &'static [u8])> {
    let found = SHIPPED.iter().find(|(name, ..)| *name == variant);
    found.map(|&(_, file, bytes)| (file, bytes))
}

//! The networks that come inside the executable.

use crate::evaluation::{NetworkFile, Weights};
use crate::variant::Variant;

/// A file in `nets/`: its name and its bytes.
type Shipped = (&'static str, &'static [u8]);

/// A file of `nets/`, by its name.
macro_rules! file {
    ($name:literal) => {
        (concat!("nets/", $name), include_bytes!(concat!("../../nets/", $name)))
    };
}

/// By the name of the variant: its network, and the quantised form of it, if there is one.
const SHIPPED: &[(&str, Shipped, Option<Shipped>)] = &[
    ("3check", file!("3check.onnx"), Some(file!("3check.int8.onnx"))),
    ("3x3", file!("3x3.onnx"), None),
    ("antichess", file!("antichess.onnx"), Some(file!("antichess.int8.onnx"))),
    ("atomic", file!("atomic.onnx"), Some(file!("atomic.int8.onnx"))),
    ("blindboard", file!("blindboard.onnx"), Some(file!("blindboard.int8.onnx"))),
    ("bughouse2", file!("bughouse2.onnx"), Some(file!("bughouse2.int8.onnx"))),
    ("chess", file!("chess.onnx"), Some(file!("chess.int8.onnx"))),
    ("connect3", file!("connect3.onnx"), None),
    ("crazyhouse", file!("crazyhouse.onnx"), Some(file!("crazyhouse.int8.onnx"))),
    ("duck", file!("duck.onnx"), Some(file!("duck.int8.onnx"))),
    ("horde", file!("horde.onnx"), Some(file!("horde.int8.onnx"))),
    ("kingofthehill", file!("kingofthehill.onnx"), Some(file!("kingofthehill.int8.onnx"))),
    ("racingkings", file!("racingkings.onnx"), Some(file!("racingkings.int8.onnx"))),
    ("tictacmo", file!("tictacmo.onnx"), None),
];

/// Returns the network of the game whose network plays `variant` as long as it has none of its own, and the
/// name of that game; `None` if there is no such game or it has none.
pub(super) fn substitute(variant: &Variant) -> Option<(Weights, &str)> {
    let game = variant.network()?;
    Some((network(game)?, game))
}

/// Returns the network that was made for a game.
pub(super) fn network(game: &str) -> Option<Weights> {
    let (_, floats, quantised) = SHIPPED.iter().find(|(name, ..)| *name == game)?;
    let file = |&(name, bytes): &Shipped| NetworkFile { name: name.into(), bytes: bytes.into() };
    Some(Weights::new(file(floats), quantised.as_ref().map(file)))
}

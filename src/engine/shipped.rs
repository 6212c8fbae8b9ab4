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

/// The network for a variant, if one is shipped: its own, or that of the game whose network plays it
/// so long; and the name of the game that it was made for.
pub(super) fn network(variant: &Variant) -> Option<(Weights, &str)> {
    let games = [Some(variant.name()), variant.network()];
    games.into_iter().flatten().find_map(|game| Some((of(game)?, game)))
}

/// The network that was made for a game.
fn of(game: &str) -> Option<Weights> {
    let (_, floats, quantised) = SHIPPED.iter().find(|(name, ..)| *name == game)?;
    let file = |&(name, bytes): &Shipped| NetworkFile { name: name.into(), bytes: bytes.into() };
    Some(Weights::new(file(floats), quantised.as_ref().map(file)))
}

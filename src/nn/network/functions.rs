//! The functions that a network's file defines: operators whose bodies consist of standard ONNX operators.
//!
//! On a CPU, kernels replace the functions; elsewhere ONNX Runtime runs their bodies. A file with functions
//! of another version would compute different results on each, so it is refused before ONNX Runtime loads it.

use super::NetworkError;
use super::checksum::digest;

/// The functions of sparse networks: their names, and the SHA-256 of each encoded `FunctionProto`. The
/// trainer writes them (`scripts/src/sparse/export/functions.rs`, where a test compares the digests).
pub const FUNCTIONS: [(&str, &str); 6] = [
    ("Features", "4fd9dc9f69ed239ab4fc469a253fe710c6a16bf622f3d5a6033289575ca072e7"),
    ("FeaturesInt8", "150690aba9b421d4fb6aca054c713772aed86ba947e4db8357a6218227327437"),
    ("MoveScores", "4c1ee65d55e09882529f622e493e916c54015081772f5dea92632b2f27a5ef37"),
    ("MoveScoresInt8", "ae969a9225b632a27e5a24f3ccac13aba848b4ef836192c6d00f7b2e12c72550"),
    ("ValueHead", "cc55ecf0d7fec3a5cbeb93f4291805bad4b9a73b5f54134575b2ffcbae161437"),
    ("ValueHeadInt8", "3aa413b7a35a078aad47747b7a9ca9893db7c68f0a769d3175b55f4e897e0880"),
];

/// The number of the field `functions` of a `ModelProto`.
const FUNCTIONS_FIELD: u64 = 25;

/// Checks that every function of a model is one of [`FUNCTIONS`]. A model without functions passes.
///
/// # Errors
/// [`NetworkError::Function`] for another function; [`NetworkError::Model`] if the bytes are not a protobuf
/// message.
pub(super) fn check_functions(model: &[u8]) -> Result<(), NetworkError> {
    let mut rest = model;
    while !rest.is_empty() {
        let Some((field, content)) = next_field(&mut rest) else {
            return Err(NetworkError::Model("the file is not a protobuf message".into()));
        };
        if field == FUNCTIONS_FIELD {
            let found = digest(content);
            if !FUNCTIONS.iter().any(|(_, known)| *known == found) {
                return Err(NetworkError::Function(name_of(content)));
            }
        }
    }
    Ok(())
}

/// Takes the next field off a protobuf message. Returns its number, and its content if it has a length.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let key = varint(rest)?;
    let length = match key & 7 {
        0 => {
            varint(rest)?;
            0
        }
        1 => {
            *rest = rest.get(8..)?;
            0
        }
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => {
            *rest = rest.get(4..)?;
            0
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some((key >> 3, content))
}

/// Takes a number of up to 64 bits off a protobuf message.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for nth in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * nth);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Returns the name of a `FunctionProto` (its first field), shortened and printable.
fn name_of(function: &[u8]) -> String {
    let mut rest = function;
    let name = match next_field(&mut rest) {
        Some((1, name)) => name,
        _ => b"without a name",
    };
    name[..name.len().min(40)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_unknown_are_named() {
        let function = b"\x0a\x04Evil\x52\x10menagerie.sparse";
        let head = [0xca, 0x01, function.len() as u8];
        let model = [b"\x08\x08", &head[..], function].concat();
        assert_eq!(check_functions(&model), Err(NetworkError::Function("Evil".into())));
        assert_eq!(check_functions(b"\x08\x08"), Ok(()));
        assert_eq!(check_functions(b""), Ok(()));
        for broken in
            [&b"\x08"[..], b"\xca\x01\x05a", b"\x0b", &[0xff; 11], b"\x09\x01", b"\x0d\x01"]
        {
            let error = check_functions(broken).unwrap_err();
            assert!(matches!(error, NetworkError::Model(_)), "{error}");
        }
    }
}

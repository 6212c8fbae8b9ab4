//! The checksum at the end of a network file, which detects lost and changed bytes.
//!
//! ONNX Runtime parses a model inside this process and trusts it: a damaged file may be loaded and play
//! nonsense, or allocate absurd amounts of memory. So a file has the SHA-256 of its own bytes, which is
//! checked before ONNX Runtime reads the file.
//!
//! The checksum is the last metadata entry of the model, with key [`KEY`] and as value the SHA-256 of all
//! bytes before the entry, in 64 hexadecimal digits. Protobuf fields may come in any order and metadata is a
//! repeated field, so appending the entry leaves a valid ONNX file. A program that saves the file again
//! invalidates the checksum; [`append_checksum`] appends another.
//!
//! The checksum protects against accidents, not against malice: anyone can compute it.

use sha2::{Digest, Sha256};

use super::NetworkError;

/// The metadata key of the checksum.
pub const KEY: &str = "menagerie.sha256";

/// The bytes of the entry before the digits: field 14 (`metadata_props`) of a `ModelProto`, 84 bytes; in it
/// field 1 (`key`), 16 bytes, and field 2 (`value`), 64 bytes.
const ENTRY_HEADER: &[u8; 22] = b"\x72\x54\x0a\x10menagerie.sha256\x12\x40";

/// The number of hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// The length of the entry in bytes.
const ENTRY_BYTES: usize = ENTRY_HEADER.len() + DIGITS;

/// Appends the checksum to the bytes of an ONNX model. Bytes with a valid checksum are returned unchanged.
///
/// An exporter calls this on the finished file, after all other metadata.
#[must_use]
pub fn append_checksum(mut model: Vec<u8>) -> Vec<u8> {
    if verify(&model).is_err() {
        let digits = digest(&model);
        model.extend_from_slice(ENTRY_HEADER);
        model.extend_from_slice(digits.as_bytes());
    }
    model
}

/// Checks the checksum of a network file. Returns its digits, which identify the file.
///
/// # Errors
/// [`NetworkError::MissingChecksum`] if the file does not end with a checksum, because its end is missing or another
/// program wrote it; [`NetworkError::Damaged`] if the checksum is not that of the bytes.
pub fn verify(file: &[u8]) -> Result<&str, NetworkError> {
    let split = file.len().checked_sub(ENTRY_BYTES).ok_or(NetworkError::MissingChecksum)?;
    let (model, tail) = file.split_at(split);
    let expected = tail.strip_prefix(ENTRY_HEADER).ok_or(NetworkError::MissingChecksum)?;
    let found = digest(model);
    match str::from_utf8(expected) {
        Ok(digits) if digits == found => Ok(digits),
        _ => Err(NetworkError::Damaged { expected: expected.escape_ascii().to_string(), found }),
    }
}

/// Returns the SHA-256 of the names and checksums of several networks in lower-case hexadecimal digits.
pub fn combined_checksum(networks: &[(String, String)]) -> String {
    let lines: String =
        networks.iter().map(|(name, checksum)| format!("{checksum}  {name}\n")).collect();
    digest(lines.as_bytes())
}

/// Returns the SHA-256 in lower-case hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_a_metadata_entry() {
        assert_eq!(usize::from(ENTRY_HEADER[1]), ENTRY_BYTES - 2);
        assert_eq!(usize::from(ENTRY_HEADER[3]), KEY.len());
        assert_eq!(&ENTRY_HEADER[4..20], KEY.as_bytes());
        assert_eq!(usize::from(ENTRY_HEADER[21]), DIGITS);
        // The SHA-256 of the empty message.
        assert!(
            append_checksum(Vec::new())
                .ends_with(b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
    }

    #[test]
    fn checksum_is_appended_once() {
        let file = append_checksum(b"a model".to_vec());
        assert_eq!(verify(&file), Ok(digest(b"a model").as_str()));
        assert_eq!(append_checksum(file.clone()), file);
        let longer = append_checksum([file.as_slice(), b"more"].concat());
        assert!(verify(&longer).is_ok());
        assert_eq!(longer.len(), file.len() + 4 + ENTRY_BYTES);
    }

    #[test]
    fn checksum_detects_truncation_and_flipped_bits() {
        let file = append_checksum((0..200).collect());
        for length in 0..file.len() {
            assert!(verify(&file[..length]).is_err(), "truncated to {length} bytes");
        }
        for bit in 0..file.len() * 8 {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&damaged).is_err(), "bit {bit} flipped");
        }
    }
}

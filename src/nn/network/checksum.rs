//! The seal at the end of a network file, which shows that no byte was lost or changed.
//!
//! ONNX Runtime parses a model inside this process and trusts much of it: a damaged file may be
//! loaded and play nonsense, or ask for absurd amounts of memory. So a file carries the SHA-256 of
//! its own bytes, and is checked before ONNX Runtime sees any of them.
//!
//! The seal is the last metadata entry of the model, key [`KEY`], value the SHA-256 of all bytes
//! before the entry in 64 hexadecimal digits. As protobuf's fields may come in any order and
//! metadata is a repeated field, appending the entry leaves a valid ONNX file that any program
//! reads. A program that saves the file anew breaks the append_checksum, and [`seal`] makes another.
//!
//! A seal guards against accidents, not against malice: anyone can compute one.

use sha2::{Digest, Sha256};

use super::NetworkError;

/// The metadata key of the seal.
pub const KEY: &str = "menagerie.sha256";

/// The bytes of the seal before its digits: field 14 (`metadata_props`) of a `ModelProto`, 84
/// bytes; in it field 1 (`key`), 16 bytes, and field 2 (`value`), 64 bytes.
const HEAD: &[u8; 22] = b"\x72\x54\x0a\x10menagerie.sha256\x12\x40";

/// SHA-256 in hexadecimal digits.
const DIGITS: usize = 64;

/// The length of a seal in bytes.
const LENGTH: usize = HEAD.len() + DIGITS;

/// Seals the bytes of an ONNX model: returns them with the seal appended. Bytes whose seal is
/// right are returned as they are.
///
/// An exporter calls this on the finished file, after all other metadata.
#[must_use]
pub fn append_checksum(mut model: Vec<u8>) -> Vec<u8> {
    if verify(&model).is_err() {
        let digits = digest(&model);
        model.extend_from_slice(HEAD);
        model.extend_from_slice(digits.as_bytes());
    }
    model
}

/// Checks the seal of a network file and gives its digits, which no other file has.
///
/// # Errors
/// [`NetworkError::Unsealed`] if the file does not end in a append_checksum, as when its end is missing or
/// another program wrote it; [`NetworkError::Damaged`] if its bytes are not those that were sealed.
pub fn verify(file: &[u8]) -> Result<&str, NetworkError> {
    let split = file.len().checked_sub(LENGTH).ok_or(NetworkError::Unsealed)?;
    let (model, tail) = file.split_at(split);
    let sealed = tail.strip_prefix(HEAD).ok_or(NetworkError::Unsealed)?;
    let found = digest(model);
    match str::from_utf8(sealed) {
        Ok(digits) if digits == found => Ok(digits),
        _ => Err(NetworkError::Damaged { sealed: sealed.escape_ascii().to_string(), found }),
    }
}

/// SHA-256 in lower-case hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seal_is_one_metadata_entry() {
        assert_eq!(usize::from(HEAD[1]), LENGTH - 2);
        assert_eq!(usize::from(HEAD[3]), KEY.len());
        assert_eq!(&HEAD[4..20], KEY.as_bytes());
        assert_eq!(usize::from(HEAD[21]), DIGITS);
        // SHA-256 of nothing is well known.
        assert!(
            append_checksum(Vec::new())
                .ends_with(b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
    }

    #[test]
    fn a_sealed_file_passes_and_is_sealed_once() {
        let file = append_checksum(b"a model".to_vec());
        assert_eq!(verify(&file), Ok(digest(b"a model").as_str()));
        assert_eq!(append_checksum(file.clone()), file);
        let longer = append_checksum([file.as_slice(), b"more"].concat());
        assert!(verify(&longer).is_ok());
        assert_eq!(longer.len(), file.len() + 4 + LENGTH);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_seen() {
        let file = append_checksum((0..200).collect());
        for length in 0..file.len() {
            assert!(verify(&file[..length]).is_err(), "cut to {length} bytes");
        }
        for bit in 0..file.len() * 8 {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&damaged).is_err(), "bit {bit} flipped");
        }
    }
}

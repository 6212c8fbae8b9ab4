//! Event files of TensorBoard: scalars over steps.
//!
//! A file is a row of records, each its length, the length's checksum, the content and the content's
//! checksum, where a checksum is CRC-32C, rotated and added to (TensorFlow's `record_writer.cc`);
//! a content is a message `Event` (`event.proto`). Hand-declared messages, as in `onnx/proto.rs`:
//! the crate for this (`tensorboard-rs`) writes files itself, and so cannot write into a store.

use prost::Message;

/// A value at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// What is measured; slashes group curves.
    pub tag: String,
    /// The step.
    pub step: i64,
    /// When, in seconds since 1970 or whatever the run counts.
    pub seconds: f64,
    /// How much.
    pub value: f32,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// The bytes of an event file.
pub fn events(scalars: &[Scalar]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let version = Some("brain.Event:2".to_owned());
    record(&mut bytes, &Event { file_version: version, ..Event::default() });
    for Scalar { tag, step, seconds, value } in scalars {
        let value = vec![Value { tag: tag.clone(), simple_value: Some(*value) }];
        let summary = Some(Summary { value });
        record(
            &mut bytes,
            &Event { wall_time: *seconds, step: *step, file_version: None, summary },
        );
    }
    bytes
}

fn record(bytes: &mut Vec<u8>, event: &Event) {
    let content = event.encode_to_vec();
    let length = (content.len() as u64).to_le_bytes();
    for part in [&length[..], &content] {
        bytes.extend_from_slice(part);
        let sum = crc32c::crc32c(part);
        bytes.extend_from_slice(&sum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first record of a file that TensorFlow writes, but for its time.
    #[test]
    fn the_first_record_is_that_of_tensorflow() {
        let bytes = events(&[]);
        let wanted = b"\x0f\0\0\0\0\0\0\0";
        assert_eq!(&bytes[..8], wanted);
        assert_eq!(&bytes[12..27], b"\x1a\x0dbrain.Event:2");
        assert_eq!(bytes.len(), 31);
        // CRC-32C of the nine digits is its well-known check value.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn scalars_come_back() {
        let scalar = Scalar { tag: "loss/policy".to_owned(), step: 7, seconds: 3.5, value: 0.25 };
        let bytes = events(std::slice::from_ref(&scalar));
        let mut rest = &bytes[31..];
        let (length, after) = rest.split_first_chunk::<8>().expect("a length");
        rest = &after[4..];
        let content = &rest[..u64::from_le_bytes(*length) as usize];
        assert_eq!(rest.len(), content.len() + 4);
        let event = Event::decode(content).expect("an event");
        let value = &event.summary.expect("a summary").value[0];
        assert_eq!((event.step, event.wall_time), (7, 3.5));
        assert_eq!((value.tag.as_str(), value.simple_value), ("loss/policy", Some(0.25)));
    }
}
